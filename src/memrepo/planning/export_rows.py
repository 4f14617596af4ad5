"""Rows of a host's database and the memory folder: which become facts, which it holds already, which stay. Pure.

Decides for the export and for the retirement after it. Nothing decided means that a row stays where it is.
Source: memory repo design (seed 1) §7.5, §8, §14.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from memrepo.format.clean import clean_text, clean_value
from memrepo.format.document import WORKSPACE_ENTRY
from memrepo.format.entries import content_hash, subject_key
from memrepo.model import (
    ARCHIVE_KINDS,
    INBOX_FILE,
    SWARMS_FOLDER,
    WORKSPACES_FOLDER,
    Actor,
    Author,
    Candidate,
    Fact,
    Kind,
    Origin,
    Scope,
    Taint,
    TaskContext,
    Workspace,
    WriteResult,
)
from memrepo.planning.file_draft import too_long
from memrepo.planning.intake import SOURCE_LIMIT_CHARS, SUBJECT_LIMIT_CHARS, accept
from memrepo.policy.writing import Destination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from memrepo.reading import LocatedEntry
    from memrepo.store.cowork import SourceRow, SourceTable

_KINDS = frozenset(map(str, Kind))
_SCOPES = frozenset((str(Scope.GLOBAL), str(Scope.WORKSPACE)))
_ARCHIVED = frozenset(map(str, ARCHIVE_KINDS))
_USERS_WORDS = frozenset(("user_stated", "user_confirmed", "curated"))
_SWARMS = f"{SWARMS_FOLDER}/"
_NAME_LIMIT_CHARS = 120
_ID_LIMIT_CHARS = 64


class Stay(StrEnum):
    """Why a row stays where it is."""

    NOT_ACTIVE = "not_active"
    EXPIRED = "expired"
    PRIVATE = "private"
    STRICT = "strict"
    THIRD_PARTY = "third_party"
    CONTACT = "contact"
    TASK = "task"
    COMMITMENT = "commitment"
    ARCHIVE = "archive"
    UNKNOWN_KIND = "unknown_kind"
    UNKNOWN_SCOPE = "unknown_scope"
    NO_WORKSPACE = "no_workspace"
    UNREADABLE = "unreadable"
    EMPTY = "empty"
    LOW_SALIENCE = "low_salience"
    SECRET_ONLY = "secret_only"  # noqa: S105 - a reason's name, not a secret
    NO_MEMORY = "no_memory"
    MEMORY_DISABLED = "memory_disabled"
    OUTRANKED = "outranked"
    TOO_LARGE = "too_large"
    NOT_HELD = "not_held"
    CHANGED = "changed"


WHY: Mapping[Stay, str] = {
    Stay.NOT_ACTIVE: "superseded, archived or deleted",
    Stay.EXPIRED: "past their time",
    Stay.PRIVATE: "private",
    Stay.STRICT: "of a workspace whose memory is strict",
    Stay.THIRD_PARTY: "other people's words",
    Stay.CONTACT: "about a contact",
    Stay.TASK: "of one task",
    Stay.COMMITMENT: "commitments",
    Stay.ARCHIVE: "what happened in a task, no fact",
    Stay.UNKNOWN_KIND: "of a kind that memrepo does not know",
    Stay.UNKNOWN_SCOPE: "of a scope that memrepo does not know",
    Stay.NO_WORKSPACE: "of a workspace without a usable id",
    Stay.UNREADABLE: "without readable text",
    Stay.EMPTY: "without text",
    Stay.LOW_SALIENCE: "no facts: too short, or output of a program",
    Stay.SECRET_ONLY: "nothing but a secret",
    Stay.NO_MEMORY: "marked <no-memory>",
    Stay.MEMORY_DISABLED: "inferred in a workspace whose memory is off",
    Stay.OUTRANKED: "older than what the folder says of the same subject, or outranked by your own line",
    Stay.TOO_LARGE: "too large for an entry or its file",
    Stay.NOT_HELD: "not in the folder",
    Stay.CHANGED: "in the folder in another form, without a secret or hidden characters",
}


class Left(NamedTuple):
    """A row that stays, and why."""

    row: SourceRow
    reason: Stay


@dataclass(frozen=True, slots=True)
class Offer:
    """A row as the folder is to hold it: what is offered to the one door, and the `fact` that comes of it."""

    row: SourceRow
    candidate: Candidate
    task: TaskContext
    fact: Fact

    @property
    def text_hash(self) -> str:
        """That of the text as it will stand in the folder, without secrets."""
        return content_hash(self.fact.text)

    @property
    def by(self) -> Author:
        """Whose word it is."""
        return self.fact.by

    @property
    def workspace_id(self) -> str | None:
        """The workspace that the fact holds in, None for a global one."""
        return self.candidate.workspace.id if self.candidate.workspace else None


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """What an export would do: facts to write, oldest first; rows that the folder holds already; rows that stay."""

    offers: tuple[Offer, ...]
    known: tuple[Offer, ...]
    left: tuple[Left, ...]


@dataclass(frozen=True, slots=True)
class RetirePlan:
    """Rows whose text the folder holds, and rows that stay."""

    retired: tuple[SourceRow, ...]
    left: tuple[Left, ...]


class Held:
    """What the folder holds: which texts and subjects, and where they hold.

    A text in a file of no workspace holds everywhere, one in a workspace's file only there. What waits in the inbox,
    and what agents noted for each other, nobody has accepted: it counts as not there.
    """

    def __init__(self, entries: Iterable[LocatedEntry]) -> None:
        by_file: dict[str, list[LocatedEntry]] = {}
        for found in entries:
            if found.ref.path != INBOX_FILE and not found.ref.path.startswith(_SWARMS):
                by_file.setdefault(found.ref.path, []).append(found)
        self._hashes: set[tuple[str | None, str]] = set()
        self._subjects: dict[tuple[str | None, str], list[LocatedEntry]] = {}
        for path, found_here in by_file.items():
            place = None
            if path.startswith(f"{WORKSPACES_FOLDER}/"):
                place = _find_workspace(found_here)
                if place is None:
                    continue
            for found in found_here:
                self._hashes.add((place, found.hash))
                if subject := found.entry.value("subject"):
                    self._subjects.setdefault((place, subject_key(subject)), []).append(found)

    def holds(self, offer: Offer) -> bool:
        """Whether the folder says this where the fact holds."""
        return (None, offer.text_hash) in self._hashes or (offer.workspace_id, offer.text_hash) in self._hashes

    def outranks(self, offer: Offer) -> bool:
        """Whether the folder has a value of the subject that this one must not replace: newer, or the user's own."""
        if not offer.candidate.subject:
            return False
        rivals = self._subjects.get((offer.workspace_id, subject_key(offer.candidate.subject)), ())
        return any(
            (offer.by is Author.AGENT and rival.entry.by is Author.USER) or not _is_older(rival, offer.candidate.added)
            for rival in rivals
        )


