"""The end of old records: what users said after a week, whole sessions after a month.

A file is replaced while others may add to it. Whoever adds looks afterwards whether its file still has a name, and adds
again if not; `prune` looks afterwards for what was added to the old file, and carries it over. So a record may come to
stand twice, which says nothing more, and none is lost.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from memrepo.files.folder import TEMPORARY_NAME
from memrepo.sessions.records import (
    DAY_MS,
    FILE_LIMIT_BYTES,
    MESSAGE_DAYS,
    SUFFIX,
    TOO_LARGE,
    Record,
    is_key,
    read_record,
    write_record,
)
from memrepo.sessions.tickets import TICKETS_FOLDER, sweep_tickets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.files.folder import Folder

ENDED_DAYS = 30
SILENT_DAYS = 90
_LOCK_NAME = "prune.lock"


def prune(folder: Folder, *, now_ms: int) -> int:
    """See `SessionLedger.prune`."""
    lock = folder.open_shared(_LOCK_NAME)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process is at it
        os.close(lock)
        return 0
    try:
        waiting = folder.open_child(TICKETS_FOLDER)
        if waiting is not None:
            with waiting:
                sweep_tickets(waiting, now_ms=now_ms)
        changed = 0
        for name, _ in folder.list_names():
            if name.endswith(SUFFIX) and is_key(name.removesuffix(SUFFIX)):
                changed += _prune_file(folder, name, now_ms)
            elif TEMPORARY_NAME.fullmatch(name):
                _remove_old_temporary(folder, name, now_ms)
        return changed
    finally:
        os.close(lock)


def _prune_file(folder: Folder, name: str, now_ms: int) -> bool:
    look = folder.find_stat(name)
    if look is None or not stat.S_ISREG(look.st_mode):
        return False
    descriptor = folder.open_shared(name)
    try:
        size = os.fstat(descriptor).st_size
        data = _read_at(descriptor, 0, min(size, FILE_LIMIT_BYTES))
        if size > FILE_LIMIT_BYTES:
            if now_ms - look.st_mtime_ns // 1_000_000 < MESSAGE_DAYS * DAY_MS:
                return False  # it may be in use; nothing of it is lost by waiting
            read_to = size
        else:  # what stands behind the last newline may be half of an addition that is under way
            read_to = data.rfind(b"\n") + 1
            data = data[:read_to]
        lines = [line for line in data.split(b"\n") if line.strip()]
        records = [record for line in lines if (record := read_record(line, name.removesuffix(SUFFIX)))]
        if not records:
            return False
        if _is_over(records, now_ms):
            folder.unlink(name)
            left = _read_at(descriptor, read_to, None)
            if left.strip():  # somebody goes on after all
                folder.append(name, data + left)
                return False
            return True
        kept = _keep(lines, name, now_ms, records[0], is_cut=size > FILE_LIMIT_BYTES)
        if kept is None:
            return False
        _replace(folder, name, kept, descriptor, read_to, look.st_mtime_ns)
        return True
    finally:
        os.close(descriptor)


def _is_over(records: Sequence[Record], now_ms: int) -> bool:
    last_ms = max(one.at_ms for one in records)
    state = next((one.kind for one in reversed(records) if one.kind in {"start", "end"}), None)
    return last_ms < now_ms - (ENDED_DAYS if state == "end" else SILENT_DAYS) * DAY_MS


def _keep(lines: Sequence[bytes], name: str, now_ms: int, first: Record, *, is_cut: bool) -> bytes | None:
    """The new content of a file, None when it is as it should be."""
    oldest_ms = now_ms - MESSAGE_DAYS * DAY_MS
    kept: list[bytes] = []
    is_damaged = is_changed = False
    for line in lines:
        record = read_record(line, name.removesuffix(SUFFIX))
        if record is None:  # it may be a torn message: gone, and the doubt stays
            is_damaged = is_changed = True
        elif record.kind == "message" and record.text("text") is not None and record.at_ms < oldest_ms:
            is_changed = True  # that it was said, and when, stays: a start behind it came too late
            kept.append(write_record(record.host, record.session_id, "message", record.at_ms))
        else:
            kept.append(b"\n" + line + b"\n")
    if not is_changed and not is_cut:
        return None
    marks: list[tuple[str, dict[str, str]]] = [("damaged", {})] if is_damaged else []
    marks += [("read", {"source": TOO_LARGE})] if is_cut else []
    for kind, values in marks:
        kept.append(write_record(first.host, first.session_id, kind, now_ms, **values))
    return b"".join(kept)


def _replace(folder: Folder, name: str, data: bytes, old: int, read_to: int, mtime_ns: int) -> None:
    with folder.temporary(data) as temporary:
        folder.rename(temporary.name, name)
    left = _read_at(old, read_to, None)
    if left.strip():
        folder.append(name, left)
    else:  # the order of sessions is that of their last record
        with suppress(OSError):
            os.utime(folder.path / name, ns=(mtime_ns, mtime_ns), follow_symlinks=False)


def _read_at(descriptor: int, start: int, count: int | None) -> bytes:
    chunks = []
    while (count is None or count > 0) and (
        chunk := os.pread(descriptor, 1 << 20 if count is None else min(count, 1 << 20), start)
    ):
        chunks.append(chunk)
        start += len(chunk)
        count = None if count is None else count - len(chunk)
    return b"".join(chunks)


def _remove_old_temporary(folder: Folder, name: str, now_ms: int) -> None:
    look = folder.find_stat(name)
    if look is not None and now_ms - look.st_mtime_ns // 1_000_000 > DAY_MS:
        with suppress(FileNotFoundError):
            folder.unlink(name)
