"""Facts that the repo could not take yet: kept in order, each once, until a writer replays them."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memrepo.format.entries import content_hash
from memrepo.model import Author, Reason
from memrepo.store.records import PendingWrite, read_record, write_record
from memrepo.store.schema import pending

if TYPE_CHECKING:
    from memrepo.model import Candidate, TaskContext
    from memrepo.store.opening import PrivateStore


class Pending:
    """The table of waiting writes of all memory roots."""

    def __init__(self, store: PrivateStore) -> None:
        self._store = store

    def add(
        self, candidate: Candidate, task: TaskContext, *, root: str, by: Author, reason: Reason, detail: str
    ) -> int:
        """Keeps a fact for a root; the same fact for the same place is kept once. Returns its id. Errors: StoreFault.

        When it returns, the fact survives a power loss.
        """
        text_hash = content_hash(candidate.text)
        digest = _digest_fact(candidate, task, by, text_hash)
        with self._store.writing() as connection:
            waiting = sa.select(pending.c.id).where(pending.c.root == root, pending.c.fact_digest == digest)
            known = connection.execute(waiting).scalar()
            if known is not None:
                return int(known)
            row = sa.insert(pending).values(
                root=root,
                fact_digest=digest,
                content_hash=text_hash,
                record=write_record(candidate, task),
                author=str(by),
                reason=str(reason),
                detail=detail,
                queued_at=self._store.now_ms(),
            )
            return int(connection.execute(row.returning(pending.c.id)).scalar_one())

    def list(self, root: str) -> tuple[PendingWrite, ...]:
        """What waits for a root, oldest first.

        A row that this memrepo cannot read (a newer one wrote it) goes on waiting: it is left out here and counted by
        `count`.
        """
        with self._store.reading() as connection:
            rows = connection.execute(sa.select(pending).where(pending.c.root == root).order_by(pending.c.id)).all()
        found = []
        for row in rows:
            with suppress(ValueError, KeyError, TypeError):
                found.append(read_pending_write(row))
        return tuple(found)

    def count(self, root: str) -> int:
        """How many wait for a root, unreadable ones included."""
        with self._store.reading() as connection:
            counted = sa.select(sa.func.count()).select_from(pending).where(pending.c.root == root)
            return int(connection.execute(counted).scalar_one())

    def remove(self, pending_id: int) -> None:
        """Ends the waiting of one fact, if it still waits."""
        with self._store.writing() as connection:
            connection.execute(sa.delete(pending).where(pending.c.id == pending_id))

    def record_failure(self, pending_id: int, why: str) -> None:
        """Notes that a replay failed, and why."""
        with self._store.writing() as connection:
            connection.execute(
                sa.update(pending)
                .where(pending.c.id == pending_id)
                .values(attempts=pending.c.attempts + 1, last_error=why)
            )


def read_pending_write(row: Any) -> PendingWrite:
    """Reads a row of the table. Errors: ValueError, KeyError, TypeError when it is not of the form of this memrepo."""
    candidate, task = read_record(row.record)
    return PendingWrite(
        id=row.id,
        candidate=candidate,
        task=task,
        by=Author(row.author),
        reason=Reason(row.reason),
        detail=row.detail,
        queued_at_ms=row.queued_at,
        attempts=row.attempts,
        last_error=row.last_error,
        key=_make_key(row.id, row.fact_digest, row.queued_at),
    )


def _make_key(pending_id: int, fact_digest: str, queued_at_ms: int) -> str:
    return hashlib.sha256(f"{pending_id}\0{fact_digest}\0{queued_at_ms}".encode()).hexdigest()[:32]


def _digest_fact(candidate: Candidate, task: TaskContext, by: Author, text_hash: str) -> str:
    """Names a fact and the place it would go to: two with one digest would become one line."""
    workspace = candidate.workspace or task.workspace
    parts = (
        text_hash,
        candidate.kind,
        candidate.scope,
        candidate.subject or "",
        by,
        workspace.id if workspace else "",
        "pin" if candidate.pin else "",
        task.taint,
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
