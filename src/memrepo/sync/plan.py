"""What one sync has to do, decided from how the two histories stand to each other. Pure.

`here` is the head of this folder, `there` the remote's, `held` the remote's head that this folder last held all of.
Source: memory sync design (seed 2) §1, §5.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memrepo.errors import HistoryReplaced, SideEmptied
from memrepo.sync.merging import Take

if TYPE_CHECKING:
    from memrepo.model import CommitId
    from memrepo.sync_state import Replaced


class Step(StrEnum):
    """What is done in this folder; whether something is sent follows from it."""

    KEEP = "keep"  # this folder holds all that the remote has
    TAKE = "take"  # local commits are made anew on the remote's head; without any, the branch moves on to it
    TAKE_UNDER = "take_under"  # after a compaction here: the remote's commits are made anew on the local head


@dataclass(frozen=True, slots=True)
class Relation:
    """How the two histories stand to each other.

    `replaced` is set while the remote has not heard of a compaction here. The questions are whether one commit leads
    to another; `start` is the newest commit that both heads lead back to, `since` the one here from which
    on commits tell again what happened.
    """

    here: CommitId
    there: CommitId | None
    held: CommitId | None = None
    replaced: Replaced | None = None
    is_there_in_here: bool = False
    is_here_in_there: bool = False
    is_held_in_here: bool = False
    is_held_in_there: bool = False
    start: CommitId | None = None
    since: CommitId | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A step; `base`: the version that both sides came from, None for none.

    `is_base_lost`: that version is in no commit; it is `base` without what `Replaced` says was added. `lease`: what a
    push may replace, None for one that must follow. `takes_all`: the remote's files count as they are.
    `is_history_replaced`: one side was compacted; no commit that is made anew brings back what it forgot.
    """

    step: Step
    base: CommitId | None = None
    lease: CommitId | None = None
    is_base_lost: bool = False
    takes_all: bool = False
    is_history_replaced: bool = False


def choose(relation: Relation, take: Take | None = None) -> Plan:
    """The plan. Errors: SideEmptied when the remote's branch is gone, HistoryReplaced when nothing is shared."""
    there, held, replaced = relation.there, relation.held, relation.replaced
    if there is None:
        return _choose_for_nothing(relation, take)
    if replaced is not None and (replaced.held == there or not relation.start):
        return _choose_after_compaction(relation, there, replaced)
    if relation.is_there_in_here:
        return Plan(Step.KEEP, base=there)
    if relation.is_here_in_there:
        return Plan(Step.TAKE, base=relation.here)
    if held is not None and relation.is_held_in_here and not relation.is_held_in_there:
        return Plan(
            Step.TAKE, base=held, is_history_replaced=True
        )  # the remote's history was replaced; what it held is known
    if relation.start is not None:
        return Plan(Step.TAKE, base=relation.start)
    if held is None or take is Take.BOTH:
        return Plan(Step.TAKE)
    if take is Take.HERE:
        return Plan(Step.KEEP, base=there, lease=there)
    if take is Take.THERE:
        return Plan(Step.TAKE, base=relation.here, takes_all=True)
    raise HistoryReplaced(
        "the remote and this folder share no history any more",
        hint="say what counts: memrepo sync resume --take here (or there, or both)",
    )


def _choose_for_nothing(relation: Relation, take: Take | None) -> Plan:
    """The remote has no branch: it is new, or it lost everything."""
    if relation.held is None or relation.replaced is not None or take is Take.HERE:
        return Plan(Step.KEEP)
    raise SideEmptied(
        "the remote lost its branch main and everything in it",
        hint="to send it what is here: memrepo sync resume --take here",
        side="there",
        after=0,
    )


def _choose_after_compaction(relation: Relation, there: CommitId, replaced: Replaced) -> Plan:
    if replaced.held == there:
        return Plan(Step.KEEP, base=there, lease=there)
    if relation.is_held_in_there:
        return Plan(Step.TAKE_UNDER, base=replaced.held, lease=there, is_history_replaced=True)
    return Plan(Step.TAKE_UNDER, base=relation.since, lease=there, is_base_lost=True)  # compacted there as well
