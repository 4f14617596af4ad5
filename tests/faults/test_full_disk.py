"""A disk that really is full: a small one, filled up, with the private store on it or on another."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.kit.memory import USER, Memory, StoreFile, make_memory
from tests.kit.mounts import small_disk
from tests.kit.repos import assert_sound, porcelain

from memrepo.creation import create_repo
from memrepo.errors import DiskFault, GitFailed, MemrepoError
from memrepo.model import Candidate, Kind, Origin, Reason, WriteStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = 4096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", size_kb=512) as place:
        yield place


def fill(disk: Path, *, leave_bytes: int = 0) -> Path:
    """Fills the disk up to so many free bytes; removing the file frees it again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(b"x" * PAGE)
    os.truncate(filler, max(0, filler.stat().st_size - leave_bytes))
    return filler


def make_memory_on(disk: Path, tmp_path: Path) -> Memory:
    create_repo(disk / "memory", has_git=True, origin=Origin.CLI)
    return Memory(disk / "memory", StoreFile(tmp_path / "data" / "store.db"))


@pytest.mark.parametrize("free_pages", range(0, 15, 2))
def test_a_fact_for_a_full_disk_is_kept_and_written_once_there_is_space(
    disk: Path, tmp_path: Path, free_pages: int
) -> None:
    memory = make_memory_on(disk, tmp_path)
    memory.say("Lives in Berlin")
    filler = fill(disk, leave_bytes=free_pages * PAGE)
    facts = [f"Fact {number} of a full disk" for number in range(4)]
    results = [memory.say(fact) for fact in facts]
    for fact, result in zip(facts, results, strict=True):
        if result.status is WriteStatus.KEPT:
            assert result.reason in {Reason.UNAVAILABLE, Reason.DIRTY}
            assert result.detail
        else:
            assert fact in memory.texts("me.md")
    assert memory.texts("me.md")[0] == "Lives in Berlin"
    if free_pages == 0:
        assert {result.status for result in results} == {WriteStatus.KEPT}

    filler.unlink()
    later = memory.reopen()
    assert later.say("Run the linter", kind=Kind.RULE).status is WriteStatus.WRITTEN
    assert later.texts("me.md") == ["Lives in Berlin", *facts]
    assert later.waiting() == 0
    assert porcelain(memory.root) == []
    assert_sound(memory.root)
    memory.store.close()


def test_forgetting_on_a_full_disk_is_refused_or_done_and_never_half_done(disk: Path, tmp_path: Path) -> None:
    memory = make_memory_on(disk, tmp_path)
    gone = memory.say("Prefers tabs")
    assert gone.ref is not None
    filler = fill(disk)
    with pytest.raises((DiskFault, GitFailed)) as caught:
        memory.service.forget(gone.ref, USER, expect_hash=gone.hash)
    assert caught.value.hint
    assert memory.texts("me.md") == ["Prefers tabs"]
    filler.unlink()
    memory.reopen().service.forget(gone.ref, USER, expect_hash=gone.hash)
    assert memory.texts("me.md") == []
    assert porcelain(memory.root) == []


def test_when_the_store_is_on_the_full_disk_too_the_caller_hears_that_nothing_was_accepted(disk: Path) -> None:
    create_repo(disk / "memory", has_git=True, origin=Origin.CLI)
    memory = Memory(disk / "memory", StoreFile(disk / "data" / "store.db"))
    filler = fill(disk)
    with pytest.raises(MemrepoError) as caught:
        memory.say("Prefers tabs")
    assert any("could not be kept" in note for note in caught.value.__notes__)
    filler.unlink()
    memory.reopen().say("Lives in Berlin")
    assert memory.texts("me.md") == ["Lives in Berlin"]
    assert_sound(memory.root)
    memory.store.close()


def test_a_creation_on_a_full_disk_leaves_nothing_behind(disk: Path) -> None:
    filler = fill(disk, leave_bytes=4 * PAGE)
    with pytest.raises((DiskFault, GitFailed)):
        create_repo(disk / "memory", has_git=True, origin=Origin.CLI)
    assert [path.name for path in disk.iterdir()] == ["filler"]
    filler.unlink()
    assert create_repo(disk / "memory", has_git=True, origin=Origin.CLI)


def test_a_full_disk_of_the_store_does_not_stop_a_write_to_the_repo(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    with small_disk(tmp_path / "disk", size_kb=64) as disk:
        memory.store.path = disk / "store.db"
        fill(disk)
        assert memory.say("Prefers tabs").status is WriteStatus.WRITTEN
        with pytest.raises(MemrepoError, match="space"):
            memory.service.remember(Candidate("Call Anna", private=True), USER)
        memory.store.close()
