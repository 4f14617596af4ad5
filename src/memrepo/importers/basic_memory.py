"""basic-memory: the observations of its notes, `- [category] text #tag (context)`. Pure.

Only what the format itself calls an observation; relations (`- part_of [[Other]]`) and running text are passed over.
The category gives the kind where it says one, tags at the end go, the context stays.
Source: https://docs.basicmemory.com/concepts/knowledge-format
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.importers.found import Found, PassedOver, guess_kind, read_kind
from memrepo.importers.statements import find_day, parse_document, read_front_matter, read_statements, with_metadata
from memrepo.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memrepo.importers.found import Finding, SourceFile

OBSERVATION = re.compile(r"\[([^\[\]()]{1,60})\][ \t]+(\S.*)\Z", re.DOTALL)
_RELATION = re.compile(r"[^\[\]]{0,60}\[\[[^\[\]]+\]\]")
_LAST_TAG = re.compile(r"[ \t]+#[^\s#()]+\Z")
_CONTEXT = re.compile(r"(.*\S)[ \t]+(\([^()]*\))\Z", re.DOTALL)
_KIND_OF_CATEGORY = {
    "decision": Kind.DECISION,
    "preference": Kind.PREFERENCE,
    "rule": Kind.RULE,
    "constraint": Kind.RULE,
    "requirement": Kind.RULE,
    "lesson": Kind.INSIGHT,
    "tip": Kind.INSIGHT,
    "technique": Kind.INSIGHT,
    "method": Kind.INSIGHT,
}


def is_wanted(name: str) -> bool:
    """Whether a file of the source is read."""
    return name.lower().endswith(".md")


def parse(file: SourceFile) -> Iterator[Finding]:
    """Streams the observations of a note."""
    document = parse_document(file)
    added = find_day(file, read_front_matter(document))
    for statement in read_statements(file, document):
        if isinstance(statement, PassedOver):
            yield statement
            continue
        place, text = f"{file.name}:{statement.line}", with_metadata(statement)
        observation = OBSERVATION.match(text) if statement.is_bullet else None
        if observation is None:
            yield PassedOver("relation" if _RELATION.match(text) else "text outside of observations", place)
            continue
        category = observation[1].strip().lower()
        content = drop_tags(observation[2])
        kind = _KIND_OF_CATEGORY.get(category) or read_kind(category) or guess_kind(content)
        yield Found(content, place, kind, added)


def drop_tags(text: str) -> str:
    """The text without the tags at its end, whether a context stands behind them or not."""
    context = _CONTEXT.match(text)
    head, tail = (context[1], f" {context[2]}") if context else (text, "")
    while tag := _LAST_TAG.search(head):
        head = head[: tag.start()]
    return head.rstrip() + tail
