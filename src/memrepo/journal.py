"""The write journal: what a write is about to do, durable before it touches a file.

One file, `.git/cowork-pending.json`, present only while a write is under way. It holds the whole plan (each file's
digest before, its bytes after, the commit message), so that whoever takes the lock next can finish a write whose
process was killed: all of its files or, when the journal never became whole, none. Nothing else reads or writes that
file.

A second one, `.git/cowork-replayed.json`, holds the keys of pending writes that are in the repo while their rows may
still wait in the private store: the two cannot change at once, and a write that was done must not be done again after
the user took it back.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import PathRefused, RepositoryFault
from memrepo.files.atomic import digest_bytes, read_internal, remove_internal, write_internal
from memrepo.files.paths import check_repo_path
from memrepo.model import FileChange, Message, Origin, Trailers

if TYPE_CHECKING:
    from pathlib import Path

JOURNAL_NAME = "cowork-pending.json"
REPLAYED_NAME = "cowork-replayed.json"
_DAMAGED = "cowork-pending.damaged-"
_VERSION = 1
_KEYS_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One write: the changes and the message they are committed with. `is_written`: only the commit is missing.

    `replays` is the key of the pending write that this is, "" for any other.
    """

    changes: tuple[FileChange, ...]
    message: Message
    is_written: bool = False
    replays: str = ""


def write_journal(git_folder: Path, record: JournalRecord) -> None:
    """Makes the plan durable. Changes: `.git/cowork-pending.json`. Errors: DiskFault."""
    write_internal(git_folder, JOURNAL_NAME, _to_json(record))


def read_journal(git_folder: Path) -> JournalRecord | None:
    """Returns the unfinished write, or None. Errors: RepositoryFault when the journal cannot be understood."""
    data = read_internal(git_folder, JOURNAL_NAME)
    if data is None:
        return None
    try:
        return _from_json(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, PathRefused) as error:
        raise RepositoryFault(
            f"the write journal .git/{JOURNAL_NAME} is damaged",
            hint="memrepo doctor --fix sets it aside and keeps it",
            invariant="journal",
            path=f".git/{JOURNAL_NAME}",
        ) from error


def remove_journal(git_folder: Path) -> None:
    """Ends the write. Changes: removes `.git/cowork-pending.json`."""
    remove_internal(git_folder, JOURNAL_NAME)


def set_journal_aside(git_folder: Path) -> str | None:
    """Renames a damaged journal so that writing can go on; returns its new name. Nothing of it is lost."""
    data = read_internal(git_folder, JOURNAL_NAME)
    if data is None:
        return None
    name = f"{_DAMAGED}{digest_bytes(data)[:12]}.json"
    write_internal(git_folder, name, data)
    remove_journal(git_folder)
    return name


def list_damaged_journals(git_folder: Path) -> tuple[str, ...]:
    """The journals that were set aside, sorted: each holds whole files in a form that no search for a text finds."""
    return tuple(sorted(f".git/{path.name}" for path in git_folder.glob(f"{_DAMAGED}*.json")))


def read_replayed(git_folder: Path) -> tuple[str, ...]:
    """The keys of the pending writes that the repo holds, oldest first. What cannot be read counts as none."""
    data = read_internal(git_folder, REPLAYED_NAME)
    try:
        keys = json.loads(data)["keys"] if data else []
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else ()


def add_replayed(git_folder: Path, key: str) -> None:
    """Notes that a pending write is in the repo. Changes: `.git/cowork-replayed.json`. Errors: DiskFault."""
    known = [other for other in read_replayed(git_folder) if other != key]
    _write_replayed(git_folder, [*known, key][-_KEYS_LIMIT:])


def remove_replayed(git_folder: Path, key: str) -> None:
    """Ends that: the store knows it too. Changes: `.git/cowork-replayed.json`. Errors: DiskFault."""
    keys = read_replayed(git_folder)
    if key in keys:
        _write_replayed(git_folder, [other for other in keys if other != key])


def _write_replayed(git_folder: Path, keys: list[str]) -> None:
    if keys:
        write_internal(git_folder, REPLAYED_NAME, json.dumps({"version": _VERSION, "keys": keys}).encode())
    else:
        remove_internal(git_folder, REPLAYED_NAME)


def _to_json(record: JournalRecord) -> bytes:
    trailers = record.message.trailers
    return json.dumps(
        {
            "version": _VERSION,
            "subject": record.message.subject,
            "origin": trailers.origin,
            "task": trailers.task,
            "dream": trailers.dream,
            "is_written": record.is_written,
            "replays": record.replays,
            "changes": [
                {
                    "path": change.path,
                    "before": change.before,
                    "data": None if change.data is None else base64.b64encode(change.data).decode(),
                }
                for change in record.changes
            ],
        }
    ).encode()


def _from_json(data: bytes) -> JournalRecord:
    raw = json.loads(data)
    if raw["version"] != _VERSION:
        raise ValueError("journal version")
    changes = tuple(
        FileChange(
            check_repo_path(_text(item["path"])),
            _text_or_none(item["before"]),
            None if item["data"] is None else base64.b64decode(item["data"], validate=True),
        )
        for item in raw["changes"]
    )
    trailers = Trailers(Origin(raw["origin"]), _text_or_none(raw["task"]), _text_or_none(raw["dream"]))
    return JournalRecord(
        changes,
        Message(_text(raw["subject"]), trailers),
        is_written=raw.get("is_written") is True,
        replays=_text(raw.get("replays", "")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)
