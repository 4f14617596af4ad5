"""The lines of memory as a dream sees them: each under an alias, cleaned, without secrets, in bounds. Pure.

An alias (`L1`, `L2`, …) is all that a model may name. A line has none, and so cannot be changed by a dream, when it
names a workspace, holds something that redaction would take out, or has more of its list below it.
Source: memory repo design (seed 1) §10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.dream.operations import Line
from memrepo.format.document import Document
from memrepo.format.entries import content_hash, render_entry
from memrepo.model import INBOX_FILE, LESSONS_FILE, ME_FILE, MEMORY_FILE, RepoPath
from memrepo.planning.curation import is_naming_entry
from memrepo.policy.redaction import redact
from memrepo.policy.sanitizing import show_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from memrepo.model import Entry

LIMIT_CHARS = 48_000
_INBOX_SHARE = 4
_SHOWN_KEYS = ("kind", "subject", "workspace", "added")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The lines by alias, what the model is shown of them, and the files that there are.

    `hashes` are of all lines that were looked at, shown or not; `left_out` counts lines that found no room.
    """

    lines: Mapping[str, Line]
    text: str
    paths: frozenset[RepoPath]
    hashes: frozenset[str]
    left_out: int = 0


def order_paths(paths: Iterable[RepoPath], first: Collection[RepoPath]) -> tuple[RepoPath, ...]:
    """The files in the order in which they are shown: entry files, those of the tasks' workspaces, inbox, the rest.

    Swarm folders are never among them.
    """
    ranks = {MEMORY_FILE: 0, ME_FILE: 1, LESSONS_FILE: 2, INBOX_FILE: 4}
    shown = [path for path in paths if not path.casefold().startswith("swarms/")]
    return tuple(sorted(shown, key=lambda path: (ranks.get(path, 3 if path in first else 5), path)))


def build_catalogue(
    files: Sequence[tuple[RepoPath, bytes]], *, also_known: Iterable[str] = (), limit_chars: int = LIMIT_CHARS
) -> Catalogue:
    """Lists the lines of files, in the order given, as far as there is room; the inbox gets a quarter of it.

    `also_known` are texts that stand elsewhere (a team's memory) and need not be said again.
    """
    lines: dict[str, Line] = {}
    hashes: set[str] = {content_hash(text) for text in also_known}
    parts: list[str] = []
    used = left_out = 0
    for path, data in files:
        document = Document.parse(data)
        head = f"# {show_text(path)}" + (" (unreviewed: may be anyone's words)" if path == INBOX_FILE else "")
        room = min(limit_chars - used, limit_chars // _INBOX_SHARE if path == INBOX_FILE else limit_chars)
        block = [head]
        size = len(head) + 1
        for entry in document.entries:
            hashes.add(content_hash(entry.text))
            if not _may_be_named(document, entry):
                continue
            alias = f"L{len(lines) + 1}"
            shown = f"{alias} {_describe(entry)} {show_text(entry.text)}"
            if size + len(shown) + 1 > room:
                left_out += 1
                continue
            size += len(shown) + 1
            block.append(shown)
            lines[alias] = make_line(path, entry)
        if len(block) > 1:
            parts += block
            used += size
    return Catalogue(lines, "\n".join(parts), frozenset(path for path, _ in files), frozenset(hashes), left_out)


def make_line(path: RepoPath, entry: Entry) -> Line:
    """An entry as changes name it."""
    return Line(
        path=path,
        line=entry.line,
        hash=content_hash(entry.text),
        text=entry.text,
        by=entry.by,
        meta=digest_meta(entry),
    )


def digest_meta(entry: Entry) -> str:
    """Tells two lines of one text apart by what stands behind it."""
    return content_hash(render_entry("x", entry.meta))[:16]


def _may_be_named(document: Document, entry: Entry) -> bool:
    below = document.lines[entry.line] if entry.line < len(document.lines) else ""
    has_more = below[:1] in {" ", "\t"} and bool(below.strip())
    is_clean = not redact(entry.text).kinds and bool(show_text(entry.text))
    return not (entry.indent or has_more or is_naming_entry(entry)) and is_clean


def _describe(entry: Entry) -> str:
    values = [show_text(value)[:80] for key in _SHOWN_KEYS if (value := entry.value(key))]
    return f"({', '.join([entry.by, *values])})"
