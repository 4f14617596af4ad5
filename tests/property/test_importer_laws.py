"""Laws of the importers: any text is parsed without an error, each finding says where it stands, no word is made up."""

from __future__ import annotations

import datetime as dt
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.errors import InvalidInput
from memrepo.files.atomic import FileSnapshot
from memrepo.format.entries import content_hash
from memrepo.importers.formats import FORMATS, Format, JsonFormat, TextFormat, choose_names, detect_format
from memrepo.importers.found import Found, SourceFile
from memrepo.importers.json_values import iter_values
from memrepo.importers.plan import plan_import
from memrepo.importers.reading import Reading
from memrepo.importers.user_words import find_stated
from memrepo.model import INBOX_FILE, Kind
from memrepo.planning.draft import Draft

TEXT_FORMATS = [name for name, one in FORMATS.items() if isinstance(one, TextFormat)]
JSON_FORMATS = [name for name, one in FORMATS.items() if isinstance(one, JsonFormat)]

_LINES = st.sampled_from(
    ["# Title", "- one [by: user; workspace: w; added: 2025-13-45]", "  - two:", "\t* three", "1. four", "- [ ] five",
     "- [tip] six #tag (context)", "- rel [[Seven]]", "- CoWork workspace [workspace: w]", "---", "type: user", "```",
     "<!--", "-->", "> quoted", "| a |", "", "   ", "Why? ", "**Why:** so", "- [A](a.md) - b", "user: hi", "====",
     "A paragraph", "\u2028odd\x00", "- ", "[",
     "I live in Graz - or near 3. it", "remember that I am here", "remember:", "我叫小明"]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(_LINES, max_size=25).map("\n".join), st.lists(_LINES, max_size=9).map("\r\n".join), st.text(max_size=80)
)
NAMES = st.sampled_from(
    ["a.md", "MEMORY.md", "memory/2025-01-02-x.md", "CLAUDE.md", "2025-99-99.md", "me.md", "b/c.txt"]
)
_KEYS = st.sampled_from(
    ["memory", "content", "text", "mapping", "message", "author", "role", "parts", "content_type",
     "recipient", "results", "metadata", "categories", "created_at", "create_time", "model_set_context",
     "user_context_message_data", "state"]
)  # fmt: skip
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["user", "assistant", "bio", "text", "model_editable_context", "user_editable_context", "\ud800"]),
)
VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_KEYS, inner, max_size=5)),
    max_leaves=25,
)


@pytest.mark.parametrize("name", TEXT_FORMATS)
@given(file=NAMES, text=TEXTS)
def test_any_text_is_parsed_and_every_word_of_a_fact_stands_in_it(name: Format, file: str, text: str) -> None:
    chosen = FORMATS[name]
    assert isinstance(chosen, TextFormat)
    lines = re.split("\r\n|\n|\r", text)
    for finding in chosen.parse(SourceFile(file, text)):
        shown, line = finding.place.rsplit(":", 1)
        assert shown == file
        assert lines[int(line) - 1].strip()
        if isinstance(finding, Found):
            words = re.findall(r"\w+", finding.text)
            assert all(word in text for word in words)


@pytest.mark.parametrize("name", JSON_FORMATS)
@given(values=st.lists(VALUES, max_size=4))
def test_any_json_is_parsed(name: Format, values: list[object]) -> None:
    chosen = FORMATS[name]
    assert isinstance(chosen, JsonFormat)
    for finding in chosen.parse("x.json", values):
        assert finding.place.startswith("x.json #")


@given(values=st.lists(VALUES, max_size=4))
def test_the_elements_of_a_list_are_what_json_reads(values: list[object]) -> None:
    text = json.dumps(values)
    assert json.dumps(list(iter_values(text, name="x"))) == text


@given(text=st.one_of(st.text(max_size=40), st.text(alphabet='[]{},:"\\1eE-+. tnu', max_size=30)))
def test_any_text_is_read_as_json_or_refused(text: str) -> None:
    try:
        values = list(iter_values(text, name="x"))
    except InvalidInput:
        return
    assert values is not None
    assert json.loads(json.dumps(values)) is not None


@given(files=st.dictionaries(NAMES | st.sampled_from(["x.json", "conversations.json", "p.jpg"]), TEXTS, max_size=6))
def test_any_names_and_texts_have_a_format_that_reads_some_of_them_or_none_at_all(files: dict[str, str]) -> None:
    try:
        found = detect_format(files, files.__getitem__)
    except InvalidInput:
        return
    assert choose_names(found, files)


@given(text=TEXTS)
def test_what_a_user_stated_stands_in_the_message(text: str) -> None:
    for fact in find_stated(text):
        assert fact[1:] in text


@given(
    texts=st.lists(st.text(max_size=60) | st.sampled_from(["a [by: user]", "[[link]]", "- x", "```", "\ud800 ok"])),
    workspace=st.text(max_size=8),
)
def test_any_finding_is_offered_once_or_left_and_none_breaks_the_plan(texts: list[str], workspace: str) -> None:
    found = [Found(text, f"a.md:{at}", Kind.INSIGHT, workspace=(workspace, workspace)) for at, text in enumerate(texts)]
    planned = plan_import(
        Reading(Format.NOTES, is_guessed=True, findings=tuple(found), files=(), unread=(), other=0),
        held=(),
        inbox=Draft(lambda path: FileSnapshot(path, None, None)).file(INBOX_FILE),
        workspaces=lambda _: None,
        today=dt.date(2026, 10, 5),
    )
    places = [one.place for one in planned.offers] + [one.place for one in planned.left]
    assert sorted(places) == sorted(one.place for one in found)
    hashes = [content_hash(offer.fact.text) for offer in planned.offers]
    assert len(hashes) == len(set(hashes))
