"""What can be tidied by rule, with no model: the same changes as a dream's, under the same review. Pure.

Exact and near duplicates, several values of one subject, links that lead nowhere and files that no link leads to,
facts of a workspace outside of its file. Duplicates are looked for inside one file, and among the entry files; the
same fact in two workspaces is no duplicate. The inbox is left to the user, except what stands elsewhere word for word.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from memrepo.dream.catalogue import build_catalogue
from memrepo.dream.operations import OPERATIONS_LIMIT, Change, Line, Op
from memrepo.format.document import Document, find_entry, find_workspace_id
from memrepo.format.entries import subject_key
from memrepo.model import (
    INBOX_FILE,
    LESSONS_FILE,
    ME_FILE,
    MEMORY_FILE,
    WORKSPACE_INDEX_FILE,
    Author,
    Entry,
    RepoPath,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

EXTRA_WORDS = 2
_LEAST_WORDS = 3
_LIMIT_CHARS = 4_000_000
_ENTRY_FILES = (MEMORY_FILE, ME_FILE, LESSONS_FILE)
_WORD = re.compile(r"\w+")
# Words whose coming or going turns a fact around; and words that do not make one.
_TURNS = frozenset(
    {"no", "not", "never", "none", "without", "nor", "cannot", "t", "off", "only", "except", "unless", "nicht", "kein"}
)
_WEAK = frozenset(
    {"a", "an", "the", "of", "for", "in", "on", "to", "at", "with", "and", "is", "are", "be", "it", "this", "that"}
)


def tidy(files: Sequence[tuple[RepoPath, bytes]]) -> tuple[Change, ...]:
    """The changes that the rules propose for these files, at most 40, each line in one of them; not yet classified."""
    catalogue = build_catalogue(files, limit_chars=_LIMIT_CHARS)
    documents = {path: Document.parse(data) for path, data in files}
    entries = {line: entry for line in catalogue.lines.values() if (entry := _entry(documents, line)) is not None}
    taken: set[Line] = set()
    changes: list[Change] = []
    for proposed in (*_iter_duplicates(entries), *_iter_subjects(entries), *_iter_misplaced(entries, documents)):
        if taken.isdisjoint(proposed.lines) and len(changes) < OPERATIONS_LIMIT:
            taken.update(proposed.lines)
            changes.append(proposed)
    changes += list(_iter_links(documents))[: OPERATIONS_LIMIT - len(changes)]
    return tuple(change.model_copy(update={"number": number}) for number, change in enumerate(changes, start=1))


def _entry(documents: dict[RepoPath, Document], line: Line) -> Entry | None:
    return find_entry(documents[RepoPath(line.path)], line.line)


def _iter_duplicates(entries: dict[Line, Entry]) -> Iterator[Change]:
    groups: dict[str, list[Line]] = {}
    for line in entries:
        group = "" if line.path in _ENTRY_FILES else line.path
        groups.setdefault(group, []).append(line)
    waiting = groups.pop(INBOX_FILE, [])
    held = {line.hash: line for lines in groups.values() for line in lines}
    for line in waiting:
        if line.hash in held:
            yield _change(Op.DISCARD, [line], reason=f"stands in {held[line.hash].path}")
    for lines in groups.values():
        yield from _iter_group(sorted(lines, key=_rank), entries)


def _iter_group(lines: list[Line], entries: dict[Line, Entry]) -> Iterator[Change]:
    """Lines of one group, the one to keep first."""
    kept: dict[tuple[str, str], Line] = {}
    by_word: dict[str, list[Line]] = {}
    words = {line: _words(line.text) for line in lines}
    for line in lines:
        key = line.hash, subject_key(entries[line].value("subject") or "")
        if key in kept:
            yield _change(Op.REMOVE, [line], reason=f"stands in {kept[key].path} already")
            continue
        near = {other for word in words[line] for other in by_word.get(word, ())}
        same = next((other for other in sorted(near, key=lines.index) if _is_near(line, other, words, entries)), None)
        if same is None:
            kept[key] = line
            for word in words[line]:
                by_word.setdefault(word, []).append(line)
        elif same.by == line.by:
            longer = max(same.text, line.text, key=len)
            yield _change(Op.MERGE, [same, line], text=longer, reason="two lines say one thing")
        else:  # the user's own words stay as they are
            yield _change(Op.REMOVE, [line], reason=f"your line in {same.path} says it")


def _is_near(line: Line, other: Line, words: dict[Line, tuple[str, ...]], entries: dict[Line, Entry]) -> bool:
    """Whether one of two lines says all that the other does, in its order, and hardly more."""
    short, long = sorted((words[line], words[other]), key=len)
    subjects = {subject_key(entries[which].value("subject") or "") for which in (line, other)}
    if len(subjects) > 1 or len(short) < _LEAST_WORDS or len(long) - len(short) > EXTRA_WORDS:
        return False
    ahead = iter(long)
    if not all(word in ahead for word in short):  # each is looked for behind the one before
        return False
    extra = Counter(long) - Counter(short)
    return not any(word in _TURNS or any(map(str.isdigit, word)) for word in extra)


def _words(text: str) -> tuple[str, ...]:
    """The words that make a fact, in their order; a plural is its singular."""
    found = (word for word in _WORD.findall(text.casefold()) if word not in _WEAK)
    return tuple(word[:-1] if word.endswith("s") and len(word) > 3 else word for word in found)


def _iter_subjects(entries: dict[Line, Entry]) -> Iterator[Change]:
    """Of several values of one subject in one file the user's stays, else the newest."""
    rivals: dict[tuple[str, str], list[Line]] = {}
    for line, entry in entries.items():
        subject = entry.value("subject")
        if subject and line.path != INBOX_FILE:
            rivals.setdefault((line.path, subject_key(subject)), []).append(line)
    for (_, subject), lines in rivals.items():
        if len(lines) < 2:
            continue
        order = sorted(lines, key=lambda line: (line.by == Author.USER, entries[line].value("added") or "", line.line))
        for line in order[:-1]:
            yield _change(
                Op.REMOVE, [line], reason=f"another value of {subject[:60]!r} stands in line {order[-1].line}"
            )


