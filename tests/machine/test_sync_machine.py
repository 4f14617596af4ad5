"""Three machines and one remote: writes, forgets, moves, edits by hand, compactions, cut lines and kills in any order.

The model knows which texts somebody accepted and which somebody forgot, and nothing of histories. Once everybody has
synced, all folders are the same, each accepted and not forgotten text is there once, no forgotten one came back, and
what was forgotten before a compaction is in no object of the remote.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.kit.machines import URL, Machine, Machines
from tests.kit.memory import USER, StoreFile
from tests.kit.remotes import Switchboard, list_remote_objects
from tests.kit.repos import assert_sound, head_of, porcelain, raw_git

from memrepo.advance import ADVANCE_JOURNAL
from memrepo.errors import GitFailed
from memrepo.git import client as client_module
from memrepo.git.client import GitClient
from memrepo.model import Kind, Ref, RepoPath
from memrepo.sync_state import read_state

KINDS = {"me.md": Kind.PREFERENCE, "lessons.md": Kind.RULE}
NAMES = ("laptop", "desktop", "server")
FILES = st.sampled_from(sorted(KINDS))
SIDES = st.integers(0, len(NAMES) - 1)
NUMBERS = st.integers(0, 1_000)
CUTS = st.sampled_from([("fetch", "before"), ("push", "before"), ("push", "after"), ("fetch", "after")])
KILLS = st.sampled_from(["fast-import", "update-ref", "reset", "read-tree", "push", "config", "rev-list"])


class Killed(BaseException):
    """Stands for the end of the process: nothing that handles errors sees it."""


@lru_cache(maxsize=1)
def _make_template() -> tempfile.TemporaryDirectory[str]:
    """Three machines that have synced with one another."""
    folder = tempfile.TemporaryDirectory()
    with pytest.MonkeyPatch.context() as patch:
        machines = Machines(Path(folder.name))
        machines.network.put_in(patch)
        machines.make_many(*NAMES)
    return folder


class SyncMachine(RuleBasedStateMachine):
    """Everybody who writes to one person's memory."""

    @initialize()
    def begin(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name)
        shutil.copytree(_make_template().name, place, dirs_exist_ok=True, symlinks=True)
        self.bare = place / "host" / "memory.git"
        self.network = Switchboard({URL: self.bare})
        self.network.put_in(self.patch)
        self.sides = [Machine(place / name / "memory", StoreFile(place / name / "data" / "store.db")) for name in NAMES]
        self.alive: set[str] = set()
        self.forgotten: set[str] = set()
        self.forgotten_by: list[set[str]] = [set() for _ in NAMES]
        self.compacted: set[str] = set()
        self.count = 0

    # What happens

    @rule(side=SIDES, path=FILES)
    def remember(self, side: int, path: str) -> None:
        text = self._new_text()
        assert self.sides[side].say(text, kind=KINDS[path]).commit is not None
        self.alive.add(text)

    @rule(side=SIDES, number=NUMBERS)
    def forget(self, side: int, number: int) -> None:
        if found := self._pick(side, number):
            path, text = found
            self.sides[side].service.forget(self._ref(side, path, text), USER)
            self._forgot(side, text)

    @rule(side=SIDES, number=NUMBERS)
    def edit(self, side: int, number: int) -> None:
        if found := self._pick(side, number):
            path, text = found
            new = self._new_text()
            self.sides[side].service.edit(self._ref(side, path, text), new, USER)
            self._forgot(side, text)
            self.alive.add(new)

    @rule(side=SIDES, number=NUMBERS)
    def move(self, side: int, number: int) -> None:
        if found := self._pick(side, number):
            path, text = found
            target = next(name for name in KINDS if name != path)
            self.sides[side].service.move(self._ref(side, path, text), RepoPath(target), USER)

    @rule(side=SIDES, path=FILES)
    def add_a_line_by_hand(self, side: int, path: str) -> None:
        text = self._new_text()
        with (self.sides[side].root / path).open("ab") as stream:
            stream.write(f"- {text}\n".encode())
        self.alive.add(text)

    @rule(side=SIDES, number=NUMBERS)
    def take_a_line_out_by_hand(self, side: int, number: int) -> None:
        if found := self._pick(side, number):
            path, text = found
            place = self.sides[side].root / path
            lines = place.read_bytes().splitlines(keepends=True)
            place.write_bytes(b"".join(line for line in lines if line.split(b" [")[0].strip() != f"- {text}".encode()))
            self._forgot(side, text)

    @rule(side=SIDES)
    def compact(self, side: int) -> None:
        assert self.sides[side].history.compact(USER).is_proven
        self.compacted |= self.forgotten_by[side]

    @rule(side=SIDES)
    def sync(self, side: int) -> None:
        self.sides[side].run()

    @rule(side=SIDES, cut=CUTS)
    def sync_over_a_line_that_is_cut(self, side: int, cut: tuple[str, str]) -> None:
        self.network.cut = lambda verb, _: cut[1] if verb == cut[0] else ""
        try:
            self.sides[side].run()
        except GitFailed:
            pass
        finally:
            self.network.cut = lambda *_: ""

    @rule(side=SIDES, verb=KILLS, after=st.booleans())
    def sync_and_be_killed(self, side: int, verb: str, after: bool) -> None:
        real = GitClient.run

        def run(git: GitClient, *args: str, **options: object) -> object:
            if args[0] == verb and not after:
                raise Killed
            done = real(git, *args, **options)  # type: ignore[arg-type]
            if args[0] == verb:
                raise Killed
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client_module.GitClient, "run", run)
            with contextlib.suppress(Killed):
                self.sides[side].run()
        self.sides[side] = self.sides[side].reopen_machine()

    # What must hold

    @invariant()
    def no_folder_holds_a_text_that_it_forgot_itself(self) -> None:
        for side, machine in enumerate(self.sides):
            texts = [text for path in KINDS for text in machine.texts(path)]
            assert not self.forgotten_by[side] & set(texts)

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        try:
            self._rest()
        finally:
            self.patch.undo()
            for machine in self.sides:
                machine.store.close()
            self.folder.cleanup()

    def _rest(self) -> None:
        for _ in range(3):
            for machine in self.sides:
                machine.run()
        first = self.sides[0]
        for machine in self.sides:
            assert sorted(text for path in KINDS for text in machine.texts(path)) == sorted(self.alive - self.forgotten)
            assert machine.head == first.head == head_of(self.bare)
            assert {path: machine.read(path) for path in KINDS} == {path: first.read(path) for path in KINDS}
            assert porcelain(machine.root) == []
            assert_sound(machine.root)
            assert not (machine.root / ".git" / ADVANCE_JOURNAL).exists()
            state = read_state(machine.root / ".git")
            assert (state.pause, state.failure, state.replaced) == (None, None, None)
        assert_sound(self.bare)
        raw_git(self.bare, "gc", "--prune=now", "--quiet")
        objects = list_remote_objects(self.bare)
        for text in self.compacted:
            assert text.encode() not in objects, text

    def _pick(self, side: int, number: int) -> tuple[str, str] | None:
        texts = [(path, text) for path in sorted(KINDS) for text in self.sides[side].texts(path)]
        return texts[number % len(texts)] if texts else None

    def _ref(self, side: int, path: str, text: str) -> Ref:
        entry = next(entry for entry in self.sides[side].entries(path) if entry.text == text)
        return Ref(RepoPath(path), entry.line)

    def _forgot(self, side: int, text: str) -> None:
        self.forgotten.add(text)
        self.forgotten_by[side].add(text)

    def _new_text(self) -> str:
        self.count += 1
        return f"Text number <{self.count}> of this run"


TestSyncMachine = SyncMachine.TestCase
TestSyncMachine.settings = settings(max_examples=min(settings().max_examples // 10, 500), stateful_step_count=16)
