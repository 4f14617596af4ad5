"""Sync, done: fetch, judge, merge under the write lock, push; pause on what only a person can decide.

The network is never waited for while the lock is held. Each round fetches, brings this folder up to what was fetched,
and pushes; a remote that moved meanwhile is one more round. A process that is killed at any step leaves a folder that
the next writer mends (`advance`) and a sync that the next run goes on with: what was pushed is seen by the next fetch.
Source: memory sync design (seed 2) §1, §5.
"""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memrepo.errors import ArrivalRefused, Conflict, GitMissing, LockBusy, MemrepoError, Refused, RemoteFailed
from memrepo.git.commits import compose_message
from memrepo.git.compaction import drop_unreachable
from memrepo.git.hardening import AUTHOR_EMAIL, AUTHOR_NAME
from memrepo.git.network import (
    ARRIVED,
    NEXT,
    TRACKING,
    delete_own_refs,
    delete_ref,
    fetch,
    find_ref,
    find_remote_head,
    push,
    remove_remote,
    set_ref,
    set_remote,
)
from memrepo.git.trees import RawCommit, find_merge_base, is_ancestor, list_commits
from memrepo.model import CommitId, Origin, Trailers
from memrepo.settings.remote_url import hide_user
from memrepo.sync.plan import Relation, Step, choose
from memrepo.sync.uniting import check_departure, unite
from memrepo.sync_state import Replaced, SyncState, Trouble, read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from memrepo.git.client import GitClient
    from memrepo.model import RepoPath
    from memrepo.sync.merging import Take
    from memrepo.writer import Writer, WriteSession

ROUNDS = 5
"""So often a remote may move while this folder is being brought up to it."""

