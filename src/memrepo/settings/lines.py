"""Where in the text of a settings file a key stands, as well as that can be told without a parser that knows lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Step = str | int
Steps = tuple[Step, ...]
"""Leads to a key: each step is a name, or the number (from 0) of a table in a list of tables."""

_HEADER = re.compile(r"\s*(\[{1,2})([^\[\]#]+)\]{1,2}\s*(?:#.*)?\Z")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_POSITION = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)\Z")


def index_lines(text: str) -> dict[Steps, int]:
    """The line (from 1) of each key and table of a text, made once for any number of questions."""
    return dict(_iter_lines_backwards(text))


def find_line(lines: Mapping[Steps, int], steps: Sequence[Step]) -> int | None:
    """The line of the key that `steps` lead to; else of the nearest above it; None when nothing is found."""
    for length in range(len(steps), 0, -1):
        if line := lines.get(tuple(steps[:length])):
            return line
    return None


def split_position(message: str, text: str) -> tuple[str, int | None]:
    """Splits what the TOML reader says into what is wrong and its line."""
    found = _POSITION.search(message)
    if found is None:
        return message, None
    return message[: found.start()], int(found[1]) if found[1] else text.rstrip("\r\n").count("\n") + 1


def find_similar(name: str, known: Iterable[str]) -> str | None:
    """The known name that a mistyped one is likely to mean."""
    import difflib

    near = difflib.get_close_matches(name[:200], list(known), n=1, cutoff=0.6)
    return near[0] if near else None


def _iter_lines_backwards(text: str) -> Iterable[tuple[Steps, int]]:
    """Each key and table with its line, the first one last so that it counts."""
    found: list[tuple[Steps, int]] = []
    table: Steps = ()
    counts: dict[Steps, int] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        header = _HEADER.match(line)
        if header:
            table = _split(header[2])
            found.append((table, number))
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
                found.append((table, number))
        elif key := _KEY.match(line):
            parts = _split(key[1])
            found += [((*table, *parts[: length + 1]), number) for length in range(len(parts))]
    return reversed(found)


def _split(dotted: str) -> Steps:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))
