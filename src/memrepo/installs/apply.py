"""The files of hosts on disk: read, proven unchanged, kept as a backup, replaced whole.

Writes outside of any memory folder, and only what a plan shows. A file that is a link, as tools for dotfiles make it,
stays one: its target is changed; in a project, nothing outside of its folder is. A file's permissions stay. Backups and
the records of installs stand in memrepo's data folder, for their owner alone.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.errors import ChangedOnDisk, DiskFault, PathRefused, Refused
from memrepo.files.folder import disk_faults
from memrepo.installs.pieces import InstallScope
from memrepo.installs.record import RecordedFile, continue_record, format_record, make_digest, parse_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memrepo.installs.plan import FileEdit, InstallPlan

_READ_LIMIT_BYTES = 8 * 1024 * 1024
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_SHARED_FILE = 0o644


def read_present(paths: Iterable[Path]) -> dict[Path, bytes | None]:
    """The bytes of the files, None for what is not there. Errors: DiskFault."""
    return {path: _read(path) for path in paths}


def check_inside(folder: Path, paths: Iterable[Path]) -> None:
    """Errors: PathRefused when a link leads one of the paths out of the project's folder."""
    top = Path(os.path.realpath(folder))
    for path in paths:
        if not Path(os.path.realpath(path)).is_relative_to(top):
            raise PathRefused(
                f"{path} leads out of {folder}; nothing was changed",
                hint="replace the link by a folder or a file",
                path=str(path),
                rule="link",
            )


def find_target(path: Path) -> Path | None:
    """Where a path leads through links, None when it is no link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else None


class InstallStore:
    """The record and the backups of one host in one scope."""

    def __init__(self, data: Path, *, host: str, scope: InstallScope, folder: Path) -> None:
        self._folder = data / "installs"
        suffix = "" if scope is InstallScope.USER else f"-{make_digest(os.fsencode(folder))[:12]}"
        self._file = self._folder / f"{host}-{scope}{suffix}.json"
        self._new_mode = _PRIVATE_FILE if scope is InstallScope.USER else _SHARED_FILE

    def read(self) -> dict[Path, RecordedFile]:
        """What the last install left. Errors: DiskFault."""
        return parse_record(_read(self._file))

    def read_backups(self, recorded: Mapping[Path, RecordedFile]) -> dict[Path, bytes | None]:
        """The bytes from before the install; None where they are gone or damaged."""
        found: dict[Path, bytes | None] = {}
        for path, one in recorded.items():
            data = _read(self._find_backup(path, one.backup)) if one.backup else None
            found[path] = data if data is not None and make_digest(data) == one.backup else None
        return found

    def apply(self, plan: InstallPlan, *, is_install: bool) -> dict[Path, Path]:
        """Writes a plan and returns where each file's old bytes are kept.

        Errors: ChangedOnDisk when a file is not what the plan was made from, Refused for a read-only one, DiskFault;
        before the first write all files are looked at.
        """
        for edit in plan.edits:
            _check(edit)
        recorded = self.read()
        backups: dict[Path, Path] = {}
        for edit in plan.edits:
            if edit.before is not None and not _is_as_written(recorded.get(edit.path), edit.before):
                backups[edit.path] = self._keep(edit.path, edit.before)
            folders = _write(edit, new_mode=self._new_mode)
            if is_install and edit.after is not None:
                new = RecordedFile(
                    edit.path,
                    make_digest(edit.after),
                    was_absent=edit.before is None,
                    backup=None if edit.before is None else make_digest(edit.before),
                    made=edit.made,
                    folders=folders,
                )
                recorded[edit.path] = continue_record(recorded.get(edit.path), new, before=edit.before)
                self._save(recorded)
        if not is_install:
            _remove_folders(folder for one in recorded.values() for folder in one.folders)
            with disk_faults("remove", str(self._file)):
                self._file.unlink(missing_ok=True)
        return backups

    def _keep(self, path: Path, data: bytes) -> Path:
        place = self._find_backup(path, make_digest(data))
        if _read(place) != data:
            self._write_private(place, data)
        return place

    def _find_backup(self, path: Path, digest: str | None) -> Path:
        return self._folder / "backups" / f"{path.name}.{(digest or '')[:16]}"

    def _save(self, recorded: Mapping[Path, RecordedFile]) -> None:
        self._write_private(self._file, format_record(recorded.values()))

    def _write_private(self, place: Path, data: bytes) -> None:
        with disk_faults("write", str(place)):
            place.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            _replace(place, data, mode=_PRIVATE_FILE)


def _is_as_written(recorded: RecordedFile | None, data: bytes) -> bool:
    return recorded is not None and recorded.after == make_digest(data)


def _read(path: Path) -> bytes | None:
    with disk_faults("read", str(path)):
        try:
            look = path.stat()
            if not stat.S_ISREG(look.st_mode):
                raise DiskFault(f"{path} is no file, so it is not opened", hint=f"look at it: ls -l '{path}'")
            if look.st_size > _READ_LIMIT_BYTES:
                raise DiskFault(f"{path} is too large for a settings file", hint=f"look at it: {path}")
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None


def _check(edit: FileEdit) -> None:
    data = _read(edit.path)
    if data != edit.before:
        raise ChangedOnDisk(
            f"{edit.path} was changed meanwhile; nothing was written",
            hint="run it again",
            path=str(edit.path),
            expected=make_digest(edit.before) if edit.before is not None else "absent",
            actual=make_digest(data) if data is not None else "absent",
        )
    if data is not None and not edit.path.stat().st_mode & stat.S_IWUSR:
        raise Refused(
            f"{edit.path} is read-only; nothing was written",
            hint=f"if you want it changed: chmod u+w '{edit.path}'",
            rule="read-only-file",
            actor="user",
            action="write",
            target=str(edit.path),
        )


def _write(edit: FileEdit, *, new_mode: int) -> tuple[Path, ...]:
    """Puts the new bytes in place; returns the folders that had to be made."""
    place = Path(os.path.realpath(edit.path))
    with disk_faults("write", str(edit.path)):
        if edit.after is None:
            place.unlink()  # what a link leads to; the link was there before
            return ()
        missing = [folder for folder in place.parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
        mode = new_mode if edit.before is None else stat.S_IMODE(place.stat().st_mode)
        _replace(place, edit.after, mode=mode)
    return tuple(missing)


def _replace(place: Path, data: bytes, *, mode: int) -> None:
    temporary = place.parent / f".{place.name}.{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _PRIVATE_FILE)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(stream.fileno(), mode)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove_folders(folders: Iterable[Path]) -> None:
    """Removes those that are empty, the deepest first."""
    for folder in sorted(set(folders), key=lambda one: len(one.parts), reverse=True):
        try:
            folder.rmdir()
        except OSError:  # not empty, or gone: not ours to clear
            continue
