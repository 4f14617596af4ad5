"""The governed writer: the one sequence in which files of the repo and its history change.

    lock → finish what a killed writer left → take in hand edits → (the caller plans) → journal → files → add → commit

`Writer.hold()` gives a `WriteSession`; while it lives, this process alone writes. The session knows no rule about
content; it proves that each file still is what the plan was made from, and leaves a state that the next `hold()` can
finish after a crash at any point (docs/invariants.md names each).
Source: memory repo design (seed 1) §5.1 steps 6 and 7, §5.3, §5.5.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memrepo.advance import advance, recover_advance
from memrepo.errors import (
    DiskFault,
    GitFailed,
    GitTimeout,
    MemrepoError,
    NotFound,
    NothingToCommit,
    ReadOnly,
    WorkTreeBlocked,
)
from memrepo.files.atomic import (
    FileSnapshot,
    digest_bytes,
    has_stale_temporaries,
    read_file,
    read_internal,
    remove_file,
    remove_stale_temporaries,
    replace_file,
    write_internal,
)
from memrepo.files.folder import TEMPORARY_NAME
from memrepo.git.compaction import needs_packing, pack
from memrepo.git.status import FileType, WorkTreeState, WorkTreeVerdict, classify
from memrepo.journal import (
    JournalRecord,
    add_replayed,
    read_journal,
    read_replayed,
    remove_journal,
    remove_replayed,
    write_journal,
)
from memrepo.model import CommitId, FileChange, Message, Origin, RepoPath, Trailers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from memrepo.git.client import GitClient
    from memrepo.lock import WriteLock

LOCK_WAIT_S = 5.0

_FOREIGN = frozenset({WorkTreeState.UNTRACKED_FOREIGN, WorkTreeState.FOREIGN_CHANGE})

# Why a writer does not touch the repo in each state, and what mends it.
BLOCKED: dict[WorkTreeState, tuple[str, str]] = {
    WorkTreeState.INDEX_LOCK: (
        "another git holds the index lock, or died while it did",
        "memrepo doctor --fix removes the lock once no git runs in the folder",
    ),
    WorkTreeState.MERGE: ("a merge is under way", "finish it (git commit) or drop it (git merge --abort)"),
    WorkTreeState.REBASE: (
        "a rebase is under way",
        "finish it (git rebase --continue) or drop it (git rebase --abort)",
    ),
    WorkTreeState.CHERRY_PICK: ("a cherry-pick is under way", "git cherry-pick --continue, or git cherry-pick --abort"),
    WorkTreeState.REVERT: ("a revert is under way", "git revert --continue, or git revert --abort"),
    WorkTreeState.BISECT: ("a bisect is under way", "git bisect reset"),
    WorkTreeState.UNMERGED: ("a merge left paths undecided", "settle them, then git add them and git commit"),
    WorkTreeState.DETACHED_HEAD: ("HEAD names a commit and no branch", "git switch main"),
    WorkTreeState.OTHER_BRANCH: ("another branch than the memory branch is checked out", "git switch main"),
    WorkTreeState.UNTRACKED_FOREIGN: (
        "files that are not Markdown are not in the history",
        "memrepo doctor --fix --foreign add (or ignore)",
    ),
    WorkTreeState.FOREIGN_CHANGE: (
        "files that are not Markdown were changed",
        "memrepo doctor --fix --foreign add, or take the change back: git checkout -- FILE",
    ),
}


@dataclass(frozen=True, slots=True)
class Applied:
    """The files are written. `commit` is None without git, without a change, or when `deferred` says what git said:
    then the journal stays and the next writer makes the commit."""

    commit: CommitId | None = None
    deferred: GitFailed | GitTimeout | None = None


HAND_EDITS = Message("Hand edits", Trailers(Origin.HAND_EDIT))


@dataclass(frozen=True, slots=True)
class Change:
    """What listeners hear after files changed: which, and the commit if git made one."""

    paths: tuple[RepoPath, ...]
    commit: CommitId | None


class Writer:
    """Owns the write lock of one memory root. `git` None means: files are written, there is no history."""

    def __init__(self, root: Path, *, git: GitClient | None, lock: WriteLock, read_only: bool = False) -> None:
        self.root = root
        self.git = git
        self.git_folder = root / ".git"
        self._lock = lock
        self._read_only = read_only
        self._listeners: list[Callable[[Change], None]] = []

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Calls `listener` after every change that this writer makes, hand edits taken in included."""
        self._listeners.append(listener)

    def tell(self, change: Change) -> None:
        """Tells the listeners, in the order in which they came."""
        for listener in self._listeners:
            listener(change)

    def read(self, path: RepoPath) -> FileSnapshot:
        """Reads one file as it is now, without the lock; `data` is None when it is absent."""
        return read_file(self.root, path)

    @contextmanager
    def hold(self, *, timeout_s: float = LOCK_WAIT_S) -> Iterator[WriteSession]:
        """Holds the write lock over a recovered, clean work tree.

        Errors: ReadOnly; LockBusy after `timeout_s`; WorkTreeBlocked with the state and its remedy; ConfigRefused;
        RepositoryFault for a damaged journal; GitFailed, GitTimeout, DiskFault. Changes: may commit hand edits and the
        unfinished write of a killed process.
        """
        if self._read_only:
            raise ReadOnly("this process opened the memory repo read-only", action="write", target=str(self.root))
        is_done = False
        try:
            with self._lock.hold(timeout_s=timeout_s):
                session = WriteSession(self.root, git=self.git, tell=self.tell)
                session.recover()
                session.take_in_hand_edits()
                yield session
                is_done = True
        except DiskFault:
            if not is_done:  # else the write stands; that the lock could not be removed, the next writer hears
                raise

    @contextmanager
    def lock_alone(self, *, timeout_s: float = LOCK_WAIT_S) -> Iterator[None]:
        """Holds the write lock and looks at nothing: for what stands beside the files. Errors: LockBusy, ReadOnly."""
        if self._read_only:
            raise ReadOnly("this process opened the memory repo read-only", action="write", target=str(self.root))
        with self._lock.hold(timeout_s=timeout_s):
            yield

    def pack_if_due(self) -> bool:
        """Packs the history when loose objects have piled up; True when it did. For the end of a process's work.

        Errors: LockBusy at once when another process writes (then it is done another time), GitFailed, GitTimeout.
        """
        if self.git is None or self._read_only or not needs_packing(self.root):
            return False
        with self._lock.hold(timeout_s=0):
            pack(self.git)
        return True

    def settle_foreign(self, *, ignore: bool) -> tuple[str, ...]:
        """Settles files that are not Markdown and block writing, as the person decided; returns their paths.

        Errors: LockBusy, WorkTreeBlocked for any other state, GitFailed, DiskFault. Changes: one commit of the files,
        or `.git/info/exclude` when they are to be ignored (what is in the history already is committed all the same).
        """
        with self._lock.hold():
            session = WriteSession(self.root, git=self.git, tell=self.tell)
            session.recover()
            return session.settle_foreign(ignore=ignore)


