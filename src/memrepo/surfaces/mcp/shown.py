"""How tools show what they found: objects for programs, lines for a reader. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from memrepo.surfaces.present import name_author, name_file

if TYPE_CHECKING:
    from memrepo.lines import ShownLine
    from memrepo.recall import Hit


def describe_hit(hit: Hit) -> dict[str, object]:
    """A hit of recall."""
    file = None if hit.file is None else name_file(hit.file, hit.team)
    said = {"lane": str(hit.lane), "by": name_author(hit.by, hit.team), "why": list(hit.why), "file": file}
    return {name: value for name, value in (asdict(hit) | said).items() if name != "team"}


def describe_line(line: ShownLine) -> dict[str, object]:
    """A line that was read, listed or found."""
    return {
        "ref": str(line.ref),
        "path": name_file(line.ref.path, line.ref.team),
        "line": line.ref.line,
        "hash": line.hash,
        "by": None if line.by is None else name_author(line.by, line.ref.team),
        "text": line.text,
        "unreviewed": line.unreviewed,
    }


def format_line(line: ShownLine) -> str:
    """The same for a reader, on one line."""
    tags = [*([name_author(line.by, line.ref.team)] if line.by else []), *(["unreviewed"] if line.unreviewed else [])]
    return f"{line.ref}  [{', '.join(tags)}]  {line.text}" if tags else f"{line.ref}  {line.text}"
