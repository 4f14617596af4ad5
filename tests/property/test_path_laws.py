"""Laws of paths and files: what is accepted stays inside, what is written comes back, what changed stays."""

from __future__ import annotations

import os
import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.errors import ChangedOnDisk, PathRefused
from memrepo.files.atomic import digest_bytes, read_file, replace_file
from memrepo.files.paths import check_repo_path, resolve_contained, scan_markdown
from memrepo.model import RepoPath

NASTY = [
    *(
        "",
        ".",
        "..",
        ".git",
        ".GIT",
        "git~1",
        "~",
        "nul",
        "CON.md",
        "C:",
        "\\",
        "a",
        ".md",
        "x.md",
        "/",
        " ",
        ":",
        "::$DATA",
    ),
    *("é", "e\u0301", "日本", "ı", "\u2024", "\u2215", "．", "／", "‥", "＼", "\U0001f469", "\u200c", "\u200d"),
    *("\u202e", "\ufeff", "\x00", "\n", "\ud800"),
]
paths = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(NASTY), max_size=8).map("".join))
ignored_runs = st.text(
    st.sampled_from("\u200c\u200d\u200e\u200f\u202a\u202e\u206a\u206f\ufeff\u2060\u00ad\ufe0f"), max_size=2
)
good_names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20)


def accepted(raw: str) -> RepoPath | None:
    try:
        return check_repo_path(raw)
    except PathRefused as error:
        refusal = error
    assert refusal.facts["rule"]
    assert refusal.hint
    assert refusal.message.isprintable()
    return None


@given(paths)
def test_an_accepted_path_is_unchanged_and_names_something_inside_the_root(raw: str) -> None:
    path = accepted(raw)
    if path is None:
        return
    assert path == raw
    assert unicodedata.is_normalized("NFC", path)
    for form in (path, unicodedata.normalize("NFKC", path), path.replace("\\", "/")):
        joined = os.path.normpath(f"/root/{form}")
        assert joined.startswith("/root/")
        assert ".git" not in {part.casefold().rstrip(". ") for part in joined.split("/")}
    assert len(path.encode()) <= 512
    assert all(part == part.rstrip(". ") and part for part in path.split("/"))


@given(
    st.lists(ignored_runs, min_size=5, max_size=5),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.text(st.sampled_from(". "), max_size=3),
    st.sampled_from(["", ":x", "::$INDEX_ALLOCATION"]),
    st.sampled_from(["{}", "{}/config", "a/{}", "a/{}/b"]),
)
def test_no_disguise_makes_the_folder_of_git_acceptable(
    ignored: list[str], upper: list[bool], tail: str, stream: str, shape: str
) -> None:
    letters = [letter.upper() if up else letter for letter, up in zip(".git", upper, strict=True)]
    name = "".join(gap + letter for gap, letter in zip(ignored, [*letters, ""], strict=True)) + tail + stream
    with pytest.raises(PathRefused) as refusal:
        check_repo_path(shape.format(name))
    assert refusal.value.facts["rule"] == "git-folder"


@given(st.lists(good_names, min_size=1, max_size=4), st.binary(max_size=2_000), st.binary(max_size=2_000))
def test_what_is_written_is_read_back_and_is_where_it_resolves(parts: list[str], first: bytes, second: bytes) -> None:
    path = accepted("/".join(parts))
    if path is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        assert replace_file(root, path, first, expect_digest=None) == read_file(root, path)
        assert resolve_contained(root, path).read_bytes() == first
        replace_file(root, path, second, expect_digest=digest_bytes(first))
        assert read_file(root, path).data == second
        assert [name for _, _, names in os.walk(root) for name in names] == [path.split("/")[-1]]


@given(st.binary(max_size=50), st.binary(max_size=50), st.one_of(st.none(), st.binary(max_size=50)))
def test_a_file_is_replaced_exactly_when_it_is_what_the_writer_read(now: bytes, new: bytes, read: bytes | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, path = Path(folder), RepoPath("me.md")
        (root / path).write_bytes(now)
        expected = None if read is None else digest_bytes(read)
        if read == now:
            replace_file(root, path, new, expect_digest=expected)
            assert (root / path).read_bytes() == new
        else:
            with pytest.raises(ChangedOnDisk):
                replace_file(root, path, new, expect_digest=expected)
            assert (root / path).read_bytes() == now


@given(
    st.sets(
        st.lists(st.sampled_from(["a", "B.md", "c.MD", ".git", ".h.md", "nul.md", "x?.md", "d"]), max_size=4).map(tuple)
    )
)
def test_a_scan_lists_only_good_paths_in_order_and_tells_of_every_other_visible_markdown_file(
    trees: set[tuple[str, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for parts in trees:
            place = root.joinpath("f", *parts, "note.md")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("x")
        scan = scan_markdown(root)
        assert list(scan.paths) == sorted(set(scan.paths))
        assert all(check_repo_path(path) == path and (root / path).is_file() for path in scan.paths)
        told = {name for name, _ in scan.skipped}
        for place in root.rglob("*.md"):
            relative = place.relative_to(root)
            if place.is_file() and not any(part.startswith(".") for part in relative.parts):
                above = {str(parent) for parent in relative.parents}
                assert str(relative) in scan.paths or str(relative) in told or above & told
