"""All rows of a store as plain values, and into an empty store again: what an export carries.

A row is a mapping of the table's own columns; what a column holds as JSON is a value, times are milliseconds since
1970. Numbers stay, so that a ref that a user was told (`memory:3`) means the same fact on another machine. Rows that
come in are judged by the schema and by the readers of the store before one is written.
"""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from memrepo.model import Kind
from memrepo.store.archive import read_archive_record
from memrepo.store.items import read_item
from memrepo.store.pending import read_pending_write
from memrepo.store.schema import archive, events, memory_items, pending, tombstones
from memrepo.store.tombstones import Grave

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from memrepo.store.opening import PrivateStore

Rows = dict[str, list[dict[str, Any]]]
"""Rows by shelf, each shelf in the order of its numbers."""

_HASH = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**53
_HASHES = frozenset({"content_hash", "fact_digest"})


class Shelf(NamedTuple):
    """One kind of rows: its table, the columns that hold JSON, those that stay behind, and who reads a row."""

    table: sa.Table
    json_columns: frozenset[str]
    left_columns: frozenset[str]
    read: Callable[[Any], object]


def _read_event(row: Any) -> object:
    return json.loads(row.detail) if row.detail else {}


SHELVES: Mapping[str, Shelf] = {
    "facts": Shelf(memory_items, frozenset({"source_ref"}), frozenset(), read_item),
    "commitments": Shelf(memory_items, frozenset({"source_ref"}), frozenset(), read_item),
    "forgotten": Shelf(tombstones, frozenset(), frozenset({"id"}), Grave.read),
    "archive": Shelf(archive, frozenset({"source_ref"}), frozenset(), read_archive_record),
    "pending": Shelf(pending, frozenset({"record"}), frozenset({"root"}), read_pending_write),
    "events": Shelf(events, frozenset({"detail"}), frozenset({"id"}), _read_event),
}
"""`commitments` are the facts of that kind. Requests for approval are of one machine and are not carried."""

NUMBERED = ("memory_items", "archive", "pending")
"""The tables whose numbers a user may have been told."""


class StoreCopy(NamedTuple):
    """What a store holds for one folder. `last_ids`: the last number that each table gave. `left`: what stays, why."""

    rows: Rows
    last_ids: dict[str, int]
    left: tuple[str, ...] = ()


def read_rows(store: PrivateStore, *, root: str, done_keys: Collection[str] = ()) -> StoreCopy:
    """Reads a store as one state: all facts that have not expired, and of the waiting writes those of one folder.

    `done_keys` are the keys of waiting writes that the folder already holds: they wait no more.
    Errors: StoreFault. Changes: nothing.
    """
    rows: Rows = {name: [] for name in SHELVES}
    left: list[str] = []
    with store.reading() as connection:
        for name in ("facts", "forgotten", "archive", "events"):
            for row in connection.execute(sa.select(SHELVES[name].table).order_by(SHELVES[name].table.c.id)):
                if name == "facts" and row.expires_at is not None and row.expires_at <= store.now_ms():
                    continue
                shelf = "commitments" if name == "facts" and row.kind == Kind.COMMITMENT else name
                rows[shelf].append(_write_row(SHELVES[shelf], row))
        for row in connection.execute(sa.select(pending).order_by(pending.c.id)):
            if row.root != root:
                left.append("writes that wait for another memory folder")
                continue
            try:
                waiting = read_pending_write(row)
            except (ValueError, KeyError, TypeError):
                left.append("waiting writes that a newer memrepo kept")
                continue
            if waiting.key not in done_keys:
                rows["pending"].append(_write_row(SHELVES["pending"], row))
        last_ids = _read_last_ids(connection)
    return StoreCopy(rows, last_ids, tuple(dict.fromkeys(left)))


def is_empty(store: PrivateStore) -> bool:
    """Whether a store holds no fact, record, waiting write or forgotten text. Errors: StoreFault. Changes: nothing."""
    with store.reading() as connection:
        return not any(
            connection.execute(sa.select(table.c.id).limit(1)).first()
            for table in (memory_items, archive, pending, tombstones)
        )


