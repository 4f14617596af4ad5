"""What a person (or an agent, for its own lines) does with entries that stand: planned on a draft.

Every function finds its entry by ref and hash, asks whether this actor may change it, and changes the draft; none
writes. An agent changes without asking only what its own task wrote (memory repo design, seed 1, §5.2).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import ApprovalNeeded, InvalidInput, Refused
from memrepo.format.document import WORKSPACE_ENTRY
from memrepo.format.entries import content_hash
from memrepo.model import (
    Actor,
    Author,
    ContentHash,
    Entry,
    EntryFilter,
    Fact,
    Ref,
    RepoPath,
    TaskContext,
    Workspace,
)
from memrepo.planning.draft import Draft, Planned
from memrepo.planning.file_draft import too_long
from memrepo.planning.intake import task_source
from memrepo.policy.writing import may_change

if TYPE_CHECKING:
    from collections.abc import Iterable

DELETE_APPROVAL = "memory_delete"
EDIT_APPROVAL = "memory_edit"


def plan_forget(
    draft: Draft, ref: Ref, task: TaskContext, *, expect_hash: ContentHash | None, is_approved: bool
) -> Entry:
    """Takes one entry out. Errors: NotFound, StaleRef, ApprovalNeeded."""
    file, entry = draft.get(ref, expect_hash)
    _require_approval(entry, ref, task, DELETE_APPROVAL, is_approved=is_approved)
    file.forget(entry.line)
    return entry


def plan_edit(
    draft: Draft,
    ref: Ref,
    text: str,
    task: TaskContext,
    *,
    expect_hash: ContentHash | None,
    redactions: tuple[str, ...],
) -> Planned:
    """Puts a new text in the place of an entry's; its metadata stays and `by` becomes the editor's.

    Errors: NotFound, StaleRef, ApprovalNeeded, TooLarge, InvalidInput when another entry of the file has that text.
    """
    file, entry = draft.get(ref, expect_hash)
    _require_approval(entry, ref, task, EDIT_APPROVAL, is_approved=task.user_confirmed)
    if refusal := too_long(text):
        raise refusal
    standing = file.holds(content_hash(text))
    if standing is not None and standing != entry.line:
        raise InvalidInput(
            f"line {standing} of {ref.path} already says that",
            hint=f"forget this one instead: memrepo forget {Ref(ref.path, entry.line)}",
            file=str(ref.path),
            line=standing,
        )
    by = Author.USER if task.actor is Actor.USER or task.user_confirmed else Author.AGENT
    fact = Fact(text, with_value(entry.meta, "by", by), redactions)
    file.replace(entry.line, fact)
    return Planned.edited(fact, file, entry.line)


@dataclass(frozen=True, slots=True)
class Move:
    """One entry on its way to another file; `confirms` makes it the user's word (pinning, keeping from the inbox).

    `workspace` is the one whose file the target is, when the entry's own metadata named it.
    """

    ref: Ref
    target: RepoPath
    expect_hash: ContentHash | None = None
    confirms: bool = False
    workspace: Workspace | None = None


def plan_move(draft: Draft, move: Move, task: TaskContext) -> Planned:
    """Moves an entry. It leaves its file only when the target has taken it (or already held it).

    Errors: NotFound, StaleRef, InvalidInput, Refused for an agent.
    """
    ref, target = move.ref, move.target
    file, entry = draft.get(ref, move.expect_hash)
    require_user(task, f"move {ref} to {target}")
    if ref.path == target:
        raise InvalidInput(f"{ref} already stands in {target}", hint="name another file", file=str(target))
    meta = with_value(entry.meta, "by", Author.USER) if move.confirms else entry.meta
    meta = tuple(pair for pair in meta if not (move.confirms and pair[0] == "workspace"))
    planned = draft.remember(Fact(entry.text, meta), target)
    if planned.is_placed:
        file.remove(entry.line)
    return planned


def plan_forget_where(draft: Draft, paths: Iterable[RepoPath], wanted: EntryFilter, task: TaskContext) -> list[Ref]:
    """Takes out every entry that the filter means, as far as this actor may; returns where they stood.

    Errors: InvalidInput for an empty filter, ApprovalNeeded when one of them is not the agent's own.
    """
    if wanted == EntryFilter():
        raise InvalidInput(
            "an empty filter would mean every entry", hint="give at least one condition, e.g. --contains"
        )
    gone: list[Ref] = []
    for path in paths:
        if wanted.path is not None and path != wanted.path:
            continue
        file = draft.file(path)
        for entry in file.document.entries:
            if not matches(entry, wanted):
                continue
            ref = Ref(path, entry.line)
            _require_approval(entry, ref, task, DELETE_APPROVAL, is_approved=task.user_confirmed)
            file.forget(entry.line)
            gone.append(ref)
    return gone


def matches(entry: Entry, wanted: EntryFilter) -> bool:
    """Tells whether an entry fulfils every given condition. The entry that names a workspace never matches."""
    if is_naming_entry(entry):
        return False
    added = entry.value("added")
    checks = (
        wanted.contains is None or wanted.contains.casefold() in entry.text.casefold(),
        wanted.by is None or entry.by is wanted.by,
        wanted.kind is None or entry.value("kind") == wanted.kind,
        wanted.subject is None or (entry.value("subject") or "").casefold() == wanted.subject.casefold(),
        wanted.task is None or entry.value("source") == task_source(wanted.task),
        wanted.source is None or (entry.value("source") or "").casefold() == wanted.source.casefold(),
        wanted.added_before is None or (added is not None and _is_before(added, wanted.added_before)),
    )
    return all(checks)


def is_naming_entry(entry: Entry) -> bool:
    """Tells whether this is the entry by which a workspace file names its workspace."""
    return entry.value("workspace") is not None and entry.text == WORKSPACE_ENTRY


def with_value(meta: tuple[tuple[str, str], ...], key: str, value: str) -> tuple[tuple[str, str], ...]:
    """The pairs with one key set; every other pair, unknown ones too, stays."""
    return (*(pair for pair in meta if pair[0] != key), (key, str(value)))


def require_user(task: TaskContext, action: str) -> None:
    """Returns when the user acts, by hand or by a confirmation. Errors: Refused."""
    if task.actor is not Actor.USER and not task.user_confirmed:
        raise Refused(
            f"only the user may {action}",
            hint="ask the user to run the command",
            rule="user-only",
            actor=str(task.actor),
            action=action,
        )


def _is_before(added: str, day: dt.date) -> bool:
    try:
        return dt.date.fromisoformat(added) < day
    except ValueError:
        return False  # a hand-written date that is none decides nothing


def _require_approval(entry: Entry, ref: Ref, task: TaskContext, approval: str, *, is_approved: bool) -> None:
    own = task_source(task.task_id) if task.task_id else None
    if is_approved or may_change(entry.by, entry.value("source"), own, task.actor):
        return
    raise ApprovalNeeded(
        f"{ref} was not written by this task; changing it needs the user's approval",
        hint=f"the user can do it with: memrepo forget {ref}",
        rule="own-lines-only",
        actor=str(task.actor),
        action=approval,
        target=str(ref),
        approval=approval,
    )
