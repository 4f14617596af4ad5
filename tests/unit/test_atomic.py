"""Reading and replacing whole files: what is accepted, what is kept, what is refused."""

from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from memrepo.errors import ChangedOnDisk, DiskFault, PathRefused, TooLarge
from memrepo.files.atomic import (
    FileSnapshot,
    digest_bytes,
    read_file,
    read_internal,
    remove_file,
    remove_internal,
    remove_stale_temporaries,
    replace_file,
    write_internal,
)
from memrepo.model import RepoPath

if TYPE_CHECKING:
    from pathlib import Path

ME = RepoPath("me.md")
DEEP = RepoPath("workspaces/deep/billing.md")
OLD, NEW = b"old\r\n\xff\x00", b"new"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_below(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def test_an_absent_file_reads_as_none_wherever_the_path_ends(tmp_path: Path) -> None:
    assert read_file(tmp_path, ME) == FileSnapshot(ME, None, None)
    assert read_file(tmp_path, DEEP) == FileSnapshot(DEEP, None, None)
    assert names_below(tmp_path) == set()


def test_a_file_reads_with_its_bytes_digest_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_bytes(OLD)
    assert read_file(tmp_path, ME) == FileSnapshot(
        ME, OLD, digest_bytes(OLD), len(OLD), (tmp_path / "me.md").stat().st_mtime_ns
    )
    assert digest_bytes(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_replace_writes_and_returns_what_a_read_would(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_bytes(OLD)
    written = replace_file(tmp_path, ME, NEW, expect_digest=digest_bytes(OLD))
    assert written == read_file(tmp_path, ME)
    assert written.data == NEW
    assert names_below(tmp_path) == {"me.md"}


def test_a_new_file_and_its_folders_are_for_the_owner_alone(tmp_path: Path) -> None:
    written = replace_file(tmp_path, DEEP, NEW, expect_digest=None)
    assert written == read_file(tmp_path, DEEP)
    assert names_below(tmp_path) == {"workspaces", "workspaces/deep", "workspaces/deep/billing.md"}
    assert mode_of(tmp_path / DEEP) == 0o600
    assert mode_of(tmp_path / "workspaces") == mode_of(tmp_path / "workspaces/deep") == 0o700


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755])
def test_an_existing_file_keeps_its_mode_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    (tmp_path / "me.md").write_bytes(OLD)
    (tmp_path / "me.md").chmod(mode)
    before = os.umask(0o077)
    try:
        replace_file(tmp_path, ME, NEW, expect_digest=digest_bytes(OLD))
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "me.md") == mode


def test_a_file_marked_read_only_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_bytes(OLD)
    (tmp_path / "me.md").chmod(0o444)
    with pytest.raises(DiskFault, match="marked read-only") as fault:
        replace_file(tmp_path, ME, NEW, expect_digest=digest_bytes(OLD))
    assert fault.value.hint == "chmod u+w me.md"
    with pytest.raises(DiskFault):
        remove_file(tmp_path, ME, expect_digest=digest_bytes(OLD))
    assert read_file(tmp_path, ME).data == OLD


def test_a_file_that_changed_appeared_or_vanished_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_bytes(OLD)
    for expected in (digest_bytes(b"other"), None):
        with pytest.raises(ChangedOnDisk) as conflict:
            replace_file(tmp_path, ME, NEW, expect_digest=expected)
        assert conflict.value.facts == {"path": ME, "expected": expected, "actual": digest_bytes(OLD)}
        with pytest.raises(ChangedOnDisk):
            remove_file(tmp_path, ME, expect_digest=expected)
    assert read_file(tmp_path, ME).data == OLD
    for path in (RepoPath("gone.md"), RepoPath("no/folder.md")):
        with pytest.raises(ChangedOnDisk):
            remove_file(tmp_path, path, expect_digest=digest_bytes(OLD))
        with pytest.raises(ChangedOnDisk):
            replace_file(tmp_path, path, NEW, expect_digest=digest_bytes(OLD))
    assert names_below(tmp_path) <= {"me.md", "no"}


def test_a_file_is_removed_and_an_absent_one_needs_no_removing(tmp_path: Path) -> None:
    replace_file(tmp_path, DEEP, OLD, expect_digest=None)
    remove_file(tmp_path, DEEP, expect_digest=digest_bytes(OLD))
    assert read_file(tmp_path, DEEP).data is None
    remove_file(tmp_path, DEEP, expect_digest=None)
    remove_file(tmp_path, RepoPath("no/folder.md"), expect_digest=None)


