"""What each page shows: a repo and a query in, the values of a template out. Blocking; changes nothing.

One function per page. Whatever is long is cut into pages here, so that no browser is ever handed 10,000 rows.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from memrepo.errors import MemrepoError, NotFound
from memrepo.files.paths import check_repo_path
from memrepo.format.refs import parse_ref
from memrepo.model import INBOX_FILE, LESSONS_FILE, ME_FILE, Author, Kind, Origin, Scope, TaskContext
from memrepo.policy.writing import Destination, choose_file
from memrepo.surfaces.hub.catalog import list_known
from memrepo.surfaces.hub.showing import (
    count,
    name_file,
    read_diff,
    show_commit,
    show_entries,
    show_entry,
)
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memrepo.app import MemoryRepo
    from memrepo.model import RepoPath
    from memrepo.reading import LocatedEntry
    from memrepo.recall import Hit
    from memrepo.surfaces.hub.catalog import Catalog, HeldFile
    from memrepo.surfaces.hub.showing import ShownEntry

Values = dict[str, Any]

USER = TaskContext.for_user(origin=Origin.MEMORY_HUB)
"""The task of a person at the Hub."""

PAGE_ENTRIES = 50
PAGE_COMMITS = 50
FILES_MOST = 300
COMMITS_MOST = 5_000
_RELATED = 8
_HITS_MOST = 40
_RECENT = 10
_LEAST_QUERY = 2
KINDS = tuple(kind for kind in Kind if kind not in {Kind.ERROR, Kind.NOTE, Kind.OUTCOME, Kind.COMMITMENT})


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a long list is shown: numbers count from 1."""

    number: int
    first: int
    last: int
    total: int

    @property
    def has_more(self) -> bool:
        """Whether something comes after."""
        return self.last < self.total


