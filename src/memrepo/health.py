"""The doctor: is everything as it should be, and what to do about what is not.

`check_health` only looks. `fix` does what is safe without asking: it removes locks of processes that are gone, sets
damaged files aside (never deleting one), makes a history where git was missing, and replays what waits. What needs a
decision is left to the person, with the command in the row's remedy. Source: memory repo design (seed 1) §9.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memrepo.creation import lacks_history, start_history
from memrepo.errors import (
    ConfigRefused,
    GitFailed,
    GitMissing,
    GitTimeout,
    LockBusy,
    MemrepoError,
    RepositoryFault,
    StoreFault,
)
from memrepo.files.atomic import read_file
from memrepo.files.paths import scan_markdown
from memrepo.format.document import Document
from memrepo.git.gate import find_version
from memrepo.git.index_lock import is_dead, remove_index_lock
from memrepo.git.status import WorkTreeState, classify
from memrepo.journal import read_journal, set_journal_aside
from memrepo.lock import clear_lock, may_live, read_lock
from memrepo.model import ENTRY_LIMIT_CHARS, INBOX_FILE, MARKDOWN_FILES_LIMIT, MEMORY_FILE, Origin
from memrepo.planning.file_draft import limit_of
from memrepo.policy.redaction import redact
from memrepo.sync_state import read_state
from memrepo.writer import BLOCKED

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable
    from pathlib import Path

    from memrepo.keeping import StoreSource
    from memrepo.service import MemoryRepoService
    from memrepo.writer import Writer

FIX = "memrepo doctor --fix"
# Past this share of its limit a file is named before it is full.
_NEARLY_FULL = 0.9


class Status(StrEnum):
    """The verdict of one check."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    WARN = "WARN"
    FAIL = "FAIL"
    SKIP = "SKIP"


