"""A memory file as lines: what it says, and edits that touch nothing but what they name.

Owns how bytes become lines and back, and where a new line goes. Knows no limits, no policy and no file. Invariants:
`Document.parse(data).to_bytes() == data` for any bytes; every line that an edit does not name keeps its bytes, line
end included; a line that was inserted is an entry of the new document under the number that was returned.
"""

from __future__ import annotations

import operator
import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from memrepo.errors import InvalidInput, NotFound
from memrepo.format.anatomy import Anatomy, Block, Heading, Link, is_rule, read_anatomy
from memrepo.format.clean import clean_text
from memrepo.format.entries import parse_bullet
from memrepo.model import Author, Entry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = [
    "Block",
    "Document",
    "Heading",
    "Link",
    "add_link",
    "find_continuation",
    "find_entry",
    "find_workspace_id",
    "has_link",
    "insert_entries",
    "new_document",
    "remove_lines",
    "remove_link",
    "replace_lines",
]

INDEX = "Index"
WORKSPACE_ENTRY = "CoWork workspace"

# Never at U+2028, U+0085, VT or FF: the other readers of a memory repo count lines as git does.
_LINE_END = re.compile("(\r\n|\n|\r)")
_BULLET_LINE = re.compile(r"[ \t]*[-*+](?:[ \t]|\Z)")
_ORDERED_LINE = re.compile(r"[0-9]{1,9}[.)](?:[ \t]|\Z)")


@dataclass(frozen=True)
class Document:
    """The lines of a file, each with its own line end ("" for a last line without one), and its byte order mark.

    Not slotted: what the lines mean is read once, when it is first asked for.
    """

    lines: tuple[str, ...]
    ends: tuple[str, ...]
    mark: str = ""

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Takes any bytes. Those that are not UTF-8 become lone surrogates and are written back as they were."""
        text = data.decode("utf-8", "surrogateescape")
        mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
        if "\r" not in text:
            lines = text.split("\n")
            ends = ["\n"] * len(lines)
        else:
            parts = _LINE_END.split(text)
            lines, ends = parts[0::2], [*parts[1::2], ""]
        if lines[-1]:
            ends[-1] = ""
        else:
            lines.pop()
            ends.pop()
        return cls(tuple(lines), tuple(ends), mark)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        text = self.mark + "".join(map(operator.add, self.lines, self.ends))
        return text.encode("utf-8", "surrogateescape")

    @cached_property
    def anatomy(self) -> Anatomy:
        """What the lines are."""
        return read_anatomy(self.lines)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in file order, with line and section."""
        return self.anatomy.entries

    @property
    def headings(self) -> tuple[Heading, ...]:
        """All headings in file order."""
        return self.anatomy.headings

    @property
    def links(self) -> tuple[Link, ...]:
        """All links inside the repo in file order, those in entries and paragraphs included."""
        return self.anatomy.links

    @property
    def title(self) -> str:
        """The text of the first heading if it is of level 1, else ""."""
        heading = self.headings[0] if self.headings else None
        return heading.text if heading and heading.level == 1 else ""

    @cached_property
    def newline(self) -> str:
        """The line end that most lines have; `\\n` when none is ahead."""
        counts = {end: self.ends.count(end) for end in ("\n", "\r\n", "\r")}
        return max(counts, key=lambda end: counts[end])


def new_document(title: str, *, newline: str = "\n") -> Document:
    """A document that holds nothing but its title."""
    return Document((f"# {clean_text(title) or 'Memory'}",), (newline,))


def find_entry(doc: Document, line: int) -> Entry | None:
    """The entry on that line (from 1), or None."""
    entries = doc.entries
    at = bisect_left(entries, line, key=lambda entry: entry.line)
    return entries[at] if at < len(entries) and entries[at].line == line else None


def find_continuation(doc: Document, number: int) -> tuple[int, ...]:
    """The numbers of the lines that go on with an entry: indented text right below it, up to a blank line or a bullet.

    An entry is one line; what a hand wrote under it belongs to it all the same when it is to be forgotten.
    """
    margin = _indent_width(doc.lines[number - 1])
    found: list[int] = []
    for at in range(number, len(doc.lines)):
        line = doc.lines[at]
        if not line.strip() or _is_bullet(line) or _indent_width(line) <= margin:
            break
        found.append(at + 1)
    return tuple(found)


def find_workspace_id(doc: Document) -> str | None:
    """The id in the entry `- CoWork workspace [by: user; workspace: <id>]`, or None; an agent's line does not count."""
    for entry in doc.entries:
        if entry.text.casefold() == WORKSPACE_ENTRY.casefold() and entry.by is Author.USER:
            workspace_id = entry.value("workspace")
            if workspace_id:
                return workspace_id
    return None


