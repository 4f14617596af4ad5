"""The private store: what never goes to the repo, and what the repo could not take yet.

The only place that speaks SQL. SQLAlchemy is loaded when a store is opened, never by importing this package, because
most commands need no store. Its schema and its rules are in docs/store.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.store.records import (
    Approval,
    ApprovalStatus,
    ArchiveRecord,
    Erasure,
    Event,
    Item,
    ItemAction,
    ItemFilter,
    ItemResult,
    ItemStatus,
    PendingWrite,
    StoreHealth,
    TextFinding,
    Trust,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memrepo.store.opening import PrivateStore as PrivateStore

__all__ = [
    "Approval",
    "ApprovalStatus",
    "ArchiveRecord",
    "Erasure",
    "Event",
    "Item",
    "ItemAction",
    "ItemFilter",
    "ItemResult",
    "ItemStatus",
    "PendingWrite",
    "StoreHealth",
    "TextFinding",
    "Trust",
    "check_store",
    "may_have_pending",
    "open_store",
    "salvage_store",
    "set_store_aside",
]


def open_store(url: str, *, now_ms: Callable[[], int] | None = None, busy_wait_s: float | None = None) -> PrivateStore:
    """Opens the store at a URL (`sqlite:///` and a path) and brings its schema up to date.

    `busy_wait_s` is how long a call waits for another process that writes. Errors: StoreFault. Changes: makes the
    folder and the file when they are missing; runs the schema steps that are missing.
    """
    from memrepo.store import opening

    return opening.open_store(
        url,
        now_ms=opening.now_in_ms if now_ms is None else now_ms,
        busy_wait_s=opening.BUSY_WAIT_S if busy_wait_s is None else busy_wait_s,
    )


def check_store(path: Path) -> StoreHealth:
    """Looks whether a store file is whole and this memrepo's. Errors: none, the answer says it. Changes: nothing."""
    from memrepo.store import damage

    return damage.check_store(path)


def may_have_pending(path: Path, root: str) -> bool:
    """Whether facts may wait for a memory root, asked in a millisecond; what cannot be told counts as yes.

    Errors: none. Changes: nothing.
    """
    from memrepo.store import peek

    return peek.may_have_pending(path, root)


def set_store_aside(path: Path, stamp: str) -> Path:
    """Renames a damaged store with its side files, so that a new one can be made; returns the new name.

    Nothing of it is lost and nothing is overwritten. Errors: StoreFault.
    """
    from memrepo.store import damage

    return damage.set_store_aside(path, stamp)


def salvage_store(aside: Path, store: PrivateStore) -> Mapping[str, int]:
    """Copies every row that a damaged store still yields into an open one; returns how many rows per table.

    Errors: StoreFault when the open store cannot take them. Changes: rows of `store`; nothing of the damaged one.
    """
    from memrepo.store import damage

    return damage.salvage_store(aside, store)
