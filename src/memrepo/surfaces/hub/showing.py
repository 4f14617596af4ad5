"""Values of memory as a page shows them. Pure; templates escape, this only chooses words.

Secrets are hidden here as everywhere where text leaves the repo, and control characters are made visible.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.model import INBOX_FILE, LESSONS_FILE, ME_FILE, MEMORY_FILE, WORKSPACES_FOLDER, Author, WriteStatus
from memrepo.policy.redaction import redact
from memrepo.policy.sanitizing import reveal_text
from memrepo.service import SUBJECT_CHARS
from memrepo.surfaces.present import escape_control, format_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memrepo.git.commits import Commit
    from memrepo.model import RepoPath, WriteResult
    from memrepo.reading import LocatedEntry

TASK_LINK = "cowork://tasks/"
_TITLES: Mapping[str, str] = {
    MEMORY_FILE: "Always in view",
    ME_FILE: "About you",
    LESSONS_FILE: "Lessons",
    INBOX_FILE: "Inbox",
}
_ORIGINS: Mapping[str | None, str] = {
    "agent_tool": "Agent",
    "memory_hub": "You, in the Hub",
    "cli": "You, on the command line",
    "hand_edit": "You, by hand",
    "export": "Export",
    "import": "Import",
    "dream": "Dream",
    "swarm": "Swarm",
}
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
DIFF_LIMIT_LINES = 2_000


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """One entry. `id` is unique on its page and stays while the text does.

    `text` is for looking at: what is invisible in it can be seen. `plain` is for editing: what no entry may hold is
    taken out. Both are without secrets; `hidden` are the kinds of those.
    """

    id: str
    ref: str
    path: str
    line: int
    hash: str
    text: str
    plain: str
    is_agents: bool
    kind: str
    subject: str
    added: str
    source: str
    section: str
    workspace: str
    hidden: tuple[str, ...]
    is_pinned: bool


def show_entries(found: Iterable[LocatedEntry]) -> list[ShownEntry]:
    """Entries in their order."""
    seen: dict[str, int] = {}
    return [_show_entry(located, seen, "e") for located in found]


def show_entry(located: LocatedEntry, *, prefix: str = "e") -> ShownEntry:
    """One entry by itself; its id begins with the prefix."""
    return _show_entry(located, {}, prefix)


def _show_entry(located: LocatedEntry, seen: dict[str, int], prefix: str) -> ShownEntry:
    entry, ref = located.entry, located.ref
    clean = redact(entry.text)
    name = f"{prefix}-{located.hash[:16]}"
    seen[name] = seen.get(name, 0) + 1
    return ShownEntry(
        id=name if seen[name] == 1 else f"{name}-{seen[name]}",
        ref=str(ref),
        path=str(ref.path),
        line=ref.line,
        hash=located.hash,
        text=escape_control(clean.text),
        plain=reveal_text(entry.text),
        is_agents=entry.by is Author.AGENT,
        kind=_show_value(entry.value("kind")).replace("_", " "),
        subject=_show_value(entry.value("subject")),
        added=_show_value(entry.value("added")),
        source=show_source(entry.value("source")),
        section=escape_control(entry.section),
        workspace=_show_value(entry.value("workspace")),
        hidden=tuple(clean.kinds),
        is_pinned=ref.path == MEMORY_FILE,
    )


def show_source(source: str | None) -> str:
    """Where an entry came from, as the rest of "from …"."""
    value = _show_value(source)
    return f"task {value.removeprefix(TASK_LINK)}" if value.startswith(TASK_LINK) else value


def _show_value(value: str | None) -> str:
    return escape_control(redact(value or "").text)


def name_file(path: RepoPath | str) -> str:
    """What a person calls a file."""
    if path in _TITLES:
        return _TITLES[path]
    name = str(path).removesuffix(".md").removeprefix(f"{WORKSPACES_FOLDER}/")
    return escape_control(name)


def order_files(paths: Iterable[RepoPath]) -> list[RepoPath]:
    """Files as the Hub lists them: what is always in view first, then the user, lessons, workspaces, the rest."""
    first = list(_TITLES)

    def rank(path: RepoPath) -> tuple[int, str]:
        if path in _TITLES:
            return first.index(path), path
        return (len(first) if path.startswith(f"{WORKSPACES_FOLDER}/") else len(first) + 1), path

    return sorted(paths, key=rank)


@dataclass(frozen=True, slots=True)
class ShownCommit:
    """One commit. `at` is in local time; `day` groups a timeline."""

    id: str
    short_id: str
    at: dt.datetime
    day: str
    time: str
    subject: str
    origin: str
    is_agents: bool
    task: str
    is_first: bool


def show_commit(commit: Commit, *, today: dt.date) -> ShownCommit:
    """A commit as the timeline shows it."""
    at = commit.at.astimezone()
    return ShownCommit(
        id=commit.id,
        short_id=commit.id[:10],
        at=at,
        day=_name_day(at.date(), today),
        time=f"{at:%H:%M}",
        subject=_show_subject(commit.subject),
        origin=_ORIGINS.get(commit.origin, escape_control(commit.origin or "Another program")),
        is_agents=commit.origin in {"agent_tool", "dream", "swarm"},
        task=escape_control(commit.task or ""),
        is_first=not commit.parents,
    )


def _show_subject(subject: str) -> str:
    """A commit's subject; the text in it was cut where it is as long as it may be."""
    is_cut = len(subject.partition(": ")[2]) == SUBJECT_CHARS
    return escape_control(redact(subject).text) + ("…" if is_cut else "")


