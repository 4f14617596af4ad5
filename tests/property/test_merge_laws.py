"""Laws of the merge: no side lost, the sides may be swapped, twice is once, what was forgotten stays forgotten."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memrepo.errors import MergeConflict
from memrepo.format.document import Document, find_continuation
from memrepo.format.entries import content_hash
from memrepo.format.merge import merge_files

PATH = "me.md"
# Few texts, so that chance makes the versions meet; with metadata, so that one text comes in several forms.
_ENTRIES = [f"- Fact {letter}{tail}" for letter in "abcdefgh" for tail in ("", " [by: agent]", " [added: 2026-10-05]")]
_NESTED = ["  - Inner x", "* Star y", "- [[me]]", "- [[workspaces/a]]", "- Twice", "- twice."]
_TEXT = ["# Title", "## Index", "## Other", "", "", "A paragraph", "Another one", "  goes on", "1. first", "---"]
_BLOCKS = ["```", "~~~", "<!--", "-->", "key: value"]
_CALM_LINES = st.sampled_from([*_ENTRIES, *_NESTED, *_TEXT])
_ANY_LINES = st.sampled_from([*_ENTRIES, *_NESTED, *_TEXT, *_BLOCKS, "\ufeff- Marked", "- Grüße 日本", "---"])
_ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])


def _files(lines: st.SearchStrategy[str], most: int = 14) -> st.SearchStrategy[bytes]:
    whole = st.lists(st.tuples(lines, _ENDS).map("".join), max_size=most).map("".join)
    return st.builds(lambda text, end: (text + end).encode(), whole, st.sampled_from(["", "", "- Last", "last"]))


@st.composite
def _edited(draw: st.DrawFn, base: bytes, lines: st.SearchStrategy[str]) -> bytes:
    """The base as somebody left it who took lines out, put lines in, and changed the place of others."""
    rows = base.decode().splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(rows)))
        if draw(st.booleans()) and at < len(rows):
            row = rows.pop(at)
            if draw(st.integers(0, 3)) == 0:
                rows.insert(draw(st.integers(0, len(rows))), row)
        else:
            rows.insert(at, draw(lines) + "\n")
    return "".join(row if row.endswith(("\n", "\r")) or row is rows[-1] else row + "\n" for row in rows).encode()


@st.composite
def _versions(draw: st.DrawFn, lines: st.SearchStrategy[str]) -> tuple[bytes, bytes, bytes]:
    base = draw(_files(lines))
    return base, draw(_edited(base, lines)), draw(_edited(base, lines))


CALM = _versions(_CALM_LINES)
ANY = st.one_of(_versions(_ANY_LINES), st.tuples(*[_files(_ANY_LINES)] * 3), st.tuples(*[st.binary(max_size=40)] * 3))


def hashes(data: bytes) -> set[str]:
    return {content_hash(entry.text) for entry in Document.parse(data).entries}


def links(data: bytes) -> set[str]:
    return {link.target for link in Document.parse(data).links if link.alone}


def texts(data: bytes) -> Counter[str]:
    """The lines outside of entries, of what goes on with them, and of links of their own; blank ones left out."""
    doc = Document.parse(data)
    members = {entry.line for entry in doc.entries} | {link.line for link in doc.links if link.alone}
    members |= {line for entry in doc.entries for line in find_continuation(doc, entry.line)}
    return Counter(line for number, line in enumerate(doc.lines, 1) if number not in members and line.strip())


def subjects_of(data: bytes) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in Document.parse(data).entries:
        if subject := entry.value("subject"):
            found.setdefault(subject, set()).add(entry.text)
    return found


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The merge, or None when it was refused."""
    try:
        return merge_files(base, ours, theirs, path=PATH)
    except MergeConflict:
        return None


