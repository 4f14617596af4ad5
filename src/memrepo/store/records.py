"""What the store gives and takes, as frozen values, and the JSON form in which a waiting write is kept. No SQL here."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memrepo.format.entries import subject_key
from memrepo.model import (
    Actor,
    Author,
    Candidate,
    Gateway,
    Kind,
    Origin,
    Privacy,
    Reason,
    Role,
    Scope,
    Taint,
    TaskContext,
    Workspace,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION = 1


class Trust(StrEnum):
    """Whose word an item is. `agent`: the user asked an agent to keep it; `inferred`: an agent did on its own."""

    CURATED = "curated"
    USER_CONFIRMED = "user_confirmed"
    USER_STATED = "user_stated"
    AGENT = "agent"
    INFERRED = "inferred"
    THIRD_PARTY = "third_party"


class ItemStatus(StrEnum):
    """An item counts (`active`), another took its place (`superseded`), or a commitment was met (`done`)."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DONE = "done"


class ItemAction(StrEnum):
    """What became of an item that was offered to the store."""

    INSERTED = "inserted"
    REINFORCED = "reinforced"
    REPLACED = "replaced"
    OUTRANKED = "outranked"
    FORGOTTEN = "forgotten"


class ApprovalStatus(StrEnum):
    """The life of a request for the user's approval; `used` is the end of a granted one."""

    PENDING = "pending"
    GRANTED = "granted"
    DENIED = "denied"
    USED = "used"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Item:
    """A private fact as the store holds it. Times in milliseconds since 1970.

    `scope_ref` is the workspace's id, the contact or the task that the scope means ("" for a global fact);
    `workspace_id` is where it was learned; `source` the link to what it came from, `origin` the way it came.
    `is_tainted`: the task that wrote it was not known to be clean.
    """

    id: int
    content: str
    kind: Kind
    scope: Scope
    scope_ref: str
    workspace_id: str
    subject: str | None
    trust: Trust
    status: ItemStatus
    confidence: float
    is_pinned: bool
    privacy: str
    origin: Origin
    source: str | None
    added: dt.date | None
    task_id: str | None
    content_hash: str
    supersedes: int | None
    created_at_ms: int
    updated_at_ms: int
    last_used_at_ms: int | None
    due_at_ms: int | None
    expires_at_ms: int | None
    done_at_ms: int | None = None
    is_tainted: bool = False

    @property
    def is_unreviewed(self) -> bool:
        """Whether an agent wrote it after it read what nobody vouched for, and the user has not said it since."""
        return self.is_tainted and self.by is Author.AGENT

    @property
    def by(self) -> Author:
        """Whose word it is."""
        return Author.USER if self.trust in (Trust.USER_STATED, Trust.USER_CONFIRMED, Trust.CURATED) else Author.AGENT

    @property
    def due(self) -> dt.date | None:
        """The day of a commitment."""
        return None if self.due_at_ms is None else _read_day(self.due_at_ms)

    @property
    def expires(self) -> dt.date | None:
        """The last day on which it counts."""
        return None if self.expires_at_ms is None else _read_day(self.expires_at_ms - 1)


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which items an act means; every field that is given must hold. `contains` is looked for in any case."""

    scope: Scope | None = None
    scope_ref: str | None = None
    workspace_id: str | None = None
    kind: Kind | None = None
    subject: str | None = None
    task_id: str | None = None
    content_hash: str | None = None
    contains: str | None = None


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The item that holds the fact now (or that outranks it), and how; 0 for a fact that was forgotten."""

    id: int
    action: ItemAction


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    """What happened in a task. Time in milliseconds since 1970.

    `source` is the link to what it came from, `origin` the way it came; a record of before schema step 2 has neither.
    `scope` and `scope_ref` say who may recall it, as those of a private fact do. `is_tainted` as there.
    """

    id: int
    kind: Kind
    content: str
    content_hash: str
    by: Author
    workspace_id: str
    task_id: str | None
    at_ms: int
    subject: str | None = None
    source: str | None = None
    origin: Origin | None = None
    scope: Scope = Scope.GLOBAL
    scope_ref: str = ""
    is_tainted: bool = False

    @property
    def is_unreviewed(self) -> bool:
        """As of a private fact."""
        return self.is_tainted and self.by is Author.AGENT


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A fact that the repo could not take yet. Times in milliseconds since 1970.

    `key` names it among the pending writes of all stores, without a word of it: a folder remembers by it that the write
    is done, until the store does too.
    """

    id: int
    candidate: Candidate
    task: TaskContext
    by: Author
    reason: Reason
    detail: str
    queued_at_ms: int
    attempts: int = 0
    last_error: str = ""
    key: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Approval:
    """A request for the user's approval of one act on one entry. Times in milliseconds since 1970."""

    id: int
    kind: str
    target: str
    content_hash: str | None
    task_id: str | None
    status: ApprovalStatus
    requested_at_ms: int
    decided_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the statistics count; `detail` holds names and numbers, never a text of memory."""

    id: int
    at_ms: int
    name: str
    amount: int
    task_id: str | None = None
    workspace_id: str | None = None
    origin: str | None = None
    detail: Mapping[str, str | int | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextFinding:
    """A text that the store still holds: its number in the search, and the table, or `file` for its deleted bytes."""

    needle: int
    table: str


@dataclass(frozen=True, slots=True)
class Erasure:
    """How many rows were removed, and whether their bytes are gone from the file; `why` says why not."""

    rows: int
    is_erased: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """Whether a store can be used; `why` names the fault. `is_damaged`: the file itself is at fault, set it aside."""

    is_whole: bool
    is_damaged: bool = False
    why: str = ""


def write_subject(subject: str | None) -> str | None:
    """The form in which the store keeps a subject."""
    return (subject_key(subject) or None) if subject else None


def write_day(day: dt.date) -> int:
    """The start of a day, as the store keeps days: milliseconds since 1970, UTC."""
    return int(dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()) * 1000


def _read_day(at_ms: int) -> dt.date:
    return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=at_ms)).date()


def write_record(candidate: Candidate, task: TaskContext) -> str:
    """The JSON of a waiting write.

    The user's messages and the quote from them are left out: they only decide the author, which is decided by now, and
    unlike the fact they were not searched for secrets.
    """
    return json.dumps(
        {
            "version": _VERSION,
            "candidate": {
                "text": candidate.text,
                "kind": candidate.kind,
                "scope": candidate.scope,
                "subject": candidate.subject,
                "pin": candidate.pin,
                "source": candidate.source,
                "added": candidate.added.isoformat() if candidate.added else None,
                "claims_user": candidate.claims_user,
                "explicit": candidate.explicit,
                "private": candidate.private,
                "due": candidate.due.isoformat() if candidate.due else None,
                "expires": candidate.expires.isoformat() if candidate.expires else None,
                "workspace": _write_workspace(candidate.workspace),
            },
            "task": {
                "task_id": task.task_id,
                "actor": task.actor,
                "origin": task.origin,
                "workspace": _write_workspace(task.workspace),
                "gateway": task.gateway,
                "role": task.role,
                "taint": task.taint,
                "no_memory": task.no_memory,
                "retains_memory": task.retains_memory,
                "sender_is_owner": task.sender_is_owner,
                "sender_ref": task.sender_ref,
                "user_confirmed": task.user_confirmed,
            },
        }
    )


def read_record(text: str) -> tuple[Candidate, TaskContext]:
    """Reads what `write_record` wrote. Errors: ValueError, KeyError or TypeError when it is not of that form."""
    raw = json.loads(text)
    if raw["version"] != _VERSION:
        raise ValueError("a record of another version")
    return _read_candidate(raw["candidate"]), _read_task(raw["task"])


def iter_record_texts(text: str) -> tuple[str, ...]:
    """What a record holds of memory: the fact's text, subject and source. Of another version, the whole record."""
    try:
        candidate, _ = read_record(text)
    except (ValueError, KeyError, TypeError):
        return (text,)
    return tuple(part for part in (candidate.text, candidate.subject, candidate.source) if part)


