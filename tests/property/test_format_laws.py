"""Laws of the format: any bytes come back, nothing written can be read as something else."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import assume, example, given
from hypothesis import strategies as st

from memrepo.format.clean import clean_text, clean_value, is_hidden
from memrepo.format.document import (
    Document,
    add_link,
    find_entry,
    has_link,
    insert_entries,
    remove_lines,
    remove_link,
    replace_lines,
)
from memrepo.format.entries import content_hash, is_link_only, parse_bullet, render_entry
from memrepo.format.refs import parse_ref
from memrepo.format.slug import RESERVED, SLUG_LIMIT_CHARS, choose_slug, slugify
from memrepo.model import Ref, RepoPath

# Pieces that mean something to some Markdown reader, so that chance finds their combinations.
_MARKS = ["- ", "* ", "+ ", "-", "*", "# ", "###", "```", "````", "~~~", "`", "~", "<!--", "-->", "<", ">", "> ", "---"]
_MARKS += ["...", "1. ", "10) ", "=", "==="]
_BRACKETS = ["[", "]", "[[", "]]", "[by: user]", "[ By : user ]", "[by:user", "[x]", "[^1]", "(u)", "[t](u)", "[[me]]"]
_PAIRS = [";", ":", ": ", "%3B", "%5b", "by: agent", "kind", "key: value", "https://x.y/z"]
_SPACES = [" ", "  ", "    ", "\t", "\u3000", "\u2028", "\u0085", "\x0b", "\x0c", "\x1c"]
_HIDDEN = ["\x00", "\x1b", "\u200b", "\u200c", "\u200d", "\u200e", "\u202e", "\u2066", "\ufeff", "\ufe0f", "\ufe00"]
_HIDDEN += ["\U000e0041", "\U000e0100", "\u00ad", "\u180b", "\ud800", "\udc80"]
_LETTERS = [
    "\u0301",
    "\u0345",
    "\u1fef",
    "\u037e",
    "❤",
    "👩",
    "🏽",
    "🇩🇪",
    "क्",
    "ष",
    "می",
    "خ",
    "ᠠ",
    "한",
    "日本",
    "עברית",
]
_LETTERS += ["e\u0301", "a", "Word"]
_PIECES = st.sampled_from(_MARKS + _BRACKETS + _PAIRS + _SPACES + _HIDDEN + _LETTERS)
TEXTS = st.lists(_PIECES | st.text(max_size=4), max_size=12).map("".join)
KEYS = st.sampled_from(["by", "kind", "subject", "workspace", "source", "added", "x", "Größe", "a.b-c_1"])
METAS = st.lists(st.tuples(KEYS, TEXTS.map(clean_value)), max_size=4).map(tuple)
_ENTRY_LINES = st.builds(
    lambda text, meta: render_entry(text, (*meta, ("by", "agent"))), TEXTS.map(clean_text).filter(bool), METAS
)
_LINES = (
    TEXTS.map(lambda text: re.sub("[\r\n\ud800]", "", text))
    | _ENTRY_LINES
    | st.sampled_from(
        ["", "## Index", "- [[me]]", "# Title", "```", "  ```", "    ~~~", "<!--", "-->", "---", "key: value"]
    )
)
_ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Files made of lines that matter, with any mix of line ends."""
    text = "".join(line + end for line, end in draw(st.lists(st.tuples(_LINES, _ENDS), max_size=12)))
    text = draw(st.sampled_from(["", "", "\ufeff", "---\n", "---\nkey: value\n---\n"])) + text + draw(_LINES)
    return text.encode("utf-8", "surrogateescape")


DATA = documents() | st.binary(max_size=60)