@given(CALM)
def test_what_either_side_added_stays_and_what_either_side_took_out_goes(versions: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = versions
    merged = merge_files(base, ours, theirs, path=PATH)
    for read in (hashes, links):
        old, mine, other = read(base), read(ours), read(theirs)
        assert read(merged) == (mine & other) | (mine - old) | (other - old)


@given(ANY)
def test_a_merge_is_refused_or_holds_exactly_what_was_decided(versions: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = versions
    merged = merge(base, ours, theirs)
    if merged is not None and ours not in (base, theirs) and theirs != base:
        old, mine, other = hashes(base), hashes(ours), hashes(theirs)
        assert hashes(merged) == (mine & other) | (mine - old) | (other - old)


@given(ANY)
@example((b"- a\n", b"- a [added: 2026-10-05]\n", b"- a [added: 2026-10-04]\n"))
def test_the_sides_may_be_swapped(versions: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = versions
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


@given(ANY)
def test_merging_a_side_in_again_changes_nothing(versions: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = versions
    merged = merge(base, ours, theirs)
    if merged is not None:
        assert merge_files(theirs, merged, theirs, path=PATH) == merged
        assert merge_files(ours, ours, merged, path=PATH) == merged


@given(CALM)
def test_merging_from_the_same_start_again_brings_nothing_back(versions: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = versions
    merged = merge_files(base, ours, theirs, path=PATH)
    again = merge_files(base, merged, theirs, path=PATH)
    assert hashes(again) == hashes(merged)
    assert links(again) == links(merged)


@given(CALM)
def test_an_entry_stands_as_often_as_a_side_says_it(versions: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = versions
    merged = merge_files(base, ours, theirs, path=PATH)

    def count(data: bytes) -> Counter[str]:
        return Counter(content_hash(entry.text) for entry in Document.parse(data).entries)

    most = count(ours) | count(theirs)
    assert all(number <= most[name] for name, number in count(merged).items())


@given(CALM)
def test_text_outside_of_entries_stays_unless_a_side_took_it_out(versions: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = versions
    merged = Counter(
        Document.parse(merge_files(base, ours, theirs, path=PATH)).lines
    )  # text may now go on with an entry
    old, mine, other = texts(base), texts(ours), texts(theirs)
    for line in set(mine) | set(other):
        if line not in old:
            assert merged[line] >= max(mine[line], other[line])
        elif mine[line] == other[line] == old[line]:
            assert merged[line] >= old[line]


@given(ANY)
def test_one_side_alone_is_taken_as_it_is(versions: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = versions
    assert merge_files(base, ours, base, path=PATH) == ours
    assert merge_files(base, base, theirs, path=PATH) == theirs
    assert merge_files(base, ours, ours, path=PATH) == ours


@given(CALM, st.sampled_from("abcdefgh"))
def test_a_banned_entry_is_gone_and_no_other(versions: tuple[bytes, bytes, bytes], letter: str) -> None:
    base, ours, theirs = versions
    banned = content_hash(f"Fact {letter}")
    merged = merge_files(base, ours, theirs, path=PATH, banned={banned})
    assert hashes(merged) == hashes(merge_files(base, ours, theirs, path=PATH)) - {banned}


_VALUES = st.sampled_from([f"- Lives in {place} [{by}subject: home; added: 2026-10-0{day}]" for place in "ABC" for by in
                           ("", "by: agent; ") for day in (1, 2)])  # fmt: skip


@given(st.one_of(st.just(""), _VALUES), _VALUES, _VALUES)
def test_two_values_of_a_subject_keep_the_users_then_the_newer(old: str, mine: str, other: str) -> None:
    base, ours, theirs = (f"# Me\n\n{line}\n".encode() for line in (old, mine, other))
    merged = {
        content_hash(entry.text): entry for entry in Document.parse(merge_files(base, ours, theirs, path=PATH)).entries
    }
    sides = {content_hash(entry.text): entry for data in (ours, theirs) for entry in Document.parse(data).entries}
    new = {name: entry for name, entry in sides.items() if name not in hashes(base)}
    if len(new) == 2:
        ranks = {name: ("agent" not in str(entry.by), entry.value("added")) for name, entry in new.items()}
        assert set(merged) == {name for name, rank in ranks.items() if rank == max(ranks.values())}
    elif len(new) == 1:
        assert set(merged) == set(new)  # the other side left the old value alone


# What a person would want, by example


def test_a_line_changed_on_both_sides_keeps_both() -> None:
    merged = merge_files(b"# Me\n- Old\n- End\n", b"# Me\n- Mine\n- End\n", b"# Me\n- Theirs\n- End\n", path=PATH)
    assert sorted(merged.decode().splitlines()) == ["# Me", "- End", "- Mine", "- Theirs"]


def test_a_fact_forgotten_here_and_moved_or_doubled_there_is_gone() -> None:
    base = b"# Me\n- Secret wish\n- Keep\n"
    there = b"# Me\n- Keep\n\n## Later\n- Secret wish\n- secret wish!\n"
    assert hashes(merge_files(base, b"# Me\n- Keep\n", there, path=PATH)) == hashes(b"- Keep")


def test_a_fact_confirmed_on_one_side_is_the_users_word() -> None:
    base = b"- Uses tabs [by: agent]\n"
    assert merge_files(base, b"- Uses tabs [by: user]\n", b"- Uses tabs [by: agent]\n- New\n", path=PATH) == (
        b"- Uses tabs [by: user]\n- New\n"
    )


def test_a_line_that_goes_on_keeps_what_stands_under_it() -> None:
    base = b"- First\n  and more of it\n- Second\n"
    merged = merge_files(base, base + b"- Mine\n", base.replace(b"more", b"much more") + b"- Theirs\n", path=PATH)
    assert merged == b"- First\n  and much more of it\n- Second\n- Mine\n- Theirs\n"


def test_a_paragraph_changed_on_both_sides_stays_twice() -> None:
    merged = merge_files(b"# T\n\nold\n\n- a\n", b"# T\n\nmine\n\n- a\n", b"# T\n\ntheirs\n\n- a\n", path=PATH)
    assert merged == b"# T\n\nmine\ntheirs\n\n- a\n"


def test_new_entries_stay_under_their_headings() -> None:
    base = b"# T\n\n- a\n\n## Index\n\n- [[me]]\n"
    ours = b"# T\n\n- a\n- b\n\n## Index\n\n- [[me]]\n"
    theirs = b"# T\n\n- a\n\n## Index\n\n- [[me]]\n- [[lessons]]\n"
    assert merge_files(base, ours, theirs, path=PATH) == b"# T\n\n- a\n- b\n\n## Index\n\n- [[me]]\n- [[lessons]]\n"


def test_a_comment_that_swallows_the_other_sides_lines_is_refused() -> None:
    with pytest.raises(MergeConflict) as refused:
        merge_files(b"- a\n", b"- a\nMore:\n- b\n", b"- a\n<!--\n", path=PATH)
    assert refused.value.facts["paths"] == (PATH,)