def judge_row(
    row: SourceRow, *, workspaces: Callable[[str], Workspace | None], names: Mapping[str, str], now: dt.datetime
) -> Offer | Stay:
    """Decides about one row: what the folder is to hold, or why the row stays. Pure.

    `workspaces` knows those of the settings by id; `names` is what the host calls the others.
    """
    if reason := _find_reason(row, now):
        return reason
    workspace = None
    if row.scope == Scope.WORKSPACE:
        id_ = row.workspace_id or row.scope_ref
        if not is_workspace_id(id_):
            return Stay.NO_WORKSPACE
        workspace = workspaces(id_) or Workspace(id_, clean_text(names.get(id_, ""))[:_NAME_LIMIT_CHARS] or id_)
    is_users = row.provenance in _USERS_WORDS
    task_id = clean_value(row.task_id or "") or None
    task = TaskContext(
        task_id=task_id if task_id and len(task_id) <= SUBJECT_LIMIT_CHARS else None,
        actor=Actor.USER if is_users else Actor.AGENT,
        origin=Origin.EXPORT,
        workspace=workspace,
        taint=Taint.CLEAN,
    )
    candidate = Candidate(
        row.content,
        kind=Kind(row.kind),
        scope=Scope(row.scope),
        subject=_within(row.subject, SUBJECT_LIMIT_CHARS),
        pin=row.is_pinned and is_users,
        source=_within(row.link, SOURCE_LIMIT_CHARS),
        added=_find_day(row.created_at_ms) or now.date(),
        workspace=workspace,
    )
    accepted = accept(candidate, task, today=now.date())
    if isinstance(accepted, WriteResult):
        return Stay(str(accepted.reason))
    if accepted.route.destination in {Destination.PRIVATE, Destination.ARCHIVE}:
        return Stay.STRICT
    if too_long(accepted.fact.text):
        return Stay.TOO_LARGE
    return Offer(row, candidate, task, accepted.fact)


