"""Requests for the user's approval, and the answers. A granted one is used up by the act it was asked for.

An approval names its act by kind, target and the hash of the entry as it was when asked, so an answer never covers an
entry that changed meanwhile. The text itself is not kept here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memrepo.store.records import Approval, ApprovalStatus
from memrepo.store.schema import approvals

if TYPE_CHECKING:
    from memrepo.store.opening import PrivateStore


class Approvals:
    """The table of approvals."""

    def __init__(self, store: PrivateStore) -> None:
        self._store = store

    def request(self, kind: str, target: str, *, content_hash: str | None, task_id: str | None) -> int:
        """Asks once: an open request for the same act is returned. Errors: StoreFault."""
        with self._store.writing() as connection:
            open_one = _same_act(kind, target, content_hash, task_id, ApprovalStatus.PENDING)
            known = connection.execute(open_one).scalar()
            if known is not None:
                return int(known)
            row = sa.insert(approvals).values(
                kind=kind,
                target=target,
                content_hash=content_hash,
                task_id=task_id,
                status=str(ApprovalStatus.PENDING),
                requested_at=self._store.now_ms(),
            )
            return int(connection.execute(row.returning(approvals.c.id)).scalar_one())

    def grant(self, approval_id: int) -> bool:
        """The user says yes to an open request; False when it is not open any more."""
        return self._decide(approval_id, ApprovalStatus.GRANTED)

    def deny(self, approval_id: int) -> bool:
        """The user says no to an open request; False when it is not open any more."""
        return self._decide(approval_id, ApprovalStatus.DENIED)

    def take_granted(self, kind: str, target: str, *, content_hash: str | None, task_id: str | None) -> bool:
        """Uses up one granted approval of exactly this act; False when there is none."""
        with self._store.writing() as connection:
            granted = _same_act(kind, target, content_hash, task_id, ApprovalStatus.GRANTED)
            found = connection.execute(granted.order_by(approvals.c.id).limit(1)).scalar()
            if found is None:
                return False
            used = sa.update(approvals).where(approvals.c.id == found)
            connection.execute(used.values(status=str(ApprovalStatus.USED)))
            return True

    def is_denied(self, kind: str, target: str, *, content_hash: str | None, task_id: str | None) -> bool:
        """Whether the user said no to exactly this act; an answer is final."""
        denied = _same_act(kind, target, content_hash, task_id, ApprovalStatus.DENIED)
        with self._store.reading() as connection:
            return connection.execute(denied.limit(1)).first() is not None

    def expire(self, *, before_ms: int) -> int:
        """Ends what was asked for before a time and is still open or unused; returns how many."""
        unused = (str(ApprovalStatus.PENDING), str(ApprovalStatus.GRANTED))
        with self._store.writing() as connection:
            expired = sa.update(approvals).where(approvals.c.status.in_(unused), approvals.c.requested_at < before_ms)
            return connection.execute(expired.values(status=str(ApprovalStatus.EXPIRED))).rowcount

    def list(self, *, status: ApprovalStatus | None = None) -> tuple[Approval, ...]:
        """Requests, oldest first."""
        query = sa.select(approvals).order_by(approvals.c.id)
        if status is not None:
            query = query.where(approvals.c.status == str(status))
        with self._store.reading() as connection:
            rows = connection.execute(query).all()
        return tuple(
            Approval(
                id=row.id,
                kind=row.kind,
                target=row.target,
                content_hash=row.content_hash,
                task_id=row.task_id,
                status=ApprovalStatus(row.status),
                requested_at_ms=row.requested_at,
                decided_at_ms=row.decided_at,
            )
            for row in rows
        )

    def _decide(self, approval_id: int, status: ApprovalStatus) -> bool:
        with self._store.writing() as connection:
            answered = connection.execute(
                sa.update(approvals)
                .where(approvals.c.id == approval_id, approvals.c.status == str(ApprovalStatus.PENDING))
                .values(status=str(status), decided_at=self._store.now_ms())
            )
            return bool(answered.rowcount)


def _same_act(
    kind: str, target: str, content_hash: str | None, task_id: str | None, status: ApprovalStatus
) -> sa.Select[Any]:
    return sa.select(approvals.c.id).where(
        approvals.c.kind == kind,
        approvals.c.target == target,
        approvals.c.content_hash.is_not_distinct_from(content_hash),
        approvals.c.task_id.is_not_distinct_from(task_id),
        approvals.c.status == str(status),
    )
