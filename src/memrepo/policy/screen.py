"""Whether a text is worth keeping at all: the first gate of every write. Pure.

It looks at the cleaned, redacted text and at the words that came with it; it knows nothing of files, scopes or authors.
Source: memory repo design (seed 1) §5.1 step 1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.model import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

MINIMUM_CHARS = 3

_NO_MEMORY = re.compile(r"<\s*no-memory\s*/?\s*>", re.IGNORECASE)

# (pattern, what it is): output of a program that an agent might paste as if it were a fact.
_TELEMETRY: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\s*tool (?:called|call|result|output|use|error)\s*:", re.IGNORECASE), "a tool's telemetry"),
    (
        re.compile(r"\s*(?:step|task|plan) (?:\d+ )?(?:started|completed|failed|finished)\s*:", re.IGNORECASE),
        "progress",
    ),
    (re.compile(r"\s*[\[{]\s*\"(?:steps?|plan|tool|tool_calls?|todos?|function|arguments)\"\s*:"), "plan JSON"),
    (re.compile(r"\s*\[\s*\{\s*\""), "plan JSON"),
    (re.compile(r"\s*Traceback \(most recent call last\)"), "a stack trace"),
)


def has_no_memory(texts: Iterable[str]) -> bool:
    """Tells whether any of the texts carries the `<no-memory>` marker (any case, inner spaces, self-closing)."""
    return any("memory" in text.lower() and _NO_MEMORY.search(text) for text in texts)


def find_low_salience(text: str) -> tuple[Reason, str] | None:
    """Returns why a cleaned text is not worth keeping, or None when it is."""
    if not text:
        return Reason.EMPTY, "there is no text left to keep"
    if len(text) < MINIMUM_CHARS:
        return Reason.LOW_SALIENCE, f"{len(text)} characters; a fact has at least {MINIMUM_CHARS}"
    if not any(map(str.isalnum, text)):
        return Reason.LOW_SALIENCE, "no letter and no digit in it"
    for pattern, what in _TELEMETRY:
        if pattern.match(text):
            return Reason.LOW_SALIENCE, f"this is {what}, not a fact"
    return None
