"""Whole files in, whole files out: after any crash a file holds its old bytes or its new ones, and never a mixture.

A writer proves what it read: every replace and removal takes the digest of the bytes it was planned from and refuses
when the file has others. What is written stands complete and synced under a random name in the same folder before it
takes the file's name; that name is gone on any exit but a kill, after which `remove_stale_temporaries` removes it.

Limits: an editor that saves in the few microseconds between the last digest and the rename is overwritten (no file
system offers compare-and-replace; git keeps the older bytes only if they were committed). A replace gives the name a
new file, so another hard link to the old one keeps the old bytes. On macOS a sync reaches the drive, not through its
cache.
"""

from __future__ import annotations

import hashlib
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import ChangedOnDisk, DiskFault, TooLarge
from memrepo.files.folder import (
    NEW_FILE_MODE,
    NO_HARD_LINKS,
    TEMPORARY_NAME,
    Folder,
    Temporary,
    disk_faults,
    open_folder,
)
from memrepo.files.paths import check_repo_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.model import RepoPath

READ_LIMIT_BYTES = 8 * 1024 * 1024
"""Past this a file in the memory folder is not read: whatever it is, it is no memory."""
INTERNAL_LIMIT_BYTES = 1024 * 1024 * 1024
"""A write journal holds the bytes of every file of one write."""


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """One file as it was read or written; `digest` is SHA-256 in hex. Absent: both are None and the numbers 0."""

    path: RepoPath
    data: bytes | None
    digest: str | None
    size_bytes: int = 0
    mtime_ns: int = 0


