"""What a Markdown or plain text says, statement by statement: its bullets and its paragraphs. Pure.

A bullet takes the indented text below it along, a nested one the words of a bullet that only leads in (`Tools:`). What
says nothing by itself is passed over with a reason: to-dos, questions, lead-ins, tables, quotations, links. Code,
comments, headings and front matter are not looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.format.document import Document, find_continuation
from memrepo.importers.found import PassedOver, read_date

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

    from memrepo.importers.found import SourceFile

_ORDERED = re.compile(r"([ \t]*)[0-9]{1,9}[.)][ \t]+(.*)\Z", re.DOTALL)
_BULLET = re.compile(r"[ \t]*[-*+](?:[ \t]|\Z)")
_TODO = re.compile(r"\[[ xX/-]\](?:\s|\Z)")
_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}\Z")
_PAIR = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)\Z")
_DAY_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_MARKS = "*_` "


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: on one line, with the line (from 1) where it begins and the heading above it.

    `meta` is the metadata at the end of a bullet's first line; `is_bullet` is False for a paragraph.
    """

    text: str
    line: int
    section: str = ""
    meta: tuple[tuple[str, str], ...] = ()
    is_bullet: bool = False


def parse_document(file: SourceFile) -> Document:
    """The lines of a source file."""
    return Document.parse(file.text.encode("utf-8", "surrogatepass"))


def read_front_matter(document: Document) -> dict[str, str]:
    """The plain `key: value` lines between `---` at the top, indented ones too; the first of a key counts."""
    pairs: dict[str, str] = {}
    for line in document.lines[: document.anatomy.body]:
        if pair := _PAIR.match(line.strip()):
            pairs.setdefault(pair[1].lower(), pair[2].strip().strip("\"'"))
    return pairs


def find_day(file: SourceFile, front: Mapping[str, str]) -> dt.date | None:
    """The day of a file: as its front matter says, or as its name begins (`2026-10-05.md`)."""
    name = file.name.rpartition("/")[2]
    said = (front.get(key) for key in ("created", "created_at", "date"))
    return next((day for value in said if (day := read_date(value))), None) or (
        read_date(name[:10]) if _DAY_NAME.match(name) else None
    )


def with_metadata(statement: Statement) -> str:
    """The text with what stood in a bracket at its end: elsewhere `[due: May]` is words, not metadata."""
    if not statement.meta:
        return statement.text
    return f"{statement.text} ({'; '.join(f'{key}: {value}' for key, value in statement.meta)})"


def read_statements(file: SourceFile, document: Document | None = None) -> Iterator[Statement | PassedOver]:
    """Streams the statements of a file in their order."""
    document = document or parse_document(file)
    leads: list[tuple[int, str]] = []
    for statement, indent in _read_blocks(document):
        if isinstance(statement, str):
            yield PassedOver(statement, f"{file.name}:{indent}")
            continue
        if statement.is_bullet:
            while leads and leads[-1][0] >= indent:
                leads.pop()
        else:
            leads.clear()
        if why := find_reason(statement.text):
            if why == "lead-in" and statement.is_bullet:
                leads.append((indent, statement.text.strip(_MARKS)))
            yield PassedOver(why, f"{file.name}:{statement.line}")
            continue
        lead = " ".join(text for _, text in leads)
        text = f"{lead} {statement.text}" if lead else statement.text
        if text.isascii() and not any(map(str.isspace, text)):
            yield PassedOver("single word or address", f"{file.name}:{statement.line}")
            continue
        yield Statement(text, statement.line, statement.section, statement.meta, statement.is_bullet)


def find_reason(text: str) -> str | None:
    """Why a statement is no fact, or None when it may be one."""
    bare = text.strip(_MARKS)
    if _TODO.match(text):
        return "to-do"
    if bare.endswith(":"):
        return "lead-in"
    if bare.endswith(("?", "？")):
        return "question"
    return None


def _read_blocks(document: Document) -> Iterator[tuple[Statement | str, int]]:
    """Statements with their indentation, or the reason and the line of what is none."""
    lines = document.lines
    entries = {entry.line: entry for entry in document.entries}
    hidden = {at for block in document.anatomy.blocks for at in range(block.start, block.stop)}
    hidden |= {at - 1 for heading in document.headings for at in range(heading.line, heading.last_line + 1)}
    section_of = {heading.last_line - 1: heading.text for heading in document.headings}
    section, paragraph, start, at = "", list[str](), 0, 0
    while at <= len(lines):
        line = lines[at] if at < len(lines) else ""
        entry = entries.get(at + 1)
        ordered = None if entry else _ORDERED.match(line)
        is_text = at not in hidden and line.strip() and not entry and not ordered and not _RULE.match(line)
        is_plain = is_text and not _BULLET.match(line) and line.lstrip()[0] not in "|>"
        if is_plain:
            start = start if paragraph else at + 1
            paragraph.append(line.strip())
            at += 1
            continue
        if paragraph:
            yield Statement(" ".join(paragraph), start, section), 0
            paragraph = []
        if at in hidden:
            section = section_of.get(at, section)
        elif is_text:
            why = {"|": "table", ">": "quotation"}.get(line.lstrip()[0], "link")
            yield why, at + 1
        elif entry or ordered:
            more = [number for number in find_continuation(document, at + 1) if number - 1 not in hidden]
            more = [number for number in more if number not in entries and not _ORDERED.match(lines[number - 1])]
            head = entry.text if entry else (ordered[2] if ordered else "")
            text = " ".join([head, *(lines[number - 1].strip() for number in more)])
            indent = len((entry.indent if entry else ordered[1] if ordered else "").expandtabs(4))
            if text.strip():
                yield Statement(text, at + 1, section, entry.meta if entry else (), is_bullet=True), indent
            hidden.update(number - 1 for number in more)
        at += 1
