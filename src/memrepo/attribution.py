"""What of memory was read and used, counted: numbers for the statistics, never a text.

Counts for agents only: what a person looks at is their own business. Invariants: no store is made for the sake of a
count; a count that fails costs the count, never the read.
Source: memory repo design (seed 1) §6.1, §11.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from memrepo.errors import InvalidInput, MemrepoError
from memrepo.format.refs import parse_ref
from memrepo.model import Actor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memrepo.model import TaskContext
    from memrepo.store import PrivateStore

READ = "read"
USED = "used"


class StoreSource(Protocol):
    """Finds the private store when there is one already."""

    def find(self) -> PrivateStore | None: ...


def record_read(store: StoreSource, task: TaskContext, *, lane: str, amount: int) -> bool:
    """Counts entries that an agent was shown; `lane` says how (`block`, `recall`, `lines`, `grep`). False: not counted.

    Changes: at most one event in a store that is there.
    """
    return _record(store, task, READ, {lane: amount})


def mark_used(store: StoreSource, task: TaskContext, refs: Iterable[str]) -> int:
    """Counts the entries that an answer made use of, each once, and returns how many of the refs are refs.

    Changes: at most one event in a store that is there; the entries themselves carry no count.
    """
    lanes = [lane for ref in dict.fromkeys(refs) if (lane := _find_lane(ref))]
    _record(store, task, USED, {lane: lanes.count(lane) for lane in dict.fromkeys(lanes)})
    return len(lanes)


def _record(store: StoreSource, task: TaskContext, name: str, amounts: dict[str, int]) -> bool:
    amount = sum(amounts.values())
    if task.actor is Actor.USER or not amount:
        return False
    with suppress(MemrepoError):
        found = store.find()
        if found is not None:
            found.events.record(
                name,
                amount=amount,
                task_id=task.task_id,
                workspace_id=task.workspace.id if task.workspace else None,
                origin=task.origin,
                detail=dict(amounts),
            )
            return True
    return False


def _find_lane(ref: str) -> str | None:
    lane, _, number = ref.strip().partition(":")
    if lane in ("memory", "archive"):
        return lane if number.isascii() and number.isdigit() else None
    try:
        return "repo" if parse_ref(ref).team is None else "team"
    except InvalidInput:
        return None
