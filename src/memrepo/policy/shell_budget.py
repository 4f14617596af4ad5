"""How much work the judgement of one shell command may take, counted in steps, so that the same text always ends alike.

A host lets a call pass when its hook is late: work without a limit would be a way through. A step is a few
microseconds at most.
"""

from __future__ import annotations

WORK_LIMIT_STEPS = 40_000


class TooMuchWork(Exception):
    """The budget is spent. What was found until then still counts."""


class WorkBudget:
    """Steps that are left; `spend` raises TooMuchWork when there are none."""

    __slots__ = ("left",)

    def __init__(self, steps: int = WORK_LIMIT_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Takes steps off. Errors: TooMuchWork."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchWork
