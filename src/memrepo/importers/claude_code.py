"""Claude Code: instructions (`CLAUDE.md`, `rules/*.md`) and the notes it keeps for itself (`memory/*.md`). Pure.

`MEMORY.md` is an index with a line per note, or holds the notes itself; a note has front matter with `name`,
`description` and `type` (user, feedback, project, reference), the type also below `metadata:`.
Source: https://code.claude.com/docs/en/memory; the notes' front matter as seen on disk.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from memrepo.importers.found import Found, PassedOver, guess_kind
from memrepo.importers.statements import find_day, parse_document, read_front_matter, read_statements, with_metadata
from memrepo.model import ENTRY_LIMIT_CHARS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memrepo.importers.found import Finding, SourceFile

OWN_NAMES = ("claude.md", "claude.local.md")
INSTRUCTIONS = (*OWN_NAMES, "agents.md")
_KIND_OF_TYPE = {"user": Kind.PREFERENCE, "feedback": Kind.RULE, "project": Kind.INSIGHT, "reference": Kind.INSIGHT}
_INDEX_LINE = re.compile(r"[*_]*\[[^\]]*\]\([^()\s]+\.md\)")
_INCLUDE = re.compile(r"(?:see[ ]|@)[^\s]+(?:\s+@[^\s]+)*\Z", re.IGNORECASE)
_PREAMBLE = re.compile(r"This file provides guidance to ", re.IGNORECASE)
_REASONING = re.compile(r"\**(?:why|how to apply)\b\s*:?\**\s*:?", re.IGNORECASE)


def is_wanted(name: str) -> bool:
    """Whether a file is one of those by its name; where none is, the folder of the notes itself was named."""
    parts = name.lower().split("/")
    return parts[-1] in INSTRUCTIONS or (
        parts[-1].endswith(".md") and any(p in ("rules", "memory") for p in parts[:-1])
    )


def is_note(name: str) -> bool:
    """Whether a file may be a note, when the source is the folder of the notes itself."""
    return name.lower().endswith(".md")


def parse(file: SourceFile) -> Iterator[Finding]:
    """Streams what a file says; what explains a note (`Why:`, `How to apply:`) goes with the statement above it."""
    document = parse_document(file)
    front = read_front_matter(document)
    is_instruction = file.name.rpartition("/")[2].lower() in INSTRUCTIONS or "rules/" in file.name.lower()
    kind = Kind.RULE if is_instruction else _KIND_OF_TYPE.get(front.get("type", "").lower())
    added = find_day(file, front)
    waiting: Found | None = None
    for statement in read_statements(file, document):
        if isinstance(statement, PassedOver):
            yield statement
            continue
        place, text = f"{file.name}:{statement.line}", with_metadata(statement)
        if _INDEX_LINE.match(text):
            yield PassedOver("line of an index", place)
        elif _INCLUDE.match(text):
            yield PassedOver("link", place)
        elif _PREAMBLE.match(text):
            yield PassedOver("words about the file itself", place)
        elif waiting is not None and not is_instruction and _REASONING.match(text):
            if len(waiting.text) + len(text) < ENTRY_LIMIT_CHARS:
                waiting = replace(waiting, text=f"{waiting.text} {text}")
            else:
                yield PassedOver("reasons that are too long to stand with their statement", place)
        else:
            if waiting is not None:
                yield waiting
            waiting = Found(text, place, kind or guess_kind(text), added)
    if waiting is not None:
        yield waiting
