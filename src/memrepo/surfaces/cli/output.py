"""What a command says: words for a person or one JSON document for a program, never both on one stream.

stdout: the result, in words, or with `--json` exactly one document, errors included. stderr: errors, notes and
questions in words. Without a terminal, entries are one line each with tabs between the columns.
"""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memrepo.surfaces.cli.invocation import Invocation

_STYLES = {"good": "32", "warn": "33", "bad": "31", "place": "36", "faint": "2"}
_NARROW_COLUMNS = 60
_LEAST_TEXT_COLUMNS = 20


class Output:
    """The two streams of one run, in the form that its options ask for."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    def emit(self, document: Mapping[str, object], words: str | Iterable[str]) -> None:
        """Writes the result of a command: the document, or the words line by line."""
        if self._invocation.options.as_json:
            _write_json(document)
            return
        for line in [words] if isinstance(words, str) else words:
            sys.stdout.write(f"{line}\n")

    def tell(self, words: str) -> None:
        """Writes a note or a hint to stderr; nothing with `--json`, whose document holds it."""
        if not self._invocation.options.as_json:
            sys.stderr.write(f"{words}\n")

    def fail(self, document: Mapping[str, object], words: str) -> None:
        """Writes why the command did not do it."""
        if self._invocation.options.as_json:
            _write_json(document)
        else:
            sys.stdout.flush()  # so that on one terminal the error stands below what was written before
            sys.stderr.write(f"{words}\n")

    def paint(self, text: str, style: str) -> str:
        """The text in the colour of its style, on a terminal that wants colour."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._invocation.environment.has_color else text

    def format_rows(self, rows: Sequence[tuple[str, ...]]) -> list[str]:
        """Lays out rows of cells, the last of which is free text.

        On a terminal: columns side by side, the text wrapped under itself; on a narrow one the text stands below.
        Without one: a tab between the cells and one row a line. Cells come in raw; control characters are escaped here.
        """
        from memrepo.surfaces.present import escape_control

        if not rows:
            return []
        safe = [tuple(escape_control(cell).replace("\t", " ") for cell in row) for row in rows]
        width = self._invocation.environment.width
        if width is None:
            return ["\t".join(row) for row in safe]
        columns = [max(map(count_cells, cells)) for cells in list(zip(*safe, strict=True))[:-1]]
        indent = sum(columns) + 2 * len(columns)
        if width < _NARROW_COLUMNS or width - indent < _LEAST_TEXT_COLUMNS:
            return [line for row in safe for line in self._stack(row, width)]
        lines: list[str] = []
        for row in safe:
            cells = [cell + " " * (column - count_cells(cell)) for cell, column in zip(row, columns, strict=False)]
            head = "  ".join([self.paint(cells[0], "place"), *cells[1:]]) + "  "
            first, *rest = wrap(row[-1], width - indent)
            lines += [(head + first).rstrip(), *(" " * indent + more for more in rest)]
        return lines

    def _stack(self, row: tuple[str, ...], width: int) -> list[str]:
        head = "  ".join([self.paint(row[0], "place"), *row[1:-1]])
        return [head, *("  " + part for part in wrap(row[-1], max(1, width - 2)) if part)]


def count_cells(text: str) -> int:
    """How many columns a terminal gives a text: two for wide letters, none for marks that stand on another."""
    return sum(_cell_width(character) for character in text)


def wrap(text: str, width: int) -> list[str]:
    """Breaks a text at spaces, and inside a word only when the word alone is too long. At least one line."""
    lines, line, used = [], "", 0
    for whole in text.split(" "):
        word, size = whole, count_cells(whole)
        if line and used + 1 + size > width:
            lines.append(line)
            line, used = "", 0
        if line:
            line, used = f"{line} {word}", used + 1 + size
            continue
        while size > width:
            head = _cut(word, width)
            lines.append(head)
            word = word[len(head) :]
            size = count_cells(word)
        line, used = word, size
    return [*lines, line]


def _cut(word: str, width: int) -> str:
    used = 0
    for at, character in enumerate(word):
        used += _cell_width(character)
        if used > width:
            return word[: max(1, at)]
    return word


def _cell_width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _write_json(document: Mapping[str, object]) -> None:
    import json

    # ASCII: safe on every terminal and in every encoding.
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
