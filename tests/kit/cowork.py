"""A host's database for tests: the table of its facts with indexes, search table and triggers, and its workspaces."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SEPTEMBER_MS = 1_789_689_600_000
"""2026-09-18 00:00 UTC."""

COLUMNS = {
    "id": "TEXT PRIMARY KEY",
    "workspace_id": "TEXT REFERENCES workspaces(id) ON DELETE CASCADE",
    "scope": "TEXT NOT NULL",
    "scope_ref": "TEXT",
    "kind": "TEXT NOT NULL",
    "subject_key": "TEXT NOT NULL",
    "content": "TEXT NOT NULL",
    "source": "TEXT NOT NULL",
    "source_ref": "TEXT NOT NULL DEFAULT '{}'",
    "trust": "REAL NOT NULL",
    "confidence": "REAL NOT NULL DEFAULT 0.7",
    "status": "TEXT NOT NULL DEFAULT 'active'",
    "pinned": "INTEGER NOT NULL DEFAULT 0",
    "reinforced_count": "INTEGER NOT NULL DEFAULT 0",
    "last_used_at": "INTEGER",
    "supersedes_id": "TEXT",
    "content_hash": "TEXT NOT NULL",
    "privacy": "TEXT NOT NULL DEFAULT 'normal'",
    "task_id": "TEXT",
    "expires_at": "INTEGER",
    "created_at": "INTEGER NOT NULL",
    "updated_at": "INTEGER NOT NULL",
}
_PLACE = "COALESCE(workspace_id, ''), scope, COALESCE(scope_ref, '')"
_TO_SEARCH = (
    "INSERT INTO memory_items_fts(rowid, content, subject_key) VALUES (NEW.rowid, NEW.content, NEW.subject_key)"
)
_OUT_OF_SEARCH = (
    "INSERT INTO memory_items_fts(memory_items_fts, rowid, content, subject_key) "
    "VALUES ('delete', OLD.rowid, OLD.content, OLD.subject_key)"
)


def make_row(content: str, **columns: object) -> dict[str, Any]:
    """A row of an active, global, inferred preference, unless `columns` says otherwise."""
    digest = hashlib.sha256(content.lower().encode("utf-8", "surrogateescape")).hexdigest()
    row: dict[str, Any] = {
        "id": f"row-{digest[:8]}",
        "scope": "global",
        "kind": "preference",
        "subject_key": f"preference:{digest[:16]}",
        "content": content,
        "source": "inferred",
        "trust": 0.5,
        "content_hash": digest,
        "created_at": SEPTEMBER_MS,
        "updated_at": SEPTEMBER_MS,
    }
    return row | columns


def make_cowork(
    path: Path,
    rows: Iterable[dict[str, Any]] = (),
    *,
    workspaces: Sequence[tuple[str, str]] = (("ws-uuid-1", "Billing Service"),),
    without: Sequence[str] = (),
) -> Path:
    """Makes a database with these rows and workspaces `(id, name)`; `without` are columns that it lacks."""
    columns = {name: kind for name, kind in COLUMNS.items() if name not in without}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE workspaces (id TEXT PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL)")
        connection.execute(f"CREATE TABLE memory_items ({', '.join(map(' '.join, columns.items()))})")
        if not without:
            connection.executescript(f"""
                CREATE UNIQUE INDEX active_hash ON memory_items({_PLACE}, kind, content_hash) WHERE status = 'active';
                CREATE UNIQUE INDEX active_subject ON memory_items({_PLACE}, subject_key) WHERE status = 'active';
                CREATE VIRTUAL TABLE memory_items_fts USING fts5(
                    content, subject_key, content='memory_items', content_rowid='rowid');
                CREATE TRIGGER search_insert AFTER INSERT ON memory_items BEGIN {_TO_SEARCH}; END;
                CREATE TRIGGER search_delete AFTER DELETE ON memory_items BEGIN {_OUT_OF_SEARCH}; END;
            """)
        for id_, name in workspaces:
            connection.execute("INSERT INTO workspaces VALUES (?, ?, ?)", (id_, name, f"/work/{name}"))
    add_rows(path, rows)
    return path


def add_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Adds rows as the host would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for row in rows:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO memory_items ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def read_all(path: Path) -> list[tuple[Any, ...]]:
    """Every row as it is, by id."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT rowid, * FROM memory_items ORDER BY id").fetchall()


def read_texts(path: Path) -> list[str]:
    """The texts of all rows, sorted."""
    with closing(sqlite3.connect(path)) as connection:
        return sorted(text for (text,) in connection.execute("SELECT content FROM memory_items"))


def search(path: Path, word: str) -> list[str]:
    """What the host's own search finds."""
    query = "SELECT content FROM memory_items_fts WHERE memory_items_fts MATCH ? ORDER BY content"
    with closing(sqlite3.connect(path)) as connection:
        return [text for (text,) in connection.execute(query, (word,))]