_PAUSING = (Conflict, ArrivalRefused)


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one run did: how many commits came and went, which files changed here, whether a history was replaced."""

    pulled: int = 0
    pushed: int = 0
    paths: tuple[RepoPath, ...] = ()
    replaced_there: bool = False
    replaced_here: bool = False


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """How sync stands. `url` without user info; `ahead` and `behind` count commits, as far as the last fetch knows."""

    url: str | None
    is_confirmed: bool
    state: SyncState
    ahead: int = 0
    behind: int = 0

    @property
    def is_on(self) -> bool:
        """Whether anything is sent or fetched at all."""
        return self.url is not None and self.is_confirmed


@dataclass(frozen=True, slots=True)
class _Round:
    """What a round left: the head here, what a push may replace, and what came."""

    head: CommitId
    there: CommitId | None
    lease: CommitId | None = None
    pulled: int = 0
    paths: tuple[RepoPath, ...] = ()
    replaced_here: bool = False


class Sync:
    """The sync of one memory root with one address. Safe to make and drop; what it knows is in the folder."""

    def __init__(
        self,
        writer: Writer,
        *,
        url: str | None,
        is_confirmed: bool,
        clock: Callable[[], dt.datetime],
        purge_derived: Callable[[], object] = lambda: None,
    ) -> None:
        """`url` has passed `check_remote_url`. `purge_derived` is called after entries went."""
        self._writer = writer
        self._url = url
        self._is_confirmed = is_confirmed
        self._clock = clock
        self._purge_derived = purge_derived

    @property
    def is_on(self) -> bool:
        """Whether there is an address, and the user's word that it is private and theirs."""
        return self._url is not None and self._is_confirmed

    def run(self, *, take: Take | None = None, pushes: bool = True) -> SyncReport:
        """Brings this folder and the remote to the same memory. `pushes=False` only takes what the remote has.

        Errors: Refused while sync is off; RemoteFailed, GitTimeout; MergeConflict, SideEmptied, HistoryReplaced,
        ArrivalRefused, which pause sync until a run goes through; those of `Writer.hold`.
        Changes: as `Writer.hold`; branch, files and index; the remote; refs and settings of sync in `.git`.
        """
        git, url = self._require()
        try:
            report = self._run(git, url, take, pushes=pushes)
        except _PAUSING as error:
            self._note_pause(error)
            raise
        except LockBusy:
            raise
        except MemrepoError as error:
            self._note_failure(error)
            raise
        self._update(lambda state: replace(state, pause=None, failure=None))
        return report

    def run_quietly(self, *, pushes: bool = True) -> SyncReport | None:
        """A run that nobody asked for: None when sync is off, paused, or has to wait; the state says why."""
        if not self.is_on or self._writer.git is None or read_state(self._writer.git_folder).pause is not None:
            return None
        try:
            return self.run(pushes=pushes)
        except MemrepoError:
            return None

    def status(self) -> SyncStatus:
        """How sync stands, without asking the remote. Changes: nothing."""
        state = read_state(self._writer.git_folder)
        shown = None if self._url is None else hide_user(self._url)
        git = self._writer.git
        head = git.head() if git is not None else None
        if git is None or head is None:
            return SyncStatus(shown, self._is_confirmed, state)
        held = state.held or find_ref(git, TRACKING)
        arrived = find_ref(git, ARRIVED)
        ahead = _count(git, head, held) if held is None or is_ancestor(git, held, held) else 0
        return SyncStatus(shown, self._is_confirmed, state, ahead, _count(git, arrived, head) if arrived else 0)

    def forget_remote(self) -> None:
        """Takes the managed remote and all that sync knows out of the folder. Errors: LockBusy, GitFailed."""
        git = self._writer.git
        if git is None:
            return
        with self._writer.lock_alone():
            remove_remote(git)
            write_state(self._writer.git_folder, SyncState())

    # One run

    def _require(self) -> tuple[GitClient, str]:
        if self._url is None or not self._is_confirmed:
            why = "no remote is set" if self._url is None else "nobody has said that the remote is private"
            raise Refused(
                f"sync is off: {why}",
                hint="to turn it on: memrepo sync set URL",
                rule="sync-off",
                action="sync",
                target=str(self._writer.root),
            )
        if self._writer.git is None:
            raise GitMissing(
                "git was not found, or this memory has no history: there is nothing to sync",
                hint="install git, then: memrepo doctor --fix",
                invariant="git",
            )
        return self._writer.git, self._url

    def _run(self, git: GitClient, url: str, take: Take | None, *, pushes: bool) -> SyncReport:
        self._meet(git, url)
        report = SyncReport()
        for _ in range(ROUNDS):
            there = self._fetch(git, url)
            with self._writer.hold() as session:
                done = self._take_in(git, session, there, take)
            report = replace(
                report,
                pulled=report.pulled + done.pulled,
                paths=tuple(dict.fromkeys((*report.paths, *done.paths))),
                replaced_here=report.replaced_here or done.replaced_here,
            )
            if not pushes or done.head == there:
                return report
            if push(git, url, done.head, replaces=done.lease):
                return replace(report, pushed=self._note_push(git, done), replaced_there=done.lease is not None)
        raise RemoteFailed(
            f"the remote moved {ROUNDS} times while this folder was brought up to it",
            hint="try again: memrepo sync now",
            argv=("git", "push"),
            exit_code=1,
            stderr=(),
        )

    def _fetch(self, git: GitClient, url: str) -> CommitId | None:
        """The remote's head; after a compaction the old history is not fetched again only to be replaced."""
        replaced = read_state(self._writer.git_folder).replaced
        if replaced is not None and find_remote_head(git, url) == replaced.held:
            return replaced.held
        return fetch(git, url)

    def _meet(self, git: GitClient, url: str) -> None:
        """Makes the managed remote match. What is known of another address says nothing of this one."""
        set_remote(git, url)
        folder, remote = self._writer.git_folder, hide_user(url)
        if read_state(folder).remote == remote:
            return
        with self._writer.lock_alone():
            state = read_state(folder)
            if state.remote is not None:
                delete_own_refs(git)
                state = SyncState(replaced=state.replaced)
            write_state(folder, replace(state, remote=remote))

    def _take_in(self, git: GitClient, session: WriteSession, there: CommitId | None, take: Take | None) -> _Round:
        """Brings this folder up to what was fetched, under the lock."""
        here = git.head()
        assert here is not None  # noqa: S101 - a memory repo begins with a commit
        relation = _look(git, here, there, read_state(self._writer.git_folder))
        plan = choose(relation, take)
        if plan.step is Step.KEEP:
            check_departure(git, here, there if plan.lease is None else None, take)
            delete_ref(git, NEXT)  # a killed run may have left it
            self._note_pull(git, held=there if plan.lease is None else None)
            return _Round(here, there, plan.lease)
        assert there is not None  # noqa: S101 - there is nothing to take from nothing
        united = unite(git, plan, here, there, take, own=self._own_commit(), replaced=relation.replaced)
        paths = session.advance(united.head)
        if plan.step is Step.TAKE_UNDER:
            self._note_pull(git, replaced=Replaced(there, united.added, united.removed, united.head))
        else:
            self._note_pull(git, held=there)
        delete_ref(git, NEXT)
        if united.has_lost:
            self._purge_derived()
        was_replaced = plan.step is Step.TAKE and relation.held is not None and not relation.is_held_in_there
        return _Round(united.head, there, plan.lease, _count(git, there, here), paths, replaced_here=was_replaced)

    def _own_commit(self) -> RawCommit:
        """Who and what a commit is that sync has to make by itself."""
        at = self._clock()
        person = f"{AUTHOR_NAME} <{AUTHOR_EMAIL}> {int(at.timestamp())} {at.strftime('%z')[:5] or '+0000'}".encode()
        message = compose_message("Merge the memory of another machine", Trailers(Origin.CLI))
        return RawCommit(CommitId(""), (person, person), message)

    # What is remembered

    def _note_pull(self, git: GitClient, *, held: CommitId | None = None, replaced: Replaced | None = None) -> None:
        """Remembers, under the lock, that the remote was looked at, and what of it this folder now holds."""
        folder = self._writer.git_folder
        state = replace(read_state(folder), last_pull_at=self._now())
        if held is not None:
            state = replace(state, held=held, replaced=None)
            set_ref(git, TRACKING, held)
        elif replaced is not None:
            state = replace(state, held=None, replaced=replaced)
        write_state(folder, state)

    def _note_push(self, git: GitClient, done: _Round) -> int:
        """Remembers what the remote now holds, and returns how many commits it got. Old history goes at last."""
        count = _count(git, done.head, done.there if done.lease is None else None)
        with self._writer.lock_alone():
            folder = self._writer.git_folder
            state = replace(read_state(folder), last_push_at=self._now())
            set_ref(git, ARRIVED, done.head)
            set_ref(git, TRACKING, done.head)
            if is_ancestor(git, done.head, "HEAD"):  # else the history was compacted meanwhile
                state = replace(state, held=done.head, replaced=None)
            write_state(folder, state)
            if done.lease is not None:
                drop_unreachable(git)
        return count

    def _note_pause(self, error: MemrepoError) -> None:
        self._update(lambda state: replace(state, pause=self._trouble(error, state.pause), failure=None))

    def _note_failure(self, error: MemrepoError) -> None:
        self._update(lambda state: replace(state, failure=self._trouble(error, state.failure)))

    def _update(self, change: Callable[[SyncState], SyncState]) -> None:
        """Changes what is remembered; when the lock is held elsewhere, it is not worth waiting for."""
        with suppress(MemrepoError), self._writer.lock_alone():
            state = read_state(self._writer.git_folder)
            if change(state) != state:
                write_state(self._writer.git_folder, change(state))

    def _trouble(self, error: MemrepoError, before: Trouble | None) -> Trouble:
        paths = error.facts.get("paths", ())
        since = before.since if before is not None and before.code == error.code else self._now()
        return Trouble(
            error.code, error.message, error.hint, tuple(map(str, paths)) if isinstance(paths, tuple) else (), since
        )

    def _now(self) -> str:
        return self._clock().astimezone(dt.UTC).isoformat(timespec="seconds")