def test_a_replace_leaves_another_hard_link_alone(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_bytes(OLD)
    os.link(tmp_path / "me.md", tmp_path / "outside")
    replace_file(tmp_path, ME, NEW, expect_digest=digest_bytes(OLD))
    assert (tmp_path / "outside").read_bytes() == OLD


def test_a_link_on_the_way_is_never_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "x.md").write_bytes(OLD)
    (root / "folder").symlink_to(outside)
    (root / "x.md").symlink_to(outside / "x.md")
    (root / "new.md").symlink_to(outside / "new.md")
    (tmp_path / "alias").symlink_to(root)
    for base, path in ((root, "folder/x.md"), (root, "x.md"), (root, "new.md"), (tmp_path / "alias", "y.md")):
        for act in (
            lambda base=base, path=path: read_file(base, RepoPath(path)),
            lambda base=base, path=path: replace_file(base, RepoPath(path), NEW, expect_digest=None),
            lambda base=base, path=path: replace_file(base, RepoPath(path), NEW, expect_digest=digest_bytes(OLD)),
            lambda base=base, path=path: remove_file(base, RepoPath(path), expect_digest=digest_bytes(OLD)),
        ):
            with pytest.raises(PathRefused) as refusal:
                act()
            assert refusal.value.facts["rule"] == "symlink"
    assert names_below(outside) == {"x.md"}
    assert (outside / "x.md").read_bytes() == OLD


def test_a_pipe_a_socket_a_device_and_a_folder_are_refused_without_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
    names = ["pipe.md", "folder.md", "socket.md"]
    try:
        os.mknod(tmp_path / "device.md", stat.S_IFCHR | 0o600, os.makedev(1, 5))
        names.append("device.md")
    except OSError:
        pass  # only root makes devices
    for name in names:
        with pytest.raises(PathRefused) as refusal:
            read_file(tmp_path, RepoPath(name))
        assert refusal.value.facts["rule"] == "not-a-file"
        with pytest.raises(PathRefused):
            replace_file(tmp_path, RepoPath(name), NEW, expect_digest=None)


def test_a_file_past_the_limit_is_refused_with_the_numbers(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_bytes(b"x" * 11)
    assert read_file(tmp_path, ME, limit_bytes=11).size_bytes == 11
    with pytest.raises(TooLarge) as refusal:
        read_file(tmp_path, ME, limit_bytes=10)
    assert refusal.value.facts["limit"] == 10
    with pytest.raises(TooLarge):
        read_internal(tmp_path, "me.md", limit_bytes=10)


def test_a_forged_path_is_refused_by_every_act(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for path in ("../x.md", ".git/config", "/etc/hostname"):
        with pytest.raises(PathRefused):
            read_file(tmp_path / "root", RepoPath(path))
        with pytest.raises(PathRefused):
            replace_file(tmp_path / "root", RepoPath(path), NEW, expect_digest=None)
        with pytest.raises(PathRefused):
            remove_file(tmp_path / "root", RepoPath(path), expect_digest=None)
    assert names_below(tmp_path) == {"root"}


def test_a_missing_root_is_a_fault_not_an_empty_repo(tmp_path: Path) -> None:
    with pytest.raises(DiskFault) as fault:
        read_file(tmp_path / "gone", ME)
    assert fault.value.facts["errno_name"] == "ENOENT"
    assert not (tmp_path / "gone").exists()


def test_a_large_file_round_trips(tmp_path: Path) -> None:
    data = os.urandom(3_000_001)
    replace_file(tmp_path, ME, data, expect_digest=None)
    assert read_file(tmp_path, ME).data == data


# --- files below .git


def test_an_internal_file_is_written_read_and_removed(tmp_path: Path) -> None:
    git_folder = tmp_path / ".git"
    assert read_internal(git_folder, "journal.json") is None
    remove_internal(git_folder, "journal.json")
    assert names_below(tmp_path) == set()
    write_internal(git_folder, "journal.json", OLD)
    write_internal(git_folder, "journal.json", NEW)
    assert read_internal(git_folder, "journal.json") == NEW
    assert mode_of(git_folder / "journal.json") == 0o600
    assert names_below(tmp_path) == {".git", ".git/journal.json"}
    remove_internal(git_folder, "journal.json")
    remove_internal(git_folder, "journal.json")
    assert names_below(tmp_path) == {".git"}


def test_an_internal_name_is_one_name(tmp_path: Path) -> None:
    for name in ("", ".", "..", "a/b", "../x", "a\\b"):
        with pytest.raises(ValueError, match="single file name"):
            write_internal(tmp_path, name, NEW)
        with pytest.raises(ValueError, match="single file name"):
            remove_internal(tmp_path, name)


def test_a_git_folder_that_is_a_link_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".git").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PathRefused):
        write_internal(tmp_path / ".git", "journal.json", NEW)
    assert names_below(tmp_path / "elsewhere") == set()
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    with pytest.raises(PathRefused):
        read_internal(tmp_path / ".git", "journal.json")


# --- what killed writers left


def test_only_our_temporaries_are_swept_and_no_link_is_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    temporary = ".memrepo-0123456789abcdef.tmp"
    ours = (temporary, f"workspaces/{temporary}", f".git/{temporary}", f".git/cowork-dreams/{temporary}")
    kept = (
        "me.md",
        ".memrepo-notes.tmp",
        ".memrepo-0123456789ABCDEF.tmp",
        "x.tmp",
        f".git/objects/{temporary}",
        "../outside/" + temporary,
    )
    for name in (*ours, *kept):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / "link").symlink_to(outside)
    assert remove_stale_temporaries(root) == tuple(sorted(ours))
    assert all((root / name).exists() for name in kept)
    assert outside.joinpath(temporary).exists()
    assert remove_stale_temporaries(root) == ()