class WriteSession:
    """One holder's view of the repo between lock and unlock."""

    def __init__(self, root: Path, *, git: GitClient | None, tell: Callable[[Change], None]) -> None:
        self._root = root
        self._git = git
        self._git_folder = root / ".git"
        self._tell = tell
        self._failed: MemrepoError | None = None

    @property
    def git(self) -> GitClient | None:
        return self._git

    def read(self, path: RepoPath) -> FileSnapshot:
        """Reads one file; `data` is None when it is absent."""
        return read_file(self._root, path)

    def recover(self) -> CommitId | None:
        """Finishes the write that a killed process left in the journal, with its own message; None if there was none.

        A file that is neither as it was before nor as the write wants it was edited since: the edit wins, and the
        unfinished write, which nobody was told had happened, is dropped for that file.
        """
        if self._git is not None and (paths := recover_advance(self._git)):
            self._tell(Change(paths, None))
        record = read_journal(self._git_folder)
        if record is None:
            if has_stale_temporaries(self._git_folder):  # killed before its journal stood
                remove_stale_temporaries(self._root)
            return None
        remove_stale_temporaries(self._root)
        ours = frozenset(change.path for change in record.changes)
        verdict = self._classify()
        # The write's own files block nothing, Markdown or not (the first commit brings .gitignore).
        if not (verdict.state in _FOREIGN and ours.issuperset(verdict.paths)):
            _refuse_blocked(verdict)
        # A file that is as before was taken back by hand if the write was done; else it was never written.
        is_done = record.is_written or self._is_committed(record)
        if not is_done:
            for change in record.changes:
                if self.read(change.path).digest == change.before:
                    self._write(change)
            is_done = all(self.read(change.path).data == change.data for change in record.changes)
        commit = self._commit_changed(record) if self._git else None
        if record.replays and is_done:
            add_replayed(self._git_folder, record.replays)
        remove_journal(self._git_folder)
        self._tell(Change(tuple(change.path for change in record.changes), commit))
        return commit

    def take_in_hand_edits(self) -> CommitId | None:
        """Commits what the user changed by hand; None when there was nothing. Errors: WorkTreeBlocked."""
        if self._git is None:
            return None
        verdict = self._classify()
        if any(TEMPORARY_NAME.fullmatch(path.rpartition("/")[2]) for path in verdict.paths):
            remove_stale_temporaries(self._root)  # a killed writer's, seen only where no ignore rule hides them
            verdict = self._classify()
        _refuse_blocked(verdict)
        if verdict.state is WorkTreeState.CLEAN:
            return None
        self._git.add(verdict.paths_to_add)
        try:
            commit = self._git.commit(HAND_EDITS.subject, HAND_EDITS.trailers)
        except NothingToCommit:  # taken back by hand since we looked
            return None
        self._tell(Change(tuple(RepoPath(path) for path in verdict.paths), commit))
        return commit

    def settle_foreign(self, *, ignore: bool) -> tuple[str, ...]:
        """See `Writer.settle_foreign`."""
        verdict = self._classify()
        if verdict.state not in _FOREIGN:
            _refuse_blocked(verdict)
            return ()
        assert self._git is not None  # noqa: S101 - without git nothing is foreign
        if ignore and verdict.state is WorkTreeState.UNTRACKED_FOREIGN:
            folder = self._git_folder / "info"
            known = read_internal(folder, "exclude") or b""
            lines = "".join(f"/{_as_pattern(path)}\n" for path in verdict.paths)
            write_internal(
                folder, "exclude", known + (b"" if known.endswith(b"\n") or not known else b"\n") + lines.encode()
            )
            return verdict.paths
        entries = [entry for entry in self._git.status().entries if entry.path in verdict.paths]
        folders = [entry.path for entry in entries if entry.file_type is FileType.FOLDER]
        if folders:
            raise WorkTreeBlocked(
                f"{', '.join(folders)} is a repository of its own and cannot be added",
                hint="memrepo doctor --fix --foreign ignore",
                invariant="work-tree",
                state=verdict.state,
                paths=tuple(folders),
            )
        self._git.add([entry.path for entry in entries if entry.needs_add])
        paths = [entry.path for entry in entries]
        commit = self._git.commit(HAND_EDITS.subject, HAND_EDITS.trailers, paths=paths)
        self._tell(Change(tuple(RepoPath(path) for path in paths), commit))
        return tuple(paths)

    def find_replayed(self) -> frozenset[str]:
        """The keys of pending writes that the repo holds, whatever the store says of them."""
        return frozenset(read_replayed(self._git_folder))

    def end_replay(self, key: str) -> None:
        """The store knows too that a pending write is done. Changes: at most a file of ours below `.git`."""
        with suppress(DiskFault):  # a key that stays is of no row that waits, and does no harm
            remove_replayed(self._git_folder, key)

    def apply(self, changes: Sequence[FileChange], message: Message, *, replays: str = "") -> Applied:
        """Writes the planned files and commits them as one; `replays` is the key of the pending write that this is.

        Errors: ChangedOnDisk when a file is not what the plan was made from, DiskFault; in both cases the files are as
        they were, or a note of the error says that they are not; what stopped an earlier write of this session.
        Changes: the journal, the files, one commit. A commit that git refuses is no error: see `Applied`.
        """
        if not changes:
            return Applied()
        if self._failed is not None:  # the journal still holds an earlier write of this session
            raise self._failed
        record = JournalRecord(tuple(changes), message, replays=replays)
        started: list[tuple[FileChange, bytes | None]] = []
        try:
            write_journal(self._git_folder, record)
            for change in changes:
                started.append((change, self.read(change.path).data))
                self._write(change)
        except MemrepoError as error:
            if not self._take_back(started):
                self._failed = error
                error.add_note("some of it is written; the next writer finishes it")
            raise
        applied = self._commit([change.path for change in changes], message)
        with suppress(DiskFault):  # what is written stands; recovery finds that out for itself
            if replays:
                add_replayed(self._git_folder, replays)
            if applied.deferred is None:
                remove_journal(self._git_folder)
            else:
                write_journal(self._git_folder, replace(record, is_written=True))
        self._tell(Change(tuple(change.path for change in changes), applied.commit))
        return applied

    def advance(self, after: CommitId) -> tuple[RepoPath, ...]:
        """Moves the branch, with files and index, to a commit that sync made; returns the paths that changed.

        Errors and changes: those of `advance.advance`; what stopped an earlier write of this session.
        """
        assert self._git is not None  # noqa: S101 - without git there is no commit to move to
        if self._failed is not None:
            raise self._failed
        paths = advance(self._git, after)
        if paths:
            self._tell(Change(paths, after))
        return paths

    def _commit(self, paths: list[RepoPath], message: Message) -> Applied:
        if self._git is None:
            return Applied()
        try:
            self._git.add(paths)
            return Applied(self._git.commit(message.subject, message.trailers))
        except NothingToCommit:  # the user's own attributes make git see no difference
            return Applied()
        except (GitFailed, GitTimeout) as error:
            self._failed = error
            return Applied(deferred=error)

    def _write(self, change: FileChange) -> None:
        if change.data is not None:
            replace_file(self._root, change.path, change.data, expect_digest=change.before)
        elif change.before is not None:
            remove_file(self._root, change.path, expect_digest=change.before)

    def _take_back(self, started: list[tuple[FileChange, bytes | None]]) -> bool:
        """Puts back what was written, the last one too if its bytes arrived; a file edited since is left alone.

        False when the disk refuses that as well; then the journal stays.
        """
        try:
            for change, data in reversed(started):
                after = None if change.data is None else digest_bytes(change.data)
                if self.read(change.path).digest == after:
                    self._write(FileChange(change.path, after, data))
            remove_journal(self._git_folder)
        except MemrepoError:
            return False
        return True

    def _commit_changed(self, record: JournalRecord) -> CommitId | None:
        """Commits the files that are as the record wants them; one that was edited since is a hand edit."""
        assert self._git is not None  # noqa: S101 - the caller looked
        ours = {change.path for change in record.changes if self.read(change.path).data == change.data}
        changed = [entry for entry in self._git.status().entries if entry.path in ours]
        if not changed:
            return None
        self._git.add([entry.path for entry in changed if entry.needs_add])
        paths = [entry.path for entry in changed]
        try:
            return self._git.commit(record.message.subject, record.message.trailers, paths=paths)
        except NothingToCommit:
            return None

    def _is_committed(self, record: JournalRecord) -> bool:
        """Whether the last commit has every file as the record wants it."""
        if self._git is None or (head := self._git.head()) is None:
            return False
        return all(self._read_committed(head, change.path) == change.data for change in record.changes)

    def _read_committed(self, head: CommitId, path: RepoPath) -> bytes | None:
        assert self._git is not None  # noqa: S101 - the caller looked
        try:
            return self._git.read_blob(head, path)
        except NotFound:
            return None

    def _classify(self) -> WorkTreeVerdict:
        if self._git is None:
            return WorkTreeVerdict(WorkTreeState.CLEAN)
        return classify(self._git.status(), self._git.memory_branch)


def _as_pattern(path: str) -> str:
    """A path as an ignore pattern that means it alone (gitignore(5))."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


def _refuse_blocked(verdict: WorkTreeVerdict) -> None:
    if not verdict.is_blocked:
        return
    why, remedy = BLOCKED[verdict.state]
    named = ", ".join(verdict.paths[:3]) + (f" and {len(verdict.paths) - 3} more" if len(verdict.paths) > 3 else "")
    raise WorkTreeBlocked(
        f"{why}: {named}" if named else why,
        hint=remedy,
        invariant="work-tree",
        state=verdict.state,
        paths=verdict.paths,
    )
