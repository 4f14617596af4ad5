"""What happened in tasks: outcomes, errors and notes. Never in a prompt by itself; recall may look here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memrepo.model import Author, Kind, Origin, Scope
from memrepo.store.items import describe_taint
from memrepo.store.records import ArchiveRecord, write_subject
from memrepo.store.schema import archive
from memrepo.store.tombstones import Grave, bury, is_buried, unbury

if TYPE_CHECKING:
    from memrepo.model import Candidate, TaskContext
    from memrepo.store.opening import PrivateStore


SHELF = "archive"
"""The scope of tombstones of the archive; their `scope_ref` is the task."""


class Archive:
    """The table of task records."""

    def __init__(self, store: PrivateStore) -> None:
        self._store = store

    def add(self, candidate: Candidate, task: TaskContext, *, by: Author, content_hash: str) -> int:
        """Adds a record; the same text of the same task is kept once. Returns its id. Errors: StoreFault.

        0 when the user forgot that text of that task: only the user brings it back.
        """
        workspace = candidate.workspace or task.workspace
        with self._store.writing() as connection:
            same = sa.select(archive.c.id).where(
                archive.c.content_hash == content_hash, archive.c.task_id.is_not_distinct_from(task.task_id)
            )
            known = connection.execute(same).scalar()
            if known is not None:
                return int(known)
            grave = Grave(SHELF, task.task_id or "", content_hash)
            if by is Author.USER:
                unbury(connection, grave)
            elif is_buried(connection, grave):
                return 0
            row = sa.insert(archive).values(
                kind=str(candidate.kind),
                content=candidate.text,
                content_hash=content_hash,
                author=str(by),
                workspace_id=workspace.id if workspace else "",
                task_id=task.task_id,
                at=self._store.now_ms(),
                subject_key=write_subject(candidate.subject),
                source=str(task.origin),
                source_ref=json.dumps(
                    {"source": candidate.source, **_describe_scope(candidate), **describe_taint(task, by)}
                ),
            )
            return int(connection.execute(row.returning(archive.c.id)).scalar_one())

    def list(self, *, limit: int = 1_000) -> tuple[ArchiveRecord, ...]:
        """The newest records first."""
        with self._store.reading() as connection:
            rows = connection.execute(sa.select(archive).order_by(archive.c.id.desc()).limit(limit)).all()
        return tuple(read_archive_record(row) for row in rows)

    def find(self, record_id: int) -> ArchiveRecord | None:
        """The record of that number."""
        with self._store.reading() as connection:
            row = connection.execute(sa.select(archive).where(archive.c.id == record_id)).first()
        return None if row is None else read_archive_record(row)

    def forget(self, record_id: int) -> bool:
        """Removes a record for good, bytes included; False when there was none. Its task does not bring it back."""
        with self._store.writing() as connection:
            row = connection.execute(sa.select(archive).where(archive.c.id == record_id)).first()
            if row is None:
                return False
            connection.execute(sa.delete(archive).where(archive.c.id == record_id))
            bury(connection, [Grave(SHELF, row.task_id or "", row.content_hash)], now_ms=self._store.now_ms())
        self._store.erase_deleted()
        return True


def _describe_scope(candidate: Candidate) -> dict[str, str]:
    """That a record is its own task's alone; any other is its workspace's, or everybody's where there is none."""
    return {"scope": str(Scope.TASK)} if candidate.private or candidate.scope is Scope.TASK else {}


def read_archive_record(row: Any) -> ArchiveRecord:
    """Reads a row of the table. Errors: ValueError when a value has no meaning."""
    said = (
        json.loads(row.source_ref) if getattr(row, "source_ref", None) else {}
    )  # a damaged store may be one of step 1
    scope = Scope(said.get("scope") or (Scope.WORKSPACE if row.workspace_id else Scope.GLOBAL))
    return ArchiveRecord(
        id=row.id,
        kind=Kind(row.kind),
        content=row.content,
        content_hash=row.content_hash,
        by=Author(row.author),
        workspace_id=row.workspace_id,
        task_id=row.task_id,
        at_ms=row.at,
        subject=getattr(row, "subject_key", None),
        source=said.get("source"),
        origin=Origin(origin) if (origin := getattr(row, "source", "")) else None,
        scope=scope,
        scope_ref={Scope.WORKSPACE: row.workspace_id, Scope.TASK: row.task_id or ""}.get(scope, ""),
        is_tainted=bool(said.get("tainted")),
    )
