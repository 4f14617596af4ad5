"""Rows that an export made needless: written to an encrypted backup, removed from the host's database, and put back.

A row goes only when the folder holds its text and the backup has been read back from the disk and opened. Removing is
one transaction under the database's own write lock; so is putting back. Which rows: `planning.export_rows`.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memrepo.backups import check_header, read_backup, remove_backup, seal, unseal, write_backup
from memrepo.errors import BackupFault, Refused
from memrepo.export import find_marker
from memrepo.store.cowork import changing

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from memrepo.planning.export_rows import Left, RetirePlan
    from memrepo.store.cowork import PutBack, SourceTable

_KIND = "memory_items"


@dataclass(frozen=True, slots=True)
class RetireReport:
    """How many rows were removed, in which backup they are (None without any), and which stay."""

    retired: int
    backup: Path | None
    left: tuple[Left, ...]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What became of the rows of a backup, and in which database."""

    database: Path
    rows: PutBack


def require_export(root: Path) -> None:
    """Errors: Refused when no export into this folder came to its end: it cannot hold what it was not given."""
    if find_marker(root) is None:
        raise Refused(
            f"nothing was exported into {root} yet; no row was removed",
            hint="memrepo export --from FILE",
            rule="export-first",
            action="retire",
            target=str(root),
        )


def retire(
    database: Path,
    *,
    plan: Callable[[SourceTable], RetirePlan],
    get_key: Callable[[], bytes],
    backup: Path,
    now: dt.datetime,
) -> RetireReport:
    """Removes the rows that the plan names, after their backup is proven. Without such rows nothing is made.

    Errors: those of `changing` and `write_backup`; BackupFault when what was written cannot be opened. Changes: rows of
    the database, in one transaction; one new file.
    """
    with changing(database, checks_references=False) as change:
        table = change.read()
        made = plan(table)
        if not made.retired:
            return RetireReport(0, None, made.left)
        key = get_key()
        content = _write_content(database, table.columns, [row.values for row in made.retired], now)
        write_backup(backup, seal(content, key))
        try:
            _prove(backup, key, content)
            change.remove([row.id for row in made.retired])
        except BaseException:
            remove_backup(backup)
            raise
    return RetireReport(len(made.retired), backup, made.left)


def restore(backup: Path, *, key: Callable[[], bytes], into: Path | None = None) -> RestoreReport:
    """Puts the rows of a backup back, into the database that they came from unless `into` names another.

    A row that is there, or whose text or subject is active again, is left as it is: twice is as once.
    Errors: those of `read_backup`, `unseal` and `changing`. Changes: rows of the database, in one transaction.
    """
    data = read_backup(backup)
    check_header(data, path=backup)  # that a file is foreign is worth more to hear than that its key is gone
    content = unseal(data, key(), path=backup)
    try:
        raw = json.loads(content)
        columns, rows = raw["columns"], [[_read_value(value) for value in row] for row in raw["rows"]]
        database = Path(raw["database"]) if into is None else into
        is_ours = raw["kind"] == _KIND and "id" in columns
    except (ValueError, KeyError, TypeError) as error:
        raise _not_facts(backup) from error
    if not is_ours:
        raise _not_facts(backup)
    with changing(database, checks_references=True) as change:
        return RestoreReport(database, change.put_back(columns, rows))


def _write_content(database: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]], now: dt.datetime) -> bytes:
    return json.dumps(
        {
            "kind": _KIND,
            "database": str(database.absolute()),
            "retired_at": now.isoformat(),
            "columns": list(columns),
            "rows": [[_write_value(value) for value in row] for row in rows],
        }
    ).encode()


def _write_value(value: object) -> object:
    return {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _read_value(value: Any) -> Any:
    return base64.b64decode(value["bytes"], validate=True) if isinstance(value, dict) else value


def _prove(backup: Path, key: bytes, content: bytes) -> None:
    """Errors: BackupFault when the disk gives back anything but what was to be kept."""
    if unseal(read_backup(backup), key, path=backup) != content:
        raise BackupFault(
            f"{backup}: the backup is not what was written; no row was removed",
            hint="check the disk, or choose another: memrepo retire --from FILE --backup FILE",
            invariant="backup-unproven",
            path=str(backup),
        )


def _not_facts(backup: Path) -> BackupFault:
    return BackupFault(
        f"{backup}: it holds no rows of facts; nothing was changed",
        hint="name the file that memrepo retire made",
        invariant="backup-foreign",
        path=str(backup),
    )
