"""The tables, and the numbered steps by which a store comes to them.

A step and the record that it ran are one transaction. Columns of `memory_items` are those of the seeds' host, so that
the export reads either. Partial unique indexes keep one active row per text and per subject in a scope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Callable

metadata = sa.MetaData()

_IDENTITY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite counts up only an INTEGER primary key


def _table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """A table whose rows have a number that is given once: one that a user was told never means another row."""
    number = sa.Column("id", _IDENTITY, primary_key=True)
    return sa.Table(name, metadata, number, *parts, sqlite_autoincrement=True)


steps = sa.Table(
    "schema_steps",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("applied_at", sa.BigInteger, nullable=False),
)

memory_items = _table(
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
)
_ACTIVE = memory_items.c.status == "active"
_WITH_SUBJECT = sa.and_(_ACTIVE, memory_items.c.subject_key.is_not(None))
sa.Index(
    "one_active_text",
    memory_items.c.scope,
    memory_items.c.scope_ref,
    memory_items.c.content_hash,
    unique=True,
    sqlite_where=_ACTIVE,
    postgresql_where=_ACTIVE,
)
sa.Index(
    "one_active_subject",
    memory_items.c.scope,
    memory_items.c.scope_ref,
    memory_items.c.subject_key,
    unique=True,
    sqlite_where=_WITH_SUBJECT,
    postgresql_where=_WITH_SUBJECT,
)

archive = _table(
    "archive",
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("content_hash", sa.Text, nullable=False, index=True),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("workspace_id", sa.Text, nullable=False, server_default=""),
    sa.Column("task_id", sa.Text),
    sa.Column("at", sa.BigInteger, nullable=False),
)

pending = _table(
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

approvals = _table(
    "approvals",
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("content_hash", sa.Text),
    sa.Column("task_id", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("requested_at", sa.BigInteger, nullable=False),
    sa.Column("decided_at", sa.BigInteger),
)

events = _table(
    "events",
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("amount", sa.Integer, nullable=False, server_default="1"),
    sa.Column("task_id", sa.Text),
    sa.Column("workspace_id", sa.Text),
    sa.Column("origin", sa.Text),
    sa.Column("detail", sa.Text),  # JSON
)

DATA_TABLES = (memory_items, archive, pending, approvals, events)
TEXT_TABLES = (memory_items, archive, pending)
"""The tables that hold a fact, each with the hash of its text in `content_hash`."""


def _make_tables(connection: sa.Connection) -> None:
    metadata.create_all(connection, tables=[steps, *DATA_TABLES], checkfirst=False)


STEPS: tuple[Callable[[sa.Connection], None], ...] = (_make_tables,)
"""Step n (counted from 1) brings a store from version n - 1 to n. What a released step makes never changes: a later
change of a table is a new step, and then step 1 keeps a copy of the tables as they were."""
