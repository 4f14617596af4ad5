"""Opening a store, its transactions, and its schema steps.

Owns the engine. Each call of a part is one transaction, all or nothing; one that writes holds the write lock from its
start. A store that is damaged, another program's or of a newer schema is named and left as it is: nothing here ever
writes over one. What is SQLite's alone is in `sqlite.py`.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import sqlalchemy as sa

from memrepo.store import sqlite
from memrepo.store.approvals import Approvals
from memrepo.store.archive import Archive
from memrepo.store.events import Events
from memrepo.store.faults import FOREIGN, NEWER, UNKNOWN, make_fault, store_faults
from memrepo.store.items import Items
from memrepo.store.pending import Pending
from memrepo.store.records import Erasure, TextFinding
from memrepo.store.schema import STEPS, steps
from memrepo.store.texts import delete_texts, find_texts, search_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

BUSY_WAIT_S = 5.0


def now_in_ms() -> int:
    """The time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class PrivateStore:
    """One open store. Its parts share the engine. Safe to share between threads, not across a fork."""

    def __init__(self, engine: sa.Engine, *, path: Path, now_ms: Callable[[], int]) -> None:
        self._engine = engine
        self._path = path
        self._place = str(path)
        self._now_ms = now_ms

    @cached_property
    def pending(self) -> Pending:
        """Facts that the repo could not take yet."""
        return Pending(self)

    @cached_property
    def items(self) -> Items:
        """Facts that never go to the repo."""
        return Items(self)

    @cached_property
    def archive(self) -> Archive:
        """What happened in tasks: outcomes, errors, notes."""
        return Archive(self)

    @cached_property
    def approvals(self) -> Approvals:
        """Requests for the user's approval."""
        return Approvals(self)

    @cached_property
    def events(self) -> Events:
        """What the statistics count."""
        return Events(self)

    def now_ms(self) -> int:
        """The store's clock, in milliseconds since 1970."""
        return self._now_ms()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that reads one state. Errors: StoreFault."""
        with store_faults(self._place), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that holds the write lock from its start, all or nothing. Errors: StoreFault."""
        with (
            store_faults(self._place),
            self._engine.connect().execution_options(**{sqlite.WRITES: True}) as connection,
            connection.begin(),
        ):
            yield connection

    def search_texts(self, texts: Sequence[str]) -> tuple[TextFinding, ...]:
        """Which texts any table still holds, anywhere in a fact. Changes: nothing."""
        with self.reading() as connection:
            return find_texts(connection, texts)

    def search_file(self, texts: Sequence[str]) -> tuple[TextFinding, ...]:
        """Which texts the bytes of the database still hold, deleted ones included; holds the whole file in memory.

        A text that is split over two pages is not seen here. Changes: nothing.
        """
        with store_faults(self._place):
            return search_bytes(sqlite.read_image(self._engine), texts)

    def purge_texts(self, texts: Sequence[str]) -> Erasure:
        """Removes every fact that is one of the texts (whatever its case, white space and closing punctuation).

        A fact that only contains one stays: what it holds besides was not forgotten; `search_texts` names its table.
        Errors: StoreFault. Changes: rows, and their bytes.
        """
        with self.writing() as connection:
            rows = delete_texts(connection, texts, now_ms=self.now_ms())
        return self.erase_deleted(rows=rows)

    def erase_deleted(self, *, rows: int = 0) -> Erasure:
        """Takes the bytes of deleted rows out of the file and its log; waits for other processes as every call does.

        Changes: rewrites the file. Deleted rows stay deleted when it is not possible now: the answer says why.
        """
        with store_faults(self._place):
            why = sqlite.erase_deleted(self._engine, self._path)
        return Erasure(rows, is_erased=not why, why=why)

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()


def open_store(url: str, *, now_ms: Callable[[], int] = now_in_ms, busy_wait_s: float = BUSY_WAIT_S) -> PrivateStore:
    """Opens a store and runs the schema steps that it lacks. Errors: StoreFault. Changes: may make the file."""
    path = sqlite.find_path(url)
    if path is None or not path.is_absolute():
        # The URL stays out of the message: it may hold a password.
        why = "a store is a file so far: sqlite:/// and its whole path"
        raise make_fault(
            "(store_url in the settings)", UNKNOWN._replace(why=why, hint="memrepo settings unset store_url")
        )
    sqlite.prepare_file(path)
    store = PrivateStore(sqlite.make_engine(path, busy_wait_s=busy_wait_s), path=path, now_ms=now_ms)
    try:
        _bring_up_to_date(store, str(path))
    except BaseException:
        store.close()
        raise
    return store


def _bring_up_to_date(store: PrivateStore, place: str) -> None:
    with store.reading() as connection:
        version = _read_version(connection, place)
    while version < len(STEPS):
        with store.writing() as connection:
            version = _read_version(connection, place)  # another process may have been first
            if version < len(STEPS):
                STEPS[version](connection)
                version += 1
                connection.execute(sa.insert(steps).values(number=version, applied_at=store.now_ms()))


def _read_version(connection: sa.Connection, place: str) -> int:
    """The number of the last step that ran, 0 for an empty database. Errors: StoreFault for one that is not ours."""
    inspector = sa.inspect(connection)
    if not inspector.has_table(steps.name):
        if inspector.get_table_names():
            raise make_fault(place, FOREIGN)
        return 0
    version = connection.execute(sa.select(sa.func.max(steps.c.number))).scalar_one() or 0
    if version > len(STEPS):
        raise make_fault(place, NEWER, f"schema {version}, this memrepo knows {len(STEPS)}")
    return int(version)
