"""Search over one memory root: always what the files say now, whatever the state of the cache.

Owns the index folder of one root below the cache folder, and the plan that joins three sources: the committed index,
the files that changed since (read into memory), and the bytes on disk that every answer is proven with. Invariants:
an answer never comes from a line that is gone; losing, damaging or denying the cache changes no answer, only its cost;
one process writes the index at a time and the others go on searching; `purge` leaves no text in the cache.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from memrepo.errors import Busy
from memrepo.format.document import Document
from memrepo.format.entries import content_hash, parse_bullet
from memrepo.index.cache_folder import (
    LOCK_NAME,
    VECTORS_FOLDER,
    index_folder,
    locked,
    remove_contents,
    remove_old_versions,
    size_of,
)
from memrepo.index.changes import Changes
from memrepo.index.engine import Engine, IndexUnusable, engine_name, open_engine
from memrepo.index.freshness import (
    FileLines,
    Notice,
    Survey,
    Surveyor,
    digest_of,
    read_bytes,
    read_lines,
    read_meanings,
)
from memrepo.index.ranking import LineCorpus, Scored, fuse_ranks, rank_lines, rarity
from memrepo.model import Entry, RepoPath

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from memrepo.index.ranking import Corpus, Line
    from memrepo.index.tokens import Query
    from memrepo.model import ContentHash

IN_MEMORY_LIMIT_BYTES = 64 * 1024
"""Changed files up to this size together are read into memory; past it the index takes them in."""
_ATTEMPTS = 8
_LOCK_WAIT_S = 10.0
_UNTAKEN_LIMIT = 64
_SMALL_UPDATE_FILES = 32


FUSED_LINES = 100
"""How deep two orders of lines are joined."""
SIMILAR = "similar meaning"

SecondRanking = Callable[["Corpus", int], "Sequence[tuple[str, int]]"]
"""Gives path and number of at most so many lines, best first."""


class Progress(NamedTuple):
    """How far the index is: files taken in, of how many, and the lines in them."""

    files: int
    of_files: int
    lines: int


@dataclass(frozen=True, slots=True)
class Found:
    """An entry as the file holds it at this moment, with its score and why it was found."""

    path: RepoPath
    entry: Entry
    hash: ContentHash
    score: float
    why: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The best entries, best first, and what could not be searched."""

    found: tuple[Found, ...]
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The index is `ready`, `behind` (some files are searched in memory), `off`, or in a state that says why not."""

    state: str
    folder: str
    files: int
    lines: int
    indexed_files: int
    indexed_lines: int
    changed_files: int
    size_bytes: int
    warnings: tuple[Notice, ...] = ()


class RepoIndex:
    """Search over one root. One object serves one thread of one process; close it, or use it in `with`.

    `cache` is memrepo's cache folder; None searches without one. `redact` replaces secrets in a text; `redaction` names
    its rules, so that an index made under other rules is not used.
    """

    __slots__ = ("_cache", "_changes", "_clock", "_corpus", "_engine", "_fault", "_generation", "_limit_bytes",
                 "_redact", "_redaction", "_root", "_surveyor")  # fmt: skip

    def __init__(
        self,
        root: Path,
        cache: Path | None,
        *,
        redact: Callable[[str], str] | None = None,
        redaction: str = "",
        clock: Callable[[], int] = time.time_ns,
        in_memory_limit_bytes: int = IN_MEMORY_LIMIT_BYTES,
        most_bytes: int | None = None,
    ) -> None:
        self._root = root
        self._cache = None if cache is None else index_folder(cache, root)
        self._redact = redact
        self._redaction = redaction
        self._clock = clock
        self._limit_bytes = in_memory_limit_bytes
        self._surveyor = Surveyor(root, clock=clock, most_bytes=most_bytes)
        self._changes = Changes(root, redact=redact)
        self._engine: Engine | None = None
        self._fault: IndexUnusable | None = None
        self._corpus: Corpus | None = None
        self._generation = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the index; the object can be used again."""
        self._drop_engine()

    @property
    def generation(self) -> int:
        """Differs whenever the lines may."""
        return self._changes.generation

    @property
    def vectors_folder(self) -> Path | None:
        """Where vectors of this root may be cached; `purge` empties it."""
        return None if self._cache is None else self._cache / VECTORS_FOLDER

    def search(
        self,
        query: Query,
        *,
        limit: int,
        second: SecondRanking | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Answer:
        """The best entries for a query. Changes: the index, when much changed since it was written.

        `second` is another order of the same lines, joined by rank with that of the words.
        """
        found: list[Found] = []
        warnings: tuple[Notice, ...] = ()
        busy: set[RepoPath] = set()
        for attempt in range(_ATTEMPTS):
            warnings = self._refresh(progress, busy, may_write=attempt == 0)
            try:
                scored = self._rank(query, limit, second)
            except IndexUnusable as fault:
                self._give_up(fault)
                continue
            found, broken = self._prove(scored)
            if not broken:
                break
            # Someone wrote since the look: search again, and answer for these files from what that look reads of them.
            # What is left after the last attempt is proven all the same.
            busy |= broken
        return Answer(tuple(found), warnings)

    def _rank(self, query: Query, limit: int, second: SecondRanking | None) -> Sequence[Scored]:
        if second is None:
            return rank_lines(query, self.corpus(), limit=limit)
        by_words = rank_lines(query, self.corpus(), limit=max(limit, FUSED_LINES))
        known = {(scored.line.path, scored.line.number): scored for scored in by_words}
        others = second(self.corpus(), max(limit, FUSED_LINES))
        meant = set(others)
        fused = []
        for place, score in fuse_ranks([(1.0, list(known)), (1.0, others)])[:limit]:
            line = known[place].line if place in known else self._find_line(*place)
            if line is not None:
                why = known[place].matched if place in known else ()
                fused.append(Scored(line, score, (*why, SIMILAR) if place in meant else why))
        return fused

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Notice, ...]:
        """Takes in what changed since the last look. Changes: the index, when that is much."""
        return self._refresh(progress, (), may_write=True)

    def _refresh(
        self, progress: Callable[[Progress], None] | None, busy: Collection[RepoPath], *, may_write: bool
    ) -> tuple[Notice, ...]:
        self._open()
        survey, looked_ns, unread = self._look()
        if may_write and self._is_much(unread, survey) and self._write(progress):
            survey, looked_ns, unread = self._look()
        wanted = dict.fromkeys((*unread, *(path for path in sorted(busy) if path in survey.stamps)))
        self._changes.read(wanted, survey, looked_ns)
        warnings = [*survey.warnings, *(one for file in self._changes.files.values() for one in file.warnings)]
        if self._fault is not None and self._fault.code != "missing":
            warnings.append(_index_warning(self._fault))
        return tuple(warnings)

    def corpus(self) -> Corpus:
        """The lines as of the last `refresh`."""
        if self._corpus is None or self._generation != self._changes.generation:
            fresh = LineCorpus([line for file in self._changes.files.values() for line in file.lines])
            if self._engine is None:
                self._corpus = fresh
            else:
                self._corpus = _JoinedCorpus(self._engine, self._changes.stale, fresh)
            self._generation = self._changes.generation
        return self._corpus

    def _prove(self, scored: Iterable[Scored]) -> tuple[list[Found], set[RepoPath]]:
        """Reads each entry from its file; files that are no longer as they were searched come back instead."""
        files: dict[str, tuple[str, tuple[str, ...]]] = {}
        found: list[Found] = []
        broken: set[RepoPath] = set()
        for line, score, why in scored:
            path = RepoPath(line.path)
            if path not in files:
                data = self._changes.just_read.get(path) or read_bytes(self._root, path)
                files[path] = ("", ()) if isinstance(data, Notice) else (digest_of(data), Document.parse(data).lines)
            digest, lines = files[path]
            entry = parse_bullet(lines[line.number - 1]) if digest == line.source else None
            if entry is None:
                broken.add(path)
                continue
            entry = Entry(entry.text, entry.meta, line.number, entry.bullet, entry.indent, line.section)
            found.append(Found(path, entry, content_hash(entry.text), score, why, digest))
        return found, broken

    def iter_keys(self) -> Iterator[tuple[RepoPath, tuple[int, ...], bytes]]:
        """For each file, as of the last `refresh`, the numbers of its lines and their vector keys."""
        if self._engine is not None:
            for path, (numbers, keys) in self._engine.load_keys().items():
                if path not in self._changes.stale:
                    yield path, numbers, keys
        for path, file in self._changes.files.items():
            yield path, tuple(line.number for line in file.lines), file.keys

    def iter_texts(self, path: RepoPath) -> Iterator[tuple[bytes, str]]:
        """Vector key and text of each entry of a file as it is now."""
        data = read_bytes(self._root, path)
        if not isinstance(data, Notice):
            yield from read_meanings(data, redact=self._redact)

    def _find_line(self, path: str, number: int) -> Line | None:
        """The searchable line of that place as of the last `refresh`, or None."""
        file = self._changes.files.get(RepoPath(path))
        if file is not None:
            return next((line for line in file.lines if line.number == number), None)
        return None if self._engine is None or path in self._changes.stale else self._engine.find_line(path, number)

    def status(self) -> IndexStatus:
        """What is indexed, and what is searched in memory. Changes: nothing."""
        self._open()
        survey, looked_ns, unread = self._look()
        changes = self._changes
        changes.read(unread, survey, looked_ns)
        state = "behind" if changes.files or changes.stale else "ready"
        if self._cache is None:
            state = "off"
        elif self._engine is None:
            state = self._fault.code if self._fault else "missing"
        return IndexStatus(
            state=state,
            folder=str(self._cache or ""),
            files=len(survey.stamps),
            lines=self.corpus().line_count,
            indexed_files=len(changes.records),
            indexed_lines=sum(record.line_count for record in changes.records.values()),
            changed_files=len(changes.stale | changes.files.keys()),
            size_bytes=size_of(self._cache),
            warnings=survey.warnings,
        )

    def rebuild(self, *, progress: Callable[[Progress], None] | None = None) -> IndexStatus:
        """Makes the index anew from the files. Errors: Busy while another process writes it. Changes: the index."""
        if self._cache is not None:
            try:
                with locked(self._cache, wait_s=_LOCK_WAIT_S):
                    self._drop_engine()
                    remove_contents(self._cache, keep=(LOCK_NAME, VECTORS_FOLDER))
                    self._write_locked(progress)
            except IndexUnusable as fault:
                self._give_up(fault)
        return self.status()

    def purge(self) -> int:
        """Removes everything the cache holds of this root, vectors included; returns how many files that were.

        Errors: Busy while another process writes the index. Changes: the cache folder.
        """
        self._drop_engine()
        self._changes.forget()
        if self._cache is None or not self._cache.is_dir():
            return 0
        with locked(self._cache, wait_s=_LOCK_WAIT_S):
            return remove_contents(self._cache, keep=(LOCK_NAME,))

    # The index: open, write, give up.

    def _engine_folder(self, *, create: bool = False) -> Path:
        """The index of this version. Errors: IndexUnusable, so that a small memory never loads what an index needs."""
        if self._cache is None or not (create or self._cache.is_dir()):
            raise IndexUnusable("missing", "there is no index")
        rules = hashlib.sha256(self._redaction.encode()).hexdigest()[:8]
        return self._cache / f"{engine_name()}-{rules}"

    def _open(self, *, create: bool = False) -> None:
        try:
            if self._engine is None:
                self._engine = open_engine(self._engine_folder(create=create), create=create)
            elif not self._engine.refresh():
                self._fault = None
                return
            self._fault = None
            self._changes.adopt(self._engine.records)
        except IndexUnusable as fault:
            self._give_up(fault)

    def _give_up(self, fault: IndexUnusable) -> None:
        self._drop_engine()
        self._fault = fault

    def _drop_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._changes.adopt({})
            self._engine = self._corpus = None

    def _look(self) -> tuple[Survey, int, list[RepoPath]]:
        """What is there, when that was, and which files must be read."""
        looked_ns = self._clock()
        survey = self._surveyor.survey()
        return survey, looked_ns, self._changes.compare(survey, looked_ns)

    def _is_much(self, unread: Sequence[RepoPath], survey: Survey) -> bool:
        """Whether to write the index rather than read into memory what is new."""
        if self._cache is None or (self._fault is not None and self._fault.code == "no-engine"):
            return False
        if self._fault is not None and self._fault.code == "damaged":
            return True
        changes = self._changes
        size = sum(survey.stamps[path][2] for path in unread)
        size += sum(file.record.stamp[2] for file in changes.files.values() if file.lines and not file.warnings)
        return size > self._limit_bytes or max(len(changes.stale), len(changes.restamped)) > _UNTAKEN_LIMIT

    def _write(self, progress: Callable[[Progress], None] | None) -> bool:
        """Brings the index up to date, anew if it is damaged; False when that cannot be done now."""
        if self._cache is None:
            return False
        try:
            with locked(self._cache):
                self._write_locked(progress)
        except Busy as busy:
            self._fault = IndexUnusable("busy", busy.message)
            return False
        except IndexUnusable as fault:
            self._give_up(fault)
            return False
        self._fault = None
        return True

    def _write_locked(self, progress: Callable[[Progress], None] | None) -> None:
        """Writes all that differs between files and index. What others wrote before the lock was ours is seen first."""
        assert self._cache is not None  # noqa: S101 - both callers hold its lock
        self._open(create=True)
        if self._engine is None and self._fault is not None and self._fault.code == "damaged":
            # Seen under the lock, so it is not another process at work.
            remove_contents(self._cache, keep=(LOCK_NAME, VECTORS_FOLDER))
            self._open(create=True)
        if self._engine is None:
            raise self._fault or IndexUnusable("missing", "the index cannot be made")
        changes = self._changes
        survey, looked_ns, unread = self._look()
        paths = [*unread, *(path for path in changes.files if path in survey.stamps)]
        gone = [path for path in changes.records if path not in survey.stamps]
        restamped = {path: record for path, record in changes.restamped.items() if path in survey.stamps}
        files = self._iter_files(dict.fromkeys(paths), survey, looked_ns, progress)
        self._engine.apply(gone, files, restamped=restamped, is_small=len(paths) <= _SMALL_UPDATE_FILES)
        self._changes.adopt(self._engine.records)
        remove_old_versions(self._engine_folder())

    def _iter_files(
        self,
        paths: Mapping[RepoPath, None],
        survey: Survey,
        looked_ns: int,
        progress: Callable[[Progress], None] | None,
    ) -> Iterator[FileLines]:
        line_count = 0
        for count, path in enumerate(paths, start=1):
            data = read_bytes(self._root, path)
            if not isinstance(data, Notice):
                file = read_lines(path, data, survey.stamps[path], looked_ns, redact=self._redact)
                line_count += len(file.lines)
                if not file.warnings:
                    yield file
            if progress is not None:
                progress(Progress(count, len(paths), line_count))


