"""What a database says, as a StoreFault that names the file, the fault and the way out, and no value of a row."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from memrepo.errors import InvalidInput, StoreFault

if TYPE_CHECKING:
    from collections.abc import Iterator

_SET_ASIDE = "memrepo doctor --fix sets the file aside (it is kept) and starts a new one"
_PERMISSIONS = "check that the file and its folder are yours to write, then: memrepo doctor"
_AGAIN = "try again in a moment; if it stays so, end the other memrepo processes"


class FaultKind(NamedTuple):
    """One kind of fault: its stable name, what it says, what to do, and whether the file itself is at fault."""

    invariant: str
    why: str
    hint: str
    is_damage: bool = False


DAMAGED = FaultKind("store-damaged", "the database file is damaged", _SET_ASIDE, is_damage=True)
NO_DATABASE = FaultKind(
    "store-no-database",
    "the file is no SQLite database: damaged, encrypted or something else",
    _SET_ASIDE,
    is_damage=True,
)
BUSY = FaultKind("store-busy", "another process holds it", _AGAIN)
READ_ONLY = FaultKind("store-read-only", "it cannot be written", _PERMISSIONS)
UNREACHABLE = FaultKind("store-unreachable", "it cannot be opened", _PERMISSIONS)
FULL = FaultKind("store-disk-full", "there is no space left on its disk", "free some space, then try again")
DISK = FaultKind("store-disk", "its disk refused to read or write", "check the disk, then: memrepo doctor")
NEWER = FaultKind("store-newer", "it was made by a newer memrepo", "upgrade: pip install -U memrepo")
FOREIGN = FaultKind(
    "store-foreign",
    "it is a database of another program",
    "choose another file: memrepo settings set store_url sqlite:///FILE, or memrepo settings unset store_url",
)
UNKNOWN = FaultKind("store", "the database refused", "memrepo doctor")

# Source: https://www.sqlite.org/rescode.html, primary result codes.
_BY_CODE = {
    3: READ_ONLY,  # PERM
    5: BUSY,  # BUSY
    6: BUSY,  # LOCKED
    8: READ_ONLY,  # READONLY
    10: DISK,  # IOERR
    11: DAMAGED,  # CORRUPT
    13: FULL,  # FULL
    14: UNREACHABLE,  # CANTOPEN
    15: BUSY,  # PROTOCOL: gave up on the lock of the log
    26: NO_DATABASE,  # NOTADB
}


@contextmanager
def store_faults(place: str) -> Iterator[None]:
    """Turns what SQLAlchemy and SQLite raise into StoreFault; a text that no database can hold into InvalidInput.

    The cause is left out: it carries the statement's values.
    """
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise make_fault(place, *judge(error.orig)) from None
    except sqlite3.Error as error:
        raise make_fault(place, *judge(error)) from None
    except sa.exc.SQLAlchemyError as error:
        raise make_fault(place, UNKNOWN, type(error).__name__) from None
    except UnicodeEncodeError:
        raise InvalidInput(
            "a text holds characters that are no Unicode (lone surrogates); nothing was kept",
            hint="give the text as UTF-8",
        ) from None


def judge(error: BaseException | None) -> tuple[FaultKind, str]:
    """The kind of a database error, and its own name when the kind is not known. Its message may hold values."""
    kind = _BY_CODE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, UNKNOWN)
    name = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None) or type(error).__name__
    return kind, str(name) if kind is UNKNOWN else ""


def make_fault(place: str, kind: FaultKind, detail: str = "") -> StoreFault:
    """A StoreFault of a kind; `detail` is added to what it says."""
    why = f"{kind.why} ({detail})" if detail else kind.why
    return StoreFault(f"the private store {place}: {why}", hint=kind.hint, invariant=kind.invariant, path=place)
