"""Several machines of one person: memory folders with one remote between them."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tests.kit.memory import Memory, StoreFile, make_memory
from tests.kit.remotes import Switchboard, make_bare
from tests.kit.repos import head_of, raw_git

from memrepo.sync.engine import Sync

if TYPE_CHECKING:
    from pathlib import Path

    from memrepo.sync.engine import SyncReport
    from memrepo.sync.merging import Take

URL = "git@example.org:me/memory.git"
MORNING = dt.datetime(2026, 10, 6, 8, tzinfo=dt.UTC)


@dataclass
class Machine(Memory):
    """One machine: its memory folder, and its sync with the address that all share."""

    url: str = URL

    @cached_property
    def sync(self) -> Sync:
        return Sync(self.writer, url=self.url, is_confirmed=True, clock=lambda: MORNING)

    def run(self, *, take: Take | None = None, pushes: bool = True) -> SyncReport:
        return self.sync.run(take=take, pushes=pushes)

    @property
    def head(self) -> str:
        return head_of(self.root)

    def reopen_machine(self) -> Machine:
        """Another process on the same folder, after the one before it ended."""
        later = self.reopen_after_its_end()
        return Machine(self.root, self.store, clock_ahead_s=later.clock_ahead_s, is_alive=later.is_alive, url=self.url)


@dataclass
class Machines:
    """The machines, the remote between them, and the network, which may be cut."""

    folder: Path
    network: Switchboard = field(default_factory=Switchboard)

    @cached_property
    def bare(self) -> Path:
        place = make_bare(self.folder / "host" / "memory.git")
        self.network.places[URL] = place
        return place

    def make(self, name: str) -> Machine:
        """A machine with a memory folder of its own, which has not synced yet."""
        assert self.bare
        made = make_memory(self.folder / name)
        return Machine(made.root, made.store)

    def copy(self, one: Machine, name: str) -> Machine:
        """A machine with a copy of another's folder, history included."""
        folder = self.folder / name
        shutil.copytree(one.root, folder / "memory", symlinks=True)
        return Machine(folder / "memory", StoreFile(folder / "data" / "store.db"))

    def make_many(self, *names: str) -> list[Machine]:
        """Machines that have synced with one another."""
        made = [self.make(name) for name in names]
        self.settle(*made)
        return made

    def settle(self, *machines: Machine) -> None:
        """Everybody syncs until nobody has anything new: twice around is enough."""
        for machine in (*machines, *machines):
            machine.run()


def push_by_hand(bare: Path, place: Path, *, message: str = "By hand") -> None:
    """Commits all of a plain clone's folder and pushes it, as another program would."""
    raw_git(place, "add", "--all", "--force")
    raw_git(place, "commit", "--quiet", "--allow-empty", "-m", message)
    raw_git(place, "push", "--quiet", str(bare), "HEAD:refs/heads/main")


def clone(bare: Path, place: Path) -> Path:
    """A plain clone of the remote."""
    place.parent.mkdir(parents=True, exist_ok=True)
    raw_git(place.parent, "clone", "--quiet", "--template=", str(bare), str(place))
    return place
