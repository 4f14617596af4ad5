"""OpenClaw: `MEMORY.md`, `USER.md` and the daily notes `memory/YYYY-MM-DD[-slug].md`. Pure.

A daily note gives its day. Its other files (AGENTS.md, SOUL.md, DREAMS.md, …) set the agent up or are made by it and
are not read; transcripts in a note are passed over.
Source: https://docs.openclaw.ai/concepts/memory
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.importers.found import Found, PassedOver, guess_kind
from memrepo.importers.statements import find_day, read_statements, with_metadata
from memrepo.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memrepo.importers.found import Finding, SourceFile

DAILY_NOTE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[-_ ].*)?\.md\Z", re.IGNORECASE)
_TRANSCRIPT = re.compile(r"[*_]*(?:user|assistant|system|tool)[*_]*\s*:", re.IGNORECASE)
_SESSION = re.compile(r"[*_]*session (?:key|id)\b|[*_]*source[*_]*:", re.IGNORECASE)


def is_wanted(name: str) -> bool:
    """Whether a file of the source is read."""
    lower = name.lower()
    is_note = lower.endswith(".md") and (lower.startswith("memory/") or DAILY_NOTE.match(lower) is not None)
    return lower in ("memory.md", "user.md") or is_note


def parse(file: SourceFile) -> Iterator[Finding]:
    """Streams what a file says."""
    name = file.name.rpartition("/")[2]
    added = find_day(file, {})
    otherwise = Kind.PREFERENCE if name.lower() == "user.md" else Kind.INSIGHT
    for statement in read_statements(file):
        if isinstance(statement, PassedOver):
            yield statement
            continue
        place = f"{file.name}:{statement.line}"
        if _TRANSCRIPT.match(statement.text) or _SESSION.match(statement.text):
            yield PassedOver("transcript", place)
        else:
            text = with_metadata(statement)
            yield Found(text, place, guess_kind(text, otherwise), added)
