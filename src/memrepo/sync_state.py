"""What sync knows from one time to the next: one small file, `.git/cowork-sync-state.json`, of this folder alone.

It holds commit ids, times, the last error, why sync is paused, and after a compaction the hashes of entries that came
and went since the remote last heard of this folder. No text of a memory, no address with a user in it. Lost, it costs
at most a question to the person; a file that cannot be read counts as none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from memrepo.files.atomic import read_internal, remove_internal, write_internal
from memrepo.model import CommitId, ContentHash

if TYPE_CHECKING:
    from pathlib import Path

STATE_NAME = "cowork-sync-state.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong: an error's code, message and hint, the paths that it names, and since when (ISO 8601, UTC)."""

    code: str
    message: str
    hint: str
    paths: tuple[str, ...] = ()
    since: str = ""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A compaction replaced the history that the remote holds up to `held`.

    `added` and `removed` are the hashes of entries that the folder got and lost from that commit to `since`: the remote
    has not heard of them, and no commit tells any more. `since` None is the first commit of the branch.
    """

    held: CommitId
    added: frozenset[ContentHash] = frozenset()
    removed: frozenset[ContentHash] = frozenset()
    since: CommitId | None = None


@dataclass(frozen=True, slots=True)
class SyncState:
    """`remote` is the address that all of this is about, without user info.

    `held`: the remote's head that this folder last held all of; None before the first sync.

    `pause` waits for the person; `failure` is the last error of a sync that may go through later, with its first time.
    """

    remote: str | None = None
    held: CommitId | None = None
    replaced: Replaced | None = None
    last_pull_at: str | None = None
    last_push_at: str | None = None
    pause: Trouble | None = None
    failure: Trouble | None = None


def read_state(git_folder: Path) -> SyncState:
    """What is known; `SyncState()` when nothing is. Errors: DiskFault. Changes: nothing."""
    data = read_internal(git_folder, STATE_NAME)
    if data is None:
        return SyncState()
    try:
        return _from_json(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return SyncState()


def write_state(git_folder: Path, state: SyncState) -> None:
    """Remembers. Changes: `.git/cowork-sync-state.json`. Errors: DiskFault."""
    if state == SyncState():
        remove_internal(git_folder, STATE_NAME)
    else:
        write_internal(git_folder, STATE_NAME, json.dumps(_to_json(state)).encode())


def note_replaced(git_folder: Path, replaced: Replaced, *, adds: bool) -> None:
    """Remembers, before a compaction, what the remote has not heard of; `adds`: since an earlier one that it has not.

    Changes: `.git/cowork-sync-state.json`. Errors: DiskFault.
    """
    state = read_state(git_folder)
    if adds and state.replaced is not None:
        earlier = state.replaced
        replaced = Replaced(
            earlier.held,
            (earlier.added - replaced.removed) | replaced.added,
            (earlier.removed - replaced.added) | replaced.removed,
        )
    write_state(git_folder, replace(state, held=None, replaced=replaced))


def _to_json(state: SyncState) -> dict[str, Any]:
    found: dict[str, Any] = {"version": _VERSION}
    for field in fields(state):
        value = getattr(state, field.name)
        if isinstance(value, Trouble):
            value = {**{one.name: getattr(value, one.name) for one in fields(value)}, "paths": list(value.paths)}
        elif isinstance(value, Replaced):
            hashes = {"added": sorted(value.added), "removed": sorted(value.removed)}
            value = {"held": value.held, "since": value.since, **hashes}
        if value is not None:
            found[field.name] = value
    return found


def _from_json(raw: dict[str, Any]) -> SyncState:
    if raw["version"] != _VERSION:
        raise ValueError("another version")
    return SyncState(
        remote=_text_or_none(raw.get("remote")),
        held=_commit(raw.get("held")),
        replaced=_replaced(raw.get("replaced")),
        last_pull_at=_text_or_none(raw.get("last_pull_at")),
        last_push_at=_text_or_none(raw.get("last_push_at")),
        pause=_trouble(raw.get("pause")),
        failure=_trouble(raw.get("failure")),
    )


def _trouble(raw: Any) -> Trouble | None:
    if raw is None:
        return None
    return Trouble(
        _text(raw["code"]),
        _text(raw["message"]),
        _text(raw["hint"]),
        tuple(map(_text, raw["paths"])),
        _text(raw["since"]),
    )


def _replaced(raw: Any) -> Replaced | None:
    if raw is None:
        return None
    added, removed = (frozenset(ContentHash(_text(one)) for one in raw[name]) for name in ("added", "removed"))
    return Replaced(CommitId(_text(raw["held"])), added, removed, _commit(raw.get("since")))


def _commit(raw: Any) -> CommitId | None:
    return None if raw is None else CommitId(_text(raw))


def _text_or_none(raw: Any) -> str | None:
    return None if raw is None else _text(raw)


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise TypeError("not a text")
    return raw
