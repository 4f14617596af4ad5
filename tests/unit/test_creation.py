"""A new memory repo is whole or not there; what stood there before is never lost."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memrepo import creation
from memrepo.creation import create_repo
from memrepo.errors import DiskFault, GitFailed
from memrepo.git.client import GitClient
from memrepo.git.gate import is_repository
from memrepo.model import Origin

FILES = {"MEMORY.md", "me.md", "lessons.md", "inbox.md", ".gitignore", ".gitattributes", ".git"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("state", ["missing", "no parent", "empty", "droppings"])
def test_a_repo_comes_into_being_with_one_clean_commit(tmp_path: Path, state: str) -> None:
    root = tmp_path / "deep" / "memory" if state == "no parent" else tmp_path / "memory"
    if state in {"empty", "droppings"}:
        root.mkdir()
    if state == "droppings":
        (root / ".DS_Store").write_bytes(b"x")
    assert create_repo(root, has_git=True, origin=Origin.CLI)
    assert names(root) - {".DS_Store"} == FILES
    assert names(root.parent) == {"memory"}
    git = GitClient(root)
    [commit] = git.log()
    assert (commit.subject, commit.origin) == ("Create memory", "cli")
    assert git.status().entries == ()
    assert (root / ".gitattributes").read_text() == "*.md merge=union\n"


def test_what_editors_leave_behind_is_ignored(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    create_repo(root, has_git=True, origin=Origin.CLI)
    for name in ("me.md~", ".me.md.swp", "#me.md#", ".#me.md", ".DS_Store"):
        (root / name).write_bytes(b"x")
    assert GitClient(root).status().entries == ()


def test_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    create_repo(tmp_path / "memory", has_git=True, origin=Origin.CLI)
    assert (tmp_path / "memory").stat().st_mode & 0o077 == 0


def test_without_git_the_folder_holds_what_the_lock_and_the_journal_need(tmp_path: Path) -> None:
    assert create_repo(tmp_path / "memory", has_git=False, origin=Origin.CLI)
    assert names(tmp_path / "memory") == FILES
    assert list((tmp_path / "memory" / ".git").iterdir()) == []


def test_of_two_processes_that_make_it_at_once_one_does_and_both_find_a_whole_repo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "memory"
    put_in_place = creation._put_in_place

    def overtaken(stage: Path, place: Path) -> bool:
        monkeypatch.setattr(creation, "_put_in_place", put_in_place)
        assert create_repo(root, has_git=True, origin=Origin.CLI)
        return put_in_place(stage, place)

    monkeypatch.setattr(creation, "_put_in_place", overtaken)
    assert not create_repo(root, has_git=True, origin=Origin.CLI)
    assert is_repository(root)
    assert names(tmp_path) == {"memory"}
    assert len(GitClient(root).log()) == 1


@pytest.mark.parametrize("step", ["replace_file", "_put_in_place"])
def test_a_failure_leaves_the_place_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DiskFault("no space", invariant="disk")

    monkeypatch.setattr(creation, step, fail)
    with pytest.raises(DiskFault):
        create_repo(tmp_path / "memory", has_git=True, origin=Origin.CLI)
    assert names(tmp_path) == set()


def test_a_git_that_fails_leaves_the_place_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise GitFailed("no", argv=("git",), exit_code=1, stderr=())

    monkeypatch.setattr(GitClient, "commit", fail)
    with pytest.raises(GitFailed):
        create_repo(tmp_path / "memory", has_git=True, origin=Origin.CLI)
    assert names(tmp_path) == set()


def test_a_place_that_is_a_file_is_a_disk_fault_and_stays(tmp_path: Path) -> None:
    (tmp_path / "memory").write_bytes(b"x")
    with pytest.raises(DiskFault):
        create_repo(tmp_path / "memory", has_git=True, origin=Origin.CLI)
    assert (tmp_path / "memory").read_bytes() == b"x"
    assert names(tmp_path) == {"memory"}


def test_a_parent_that_may_not_be_written_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    make_folder = Path.mkdir

    def refuse_beside(self: Path, *arguments: Any, **more: Any) -> None:
        if self.parent == tmp_path:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        make_folder(self, *arguments, **more)

    monkeypatch.setattr(Path, "mkdir", refuse_beside)
    assert create_repo(root, has_git=True, origin=Origin.CLI)
    assert names(root) == FILES
    assert is_repository(root)


def test_any_git_takes_the_repo_for_a_whole_one(tmp_path: Path) -> None:
    create_repo(tmp_path / "memory", has_git=True, origin=Origin.CLI)
    subprocess.run(["git", "-C", tmp_path / "memory", "fsck", "--strict"], check=True, capture_output=True)
