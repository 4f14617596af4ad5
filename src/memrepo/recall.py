"""Finding what memory holds: one question to several lanes, one list of hits.

Owns which lanes are asked, how their orders are joined, and what of an entry may be shown. Knows no index format, no
git and no store: a lane is a `LaneSource`. Invariants: what a task may not see is filtered out before anything is
ranked; every text that leaves went through `policy.sanitizing`; a lane that fails costs its hits, not the answer; the
query is read as words and never as a language. Source: memory repo design (seed 1) §6.3.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from memrepo.errors import InvalidInput, MemrepoError
from memrepo.files.atomic import read_file
from memrepo.format.document import Document
from memrepo.index.freshness import Notice
from memrepo.index.ranking import Line, LineCorpus, fuse_ranks, pad, rank_lines, rarity
from memrepo.index.repo_index import RepoIndex
from memrepo.index.tokens import analyze, analyze_query
from memrepo.model import (
    FILE_LIMIT_BYTES,
    INBOX_FILE,
    MARKDOWN_FILES_LIMIT,
    Actor,
    Author,
    ContentHash,
    Privacy,
    Ref,
    RepoPath,
    Scope,
)
from memrepo.policy.redaction import redact
from memrepo.policy.sanitizing import show_section, show_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from memrepo.index.ranking import Corpus
    from memrepo.index.repo_index import Found, Progress
    from memrepo.index.tokens import Query
    from memrepo.index.vectors import Embedder, VectorTable
    from memrepo.model import TaskContext
    from memrepo.store import PrivateStore

LIMIT_MOST = 100
TEAM_LIMIT_BYTES = MARKDOWN_FILES_LIMIT * FILE_LIMIT_BYTES
"""What of a team's repo is searched: as much as a memory folder may hold."""
_LANE_LINES = 50
_ROWS_LIMIT = 100_000
_REMEMBERED_TEXTS = 4_096
_PLAIN = re.compile(r"[a-z_]{1,20}|[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Lane(StrEnum):
    """A source that recall searches. Also the scopes a caller may name; `memory` then means all that is remembered."""

    REPO = "repo"
    TEAM = "team"
    MEMORY = "memory"
    ARCHIVE = "archive"


LANE_WEIGHTS = {Lane.REPO: 1.0, Lane.TEAM: 0.8, Lane.MEMORY: 1.0, Lane.ARCHIVE: 0.5}
"""What a first place in a lane is worth. The user's own memory before a colleague's, facts before what happened."""

DEFAULT_SCOPES = (Lane.MEMORY,)
_LANES_OF_SCOPE = {
    Lane.REPO: (Lane.REPO, Lane.TEAM),
    Lane.TEAM: (Lane.TEAM,),
    Lane.MEMORY: (Lane.REPO, Lane.TEAM, Lane.MEMORY),
    Lane.ARCHIVE: (Lane.ARCHIVE,),
}


class Detail(StrEnum):
    """How much of a hit is shown: its line, or the section around it too."""

    LINE = "line"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry that answers. `text` is cleaned and redacted, `<` and `>` escaped; `hash` is of what is stored.

    `ref` is `repo:…`, `team:…`, `memory:<id>` or `archive:<id>`. `score` is 1 for the first place of a lane of full
    weight. `why` holds the words of the query that the entry holds, and `similar meaning`. `unreviewed`: from the
    inbox, so nobody has confirmed it. `around` is the section, only with `Detail.FULL`. `by` is never the user for
    a team's line, whatever stands in it.
    """

    lane: Lane
    ref: str
    hash: ContentHash
    text: str
    by: Author
    score: float
    why: tuple[str, ...]
    kind: str = ""
    file: RepoPath | None = None
    section: str = ""
    added: str = ""
    unreviewed: bool = False
    team: str | None = None
    around: str = ""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The hits, best first, and named warnings about what could not be searched or was searched another way."""

    hits: tuple[Hit, ...]
    warnings: tuple[Notice, ...] = ()
    lanes: tuple[Lane, ...] = ()


@dataclass(frozen=True, slots=True)
class LaneAnswer:
    """What one lane found, best first."""

    hits: tuple[Hit, ...]
    warnings: tuple[Notice, ...] = ()


class LaneSource(Protocol):
    """One lane, or one repo of the team lane. Filters by task before it ranks."""

    @property
    def lane(self) -> Lane: ...
    def search(self, query: Query, task: TaskContext, *, limit: int) -> LaneAnswer:
        """The hits of the lane. Errors: MemrepoError, which becomes a warning."""

    def read_around(self, hit: Hit) -> str:
        """The section around a hit of this lane, ready to be shown; "" when there is none."""


def recall(
    text: str,
    *,
    task: TaskContext,
    lanes: Sequence[LaneSource],
    is_memory_on: bool,
    scopes: Collection[str] = DEFAULT_SCOPES,
    limit: int = 10,
    detail: Detail = Detail.LINE,
) -> RecallResult:
    """Searches the lanes that the scopes name and joins their hits by weighted reciprocal rank.

    `is_memory_on` is what `policy.injection` decided for the task: without it nothing is searched. Of entries with one
    hash in several lanes the best placed is kept. Errors: InvalidInput. Changes: at most the index in the cache.
    """
    wanted = _check(scopes, limit)
    if not is_memory_on:
        return RecallResult((), (Notice("memory-off", "", "memory is off for this task, so nothing was searched"),))
    query = analyze_query(text)
    warnings: list[Notice] = []
    if query.is_empty:
        return RecallResult((), (Notice("query-empty", "", "the query holds no word to look for"),))
    if query.is_cut:
        warnings.append(Notice("query-cut", "", "the query is long; only its beginning was looked for"))
    asked = [source for source in lanes if source.lane in wanted]
    found: list[tuple[LaneSource, LaneAnswer]] = []
    for source in asked:
        try:
            answer = source.search(query, task, limit=max(limit, _LANE_LINES) if len(asked) > 1 else limit)
        except MemrepoError as error:
            answer = LaneAnswer((), (Notice("lane-failed", source.lane, f"{source.lane}: {error.message}"),))
        found.append((source, answer))
        warnings += answer.warnings
    hits = _join(found, limit)
    if detail is Detail.FULL:
        hits = [(source, replace(hit, around=_around(source, hit))) for source, hit in hits]
    return RecallResult(
        tuple(hit for _, hit in hits),
        tuple(dict.fromkeys(warnings)),
        tuple(dict.fromkeys(source.lane for source in asked)),
    )


def _check(scopes: Collection[str], limit: int) -> set[Lane]:
    if not 1 <= limit <= LIMIT_MOST:
        raise InvalidInput(f"limit {limit} is not between 1 and {LIMIT_MOST}", hint="ask for fewer hits", key="limit")
    try:
        return {lane for scope in scopes for lane in _LANES_OF_SCOPE[Lane(scope)]}
    except ValueError as error:
        known = ", ".join(Lane)
        raise InvalidInput(
            f"unknown scope; the scopes are {known}", hint=f"use one of {known}", key="scopes"
        ) from error


def _join(found: Sequence[tuple[LaneSource, LaneAnswer]], limit: int) -> list[tuple[LaneSource, Hit]]:
    known: dict[str, tuple[LaneSource, Hit]] = {}
    orders: list[tuple[float, list[str]]] = []
    for source, answer in found:
        known |= {hit.ref: (source, hit) for hit in answer.hits}
        orders.append((LANE_WEIGHTS[source.lane], [hit.ref for hit in answer.hits]))
    joined: dict[ContentHash, tuple[LaneSource, Hit]] = {}
    for ref, score in fuse_ranks(orders):
        source, hit = known[ref]
        joined.setdefault(hit.hash, (source, replace(hit, score=round(score, 6))))
        if len(joined) == limit:
            break
    return list(joined.values())


def _around(source: LaneSource, hit: Hit) -> str:
    try:
        return source.read_around(hit)
    except MemrepoError:
        return ""  # gone since it was found; the line itself was true when it was read


class RepoLane:
    """The Markdown of one root: the user's own, or with `team` a colleague's, for the tasks that `is_visible` admits.

    `embedder` adds a second order by meaning. One object serves one thread.
    """

    __slots__ = ("_index", "_is_visible", "_progress", "_root", "_table", "lane", "team")

    def __init__(
        self,
        root: Path,
        index: RepoIndex,
        *,
        embedder: Embedder | None = None,
        team: str | None = None,
        is_visible: Callable[[TaskContext], bool] = lambda _: True,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.lane = Lane.REPO if team is None else Lane.TEAM
        self.team = team
        self._root = root
        self._index = index
        self._is_visible = is_visible
        self._progress = progress
        self._table = None if embedder is None else _open_table(index, embedder)

    def close(self) -> None:
        """Lets go of the index."""
        self._index.close()

    def search(self, query: Query, task: TaskContext, *, limit: int) -> LaneAnswer:
        if not self._is_visible(task):
            return LaneAnswer(())
        second = None if self._table is None else _by_meaning(self._table, query)
        answer = self._index.search(query, limit=limit, second=second, progress=self._progress)
        return LaneAnswer(tuple(self._hit(found) for found in answer.found), tuple(map(self._name, answer.warnings)))

    def read_around(self, hit: Hit) -> str:
        assert hit.file is not None  # noqa: S101 - hits of this lane have one
        data = read_file(self._root, hit.file).data
        return "" if data is None else show_section(Document.parse(data), int(hit.ref.rpartition("#L")[2]))

    def _name(self, notice: Notice) -> Notice:
        """A warning about a file, with the team whose file it is."""
        if self.team is None:
            return notice
        return Notice(notice.code, f"team:{self.team}:{notice.where}", f"team repo {self.team}: {notice.message}")

    def _hit(self, found: Found) -> Hit:
        entry = found.entry
        return Hit(
            lane=self.lane,
            ref=str(Ref(found.path, entry.line, self.team)),
            hash=found.hash,
            text=show_text(entry.text),
            by=entry.by if self.team is None else Author.AGENT,
            score=found.score,
            why=found.why,
            kind=_show_value(entry.value("kind")),
            file=found.path,
            section=_show_title(entry.section),
            added=_show_value(entry.value("added")),
            unreviewed=found.path == INBOX_FILE,
            team=self.team,
        )


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One row of the private store or of the archive. `scope_ref` names the workspace, the contact or the task."""

    id: int
    text: str
    hash: ContentHash
    by: Author = Author.USER
    kind: str = ""
    scope: Scope = Scope.GLOBAL
    scope_ref: str = ""
    added: str = ""
    unreviewed: bool = False


class StoredLane:
    """Rows of a store as a lane. They are read and searched in memory: a private store is small."""

    __slots__ = ("_iter_items", "_lines", "lane")

    def __init__(self, lane: Lane, iter_items: Callable[[], Iterable[StoredItem]]) -> None:
        self.lane = lane
        self._iter_items = iter_items
        self._lines: dict[StoredItem, Line] = {}

    def search(self, query: Query, task: TaskContext, *, limit: int) -> LaneAnswer:
        rows = list(self._iter_items())
        # Lines of rows that are gone go too.
        self._lines = {item: self._lines.get(item) or self._line(item) for item in rows}
        items = {item.id: item for item in rows if may_see(item, task)}
        scored = rank_lines(query, LineCorpus([self._lines[item] for item in items.values()]), limit=limit)
        return LaneAnswer(tuple(self._hit(items[line.number], score, why) for line, score, why in scored))

    def read_around(self, hit: Hit) -> str:  # noqa: ARG002 - rows stand alone
        return ""

    def _line(self, item: StoredItem) -> Line:
        words, extras = analyze(f"{_redacted(item.text)}\n{item.added}")
        return Line(self.lane, item.id, "", "", pad(words), pad(extras))

    def _hit(self, item: StoredItem, score: float, why: tuple[str, ...]) -> Hit:
        return Hit(
            lane=self.lane,
            ref=f"{self.lane}:{item.id}",
            hash=item.hash,
            text=show_text(item.text),
            by=item.by,
            score=score,
            why=why,
            kind=item.kind,
            added=item.added,
            unreviewed=item.unreviewed,
        )


def may_see(item: StoredItem, task: TaskContext) -> bool:
    """Whether a task may see a stored row. What nobody said whose it is, it may not.

    The user's own hand sees every row. An agent's task sees global rows; rows of its workspace, unless memory is off or
    disabled there; rows of the contact who writes in it; its own rows. On someone else's behalf it sees that contact's
    rows only. Whether it sees memory at all was decided before.
    """
    if task.actor is Actor.USER:
        return task.sender_is_owner
    if item.scope is Scope.CONTACT:
        return item.scope_ref != "" and item.scope_ref == task.sender_ref
    if not task.sender_is_owner:
        return False
    if item.scope is Scope.TASK:
        return item.scope_ref != "" and item.scope_ref == task.task_id
    if item.scope is Scope.WORKSPACE:
        workspace = task.workspace
        return (
            workspace is not None
            and item.scope_ref == workspace.id
            and workspace.memory_enabled
            and workspace.privacy is not Privacy.DISABLED
        )
    return True


def make_store_lanes(find_store: Callable[[], PrivateStore | None]) -> tuple[StoredLane, StoredLane]:
    """The lanes `memory` and `archive` of the private store, opened at each search; None: there is none."""
    return (
        StoredLane(Lane.MEMORY, lambda: _iter_items(find_store())),
        StoredLane(Lane.ARCHIVE, lambda: _iter_records(find_store())),
    )


def _iter_items(store: PrivateStore | None) -> Iterator[StoredItem]:
    for item in store.items.list(limit=_ROWS_LIMIT) if store else ():
        yield StoredItem(
            id=item.id,
            text=f"{item.content} (due {item.due})" if item.due else item.content,
            hash=ContentHash(item.content_hash),
            by=item.by,
            kind=item.kind,
            scope=item.scope,
            scope_ref=item.scope_ref,
            unreviewed=item.is_unreviewed,
            added=item.added.isoformat() if item.added else "",
        )


def _iter_records(store: PrivateStore | None) -> Iterator[StoredItem]:
    for record in store.archive.list(limit=_ROWS_LIMIT) if store else ():
        yield StoredItem(
            id=record.id,
            text=record.content,
            hash=ContentHash(record.content_hash),
            by=record.by,
            kind=record.kind,
            scope=record.scope,
            scope_ref=record.scope_ref,
            unreviewed=record.is_unreviewed,
            added=dt.datetime.fromtimestamp(record.at_ms / 1000, tz=dt.UTC).date().isoformat(),
        )


def open_repo_lane(
    root: Path,
    cache: Path | None,
    *,
    use_meaning: bool = True,
    progress: Callable[[Progress], None] | None = None,
    team: str | None = None,
    is_visible: Callable[[TaskContext], bool] = lambda _: True,
) -> RepoLane:
    """The lane of one root with everything that is installed. `cache` is memrepo's cache folder, None for none."""
    embedder = find_embedder() if use_meaning else None
    index = open_index(root, cache, most_bytes=None if team is None else TEAM_LIMIT_BYTES)
    return RepoLane(root, index, embedder=embedder, team=team, is_visible=is_visible, progress=progress)


def open_index(root: Path, cache: Path | None, *, most_bytes: int | None = None) -> RepoIndex:
    """The index of one root: `status`, `rebuild`, `purge`. Secrets never reach it. `most_bytes`: as of `Surveyor`."""
    from memrepo import __version__

    # An edited file is read again as a whole, and most of its lines were there before.
    redactor = lru_cache(maxsize=_REMEMBERED_TEXTS)(_redacted)
    return RepoIndex(root, cache, redact=redactor, redaction=__version__, most_bytes=most_bytes)


def find_embedder() -> Embedder | None:
    """The model of the optional extra `memrepo[semantic]`; None when it is not installed."""
    try:
        from memrepo.index.static_vectors import find_static_embedder
    except ImportError:
        return None
    return find_static_embedder()


def _show_value(value: str | None) -> str:
    """A metadata value; the usual ones are plain words and need no look."""
    return value if value and _PLAIN.fullmatch(value) else show_text(value or "")


@lru_cache(maxsize=512)
def _show_title(section: str) -> str:
    return show_text(section)


def _redacted(text: str) -> str:
    return redact(text).text


def _open_table(index: RepoIndex, embedder: Embedder) -> VectorTable:
    from memrepo.index.vectors import VectorTable

    return VectorTable(index, embedder, index.vectors_folder)


def _by_meaning(table: VectorTable, query: Query) -> Callable[[Corpus, int], list[tuple[str, int]]]:
    """The second order: by meaning, in which a word of the query counts by what it tells in this memory."""

    def order(corpus: Corpus, limit: int) -> list[tuple[str, int]]:
        total = corpus.line_count

        def tell(word: str) -> float:
            return max((rarity(min(corpus.count(term), total), total) for term in analyze(word).words), default=0.0)

        return [(path, number) for path, number, _ in table.find(query.text, tell, limit=limit)]

    return order
