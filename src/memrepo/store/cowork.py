"""A database that facts come from: the host's own (`memory_items` of CoWork), or a private store of memrepo.

Reads one state of it, also while another process writes to it; never locks, migrates or repairs it. Takes rows out and
puts rows in only through `changing`, which holds the write lock of the database. Works with the driver alone, because
the file is another program's. What SQLite itself may do to a file that is only read: make empty side files beside it.
Source: memory repo design (seed 1) §8, §14.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memrepo.errors import MemrepoError, NotFound, SourceBusy, SourceFault
from memrepo.store import faults
from memrepo.store.losses import count_rows, find_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BUSY_WAIT_S = 5.0
TABLE = "memory_items"
_NEEDED = (
    "id",
    "workspace_id",
    "scope",
    "kind",
    "subject_key",
    "content",
    "source",
    "trust",
    "status",
    "pinned",
    "privacy",
    "task_id",
    "created_at",
)
_PLAIN = 0  # table_xinfo: 1 is a hidden column, 2 and 3 are generated ones; such cannot be put back
_MADE_SUBJECT = re.compile(r"[a-z_]+:[0-9a-f]{16}")  # the host's own, from kind and text: it names nothing

PROVENANCES = frozenset(
    ("user_stated", "user_confirmed", "curated", "agent", "inferred", "import", "system", "third_party")
)
"""Whose word a row is. CoWork has it in `source` and a number in `trust`; memrepo has it in `trust`."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row of `memory_items`. Times in milliseconds since 1970; a value of another type than it should be is "" or
    None. `values` are all columns as the database gives them, in the order of `SourceTable.columns`.

    `is_readable` is False for a row whose text is no text, or no UTF-8. `subject` is None where the host made one up.
    """

    id: str | int
    content: str
    kind: str
    scope: str
    scope_ref: str
    workspace_id: str
    subject: str | None
    provenance: str
    status: str
    privacy: str
    is_pinned: bool
    task_id: str | None
    link: str | None
    created_at_ms: int | None
    expires_at_ms: int | None
    is_readable: bool
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """All rows of one database, oldest first, and the names of its workspaces by id."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[SourceRow, ...]
    workspace_names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PutBack:
    """How many rows were put back, were there already, or found their place taken by another row."""

    restored: int
    present: int
    displaced: int


def read_table(path: Path, *, busy_wait_s: float = BUSY_WAIT_S) -> SourceTable:
    """Reads every row, in one state. Errors: NotFound, SourceBusy, SourceFault. Changes: nothing of the database."""
    _require_file(path)
    try:
        with _faults(path):
            return _read_with(path, "mode=ro", busy_wait_s)
    except SourceFault as fault:
        if fault.facts["invariant"] != "source-unreachable" or _has_log(path):
            raise
        # A folder that cannot be written: SQLite cannot make its side files, and nobody else can change the database.
        with _faults(path):
            return _read_with(path, "immutable=1", busy_wait_s)