def digest_bytes(data: bytes) -> str:
    """Returns the SHA-256 of the bytes as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def read_file(root: Path, path: RepoPath, *, limit_bytes: int = READ_LIMIT_BYTES) -> FileSnapshot:
    """Reads one regular file of the repo; `data` is None when it, or a folder on the way, is absent.

    Errors: PathRefused for a link on the way and for pipes, devices and folders (never opened, so never hanging);
    TooLarge past `limit_bytes`; DiskFault. Changes: nothing.
    """
    with _open_parent("read", root, path) as (folder, name):
        return FileSnapshot(path, None, None) if folder is None else _read(folder, name, path, limit_bytes)


def replace_file(
    root: Path, path: RepoPath, data: bytes, *, expect_digest: str | None, is_executable: bool | None = None
) -> FileSnapshot:
    """Puts the bytes in the place of a file that still has `expect_digest`; None means that it must be absent.

    `is_executable` gives its owner the right to run it, or takes it from all.
    Errors: ChangedOnDisk, PathRefused, DiskFault. The file is as it was, but for one case: when only the last step, the
    sync of its folder, fails, it holds the new bytes. Changes: the file; missing folders above it, which stay.
    A new file is for its owner alone (0600, folders 0700); an existing one keeps its mode. Two syncs.
    """
    with _open_parent("write", root, path, create=True) as (folder, name):
        assert folder is not None  # noqa: S101 - it was created
        _require_digest(folder, name, path, expect_digest)
        mode = _require_writable(folder, name, path)
        if is_executable is not None:
            mode = mode | 0o100 if is_executable else mode & ~0o111
        with folder.temporary(data, mode=mode) as temporary:
            _require_digest(folder, name, path, expect_digest)
            if expect_digest is None:
                _place_absent(folder, temporary, name, path)
            else:
                folder.rename(temporary.name, name)
        folder.sync()
        return FileSnapshot(path, data, digest_bytes(data), len(data), temporary.mtime_ns)


def remove_file(root: Path, path: RepoPath, *, expect_digest: str | None) -> None:
    """Removes a file that still has `expect_digest`; None means that it must be absent, and then nothing happens.

    Errors: ChangedOnDisk, PathRefused, DiskFault. Changes: the file; its folder stays, even when empty.
    """
    with _open_parent("remove", root, path) as (folder, name):
        if folder is None:
            if expect_digest is not None:
                raise _changed(path, expect_digest, None)
            return
        _require_digest(folder, name, path, expect_digest)
        if expect_digest is not None:
            _require_writable(folder, name, path)
            folder.unlink(name)
            folder.sync()


def read_internal(folder: Path, name: str, *, limit_bytes: int = INTERNAL_LIMIT_BYTES) -> bytes | None:
    """Reads a file of ours below `.git`; None when it is absent. Errors: PathRefused, TooLarge, DiskFault."""
    with _open_internal("read", folder, name) as opened:
        if opened is None:
            return None
        found = opened.read_regular(name, limit_bytes=limit_bytes)
    return None if found is None else _within(found[0], limit_bytes, name)


def write_internal(folder: Path, name: str, data: bytes) -> None:
    """Puts the bytes, durable and whole, in a file of ours below `.git` (journal, markers), whatever was there.

    Errors: PathRefused, DiskFault. Changes: the file; the folder itself is made when it is missing.
    """
    with _open_internal("write", folder, name, create=True) as opened:
        assert opened is not None  # noqa: S101 - it was created
        with opened.temporary(data) as temporary:
            opened.rename(temporary.name, name)
        opened.sync()


def remove_internal(folder: Path, name: str) -> None:
    """Removes a file of ours below `.git`, if it is there. Errors: PathRefused, DiskFault."""
    with _open_internal("remove", folder, name) as opened:
        if opened is not None and opened.find_stat(name) is not None:
            opened.unlink(name)
            opened.sync()


def remove_stale_temporaries(root: Path) -> tuple[str, ...]:
    """Removes the temporary files that killed writers left behind, and returns their paths.

    Looks in the root, in `.git` and in our folders there; follows no link. Only under the write lock: whoever else
    writes loses its file. Errors: DiskFault.
    """
    removed: list[str] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        with disk_faults("clean", "/".join(parts) or str(root)), open_folder(root, parts) as folder:
            if folder is None:
                continue
            for name, is_folder in folder.list_names():
                if is_folder and (parts != (".git",) or name.startswith("cowork-")):
                    waiting.append((*parts, name))
                elif not is_folder and TEMPORARY_NAME.fullmatch(name):
                    folder.unlink(name)
                    removed.append("/".join((*parts, name)))
    return tuple(sorted(removed))


def has_stale_temporaries(folder: Path) -> bool:
    """Whether there is a temporary file in this one folder. Errors: DiskFault. Changes: nothing."""
    with disk_faults("read", folder.name), Folder.open_root(folder) as opened:
        return any(TEMPORARY_NAME.fullmatch(name) for name, _ in opened.list_names())


@contextmanager
def _open_parent(act: str, root: Path, path: RepoPath, *, create: bool = False) -> Iterator[tuple[Folder | None, str]]:
    """Opens the folder of a file; None when it is absent. The path is checked again: a `RepoPath` is only a promise."""
    *parts, name = check_repo_path(path).split("/")
    with disk_faults(act, path), open_folder(root, parts, create=create) as folder:
        yield folder, name


@contextmanager
def _open_internal(act: str, folder: Path, name: str, *, create: bool = False) -> Iterator[Folder | None]:
    if not name or "/" in name or "\\" in name or name in {".", ".."}:
        raise ValueError(f"not a single file name: {name!r}")
    with (
        disk_faults(act, f"{folder.name}/{name}"),
        Folder.open_root(folder.parent) as above,
    ):
        opened = above.open_child(folder.name, create=create)
        try:
            yield opened
        finally:
            if opened is not None:
                opened.close()


def _read(folder: Folder, name: str, path: RepoPath, limit_bytes: int) -> FileSnapshot:
    found = folder.read_regular(name, limit_bytes=limit_bytes)
    if found is None:
        return FileSnapshot(path, None, None)
    data = _within(found[0], limit_bytes, path)
    return FileSnapshot(path, data, digest_bytes(data), len(data), found[1].st_mtime_ns)


def _within(data: bytes, limit_bytes: int, path: str) -> bytes:
    if len(data) <= limit_bytes:
        return data
    raise TooLarge(
        f"{path} is larger than {limit_bytes:,} bytes and is not read",
        hint="move it out of the memory folder, or split it",
        rule="file-size",
        target=path,
        limit=limit_bytes,
        actual=len(data),
        unit="bytes",
    )


def _require_digest(folder: Folder, name: str, path: RepoPath, expected: str | None) -> None:
    # Read to the end, however long: a file that grew past what we would read has changed like any other.
    actual = _read(folder, name, path, INTERNAL_LIMIT_BYTES).digest
    if actual != expected:
        raise _changed(path, expected, actual)


def _changed(path: RepoPath, expected: str | None, actual: str | None) -> ChangedOnDisk:
    what = "appeared" if expected is None else "was removed" if actual is None else "changed"
    return ChangedOnDisk(
        f"{path} {what} on disk since it was read; nothing was written to it",
        hint="run the command again: it starts from the file as it is now",
        path=path,
        expected=expected,
        actual=actual,
    )


def _require_writable(folder: Folder, name: str, path: RepoPath) -> int:
    """The mode that the file has and keeps, or is to have. Errors: DiskFault when its owner marked it read-only."""
    look = folder.find_stat(name)
    if look is None:
        return NEW_FILE_MODE
    mode = stat.S_IMODE(look.st_mode) & 0o777
    if not mode & 0o222:  # a rename would not mind; whoever took the write bits away does
        raise DiskFault(
            f"cannot write {path}: the file is marked read-only (EACCES)",
            hint=f"chmod u+w {path}",
            invariant="disk",
            path=path,
            errno_name="EACCES",
        )
    return mode


def _place_absent(folder: Folder, temporary: Temporary, name: str, path: RepoPath) -> None:
    """Gives the temporary its name unless that is taken; a link cannot overwrite what an editor just made."""
    try:
        if folder.link(temporary.name, name):
            return
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if folder.find_stat(name) is None:
            folder.rename(temporary.name, name)
            return
    raise _changed(path, None, _read(folder, name, path, INTERNAL_LIMIT_BYTES).digest)
