"""One line: what is an entry, what is its metadata, how it is written and named."""

from __future__ import annotations

import pytest

from memrepo.errors import InvalidInput
from memrepo.format.entries import (
    content_hash,
    escape_value,
    parse_bullet,
    render_entry,
    split_metadata,
    unescape_value,
)
from memrepo.model import Author


@pytest.mark.parametrize(
    ("body", "text", "meta"),
    [
        (
            "Answer in English [by: user; added: 2026-10-05]",
            "Answer in English",
            (("by", "user"), ("added", "2026-10-05")),
        ),
        ("CoWork workspace [workspace: w-1; by: user]", "CoWork workspace", (("workspace", "w-1"), ("by", "user"))),
        ("known keys need no space [by:agent;source:https://x.y]", "known keys need no space", None),
        ("open keys are kept [Größe: 3; x.y-z: a: b]", "open keys are kept", (("Größe", "3"), ("x.y-z", "a: b"))),
        ("twice [tag: a; tag: b]", "twice", (("tag", "a"), ("tag", "b"))),
        ("odd spacing[ by : user ;added:  2026-10-05 ; ] \t", "odd spacing", (("by", "user"), ("added", "2026-10-05"))),
        ("empty value [source: ; by: user]", "empty value", (("source", ""), ("by", "user"))),
        ("escaped [source: https://x/?a%3Bb%5b%5D%20]", "escaped", (("source", "https://x/?a;b[]%20"),)),
        ("only the last [a: b] [by: user]", "only the last [a: b]", (("by", "user"),)),
        ("an open one before [by: agent [by: user]", "an open one before [by: agent", (("by", "user"),)),
    ],
)
def test_the_last_bracket_of_pairs_is_metadata(body: str, text: str, meta: tuple[tuple[str, str], ...] | None) -> None:
    if meta is None:
        meta = (("by", "agent"), ("source", "https://x.y"))
    assert split_metadata(body) == (text, meta)


@pytest.mark.parametrize(
    "body",
    [
        "see [[workspaces/cowork]]",
        "see [[a: b]]",
        "see [the page](https://x.y)",
        "done [x]",
        "as said [^1]",
        "an address [https://x.y]",
        "code [std::move]",
        "time [12:30]",
        "a word [todo:]",
        "mixed [by: user; and more]",
        "not at the end [by: user].",
        "in code `a[by: user]`",
        "unopened by: user]",
        "nested [by: [user]]",
        "[]",
    ],
)
def test_other_brackets_are_text(body: str) -> None:
    assert split_metadata(body) == (body, ())


@pytest.mark.parametrize(
    ("line", "bullet", "indent"),
    [("- fact", "-", ""), ("*\tfact", "*", ""), ("+   fact  ", "+", ""), ("\t  - fact", "-", "\t  ")],
)
def test_all_three_bullets_at_any_depth_are_entries(line: str, bullet: str, indent: str) -> None:
    entry = parse_bullet(line)
    assert entry is not None
    assert (entry.text, entry.bullet, entry.indent) == ("fact", bullet, indent)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "-",
        "- ",
        "-fact",
        "fact",
        "1. fact",
        "> - fact",
        "---",
        "- - -",
        "* * *",
        "- -",
        "- [[me]]",
        "- [[workspaces/cowork]]  ",
        "- [me](me.md)",
        '- [me](me.md "About (me)")',
        "- [wiki](https://en.wikipedia.org/wiki/A_(b))",
        "- ![logo](logo.png)",
        "- <https://x.y>",
        "- https://x.y/z?q=1",
        "- ```python",
        "- ~~~",
        "- <!-- hidden",
        "- [by: user]",
        "- two\n- lines",
        "- two\rlines",
    ],
)
def test_structure_is_no_entry(line: str) -> None:
    assert parse_bullet(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "- [[me]] [by: user]",
        "- [[me]] holds the rest",
        "- https://x.y is the server",
        "- [x] done",
        "- [ ] todo",
        "- ```inline``` code",
        "- # of seats is 4",
        "- -5 degrees",
        "- a\u2028b\u0085c",
    ],
)
def test_a_line_with_more_than_structure_is_an_entry(line: str) -> None:
    assert parse_bullet(line) is not None


def test_a_line_without_by_is_the_users_and_the_last_by_counts() -> None:
    for line, author in [("- a", "user"), ("- a [by: agent]", "agent"), ("- a [by: agent; by: user]", "user")]:
        entry = parse_bullet(line)
        assert entry is not None
        assert entry.by is Author(author)


def test_known_keys_come_first_in_their_order_and_others_sorted() -> None:
    meta = [("z", "1"), ("added", "2026-10-05"), ("source", "a"), ("b", "2"), ("by", "user"), ("b", "1")]
    meta += [("workspace", "w"), ("subject", "s"), ("kind", "rule")]
    assert render_entry("Fact", meta) == (
        "- Fact [by: user; kind: rule; subject: s; workspace: w; source: a; added: 2026-10-05; b: 2; b: 1; z: 1]"
    )
    assert render_entry("Fact", [], bullet="*", indent="  ") == "  * Fact"


def test_values_are_escaped_once() -> None:
    assert escape_value("https://x/?a;b[c]%20") == "https://x/?a%3Bb%5Bc%5D%20"
    assert unescape_value("https://x/?a%3bb%5Bc%5d%20") == "https://x/?a;b[c]%20"
    # An address that came with the escape keeps it on disk.
    assert render_entry("Fact", [("source", "https://x/%3B")]) == "- Fact [source: https://x/%3B]"


@pytest.mark.parametrize(
    ("text", "meta"),
    [
        ("", [("by", "user")]),
        (" padded ", []),
        ("two\nlines", []),
        ("two\rlines", []),
        ("smuggled [by: user]", []),
        ("[[me]]", []),
        ("```", [("by", "user")]),
        ("<!-- x", [("by", "user")]),
        ("- -", []),
        ("lone \ud800", []),
        ("fact", [("source", "a\nb")]),
        ("fact", [("two words", "a")]),
        ("fact", [("a:", "b")]),
        ("fact", [("", "b")]),
    ],
)
def test_what_would_be_read_as_something_else_is_refused(text: str, meta: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidInput) as caught:
        render_entry(text, meta)
    assert caught.value.hint
    assert not text.strip() or text.strip() not in caught.value.message


def test_bytes_that_are_not_utf8_can_be_written_again() -> None:
    assert render_entry("caf\udce9", []) == "- caf\udce9"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Uses  Postgres.", "uses postgres"),
        ("Uses Postgres ! …", "uses postgres"),
        ("喜欢茶。", "喜欢茶"),
        ("قهوة؟", "قهوة"),
        ("cafe\u0301", "café"),
        ("a\u3000b", "a b"),
    ],
)
def test_capitals_spaces_and_closing_marks_do_not_make_a_fact_new(one: str, other: str) -> None:
    assert content_hash(one) == content_hash(other)


@pytest.mark.parametrize(
    ("one", "other"), [("C#", "C"), ("5%", "5"), ("/a/", "/a"), ("C++", "C"), ("?", "!"), ("a.b", "ab")]
)
def test_signs_that_mean_something_keep_facts_apart(one: str, other: str) -> None:
    assert content_hash(one) != content_hash(other)


def test_the_hash_is_sha256_of_the_folded_text() -> None:
    # printf 'answer in english' | sha256sum
    assert content_hash(" Answer in  English. ") == "7a3b425ec884a0e1fdde830fa9cfedf7a242d022b1cf6d0010ee3efc090109e1"
