"""A pending write that was done is never done again: not after a kill, and not after the user took its line back."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.kit.forked import Child
from tests.kit.memory import Memory, StoreFile, make_memory
from tests.kit.repos import assert_sound

from memrepo.errors import StoreFault
from memrepo.git.client import GitClient
from memrepo.journal import JOURNAL_NAME, REPLAYED_NAME, add_replayed, read_replayed, remove_replayed
from memrepo.model import WriteStatus
from memrepo.store.pending import Pending
from memrepo.writer import WriteSession

if TYPE_CHECKING:
    from pathlib import Path

WAITED = "Waited for the folder"
POINTS = {
    "before-the-commit": (GitClient, "commit"),
    "after-the-commit": ("memrepo.writer", "add_replayed"),
    "after-the-note": ("memrepo.writer", "remove_journal"),
    "before-the-row-is-gone": (Pending, "remove"),
    "after-the-row-is-gone": (WriteSession, "end_replay"),
}


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A folder for which one fact waits, with nothing in the way any more; nothing of it is open."""
    memory = make_memory(tmp_path)
    memory.say("Was there before")
    memory.write("photo.png", b"\x89PNG")
    assert memory.say(WAITED).status is WriteStatus.KEPT
    (memory.root / "photo.png").unlink()
    memory.store.close()
    return tmp_path


def open_later(case: Path) -> Memory:
    return Memory(case / "memory", StoreFile(case / "data" / "store.db")).reopen_after_its_end()


def kill_at(case: Path, point: str) -> None:
    target, name = POINTS[point]

    def act() -> None:
        with pytest.MonkeyPatch.context() as patch:
            if isinstance(target, str):
                patch.setattr(f"{target}.{name}", die)
            else:
                patch.setattr(target, name, die)
            Memory(case / "memory", StoreFile(case / "data" / "store.db")).say("Said now")

    assert Child(act).wait() == -signal.SIGKILL


def take_back(memory: Memory) -> None:
    lines = memory.read("me.md").splitlines(keepends=True)
    assert sum(WAITED in line for line in lines) == 1
    memory.write("me.md", "".join(line for line in lines if WAITED not in line))


@pytest.mark.parametrize("point", POINTS)
def test_a_replay_that_was_killed_is_done_once(case: Path, point: str) -> None:
    kill_at(case, point)
    memory = open_later(case)
    memory.say("Said later")
    assert memory.texts("me.md").count(WAITED) == 1
    assert memory.subjects().count(f"Remember preference: {WAITED}") == 1
    assert memory.waiting() == 0
    assert not (memory.root / ".git" / JOURNAL_NAME).exists()
    assert read_replayed(memory.root / ".git") == () or point == "after-the-row-is-gone"
    assert_sound(memory.root)


@pytest.mark.parametrize("point", [point for point in POINTS if point != "before-the-commit"])
def test_a_line_that_the_user_took_back_after_the_kill_does_not_come_back(case: Path, point: str) -> None:
    kill_at(case, point)
    take_back(open_later(case))
    for _ in range(2):
        memory = open_later(case)
        memory.say("Said later")
        assert memory.texts("me.md") == ["Was there before", "Said later"]
        assert memory.waiting() == 0
        memory.store.close()


def test_a_fact_whose_file_was_edited_before_its_commit_is_not_lost(case: Path) -> None:
    kill_at(case, "before-the-commit")
    memory = open_later(case)
    take_back(memory)
    memory.write("me.md", memory.read("me.md") + "- By hand\n")  # neither as before nor as the write wants it
    memory.say("Said later")
    assert sorted(memory.texts("me.md")) == ["By hand", "Said later", WAITED, "Was there before"]
    assert memory.waiting() == 0


def test_while_the_store_cannot_settle_a_write_the_folder_remembers_that_it_is_done(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_later(case)

    def fail(*_: object) -> None:
        raise StoreFault("the disk is full", invariant="store-disk-full", path="x")

    with monkeypatch.context() as patch:
        patch.setattr(Pending, "remove", fail)
        assert memory.say("Said now").status is WriteStatus.WRITTEN
    assert memory.waiting() == 1
    take_back(memory)
    memory.say("Said later")
    assert WAITED not in memory.texts("me.md")
    assert memory.waiting() == 0


def test_the_note_of_done_replays_survives_what_cannot_be_read(tmp_path: Path) -> None:
    add_replayed(tmp_path, "a")
    add_replayed(tmp_path, "b")
    add_replayed(tmp_path, "a")
    assert read_replayed(tmp_path) == ("b", "a")
    remove_replayed(tmp_path, "b")
    remove_replayed(tmp_path, "not there")
    assert read_replayed(tmp_path) == ("a",)
    remove_replayed(tmp_path, "a")
    assert not (tmp_path / REPLAYED_NAME).exists()
    for damaged in (b"", b"{", b"[]", b'{"keys": 3}', b'{"keys": [1, null]}', b"\xff"):
        (tmp_path / REPLAYED_NAME).write_bytes(damaged)
        assert read_replayed(tmp_path) == ()
