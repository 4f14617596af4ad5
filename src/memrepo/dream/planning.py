"""Changes of a dream, planned on a draft of the files as they are now; nothing is touched.

Each line is found again by its hash, and must still be whose it was. A change that finds its line gone or changed is
`stale`; one that has no room, or whose text stands there by now, is `dropped`; the others are not held up by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.dream.catalogue import digest_meta
from memrepo.dream.operations import Change, Op
from memrepo.errors import StaleRef, TooLarge
from memrepo.format.entries import content_hash
from memrepo.model import (
    LESSONS_FILE,
    ME_FILE,
    MEMORY_FILE,
    Author,
    Entry,
    Fact,
    Kind,
    RepoPath,
    Scope,
)
from memrepo.planning.curation import with_value
from memrepo.policy.writing import Destination, choose_file

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from memrepo.planning.draft import Draft, Planned
    from memrepo.planning.file_draft import FileDraft

Found = list[tuple["FileDraft", Entry]]


def plan_changes(draft: Draft, changes: Iterable[Change], *, today: dt.date) -> tuple[Change, ...]:
    """Plans each change that can still be; each comes back as `applied`, `stale` or `dropped`, the latter with why."""
    return tuple(_plan(draft, change, today) for change in changes)


def _plan(draft: Draft, change: Change, today: dt.date) -> Change:
    try:
        found = [_find(draft, change, number) for number in range(len(change.lines))]
        why = _apply(draft, change, found, today)
    except StaleRef:
        return change.model_copy(update={"state": "stale", "why": "the line changed since"})
    except TooLarge as error:
        why = error.message
    if why:
        return change.model_copy(update={"state": "dropped", "why": why})
    return change.model_copy(update={"state": "applied"})


def _find(draft: Draft, change: Change, number: int) -> tuple[FileDraft, Entry]:
    """Where a line stands now: as it was, else its text by the same author if only one line has it.

    Of lines that are the same to the letter the nearest is as good as any. Errors: StaleRef.
    """
    line = change.lines[number]
    file = draft.file(RepoPath(line.path))
    free = [
        entry
        for entry in file.document.entries
        if content_hash(entry.text) == line.hash
        and entry.by == line.by
        and entry.line not in file.removed
        and entry.line not in file.replaced
    ]
    same = [entry for entry in free if digest_meta(entry) == line.meta]
    if file.is_new or not (same or len(free) == 1):
        where = f"{line.path}, line {line.line}"
        raise StaleRef(f"{where} changed since", ref=where, expected=line.hash, actual=None)
    return file, min(same or free, key=lambda entry: abs(entry.line - line.line))


def _apply(draft: Draft, change: Change, found: Found, today: dt.date) -> str:
    """Changes the draft, or says why not; then nothing of the draft is changed."""
    match change.op:
        case Op.ADD:
            planned = draft.remember(Fact(change.text, _meta_of_new(change, today)), RepoPath(change.file))
            return _why_not(planned)
        case Op.REMOVE | Op.DISCARD:
            for file, entry in found:
                file.forget(entry.line)
        case Op.UPDATE | Op.MERGE:
            return _replace(change, found)
        case Op.MOVE | Op.PROMOTE:
            return _move(draft, change, *found[0])
        case Op.UNLINK:
            draft.unlink(RepoPath(change.file))
        case Op.LINK:
            draft.link(RepoPath(change.file))
    return ""


def _replace(change: Change, found: Found) -> str:
    (file, entry), *others = found
    standing = file.holds(content_hash(change.text))
    own = {other.line for holder, other in found if holder is file}
    if standing is not None and standing not in own:
        return f"line {standing} of {file.path} says that already"
    is_users = any(other.by is Author.USER for _, other in found)
    meta = with_value(entry.meta, "by", Author.USER) if is_users and entry.by is Author.AGENT else entry.meta
    file.replace(entry.line, Fact(change.text, meta))
    for holder, other in others:
        holder.forget(other.line)
    return ""


def _move(draft: Draft, change: Change, file: FileDraft, entry: Entry) -> str:
    """A promoted line, and one that goes to MEMORY.md, was reviewed and is the user's word, as if kept by hand."""
    target = RepoPath(change.file) if change.file else _natural_file(entry)
    is_confirmed = change.op is Op.PROMOTE or target == MEMORY_FILE
    meta = with_value(entry.meta, "by", Author.USER) if is_confirmed else entry.meta
    planned = draft.remember(Fact(entry.text, meta), target)
    if planned.is_placed:
        file.remove(entry.line)
    return _why_not(planned)


def _natural_file(entry: Entry) -> RepoPath:
    value = entry.value("kind")
    kind = Kind(value) if value in set(Kind) else None
    return LESSONS_FILE if choose_file(kind, Scope.GLOBAL) is Destination.LESSONS else ME_FILE


def _why_not(planned: Planned) -> str:
    result = planned.settled
    return "" if result is None else result.detail or str(result.reason)


def _meta_of_new(change: Change, today: dt.date) -> tuple[tuple[str, str], ...]:
    pairs = (
        ("by", str(Author.AGENT)),
        ("kind", change.kind or str(Kind.PREFERENCE)),
        ("subject", change.subject),
        ("source", change.source),
        ("added", today.isoformat()),
    )
    return tuple((key, value) for key, value in pairs if value)
