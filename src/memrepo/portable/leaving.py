"""Making an export: what the folder, its history and the private store hold at one moment, in one new place.

Read under the write lock, so that no write is cut in half; a folder that may not be written is read without it. Hand
edits that are in no commit yet are exported as they stand. Nothing of the memory is changed, but that a write which a
killed process left is finished first, as every writer does.
"""

from __future__ import annotations

import stat
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import ConfigRefused, Conflict, DiskFault, MemrepoError, PathRefused
from memrepo.files.atomic import read_file
from memrepo.files.folder import TEMPORARY_NAME
from memrepo.files.paths import check_repo_path, scan_markdown
from memrepo.git.bundle import create_bundle, list_paths, list_tree_files
from memrepo.git.status import classify
from memrepo.journal import read_replayed
from memrepo.portable.containers import Form, require_new, write_container
from memrepo.portable.package import (
    FILE_LIMIT_BYTES,
    FILES,
    HISTORY,
    MANIFEST,
    PRIVATE_MEMBERS,
    README,
    SETTINGS,
    TOTAL_LIMIT_BYTES,
    History,
    Manifest,
    describe_member,
    find_path_fault,
    find_tree_fault,
    write_lines,
    write_manifest,
)
from memrepo.store.shelves import SHELF_NAMES
from memrepo.writer import WriteSession

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.git.client import GitClient
    from memrepo.lock import WriteLock
    from memrepo.model import RepoPath
    from memrepo.store import PrivateStore
    from memrepo.store.transfer import StoreCopy

LOCK_WAIT_S = 5.0
_READ_ONLY = frozenset({"EROFS", "EACCES", "EPERM"})
_UNFOLLOWED = (".gitignore", ".gitattributes")

_GUIDE = """\
This is a memory that memrepo exported. All of it can be read without memrepo.

files/            the memory itself: Markdown, one fact per line, and what else stood in the folder
history.bundle    every version of it: git clone history.bundle FOLDER
private/*.jsonl   what never stands in the folder, one JSON object per line; times are milliseconds since 1970
settings.toml     the settings
manifest.json     what is here, with the size and the SHA-256 of each file

To make a memory of it again: memrepo init --from THIS
"""


@dataclass(frozen=True, slots=True)
class Memory:
    """What an export is made from. `git` is None without a history, `store` where there is no private store."""

    root: Path
    git: GitClient | None
    lock: WriteLock
    store: PrivateStore | None
    settings_text: str


@dataclass(frozen=True, slots=True)
class LeaveReport:
    """What was exported: `counts` by kind; `work_tree` is the state of the folder (`clean`, `hand_edits`, …).

    `left_out` are names of the folder that no export may hold, with why. `warnings` say what to know before the memory
    is removed here: above all why the export would not be taken back as it is.
    """

    path: Path
    form: Form
    size_bytes: int
    counts: dict[str, int]
    head: str | None
    work_tree: str
    left_out: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    has_settings: bool


def export_memory(memory: Memory, target: Path, form: Form, *, program: str, now: dt.datetime) -> LeaveReport:
    """Writes all of a memory to a new path in one of three forms.

    Errors: InvalidInput when something is at the path; LockBusy; TooLarge for a file or a history past the limits of an
    export; ConfigRefused, GitFailed, GitTimeout, StoreFault, DiskFault. Then nothing is at the path.
    """
    require_new(target)
    with _holding_still(memory) as warnings:
        members, manifest, faults = _collect(memory, program=program, now=now, with_history=form is not Form.JSON)
    members = {MANIFEST: write_manifest(manifest), **members}
    size_bytes = write_container(target, form, members, at=now)
    return LeaveReport(
        path=target,
        form=form,
        size_bytes=size_bytes,
        counts=dict(manifest.counts),
        head=manifest.history.head if manifest.history else None,
        work_tree=manifest.work_tree,
        left_out=manifest.left_out,
        warnings=(*warnings, *faults),
        has_settings=SETTINGS in members,
    )


@contextmanager
def _holding_still(memory: Memory) -> Iterator[list[str]]:
    """Keeps writers out while a memory is read; yields what is to be said of how it stood.

    Where the lock cannot be written (a disk mounted read-only) nobody writes either, but for other machines: then HEAD
    must be the same before and after.
    """
    warnings: list[str] = []
    with ExitStack() as held:
        is_held = True
        try:
            held.enter_context(memory.lock.hold(timeout_s=LOCK_WAIT_S))
        except DiskFault as fault:
            if fault.facts.get("errno_name") not in _READ_ONLY:
                raise
            is_held = False
        if is_held:
            warnings += _finish_cut_off(memory)
        before = memory.git.head() if memory.git else None
        yield warnings
        if not is_held and before != (memory.git.head() if memory.git else None):
            raise Conflict("the memory changed while it was read; nothing was written", hint="run the command again")