def _read_candidate(raw: dict[str, Any]) -> Candidate:
    return Candidate(
        text=raw["text"],
        kind=Kind(raw["kind"]),
        scope=Scope(raw["scope"]),
        subject=raw["subject"],
        pin=raw["pin"],
        source=raw["source"],
        added=dt.date.fromisoformat(raw["added"]) if raw["added"] else None,
        claims_user=raw["claims_user"],
        explicit=raw["explicit"],
        private=raw["private"],
        workspace=_read_workspace(raw["workspace"]),
        due=dt.date.fromisoformat(raw["due"]) if raw.get("due") else None,
        expires=dt.date.fromisoformat(raw["expires"]) if raw.get("expires") else None,
    )


def _read_task(raw: dict[str, Any]) -> TaskContext:
    return TaskContext(
        task_id=raw["task_id"],
        actor=Actor(raw["actor"]),
        origin=Origin(raw["origin"]),
        workspace=_read_workspace(raw["workspace"]),
        gateway=Gateway(raw["gateway"]),
        role=Role(raw["role"]),
        taint=Taint(raw["taint"]),
        no_memory=raw["no_memory"],
        retains_memory=raw["retains_memory"],
        sender_is_owner=raw["sender_is_owner"],
        sender_ref=raw["sender_ref"],
        user_confirmed=raw["user_confirmed"],
    )


def _write_workspace(workspace: Workspace | None) -> dict[str, object] | None:
    if workspace is None:
        return None
    return {
        "id": workspace.id,
        "name": workspace.name,
        "root": str(workspace.root) if workspace.root else None,
        "memory_enabled": workspace.memory_enabled,
        "privacy": workspace.privacy,
    }


def _read_workspace(raw: dict[str, Any] | None) -> Workspace | None:
    if raw is None:
        return None
    return Workspace(
        id=raw["id"],
        name=raw["name"],
        root=Path(raw["root"]) if raw["root"] else None,
        memory_enabled=raw["memory_enabled"],
        privacy=Privacy(raw["privacy"]),
    )
