"""What a change of another program's database took along: rows that its triggers removed or changed beside those named.

Compares inside the transaction, before it ends: the rows of the table one by one, other tables by how many rows they
have. What a trigger adds elsewhere loses nothing. A row that it changes in another table, or replaces there by another
row, is not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence


def count_rows(connection: sqlite3.Connection, *, beside: str) -> dict[str, int]:
    """How many rows each table has, but for one. Search tables follow their content and are left out."""
    tables = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite!_%' "
        "ESCAPE '!' AND name <> ? COLLATE NOCASE",
        (beside,),
    ).fetchall()
    counted = {}
    for (name,) in tables:
        quoted = '"' + name.replace('"', '""') + '"'
        counted[name] = connection.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]  # noqa: S608 - quoted
    return counted


def find_loss(
    before: Sequence[Sequence[Any]],
    after: Sequence[Sequence[Any]],
    counted_before: Mapping[str, int],
    counted_after: Mapping[str, int],
    *,
    gone: Collection[Any],
    id_place: int,
    table: str,
) -> str:
    """Says what is lost beside the rows `gone` (by id), "" when nothing is. Pure; names tables, never values."""
    kept = sum(row[id_place] not in gone for row in before)
    if len(after) < kept:
        return f"other rows of {table} went too ({kept - len(after):,})"
    wanted = [row for row in before if row[id_place] not in gone]
    if list(after) != wanted:
        return f"other rows of {table} changed"
    for name, number in counted_before.items():
        if (left := counted_after.get(name, 0)) < number:
            return f"rows of the table {name} went too ({number - left:,})"
    return ""
