"""Reads the table of `structures`: tries the rows whose gates stand in a text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from memrepo.policy.secrets.gates import structures_by_gate
from memrepo.policy.secrets.spans import HIDDEN, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memrepo.policy.secrets.structures import Structure


def find_structures(text: str, gates: Iterable[str]) -> Iterator[Span]:
    """Yields the values that stand where a syntax puts a secret."""
    table = structures_by_gate()
    opened = {index for gate in gates if gate in table for index in table[gate]}
    for index in sorted(opened):
        row, pattern = _compile_row(index)
        for match in pattern.finditer(text):
            named = match.groupdict()
            group = next((name for name in ("v", "v2", "v3") if named.get(name) is not None), 0)
            if HIDDEN not in match[group] and row.check(match[group]):
                yield Span(match.start(group), match.end(group), row.kind)


@cache
def _compile_row(index: int) -> tuple[Structure, re.Pattern[str]]:
    from memrepo.policy.secrets.structures import STRUCTURES  # read with the first text, not on import

    return STRUCTURES[index], re.compile(STRUCTURES[index].pattern, re.IGNORECASE)
