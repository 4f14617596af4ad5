"""What a work tree looks like, as frozen values, and the pure decision whether a write may follow.

Owns the reading of `git status --porcelain=v1 -z --branch` and the names of all states (docs/invariants.md). Knows no
disk: what only the disk can tell (operations under way, the index lock, the type of a file) comes in as arguments.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memrepo.errors import RepositoryFault

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable


class WorkTreeState(StrEnum):
    """Every state a work tree can be in for a writer; all but the first two block writing."""

    CLEAN = "clean"
    HAND_EDITS = "hand_edits"
    INDEX_LOCK = "index_lock"
    MERGE = "merge"
    REBASE = "rebase"
    CHERRY_PICK = "cherry_pick"
    REVERT = "revert"
    BISECT = "bisect"
    UNMERGED = "unmerged"
    DETACHED_HEAD = "detached_head"
    OTHER_BRANCH = "other_branch"
    UNTRACKED_FOREIGN = "untracked_foreign"
    FOREIGN_CHANGE = "foreign_change"


class FileType(StrEnum):
    """What stands at a path of the work tree."""

    FILE = "file"
    SYMLINK = "symlink"
    FOLDER = "folder"
    MISSING = "missing"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class WorkTreeEntry:
    """One changed path. `index_code` and `tree_code` are the two letters of `git status` (" ", M, A, D, T, U, ?)."""

    index_code: str
    tree_code: str
    path: str
    file_type: FileType
    old_path: str | None = None

    @property
    def is_untracked(self) -> bool:
        """True when git does not follow the path."""
        return self.index_code == "?"

    @property
    def is_unmerged(self) -> bool:
        """True when a merge left the path undecided."""
        codes = self.index_code + self.tree_code
        return "U" in codes or codes in ("AA", "DD")

    @property
    def is_markdown(self) -> bool:
        """True for a plain file named `*.md` in any case, or for one that is gone; links and folders are not."""
        names = (self.path,) if self.old_path is None else (self.path, self.old_path)
        plain = (FileType.FILE, FileType.MISSING)
        return self.file_type in plain and all(name.lower().endswith(".md") for name in names)

    @property
    def needs_add(self) -> bool:
        """False when the index already holds all of it; naming a staged removal to `git add` would fail."""
        return self.tree_code != " "


@dataclass(frozen=True, slots=True)
class IndexLock:
    """A `.git/index.lock`: some git is writing, or died while it did. git leaves no process id in it."""

    path: str
    modified_at: dt.datetime
    size_bytes: int


@dataclass(frozen=True, slots=True)
class WorkTree:
    """A work tree at one moment. `branch` is None when HEAD is detached; `is_unborn` before the first commit."""

    branch: str | None
    is_unborn: bool
    entries: tuple[WorkTreeEntry, ...] = ()
    operation: WorkTreeState | None = None
    index_lock: IndexLock | None = None

    @property
    def is_detached(self) -> bool:
        """True when HEAD names a commit and no branch."""
        return self.branch is None


@dataclass(frozen=True, slots=True)
class WorkTreeVerdict:
    """Whether a write may follow: the state, the paths that made it so, and of those the ones `git add` must get."""

    state: WorkTreeState
    paths: tuple[str, ...] = ()
    paths_to_add: tuple[str, ...] = ()

    @property
    def is_blocked(self) -> bool:
        """True when the service must not write to the repo."""
        return self.state not in (WorkTreeState.CLEAN, WorkTreeState.HAND_EDITS)


# `## main`, `## main...origin/main [different]`, `## No commits yet on main`, `## HEAD (no branch)`. A branch's name
# holds no space and no "..", so neither form can be read as the other.
_HEADER = re.compile(r"## (?P<unborn>(?:No commits yet|Initial commit) on )?(?P<branch>\S+?)(?:\.\.\.\S+(?: \[.*\])?)?")
_DETACHED_HEADER = "## HEAD (no branch)"


def parse_status(
    data: bytes,
    find_type: Callable[[str], FileType],
    *,
    operation: WorkTreeState | None = None,
    index_lock: IndexLock | None = None,
) -> WorkTree:
    """Reads the output of `git status --porcelain=v1 -z --branch`; `find_type` tells what stands at a path.

    Errors: RepositoryFault when the output is not of that form.
    """
    records = os.fsdecode(data).split("\0")
    header, rest = records[0], iter(records[1:])
    match = None if header == _DETACHED_HEADER else _HEADER.fullmatch(header)
    if match is None and header != _DETACHED_HEADER:
        raise _unreadable(header)
    entries = []
    for record in rest:
        if not record:
            continue
        if len(record) < 4 or record[2] != " ":
            raise _unreadable(record)
        index_code, tree_code, path = record[0], record[1], record[3:]
        # A rename or copy is followed by a record with the old path alone.
        old_path = next(rest, "") if index_code in "RC" or tree_code in "RC" else None
        entries.append(WorkTreeEntry(index_code, tree_code, path, find_type(path.rstrip("/")), old_path))
    return WorkTree(
        branch=match["branch"] if match else None,
        is_unborn=bool(match and match["unborn"]),
        entries=tuple(entries),
        operation=operation,
        index_lock=index_lock,
    )


def classify(work_tree: WorkTree, memory_branch: str) -> WorkTreeVerdict:
    """Decides whether a write may follow: clean, hand edits to take in first, or blocked (docs/invariants.md).

    The order is that of the remedies: while a lock stands nothing else can be mended, and during a rebase HEAD is
    detached and paths are unmerged, so the operation is what the user must hear about.
    """
    if work_tree.index_lock is not None:
        return WorkTreeVerdict(WorkTreeState.INDEX_LOCK, (work_tree.index_lock.path,))
    unmerged = tuple(entry.path for entry in work_tree.entries if entry.is_unmerged)
    if work_tree.operation is not None:
        return WorkTreeVerdict(work_tree.operation, unmerged)
    if unmerged:
        return WorkTreeVerdict(WorkTreeState.UNMERGED, unmerged)
    if work_tree.branch is None:
        return WorkTreeVerdict(WorkTreeState.DETACHED_HEAD)
    if work_tree.branch != memory_branch:
        return WorkTreeVerdict(WorkTreeState.OTHER_BRANCH)
    foreign = [entry for entry in work_tree.entries if not entry.is_markdown]
    untracked = tuple(entry.path for entry in foreign if entry.is_untracked)
    if untracked:
        return WorkTreeVerdict(WorkTreeState.UNTRACKED_FOREIGN, untracked)
    if foreign:
        return WorkTreeVerdict(WorkTreeState.FOREIGN_CHANGE, tuple(entry.path for entry in foreign))
    if not work_tree.entries:
        return WorkTreeVerdict(WorkTreeState.CLEAN)
    paths = tuple(path for entry in work_tree.entries for path in (entry.path, entry.old_path) if path is not None)
    return WorkTreeVerdict(
        WorkTreeState.HAND_EDITS, paths, tuple(entry.path for entry in work_tree.entries if entry.needs_add)
    )


def _unreadable(record: str) -> RepositoryFault:
    return RepositoryFault(
        f"git status answered in a form that is not known: {record[:80]!r}",
        hint="memrepo doctor",
        invariant="status-form",
    )
