"""A file as lines: what is read, and that edits touch nothing but what they name."""

from __future__ import annotations

import pytest

from memrepo.errors import InvalidInput, NotFound
from memrepo.format.document import (
    Document,
    add_link,
    find_entry,
    find_workspace_id,
    has_link,
    insert_entries,
    new_document,
    remove_lines,
    remove_link,
    replace_lines,
)

MEMORY = """\
# Memory: Mesut

- Prefers concise answers with bullet points [by: user; added: 2026-10-05]
- Answer in English unless asked otherwise [by: user; added: 2026-10-05]

## Index
- [[me]]
- [[lessons]]
- [[workspaces/cowork]]
"""


def _doc(text: str) -> Document:
    return Document.parse(text.encode("utf-8", "surrogateescape"))


def _texts(text: str) -> list[str]:
    return [entry.text for entry in _doc(text).entries]


def _insert(text: str, *lines: str, section: str | None = None) -> str:
    doc, numbers = insert_entries(_doc(text), lines or ("- new",), section=section)
    assert [doc.lines[number - 1] for number in numbers] == list(lines or ("- new",))
    assert {entry.line for entry in doc.entries} >= set(numbers)
    return doc.to_bytes().decode("utf-8", "surrogateescape")


# Reading


def test_a_memory_file_of_the_seed_is_read_in_full() -> None:
    doc = _doc(MEMORY)
    assert [(entry.line, entry.text, entry.section) for entry in doc.entries] == [
        (3, "Prefers concise answers with bullet points", "Memory: Mesut"),
        (4, "Answer in English unless asked otherwise", "Memory: Mesut"),
    ]
    assert doc.title == "Memory: Mesut"
    assert [(heading.text, heading.level, heading.line) for heading in doc.headings] == [
        ("Memory: Mesut", 1, 1),
        ("Index", 2, 6),
    ]
    assert [(link.target, link.line, link.alone) for link in doc.links] == [
        ("me", 7, True),
        ("lessons", 8, True),
        ("workspaces/cowork", 9, True),
    ]
    assert find_entry(doc, 4) == doc.entries[1]
    assert find_entry(doc, 5) is None
    assert find_entry(doc, 99) is None


def test_only_lf_crlf_and_cr_end_lines() -> None:
    doc = _doc("- a\u2028- b\u0085- c\x0b- d\x0c- e\x1c\r- f\r\n- g\n- h")
    assert [entry.line for entry in doc.entries] == [1, 2, 3, 4]
    assert doc.ends == ("\r", "\r\n", "\n", "")


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\rc\n", "\r"), ("a\nb\r\n", "\n")],
)
def test_the_newline_of_a_file_is_that_of_most_lines(text: str, newline: str) -> None:
    assert _doc(text).newline == newline


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    data = b"\xef\xbb\xbf- a\n"
    doc = Document.parse(data)
    assert [entry.text for entry in doc.entries] == ["a"]
    assert insert_entries(doc, ["- b"])[0].to_bytes() == data + b"- b\n"
    assert remove_lines(doc, {1}).to_bytes() == b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("```\n- a\n```\n- b\n", ["b"]),
        ("```md\n- a\n~~~\n- a\n`````\n- b\n", ["b"]),
        ("````\n- a\n```\n- a\n````\n- b\n", ["b"]),
        ("~~~ x `y`\n- a\n~~~\n- b\n", ["b"]),
        ("``` x `y`\n- b\n", ["b"]),
        ("```\n- a\n``` x\n- a\n    ```\n- a\n", []),
        ("   ```\n- a\n   ```\n- b\n", ["b"]),
        ("    ```\n- b\n", ["b"]),
        ("- x\n  ```\n  - a\n  ```\n- b\n", ["x", "b"]),
        ("- x\n  ```\n  - a\n- b\n", ["x", "b"]),
        ("- x\n    - y\n      ```\n      - a\n    - b\n", ["x", "y", "b"]),
        ("- ```\n  - a\n  ```\n- b\n", ["b"]),
        ("1. ```\n   - a\n   ```\n- b\n", ["b"]),
        ("10. x\n    ```\n    - a\n    ```\n- b\n", ["b"]),
        ("-\t```\n\t- a\n- b\n", ["b"]),
        ("<!--\n- a\n-->\n- b\n", ["b"]),
        ("<!-- one line -->\n- b\n", ["b"]),
        ("<!-- a\n- a --> x\n- b\n", ["b"]),
        ("- <!-- a\n  - a\n- b\n", ["b"]),
        ("x <!-- in a line\n- b\n", ["b"]),
        ("<!--\n```\n-->\n- b\n```\n<!--\n```\n- c\n", ["b", "c"]),
        ("---\ntags:\n- a\n---\n- b\n", ["b"]),
        ("---\n# comment\nkey: a\n- a\n...\n- b\n", ["b"]),
        ("---\nkey: a\n- b\n", ["b"]),
        ("---\n\n- b\n\n---\n- c\n", ["b", "c"]),
        ("\n---\nkey: a\n- b\n---\n- c\n", ["b", "c"]),
        ("- b\n\t* c\n      + d\n", ["b", "c", "d"]),
        ("> - a\n1. a\n- - -\n* * *\n", []),
    ],
)
def test_code_comments_and_front_matter_hold_no_entries(text: str, entries: list[str]) -> None:
    assert _texts(text) == entries


