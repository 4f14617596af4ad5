"""Does memory pay off? Numbers per week, from the history, the counts of the private store and the session ledger.

Pure functions over rows; nothing here reads a file, and nothing leaves the machine. No number says what a fact says.
Source: memory repo design (seed 1) §11. What each number means and what it cannot know: docs/statistics.md.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from memrepo.format.entries import content_hash, parse_bullet
from memrepo.keeping import REPEATED
from memrepo.model import INBOX_FILE, MEMORY_FILE, SWARMS_FOLDER, Author, Kind, Origin
from memrepo.planning.curation import is_naming_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memrepo.git.line_changes import CommitLines
    from memrepo.model import Entry
    from memrepo.sessions import Session
    from memrepo.store.records import Event

READ = "read"
"""The event of a read, as `memrepo.attribution` counts it: a test compares them."""
FACT_SOURCES = ("user", "agent", "inbox")
LEDGER_DAYS = 30
"""After so many days the ledger may have forgotten sessions that only read."""

_WRITING = frozenset({Origin.AGENT_TOOL, Origin.CLI, Origin.MEMORY_HUB})
_ALIKE = 0.7
_GRAM = 3


class TaskSeen(NamedTuple):
    """A task: when it was first heard of, and whether its agent ever read the repo."""

    at: dt.datetime
    has_read: bool


class Sizes(NamedTuple):
    """What the folder held at the end of a week: Markdown files, entries in them, bytes, and those of MEMORY.md."""

    files: int = 0
    entries: int = 0
    size_bytes: int = 0
    memory_file_bytes: int = 0


@dataclass(slots=True)
class Week:
    """What happened in a week, which starts on a Monday. `is_whole` False: older tasks may be missing from `tasks`.

    `facts` are those that were remembered, by who said them or that they wait in the inbox; `origins` all new entries
    by the trailer of their commit.
    """

    start: dt.date
    is_whole: bool = True
    tasks: int = 0
    tasks_reading: int = 0
    facts: Counter[str] = field(default_factory=Counter)
    origins: Counter[str] = field(default_factory=Counter)
    promoted: int = 0
    discarded: int = 0
    corrections: int = 0
    repeated: int = 0
    sizes: Sizes = field(default_factory=Sizes)

    @property
    def facts_per_10_tasks(self) -> dict[str, float | None]:
        """Facts for each ten tasks; None in a week without a task."""
        return {name: round(10 * self.facts[name] / self.tasks, 1) if self.tasks else None for name in FACT_SOURCES}

    @property
    def read_share(self) -> float | None:
        """The share of tasks that read the repo; None in a week without a task."""
        return round(self.tasks_reading / self.tasks, 3) if self.tasks else None


def compute_weeks(
    commits: Iterable[CommitLines],
    tasks: Mapping[str, TaskSeen],
    events: Iterable[Event],
    *,
    now: dt.datetime,
    count: int,
    find_sizes: Callable[[str], Sequence[tuple[str, int]]],
) -> tuple[Week, ...]:
    """The last `count` weeks, this one last. `commits` come oldest first, from the beginning: what a correction repeats
    may be older than the weeks; `find_sizes` gives the files of a commit, and is asked once a week."""
    zone = now.tzinfo
    this_week = _monday(now.date())
    starts = [this_week - dt.timedelta(weeks=back) for back in reversed(range(count))]
    whole_from = now.date() - dt.timedelta(days=LEDGER_DAYS)
    weeks = {start: Week(start, is_whole=start >= whole_from) for start in starts}
    for seen in tasks.values():
        if week := weeks.get(_monday(seen.at.astimezone(zone).date())):
            week.tasks += 1
            week.tasks_reading += seen.has_read
    known: list[frozenset[str]] = []
    entries = 0
    last: dict[dt.date, tuple[str, int]] = {}
    for commit in commits:
        added, removed = _find_entries(commit)
        entries += len(added) - len(removed)
        start = _monday(commit.at.astimezone(zone).date())
        last[start] = (commit.id, entries)
        week = weeks.get(start)
        if week is not None:
            _count_commit(week, commit, added, removed, known)
        known += [_grams(entry.text) for _, entry in added]
    for event in events:
        week = weeks.get(_monday(dt.datetime.fromtimestamp(event.at_ms / 1000, zone).date()))
        if week is not None and event.name == REPEATED:
            week.corrections += event.amount
            week.repeated += event.amount
    for start, week in weeks.items():
        before = [one for one in last if one <= start]
        if before:
            commit_id, number = last[max(before)]
            week.sizes = _measure(find_sizes(commit_id), number)
    return tuple(weeks.values())


def find_tasks(
    sessions: Iterable[Session], commits: Iterable[CommitLines], events: Iterable[Event]
) -> dict[str, TaskSeen]:
    """The tasks that anything tells of: the ledger's sessions, agents' commits, and counted reads. A sub-agent's
    session is no task of its own; what it read, its task has read."""
    all_sessions = list(sessions)
    by_key = {one.key: one for one in all_sessions}
    owners = {one.id: _find_owner(one, by_key) for one in all_sessions}
    found: dict[str, TaskSeen] = {}

    def see(task_id: str, at: dt.datetime, *, has_read: bool) -> None:
        name = owners.get(task_id, task_id)
        before = found.get(name, TaskSeen(at, has_read=False))
        found[name] = TaskSeen(min(before.at, at), before.has_read or has_read)

    for session in all_sessions:
        see(session.id, _from_ms(session.first_at_ms), has_read=session.has_read_memory)
    for commit in commits:
        if commit.task and commit.origin == Origin.AGENT_TOOL:
            see(commit.task, commit.at, has_read=False)
    for event in events:
        if event.task_id and event.name == READ and set(event.detail) != {"block"}:
            see(event.task_id, _from_ms(event.at_ms), has_read=True)
    return found


def _count_commit(
    week: Week,
    commit: CommitLines,
    added: Sequence[tuple[str, Entry]],
    removed: Sequence[tuple[str, Entry]],
    known: Sequence[frozenset[str]],
) -> None:
    gone = {content_hash(entry.text) for _, entry in removed}
    come = {content_hash(entry.text): path for path, entry in added}
    new = [(path, entry) for path, entry in added if content_hash(entry.text) not in gone]
    week.origins[commit.origin or "unknown"] += len(new)
    if commit.origin in _WRITING and commit.subject.startswith("Remember"):
        for path, entry in new:
            by = "user" if entry.by is Author.USER else "agent"
            week.facts["inbox" if path == INBOX_FILE else by] += 1
            if entry.value("kind") == Kind.CORRECTION:
                week.corrections += 1
                week.repeated += _is_alike(_grams(entry.text), known)
    if commit.subject.startswith("Edit"):
        return
    for path, entry in removed:
        if path == INBOX_FILE:
            target = come.get(content_hash(entry.text))
            week.promoted += target is not None and target != INBOX_FILE
            week.discarded += target is None


def _find_entries(commit: CommitLines) -> tuple[list[tuple[str, Entry]], list[tuple[str, Entry]]]:
    """The entries that a commit added and removed, each with its file; not those by which files name workspaces."""
    found: tuple[list[tuple[str, Entry]], list[tuple[str, Entry]]] = ([], [])
    for line in commit.lines:
        if line.path.lower().endswith(".md") and not line.path.startswith(f"{SWARMS_FOLDER}/"):
            entry = parse_bullet(line.text)
            if entry is not None and not is_naming_entry(entry):
                found[not line.is_added].append((line.path, entry))
    return found


def _measure(files: Sequence[tuple[str, int]], entries: int) -> Sizes:
    markdown = {
        path: size for path, size in files if path.lower().endswith(".md") and not path.startswith(f"{SWARMS_FOLDER}/")
    }
    return Sizes(len(markdown), entries, sum(markdown.values()), markdown.get(MEMORY_FILE, 0))


def _find_owner(session: Session, by_key: Mapping[str, Session]) -> str:
    seen = {session.key}
    while session.parent and session.parent in by_key and session.parent not in seen:
        session = by_key[session.parent]
        seen.add(session.key)
    return session.id


def _is_alike(grams: frozenset[str], known: Iterable[frozenset[str]]) -> bool:
    """Whether a text says nearly what an earlier one said: most groups of three characters are in both."""
    return any(len(grams & other) >= _ALIKE * len(grams | other) for other in known)


def _grams(text: str) -> frozenset[str]:
    plain = " ".join(text.casefold().split()).rstrip(".!?")
    return frozenset(plain[at : at + _GRAM] for at in range(max(1, len(plain) - _GRAM + 1)))


def _monday(day: dt.date) -> dt.date:
    return day - dt.timedelta(days=day.weekday())


def _from_ms(at_ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)
