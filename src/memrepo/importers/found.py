"""What a parser finds: candidate facts, and what it passed over with the reason."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from memrepo.model import Kind

NO_MEMORY = "marked <no-memory>"
"""Why something is passed over that its author did not want to be remembered."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a source, read and decoded; `name` is its path below the source."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate fact, raw. `place` says where it stands in the source: `notes/me.md:3`, `mem0.json #12`.

    `workspace` is the id and the name of the workspace that the source names for it.
    """

    text: str
    place: str
    kind: Kind
    added: dt.date | None = None
    workspace: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Something that is no fact; `why` is one of few, so that they can be counted."""

    why: str
    place: str


Finding = Found | PassedOver

# The first that matches counts. Only a guess: the user sees it before anything is kept.
_KINDS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (
        re.compile(
            r"(?:the )?(?:user(?:'s)?|i|my|name|he|she|they)?\s*"
            r"(?:name is|lives? in|works? (?:at|as|for)|was born|is called|speaks? |birthday|name:|pronouns)",
            re.IGNORECASE,
        ),
        Kind.IDENTITY,
    ),
    (re.compile(r".*\b(?:prefers?|likes?|loves?|hates?|dislikes?|favou?rites?)\b", re.IGNORECASE), Kind.PREFERENCE),
    (
        re.compile(
            r"[*_`]*(?:always|never|don'?t|do not|must|avoid|make sure|from now on|use|prefer|ensure|run|keep|write)\b",
            re.IGNORECASE,
        ),
        Kind.RULE,
    ),
    (re.compile(r".*\b(?:decided|we chose|agreed)\b", re.IGNORECASE), Kind.DECISION),
)


def guess_kind(text: str, otherwise: Kind = Kind.INSIGHT) -> Kind:
    """What sort of fact a text seems to be, by its first words."""
    head = text[:200].lstrip("*_` ")
    return next((kind for pattern, kind in _KINDS if pattern.match(head)), otherwise)


def read_kind(name: str | None) -> Kind | None:
    """The kind of that name, if entries of the repo have it: neither a commitment nor what only the archive holds."""
    never = {Kind.COMMITMENT, Kind.OUTCOME, Kind.ERROR, Kind.NOTE}
    return Kind(name) if name in set(Kind) - never else None


def read_date(value: object) -> dt.date | None:
    """The day of a time as exports give it: ISO 8601 text, or seconds since 1970 (UTC); None for anything else."""
    try:
        if isinstance(value, str):
            return dt.date.fromisoformat(value.strip()[:10])
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return dt.datetime.fromtimestamp(value, dt.UTC).date()
    except (ValueError, OverflowError, OSError):
        pass
    return None
