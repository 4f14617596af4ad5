"""What the lines of a Markdown file are: entries, headings, links, and the blocks in which nothing is an entry.

Reads only; `document.py` changes. Follows CommonMark where a renderer's view matters for what is an entry: code
fences and HTML comments (their opening, their closing, their end with the list item they stand in), headings of both
kinds, lists. Other HTML and indentation do not hide an entry. Invariant: every line is looked at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.format.entries import BULLET, COMMENT, is_link_only, opens_block, read_body
from memrepo.model import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. `line` counts from 1; `last_line` differs where the heading is underlined."""

    text: str
    level: int
    line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link inside the repo, `[[target]]` or `[text](target)`, target as written. `alone`: a bullet with no more."""

    target: str
    line: int
    alone: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Front matter, fenced code or a comment: the lines `start` to before `stop`, counted from 0.

    `column` is where the text of the surrounding list item starts, 0 outside of lists. `closed` is False when the
    file ends before the block does.
    """

    start: int
    stop: int
    column: int
    closed: bool


@dataclass(frozen=True, slots=True)
class Anatomy:
    """All that was found, each in file order. `body` is the first line (from 0) behind the front matter."""

    entries: tuple[Entry, ...]
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    blocks: tuple[Block, ...]
    body: int


_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_UNDERLINE = re.compile(r" {0,3}(?:(=)=*|-+)[ \t]*\Z")
_ORDERED = re.compile(r"[ \t]*([0-9]{1,9}[.)])(?:([ \t]+)(.*))?\Z", re.DOTALL)
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_LINKS = re.compile(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]|\]\(([^()\s]+)(?:\s[^()]*)?\)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:|#|//", re.IGNORECASE)
_YAML_PAIR = re.compile(r"[^\s#\-\[\]{}:,][^:]*:(?:\s|\Z)")

# What the line before was, for underlined headings and for lines that continue an item without indentation.
_BREAK, _FIRST_TEXT, _MORE_TEXT = 0, 1, 2


def read_anatomy(lines: Sequence[str]) -> Anatomy:
    """Reads all lines (without their line ends)."""
    return _Reader(lines).read()


def is_rule(line: str) -> bool:
    """Whether the line is a thematic break (`---`, `* * *`)."""
    return _RULE.match(line) is not None