class _JoinedCorpus:
    """The index without its stale files, and the lines read since, as one corpus."""

    __slots__ = ("_engine", "_fresh", "_old", "_stale", "line_count", "word_count")

    def __init__(self, engine: Engine, stale: frozenset[RepoPath], fresh: LineCorpus) -> None:
        kept = [record for path, record in engine.records.items() if path not in stale]
        self._engine = engine
        self._stale = stale
        self._old = LineCorpus(list(engine.iter_lines(stale)))
        self._fresh = fresh
        self.line_count = sum(record.line_count for record in kept) + fresh.line_count
        self.word_count = sum(record.word_count for record in kept) + fresh.word_count

    def count(self, term: str) -> int:
        return self._engine.count(term) - self._old.count(term) + self._fresh.count(term)

    def expand(self, prefix: str, limit: int) -> Sequence[str]:
        found = {term for term, _ in self._engine.expand(prefix, limit)}
        found.update(self._fresh.expand(prefix, limit))
        held = sorted((-self.count(term), term) for term in found)
        return [term for count, term in held[:limit] if count]

    def find(self, weights: Mapping[str, float], limit: int) -> Sequence[tuple[float, Line]]:
        # tantivy weighs each term by its own rarity; what remains is what the plan made of it.
        boosts = {
            term: max(weight / rarity(min(self.count(term), self.line_count), self.line_count), 0.01)
            for term, weight in weights.items()
        }
        return [*self._engine.find(boosts, limit, self._stale), *self._fresh.find(weights, limit)]


def _index_warning(fault: IndexUnusable) -> Notice:
    return Notice(f"index-{fault.code}", "", f"the search index is not used: {fault}; the files were read instead")