def plan_export(
    table: SourceTable, held: Held, *, workspaces: Callable[[str], Workspace | None], now: dt.datetime
) -> ExportPlan:
    """Decides about all rows of a database."""
    offers, known, left = [], [], []
    for row in table.rows:
        judged = judge_row(row, workspaces=workspaces, names=table.workspace_names, now=now)
        if isinstance(judged, Stay):
            left.append(Left(row, judged))
        elif held.holds(judged):
            known.append(judged)
        elif held.outranks(judged):
            left.append(Left(row, Stay.OUTRANKED))
        else:
            offers.append(judged)
    return ExportPlan(tuple(offers), tuple(known), tuple(left))


def plan_retirement(
    table: SourceTable, held: Held, *, workspaces: Callable[[str], Workspace | None], now: dt.datetime
) -> RetirePlan:
    """Decides which rows the folder has made needless: facts that it holds as they stand in the database."""
    retired, left = [], []
    for row in table.rows:
        judged = judge_row(row, workspaces=workspaces, names=table.workspace_names, now=now)
        if isinstance(judged, Stay):
            left.append(Left(row, judged))
        elif not held.holds(judged):
            left.append(Left(row, Stay.NOT_HELD))
        elif content_hash(row.content) != judged.text_hash:
            left.append(Left(row, Stay.CHANGED))
        else:
            retired.append(row)
    return RetirePlan(tuple(retired), tuple(left))


def _find_reason(row: SourceRow, now: dt.datetime) -> Stay | None:
    """Why a row is no matter of the folder, whatever its text; None when it is one."""
    checks = (
        (row.status != "active", Stay.NOT_ACTIVE),
        (not row.is_readable, Stay.UNREADABLE),
        (row.provenance == "third_party", Stay.THIRD_PARTY),
        (row.scope == Scope.CONTACT, Stay.CONTACT),
        (row.scope == Scope.TASK, Stay.TASK),
        (row.privacy == "strict", Stay.STRICT),
        (row.privacy != "normal", Stay.PRIVATE),
        (row.kind == Kind.COMMITMENT, Stay.COMMITMENT),
        (row.kind in _ARCHIVED, Stay.ARCHIVE),
        (row.kind not in _KINDS, Stay.UNKNOWN_KIND),
        (row.scope not in _SCOPES, Stay.UNKNOWN_SCOPE),
        (row.expires_at_ms is not None and row.expires_at_ms <= now.timestamp() * 1000, Stay.EXPIRED),
    )
    return next((reason for does_hold, reason in checks if does_hold), None)


def _find_workspace(found: Iterable[LocatedEntry]) -> str | None:
    """The workspace that the entries of a file name, as the file's own reader finds it (`format.document`)."""
    for one in found:
        is_name = one.entry.text.casefold() == WORKSPACE_ENTRY.casefold() and one.entry.by is Author.USER
        if is_name and (named := one.entry.value("workspace")):
            return named
    return None


def _is_older(rival: LocatedEntry, day: dt.date | None) -> bool:
    """Whether an entry is from an earlier day; one without a day is of now, for all that is known."""
    try:
        added = dt.date.fromisoformat(rival.entry.value("added") or "")
    except ValueError:
        return False
    return day is not None and added < day


def is_workspace_id(value: str) -> bool:
    """Whether entries can hold the id (docs/settings.md tells the form)."""
    is_shown = value.isprintable() and not any(sign.isspace() or sign in ";[]%" for sign in value)
    return is_shown and 0 < len(value) <= _ID_LIMIT_CHARS


def _find_day(at_ms: int | None) -> dt.date | None:
    """The day of a moment, in UTC, so that it is the same on every machine; None for what can be none."""
    if at_ms is None or at_ms <= 0:
        return None
    try:
        return dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC).date()
    except (ValueError, OverflowError, OSError):
        return None


def _within(text: str | None, limit_chars: int) -> str | None:
    return text if text and len(clean_value(text)) <= limit_chars else None
