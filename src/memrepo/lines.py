"""Lines of memory as they may be shown: by ref, with the section around them, or by a pattern.

Reads the files as they are now, without index, git or store. Every text leaves through `policy.sanitizing`. A pattern
is matched against what would be shown, so a search cannot feel for a secret that it would not be shown. Whether the
caller may see anything at all is asked before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import MemrepoError, NotFound
from memrepo.files.atomic import read_file
from memrepo.format.clean import clean_text
from memrepo.format.document import Document, find_entry
from memrepo.format.entries import content_hash
from memrepo.model import INBOX_FILE, Author, ContentHash, Ref, RepoPath
from memrepo.policy.sanitizing import (
    escape_tags,
    redact_across,
    reveal_below,
    reveal_text,
    show_line,
    show_section,
    show_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from memrepo.model import Entry

GREP_LIMIT_LINES = 200


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line as it may be shown. `hash` and `by` only for entries; `why` says why there is no text.

    `by` is never the user for a team's line, whatever stands in it. `unreviewed`: from the inbox, so nobody has
    confirmed it. `around` is the section, where it was asked for.
    """

    ref: Ref
    text: str
    hash: ContentHash | None = None
    by: Author | None = None
    unreviewed: bool = False
    around: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class GrepAnswer:
    """The lines found, by file and line; the files passed over, each `(file, why)`; whether these are all."""

    lines: tuple[ShownLine, ...]
    warnings: tuple[tuple[str, str], ...] = ()
    is_complete: bool = True

    def joined(self, more: GrepAnswer) -> GrepAnswer:
        """This answer and what was found elsewhere."""
        return GrepAnswer(self.lines + more.lines, self.warnings + more.warnings, self.is_complete and more.is_complete)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A whole file as it may be shown, line by line as in a section, and its entries. `unreviewed`: it is the inbox."""

    path: RepoPath
    text: str
    entries: tuple[ShownLine, ...]
    unreviewed: bool = False
    team: str | None = None


def read_lines(roots: Mapping[str | None, Path], refs: Iterable[Ref]) -> tuple[ShownLine, ...]:
    """Returns what stands at each ref now, in the order asked for; `roots` are by team, the user's own under None.

    An entry that is gone, or a file that cannot be read, has no text and says why. Changes: nothing.
    """
    documents: dict[tuple[str | None, RepoPath], Document | str] = {}
    shown = []
    for ref in refs:
        key = (ref.team, ref.path)
        if key not in documents:
            documents[key] = _open(roots, ref)
        doc = documents[key]
        entry = None if isinstance(doc, str) else find_entry(doc, ref.line)
        if entry is None:
            shown.append(ShownLine(ref, "", why=doc if isinstance(doc, str) else "no entry stands there now"))
        else:
            shown.append(_show(ref, entry))
    return tuple(shown)


def read_section(roots: Mapping[str | None, Path], ref: Ref) -> ShownLine:
    """Returns the entry at a ref with the section around it. Errors: NotFound, and those of reading the file."""
    root = roots.get(ref.team)
    data = None if root is None else read_file(root, ref.path).data
    doc = Document.parse(data or b"")
    entry = find_entry(doc, ref.line)
    if entry is None:
        raise NotFound(
            f"{ref} names no entry", hint=f"see the entries: memrepo ls {ref.path}", what="entry", name=str(ref)
        )
    return _show(ref, entry, around=show_section(doc, ref.line))


def read_shown_file(root: Path, path: RepoPath, *, team: str | None = None) -> ShownFile:
    """Returns a whole file, its line numbers kept. Errors: NotFound, and those of reading the file."""
    data = read_file(root, path).data
    if data is None:
        raise NotFound(f"there is no file {path}", hint="see the files: memrepo ls", what="file", name=str(path))
    doc = Document.parse(data)
    text = redact_across("\n".join(show_line(doc, number) for number in range(1, len(doc.lines) + 1)))
    entries = tuple(_show(Ref(path, entry.line, team), entry) for entry in doc.entries)
    return ShownFile(path, text.rstrip("\n"), entries, unreviewed=path == INBOX_FILE, team=team)


def grep(
    root: Path,
    matches: Callable[[str], bool],
    paths: Sequence[RepoPath],
    *,
    limit: int = GREP_LIMIT_LINES,
    team: str | None = None,
) -> GrepAnswer:
    """Looks through these files line by line: entries, headings and other text. Changes: nothing."""
    found: list[ShownLine] = []
    warnings: list[tuple[str, str]] = []
    for path in paths:
        try:
            data = read_file(root, path).data
        except MemrepoError as error:
            warnings.append((str(path) if team is None else f"team:{team}:{path}", error.message))
            continue
        for line in _grep_file(Document.parse(data or b""), path, matches, team):
            if len(found) == limit:
                return GrepAnswer(tuple(found), tuple(warnings), is_complete=False)
            found.append(line)
    return GrepAnswer(tuple(found), tuple(warnings))


def _grep_file(doc: Document, path: RepoPath, matches: Callable[[str], bool], team: str | None) -> Iterable[ShownLine]:
    texts: dict[int, tuple[str, Entry | None]] = {at: (line, None) for at, line in enumerate(doc.lines, 1)}
    texts |= {heading.line: (heading.text, None) for heading in doc.headings}
    texts |= {entry.line: (entry.text, entry) for entry in doc.entries}
    for number, (raw, entry) in texts.items():
        # What is shown holds no more than the clean text but for `[REDACTED …]`; looking for secrets takes longer.
        if not raw.strip() or not matches(clean_text(raw)):
            continue
        text = reveal_text(raw) if entry or number == 1 else reveal_below(doc.lines[number - 2], raw)
        if text and matches(text):
            ref = Ref(path, number, team)
            yield _show(ref, entry) if entry else ShownLine(ref, escape_tags(text), unreviewed=_is_inbox(ref))


def _show(ref: Ref, entry: Entry, *, around: str = "") -> ShownLine:
    by = entry.by if ref.team is None else Author.AGENT
    return ShownLine(ref, show_text(entry.text), content_hash(entry.text), by, _is_inbox(ref), around)


def _is_inbox(ref: Ref) -> bool:
    return ref.path == INBOX_FILE


def _open(roots: Mapping[str | None, Path], ref: Ref) -> Document | str:
    """The document, or why there is none."""
    root = roots.get(ref.team)
    if root is None:
        return "there is no such team"
    try:
        data = read_file(root, ref.path).data
    except MemrepoError as error:
        return error.message
    return "the file is not there" if data is None else Document.parse(data)
