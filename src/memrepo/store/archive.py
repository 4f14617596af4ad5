"""What happened in tasks: outcomes, errors and notes. Never in a prompt by itself; recall may look here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memrepo.model import Author, Kind
from memrepo.store.records import ArchiveRecord
from memrepo.store.schema import archive

if TYPE_CHECKING:
    from memrepo.model import Candidate, TaskContext
    from memrepo.store.opening import PrivateStore


class Archive:
    """The table of task records."""

    def __init__(self, store: PrivateStore) -> None:
        self._store = store

    def add(self, candidate: Candidate, task: TaskContext, *, by: Author, content_hash: str) -> int:
        """Adds a record; the same text of the same task is kept once. Returns its id. Errors: StoreFault."""
        workspace = candidate.workspace or task.workspace
        with self._store.writing() as connection:
            same = sa.select(archive.c.id).where(
                archive.c.content_hash == content_hash, archive.c.task_id.is_not_distinct_from(task.task_id)
            )
            known = connection.execute(same).scalar()
            if known is not None:
                return int(known)
            row = sa.insert(archive).values(
                kind=str(candidate.kind),
                content=candidate.text,
                content_hash=content_hash,
                author=str(by),
                workspace_id=workspace.id if workspace else "",
                task_id=task.task_id,
                at=self._store.now_ms(),
            )
            return int(connection.execute(row.returning(archive.c.id)).scalar_one())

    def list(self, *, limit: int = 1_000) -> tuple[ArchiveRecord, ...]:
        """The newest records first."""
        with self._store.reading() as connection:
            rows = connection.execute(sa.select(archive).order_by(archive.c.id.desc()).limit(limit)).all()
        return tuple(read_archive_record(row) for row in rows)

    def forget(self, record_id: int) -> bool:
        """Removes a record for good, bytes included; False when there was none."""
        with self._store.writing() as connection:
            gone = connection.execute(sa.delete(archive).where(archive.c.id == record_id)).rowcount
        if gone:
            self._store.erase_deleted()
        return bool(gone)


def read_archive_record(row: Any) -> ArchiveRecord:
    """Reads a row of the table. Errors: ValueError when a value has no meaning."""
    return ArchiveRecord(
        id=row.id,
        kind=Kind(row.kind),
        content=row.content,
        content_hash=row.content_hash,
        by=Author(row.author),
        workspace_id=row.workspace_id,
        task_id=row.task_id,
        at_ms=row.at,
    )