def _iter_misplaced(entries: dict[Line, Entry], documents: dict[RepoPath, Document]) -> Iterator[Change]:
    """Facts that name a workspace which has a file, and stand elsewhere."""
    homes = {named: path for path, document in documents.items() if (named := find_workspace_id(document))}
    for line, entry in entries.items():
        home = homes.get(entry.value("workspace") or "")
        if home is not None and line.path not in {home, INBOX_FILE, MEMORY_FILE}:
            yield _change(Op.MOVE, [line], file=home, reason="it is of that workspace")


def _iter_links(documents: dict[RepoPath, Document]) -> Iterator[Change]:
    """Links of the index files to files that are gone, and files that nothing links to."""
    linked = {_as_path(link.target) for document in documents.values() for link in document.links}
    for index in (MEMORY_FILE, WORKSPACE_INDEX_FILE):
        document = documents.get(index)
        for target in dict.fromkeys(link.target for link in document.links if link.alone) if document else ():
            path = _as_path(target)
            if path.endswith(".md") and path not in documents and not path.casefold().startswith("swarms/"):
                yield _change(Op.UNLINK, [], file=path, reason=f"{index} links to it, and it is gone")
    for path in sorted(documents):
        is_own = path in {MEMORY_FILE, INBOX_FILE, WORKSPACE_INDEX_FILE}
        if not is_own and path not in linked and documents[path].entries and not any(sign in path for sign in "[]|"):
            yield _change(Op.LINK, [], file=path, reason="no file links to it")


def _as_path(target: str) -> str:
    """The file of a link; only a Markdown file is written without its ending."""
    name = target.removeprefix("./").removeprefix("/")
    return name if "." in name.rpartition("/")[2] else f"{name}.md"


def _rank(line: Line) -> tuple[bool, int, str, int]:
    place = _ENTRY_FILES.index(RepoPath(line.path)) if line.path in _ENTRY_FILES else len(_ENTRY_FILES)
    return line.by != Author.USER, place, line.path, line.line


def _change(op: Op, lines: Iterable[Line], *, text: str = "", file: str = "", reason: str) -> Change:
    return Change(number=0, op=op, lines=tuple(lines), text=text, file=file, reason=reason)