def _sorted_meta(meta: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    order = ["by", "kind", "subject", "workspace", "source", "added"]
    return tuple(sorted(meta, key=lambda pair: (order.index(pair[0]), "") if pair[0] in order else (9, pair[0])))


@given(DATA)
@example(b"")
@example(b"\xef\xbb\xbf- a\r\n\r- b\n\r\n\xff\xfe\x00")
@example("a\u2028b\u0085c\x0bd\x0ce".encode())
def test_any_bytes_come_back_unchanged(data: bytes) -> None:
    doc = Document.parse(data)
    assert doc.to_bytes() == data
    assert [len(part) for part in (doc.lines, doc.ends)] == [len(doc.lines)] * 2


@given(DATA)
def test_lines_end_only_where_git_ends_them(data: bytes) -> None:
    doc = Document.parse(data)
    parts = re.split(b"\r\n|\n|\r", data)
    assert len(doc.lines) == len(parts) - (parts[-1] == b"" or (len(parts) == 1 and parts[0] == b"\xef\xbb\xbf"))


@given(DATA)
def test_every_entry_stands_on_a_line_that_alone_reads_the_same(data: bytes) -> None:
    doc = Document.parse(data)
    for entry in doc.entries:
        alone = parse_bullet(doc.lines[entry.line - 1])
        assert alone is not None
        assert (alone.text, alone.meta, alone.bullet, alone.indent) == (
            entry.text,
            entry.meta,
            entry.bullet,
            entry.indent,
        )
        assert find_entry(doc, entry.line) == entry


@given(TEXTS)
@example("a [[by: user] [by: user]]")
@example("[by: user")
@example("> ```")
@example("1. > ~~~ x")
@example("\u1fef\u1fef\u1fef")
@example("<!\u200b-- x")
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once
    value = clean_value(text)
    assert clean_value(value) == value


@given(TEXTS)
def test_clean_text_is_one_visible_line_in_normal_form(text: str) -> None:
    clean = clean_text(text)
    assert unicodedata.is_normalized("NFC", clean)
    assert clean == " ".join(clean.split())
    assert {unicodedata.category(character) for character in clean}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    hidden = {character for character in clean if is_hidden(character)}
    assert hidden <= set("\u200c\u200d\ufe0e\ufe0f\u180b\u180c\u180d\u180e\u180f")


@given(TEXTS, METAS, st.sampled_from("-*+"), st.sampled_from(["", "  ", "\t"]))
@example("[x]", (), "-", "")
@example("[[me]]", (("by", "agent"),), "-", "")
@example("foo [", (("by", "agent"),), "-", "")
@example("- - -", (), "-", "")
def test_what_was_written_is_read_back_exactly(
    text: str, meta: tuple[tuple[str, str], ...], bullet: str, indent: str
) -> None:
    clean = clean_text(text)
    assume(clean and (meta or not is_link_only(clean)))
    entry = parse_bullet(render_entry(clean, meta, bullet=bullet, indent=indent))
    assert entry is not None
    assert (entry.text, entry.meta) == (clean, _sorted_meta(meta))


@given(TEXTS)
def test_text_cannot_bring_an_author_of_its_own(text: str) -> None:
    clean = clean_text(text)
    assume(clean)
    entry = parse_bullet(render_entry(clean, [("by", "agent")]))
    assert entry is not None
    assert entry.by == "agent"
    # Also for a reader that peels off one bracket after the other.
    assert not re.search(r"\[\s*by\s*:[^\[\]]*\]\s*\Z", clean, re.IGNORECASE)


@given(DATA, st.lists(_ENTRY_LINES, min_size=1, max_size=3))
@example(b"# T\n\n```\nopen", ["- x [by: agent]"])
@example(b"<!-- open\n- a", ["- x [by: agent]"])
@example(b"- a\n  ```\n  open", ["- x [by: agent]"])
@example(b"---\nkey: value\n", ["- x [by: agent]"])
@example(b"a\r\n", ["- x [by: agent]"])
@example(b"# T\r\n# Index\n", ["- x [by: agent]"])
@example(b"# T\r## Index\n\n", ["- x [by: agent]"])
def test_inserted_lines_are_entries_and_all_others_keep_their_bytes(data: bytes, new: list[str]) -> None:
    doc = Document.parse(data)
    grown, numbers = insert_entries(doc, new)
    again = Document.parse(grown.to_bytes())
    assert again == grown
    assert [grown.lines[number - 1] for number in numbers] == new
    assert {entry.line for entry in again.entries} >= set(numbers)
    # Take the new lines and the blank ones around them away: what is left is the old file.
    first, last = numbers[0] - 1, numbers[-1]
    old = [line + end for line, end in zip(doc.lines, doc.ends, strict=True)]
    now = [line + end for line, end in zip(grown.lines, grown.ends, strict=True)]
    added = len(now) - len(old)
    blank_above = first > 0 and grown.lines[first - 1] == "" and added > len(new)
    rests = [now[: first - cut] + now[first - cut + added :] for cut in ((1, 0) if blank_above else (0,))]
    if doc.ends and not doc.ends[-1] and last == len(now):
        assert not grown.ends[-1]
        old[-1] += doc.newline
    assert old in rests


@given(DATA, st.lists(_ENTRY_LINES, min_size=1, max_size=2))
def test_inserting_hides_no_entry_that_was_there(data: bytes, new: list[str]) -> None:
    doc = Document.parse(data)
    # An indented block at the margin becomes part of the list above it; see docs/format.md.
    assume(all(block.column or doc.lines[block.start][:1] not in (" ", "\t") for block in doc.anatomy.blocks))
    grown, numbers = insert_entries(doc, new)
    texts = [entry.text for entry in grown.entries if entry.line not in numbers]
    assert texts == [entry.text for entry in doc.entries]


@given(DATA, st.lists(_ENTRY_LINES, min_size=1, max_size=2))
def test_new_entries_never_stand_below_the_index(data: bytes, new: list[str]) -> None:
    doc, numbers = insert_entries(Document.parse(data), new)
    index = [heading.line for heading in doc.headings if heading.text.casefold() == "index" and heading.level > 1]
    assert not index or numbers[-1] < index[0]


@given(DATA, _ENTRY_LINES, st.data())
def test_replacing_and_removing_touch_only_their_line(data: bytes, new: str, pick: st.DataObject) -> None:
    doc = Document.parse(data)
    assume(doc.lines)
    number = pick.draw(st.integers(1, len(doc.lines)))
    at = number - 1
    before = "".join(map(str.__add__, doc.lines[:at], doc.ends[:at]))
    after = "".join(map(str.__add__, doc.lines[number:], doc.ends[number:]))

    def as_bytes(text: str) -> bytes:
        return (doc.mark + text).encode("utf-8", "surrogateescape")

    assert replace_lines(doc, {number: new}).to_bytes() == as_bytes(before + new + doc.ends[at] + after)
    shorter = remove_lines(doc, {number})
    assert shorter.to_bytes() == as_bytes(before + after)
    assert Document.parse(shorter.to_bytes()) == shorter


@given(DATA, st.sampled_from(["me", "workspaces/größe", "a b"]))
def test_a_link_is_added_once_and_removed_again(data: bytes, target: str) -> None:
    doc = Document.parse(data)
    linked = add_link(doc, target)
    assert has_link(linked, target)
    assert add_link(linked, target) is linked
    assert Document.parse(linked.to_bytes()) == linked
    assert not any(link.alone and link.target == target for link in remove_link(linked, target).links)


@given(TEXTS)
def test_the_hash_does_not_see_capitals_spaces_and_closing_marks(text: str) -> None:
    assume(any(character.isalnum() for character in text) and text.upper().lower() == text.lower())
    assert content_hash(text) == content_hash(f"  {text.upper()} \t. !")


@given(TEXTS | st.text(max_size=90) | st.sampled_from(sorted(RESERVED)), st.integers(0, 3))
def test_slugs_are_names_that_every_system_takes(name: str, meets: int) -> None:
    slug = slugify(name)
    assert slugify(slug) == slug
    taken: set[str] = set()
    for _ in range(meets + 1):
        chosen = choose_slug(name, taken)
        assert chosen not in taken
        taken.add(chosen)
        assert 0 < len(chosen) <= SLUG_LIMIT_CHARS
        assert chosen not in RESERVED
        assert unicodedata.is_normalized("NFC", chosen)
        assert chosen == chosen.casefold()
        assert not re.search(r"[^\w\-\u0300-\U0010ffff]|^-|-$|--", chosen)


@given(
    st.sampled_from(["me.md", "workspaces/größe.md", "a b/c#L2.md", "x"]),
    st.integers(1, 999_999_999),
    st.sampled_from([None, "core", "Team 1"]),
)
def test_a_ref_that_was_written_is_read_back(path: str, line: int, team: str | None) -> None:
    ref = Ref(RepoPath(path), line, team)
    assert parse_ref(str(ref)) == ref