def test_headings_of_both_kinds_name_the_section() -> None:
    doc = _doc(
        "# A #\n- a\nB\n===\n- b\n\nC\n---\n- c\n##\n- d\n#no\n```\n# x\n```\n- e\n  two\n---\n- f\n### F ##\n- g\n"
    )
    assert [(entry.text, entry.section) for entry in doc.entries] == [
        ("a", "A"),
        ("b", "A"),
        ("c", "C"),
        ("d", ""),
        ("e", ""),
        ("f", ""),
        ("g", "F"),
    ]


def test_links_are_found_in_entries_too_but_not_addresses_or_code() -> None:
    doc = _doc(
        "- see [[a/b|the b]] and [c](c.md) [by: user]\ntext [[d]]\n- [e](https://x.y)\n- [f](#f)\n```\n[[g]]\n```\n"
    )
    assert [(link.target, link.line, link.alone) for link in doc.links] == [
        ("a/b", 1, False),
        ("c.md", 1, False),
        ("d", 2, False),
    ]


def test_a_workspace_file_names_its_workspace_in_one_entry_of_the_user() -> None:
    assert find_workspace_id(_doc("# X\n\n- CoWork workspace [workspace: w-1; by: user]\n")) == "w-1"
    assert find_workspace_id(_doc("- CoWork workspace [by: agent; workspace: w-1]\n")) is None
    assert find_workspace_id(_doc("- A fact [by: user; workspace: w-1]\n")) is None
    assert find_workspace_id(_doc("```\n- CoWork workspace [by: user; workspace: w-1]\n```\n")) is None


# Inserting


