"""Reading `git status` and deciding whether a write may follow: pure, one test per state."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.errors import RepositoryFault
from memrepo.git.status import (
    FileType,
    IndexLock,
    WorkTree,
    WorkTreeEntry,
    WorkTreeState,
    classify,
    parse_status,
)


def plain(path: str) -> FileType:
    return FileType.FOLDER if path.endswith("/") else FileType.FILE


def entry(codes: str, path: str, file_type: FileType = FileType.FILE) -> WorkTreeEntry:
    return WorkTreeEntry(codes[0], codes[1], path, file_type)


def tree(*entries: WorkTreeEntry, branch: str | None = "main") -> WorkTree:
    return WorkTree(branch=branch, is_unborn=False, entries=entries)


LOCK = IndexLock("/r/.git/index.lock", dt.datetime(2026, 10, 5, tzinfo=dt.UTC), 0)


@pytest.mark.parametrize(
    ("header", "branch", "is_unborn"),
    [
        (b"## main", "main", False),
        (b"## No commits yet on main", "main", True),
        (b"## main...origin/main", "main", False),
        (b"## main...cowork-sync/main [different]", "main", False),
        (b"## main...origin/main [gone]", "main", False),
        (b"## No", "No", False),
        (b"## dream/2026.10.05", "dream/2026.10.05", False),
        ("## gedächtnis/※".encode(), "gedächtnis/※", False),
        (b"## HEAD (no branch)", None, False),
        (b"## HEAD", "HEAD", False),
    ],
)
def test_every_form_of_the_header_names_the_branch(header: bytes, branch: str | None, is_unborn: bool) -> None:
    read = parse_status(header + b"\0", plain)
    assert (read.branch, read.is_unborn, read.entries) == (branch, is_unborn, ())


@pytest.mark.parametrize("data", [b"", b"M  a.md\0", b"## \0", b"## a b\0", b"## main\0M a\0", b"## main\0 M\0"])
def test_output_of_another_form_is_refused_and_never_read_as_clean(data: bytes) -> None:
    with pytest.raises(RepositoryFault):
        parse_status(data, plain)


def test_a_rename_carries_its_old_path_and_the_next_record_is_read_on() -> None:
    read = parse_status(b"## main\0R  new.md\0old.md\0?? x.png\0", plain)
    assert [(item.path, item.old_path) for item in read.entries] == [("new.md", "old.md"), ("x.png", None)]
    renamed = classify(tree(read.entries[0]), "main")
    assert (renamed.paths, renamed.paths_to_add) == (("new.md", "old.md"), ())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["M ", " M", "A ", " D", "D ", "??", "UU", "AA", "T "]),
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
        )
    )
)
def test_whatever_a_file_is_called_it_is_read_back_as_one_entry(rows: list[tuple[str, str]]) -> None:
    data = b"## main\0" + b"".join(f"{codes} {path}".encode() + b"\0" for codes, path in rows)
    read = parse_status(data, plain)
    assert [(item.index_code + item.tree_code, item.path) for item in read.entries] == rows


@pytest.mark.parametrize(
    ("work_tree", "state", "paths"),
    [
        (tree(), WorkTreeState.CLEAN, ()),
        (tree(entry(" M", "me.md")), WorkTreeState.HAND_EDITS, ("me.md",)),
        (tree(entry("??", "a/NEW.Md")), WorkTreeState.HAND_EDITS, ("a/NEW.Md",)),
        (tree(entry(" D", "me.md", FileType.MISSING)), WorkTreeState.HAND_EDITS, ("me.md",)),
        (tree(entry("??", "a.md"), entry("??", "b.txt")), WorkTreeState.UNTRACKED_FOREIGN, ("b.txt",)),
        (tree(entry(" M", "a.md"), entry(" M", "q.sql")), WorkTreeState.FOREIGN_CHANGE, ("q.sql",)),
        (tree(entry("A ", "q.sql")), WorkTreeState.FOREIGN_CHANGE, ("q.sql",)),
        (tree(entry("??", "x.md", FileType.SYMLINK)), WorkTreeState.UNTRACKED_FOREIGN, ("x.md",)),
        (tree(entry("??", "x.md/", FileType.FOLDER)), WorkTreeState.UNTRACKED_FOREIGN, ("x.md/",)),
        (tree(entry(" T", "x.md", FileType.SYMLINK)), WorkTreeState.FOREIGN_CHANGE, ("x.md",)),
        (tree(entry(" M", "x.md", FileType.FOLDER)), WorkTreeState.FOREIGN_CHANGE, ("x.md",)),
        (tree(entry("??", "notes.md.txt")), WorkTreeState.UNTRACKED_FOREIGN, ("notes.md.txt",)),
        (tree(entry("??", "md")), WorkTreeState.UNTRACKED_FOREIGN, ("md",)),
        (tree(entry("UU", "me.md")), WorkTreeState.UNMERGED, ("me.md",)),
        (tree(entry("AA", "me.md")), WorkTreeState.UNMERGED, ("me.md",)),
        (tree(entry("DD", "me.md")), WorkTreeState.UNMERGED, ("me.md",)),
        (tree(branch=None), WorkTreeState.DETACHED_HEAD, ()),
        (tree(branch="dream/1"), WorkTreeState.OTHER_BRANCH, ()),
        (tree(branch="Main"), WorkTreeState.OTHER_BRANCH, ()),
    ],
)
def test_each_work_tree_has_one_state(work_tree: WorkTree, state: WorkTreeState, paths: tuple[str, ...]) -> None:
    verdict = classify(work_tree, "main")
    assert (verdict.state, verdict.paths) == (state, paths)
    assert verdict.is_blocked == (state not in (WorkTreeState.CLEAN, WorkTreeState.HAND_EDITS))


@pytest.mark.parametrize("operation", ["merge", "rebase", "cherry_pick", "revert", "bisect"])
def test_an_operation_is_told_before_what_it_leaves_behind_and_a_lock_before_all(operation: str) -> None:
    state = WorkTreeState(operation)
    entries = (entry("UU", "me.md"), entry("??", "x.orig"))
    during = WorkTree(None, is_unborn=False, entries=entries, operation=state)
    assert classify(during, "main").state is state
    locked = WorkTree(None, is_unborn=False, entries=entries, operation=state, index_lock=LOCK)
    assert classify(locked, "main").paths == ("/r/.git/index.lock",)
    assert classify(locked, "main").state is WorkTreeState.INDEX_LOCK


def test_a_staged_removal_is_a_hand_edit_that_git_add_must_not_hear_of() -> None:
    verdict = classify(tree(entry("D ", "gone.md", FileType.MISSING), entry("MM", "me.md")), "main")
    assert verdict.paths == ("gone.md", "me.md")
    assert verdict.paths_to_add == ("me.md",)