class _Reader:
    """One pass over the lines. `columns` are the text columns of the list items that are open at the current line."""

    __slots__ = ("before", "blocks", "columns", "entries", "headings", "lines", "links", "section")

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.entries: list[Entry] = []
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.blocks: list[Block] = []
        self.columns: list[int] = []
        self.section = ""
        self.before = _BREAK

    def read(self) -> Anatomy:
        lines, end = self.lines, len(self.lines)
        body = at = _front_matter_end(lines)
        if body:
            self.blocks.append(Block(0, body, 0, closed=True))
        while at < end:
            line = lines[at]
            if line[:2] == "- ":
                at = self.read_bullet(at, "", "-", " ", line[2:])
                continue
            bullet = BULLET.match(line)
            at = self.read_other(at, line) if bullet is None else self.read_bullet(at, *bullet.groups())
        return Anatomy(tuple(self.entries), tuple(self.headings), tuple(self.links), tuple(self.blocks), body)

    def read_bullet(self, at: int, indent: str, mark: str, gap: str | None, body: str | None) -> int:
        """Reads the bullet on line `at` (from 0) and returns the next line to read."""
        if body and body[0] in (mark, " ", "\t") and is_rule(self.lines[at]):
            self.leave_items(_width(indent))
            self.before = _BREAK
            return at + 1
        if not body and self.before == _FIRST_TEXT and self.read_heading_or_rule(at, self.lines[at]):
            self.before = _BREAK  # a single `-` below text underlines it
            return at + 1
        self.before = _MORE_TEXT if body else _BREAK
        if indent or gap != " " or not body or body[0] in " \t":
            self.enter_item(indent, len(mark), gap, body)
        else:
            self.columns = [2]
        if not body:
            return at + 1
        content = read_body(body, mark)
        if content is not None:
            self.entries.append(Entry(content[0], content[1], at + 1, mark, indent, self.section))
        if "](" in body or "[[" in body:
            self.read_links(at, body, alone=content is None)
        if content is None:
            body = body.lstrip(" \t")
            if body and opens_block(body):
                return self.read_block(at, body, self.columns[-1])
        return at + 1

    def read_other(self, at: int, line: str) -> int:
        """Reads a line that is no bullet and returns the next line to read."""
        text = line.lstrip(" \t")
        if not text:
            self.before = _BREAK
            return at + 1
        indent = line[: len(line) - len(text)]
        width = _width(indent) if indent else 0
        if opens_block(text):
            self.leave_items(width)
            column = self.columns[-1] if self.columns else 0
            if width - column <= 3:  # further in it is indented code, or goes on with a paragraph
                return self.read_block(at, text, column)
        if self.before == _BREAK:
            self.leave_items(width)
        if text[0] in "#=-*_" and self.read_heading_or_rule(at, line):
            self.before = _BREAK
            return at + 1
        ordered = _ORDERED.match(line) if text[0].isdigit() else None
        if ordered:
            self.enter_item(indent, len(ordered[1]), ordered[2], ordered[3])
            self.before = _MORE_TEXT
            if ordered[3] and opens_block(ordered[3]):
                return self.read_block(at, ordered[3], self.columns[-1])
        else:
            self.before = _FIRST_TEXT if self.before == _BREAK and not self.columns else _MORE_TEXT
        if "](" in line or "[[" in line:
            self.read_links(at, line, alone=False)
        return at + 1

    def read_heading_or_rule(self, at: int, line: str) -> bool:
        """Reads a heading that starts or ends on this line, or a thematic break; False when it is neither."""
        underline = _UNDERLINE.match(line) if self.before == _FIRST_TEXT else None
        if underline:
            self.add_heading(self.lines[at - 1].strip(), 1 if underline[1] else 2, at, at + 1)
            return True
        heading = _HEADING.match(line)
        if heading:
            self.leave_items(_width(line[: heading.start(1)]))
            self.add_heading(_heading_text(line[heading.end() :]), len(heading[1]), at + 1, at + 1)
            return True
        if not is_rule(line):
            return False
        self.leave_items(len(line) - len(line.lstrip(" ")))
        return True

    def add_heading(self, text: str, level: int, line: int, last_line: int) -> None:
        self.headings.append(Heading(text, level, line, last_line))
        self.section = text

    def read_block(self, at: int, opener: str, column: int) -> int:
        """Notes the block that `opener`, the text of line `at`, opens; returns the line behind it."""
        if opener.startswith(COMMENT):
            stop, closed = self.find_comment_end(at, opener, column)
        else:
            stop, closed = self.find_fence_end(at, opener, column)
        self.blocks.append(Block(at, stop, column, closed))
        self.before = _BREAK
        return stop

    def find_comment_end(self, at: int, opener: str, column: int) -> tuple[int, bool]:
        if "-->" in opener:
            return at + 1, True
        for number in range(at + 1, len(self.lines)):
            line = self.lines[number]
            if column and _leaves(line, column):
                return number, True
            if "-->" in line:
                return number + 1, True
        return len(self.lines), False

    def find_fence_end(self, at: int, opener: str, column: int) -> tuple[int, bool]:
        mark = opener[0]
        length = len(opener) - len(opener.lstrip(mark))
        for number in range(at + 1, len(self.lines)):
            line = self.lines[number]
            if column and _leaves(line, column):
                return number, True
            if mark in line:
                text = line.strip(" \t")
                indent = line[: len(line) - len(line.lstrip(" \t"))]
                if len(text) >= length and not text.strip(mark) and _width(indent) - column <= 3:
                    return number + 1, True
        return len(self.lines), False

    def enter_item(self, indent: str, mark_width: int, gap: str | None, body: str | None) -> None:
        """Opens a list item. Its text starts behind the gap, or one column behind the mark when the gap is wide."""
        before = _width(indent)
        self.leave_items(before)
        # `read` hands over a margin bullet with its first space only; more of the gap may stand in the body.
        text = (body or "").lstrip(" \t")
        gap = (gap or "") + (body or "")[: len(body or "") - len(text)] if text else " "
        start = _width(indent + "x" * mark_width + gap) - before - mark_width
        self.columns.append(before + mark_width + (start if start <= 4 else 1))

    def leave_items(self, width: int) -> None:
        """Closes the list items whose text starts further right than `width`."""
        columns = self.columns
        while columns and columns[-1] > width:
            columns.pop()

    def read_links(self, at: int, text: str, *, alone: bool) -> None:
        alone = alone and is_link_only(text.strip())
        for link in _LINKS.finditer(text):
            target = (link[1] or link[2]).strip()
            if target and not _ADDRESS.match(target):
                self.links.append(Link(target, at + 1, alone))


def _heading_text(rest: str) -> str:
    """What stands behind the opening `#`s, without the closing ones."""
    text = rest.strip()
    open_text = text.rstrip("#")
    return text if open_text and open_text[-1] not in " \t" else open_text.rstrip()


def _leaves(line: str, column: int) -> bool:
    """Whether a line inside a block of a list item ends that item: it has text left of the item's column."""
    text = line.lstrip(" \t")
    return text != "" and _width(line[: len(line) - len(text)]) < column


def _width(text: str) -> int:
    """Columns that the text takes, with tab stops every four."""
    return len(text.expandtabs(4)) if "\t" in text else len(text)


def _front_matter_end(lines: Sequence[str]) -> int:
    """The first line (from 0) behind the front matter; 0 when there is none.

    Front matter is YAML between `---` on the first line and `---` or `...`. Without an end, or when what it holds
    does not begin as a mapping, the first line is a thematic break.
    """
    if not lines or lines[0].rstrip(" \t") != "---":
        return 0
    is_mapping = None
    for number in range(1, len(lines)):
        line = lines[number].rstrip(" \t")
        if line in ("---", "..."):
            return number + 1
        if is_mapping is None and line and not line.startswith("#"):
            is_mapping = _YAML_PAIR.match(line) is not None
            if not is_mapping:
                return 0
    return 0