def _finish_cut_off(memory: Memory) -> list[str]:
    """Finishes the write of a killed process; says why when that cannot be done now."""
    try:
        WriteSession(memory.root, git=memory.git, tell=lambda _: None).recover()
    except ConfigRefused:
        raise
    except MemrepoError as error:
        return [f"a write that was cut off is not in the export: {error.message}"]
    return []


def _collect(
    memory: Memory, *, program: str, now: dt.datetime, with_history: bool
) -> tuple[dict[str, bytes], Manifest, list[str]]:
    """The members of an export, what its manifest says, and what is to be said of it."""
    warnings: list[str] = []
    files, executables, left_out = _read_files(memory)
    members: dict[str, bytes] = {README: _GUIDE.encode()}
    members |= {FILES + path: data for path, data in files.items()}
    history, work_tree = _describe_history(memory)
    if history is not None and memory.git is not None:
        if fault := find_tree_fault(list_tree_files(memory.git, history.head)) or find_path_fault(list(files)):
            warnings.append(f"memrepo init --from would refuse it: {fault[1]}")
        if with_history:
            members[HISTORY] = create_bundle(memory.git, limit_bytes=TOTAL_LIMIT_BYTES)
        else:
            history = None
    elif fault := find_path_fault(list(files)):
        warnings.append(f"memrepo init --from would refuse it: {fault[1]}")
    copy = _read_store(memory)
    counts = dict.fromkeys(SHELF_NAMES, 0) | {"files": len(files), "commits": history.commits if history else 0}
    if copy is not None:
        warnings += [f"not exported: {why}" for why in copy.left]
        members |= {PRIVATE_MEMBERS[name]: write_lines(rows) for name, rows in copy.rows.items()}
        counts |= {name: len(rows) for name, rows in copy.rows.items()}
    if memory.settings_text:
        members[SETTINGS] = memory.settings_text.encode()
    manifest = Manifest(
        created_at=now,
        program=program,
        members=tuple(
            describe_member(name, data, is_executable=name.removeprefix(FILES) in executables)
            for name, data in members.items()
        ),
        history=history,
        counts=counts,
        last_ids=copy.last_ids if copy else {},
        work_tree=work_tree,
        left_out=left_out,
    )
    return members, manifest, warnings


def _read_files(memory: Memory) -> tuple[dict[RepoPath, bytes], set[str], tuple[tuple[str, str], ...]]:
    """The files of the folder as they stand, which of them may be run, and what is left out with why."""
    scan = scan_markdown(memory.root)
    names = set(map(str, scan.paths))
    left_out = dict(scan.skipped)
    if memory.git is not None:
        names |= set(list_paths(memory.git))
    else:
        names |= {name for name in _UNFOLLOWED if (memory.root / name).is_file()}
    files: dict[RepoPath, bytes] = {}
    executables: set[str] = set()
    for name in sorted(names):
        if TEMPORARY_NAME.fullmatch(name.rpartition("/")[2]):
            continue
        try:
            path = check_repo_path(name.rstrip("/"))
            data = read_file(memory.root, path, limit_bytes=FILE_LIMIT_BYTES).data
        except PathRefused as refused:
            left_out.setdefault(_printable(name), refused.message)
            continue
        if data is None:  # removed by hand, and in no commit yet
            continue
        files[path] = data
        if (memory.root / path).lstat().st_mode & stat.S_IXUSR:
            executables.add(path)
    return files, executables, tuple(sorted((_printable(name), why) for name, why in left_out.items()))


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


def _describe_history(memory: Memory) -> tuple[History | None, str]:
    """Where the history stands, None without a commit; and the state of the work tree by its name."""
    if memory.git is None:
        return None, "no_history"
    state = classify(memory.git.status(), memory.git.memory_branch).state
    head = memory.git.head()
    if head is None:
        return None, str(state)
    return History(head, memory.git.current_branch(), memory.git.count_commits()), str(state)


def _read_store(memory: Memory) -> StoreCopy | None:
    if memory.store is None:
        return None
    from memrepo.store.transfer import read_rows

    return read_rows(memory.store, root=str(memory.root), done_keys=read_replayed(memory.root / ".git"))
