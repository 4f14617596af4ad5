"""The tables, and the numbered steps by which a store comes to them.

A step and the record that it ran are one transaction. Columns of `memory_items` are those of the seeds' host, so that
the export reads either. Partial unique indexes keep one active row per text and per subject in a scope. What came after
step 1 says so where it stands (`since`), so that every step still makes what it made when it was released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = 2
_IDENTITY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite counts up only an INTEGER primary key


class Tables(NamedTuple):
    """The tables of one version. `tombstones` came with step 2; before, it is there and never made."""

    steps: sa.Table
    memory_items: sa.Table
    archive: sa.Table
    pending: sa.Table
    approvals: sa.Table
    events: sa.Table
    tombstones: sa.Table

    def list_made(self, version: int) -> tuple[sa.Table, ...]:
        """The tables that a store of a version has."""
        return self if version >= 2 else self[:-1]


def make_tables(version: int) -> Tables:
    """The tables as a version has them."""
    metadata = sa.MetaData()

    def since(number: int, *columns: sa.Column[Any]) -> tuple[sa.Column[Any], ...]:
        return columns if version >= number else ()

    def table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
        """A table whose rows have a number that is given once: one that a user was told never means another row."""
        number = sa.Column("id", _IDENTITY, primary_key=True)
        return sa.Table(name, metadata, number, *parts, sqlite_autoincrement=True)

    steps = sa.Table(
        "schema_steps",
        metadata,
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("applied_at", sa.BigInteger, nullable=False),
    )
    memory_items = table(
        "memory_items",
        sa.Column("workspace_id", sa.Text, nullable=False, server_default=""),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("scope_ref", sa.Text, nullable=False, server_default=""),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject_key", sa.Text),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("source_ref", sa.Text),  # JSON
        sa.Column("trust", sa.Text, nullable=False),
        sa.Column("confidence", sa.Float, nullable=False, server_default="1"),
        sa.Column("status", sa.Text, nullable=False, server_default="active"),
        sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("privacy", sa.Text, nullable=False, server_default="normal"),
        sa.Column("task_id", sa.Text),
        sa.Column("content_hash", sa.Text, nullable=False, index=True),
        sa.Column("supersedes", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("expires_at", sa.BigInteger),
        *since(2, sa.Column("done_at", sa.BigInteger)),
    )
    is_active = memory_items.c.status == "active"
    with_subject = sa.and_(is_active, memory_items.c.subject_key.is_not(None))
    sa.Index(
        "one_active_text",
        memory_items.c.scope,
        memory_items.c.scope_ref,
        memory_items.c.content_hash,
        unique=True,
        sqlite_where=is_active,
        postgresql_where=is_active,
    )
    sa.Index(
        "one_active_subject",
        memory_items.c.scope,
        memory_items.c.scope_ref,
        memory_items.c.subject_key,
        unique=True,
        sqlite_where=with_subject,
        postgresql_where=with_subject,
    )
    archive = table(
        "archive",
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("content_hash", sa.Text, nullable=False, index=True),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("workspace_id", sa.Text, nullable=False, server_default=""),
        sa.Column("task_id", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
        *since(
            2,
            sa.Column("subject_key", sa.Text),
            sa.Column("source", sa.Text, nullable=False, server_default=""),
            sa.Column("source_ref", sa.Text),  # JSON
        ),
    )
    pending = table(
        "pending",
        sa.Column("root", sa.Text, nullable=False),
        sa.Column("fact_digest", sa.Text, nullable=False),
        sa.Column("content_hash", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),  # JSON
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("queued_at", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("last_error", sa.Text, nullable=False, server_default=""),
        sa.UniqueConstraint("root", "fact_digest"),
    )
    approvals = table(
        "approvals",
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("content_hash", sa.Text),
        sa.Column("task_id", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("requested_at", sa.BigInteger, nullable=False),
        sa.Column("decided_at", sa.BigInteger),
    )
    events = table(
        "events",
        sa.Column("at", sa.BigInteger, nullable=False, index=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("amount", sa.Integer, nullable=False, server_default="1"),
        sa.Column("task_id", sa.Text),
        sa.Column("workspace_id", sa.Text),
        sa.Column("origin", sa.Text),
        sa.Column("detail", sa.Text),  # JSON
    )
    tombstones = table(
        "tombstones",
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("scope_ref", sa.Text, nullable=False),
        sa.Column("content_hash", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("scope", "scope_ref", "content_hash"),
    )
    return Tables(steps, memory_items, archive, pending, approvals, events, tombstones)


steps, memory_items, archive, pending, approvals, events, tombstones = make_tables(VERSION)

DATA_TABLES = (memory_items, archive, pending, approvals, events, tombstones)
TEXT_TABLES = (memory_items, archive, pending)
"""The tables that hold a fact, each with the hash of its text in `content_hash`."""


def _make_first(connection: sa.Connection) -> None:
    first = make_tables(1)
    first.steps.metadata.create_all(connection, tables=first.list_made(1), checkfirst=False)


def _make_second(connection: sa.Connection) -> None:
    for statement in list_changes(2, connection.dialect):
        connection.execute(sa.text(statement))


def list_changes(version: int, dialect: sa.Dialect) -> list[str]:
    """What a step after the first says to the database: the new columns of tables, then the new tables."""
    before, after = make_tables(version - 1), make_tables(version)
    known = {table.name for table in before.list_made(version - 1)}
    said = [
        f"ALTER TABLE {new.name} ADD COLUMN {CreateColumn(column).compile(dialect=dialect)}"
        for old, new in zip(before, after, strict=True)
        for column in new.columns
        if new.name in known and column.name not in old.columns
    ]
    new_tables = [table for table in after.list_made(version) if table.name not in known]
    return said + [str(sa.schema.CreateTable(table).compile(dialect=dialect)).strip() for table in new_tables]


STEPS: tuple[Callable[[sa.Connection], None], ...] = (_make_first, _make_second)
"""Step n (counted from 1) brings a store from version n - 1 to n. What a released step makes never changes: a later
change of a table is a new step, and its columns are marked with `since`."""