def cut(total: int, query: Mapping[str, str], size: int = PAGE_ENTRIES) -> Page:
    """The part that `page` of a query asks for; what is no page is the nearest one."""
    last_page = max(1, -(-total // size))
    asked = query.get("page", "1")
    number = min(max(int(asked) if asked.isdecimal() and len(asked) < 7 else 1, 1), last_page)
    return Page(number, min((number - 1) * size + 1, total), min(number * size, total), total)


# What it knows


def show_known(repo: MemoryRepo, catalog: Catalog, query: Mapping[str, str]) -> Values:
    """Files and entries, filtered. What else a text may mean is `show_related`, which may take longer."""
    files = list_known(catalog.look(repo))
    wanted, by, text = query.get("file", ""), query.get("by", ""), query.get("q", "").strip()
    chosen = [held for held in files if held.path == wanted] if wanted else files
    if wanted and not chosen:
        raise NotFound(f"there is no file {wanted}", hint="choose one of the list", what="file", name=wanted)
    found = [located for held in chosen for located in _filter(held, text.casefold(), by)]
    page = cut(len(found), query)
    shown = found[page.first - 1 : page.last] if found else []
    groups = _group(show_entries(shown), {str(held.path): held for held in files})
    return {
        "files": [_describe_file(held) for held in files[:FILES_MOST]],
        "more_files": max(0, len(files) - FILES_MOST),
        "files_with_entries": sum(1 for held in files if held.entries),
        "total": sum(len(held.entries) for held in files),
        "groups": groups,
        "page": page,
        "query": {"file": wanted, "by": by if by in set(Author) else "", "q": text},
        "file_title": chosen[0].title if wanted else "",
        "faults": [{"path": str(held.path), "why": held.fault} for held in chosen if held.fault],
        "kinds": KINDS,
    }


def _filter(held: HeldFile, folded: str, by: str) -> list[LocatedEntry]:
    return [
        located
        for located, text in zip(held.entries, held.folded, strict=True)
        if folded in text and (not by or by == located.entry.by)
    ]


def _group(entries: list[ShownEntry], files: Mapping[str, HeldFile]) -> list[Values]:
    """Entries that follow each other in one section of one file; the first section of a file needs no name."""
    groups: list[Values] = []
    for entry in entries:
        held = files[entry.path]
        section = "" if entry.section == escape_control(held.first_section) else entry.section
        if not groups or (groups[-1]["path"], groups[-1]["section"]) != (entry.path, section):
            groups.append({"path": entry.path, "title": held.title, "section": section, "entries": []})
        groups[-1]["entries"].append(entry)
    return groups


def _describe_file(held: HeldFile) -> Values:
    return {"path": str(held.path), "title": held.title, "count": len(held.entries), "fault": held.fault}


def may_search(query: Mapping[str, str]) -> bool:
    """Whether the text of a query says enough to be searched for."""
    return len(query.get("q", "").strip()) >= _LEAST_QUERY


def search(repo: MemoryRepo, query: Mapping[str, str]) -> tuple[Hit, ...]:
    """What recall finds for the text of a query, the entries that hold it among them."""
    try:
        return repo.recall(query.get("q", "").strip(), USER, limit=_HITS_MOST).hits
    except MemrepoError:  # the entries that hold the text are shown all the same
        return ()


def show_related(_: MemoryRepo, catalog: Catalog, hits: Sequence[Hit], query: Mapping[str, str]) -> list[Values]:
    """The hits that do not hold the text itself; each as the files have it now."""
    folded, wanted = query.get("q", "").strip().casefold(), query.get("file", "")
    files = catalog.files
    rows: list[Values] = []
    for hit in hits:
        held = files.get(hit.file) if hit.file and hit.ref.startswith("repo:") else None
        located = next((one for one in held.entries if str(one.ref) == hit.ref), None) if held else None
        is_listed = located is not None and folded in located.entry.text.casefold() and wanted in ("", hit.file)
        if is_listed or (held is not None and located is None) or len(rows) == _RELATED:
            continue
        rows.append(
            {
                "entry": show_entry(located, prefix=f"r{len(rows)}") if located else None,
                "text": escape_control(hit.text.replace("&lt;", "<").replace("&gt;", ">")),
                "where": name_file(hit.file) if hit.file else "Private store",
                "is_inbox": hit.unreviewed,
            }
        )
    return rows


def find_entry(repo: MemoryRepo, ref: str, text_hash: str = "") -> LocatedEntry:
    """The entry at a ref; with a hash the one that carries it. Errors: NotFound, InvalidInput, PathRefused."""
    wanted = parse_ref(ref)
    check_repo_path(wanted.path)
    there = list(repo.iter_entries([wanted.path])) if wanted.team is None else []
    at_line = [located for located in there if located.ref == wanted]
    same = [located for located in there if located.hash == text_hash]
    if text_hash and not (at_line and at_line[0].hash == text_hash) and len(same) == 1:
        return same[0]
    if at_line:
        return at_line[0]
    raise NotFound("this entry is gone", hint="go back to what memory knows", what="entry", name=ref[:200])


def show_one(repo: MemoryRepo, catalog: Catalog, query: Mapping[str, str]) -> Values:
    """One entry with everything that can be done to it."""
    located = find_entry(repo, query.get("ref", ""), query.get("hash", ""))
    files = catalog.look(repo)
    meta = [(escape_control(key), escape_control(value)) for key, value in located.entry.meta]
    return {
        "entry": show_entry(located),
        "meta": meta,
        "file_title": name_file(located.ref.path),
        "targets": [
            {"path": str(held.path), "title": held.title}
            for held in list_known(files)
            if held.path != located.ref.path and not held.fault
        ],
        "is_inbox": located.ref.path == INBOX_FILE,
    }


# Inbox


def show_inbox(repo: MemoryRepo, catalog: Catalog, query: Mapping[str, str]) -> Values:
    """What agents wrote and nobody has reviewed, with where each would go."""
    held = catalog.look(repo).get(INBOX_FILE)
    found = held.entries if held else ()
    page = cut(len(found), query)
    part = found[page.first - 1 : page.last] if found else ()
    rows = [
        {"entry": entry, "goes_to": _name_goal(repo, located)}
        for entry, located in zip(show_entries(part), part, strict=True)
    ]
    return {"rows": rows, "page": page, "fault": held.fault if held else ""}


def _name_goal(repo: MemoryRepo, located: LocatedEntry) -> str:
    kind, workspace = located.entry.value("kind"), located.entry.value("workspace")
    if workspace:
        known = next((one.name for one in repo.workspaces if one.id == workspace), workspace)
        return escape_control(known)
    destination = choose_file(Kind(kind) if kind in set(Kind) else None, Scope.GLOBAL)
    return name_file(LESSONS_FILE if destination is Destination.LESSONS else ME_FILE)


# Review


def show_review(repo: MemoryRepo, _: Catalog, __: Mapping[str, str]) -> Values:
    """What waits for the person's answer, and what agents changed by themselves of late."""
    requests = [
        {
            "id": request.id,
            "entry": show_entry(request.located) if request.located else None,
            "place": name_file(request.approval.target.removeprefix("repo:")),
            "task": escape_control(request.approval.task_id or ""),
            "at": dt.datetime.fromtimestamp(request.approval.requested_at_ms / 1_000, dt.UTC).astimezone(),
        }
        for request in repo.list_requests()
    ]
    recent = []
    if repo.has_git and not repo.is_missing:
        today = dt.datetime.now().astimezone().date()
        shown = [show_commit(commit, today=today) for commit in repo.history.log(limit=200)]
        recent = [commit for commit in shown if commit.is_agents][:_RECENT]
    return {"requests": requests, "recent": recent}


# History


def show_history(repo: MemoryRepo, _: Catalog, query: Mapping[str, str]) -> Values:
    """The timeline, newest first, by day; `show` says how many."""
    asked = query.get("show", "")
    limit = min(int(asked), COMMITS_MOST) if asked.isdecimal() and len(asked) < 7 and int(asked) else PAGE_COMMITS
    if not repo.has_git:
        return {"has_git": False, "days": [], "more": 0, "unsaved": []}
    commits = repo.history.log(limit=limit + 1)
    today = dt.datetime.now().astimezone().date()
    days: list[Values] = []
    for commit in commits[:limit]:
        shown = show_commit(commit, today=today)
        if not days or days[-1]["day"] != shown.day:
            days.append({"day": shown.day, "commits": []})
        days[-1]["commits"].append(shown)
    more = limit + PAGE_COMMITS if len(commits) > limit and limit < COMMITS_MOST else 0
    return {"has_git": True, "days": days, "more": more, "unsaved": read_diff(repo.history.diff())}


def show_change(repo: MemoryRepo, _: Catalog, query: Mapping[str, str]) -> Values:
    """One commit and what it changed. Errors: NotFound."""
    commit, changes = repo.history.get(query.get("id", ""))
    today = dt.datetime.now().astimezone().date()
    return {
        "commit": show_commit(commit, today=today),
        "files": read_diff(repo.history.diff(commit.id)),
        "summary": count(len(changes), "file"),
    }


# Health


def show_health(repo: MemoryRepo, _: Catalog, __: Mapping[str, str]) -> Values:
    """The doctor's rows; which of them the Hub may mend."""
    rows = [asdict(row) | {"status": str(row.status)} for row in repo.check_health()]
    unwell = [row for row in rows if row["status"] in {"WARN", "FAIL"}]
    return {
        "rows": rows,
        "unwell": len(unwell),
        "can_fix": any("doctor --fix" in row["remedy"] and "--foreign" not in row["remedy"] for row in unwell),
        "can_add": any("--foreign" in row["remedy"] for row in unwell),
        "can_ignore": any("ignore" in row["remedy"] for row in unwell),
    }


def name_target(path: RepoPath | str) -> str:
    """A file as a message names it."""
    return f"{name_file(path)} ({escape_control(str(path))})"