class SourceChange:
    """A writing transaction on a database of another program. What is done in it happens at its end, or not at all."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def read(self) -> SourceTable:
        """Every row as it is under the lock."""
        with _faults(self._path):
            return _read_all(self._connection, self._path)

    def remove(self, ids: Sequence[str | int]) -> None:
        """Removes rows, and these alone.

        Errors: SourceFault when one of them is not there once, or when a trigger takes along what no backup holds: then
        none is removed.
        """
        with _faults(self._path):
            before, counted = _fetch(self._connection, self._path), count_rows(self._connection, beside=TABLE)
            for one in ids:
                gone = self._connection.execute(f"DELETE FROM {TABLE} WHERE id = ?", (one,)).rowcount  # noqa: S608
                if gone != 1:
                    raise _fault(self._path, "source", "a row could not be removed by its id alone", _UNLIKE)
            after = _fetch(self._connection, self._path)
            place = _list_columns(self._connection, self._path).index("id")
            now = count_rows(self._connection, beside=TABLE)
            loss = find_loss(before, after, counted, now, gone=frozenset(ids), id_place=place, table=TABLE)
        if loss:
            why = f"a trigger of the database works on removed rows: {loss}, which the backup would not hold"
            raise _fault(self._path, "source-trigger", why, _TRIGGER)

    def put_back(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> PutBack:
        """Puts rows back as they were, with their ids; a row that is there, or whose place is taken, stays as it is.

        Errors: SourceFault when the table has lost a column.
        """
        with _faults(self._path):
            known = _list_columns(self._connection, self._path)
            lost = [name for name in columns if name not in known]
            if lost:
                raise _other_version(self._path, lost)
            names = ", ".join(_quote(name) for name in columns)
            insert = f"INSERT INTO {TABLE} ({names}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
            place = list(columns).index("id")
            restored = present = 0
            for values in rows:
                look = f"SELECT 1 FROM {TABLE} WHERE id = ?"  # noqa: S608 - our own name
                if self._connection.execute(look, (values[place],)).fetchone():
                    present += 1
                    continue
                try:
                    self._connection.execute(insert, tuple(values))
                except sqlite3.IntegrityError:  # the same text or subject is active again, or its workspace is gone
                    continue
                restored += 1
        return PutBack(restored, present, len(rows) - restored - present)


@contextmanager
def changing(path: Path, *, checks_references: bool, busy_wait_s: float = BUSY_WAIT_S) -> Iterator[SourceChange]:
    """Holds the write lock of a database; an error inside takes everything back.

    With `checks_references` a row that names another that is gone is not put back. Without it a row is removed alone:
    what hangs on it neither stops that nor goes with it, as no backup would hold it.
    Errors: NotFound; SourceBusy after `busy_wait_s`; SourceFault. Changes: what the `SourceChange` is told to.
    """
    _require_file(path)
    with _faults(path):
        connection = _connect(path, "mode=rw", busy_wait_s)
    with closing(connection):
        with _faults(path):
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute(f"PRAGMA foreign_keys={'ON' if checks_references else 'OFF'}")
            connection.execute("BEGIN IMMEDIATE")
            _require_whole(connection, path)
        try:
            yield SourceChange(connection, path)
            with _faults(path):
                connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.rollback()


def _read_with(path: Path, how: str, busy_wait_s: float) -> SourceTable:
    with closing(_connect(path, how, busy_wait_s)) as connection:
        connection.execute("BEGIN")
        return _read_all(connection, path)


def _connect(path: Path, how: str, busy_wait_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=busy_wait_s)
    connection.isolation_level = None
    connection.text_factory = _decode
    return connection


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _read_all(connection: sqlite3.Connection, path: Path) -> SourceTable:
    columns = _list_columns(connection, path)
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        raise _other_version(path, missing)
    found = _fetch(connection, path)
    rows = tuple(_read_row(dict(zip(columns, values, strict=True)), values) for values in found)
    return SourceTable(path, columns, rows, _read_workspaces(connection))


def _fetch(connection: sqlite3.Connection, path: Path) -> list[tuple[Any, ...]]:
    """Every row as the database gives it, oldest first."""
    names = ", ".join(_quote(name) for name in _list_columns(connection, path))
    return connection.execute(f"SELECT {names} FROM {TABLE} ORDER BY created_at, id").fetchall()  # noqa: S608


def _list_columns(connection: sqlite3.Connection, path: Path) -> tuple[str, ...]:
    """The columns of the table that can be written. Errors: SourceFault when there is no such table."""
    found = connection.execute(f"PRAGMA table_xinfo({TABLE})").fetchall()
    if not found:
        raise _other_version(path, [])
    return tuple(row[1] for row in found if row[6] == _PLAIN)


def _read_row(raw: dict[str, Any], values: tuple[Any, ...]) -> SourceRow:
    content, id_ = raw["content"], raw["id"]
    is_readable = isinstance(content, str) and isinstance(id_, str | int) and all(map(_is_whole, values))
    trust, source = _text(raw["trust"]), _text(raw["source"])
    subject = _text(raw["subject_key"])
    expires = raw.get("expires_at")
    return SourceRow(
        id=id_ if isinstance(id_, str | int) else "",
        content=_text(content),
        kind=_text(raw["kind"]),
        scope=_text(raw["scope"]),
        scope_ref=_text(raw.get("scope_ref")),
        workspace_id=_text(raw["workspace_id"]),
        subject=None if not subject or _MADE_SUBJECT.fullmatch(subject) else subject,
        provenance=_STRANGER if _STRANGER in (trust, source) else trust if trust in PROVENANCES else source,
        status=_text(raw["status"]),
        privacy=_text(raw["privacy"]),
        is_pinned=raw["pinned"] in (1, True),
        task_id=_text(raw["task_id"]) or None,
        link=_read_link(raw.get("source_ref")),
        created_at_ms=_number(raw["created_at"]),
        expires_at_ms=_number(expires),
        is_readable=is_readable and (expires is None or _number(expires) is not None),
        values=values,
    )


def _read_link(source_ref: object) -> str | None:
    """The link to what a row came from, as memrepo's own store keeps it; the host keeps none."""
    try:
        raw = json.loads(source_ref) if isinstance(source_ref, str) else None
    except (ValueError, RecursionError):
        return None
    link = raw.get("source") if isinstance(raw, dict) else None
    return link if isinstance(link, str) and link else None