def _look(git: GitClient, here: CommitId, there: CommitId | None, state: SyncState) -> Relation:
    """Asks git how the histories stand to each other."""
    replaced = state.replaced
    held = state.held or find_ref(git, TRACKING)
    if replaced is not None:
        held = replaced.held
        if is_ancestor(git, held, here):  # the compaction never came
            replaced = None
    if there is None:
        return Relation(here, None, held, replaced)
    return Relation(
        here,
        there,
        held,
        replaced,
        is_there_in_here=is_ancestor(git, there, here),
        is_here_in_there=is_ancestor(git, here, there),
        is_held_in_here=held is not None and is_ancestor(git, held, here),
        is_held_in_there=held is not None and is_ancestor(git, held, there),
        start=find_merge_base(git, here, there),
        since=None if replaced is None else _find_since(git, here, replaced),
    )


def _find_since(git: GitClient, here: CommitId, replaced: Replaced) -> CommitId:
    """The commit to which what is remembered of a compaction leads."""
    since = replaced.since
    return since if since is not None and is_ancestor(git, since, here) else list_commits(git, here, None)[0]


def _count(git: GitClient, include: str, exclude: str | None) -> int:
    return int(git.run("rev-list", "--count", include, *(() if exclude is None else (f"^{exclude}",)), "--").stdout)
