"""Where secrets stand in a text, and how finds that overlap become one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

HIDDEN = "\ue000"
"""Stands in for every character of a replacement while the rest of a text is looked at: no rule reads past it."""


class Span(NamedTuple):
    """A secret in a text: `text[start:end]`."""

    start: int
    end: int
    kind: str


@dataclass(slots=True)
class Look:
    """What the readers of one text note for each other.

    `plain` are values that are words by their looks; `let_go` counts values that were met and could have been secret.
    """

    plain: set[str] = field(default_factory=set)
    let_go: int = 0


def merge_spans(spans: list[Span]) -> list[Span]:
    """Returns the spans in order, overlapping ones joined; the one found first names the kind."""
    if len(spans) < 2:
        return spans
    merged: list[Span] = []
    rank = 0
    for index, span in sorted(enumerate(spans), key=lambda pair: (pair[1].start, pair[0])):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), last.kind if rank <= index else span.kind)
            rank = min(rank, index)
        else:
            merged.append(span)
            rank = index
    return merged
