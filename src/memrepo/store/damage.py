"""A store file that may be damaged: looking at it, setting it aside, and saving what it still yields.

Nothing here changes a damaged file but its name. Works below the schema, with the driver alone, because a damaged file
does not open as a store.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memrepo.store.archive import read_archive_record
from memrepo.store.faults import FOREIGN, NEWER, READ_ONLY, UNREACHABLE, judge, make_fault
from memrepo.store.items import read_item
from memrepo.store.pending import read_pending_write
from memrepo.store.records import StoreHealth
from memrepo.store.schema import STEPS, archive, memory_items, pending, steps, tombstones
from memrepo.store.sqlite import SIDE_FILES, sync_folder
from memrepo.store.tombstones import Grave

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memrepo.store.opening import PrivateStore

_WAIT_S = 5.0
_READERS: tuple[tuple[sa.Table, Callable[[Any], object]], ...] = (
    (memory_items, read_item),
    (archive, read_archive_record),
    (pending, read_pending_write),
    (tombstones, Grave.read),
)


def check_store(path: Path) -> StoreHealth:
    """Looks whether a SQLite file is whole and this memrepo's. Changes: nothing; SQLite may leave empty side files."""
    if not path.is_file():
        what = "a folder is in its place" if path.is_dir() else "there is no such file"
        return StoreHealth(is_whole=False, why=f"{path}: {what}")
    log = Path(f"{path}-wal")
    if path.stat().st_size == 0:
        # A file that is made and not yet filled is no fault; a log without its file is.
        has_lost = log.exists() and log.stat().st_size > 0
        why = f"{path}: it is empty, and its log is not" if has_lost else ""
        return StoreHealth(is_whole=not has_lost, is_damaged=has_lost, why=why)
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)) as connection:
            answer = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            fault = _find_schema_fault(connection)
    except sqlite3.Error as error:
        kind, detail = judge(error)
        return StoreHealth(is_whole=False, is_damaged=kind.is_damage, why=f"{path}: {detail or kind.why}")
    if answer != "ok":
        return StoreHealth(is_whole=False, is_damaged=True, why=f"{path}: the database file is damaged ({answer})")
    return StoreHealth(is_whole=not fault, why=f"{path}: {fault}" if fault else "")


def _find_schema_fault(connection: sqlite3.Connection) -> str:
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if steps.name not in names:
        return FOREIGN.why if names else ""
    version = connection.execute(f"SELECT max(number) FROM {steps.name}").fetchone()[0] or 0  # noqa: S608 - our name
    return NEWER.why if version > len(STEPS) else ""


def set_store_aside(path: Path, stamp: str) -> Path:
    """Renames a store and its side files to `<name>.damaged-<stamp>…`; returns the new name. Errors: StoreFault."""
    aside = _choose_free_name(path, stamp)
    try:
        # The file goes last: without it SQLite would throw its log away.
        for suffix in (*SIDE_FILES, ""):
            old = Path(f"{path}{suffix}")
            if os.path.lexists(old):
                old.rename(f"{aside}{suffix}")
        sync_folder(path.parent)
    except OSError as error:
        raise make_fault(str(path), READ_ONLY, f"renaming it: {error.strerror}") from error
    return aside


def _choose_free_name(path: Path, stamp: str) -> Path:
    count = 1
    while True:
        aside = path.with_name(f"{path.name}.damaged-{stamp}" + (f"-{count}" if count > 1 else ""))
        if not any(os.path.lexists(f"{aside}{suffix}") for suffix in ("", *SIDE_FILES)):
            return aside
        count += 1


def salvage_store(aside: Path, store: PrivateStore) -> Mapping[str, int]:
    """Copies every fact that a damaged store still yields into an open one; returns how many per table.

    A row whose number is taken by another, or whose fact is there already, is not copied. Approvals are not: what a
    damaged file says was granted is not granted.
    """
    saved = {}
    try:
        # On a copy, beside it: opening it would change its log.
        with tempfile.TemporaryDirectory(prefix=".salvage-", dir=aside.parent) as folder:
            copy = Path(folder) / "store"
            for suffix in ("", "-wal", "-journal"):
                if os.path.lexists(f"{aside}{suffix}"):
                    shutil.copyfile(f"{aside}{suffix}", f"{copy}{suffix}")
            with closing(sqlite3.connect(copy)) as source, store.writing() as target:
                source.row_factory = sqlite3.Row
                for table, read in _READERS:
                    rows = _iter_readable(source, table, read)
                    saved[table.name] = sum(_copy_row(target, table, row) for row in rows)
    except OSError as error:
        raise make_fault(str(aside), UNREACHABLE, error.strerror or type(error).__name__) from error
    return saved


def _iter_readable(
    source: sqlite3.Connection, table: sa.Table, read: Callable[[Any], object]
) -> Iterator[dict[str, Any]]:
    """Yields the rows up to the damage from the front, then those down to it from the back; only what has a meaning."""
    seen = set()
    for direction in ("ASC", "DESC"):
        try:
            query = f"SELECT * FROM {table.name} ORDER BY id {direction}"  # noqa: S608 - our own names
            for row in source.execute(query):
                values = dict(row)
                if values["id"] in seen:
                    break
                seen.add(values["id"])
                if _is_readable(values, read):
                    yield values
        except sqlite3.Error:
            continue


def _is_readable(values: dict[str, Any], read: Callable[[Any], object]) -> bool:
    if any(isinstance(value, bytes) for value in values.values()):
        return False
    try:
        read(SimpleNamespace(**values))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def _copy_row(target: sa.Connection, table: sa.Table, row: dict[str, Any]) -> bool:
    values = {
        column.name: column.type.python_type(row[column.name]) for column in table.c if row.get(column.name) is not None
    }
    try:
        with target.begin_nested():
            target.execute(sa.insert(table).values(values))
    except sa.exc.IntegrityError:
        return False
    return True