def _name_day(day: dt.date, today: dt.date) -> str:
    if day == today:
        return "Today"
    if day == today - dt.timedelta(days=1):
        return "Yesterday"
    return f"{day:%A}, {day.day} {day:%B %Y}"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff: `kind` is `added`, `removed`, `same` or `gap` (lines between were not changed)."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class DiffFile:
    """What a commit did to one file."""

    path: str
    lines: tuple[DiffLine, ...]
    is_cut: bool = False


def read_diff(data: bytes) -> list[DiffFile]:
    """Reads git's unified diff into files and lines; without its head lines, and not past a limit."""
    files: list[tuple[str, list[DiffLine]]] = []
    in_hunk = False
    total = 0
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.startswith("diff --git "):
            files.append((line.rpartition(" b/")[2].rstrip('"'), []))
            in_hunk = False
        elif not files:
            continue
        elif _HUNK.match(line):
            if files[-1][1]:
                files[-1][1].append(DiffLine("gap", ""))
            in_hunk = True
        elif in_hunk and line[:1] in {"+", "-", " "}:
            total += 1
            if total <= DIFF_LIMIT_LINES:
                kind = {"+": "added", "-": "removed", " ": "same"}[line[0]]
                files[-1][1].append(DiffLine(kind, escape_control(redact(line[1:].rstrip("\r")).text)))
    cut = total > DIFF_LIMIT_LINES
    return [DiffFile(escape_control(path), tuple(lines), cut) for path, lines in files]


def tell_result(result: WriteResult) -> str:
    """What became of one write, as a sentence."""
    said = format_result(result).replace("\n", "; ").replace("repo:", "")
    return f"{said[:1].upper()}{said[1:]}."


def tell_results(done: str, results: Sequence[WriteResult]) -> str:
    """What became of several writes of one kind; what was turned away with why."""
    written = [result for result in results if result.status is WriteStatus.WRITTEN]
    said = [f"{done} {count(len(written), 'entry', 'entries')}."] if written else []
    turned_away = {tell_result(result): None for result in results if result.status is not WriteStatus.WRITTEN}
    return " ".join([*said, *turned_away]) or "Nothing was changed."


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def quote(text: str, limit_chars: int = 60) -> str:
    """A text as a message repeats it."""
    safe = escape_control(redact(text).text)
    return f"“{safe if len(safe) <= limit_chars else safe[: limit_chars - 1].rstrip() + '…'}”"
