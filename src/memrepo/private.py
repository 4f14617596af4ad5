"""The private store as its owner looks at it: what it holds, what falls due, and forgetting it.

Reading needs the user; agents find private facts through `recall`, which filters by task before it ranks. Knows no SQL
and no rule of what is kept: that is `store.items`.
Source: memory repo design (seed 1) §5.2 for who may forget, §7.5 for what is kept here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memrepo.errors import ApprovalNeeded, NotFound
from memrepo.model import Author, ContentHash, Kind, Scope, Shelf, StoredRef
from memrepo.planning.curation import require_user
from memrepo.policy.sanitizing import reveal_text
from memrepo.policy.writing import may_change

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from memrepo.model import TaskContext
    from memrepo.store import ArchiveRecord, Item, PrivateStore

_MOST = 100_000


class StoreSource(Protocol):
    """Finds the private store when there is one. May raise StoreFault."""

    def find(self) -> PrivateStore | None: ...


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A private fact, or a record of the archive. `scope_ref` is the workspace, contact or task that the scope means.

    `done` is the day on which a commitment was met; `is_overdue` that its day has passed and it was not. `unreviewed`:
    an agent wrote it whose session was not known to be clean, and the user has not said it since.
    """

    ref: StoredRef
    text: str
    hash: ContentHash
    by: Author
    kind: Kind
    scope: Scope
    scope_ref: str
    privacy: str
    subject: str | None
    source: str | None
    task_id: str | None
    added: dt.date | None
    due: dt.date | None = None
    expires: dt.date | None = None
    done: dt.date | None = None
    is_overdue: bool = False
    unreviewed: bool = False


class PrivateMemory:
    """What the private store holds of one profile. `clock` tells the time with the zone in which its days are days."""

    def __init__(self, store: StoreSource, *, clock: Callable[[], dt.datetime]) -> None:
        self._store = store
        self._clock = clock

    def list(self, task: TaskContext, *, shelf: Shelf = Shelf.MEMORY) -> tuple[StoredFact, ...]:
        """The facts that count, or the archive; oldest first. Errors: Refused for an agent, StoreFault."""
        require_user(task, "look through the private store")
        store = self._store.find()
        if store is None:
            return ()
        if shelf is Shelf.ARCHIVE:
            return tuple(self._from_record(record) for record in reversed(store.archive.list(limit=_MOST)))
        return tuple(map(self._from_item, store.items.list(limit=_MOST)))

    def get(self, ref: StoredRef, task: TaskContext) -> StoredFact:
        """One fact or record. Errors: NotFound, Refused for an agent, StoreFault."""
        require_user(task, "look through the private store")
        return self._get(ref)

    def forget(self, ref: StoredRef, task: TaskContext, *, is_approved: bool = False) -> StoredFact:
        """Removes a fact for good, and the values that it replaced; returns what it was.

        An agent forgets what its own task wrote, anything else when the user approved it. Only the user brings it back.
        Errors: NotFound, ApprovalNeeded, StoreFault. Changes: rows of the store, and their bytes.
        """
        fact = self._get(ref)
        if not is_approved and not may_change(fact.by, fact.task_id, task.task_id, task.actor):
            raise ApprovalNeeded(
                f"forgetting {ref} needs the user's yes: your own task did not write it",
                hint=f"ask the user to run: memrepo forget {ref}",
                rule="memory_delete",
                actor=str(task.actor),
                action="forget",
                target=str(ref),
                approval="memory_delete",
            )
        store = self._store.find()
        shelf = None if store is None else store.items if ref.shelf is Shelf.MEMORY else store.archive
        if shelf is None or not shelf.forget(ref.id):
            raise _not_found(ref)
        return fact

    def request_forget(
        self, ref: StoredRef, task: TaskContext, *, ask: Callable[[str], bool | None] = lambda _: None
    ) -> bool:
        """Removes a fact for an agent: at once, or after `ask` said yes; False when it said no.

        Errors: those of `forget`; ApprovalNeeded when nobody can be asked: it names what the user may run.
        """
        try:
            self.forget(ref, task)
        except ApprovalNeeded:
            answer = ask(f"Forget “{reveal_text(self._get(ref).text)}” ({ref})? Your agent asks for it.")
            if answer is None:
                raise
            if not answer:
                return False
            self.forget(ref, task, is_approved=True)
        return True

    def list_commitments(self, task: TaskContext, *, with_done: bool = False) -> tuple[StoredFact, ...]:
        """Open commitments by their day, overdue ones first and those without a day last; then those that were met.

        Errors: Refused for an agent, StoreFault.
        """
        require_user(task, "list commitments")
        store = self._store.find()
        return () if store is None else tuple(map(self._from_item, store.items.list_commitments(with_done=with_done)))

    def finish(self, ref: StoredRef, task: TaskContext) -> StoredFact:
        """Marks a commitment as met. Errors: NotFound, Refused for an agent, StoreFault. Changes: its row."""
        require_user(task, "say that a commitment was met")
        store = self._store.find()
        if store is None or ref.shelf is not Shelf.MEMORY:
            raise _not_found(ref)
        return self._from_item(store.items.finish(ref.id))

    def purge_expired(self) -> int:
        """Removes facts that have expired, bytes included; returns how many. The next fact that is kept does it too."""
        store = self._store.find()
        return store.items.purge_expired() if store else 0

    def _get(self, ref: StoredRef) -> StoredFact:
        store = self._store.find()
        if store is not None and ref.shelf is Shelf.MEMORY and (item := store.items.find(ref.id)) is not None:
            return self._from_item(item)
        if store is not None and ref.shelf is Shelf.ARCHIVE and (record := store.archive.find(ref.id)) is not None:
            return self._from_record(record)
        raise _not_found(ref)

    def _from_item(self, item: Item) -> StoredFact:
        done = None if item.done_at_ms is None else self._day(item.done_at_ms)
        return StoredFact(
            ref=StoredRef(Shelf.MEMORY, item.id),
            text=item.content,
            hash=ContentHash(item.content_hash),
            by=item.by,
            kind=item.kind,
            scope=item.scope,
            scope_ref=item.scope_ref,
            privacy=item.privacy,
            subject=item.subject,
            source=item.source,
            task_id=item.task_id,
            added=item.added or self._day(item.created_at_ms),
            due=item.due,
            expires=item.expires,
            done=done,
            unreviewed=item.is_unreviewed,
            is_overdue=done is None and item.due is not None and item.due < self._clock().date(),
        )

    def _from_record(self, record: ArchiveRecord) -> StoredFact:
        return StoredFact(
            ref=StoredRef(Shelf.ARCHIVE, record.id),
            text=record.content,
            hash=ContentHash(record.content_hash),
            by=record.by,
            kind=record.kind,
            scope=record.scope,
            scope_ref=record.scope_ref,
            unreviewed=record.is_unreviewed,
            privacy="normal",
            subject=record.subject,
            source=record.source,
            task_id=record.task_id,
            added=self._day(record.at_ms),
        )

    def _day(self, at_ms: int) -> dt.date:
        import datetime as dt

        return dt.datetime.fromtimestamp(at_ms / 1000, tz=self._clock().tzinfo).date()


def _not_found(ref: StoredRef) -> NotFound:
    see = "memrepo ls --private" if ref.shelf is Shelf.MEMORY else "memrepo ls --archive"
    return NotFound(f"{ref} names nothing in the private store", hint=f"see: {see}", what="private fact", name=str(ref))