def insert_entries(
    doc: Document, rendered: Sequence[str], *, section: str | None = None
) -> tuple[Document, tuple[int, ...]]:
    """Adds rendered entries and returns their line numbers.

    They go below the last entry above the heading `## Index`; without entries, below the title and what introduces
    it. With `section`, below the last entry under that heading. Never inside code, a comment, front matter or an item
    that goes on over several lines. A file that ends without newline goes on doing so.

    Errors: InvalidInput when a line is not an entry at the margin; NotFound when there is no such section.
    """
    if not rendered:
        return doc, ()
    for line in rendered:
        entry = parse_bullet(line)
        if entry is None or entry.indent:
            raise _not_an_entry(len(line))
    start, stop = _region(doc, section)
    first, last = bisect_left(doc.entries, start + 1, key=_line), bisect_left(doc.entries, stop + 1, key=_line)
    if first < last:
        at = _item_end(doc, doc.entries[last - 1].line - 1, stop)
        return _insert(doc, at, rendered, spaced=False)
    return _insert(doc, _introduction_end(doc, start, stop, section), rendered, spaced=True)


def replace_lines(doc: Document, replacements: Mapping[int, str]) -> Document:
    """Puts rendered entries in the place of lines (from 1), which keep their line ends.

    Errors: NotFound for a line that is not there; InvalidInput for a replacement that is not an entry.
    """
    lines = list(doc.lines)
    for number, rendered in replacements.items():
        _check_line(doc, number)
        if parse_bullet(rendered) is None:
            raise _not_an_entry(len(rendered))
        lines[number - 1] = rendered
    return Document(tuple(lines), doc.ends, doc.mark)


def remove_lines(doc: Document, numbers: Collection[int]) -> Document:
    """Takes lines (from 1) out, with their line ends.

    Errors: NotFound for a line that is not there.
    """
    for number in numbers:
        _check_line(doc, number)
    gone = set(numbers)
    kept = [at for at in range(len(doc.lines)) if at + 1 not in gone]
    shorter = Document(tuple(doc.lines[at] for at in kept), tuple(doc.ends[at] for at in kept), doc.mark)
    # A CR that is now followed by an LF is one line end, and a U+FEFF that is now at the start is a byte order mark.
    is_read_anew = "\r" in doc.ends or "".join(shorter.lines[:1]).startswith("\ufeff")
    return Document.parse(shorter.to_bytes()) if is_read_anew else shorter


def has_link(doc: Document, target: str, *, heading: str = INDEX) -> bool:
    """Whether a bullet of its own, or any line under the heading, links to the target (`.md` does not count)."""
    wanted = _link_target(target)
    return any(
        _link_target(link.target) == wanted and (link.alone or _is_under(doc, link.line, heading)) for link in doc.links
    )


def add_link(doc: Document, target: str, *, heading: str = INDEX) -> Document:
    """Links to a file at the end of the list under the heading, which is made when missing; nothing when linked.

    Errors: InvalidInput when the target cannot stand in `[[…]]`.
    """
    wanted = _link_target(target)
    line = f"- [[{wanted}]]"
    if any(sign in wanted for sign in "[]|\r\n") or not wanted.strip():
        raise InvalidInput(
            "a file whose name is empty or holds '[', ']', '|' or a line break cannot be linked",
            hint="Rename the file, then try again.",
            key="target",
        )
    if has_link(doc, wanted, heading=heading):
        return doc
    place = _find_heading(doc, heading)
    if place is None:
        at = _last_text(doc, doc.anatomy.body, _margin_end(doc))
        return _insert(doc, at, (f"## {heading}", line), spaced=True)[0]
    stop = _section_end(doc, place)
    bullets = [link.line for link in doc.links if link.alone and place.last_line < link.line <= stop]
    bullets += [entry.line for entry in doc.entries if place.last_line < entry.line <= stop]
    at = _item_end(doc, max(bullets) - 1, stop) if bullets else place.last_line
    return _insert(doc, at, (line,), spaced=False)[0]


def remove_link(doc: Document, target: str) -> Document:
    """Takes out the bullets that are nothing but a link to the target; links inside other lines stay."""
    wanted = _link_target(target)
    return remove_lines(doc, {link.line for link in doc.links if link.alone and _link_target(link.target) == wanted})


def _line(entry: Entry) -> int:
    return entry.line


def _link_target(target: str) -> str:
    return target.removeprefix("./").removeprefix("/").removesuffix(".md")


def _not_an_entry(length: int) -> InvalidInput:
    return InvalidInput(
        f"a line of {length} characters is not an entry that may stand here, so it was not written",
        hint="Write lines made by `render_entry`, new ones without indentation.",
    )


def _check_line(doc: Document, number: int) -> None:
    if not 1 <= number <= len(doc.lines):
        raise NotFound(
            f"there is no line {number}: the file has {len(doc.lines)} lines",
            hint="Run `memrepo recall` or `memrepo ls` again for the current line.",
            what="line",
            name=str(number),
        )


