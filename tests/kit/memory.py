"""A memory repo for tests: real git, real disk, a real store, and the people who write to it."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tests.kit.repos import raw_git

from memrepo.creation import create_repo
from memrepo.format.document import Document
from memrepo.git.client import GitClient, find_memory_branch
from memrepo.history import History
from memrepo.lock import STALE_AFTER_S, WriteLock, is_process_alive
from memrepo.model import (
    Actor,
    Candidate,
    Entry,
    Kind,
    Origin,
    Scope,
    Taint,
    TaskContext,
    Workspace,
    WriteResult,
)
from memrepo.service import MemoryRepoService
from memrepo.store import may_have_pending, open_store
from memrepo.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memrepo.store import PrivateStore

BILLING = Workspace("ws-billing", "Billing Service")
USER = TaskContext(actor=Actor.USER, origin=Origin.CLI, taint=Taint.CLEAN)
AGENT = TaskContext(task_id="t1", taint=Taint.CLEAN, workspace=BILLING)
TAINTED = TaskContext(task_id="t2", taint=Taint.TAINTED, workspace=BILLING)
NOON = dt.datetime(2026, 10, 5, 12, tzinfo=dt.UTC)


class StoreFile:
    """Opens the private store of a test when it is asked for."""

    def __init__(self, path: Path, *, busy_wait_s: float | None = None) -> None:
        self.path = path
        self._busy_wait_s = busy_wait_s
        self._store: PrivateStore | None = None

    def find(self) -> PrivateStore | None:
        return self.get() if self._store is not None or self.path.exists() else None

    def get(self) -> PrivateStore:
        if self._store is None:
            self._store = open_store(f"sqlite:///{self.path}", now_ms=lambda: 1_000, busy_wait_s=self._busy_wait_s)
        return self._store

    def may_have_pending(self, root: str) -> bool:
        return self.path.exists() and may_have_pending(self.path, root)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


@dataclass
class Memory:
    """One memory root and what a process holds of it. `reopen()` is another process on the same folder."""

    root: Path
    store: StoreFile
    has_git: bool = True
    read_only: bool = False
    lock_wait_s: float = 0.0
    clock_ahead_s: float = 0.0
    is_alive: Callable[[int], bool] = is_process_alive

    @cached_property
    def writer(self) -> Writer:
        git = GitClient(self.root, memory_branch=find_memory_branch(self.root)) if self.has_git else None
        lock = WriteLock(
            self.root / ".git",
            runtime="test",
            wait=lambda _: None,
            clock=lambda: time.time() + self.clock_ahead_s,
            is_alive=self.is_alive,
        )
        return Writer(self.root, git=git, lock=lock, read_only=self.read_only)

    @cached_property
    def service(self) -> MemoryRepoService:
        return MemoryRepoService(self.writer, store=self.store, clock=lambda: NOON)

    @cached_property
    def history(self) -> History:
        return History(self.writer, store=self.store)

    def reopen(self, *, read_only: bool = False) -> Memory:
        return Memory(self.root, self.store, self.has_git, read_only)

    def reopen_after_its_end(self) -> Memory:
        """Another process after this one ended, so much later that a lock that it left may be taken over."""
        later_s = STALE_AFTER_S + 1
        return Memory(self.root, self.store, self.has_git, clock_ahead_s=later_s, is_alive=lambda _: False)

    def say(self, text: str, task: TaskContext = USER, **candidate: object) -> WriteResult:
        """Remembers one fact with the given fields of a Candidate."""
        return self.service.remember(Candidate(text, **candidate), task)  # type: ignore[arg-type]

    def learn(self, text: str, task: TaskContext = AGENT, kind: Kind = Kind.PROJECT_FACT) -> WriteResult:
        """Remembers one workspace fact as an agent."""
        return self.service.remember(Candidate(text, kind=kind, scope=Scope.WORKSPACE), task)

    def read(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def write(self, path: str, text: str | bytes) -> None:
        """Writes a file as an editor would."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)

    def entries(self, path: str) -> list[Entry]:
        return list(Document.parse((self.root / path).read_bytes()).entries)

    def texts(self, path: str) -> list[str]:
        if not (self.root / path).exists():
            return []
        return [entry.text for entry in self.entries(path)]

    def all_texts(self) -> list[str]:
        return [
            text for path in sorted(self.root.rglob("*.md")) for text in self.texts(str(path.relative_to(self.root)))
        ]

    def subjects(self) -> list[str]:
        """Subjects of the commits, newest first."""
        return raw_git(self.root, "log", "--format=%s").decode().splitlines()

    def waiting(self) -> int:
        """How many facts wait in the private store."""
        found = self.store.find()
        return found.pending.count(str(self.root)) if found else 0


def make_memory(folder: Path, *, has_git: bool = True) -> Memory:
    """A new memory repo below `folder`."""
    root = folder / "memory"
    create_repo(root, has_git=has_git, origin=Origin.CLI)
    return Memory(root, StoreFile(folder / "data" / "store.db"), has_git)