def find_fault(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong with rows that came from elsewhere, "" when nothing is. Pure."""
    shelf, seen = SHELVES[name], set()
    columns = {column.name: column for column in shelf.table.c if column.name not in shelf.left_columns}
    for number, row in enumerate(rows, 1):
        if unknown := sorted(set(row) - set(columns)):
            return f"line {number} has {unknown[0]!r}, which this memrepo does not know"
        for column in columns.values():
            if why := _find_value_fault(shelf, column, _get(row, column)):
                return f"line {number}: {column.name} {why}"
        if "id" in columns and (row["id"] in seen or seen.add(row["id"])):  # type: ignore[func-returns-value]
            return f"line {number}: number {row['id']} is there twice"
        try:
            shelf.read(SimpleNamespace(**_read_values(shelf, row, root="")))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return f"line {number} has a value that has no meaning here"
    return ""


def find_twin(rows: Rows) -> str:
    """Says which fact and commitment have one number, "" when none have. Pure."""
    numbers = {row["id"] for row in rows.get("facts", ())}
    twin = next((row["id"] for row in rows.get("commitments", ()) if row["id"] in numbers), None)
    return "" if twin is None else f"a fact and a commitment both have number {twin}"


def write_rows(store: PrivateStore, copy: StoreCopy, *, root: str) -> None:
    """Puts rows that `find_fault` let pass into an empty store, all or none; the waiting writes wait for `root`.

    Errors: StoreFault. Changes: rows.
    """
    with store.writing() as connection:
        for name, shelf in SHELVES.items():
            values = [_read_values(shelf, row, root=root) for row in copy.rows.get(name, ())]
            for one in values:
                connection.execute(sa.insert(shelf.table).values(one))
        for name in NUMBERED:
            _keep_counting(connection, memory_items.metadata.tables[name], copy.last_ids.get(name, 0))


def _write_row(shelf: Shelf, row: Any) -> dict[str, Any]:
    return {
        column.name: _load(value) if column.name in shelf.json_columns and value else value
        for column in shelf.table.c
        if column.name not in shelf.left_columns
        for value in (getattr(row, column.name),)
    }


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_values(shelf: Shelf, row: Mapping[str, Any], *, root: str) -> dict[str, Any]:
    """The columns as the table holds them; one that is not there has the value that a new row has."""
    values = {
        column.name: _read_value(shelf, column, _get(row, column))
        for column in shelf.table.c
        if column.name not in shelf.left_columns
    }
    if "root" in shelf.left_columns:
        values["root"] = root
    return values


def _read_value(shelf: Shelf, column: sa.Column[Any], value: Any) -> Any:
    if value is not None and column.name in shelf.json_columns:
        return json.dumps(value)
    return float(value) if value is not None and column.type.python_type is float else value


def _get(row: Mapping[str, Any], column: sa.Column[Any]) -> Any:
    """What a row says of a column; of one that came after it was exported, what the schema gives to older rows."""
    default = getattr(column.server_default, "arg", None)
    if column.name in row or not isinstance(default, str):
        return row.get(column.name)
    return column.type.python_type(default)


def _find_value_fault(shelf: Shelf, column: sa.Column[Any], value: Any) -> str:
    if value is None:
        return "" if column.nullable else "is missing"
    if column.name in shelf.json_columns:
        return "" if isinstance(value, dict) else "must be an object"
    wanted = column.type.python_type
    allowed = (int, float) if wanted is float else (wanted,)
    if not isinstance(value, allowed) or (wanted is not bool and isinstance(value, bool)):
        return f"must be {'a number' if wanted in (int, float) else 'true or false' if wanted is bool else 'a text'}"
    if isinstance(value, int) and (abs(value) > _LARGEST or (column.name == "id" and value < 1)):
        return "is out of range"
    if column.name in _HASHES and isinstance(value, str) and not _HASH.fullmatch(value):
        return "must have 64 hex digits"
    return ""


def _read_last_ids(connection: sa.Connection) -> dict[str, int]:
    """The last numbers that were given, also to rows that are gone."""
    known = connection.execute(sa.text("SELECT name, seq FROM sqlite_sequence"))
    return {name: int(number) for name, number in known if name in NUMBERED}


def _keep_counting(connection: sa.Connection, table: sa.Table, last_id: int) -> None:
    """Lets the next row have a number after `last_id`: one that was given once never means another row."""
    highest = connection.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0
    if last_id > highest:
        name = {"name": table.name, "seq": last_id}
        connection.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        connection.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"), name)
