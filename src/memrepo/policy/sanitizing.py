"""What memory may say in a prompt or an answer: one visible line at a time, without secrets, tags or structure.

Owns the one way in which text of memory leaves the repo. Promises of `show_text`: one line; no control, bidirectional,
invisible or tag character; nothing at its start that is a heading, a bullet or a fence; no `<` or `>`, so that no tag
is opened or closed; no secret; nothing at its end that could pass for metadata; showing twice is showing once. It takes
any string, and says nothing about whether a task may see it.
Source: memory repo design (seed 1) §6.1, §7.1, §7.3.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.format.clean import clean_text
from memrepo.format.document import find_entry
from memrepo.format.entries import BULLET, parse_bullet
from memrepo.model import Author
from memrepo.policy.redaction import redact

if TYPE_CHECKING:
    from memrepo.format.document import Document
    from memrepo.model import Entry

SECTION_LIMIT_LINES = 80
AGENT_MARK = " (agent)"
_INDENT_LIMIT = 8

# Bytes that are not UTF-8 come in as lone surrogates; dropping them would leave no trace.
_UNDECODED = re.compile("[\ud800-\udfff]+")
# The wide and small forms too: a model reads them as the same sign.
_TAG_SIGNS = {"<": "&lt;", ">": "&gt;", "\uff1c": "&lt;", "\uff1e": "&gt;", "\ufe64": "&lt;", "\ufe65": "&gt;"}
_TAG_SIGN = re.compile(f"[{''.join(_TAG_SIGNS)}]")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|\Z)")


def reveal_text(text: str) -> str:
    """One visible line without secrets, its `<` and `>` as they are: for comparing, not for showing."""
    whole = text if text.isascii() else _UNDECODED.sub("\ufffd", text)
    return redact(clean_text(whole)).text


def escape_tags(text: str) -> str:
    """The text with every sign that opens or closes a tag escaped; what is escaped already stays."""
    return _TAG_SIGN.sub(lambda sign: _TAG_SIGNS[sign[0]], text)


def show_text(text: str) -> str:
    """Any text of memory (an entry's, a heading's, a value) as it may leave the repo; "" when nothing is left."""
    return escape_tags(reveal_text(text))


def reveal_below(before: str, text: str) -> str:
    """As `reveal_text`, for a line below another: what is named there (`password:`) is taken out here."""
    return redact(f"{reveal_text(before)}\n{reveal_text(text)}").text.rpartition("\n")[2]


def show_entry(entry: Entry, *, limit_chars: int | None = None) -> str:
    """An entry as one line: bullet, text, and `(agent)` in place of its metadata when an agent said it; "" for none.

    A text longer than the limit is cut, with `…` at its end.
    """
    text = reveal_text(entry.text)
    if limit_chars is not None and len(text) > limit_chars:
        text = text[:limit_chars].rstrip() + "…"
    mark = AGENT_MARK if entry.by is Author.AGENT else ""
    return f"{show_indent(entry.indent)}- {escape_tags(text)}{mark}" if text else ""


def show_indent(indent: str) -> str:
    """The white space before a bullet, as spaces and not more than two levels of it."""
    return " " * min(len(indent.expandtabs(4)), _INDENT_LIMIT)


def show_line(doc: Document, number: int) -> str:
    """Any line of a file (from 1) in the same way; "" for bullets that are no entries (in code, in comments)."""
    entry = find_entry(doc, number)
    if entry is not None:
        return show_entry(entry)
    raw = doc.lines[number - 1]
    heading = _HEADING.match(raw)
    if heading:
        return f"{heading[1]} {show_text(raw[heading.end() :])}".rstrip()
    if parse_bullet(raw) is not None:
        return ""
    bullet = BULLET.match(raw)
    text = show_text(raw)
    return f"{show_indent(bullet[1])}- {text}" if bullet and text else text


def show_section(doc: Document, line: int) -> str:
    """The section around a line (from 1), at most 80 lines of it, each as `show_line` shows one."""
    above = max((heading.line for heading in doc.headings if heading.line <= line), default=1)
    below = min((heading.line for heading in doc.headings if heading.line > line), default=len(doc.lines) + 1)
    first = max(above, min(line - SECTION_LIMIT_LINES // 2, below - SECTION_LIMIT_LINES))
    last = min(below, first + SECTION_LIMIT_LINES)
    shown = [show_line(doc, number) for number in range(first, last)]
    return redact_across("\n".join(shown)).strip("\n")


def redact_across(lines: str) -> str:
    """Several shown lines without a secret that runs over line ends or is named on the line before."""
    return redact(lines).text
