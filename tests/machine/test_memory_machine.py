"""Two processes, an editor, crashes, a read-only process and a blocked tree, in any order: what was accepted is there.

The model is the set of texts that each file must hold, the facts that were kept and wait, and the texts of which a
crash left open whether they were written.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.kit.memory import USER, Memory, StoreFile, make_memory
from tests.kit.repos import assert_sound, porcelain, raw_git

from memrepo import writer as writer_module
from memrepo.errors import InvalidInput, WorkTreeBlocked
from memrepo.files.folder import TEMPORARY_NAME
from memrepo.journal import JOURNAL_NAME
from memrepo.model import Kind, Ref, RepoPath, WriteAction, WriteStatus

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = {"me.md": Kind.PREFERENCE, "lessons.md": Kind.RULE}
FILES = st.sampled_from(sorted(KINDS))
SIDES = st.integers(0, 1)
NUMBERS = st.integers(0, 1_000)


class Killed(BaseException):
    """Stands for the end of the process: nothing that handles errors sees it."""


@lru_cache(maxsize=1)
def _make_template() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory()
    make_memory(Path(folder.name))
    return folder


class MemoryMachine(RuleBasedStateMachine):
    """One memory folder and everyone who writes to it."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name) / "memory"
        shutil.copytree(Path(_make_template().name) / "memory", root)
        store = StoreFile(Path(self.folder.name) / "data" / "store.db")
        self.sides = [Memory(root, store), Memory(root, store)]
        self.root = root
        self.held: dict[str, set[str]] = {name: set() for name in KINDS}
        self.waiting: dict[str, str] = {}
        self.unknown: dict[str, str] = {}
        self.moving: set[str] = set()
        self.was_edited = False
        self.commits: list[tuple[str, str, str]] = []
        self.forgotten: set[str] = set()
        self.count = 0

    # What happens

    @rule(side=SIDES, path=FILES)
    def remember(self, side: int, path: str) -> None:
        self._say(self.sides[side], path, self._new_text())

    @rule(side=SIDES, path=FILES, number=NUMBERS)
    def remember_again(self, side: int, path: str, number: int) -> None:
        said = sorted(self.held[path] | self.forgotten)
        if said:
            self._say(self.sides[side], path, said[number % len(said)])

    @rule(path=FILES)
    def remember_in_a_read_only_process(self, path: str) -> None:
        text = self._new_text()
        reader = self.sides[0].reopen(read_only=True)
        assert reader.say(text, kind=KINDS[path]).status is WriteStatus.KEPT
        self.waiting[text] = path

    @rule(side=SIDES, path=FILES, number=NUMBERS)
    def forget(self, side: int, path: str, number: int) -> None:
        texts = sorted(self.held[path])
        if not texts:
            return
        text, memory = texts[number % len(texts)], self.sides[side]
        entry = next(entry for entry in memory.entries(path) if entry.text == text)
        if self._is_blocked():
            self._expect_blocked(lambda: memory.service.forget(Ref(RepoPath(path), entry.line), USER))
            return
        memory.service.forget(Ref(RepoPath(path), entry.line), USER)
        self._was_held()
        self.held[path].remove(text)
        self.forgotten.add(text)

    @rule(side=SIDES, number=NUMBERS)
    def undo(self, side: int, number: int) -> None:
        if not self.commits:
            return
        commit, path, text = self.commits[number % len(self.commits)]
        memory = self.sides[side]
        if self._is_blocked():
            self._expect_blocked(lambda: memory.history.undo(commit, USER))
            return
        is_there = text in memory.texts(path)
        try:
            memory.history.undo(commit, USER)
        except InvalidInput:
            assert not is_there
        self._look_at_unknown()
        self.held[path].discard(text)
        self.forgotten.add(text)

    @rule(side=SIDES)
    def compact(self, side: int) -> None:
        memory = self.sides[side]
        if self._is_blocked():
            self._expect_blocked(lambda: memory.history.compact(USER))
            return
        result = memory.history.compact(USER)
        assert result.unreachable == result.kept == ()
        assert memory.subjects() == ["Compact history"]
        self._look_at_unknown()
        self.commits = []
        objects = raw_git(self.root, "cat-file", "--batch-all-objects", "--batch", "--unordered")
        for text in self.forgotten - set().union(*self.held.values()):
            assert text.encode() not in objects

    @rule(path=FILES)
    def add_a_line_by_hand(self, path: str) -> None:
        text = self._new_text()
        with (self.root / path).open("ab") as stream:
            stream.write(f"- {text}\n".encode())
        self.held[path].add(text)
        self.was_edited = True

    @rule(path=FILES, number=NUMBERS)
    def take_a_line_out_by_hand(self, path: str, number: int) -> None:
        texts = sorted(self.held[path])
        if texts:
            text = texts[number % len(texts)]
            place = self.root / path
            lines = place.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if line.split(b" [")[0].strip() != f"- {text}".encode()]
            place.write_bytes(b"".join(kept))
            self.was_edited = True
            self.held[path].remove(text)
            self.forgotten.add(text)

    @rule()
    def block_or_free_the_tree(self) -> None:
        photo = self.root / "photo.png"
        if photo.exists():
            photo.unlink()
        else:
            photo.write_bytes(b"\x89PNG")

    @precondition(lambda self: not self.waiting)
    @rule(side=SIDES, path=FILES, step=st.sampled_from(["write_journal", "replace_file", "add", "commit"]))
    def crash_while_remembering(self, side: int, path: str, step: str) -> None:
        if self._is_blocked():
            return
        text = self._new_text()
        memory = self.sides[side].reopen()
        with pytest.MonkeyPatch.context() as patch:
            if step in {"add", "commit"}:
                patch.setattr(type(memory.writer.git), step, _and_die(getattr(type(memory.writer.git), step)))
            else:
                patch.setattr(writer_module, step, _and_die(getattr(writer_module, step)))
            try:
                memory.say(text, kind=KINDS[path])
            except Killed:
                self.unknown[text] = path

    @precondition(lambda self: not self.waiting)
    @rule(side=SIDES, path=FILES, number=NUMBERS, step=st.sampled_from(["write_journal", "replace_file"]))
    def crash_while_moving(self, side: int, path: str, number: int, step: str) -> None:
        texts = sorted(self.held[path])
        if self._is_blocked() or not texts or self.unknown or self.moving:
            return
        text, memory = texts[number % len(texts)], self.sides[side].reopen()
        entry = next(entry for entry in memory.entries(path) if entry.text == text)
        target = next(name for name in KINDS if name != path)
        if text in self.held[target]:
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writer_module, step, _and_die(getattr(writer_module, step)))
            try:
                memory.service.move(Ref(RepoPath(path), entry.line), RepoPath(target), USER)
            except Killed:
                self.held[path].remove(text)
                self.moving.add(text)
                self.was_edited = False

    # What must hold

    @invariant()
    def every_accepted_text_is_there_once(self) -> None:
        for path, held in self.held.items():
            texts = self.sides[0].texts(path)
            assert len(texts) == len(set(texts))
            assert held <= set(texts), held - set(texts)
            unknown = {text for text, place in self.unknown.items() if place == path}
            assert set(texts) - held <= unknown | self.moving, set(texts) - held
        for text in self.moving:
            assert any(text in self.sides[0].texts(path) for path in KINDS)

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        (self.root / "photo.png").unlink(missing_ok=True)
        last = self.sides[0].reopen()
        assert last.say("The last fact", kind=Kind.RULE).status is WriteStatus.WRITTEN
        self._was_held()
        self.held["lessons.md"].add("The last fact")
        self.every_accepted_text_is_there_once()
        assert not self.unknown
        assert last.waiting() == 0
        assert porcelain(self.root) == []
        assert_sound(self.root)
        assert not (self.root / ".git" / JOURNAL_NAME).exists()
        assert not [path for path in self.root.rglob("*") if TEMPORARY_NAME.fullmatch(path.name)]
        last.store.close()
        self.folder.cleanup()

    def _say(self, memory: Memory, path: str, text: str) -> None:
        result = memory.say(text, kind=KINDS[path])
        if self._is_blocked():
            assert result.status is WriteStatus.KEPT
            self.waiting[text] = path
            return
        assert result.status is WriteStatus.WRITTEN
        self._was_held()
        self.held[path].add(text)
        if result.action is WriteAction.INSERTED:
            assert result.commit is not None
            self.commits.append((result.commit, path, text))

    def _was_held(self) -> None:
        """A write went through the door: what waited was written first."""
        self._look_at_unknown()
        for text, path in self.waiting.items():
            self.held[path].add(text)
        self.waiting = {}

    def _look_at_unknown(self) -> None:
        """Recovery has decided what a crash left open."""
        for text, path in self.unknown.items():
            if text in self.sides[0].texts(path):
                self.held[path].add(text)
        self.unknown = {}
        for text in self.moving:
            places = [path for path in KINDS if text in self.sides[0].texts(path)]
            assert places if self.was_edited else len(places) == 1
            for path in places:
                self.held[path].add(text)
        self.moving = set()

    def _is_blocked(self) -> bool:
        return (self.root / "photo.png").exists()

    def _expect_blocked(self, act: Callable[[], object]) -> None:
        try:
            act()
        except WorkTreeBlocked:
            return
        raise AssertionError("a blocked tree was written to")

    def _new_text(self) -> str:
        self.count += 1
        return f"Text number {self.count} of this run"


def _and_die(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        real(*args, **options)
        raise Killed

    return call


TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=18)
