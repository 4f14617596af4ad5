"""Two processes, or a process and an editor, on one folder at once: nothing is lost, nothing is doubled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.forked import Child, Gate, gates
from tests.kit.memory import NOON, USER, Memory, StoreFile
from tests.kit.repos import assert_sound, porcelain, raw_git, write_files

from memrepo import creation as creation_module
from memrepo import writer as writer_module
from memrepo.creation import create_repo
from memrepo.git import compaction as compaction_module
from memrepo.git.client import GitClient
from memrepo.journal import JournalRecord, write_journal
from memrepo.lock import WriteLock
from memrepo.model import Candidate, Kind, Origin, WriteStatus
from memrepo.service import MemoryRepoService
from memrepo.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

FACTS = 200


def hold_at(module: ModuleType, name: str, arrived: Gate, go: Gate) -> None:
    """Stops this process in front of its first call of a function until the test lets it go. For children only."""
    real: Callable[..., object] = getattr(module, name)

    def held(*args: object, **options: object) -> object:
        setattr(module, name, real)
        arrived.open_for()
        go.wait()
        return real(*args, **options)

    setattr(module, name, held)


def make_waiting_service(memory: Memory) -> MemoryRepoService:
    """A service of another process, which waits for the lock as long as it takes."""
    writer = Writer(memory.root, git=GitClient(memory.root), lock=WriteLock(memory.root / ".git"))
    return MemoryRepoService(writer, store=StoreFile(memory.store.path), clock=lambda: NOON)


def test_two_processes_that_write_200_facts_each_at_once_lose_none(memory: Memory) -> None:
    before = len(memory.subjects())

    def write(name: str, go: Gate) -> None:
        service = make_waiting_service(memory)
        go.wait()
        for number in range(FACTS):
            result = service.remember(Candidate(f"Fact {number} of {name}"), USER)
            assert result.status in {WriteStatus.WRITTEN, WriteStatus.KEPT}

    with gates(1) as (go,):
        children = [Child(lambda name=name: write(name, go)) for name in ("one", "two")]  # type: ignore[misc]
        go.open_for(2)
        assert [child.wait() for child in children] == [0, 0]
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    wanted = [f"Fact {number} of {name}" for name in ("one", "two") for number in range(FACTS)]
    assert sorted(memory.texts("me.md")) == sorted(wanted)
    for name in ("one", "two"):
        own = [text for text in memory.texts("me.md") if text.endswith(name)]
        assert own == [f"Fact {number} of {name}" for number in range(FACTS)]
    assert len(memory.subjects()) - before == 2 * FACTS + 1
    assert memory.waiting() == 0
    assert porcelain(memory.root) == []
    assert_sound(memory.root)


def test_an_edit_saved_between_our_read_and_our_write_stands_beside_the_fact(memory: Memory) -> None:
    memory.say("Lives in Berlin")

    def write(arrived: Gate, go: Gate) -> None:
        hold_at(writer_module, "write_journal", arrived, go)
        assert memory.say("Prefers tabs").status is WriteStatus.WRITTEN

    with gates(2) as (arrived, go):
        child = Child(lambda: write(arrived, go))
        arrived.wait()
        memory.write("me.md", memory.read("me.md") + "- By an editor\n")
        go.open_for()
        assert child.wait() == 0
    assert memory.texts("me.md") == ["Lives in Berlin", "By an editor", "Prefers tabs"]
    assert memory.subjects()[:2] == ["Remember preference: Prefers tabs", "Hand edits"]
    assert porcelain(memory.root) == []


def test_an_editor_that_saves_before_every_try_makes_the_fact_wait_and_loses_nothing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = iter(range(100))

    def save_first(git_folder: Path, record: JournalRecord) -> None:
        memory.write("me.md", memory.read("me.md") + f"- Save {next(saves)}\n")
        write_journal(git_folder, record)

    with monkeypatch.context() as patch:
        patch.setattr(writer_module, "write_journal", save_first)
        result = memory.say("Prefers tabs")
    assert result.status is WriteStatus.KEPT
    assert "me.md changed" in result.detail
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.texts("me.md") == [*(f"Save {number}" for number in range(next(saves))), "Prefers tabs"]
    assert memory.waiting() == 0


def test_two_processes_that_replay_the_same_waiting_facts_write_each_once(memory: Memory) -> None:
    memory.write("photo.png", b"\x89PNG")
    waiting = [f"Waiting fact {number}" for number in range(8)]
    for text in waiting:
        assert memory.say(text).status is WriteStatus.KEPT
    memory.store.close()
    (memory.root / "photo.png").unlink()

    def replay(go: Gate) -> None:
        service = make_waiting_service(memory)
        go.wait()
        service.replay_pending()

    with gates(1) as (go,):
        children = [Child(lambda: replay(go)) for _ in range(2)]
        go.open_for(2)
        assert [child.wait() for child in children] == [0, 0]
    assert memory.texts("me.md") == waiting
    assert memory.waiting() == 0
    assert sum(subject.startswith("Remember") for subject in memory.subjects()) == len(waiting)


def test_a_fact_that_comes_while_another_process_replays_waits_and_is_written_once(memory: Memory) -> None:
    memory.write("photo.png", b"\x89PNG")
    memory.say("Waiting fact")
    memory.store.close()
    (memory.root / "photo.png").unlink()

    def replay(arrived: Gate, go: Gate) -> None:
        hold_at(writer_module, "write_journal", arrived, go)
        memory.service.replay_pending()

    with gates(2) as (arrived, go):
        child = Child(lambda: replay(arrived, go))
        arrived.wait()
        assert memory.reopen().say("Waiting fact").status is WriteStatus.KEPT
        memory.store.close()
        go.open_for()
        assert child.wait() == 0
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.texts("me.md") == ["Waiting fact"]
    assert memory.waiting() == 0


@pytest.mark.parametrize("droppings", [(), (".DS_Store",)], ids=["missing-folder", "filled-in-place"])
def test_two_processes_that_create_the_same_repo_make_one(tmp_path: Path, droppings: tuple[str, ...]) -> None:
    root = tmp_path / "memory"
    write_files(root, dict.fromkeys(droppings, "dropped")) if droppings else None

    def create(arrived: Gate, go: Gate) -> int:
        hold_at(creation_module, "_put_in_place", arrived, go)
        return int(create_repo(root, has_git=True, origin=Origin.CLI))

    with gates(2) as (arrived, go):
        children = [Child(lambda: create(arrived, go)) for _ in range(2)]
        arrived.wait()
        arrived.wait()
        go.open_for(2)
        assert sorted(child.wait() for child in children) == [0, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["memory"]
    assert raw_git(root, "log", "--format=%s").decode().splitlines() == ["Create memory"]
    assert porcelain(root) == []
    assert_sound(root)


def test_a_slow_second_creator_does_not_put_an_empty_file_over_a_remembered_fact(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    write_files(root, {".DS_Store": "dropped"})
    store = StoreFile(tmp_path / "data" / "store.db")

    def create(arrived: Gate, go: Gate) -> int:
        hold_at(creation_module, "_place_absent", arrived, go)
        return int(create_repo(root, has_git=True, origin=Origin.CLI))

    with gates(2) as (arrived, go):
        slow = Child(lambda: create(arrived, go))
        arrived.wait()
        assert create_repo(root, has_git=True, origin=Origin.CLI)
        memory = Memory(root, store)
        assert memory.say("Prefers tabs").status is WriteStatus.WRITTEN
        go.open_for()
        assert slow.wait() == 0
    assert memory.texts("me.md") == ["Prefers tabs"]
    assert porcelain(root) == []


def test_a_fact_that_comes_during_a_compaction_waits_and_is_written_after_it(memory: Memory) -> None:
    memory.say("Lives in Berlin")

    def compact(arrived: Gate, go: Gate) -> None:
        hold_at(compaction_module, "_remove_leftovers", arrived, go)
        assert memory.history.compact(USER).is_proven

    with gates(2) as (arrived, go):
        child = Child(lambda: compact(arrived, go))
        arrived.wait()
        assert memory.reopen().say("Prefers tabs").status is WriteStatus.KEPT
        memory.store.close()
        go.open_for()
        assert child.wait() == 0
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.texts("me.md") == ["Lives in Berlin", "Prefers tabs"]
    assert memory.subjects()[-1] == "Compact history"
    assert_sound(memory.root)


def test_writing_and_compacting_over_and_over_loses_no_fact(memory: Memory) -> None:
    texts = [f"Fact {number}" for number in range(30)]

    def write(go: Gate) -> None:
        service = make_waiting_service(memory)
        go.wait()
        for text in texts:
            service.remember(Candidate(text), USER)

    with gates(1) as (go,):
        child = Child(lambda: write(go))
        writer = Writer(memory.root, git=GitClient(memory.root), lock=WriteLock(memory.root / ".git"))
        memory.__dict__["writer"] = writer
        go.open_for()
        for _ in range(5):
            memory.history.compact(USER)
        assert child.wait() == 0
    del memory.__dict__["writer"]
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.texts("me.md") == texts
    assert memory.waiting() == 0
    assert porcelain(memory.root) == []
    assert_sound(memory.root)
