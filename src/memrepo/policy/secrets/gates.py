"""The cheap first look: which of the texts that open a rule stand in a line. Most lines open none.

Some 200 needles are looked for behind some 40 heads: "pass" before "password", "passphrase" and `--storepass`. A line
without the head needs no look at the rest.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from memrepo.policy.secrets import words

if TYPE_CHECKING:
    from collections.abc import Iterable

# Parts that needles share, chosen for few looks: common to many needles, rare in lines. Order matters.
_HEADS = (
    "code",
    "$",
    "auth",
    "oo",
    "pass",
    " -",
    "red",
    "si",
    "log",
    "if",
    "otp",
    "pw",
    "ne",
    "an",
    "admi",
    "se",
    "key=",
    ":",
    "paro",
    "slo",
    "tri",
    "cv",
    "i-",
    "ken",
    "fa",
    "ce",
    "key",
    "%7",
    "gehe",
    "_mm",
    "aaaaa",
    "arer ",
)


def find_gates(lower: str) -> list[str]:
    """Returns the needles that stand in a lower-cased text."""
    groups = _needles_by_head()
    found: list[str] = []
    for head in filter(lower.__contains__, groups):
        found += filter(lower.__contains__, groups[head])
    if not lower.isascii():
        found += filter(lower.__contains__, _foreign_needles())
    return found


@cache
def structures_by_gate() -> dict[str, tuple[int, ...]]:
    """Maps a needle to the rows of `STRUCTURES` that it opens."""
    from memrepo.policy.secrets.structures import STRUCTURES  # read with the first text, not on import

    table: dict[str, tuple[int, ...]] = {}
    for index, row in enumerate(STRUCTURES):
        for gate in row.gates:
            table[gate] = (*table.get(gate, ()), index)
    return table


@cache
def _needles_by_head() -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for needle in dict.fromkeys(_needles()):
        if needle.isascii():
            head = next((head for head in _HEADS if head in needle), needle)
            groups[head] = (*groups.get(head, ()), needle)
    return groups


@cache
def _foreign_needles() -> tuple[str, ...]:
    return tuple(needle for needle in dict.fromkeys(_needles()) if not needle.isascii())


def _needles() -> Iterable[str]:
    yield from structures_by_gate()
    yield from words.ASSIGNED_STEMS
    yield from words.PASSWORD_WORDS
    yield from words.CODE_WORDS
    yield from words.PAIR_WORDS
    yield from words.SEED_WORDS
    yield from words.WIFI_WORDS
