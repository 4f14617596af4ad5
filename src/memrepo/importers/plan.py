"""What an import brings to the inbox, decided before anything is written; and the one write. The plan is pure.

Every fact is an agent's line in the inbox, whoever said it where it comes from: only what the user keeps becomes
theirs. What the folder holds anywhere, what stands twice in the source, what is no fact and what finds no room is left,
with the reason.
Source: memory repo design (seed 1) §5.1, §7.3.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import TooLarge
from memrepo.format.entries import content_hash
from memrepo.importers.found import NO_MEMORY, Found, PassedOver
from memrepo.model import (
    ENTRY_LIMIT_CHARS,
    Actor,
    Candidate,
    Fact,
    Origin,
    Reason,
    Scope,
    Taint,
    TaskContext,
    Workspace,
    WriteAction,
    WriteResult,
    WriteStatus,
)
from memrepo.planning.export_rows import is_workspace_id
from memrepo.planning.file_draft import FileDraft, too_long
from memrepo.planning.intake import accept
from memrepo.policy.redaction import redact
from memrepo.policy.writing import Destination

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Sequence

    from memrepo.files.sources import Unread
    from memrepo.importers.formats import Format
    from memrepo.importers.reading import Reading
    from memrepo.model import ContentHash
    from memrepo.service import MemoryRepoService

IMPORT_SOURCE = "import"
IMPORT_TASK = TaskContext(actor=Actor.AGENT, origin=Origin.IMPORT, taint=Taint.TAINTED)
"""Nobody vouches for what a source says, so it goes where unreviewed words go."""

KNOWN = "known already"
NO_ROOM = "no room left in the inbox"
_TWICE = "twice in the source"
_SECRET = "nothing but a secret"  # noqa: S105 - a reason's name, not a secret
_TOO_LONG = f"longer than {ENTRY_LIMIT_CHARS} characters"
_WHY = {
    Reason.EMPTY: "without text",
    Reason.LOW_SALIENCE: "no fact: too short, or output of a program",
    Reason.SECRET_ONLY: _SECRET,
    Reason.NO_MEMORY: NO_MEMORY,
    Reason.TOO_LARGE: _TOO_LONG,
}
_MARKER = re.compile(r"\[REDACTED ([a-z0-9-]{2,40})\]")


@dataclass(frozen=True, slots=True)
class Offer:
    """A fact for the inbox: where it stands in the source, what is offered to the one door, and what comes of it."""

    place: str
    candidate: Candidate
    fact: Fact

    @property
    def redactions(self) -> tuple[str, ...]:
        """The kinds of secret that were replaced in it, those before its lines were told apart too."""
        return tuple(dict.fromkeys((*self.fact.redactions, *_MARKER.findall(self.fact.text))))


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would bring. `files` were read, `unread` not; `other` files are of no concern to the format."""

    format: Format
    is_guessed: bool
    files: tuple[str, ...]
    unread: tuple[Unread, ...]
    other: int
    offers: tuple[Offer, ...]
    left: tuple[PassedOver, ...]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did: the facts that it wrote, each with its result, and all that was left."""

    plan: ImportPlan
    written: tuple[tuple[Offer, WriteResult], ...]
    left: tuple[PassedOver, ...]

    @property
    def has_no_room(self) -> bool:
        """Whether facts were left because the inbox is full."""
        return any(one.why == NO_ROOM for one in self.left)


def plan_import(
    reading: Reading,
    *,
    held: Collection[ContentHash],
    inbox: FileDraft,
    workspaces: Callable[[str], Workspace | None],
    today: dt.date,
    workspace: Workspace | None = None,
) -> ImportPlan:
    """Decides about everything that a source says.

    `held` are the hashes of all entries of the folder; `inbox` is filled to see what finds room; `workspaces` knows
    those of the settings by id; `workspace` is that of the facts for which the source names none.
    """
    offers: list[Offer] = []
    left: list[PassedOver] = []
    seen: set[ContentHash] = set()
    for finding in reading.findings:
        judged = finding if isinstance(finding, PassedOver) else _judge(finding, workspaces, workspace, today)
        if isinstance(judged, Offer):
            judged = _place(judged, held, seen, inbox)
        if isinstance(judged, Offer):
            offers.append(judged)
        else:
            left.append(judged)
    return ImportPlan(
        reading.format, reading.is_guessed, reading.files, reading.unread, reading.other, tuple(offers), tuple(left)
    )


def run_import(service: MemoryRepoService, plan: ImportPlan) -> ImportReport:
    """Writes the facts of a plan in one commit, or none of them.

    Errors: those of `MemoryRepoService.remember_many` when the folder takes nothing now: the source still stands, and
    nothing is kept for later. Changes: `inbox.md`, one commit with `Origin: import`.
    """
    results: Sequence[WriteResult] = ()
    if plan.offers:
        results = service.remember_many([offer.candidate for offer in plan.offers], IMPORT_TASK, keeps_pending=False)
    written: list[tuple[Offer, WriteResult]] = []
    left = list(plan.left)
    for offer, result in zip(plan.offers, results, strict=True):
        if result.status is not WriteStatus.WRITTEN:
            full = result.reason is Reason.TOO_LARGE
            left.append(PassedOver(NO_ROOM if full else result.detail or str(result.reason), offer.place))
        elif result.action is WriteAction.REINFORCED:
            left.append(PassedOver(KNOWN, offer.place))
        else:
            written.append((offer, result))
    return ImportReport(plan, tuple(written), tuple(left))


def count_reasons(left: Collection[PassedOver]) -> list[tuple[str, list[str]]]:
    """Why things were left, the most frequent first, each with the places."""
    counted = Counter(one.why for one in left)
    places: dict[str, list[str]] = {why: [] for why, _ in counted.most_common()}
    for one in left:
        places[one.why].append(one.place)
    return list(places.items())


def _judge(
    found: Found, workspaces: Callable[[str], Workspace | None], given: Workspace | None, today: dt.date
) -> Offer | PassedOver:
    workspace = _find_workspace(found, workspaces) or given
    candidate = Candidate(
        found.text,
        kind=found.kind,
        scope=Scope.WORKSPACE if workspace else Scope.GLOBAL,
        source=IMPORT_SOURCE,
        added=min(found.added or today, today),
        explicit=True,  # the user asked for the import
        workspace=workspace,
    )
    accepted = accept(candidate, IMPORT_TASK, today=today)
    if isinstance(accepted, WriteResult):
        why = _WHY.get(accepted.reason) if accepted.reason else None
        return PassedOver(why or accepted.detail, found.place)
    if accepted.route.destination is not Destination.INBOX:
        return PassedOver("of a workspace whose memory is strict", found.place)
    if too_long(accepted.fact.text):
        return PassedOver(_TOO_LONG, found.place)
    if _MARKER.search(accepted.fact.text) and redact(accepted.fact.text).secret_only:
        return PassedOver(_SECRET, found.place)
    return Offer(found.place, candidate, accepted.fact)


def _find_workspace(found: Found, workspaces: Callable[[str], Workspace | None]) -> Workspace | None:
    if found.workspace is None or not is_workspace_id(found.workspace[0]):
        return None
    workspace_id, name = found.workspace
    return workspaces(workspace_id) or Workspace(workspace_id, name)


def _place(offer: Offer, held: Collection[ContentHash], seen: set[ContentHash], inbox: FileDraft) -> Offer | PassedOver:
    text_hash = content_hash(offer.fact.text)
    if text_hash in held:
        return PassedOver(KNOWN, offer.place)
    if text_hash in seen:
        return PassedOver(_TWICE, offer.place)
    seen.add(text_hash)
    try:
        inbox.add(offer.fact)
    except TooLarge:
        return PassedOver(NO_ROOM, offer.place)
    return offer
