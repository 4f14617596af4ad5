"""What a killed creation or compaction leaves, and a journal that met something else: each state of docs/invariants.md.

The steps of a write are in test_write_faults.py.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.faulty_git import KILLING, FaultyGit, GitFault
from tests.kit.faulty_os import FaultyOs
from tests.kit.forked import Child
from tests.kit.memory import USER, Memory
from tests.kit.repos import assert_sound, porcelain, raw_git

from memrepo import writer as writer_module
from memrepo.creation import create_repo
from memrepo.errors import RepositoryFault
from memrepo.files import folder as folder_module
from memrepo.files.folder import TEMPORARY_NAME
from memrepo.git.gate import is_repository
from memrepo.journal import JOURNAL_NAME, set_journal_aside
from memrepo.model import Origin, Ref, RepoPath, WriteStatus

if TYPE_CHECKING:
    from collections.abc import Callable

REGRET = "Is looking for another job"
FIRST_FILES = {".git", ".gitattributes", ".gitignore", "MEMORY.md", "inbox.md", "lessons.md", "me.md"}


def kill_self(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(put_in: Callable[[], None], act: Callable[[], object]) -> bool:
    """Runs an act in a child with a fault in it; False when it came to its end alive."""

    def run() -> None:
        put_in()
        act()

    code = Child(run).wait()
    assert code in {0, -signal.SIGKILL}
    return code != 0


def forget_a_fact(memory: Memory) -> None:
    memory.say("Likes tea")
    memory.say(REGRET)
    memory.service.forget(Ref(RepoPath("me.md"), 4), USER)


def leave_a_journal(memory: Memory, text: str) -> None:
    """A process is killed when the plan is durable and no file is written."""

    def put_in() -> None:
        vars(writer_module)["replace_file"] = kill_self

    assert die_at(put_in, lambda: memory.reopen().say(text))
    assert (memory.root / ".git" / JOURNAL_NAME).exists()


@pytest.mark.parametrize("fault", KILLING)
def test_a_creation_killed_at_any_git_call_leaves_no_half_of_a_repo(tmp_path: Path, fault: GitFault) -> None:
    for number in count(1):
        place = tmp_path / str(number) / "memory"
        create = partial(create_repo, place, has_git=True, origin=Origin.CLI)
        if not die_at(FaultyGit(at=number, fault=fault).put_in_this_process, create):
            assert number > 3  # init, add and commit were met
            return
        check_creation(place)


def test_a_creation_killed_at_any_step_of_the_disk_leaves_no_half_of_a_repo(tmp_path: Path) -> None:
    for number in count(1):
        place = tmp_path / str(number) / "memory"
        create = partial(create_repo, place, has_git=True, origin=Origin.CLI)
        if not die_at(partial(FaultyOs(kill_at=number).put_in, folder_module), create):
            assert number > len(FIRST_FILES)
            return
        check_creation(place)


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_a_creation_killed_at_any_rename_leaves_no_half_of_a_repo(tmp_path: Path, is_done: bool) -> None:
    for number in count(1):
        place = tmp_path / str(number) / "memory"
        create = partial(create_repo, place, has_git=True, origin=Origin.CLI)
        if not die_at(partial(kill_at_rename, number, is_done=is_done), create):
            assert number > 1
            return
        check_creation(place)


def kill_at_rename(number: int, *, is_done: bool) -> None:
    """Kills this process before or after its nth rename of a path."""
    rename, calls = Path.rename, count(1)

    def renamed(self: Path, target: Path) -> Path:
        is_last = next(calls) == number
        if is_last and not is_done:
            kill_self()
        moved = rename(self, target)
        if is_last:
            kill_self()
        return moved

    any_path: Any = Path
    any_path.rename = renamed


def check_creation(place: Path) -> None:
    """Nothing or all is there; what lies beside it holds no memory, and the next creation goes through."""
    assert not place.exists() or is_repository(place)
    assert all(TEMPORARY_NAME.fullmatch(beside.name) for beside in place.parent.iterdir() if beside != place)
    if not place.exists():
        assert create_repo(place, has_git=True, origin=Origin.CLI)
    assert {path.name for path in place.iterdir()} == FIRST_FILES
    assert_sound(place)


@pytest.mark.parametrize("fault", KILLING)
def test_a_compaction_killed_at_any_step_is_finished_by_the_next(
    memory: Memory, tmp_path: Path, fault: GitFault
) -> None:
    forget_a_fact(memory)
    before = memory.read("me.md")
    for number in count(1):
        was_killed = die_at(
            FaultyGit(at=number, fault=fault).put_in_this_process, lambda: memory.reopen().history.compact(USER)
        )
        later = memory.reopen_after_its_end()
        assert later.read("me.md") == before
        assert porcelain(memory.root) == []
        assert later.history.compact(USER).is_proven
        assert later.subjects() == ["Compact history"]
        assert REGRET.encode() not in raw_git(memory.root, "cat-file", "--batch-all-objects", "--batch")
        assert_sound(memory.root)
        if not was_killed:
            assert number > 10
            return
        later.say(REGRET)
        later.service.forget(Ref(RepoPath("me.md"), 4), USER)


def test_an_edit_after_a_crash_wins_over_the_unfinished_write(memory: Memory) -> None:
    memory.say("Likes tea")
    leave_a_journal(memory, "Likes coffee")
    memory.write("me.md", memory.read("me.md") + "- Plays the cello\n")
    later = memory.reopen_after_its_end()
    assert later.say("Drinks water").status is WriteStatus.WRITTEN
    assert later.texts("me.md") == ["Likes tea", "Plays the cello", "Drinks water"]
    assert later.subjects()[:2] == ["Remember preference: Drinks water", "Hand edits"]
    assert porcelain(memory.root) == []
    assert not (memory.root / ".git" / JOURNAL_NAME).exists()


def test_a_damaged_journal_stops_the_writer_until_it_is_set_aside(memory: Memory) -> None:
    leave_a_journal(memory, "Likes coffee")
    journal = memory.root / ".git" / JOURNAL_NAME
    damaged = journal.read_bytes()[:40]
    journal.write_bytes(damaged)
    later = memory.reopen_after_its_end()
    with pytest.raises(RepositoryFault, match="journal"), later.writer.hold():
        pass
    assert later.say("Drinks water").status is WriteStatus.KEPT
    name = set_journal_aside(memory.root / ".git")
    assert name is not None
    assert (memory.root / ".git" / name).read_bytes() == damaged
    later.say("Likes tea")
    assert later.texts("me.md") == ["Drinks water", "Likes tea"]