def _read_workspaces(connection: sqlite3.Connection) -> dict[str, str]:
    """What the host calls its workspaces; none when it has no such table."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(workspaces)")}
    if not {"id", "name"} <= columns:
        return {}
    found = connection.execute("SELECT id, name FROM workspaces")
    return {id_: name for id_, name in found if isinstance(id_, str) and isinstance(name, str) and _is_whole(name)}


def _require_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Errors: SourceFault: nothing is written into a damaged table."""
    answer = str(connection.execute(f"PRAGMA quick_check({TABLE})").fetchone()[0])
    if answer != "ok":
        raise _fault(path, "source-damaged", f"the database is damaged ({answer[:80]})", _RECOVER)


def _require_file(path: Path) -> None:
    if path.is_dir():
        raise NotFound(f"{path} is a folder", hint="name the database file in it", what="database", name=str(path))
    if not path.is_file():
        raise NotFound(
            f"there is no database {path}",
            hint="name the file of the host's database: memrepo export --from FILE",
            what="database",
            name=str(path),
        )


def _has_log(path: Path) -> bool:
    """Whether something waits beside the file that a reader of the file alone would not see."""
    logs = (Path(f"{path}-wal"), Path(f"{path}-journal"))
    return any(log.exists() and log.stat().st_size for log in logs)


_STRANGER = "third_party"
"""In whichever column it stands, the words are another's."""
_RECOVER = "restore the database from a backup, or save what it still yields into a new one, then name that"
_RIGHTS = "check that you may read and write the file and its folder"
_CLOSE = "close the program that holds it, or repeat in a moment"
_OTHER_FILE = "name the database of the host; an encrypted one must be opened by its own program first"
_UNLIKE = "give each row of the table an id of its own in the host, then repeat; until then the rows stay"
_TRIGGER = "the rows stay: ask the makers of the host what its triggers do; memrepo export --from FILE needs no removal"
_WORDS = {
    faults.DAMAGED: ("source-damaged", "the database is damaged", _RECOVER),
    faults.NO_DATABASE: ("source-no-database", "it is no SQLite database, or it is encrypted", _OTHER_FILE),
    faults.READ_ONLY: ("source-read-only", "it cannot be written", _RIGHTS),
    faults.UNREACHABLE: ("source-unreachable", "it cannot be opened", _RIGHTS),
    faults.FULL: ("source-disk-full", "there is no space left on its disk", "free some space, then repeat"),
    faults.DISK: ("source-disk", "its disk refused to read or write", "check the disk"),
}


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Turns what SQLite raises into SourceBusy and SourceFault, without its message: that may hold values."""
    try:
        yield
    except MemrepoError:
        raise
    except sqlite3.Error as error:
        kind, detail = faults.judge(error)
        if kind is faults.BUSY:
            raise SourceBusy(f"{path}: another program holds the database", hint=_CLOSE, path=str(path)) from None
        unknown = ("source", f"the database refused ({detail})", _OTHER_FILE)
        raise _fault(path, *_WORDS.get(kind, unknown)) from None


def _fault(path: Path, invariant: str, why: str, hint: str) -> SourceFault:
    return SourceFault(f"{path}: {why}; nothing was changed", hint=hint, invariant=invariant, path=str(path))


def _other_version(path: Path, columns: Sequence[str]) -> SourceFault:
    what = f"the table {TABLE} has no {', '.join(columns)}" if columns else f"there is no table {TABLE}"
    return SourceFault(
        f"{path}: {what}: the database of another program, or of a version that this memrepo does not know",
        hint="name the database of the host, or start the host once: it brings its database up to date",
        invariant="source-other-version",
        path=str(path),
        missing=list(columns) or [TABLE],
    )


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_whole(value: object) -> bool:
    """False for a text with bytes that are no UTF-8."""
    if not isinstance(value, str):
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and value == value and abs(value) < 1e18 else None