def _find_heading(doc: Document, text: str) -> Heading | None:
    """The first heading of that text whatever its capitals; `## Index` is never the title."""
    least = 2 if text.casefold() == INDEX.casefold() else 1
    return next((found for found in doc.headings if _is_named(found, text) and found.level >= least), None)


def _is_named(heading: Heading, text: str) -> bool:
    return heading.text.casefold() == text.casefold()


def _is_under(doc: Document, line: int, heading: str) -> bool:
    place = _find_heading(doc, heading)
    return place is not None and place.last_line < line <= _section_end(doc, place)


def _section_end(doc: Document, heading: Heading) -> int:
    """The line (from 0) of the next heading, or where the margin ends."""
    ahead = next((found.line - 1 for found in doc.headings if found.line > heading.line), None)
    return _margin_end(doc) if ahead is None else ahead


def _margin_end(doc: Document) -> int:
    """The line (from 0) from which on nothing can be an entry: that of a block left open, or the end of the file.

    An open block inside a list item does not count: the next line at the margin ends it.
    """
    last = doc.anatomy.blocks[-1] if doc.anatomy.blocks else None
    return last.start if last and not last.closed and not last.column else len(doc.lines)


def _region(doc: Document, section: str | None) -> tuple[int, int]:
    """The lines (from 0, end exclusive) among which a new entry goes."""
    if section is not None:
        place = _find_heading(doc, section)
        if place is None:
            raise NotFound(
                f"there is no heading {section[:60]!r} in this file",
                hint="Leave the section out, or add the heading first.",
                what="section",
                name=section[:60],
            )
        return place.last_line, _section_end(doc, place)
    index = _find_heading(doc, INDEX)
    return doc.anatomy.body, _margin_end(doc) if index is None else index.line - 1


def _introduction_end(doc: Document, start: int, stop: int, section: str | None) -> int:
    """Where the first entry of a region goes: below the title and the text under it, above the next heading."""
    headings = [heading for heading in doc.headings if start < heading.line <= stop]
    if section is None and headings and headings[0].level == 1:
        start = headings.pop(0).last_line
    return _last_text(doc, start, min([stop, *(heading.line - 1 for heading in headings[:1])]))


def _last_text(doc: Document, start: int, stop: int) -> int:
    """The line behind the last one that is not blank in the region."""
    while stop > start and not doc.lines[stop - 1].strip():
        stop -= 1
    return stop


def _item_end(doc: Document, at: int, limit: int) -> int:
    """The line behind the list item that starts on line `at` (both from 0): its further lines stay with it."""
    blocks = {block.start: block.stop for block in doc.anatomy.blocks if block.start > at}
    end = at = at + 1
    while at < limit:
        line = doc.lines[at]
        if not line.strip():
            at += 1
            continue
        if line[0] not in " \t" and (at > end or at in blocks or _starts_block(line)):
            break
        at = end = min(blocks.get(at, at + 1), limit)
    return end


def _starts_block(line: str) -> bool:
    """Whether a line at the margin cannot belong to the item above it."""
    return line[0] in "#>|<" or is_rule(line) or _ORDERED_LINE.match(line) is not None or _is_bullet(line)


def _indent_width(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _is_bullet(line: str) -> bool:
    return _BULLET_LINE.match(line) is not None


def _insert(doc: Document, at: int, new: Sequence[str], *, spaced: bool) -> tuple[Document, tuple[int, ...]]:
    """Puts lines before line `at` (from 0); `spaced` sets them off with a blank line from what stands above.

    Returns the numbers (from 1) of the new lines. A blank line that is there already is used.
    """
    lines, count = doc.lines, len(doc.lines)
    above: tuple[str, ...] = ()
    if spaced and at and lines[at - 1].strip() and not (_is_bullet(lines[at - 1]) and _is_bullet(new[0])):
        if at < count and not lines[at].strip():
            at += 1
        else:
            above = ("",)
    below = ("",) if at < count and lines[at].strip() and not _is_bullet(lines[at]) else ()
    block = [*above, *new, *below]
    ends = [doc.newline] * len(block)
    before, after = list(doc.ends[:at]), doc.ends[at:]
    if before and not before[-1]:
        before[-1], ends[-1] = doc.newline, ""
    # A blank line whose LF follows a CR would vanish into it.
    if above and before[-1] == "\r" and ends[0] == "\n":
        ends[0] = "\r"
    if after and lines[at] == "" and ends[-1] == "\r" and after[0].startswith("\n"):
        ends[-1] = "\n"
    grown = Document((*lines[:at], *block, *lines[at:]), (*before, *ends, *after), doc.mark)
    first = at + len(above) + 1
    return grown, tuple(range(first, first + len(new)))
