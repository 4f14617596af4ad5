"""The one-time export of a host's facts into the memory folder.

What becomes of each row is decided in `planning.export_rows`. The facts are written through the one door, one commit
each, and the folder is marked when the run came to its end; so one that was cut off is run again and adds what is
missing. No row is changed.
Source: memory repo design (seed 1) §8, and §14 for the commits and the marker.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memrepo.files.atomic import read_internal, write_internal
from memrepo.model import Reason, WriteAction, WriteStatus
from memrepo.planning.export_rows import Left, Stay

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable
    from pathlib import Path

    from memrepo.model import WriteResult
    from memrepo.planning.export_rows import ExportPlan, Offer
    from memrepo.service import MemoryRepoService

MARKER_NAME = "cowork-export-v1"
_MARKER_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export did. `unpinned` of the written ones found no room in MEMORY.md and stand where their kind does.

    `stopped` is the answer that ended it early: the folder took no more. That one fact waits in the private store, as
    any write does then; the export is to be run again for the others.
    """

    written: int
    known: int
    unpinned: int
    left: tuple[Left, ...]
    stopped: WriteResult | None = None


def find_marker(root: Path) -> int | None:
    """When the folder's export came to its end, in milliseconds since 1970; 0 for a marker that does not say.

    None when there was none. Errors: DiskFault, PathRefused. Changes: nothing.
    """
    data = read_internal(root / ".git", MARKER_NAME, limit_bytes=_MARKER_LIMIT_BYTES)
    if data is None:
        return None
    try:
        at = json.loads(data)["at"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return int(at) if isinstance(at, int | float) and 0 < at < 1e18 else 0


def run_export(
    service: MemoryRepoService,
    plan: ExportPlan,
    *,
    now: dt.datetime,
    progress: Callable[[int, int], None] = lambda _, __: None,
) -> ExportReport:
    """Writes the facts of a plan, oldest first, and marks the folder; `progress` hears how many of how many are done.

    Errors: those of `MemoryRepoService.remember`, DiskFault. Changes: one commit per fact, `.git/cowork-export-v1` at
    the end; a folder that can take no more ends the run without the mark.
    """
    written = unpinned = 0
    known, left = len(plan.known), list(plan.left)
    for number, offer in enumerate(plan.offers, 1):
        result, is_unpinned = _write(service, offer)
        if result.status is WriteStatus.KEPT:
            return ExportReport(written, known, unpinned, tuple(left), stopped=result)
        if result.status is WriteStatus.SKIPPED:
            left.append(Left(offer.row, Stay(str(result.reason))))
        elif result.action is WriteAction.REINFORCED:
            known += 1
        else:
            written += 1
            unpinned += is_unpinned
        progress(number, len(plan.offers))
    mark = {"at": int(now.timestamp() * 1000), "written": written, "skipped": len(plan.offers) - written}
    write_internal(service.root / ".git", MARKER_NAME, json.dumps(mark).encode())
    return ExportReport(written, known, unpinned, tuple(left))


def _write(service: MemoryRepoService, offer: Offer) -> tuple[WriteResult, bool]:
    """Writes one fact; a pinned one for which MEMORY.md has no room goes to the file of its kind (True)."""
    result = service.remember(offer.candidate, offer.task)
    if not offer.candidate.pin or result.reason is not Reason.TOO_LARGE:
        return result, False
    return service.remember(replace(offer.candidate, pin=False), offer.task), True
