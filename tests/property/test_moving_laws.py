"""The law of leaving: whatever files and private facts there are, what comes back is what left."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.moving import USER, Home

from memrepo.errors import InvalidInput, PathRefused
from memrepo.files.paths import check_repo_path
from memrepo.model import Kind
from memrepo.portable.containers import Form
from memrepo.portable.package import find_path_fault, read_lines, write_lines

# The folder's .gitignore leaves out what systems drop there (`._…`), and so does an export.
NAMES = st.text(st.sampled_from("aBcéЖ日.-_ ü"), min_size=1, max_size=8).filter(lambda name: not name.startswith("._"))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".md")
CONTENT = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([b"", b"\xef\xbb\xbf- bom\r\n", b"- a\r- b\x0b\x1c\n", "- \u2028 line\u0085".encode()]),
)
FACTS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=40)


def is_allowed(files: dict[str, bytes]) -> bool:
    try:
        for path in files:
            check_repo_path(path)
    except PathRefused:
        return False
    return find_path_fault([*files, "MEMORY.md", "me.md", "lessons.md", "inbox.md"]) is None


@pytest.mark.parametrize("form", list(Form))
@given(files=st.dictionaries(PATHS, CONTENT, max_size=4).filter(is_allowed), facts=st.lists(FACTS, max_size=3))
@settings(max_examples=12)
def test_what_comes_back_is_what_left(form: Form, files: dict[str, bytes], facts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        old, new = Home(Path(place) / "old"), Home(Path(place) / "new")
        with old.open() as repo:
            for number, fact in enumerate(facts):
                kind = (Kind.PREFERENCE, Kind.COMMITMENT, Kind.NOTE)[number % 3]
                try:
                    repo.remember(fact, USER, kind=kind, private=kind is Kind.PREFERENCE)
                except InvalidInput:
                    continue
            repo.remember("There is a fact", USER, private=True)
        for path, data in files.items():
            (old.root / path).parent.mkdir(parents=True, exist_ok=True)
            (old.root / path).write_bytes(data)
        new.come_back(old.export(Path(place) / "export", str(form)))
        assert new.read_files() == old.read_files()
        assert new.read_store() == old.read_store()


@given(st.lists(st.dictionaries(st.text(max_size=4), st.one_of(st.none(), st.integers(), st.text(), st.floats(
    allow_nan=False, allow_infinity=False)))))  # fmt: skip
def test_rows_are_read_as_they_were_written(rows: list[dict[str, object]]) -> None:
    try:
        data = write_lines(rows)
    except UnicodeEncodeError:  # no store holds such a text
        return
    assert read_lines(data) == rows
    assert write_lines(read_lines(data)) == data
