"""What the repo does not hold, or cannot hold now: handed to the private store, and taken back when the repo can.

A fact that is private by rule stays there. A fact that the repo could not take is *pending*: it is replayed, in order
and with its own date, origin and author, by the next writer. The store is opened only when there is something to keep
or to look for. Source: memory repo design (seed 1) §5.1 step 2, §5.3.
"""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from memrepo.errors import MemrepoError, StoreFault
from memrepo.format.entries import content_hash
from memrepo.model import Author, Reason, Shelf, StoredRef, TaskContext, WriteResult, WriteStatus
from memrepo.policy.writing import Destination

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.model import ContentHash
    from memrepo.planning.intake import Accepted
    from memrepo.store import PendingWrite, PrivateStore


REPEATED = "correction_repeated"
"""The event of a correction that says what its file holds already: no commit tells of it."""
_FORGOTTEN = (Reason.FORGOTTEN, "the user forgot this; only the user brings it back, by saying it anew")


_AGAIN = "run the command again"
"""The beginning of hints of what is busy; a fact that is kept needs no second run."""


class StoreSource(Protocol):
    """Gives the private store: `find()` only if there is one already, `get()` makes it. Both may raise StoreFault.

    `may_have_pending` answers for one root without opening the store; what it cannot tell counts as yes.
    """

    def find(self) -> PrivateStore | None: ...
    def get(self) -> PrivateStore: ...
    def may_have_pending(self, root: str) -> bool: ...


class Keeper:
    """Keeps facts of one memory root outside the repo."""

    def __init__(self, root: Path, store: StoreSource) -> None:
        self._root = str(root)
        self._store = store
        self.store_fault: StoreFault | None = None

    def keep_private(self, accepted: Accepted, task: TaskContext) -> WriteResult:
        """Keeps a fact that never goes to the repo. Errors: StoreFault, and then it was not accepted."""
        store = self._store.get()
        route, candidate = accepted.route, accepted.candidate
        text_hash = content_hash(candidate.text)
        if route.destination is Destination.ARCHIVE:
            shelf, refusal = Shelf.ARCHIVE, None
            kept_id = store.archive.add(candidate, task, by=route.by, content_hash=text_hash)
        else:
            shelf = Shelf.MEMORY
            kept_id, refusal = _keep_item(store, accepted, task, text_hash)
        if not kept_id or refusal:
            reason, detail = refusal or _FORGOTTEN
            return WriteResult(WriteStatus.SKIPPED, reason=reason, detail=detail, redactions=accepted.fact.redactions)
        return WriteResult(
            WriteStatus.KEPT,
            reason=route.reason,
            detail=route.detail,
            kept_id=kept_id,
            kept_ref=StoredRef(shelf, kept_id),
            redactions=accepted.fact.redactions,
        )

    def keep_pending(self, accepted: Accepted, task: TaskContext, reason: Reason, error: MemrepoError) -> WriteResult:
        """Keeps a fact until the repo can take it; `error` says why not yet, and is raised if the store cannot too."""
        try:
            kept_id = self._store.get().pending.add(
                accepted.candidate, task, root=self._root, by=accepted.route.by, reason=reason, detail=error.message
            )
        except StoreFault as fault:
            error.add_note(f"and it could not be kept: {fault.message}")
            raise error from fault
        return WriteResult(
            WriteStatus.KEPT,
            reason=reason,
            detail=". ".join(filter(None, (error.message, error.hint.removeprefix(_AGAIN).lstrip("; ")))),
            kept_id=kept_id,
            redactions=accepted.fact.redactions,
        )

    def note_repeated(self, task: TaskContext) -> None:
        """Counts a correction that had been saved before, for the statistics; never at the cost of the write."""
        with suppress(MemrepoError):
            store = self._store.find()
            if store is not None:
                store.events.record(REPEATED, task_id=task.task_id, origin=task.origin)

    def iter_pending(self) -> Iterator[PendingWrite]:
        """Yields what waits for this root, oldest first. A damaged store holds up no write: see `store_fault`."""
        self.store_fault = None
        if not self._store.may_have_pending(self._root):
            return
        try:
            store = self._store.find()
            yield from store.pending.list(self._root) if store else ()
        except StoreFault as fault:
            self.store_fault = fault

    def begin_replay(self, pending_id: int) -> bool:
        """Notes that a pending write is being replayed; False when the store takes no note.

        Then it could not be settled either, and would be written again after the user had forgotten it.
        """
        try:
            self._store.get().pending.record_failure(pending_id, "the replay did not end")
        except StoreFault as fault:
            self.store_fault = fault
            return False
        return True

    def count_pending(self) -> int:
        """How many facts wait for this root, readable or not. Errors: StoreFault."""
        store = self._store.find()
        return store.pending.count(self._root) if store else 0

    def settle(self, pending_id: int) -> bool:
        """Forgets a pending write that the repo now holds (or has ruled on).

        False when the store cannot (`store_fault`): then the folder's own note keeps it from being written again.
        """
        try:
            self._store.get().pending.remove(pending_id)
        except StoreFault as fault:
            self.store_fault = fault
            return False
        return True

    def record_failure(self, pending_id: int, why: str) -> None:
        """Notes why a pending write still waits."""
        self._store.get().pending.record_failure(pending_id, why)


def _keep_item(
    store: PrivateStore, accepted: Accepted, task: TaskContext, text_hash: ContentHash
) -> tuple[int, tuple[Reason, str] | None]:
    """Keeps a private fact; returns its number, and why it was turned away if it was."""
    from memrepo.store.records import ItemAction, write_day

    candidate = accepted.candidate
    last_day = candidate.expires
    result = store.items.keep(
        candidate,
        task,
        by=accepted.route.by,
        content_hash=text_hash,
        is_third_party=accepted.route.third_party,
        due_at_ms=write_day(candidate.due) if candidate.due else None,
        expires_at_ms=write_day(last_day + dt.timedelta(days=1)) if last_day else None,
    )
    if result.action is ItemAction.OUTRANKED:
        ref = StoredRef(Shelf.MEMORY, result.id)
        return result.id, (
            Reason.OUTRANKED,
            f"{ref} says something else about it, and it is the word of someone who counts for more",
        )
    return result.id, _FORGOTTEN if result.action is ItemAction.FORGOTTEN else None


def replay_context(task: TaskContext, by: Author) -> TaskContext:
    """The task of a pending write, with the author that was decided when it was accepted."""
    return replace(task, user_confirmed=by is Author.USER)
