"""What stands in a word for what only the shell can know; private characters, taken out of what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

STAR, ONE, ANYTHING, DEEP = "\ue000", "\ue001", "\ue002", "\ue007"
"""`*`; `?` or a class; what is not known at all; `**`. The last two also cross `/`."""

OPEN, COMMA, CLOSE = "\ue003", "\ue004", "\ue005"
"""Braces that the shell reads, and the comma between them."""

WILD = STAR + ONE + ANYTHING + DEEP


def write_choice(values: Sequence[str]) -> str:
    """One word for several values."""
    return values[0] if len(values) == 1 else OPEN + COMMA.join(values) + CLOSE


def write_signs(word: str) -> str:
    """A word as text that is read to the same word again, for shells that read it twice."""
    return word.translate(_WRITTEN)


_WRITTEN = str.maketrans({STAR: "*", ONE: "?", DEEP: "**", ANYTHING: "${_}"})