def test_new_entries_stand_above_the_index() -> None:
    assert _insert(MEMORY, "- new", "- newer") == MEMORY.replace("\n\n## Index", "\n- new\n- newer\n\n## Index")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "- new\n"),
        ("# T", "# T\n\n- new"),
        ("# T\n", "# T\n\n- new\n"),
        ("# T\n\n", "# T\n\n- new\n"),
        ("# T\n\n\n\n## Index\n", "# T\n\n- new\n\n\n## Index\n"),
        ("# T\n## Index\n- [[me]]\n", "# T\n\n- new\n\n## Index\n- [[me]]\n"),
        ("# T\n\n## Index\n- [[me]]\n", "# T\n\n- new\n\n## Index\n- [[me]]\n"),
        ("## Index\n- [[me]]\n", "- new\n\n## Index\n- [[me]]\n"),
        ("# T\n\nIntro.\n\n## A\n\n## Index\n", "# T\n\nIntro.\n\n- new\n\n## A\n\n## Index\n"),
        ("# T\n\n## A\n\n- a\n\n## Index\n- b\n", "# T\n\n## A\n\n- a\n- new\n\n## Index\n- b\n"),
        ("- a\n## Index\n", "- a\n- new\n\n## Index\n"),
        ("- a\n\n- [[me]]\n", "- a\n- new\n\n- [[me]]\n"),
        ("- a", "- a\n- new"),
        ("- a\r\n- b", "- a\r\n- b\r\n- new"),
        ("# T\r\n", "# T\r\n\r\n- new\r\n"),
        ("- a\n  more\n\n  and more\n\nText.\n", "- a\n  more\n\n  and more\n- new\n\nText.\n"),
        ("- a\nlazy\n\nText.\n", "- a\nlazy\n- new\n\nText.\n"),
        ("- a\n  ```\n  x\n\n  y\n  ```\n\nText.\n", "- a\n  ```\n  x\n\n  y\n  ```\n- new\n\nText.\n"),
        ("- a\n  ```\n  open\n", "- a\n  ```\n  open\n- new\n"),
        ("- a\n```\nx\n```\n", "- a\n- new\n\n```\nx\n```\n"),
        ("- a\n  - b\n", "- a\n  - b\n- new\n"),
        ("---\nk: v\n---\n", "---\nk: v\n---\n\n- new\n"),
        ("---\nk: v\n", "---\nk: v\n\n- new\n"),
    ],
)
def test_a_new_entry_has_a_fixed_place_and_blank_lines_stay_pretty(before: str, after: str) -> None:
    assert _insert(before) == after


@pytest.mark.parametrize("opener", ["```", "~~~ x", "<!-- never closed"])
def test_a_block_left_open_never_swallows_a_new_entry(opener: str) -> None:
    assert _insert(f"# T\n\n- a\n\n{opener}\n- b\n") == f"# T\n\n- a\n- new\n\n{opener}\n- b\n"
    assert _insert(f"{opener}\n- b") == f"- new\n\n{opener}\n- b"
    assert _insert(f"# T\n\n{opener}\n## Index\n") == f"# T\n\n- new\n\n{opener}\n## Index\n"


def test_a_cr_and_a_blank_line_stay_two_line_ends() -> None:
    assert _insert("# T\rx\n\n## Index\ny\n") == "# T\rx\n\n- new\n\n## Index\ny\n"
    # A CR just above and an LF just below the new lines.
    assert _insert("a\nb\nc\n# T\r") == "a\nb\nc\n# T\r\r- new\n"
    assert _insert("- a\r- b\r- c\r- d\n\n") == "- a\r- b\r- c\r- d\n- new\n\n"


def test_a_section_takes_its_own_entries() -> None:
    text = "# T\n\n- a\n\n## Open questions\n\n## Answers\n- b\n\n## Index\n- [[me]]\n"
    assert _insert(text, section="open QUESTIONS") == text.replace("questions\n\n", "questions\n\n- new\n\n")
    assert _insert(text, section="Answers") == text.replace("- b\n", "- b\n- new\n")
    with pytest.raises(NotFound):
        _insert(text, section="Elsewhere")


@pytest.mark.parametrize("line", ["text", "  - nested", "- [[me]]", "- a\n- b", "- a\n", "```", ""])
def test_only_entries_at_the_margin_are_inserted(line: str) -> None:
    with pytest.raises(InvalidInput):
        insert_entries(_doc(MEMORY), ["- fine", line])


def test_inserting_nothing_changes_nothing() -> None:
    doc = _doc(MEMORY)
    assert insert_entries(doc, []) == (doc, ())


# Replacing and removing


def test_replacing_keeps_line_ends_and_all_other_bytes() -> None:
    doc = Document.parse(b"\xef\xbb\xbf# T \r\n- a\t\r- b\xff\n- c")
    assert replace_lines(doc, {2: "- A", 4: "- C"}).to_bytes() == b"\xef\xbb\xbf# T \r\n- A\r- b\xff\n- C"
    with pytest.raises(InvalidInput):
        replace_lines(doc, {2: "```"})
    with pytest.raises(NotFound, match="no line 5"):
        replace_lines(doc, {5: "- x"})
    with pytest.raises(NotFound, match="no line 0"):
        replace_lines(doc, {0: "- x"})


