"""What memrepo remembers of an install, so that removing it leaves each file as it was. JSON to values and back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memrepo.installs.json_text import Step

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """One file of an install: what it was before (`backup`, a digest, or absent) and what memrepo left (`after`).

    While the file still has the digest `after`, removing the install puts the old bytes back. `after` is "" when
    somebody changed the file between two installs: then only memrepo's own entries come out. `made` are the
    containers, and `folders` the folders, that were not there before.
    """

    path: Path
    after: str
    was_absent: bool = False
    backup: str | None = None
    made: tuple[tuple[Step, ...], ...] = ()
    folders: tuple[Path, ...] = ()


def make_digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def continue_record(old: RecordedFile | None, new: RecordedFile, *, before: bytes | None) -> RecordedFile:
    """The record of a file that is written again: the way back stays the one to before the first install."""
    if old is None or before is None:
        return new
    made = tuple(dict.fromkeys((*old.made, *new.made)))
    new = replace(new, made=made, was_absent=old.was_absent, folders=old.folders or new.folders)
    if make_digest(before) == old.after:
        return replace(new, backup=old.backup)
    return replace(new, after="", backup=None)


def format_record(files: Iterable[RecordedFile]) -> bytes:
    """The record as it stands on disk."""
    rows = [
        {
            "path": str(one.path),
            "after": one.after,
            "was_absent": one.was_absent,
            "backup": one.backup,
            "made": [list(path) for path in one.made],
            "folders": [str(folder) for folder in one.folders],
        }
        for one in files
    ]
    return (json.dumps({"format": _FORMAT, "files": rows}, indent=1) + "\n").encode()


def parse_record(data: bytes | None) -> dict[Path, RecordedFile]:
    """The files of a record; none of one that cannot be read: it only makes the way back exact."""
    try:
        whole: Mapping[str, Any] = json.loads(data or b"{}")
        rows = whole.get("files", [])
        return {
            Path(row["path"]): RecordedFile(
                Path(row["path"]),
                str(row["after"]),
                was_absent=row["was_absent"] is True,
                backup=row["backup"],
                made=tuple(tuple(path) for path in row["made"]),
                folders=tuple(Path(folder) for folder in row["folders"]),
            )
            for row in rows
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}
