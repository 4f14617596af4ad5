"""A folder of notes: the bullets and the paragraphs of its Markdown and text files. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.importers.found import Found, PassedOver, guess_kind
from memrepo.importers.statements import find_day, parse_document, read_front_matter, read_statements, with_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memrepo.importers.found import Finding, SourceFile


def is_wanted(name: str) -> bool:
    """Whether a file of the source is read."""
    return name.lower().endswith((".md", ".markdown", ".txt"))


def parse(file: SourceFile) -> Iterator[Finding]:
    """Streams what a file says."""
    document = parse_document(file)
    added = find_day(file, read_front_matter(document))
    for statement in read_statements(file, document):
        if isinstance(statement, PassedOver):
            yield statement
            continue
        text = with_metadata(statement)
        yield Found(text, f"{file.name}:{statement.line}", guess_kind(text), added)
