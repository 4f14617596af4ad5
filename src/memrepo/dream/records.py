"""What is kept of dreams: one JSON file each in `.git/cowork-dreams/`, and how far the sessions were read.

A record holds texts only of changes that still wait; once they are settled, the commits say what was changed, and what
was rejected is nobody's to keep. A file that is not of our form (another program's) is left alone and not listed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from memrepo.dream.operations import Change  # noqa: TC001 - pydantic reads the annotation
from memrepo.dream.sources import Cursor
from memrepo.errors import LockBusy, NotFound
from memrepo.files.atomic import read_internal, write_internal
from memrepo.files.folder import Folder, disk_faults

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence
    from pathlib import Path

DREAMS_FOLDER = "cowork-dreams"
CURSOR_NAME = "memrepo-dream-cursor.json"
LOCK_NAME = "memrepo-dream.lock"
BRANCH_PREFIX = "dream/"
_LIMIT_BYTES = 4 * 1024 * 1024
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,40}")

Status = Literal["running", "done", "waiting", "failed"]


class Record(BaseModel):
    """One dream. `commits` are those that it made, the oldest first; `base` and `tip` are of its review branch.

    `head` is what memory was when it ended; `status` `running` without a process that holds the lock was cut off.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    id: str
    at: AwareDatetime
    status: Status = "running"
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    sessions: int = 0
    changes: tuple[Change, ...] = ()
    dropped: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()
    base: str = ""
    tip: str = ""
    head: str = ""
    failure: str = ""

    @property
    def branch(self) -> str:
        """The branch that holds what waits."""
        return BRANCH_PREFIX + self.id

    @property
    def waiting(self) -> tuple[Change, ...]:
        """The changes that wait for the user; none of a dream that did not come to its end."""
        return self._open if self.status in {"waiting", "done"} else ()

    @property
    def _open(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.state == "open")

    def fail(self, why: str) -> Record:
        """The record of a dream that did not come to its end: what it did not do yet, it never does."""
        gone = [change.model_copy(update={"state": "dropped", "why": "not done"}) for change in self._open]
        return self.with_changes(gone).model_copy(update={"status": "failed", "failure": why})

    def with_changes(self, changes: Sequence[Change]) -> Record:
        """The record with these changes in the place of those with their numbers, and the status that follows."""
        new = {change.number: change for change in changes}
        merged = tuple(new.get(change.number, change) for change in self.changes)
        is_waiting = any(change.state == "open" for change in merged)
        return self.model_copy(update={"changes": merged, "status": "waiting" if is_waiting else "done"})


def make_id(at: dt.datetime, taken: Sequence[Record]) -> str:
    """The day, and a number when it is not the day's first dream."""
    day = at.date().isoformat()
    numbers = [int(one.id[11:] or 1) for one in taken if one.id[:10] == day and (one.id[11:] or "1").isdigit()]
    return f"{day}-{max(numbers) + 1}" if numbers else day


def save_record(git_folder: Path, record: Record) -> Record:
    """Keeps a record, without the texts of what is settled, and returns it as it came. Changes: its file.

    Errors: DiskFault.
    """
    kept = record.model_copy(update={"changes": tuple(_forget_texts(change) for change in record.changes)})
    write_internal(git_folder / DREAMS_FOLDER, f"{record.id}.json", kept.model_dump_json(indent=1).encode())
    return record


def find_record(git_folder: Path, record_id: str) -> Record | None:
    """A record, None when it is absent or not of our form. Errors: DiskFault, PathRefused."""
    if not _ID.fullmatch(record_id):
        return None
    data = read_internal(git_folder / DREAMS_FOLDER, f"{record_id}.json", limit_bytes=_LIMIT_BYTES)
    try:
        record = None if data is None else Record.model_validate_json(data)
    except (ValidationError, RecursionError):
        return None
    return record if record is not None and record.id == record_id else None


def get_record(git_folder: Path, record_id: str) -> Record:
    """A record. Errors: NotFound."""
    record = find_record(git_folder, record_id)
    if record is None:
        raise NotFound(f"there is no dream {record_id!r}", hint="memrepo dream list", what="dream", name=record_id)
    return record


def list_records(git_folder: Path) -> tuple[Record, ...]:
    """All records, the newest first. Errors: DiskFault. Changes: nothing."""
    folder = git_folder / DREAMS_FOLDER
    if not folder.is_dir():
        return ()
    names = [path.name.removesuffix(".json") for path in folder.iterdir() if path.name.endswith(".json")]
    found = [record for name in names if (record := find_record(git_folder, name)) is not None]
    return tuple(sorted(found, key=lambda record: (record.at, record.id), reverse=True))


def drop_waiting(git_folder: Path) -> int:
    """Gives up what waits in all dreams, its texts with it: before history is compacted. Returns how many changes."""
    count = 0
    end_cut_off(git_folder)
    for record in list_records(git_folder):
        if record.waiting:
            count += len(record.waiting)
            gone = [change.model_copy(update={"state": "dropped", "why": "compacted"}) for change in record.waiting]
            save_record(git_folder, record.with_changes(gone))
    return count


def end_cut_off(git_folder: Path) -> None:
    """Ends the dreams whose process is gone. The caller holds the dream lock, or knows that nobody dreams."""
    for record in list_records(git_folder):
        if record.status == "running":
            save_record(git_folder, record.fail("it was cut off"))


def read_cursor(git_folder: Path) -> Cursor:
    """How far dreams have read; a damaged file counts as not read. Errors: DiskFault, PathRefused."""
    data = read_internal(git_folder, CURSOR_NAME, limit_bytes=_LIMIT_BYTES)
    try:
        return Cursor.from_json(json.loads(data) if data else None)
    except (ValueError, RecursionError):
        return Cursor()


def write_cursor(git_folder: Path, cursor: Cursor) -> None:
    """Keeps how far dreams have read. Changes: its file. Errors: DiskFault."""
    write_internal(git_folder, CURSOR_NAME, json.dumps(cursor.to_json()).encode())


@contextmanager
def hold_dream_lock(git_folder: Path) -> Iterator[None]:
    """Lets one process at a time dream or settle dreams; the lock of a process that died is gone with it.

    Errors: LockBusy at once, DiskFault. Changes: an empty file that stays.
    """
    with disk_faults("lock", str(git_folder)), Folder.open_root(git_folder) as folder:
        descriptor = folder.open_shared(LOCK_NAME)
    try:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LockBusy(
                    "a dream is under way in another process",
                    hint="wait until it is done, then run the command again",
                    lock=str(git_folder / LOCK_NAME),
                ) from None
            except OSError:  # a file system without flock: nobody can tell
                pass
        yield
    finally:
        os.close(descriptor)


def _forget_texts(change: Change) -> Change:
    if change.state == "open":
        return change
    lines = tuple(line.model_copy(update={"text": ""}) for line in change.lines)
    return change.model_copy(update={"lines": lines, "text": "", "evidence": "", "reason": "", "subject": ""})