def test_removing_takes_the_line_and_its_end_only() -> None:
    assert remove_lines(_doc(MEMORY), {3}).to_bytes().decode() == MEMORY.replace(MEMORY.splitlines()[2] + "\n", "")
    assert remove_lines(_doc("- a\n- b"), {2}).to_bytes() == b"- a\n"
    assert remove_lines(_doc("- a\n- b"), {1, 2}).to_bytes() == b""
    with pytest.raises(NotFound):
        remove_lines(_doc("- a\n"), {2})


def test_a_removal_that_joins_bytes_is_seen_as_a_fresh_read_sees_it() -> None:
    doc = remove_lines(_doc("a\r- gone\n\n- b\n"), {2})
    assert doc.to_bytes() == b"a\r\n- b\n"
    assert [entry.line for entry in doc.entries] == [2]
    # The same holds for what becomes a byte order mark.
    doc = remove_lines(_doc("- gone\n\ufeff- b\n"), {1})
    assert (doc.mark, [entry.text for entry in doc.entries]) == ("\ufeff", ["b"])


# Links


def test_a_link_goes_to_the_end_of_the_index_once() -> None:
    doc = add_link(_doc(MEMORY), "workspaces/billing-service.md")
    assert doc.to_bytes().decode() == MEMORY + "- [[workspaces/billing-service]]\n"
    assert add_link(doc, "workspaces/billing-service") is doc
    assert add_link(_doc("# T\n\n## Index\n- [about me](me.md)\n"), "me").lines[-1] == "- [about me](me.md)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "## Index\n- [[me]]\n"),
        ("# T\n", "# T\n\n## Index\n- [[me]]\n"),
        ("# T\n\n- a", "# T\n\n- a\n\n## Index\n- [[me]]"),
        ("# T\n\n```\nopen\n", "# T\n\n## Index\n- [[me]]\n\n```\nopen\n"),
        ("# Index\n", "# Index\n\n## Index\n- [[me]]\n"),
        ("## Index\n", "## Index\n- [[me]]\n"),
        ("## Index\nText.\n", "## Index\n- [[me]]\n\nText.\n"),
        ("Index\n-----\n- [[a]]\n\n## More\n- [[b]]\n", "Index\n-----\n- [[a]]\n- [[me]]\n\n## More\n- [[b]]\n"),
        ("- See [[me]]\n\n## Index\n", "- See [[me]]\n\n## Index\n- [[me]]\n"),
    ],
)
def test_the_index_is_made_when_missing_and_kept_in_place(before: str, after: str) -> None:
    assert add_link(_doc(before), "me").to_bytes().decode() == after


def test_removing_a_link_leaves_lines_that_say_more() -> None:
    doc = _doc("- See [[me]]\n\n## Index\n- [[me]]\n- [[me.md]]\n- [[me]] about me\n- [[mel]]\n")
    assert remove_link(doc, "me.md").to_bytes() == b"- See [[me]]\n\n## Index\n- [[me]] about me\n- [[mel]]\n"
    assert has_link(doc, "me")
    assert not has_link(doc, "m")
    assert not has_link(_doc("- See [[me]]\n"), "me")


@pytest.mark.parametrize("target", ["a]b", "a|b", "a\nb", "", ".md"])
def test_a_target_that_would_break_the_link_is_refused(target: str) -> None:
    with pytest.raises(InvalidInput):
        add_link(_doc(MEMORY), target)


def test_a_new_document_holds_its_title() -> None:
    assert new_document("Memory: Mesut").to_bytes() == b"# Memory: Mesut\n"
    assert new_document("# two\nlines [by: user]", newline="\r\n").to_bytes() == b"# two lines\r\n"
    assert new_document("").title == "Memory"
