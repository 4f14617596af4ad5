"""All that is SQLite's alone: the file, the settings of a connection, its transactions, and erasing what was deleted.

SQLite runs in WAL with full sync: what was accepted survives a power loss. A writing transaction takes the write lock
at its start, so two processes never stop each other half-way. The file is for its owner alone. A file that exists is
opened by SQLite only: closing any other handle of it would drop the locks that this process holds on it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import event

from memrepo.store.faults import BUSY, DAMAGED, UNREACHABLE, judge, make_fault

PREFIX = "sqlite:///"
SIDE_FILES = ("-wal", "-shm", "-journal")
WRITES = "memrepo_writes"
"""The execution option of a connection whose transactions write."""

_BUSY_CODE = 5
_RETRY_S = 0.01
_SETTINGS = (
    "synchronous=FULL",
    "fullfsync=ON",  # macOS: fsync alone does not empty the drive's cache
    "foreign_keys=ON",
    "secure_delete=ON",
    "temp_store=MEMORY",  # VACUUM would put all private facts into the temporary folder
)


def find_path(url: str) -> Path | None:
    """The file of a SQLite URL: all that follows `sqlite:///`, as it is. None for another database."""
    return Path(url.removeprefix(PREFIX)) if url.startswith(PREFIX) else None


def make_engine(path: Path, *, busy_wait_s: float) -> sa.Engine:
    """An engine for a file; nothing is opened yet."""
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)), hide_parameters=True, connect_args={"timeout": busy_wait_s}
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # the driver begins late and knows no BEGIN IMMEDIATE; `_begin` does it
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        _turn_on_wal(connection, busy_wait_s)

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def prepare_file(path: Path) -> None:
    """Makes the folder and the file before SQLite would, so that they never are open to others; mends a loose mode.

    Errors: StoreFault when something that is no store stands in the way.
    """
    try:
        _make_folder(path.parent)
        if os.path.lexists(path):
            _check_file(path)
        else:
            _make_file(path)
    except OSError as error:
        raise make_fault(str(path), UNREACHABLE, error.strerror or type(error).__name__) from error


def _make_folder(folder: Path) -> None:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for made in reversed(missing):
        made.mkdir(mode=0o700, exist_ok=True)
        sync_folder(made.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder survive a power loss. Errors: OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_file(path: Path) -> None:
    _refuse_orphan_log(path)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:  # another process was first
        _check_file(path)


def _check_file(path: Path) -> None:
    look = path.stat()
    if stat.S_ISDIR(look.st_mode):
        raise make_fault(str(path), UNREACHABLE, "a folder is in its place")
    if not stat.S_ISREG(look.st_mode):
        raise make_fault(str(path), UNREACHABLE, "it is no regular file")
    if look.st_size == 0:
        _refuse_orphan_log(path)
    if look.st_mode & 0o077 and look.st_uid == os.geteuid():
        path.chmod(0o600)


def _refuse_orphan_log(path: Path) -> None:
    """SQLite throws away the log of an empty file: facts that were accepted could be in it."""
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        raise make_fault(str(path), DAMAGED, "it is empty or gone, and its log is not")


def _turn_on_wal(connection: sqlite3.Connection, busy_wait_s: float) -> None:
    """Sets the journal of a new file; for this one change SQLite does not wait for others by itself."""
    end = time.monotonic() + busy_wait_s
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != _BUSY_CODE or time.monotonic() >= end:
                raise
            time.sleep(_RETRY_S)
        else:
            return  # a file system without shared memory keeps the old journal, which is as safe


def erase_deleted(engine: sa.Engine, path: Path) -> str:
    """Rewrites the file without what was deleted and empties its log; returns why that was not possible, or "".

    `secure_delete` alone leaves copies that moving a row within its page made.
    """
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute("VACUUM")
        is_busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error as error:
        kind, detail = judge(error)
        return detail or kind.why
    finally:
        connection.close()
    log = Path(f"{path}-wal")
    return BUSY.why if is_busy or (log.exists() and log.stat().st_size) else ""


def read_image(engine: sa.Engine) -> bytes:
    """The bytes of all pages, those that are free included. Reads through SQLite, see the module's promise."""
    connection = engine.raw_connection()
    try:
        return bytes(connection.driver_connection.serialize())  # type: ignore[union-attr]
    finally:
        connection.close()