class Foreign(StrEnum):
    """What a person decides about files in the folder that are not Markdown."""

    ADD = "add"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class HealthRow:
    """One check: its verdict, what was seen, and the exact next step when there is one."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """What the doctor looks at. `store_file` is None when the store is a server's; `finds_git` looks for a program;
    `teams` are the team repos, each `(name, what is wrong)`.
    """

    root: Path
    writer: Writer
    service: MemoryRepoService
    store: StoreSource
    store_file: Path | None
    finds_git: bool
    now: dt.datetime
    teams: tuple[tuple[str, str], ...] = ()
    is_synced: bool = False
    describe_dreams: Callable[[], tuple[bool, str, str]] = lambda: (True, "nothing was dreamt yet", "")
    """Whether dreams are well, what is seen of them, and the next step: asked of them, who stand beside us."""


def check_health(patient: Patient) -> tuple[HealthRow, ...]:
    """Runs every check, in the order in which a person would mend things. Changes: nothing."""
    if not (patient.root / MEMORY_FILE).exists():
        why = f"there is no {MEMORY_FILE} in {patient.root}"
        return (HealthRow("Memory folder", Status.FAIL, why, "memrepo init"), _check_store(patient))
    checks: tuple[Callable[[Patient], HealthRow], ...] = (
        _check_folder,
        _check_git,
        _check_config,
        _check_lock,
        _check_journal,
        _check_work_tree,
        _check_limits,
        _check_files,
        _check_secrets,
        _check_inbox,
        _check_pending,
        _check_store,
        _check_team_memory,
        _check_memory_folder_sync,
        _check_dreams,
    )
    return tuple(_guard(check, patient) for check in checks)


def fix(patient: Patient, *, foreign: Foreign | None = None) -> tuple[str, ...]:
    """Mends what is safe to mend and says what it did; `foreign` decides about files that are not Markdown.

    Changes: see the module. Errors: those of a write.
    """
    done: list[str] = []
    holder = read_lock(patient.writer.git_folder)
    if holder is not None and not may_live(holder) and clear_lock(patient.writer.git_folder, holder):
        done.append(f"removed the write lock of process {holder.pid}, which is gone")
    try:
        read_journal(patient.writer.git_folder)
    except RepositoryFault:
        done.append(f"set the damaged write journal aside as .git/{set_journal_aside(patient.writer.git_folder)}")
    if patient.finds_git and lacks_history(patient.root):
        start_history(patient.root, origin=Origin.CLI)
        done.append("git was found: the folder has a history from now on")
    git = patient.writer.git
    if git is not None and (lock := git.status().index_lock) is not None and is_dead(lock, now=patient.now):
        remove_index_lock(lock)
        done.append("removed the index lock of a git that is gone")
    done += _fix_store(patient)
    if git is not None and foreign is not None:
        verb = "ignored from now on" if foreign is Foreign.IGNORE else "added to the history"
        settled = patient.writer.settle_foreign(ignore=foreign is Foreign.IGNORE)
        done += [f"{path}: {verb}" for path in settled]
    try:
        replayed = patient.service.replay_pending()
    except (RepositoryFault, LockBusy):
        replayed = 0  # the rows that follow say why the repo takes no write
    if replayed:
        done.append(f"wrote {replayed} {'fact that was' if replayed == 1 else 'facts that were'} waiting")
    return tuple(done)


def _fix_store(patient: Patient) -> list[str]:
    """Sets a damaged store aside and takes over what can still be read of it; a busy or foreign one is left alone."""
    from memrepo.store import check_store, salvage_store, set_store_aside

    place = patient.store_file
    if place is None or not check_store(place).is_damaged:
        return []
    aside = set_store_aside(place, patient.now.strftime("%Y%m%dT%H%M%S"))
    done = [f"set the damaged private store aside as {aside}"]
    rows = sum(salvage_store(aside, patient.store.get()).values())
    if rows:
        done.append(f"took over {rows} {'fact' if rows == 1 else 'facts'} that the damaged store still held")
    return done


def _guard(check: Callable[[Patient], HealthRow], patient: Patient) -> HealthRow:
    """A check that meets a fault says so in its row; the others still run."""
    try:
        return check(patient)
    except MemrepoError as error:
        name = check.__name__.removeprefix("_check_").replace("_", " ").capitalize()
        return HealthRow(name, Status.FAIL, error.message, error.hint)


def _check_folder(patient: Patient) -> HealthRow:
    scan = scan_markdown(patient.root)
    count = len(scan.paths)
    detail = f"{patient.root}, {count} Markdown files"
    if count > MARKDOWN_FILES_LIMIT:
        return HealthRow(
            "Memory folder", Status.WARN, f"{detail}; the limit is {MARKDOWN_FILES_LIMIT}", "merge some files"
        )
    return HealthRow("Memory folder", Status.PASS, detail)


def _check_git(patient: Patient) -> HealthRow:
    if not patient.finds_git:
        return HealthRow("Git", Status.WARN, "git not found: memory has no history", f"install git, then: {FIX}")
    if patient.writer.git is None:
        return HealthRow("Git", Status.WARN, "the folder was made without git: memory has no history", FIX)
    version = find_version(patient.root)
    return HealthRow("Git", Status.PASS, "git " + ".".join(map(str, version or ())))


def _check_config(patient: Patient) -> HealthRow:
    git = patient.writer.git
    if git is None:
        return HealthRow("Git configuration", Status.SKIP, "no git")
    try:
        git.check()
    except (ConfigRefused, GitMissing) as error:
        return HealthRow("Git configuration", Status.FAIL, error.message, error.hint)
    return HealthRow("Git configuration", Status.PASS, "no setting runs a program or redirects traffic")


def _check_lock(patient: Patient) -> HealthRow:
    holder = read_lock(patient.writer.git_folder)
    if holder is None:
        return HealthRow("Write lock", Status.PASS, "free")
    held = f"held by process {holder.pid} ({holder.runtime}) since {holder.since}"
    if may_live(holder):
        return HealthRow("Write lock", Status.PASS, held)
    return HealthRow("Write lock", Status.WARN, f"{held}; that process is gone", FIX)


def _check_journal(patient: Patient) -> HealthRow:
    record = read_journal(patient.writer.git_folder)
    if record is None:
        return HealthRow("Unfinished write", Status.PASS, "none")
    files = ", ".join(change.path for change in record.changes)
    return HealthRow(
        "Unfinished write", Status.WARN, f"a write to {files} was cut off; the next write finishes it", FIX
    )


def _check_work_tree(patient: Patient) -> HealthRow:
    git = patient.writer.git
    if git is None:
        return HealthRow("Work tree", Status.SKIP, "no git")
    try:
        verdict = classify(git.status(), git.memory_branch)
    except (GitFailed, GitTimeout, ConfigRefused) as error:
        return HealthRow("Work tree", Status.FAIL, error.message, error.hint)
    named = ", ".join(verdict.paths[:3]) + (" …" if len(verdict.paths) > 3 else "")
    if verdict.state is WorkTreeState.CLEAN:
        return HealthRow("Work tree", Status.PASS, "clean")
    if verdict.state is WorkTreeState.HAND_EDITS:
        return HealthRow("Work tree", Status.PASS, f"hand edits in {named}; the next write takes them in")
    why, remedy = BLOCKED[verdict.state]
    return HealthRow("Work tree", Status.WARN, f"{why}: {named}" if named else why, remedy)


def _check_limits(patient: Patient) -> HealthRow:
    over: list[str] = []
    near: list[str] = []
    for path in scan_markdown(patient.root).paths:
        data = read_file(patient.root, path).data or b""
        if len(data) > limit_of(path):
            over.append(f"{path} has {len(data)} bytes of {limit_of(path)}")
        elif len(data) > _NEARLY_FULL * limit_of(path):
            near.append(f"{path} has {len(data)} bytes of {limit_of(path)}")
        over += [
            f"{path}:{entry.line} has {len(entry.text)} characters of {ENTRY_LIMIT_CHARS}"
            for entry in Document.parse(data).entries
            if len(entry.text) > ENTRY_LIMIT_CHARS
        ]
    if not over and not near:
        return HealthRow("Limits", Status.PASS, "every file and entry is within its limit")
    return HealthRow("Limits", Status.WARN, _some(over or near), "move or forget entries: memrepo move, memrepo forget")


def _check_files(patient: Patient) -> HealthRow:
    skipped = scan_markdown(patient.root).skipped
    if not skipped:
        return HealthRow("Files", Status.PASS, "every Markdown file is read")
    rows = [f"{name} ({why})" for name, why in skipped]
    return HealthRow("Files", Status.WARN, f"not read: {_some(rows)}", "rename them or take them out of the folder")


def _check_secrets(patient: Patient) -> HealthRow:
    found: list[str] = []
    for path in scan_markdown(patient.root).paths:
        data = read_file(patient.root, path).data or b""
        for entry in Document.parse(data).entries:
            kinds = redact(entry.text).kinds
            if kinds:
                found.append(f"{path}:{entry.line} ({', '.join(kinds)})")
    if not found:
        return HealthRow("Secrets", Status.PASS, "none found in any entry")
    remedy = "edit or forget the lines, then: memrepo compact"
    return HealthRow("Secrets", Status.WARN, f"written by hand, hidden from agents: {_some(found)}", remedy)


def _check_inbox(patient: Patient) -> HealthRow:
    data = read_file(patient.root, INBOX_FILE).data
    count = len(Document.parse(data).entries) if data else 0
    if not count:
        return HealthRow("Inbox", Status.PASS, "empty")
    return HealthRow("Inbox", Status.PASS, f"{count} {'entry waits' if count == 1 else 'entries wait'} for your review")


def _check_pending(patient: Patient) -> HealthRow:
    store = patient.store.find()
    if store is None:
        return HealthRow("Pending writes", Status.PASS, "none")
    count = store.pending.count(str(patient.root))
    if not count:
        return HealthRow("Pending writes", Status.PASS, "none")
    waiting = store.pending.list(str(patient.root))
    why = next(
        (row.last_error or row.detail for row in reversed(waiting) if row.last_error or row.detail), "unreadable"
    )
    return HealthRow("Pending writes", Status.WARN, f"{count} kept in the private store; the last: {why}", FIX)


def _check_store(patient: Patient) -> HealthRow:
    from memrepo.store import check_store

    place = patient.store_file
    if place is not None and not place.exists():
        return HealthRow("Private store", Status.SKIP, "nothing was kept yet")
    if place is not None and not (health := check_store(place)).is_whole:
        remedy = f"{FIX} sets it aside, keeps it and takes over what it still holds" if health.is_damaged else ""
        return HealthRow("Private store", Status.FAIL, health.why, remedy)
    try:
        patient.store.get()
    except StoreFault as error:
        return HealthRow("Private store", Status.FAIL, error.message, error.hint)
    return HealthRow("Private store", Status.PASS, str(place) if place else "reachable")


def _check_team_memory(patient: Patient) -> HealthRow:
    if not patient.teams:
        return HealthRow("Team memory", Status.SKIP, "no team repos (memrepo team add FOLDER)")
    bad = [f"{name}: {why}" for name, why in patient.teams if why]
    if not bad:
        return HealthRow("Team memory", Status.PASS, f"read: {', '.join(name for name, _ in patient.teams)}")
    return HealthRow(
        "Team memory", Status.WARN, f"not read: {_some(bad)}", "memrepo team list; memrepo team remove NAME"
    )


def _check_memory_folder_sync(patient: Patient) -> HealthRow:
    name = "Memory folder sync"
    if not patient.is_synced:
        return HealthRow(name, Status.SKIP, "off")
    state = read_state(patient.writer.git_folder)
    if state.pause is not None:
        why = f"paused since {state.pause.since}: {state.pause.message}"
        return HealthRow(name, Status.WARN, why, state.pause.hint)
    if state.failure is not None and _is_long_ago(state.failure.since, patient.now):
        why = f"fails since {state.failure.since}: {state.failure.message}"
        return HealthRow(name, Status.WARN, why, state.failure.hint)
    if state.last_pull_at is None:
        return HealthRow(name, Status.PASS, "on; not synced yet")
    pushed = f", last push {state.last_push_at}" if state.last_push_at else ""
    later = f"; the last try failed: {state.failure.message}" if state.failure is not None else ""
    return HealthRow(name, Status.PASS, f"last pull {state.last_pull_at}{pushed}{later}")


def _is_long_ago(since: str, now: dt.datetime) -> bool:
    """Whether a failure lasts for more than a day; a time that cannot be read counts as long ago."""
    import datetime as dt

    try:
        return now - dt.datetime.fromisoformat(since) > dt.timedelta(days=1)
    except (ValueError, TypeError):
        return True


def _check_dreams(patient: Patient) -> HealthRow:
    is_well, detail, remedy = patient.describe_dreams()
    return HealthRow("Dreams", Status.PASS if is_well else Status.WARN, detail, remedy)


def _some(rows: list[str]) -> str:
    return "; ".join(rows[:3]) + (f"; and {len(rows) - 3} more" if len(rows) > 3 else "")
