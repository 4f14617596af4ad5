"""What the statistics count and the git log does not tell. Names and numbers only, never a text of memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import sqlalchemy as sa

from memrepo.store.records import Event
from memrepo.store.schema import events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.store.opening import PrivateStore


class Events:
    """The table of events."""

    def __init__(self, store: PrivateStore) -> None:
        self._store = store

    def record(
        self,
        name: str,
        *,
        amount: int = 1,
        task_id: str | None = None,
        workspace_id: str | None = None,
        origin: str | None = None,
        detail: Mapping[str, str | int | bool] | None = None,
    ) -> None:
        """Counts something that happened now. Errors: StoreFault."""
        with self._store.writing() as connection:
            row = sa.insert(events).values(
                at=self._store.now_ms(),
                name=name,
                amount=amount,
                task_id=task_id,
                workspace_id=workspace_id,
                origin=None if origin is None else str(origin),
                detail=json.dumps(dict(detail)) if detail else None,
            )
            connection.execute(row)

    def count(self, name: str, *, since_ms: int = 0) -> int:
        """The sum of the amounts of a name since a time."""
        total = sa.select(sa.func.coalesce(sa.func.sum(events.c.amount), 0))
        with self._store.reading() as connection:
            counted = total.where(events.c.name == name, events.c.at >= since_ms)
            return int(connection.execute(counted).scalar_one())

    def list(self, *, since_ms: int = 0) -> tuple[Event, ...]:
        """What happened since a time, oldest first."""
        query = sa.select(events).where(events.c.at >= since_ms).order_by(events.c.at, events.c.id)
        with self._store.reading() as connection:
            rows = connection.execute(query).all()
        return tuple(
            Event(
                id=row.id,
                at_ms=row.at,
                name=row.name,
                amount=row.amount,
                task_id=row.task_id,
                workspace_id=row.workspace_id,
                origin=row.origin,
                detail=json.loads(row.detail) if row.detail else {},
            )
            for row in rows
        )
