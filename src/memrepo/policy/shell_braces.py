"""Braces in a word of a shell command, spelled out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.policy.shell_signs import ANYTHING, CLOSE, COMMA, ONE, OPEN

if TYPE_CHECKING:
    from memrepo.policy.shell_budget import WorkBudget

_ALTERNATIVES_LIMIT = 64
_LETTERS = re.compile(r"[A-Za-z]\.\.[A-Za-z]")


def spell_out(word: str, budget: WorkBudget) -> tuple[str, ...]:
    """The words that the braces of a word stand for; past a limit they become a pattern. Errors: TooMuchWork."""
    done, waiting = [], [word.replace(OPEN + CLOSE, "{}")]
    while waiting:
        one = waiting.pop()
        budget.spend(1 + len(one) // 64)
        start = one.rfind(OPEN)
        if start < 0:
            done.append(one.replace(CLOSE, "}").replace(COMMA, ","))
            continue
        end = one.find(CLOSE, start)
        if end < 0:
            waiting.append(one[:start] + "{" + one[start + 1 :])
            continue
        inner = one[start + 1 : end]
        if COMMA in inner:
            choices = inner.split(COMMA)
        else:
            choices = ["{" + inner + "}", ONE if _LETTERS.fullmatch(inner) else ANYTHING]
        if len(done) + len(waiting) + len(choices) > _ALTERNATIVES_LIMIT:
            choices = [ANYTHING]
        waiting += [one[:start] + choice + one[end + 1 :] for choice in choices]
    return tuple(done)
