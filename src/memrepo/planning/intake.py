"""A candidate becomes a fact, or is turned away: screen, policy and author in the order of the design. Pure.

It joins the text rules (`format/`) with the decisions (`policy/`); it knows no file and no store. What it returns holds
neither a secret nor a character that could be read as anything but text.
Source: memory repo design (seed 1) §5.1 steps 1 to 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput
from memrepo.format.clean import clean_text, clean_value
from memrepo.model import (
    ENTRY_LIMIT_CHARS,
    Actor,
    Candidate,
    Fact,
    Kind,
    Reason,
    Scope,
    TaskContext,
    WriteResult,
    WriteStatus,
)
from memrepo.policy.redaction import redact
from memrepo.policy.screen import find_low_salience, has_no_memory
from memrepo.policy.writing import Destination, Route, decide_route, has_quote

if TYPE_CHECKING:
    import datetime as dt

# Past this the text is not looked at: whatever it is, it is no one-line fact.
_RAW_LIMIT_CHARS = 40 * ENTRY_LIMIT_CHARS
SUBJECT_LIMIT_CHARS = 120
SOURCE_LIMIT_CHARS = 300


@dataclass(frozen=True, slots=True)
class Accepted:
    """A candidate that passed: its clean form (workspace filled in), the fact to write and where it goes."""

    candidate: Candidate
    fact: Fact
    route: Route


def task_source(task_id: str) -> str:
    """The link to a task's session, as every entry it wrote carries it."""
    return f"cowork://tasks/{clean_value(task_id)}"


def screen_text(raw: str) -> tuple[str, tuple[str, ...]] | WriteResult:
    """Returns the clean, redacted text and the kinds of secret that were in it, or the skip that says why not."""
    if len(raw) > _RAW_LIMIT_CHARS:
        detail = f"{len(raw)} characters; an entry holds at most {ENTRY_LIMIT_CHARS}"
        return WriteResult(
            WriteStatus.SKIPPED,
            reason=Reason.TOO_LARGE,
            detail=detail,
            where_instead="several shorter entries, or a Markdown file of yours in the memory folder",
        )
    kinds: tuple[str, ...] = ()
    if "\n" in raw or "\r" in raw:  # a key block loses its shape when its lines are joined
        first = redact(raw)
        raw, kinds = first.text, first.kinds
    redaction = redact(clean_text(raw))
    text, kinds = clean_text(redaction.text), tuple(dict.fromkeys((*kinds, *redaction.kinds)))
    if kinds and redaction.secret_only:
        return _skip(Reason.SECRET_ONLY, "nothing but a secret in it; keep secrets in a password manager", kinds)
    if low := find_low_salience(text):
        return _skip(*low, kinds)
    return text, kinds


def accept(
    candidate: Candidate, task: TaskContext, *, today: dt.date, is_enabled: bool = True
) -> Accepted | WriteResult:
    """Decides about one candidate: accepted with its route, or skipped with the reason.

    `is_enabled` is the setting of that name: while it is off, agents write nothing and the user's own hand still does.
    Errors: InvalidInput when a workspace fact comes without a workspace, or a day with a fact that has none.
    """
    if task.no_memory or has_no_memory((candidate.text, *task.user_messages)):
        return _skip(Reason.NO_MEMORY, "the <no-memory> marker is set")
    if not is_enabled and task.actor is Actor.AGENT:
        return _skip(Reason.MEMORY_DISABLED, "memory is off (memrepo settings set enabled true)")
    screened = screen_text(candidate.text)
    if isinstance(screened, WriteResult):
        return screened
    text, kinds = screened
    task = replace(task, workspace=candidate.workspace or task.workspace)
    if candidate.scope is Scope.WORKSPACE and task.workspace is None:
        raise InvalidInput(
            "a workspace fact needs a workspace",
            hint="name it: --workspace DIR (or ID), or use --scope global",
            key="workspace",
        )
    route = decide_route(_with_known_quote(candidate, task), task)
    if route.destination is Destination.NOWHERE:
        return _skip(route.reason or Reason.MEMORY_DISABLED, route.detail, kinds)
    _check_days(candidate, route, today)
    subject, subject_kinds = _clean_key(candidate.subject, SUBJECT_LIMIT_CHARS)
    source, source_kinds = _clean_key(candidate.source, SOURCE_LIMIT_CHARS)
    if source is None and task.task_id:
        source = task_source(task.task_id)
    clean = replace(
        candidate, text=text, subject=subject, source=source, added=candidate.added or today, workspace=task.workspace
    )
    detail = route.detail
    if candidate.pin and route.destination is not Destination.MEMORY and not detail:
        detail = "not pinned: only what the user said goes to MEMORY.md"
    redactions = tuple(dict.fromkeys((*kinds, *subject_kinds, *source_kinds)))
    return Accepted(clean, Fact(text, _meta(clean, route), redactions, detail), route)


def _check_days(candidate: Candidate, route: Route, today: dt.date) -> None:
    """Errors: InvalidInput. A line of the folder neither falls due nor expires: Markdown reminds nobody."""
    if candidate.due and (candidate.kind is not Kind.COMMITMENT or route.destination is not Destination.PRIVATE):
        raise InvalidInput(
            f"only a commitment has a day on which it is due, and this is a {candidate.kind}",
            hint="say so: --kind commitment",
            key="due",
        )
    if candidate.expires and route.destination is not Destination.PRIVATE:
        raise InvalidInput(
            "an entry of the memory folder does not expire",
            hint="keep it in the private store: --private",
            key="expires",
        )
    if candidate.expires and candidate.expires < today:
        raise InvalidInput(
            f"{candidate.expires} has passed, so the fact would be gone at once",
            hint="give the last day on which it counts, or none",
            key="expires",
        )


def _with_known_quote(candidate: Candidate, task: TaskContext) -> Candidate:
    """What a user said is recorded without its secrets; a quote that has them is looked up without them too."""
    if not candidate.quote or has_quote(candidate.quote, task.user_messages):
        return candidate
    return replace(candidate, quote=redact(candidate.quote).text)


def _meta(candidate: Candidate, route: Route) -> tuple[tuple[str, str], ...]:
    """The metadata of a new line. The inbox keeps the workspace, so that a reviewed line finds its file."""
    keeps_workspace = route.destination is Destination.INBOX and candidate.scope is Scope.WORKSPACE
    workspace = candidate.workspace.id if keeps_workspace and candidate.workspace else None
    pairs = (
        ("by", str(route.by)),
        ("kind", str(candidate.kind)),
        ("subject", candidate.subject),
        ("workspace", workspace),
        ("source", candidate.source),
        ("added", candidate.added.isoformat() if candidate.added else None),
    )
    return tuple((key, value) for key, value in pairs if value)


def _clean_key(raw: str | None, limit_chars: int) -> tuple[str | None, tuple[str, ...]]:
    if not raw:
        return None, ()
    redaction = redact(clean_value(raw))
    value = clean_value(redaction.text)
    if len(value) > limit_chars:
        raise InvalidInput(
            f"a subject or source has {len(value)} characters; at most {limit_chars}",
            hint="use a short name of the thing, for example: --subject editor",
            key="subject",
        )
    return value or None, redaction.kinds


def _skip(reason: Reason, detail: str, kinds: tuple[str, ...] = ()) -> WriteResult:
    return WriteResult(WriteStatus.SKIPPED, reason=reason, detail=detail, redactions=kinds)
