"""A memory folder, or a private store, that nobody may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.memory import USER, Memory
from tests.kit.mounts import read_only
from tests.kit.repos import assert_sound, porcelain

from memrepo.errors import DiskFault, MemrepoError
from memrepo.model import Kind, Reason, WriteStatus

if TYPE_CHECKING:
    from pathlib import Path


def everything_in(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def test_facts_for_a_read_only_folder_are_kept_with_the_reason_and_written_later(memory: Memory) -> None:
    memory.say("Lives in Berlin")
    before = everything_in(memory.root)
    with read_only(memory.root):
        results = [memory.say("Prefers tabs"), memory.learn("Uses PostgreSQL 16")]
        assert [(result.status, result.reason) for result in results] == [(WriteStatus.KEPT, Reason.UNAVAILABLE)] * 2
        assert "read-only" in results[0].detail
    assert everything_in(memory.root) == before
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.texts("me.md") == ["Lives in Berlin", "Prefers tabs"]
    assert memory.texts("workspaces/billing-service.md")[1:] == ["Uses PostgreSQL 16"]
    assert memory.waiting() == 0
    assert porcelain(memory.root) == []
    assert_sound(memory.root)


def test_other_acts_on_a_read_only_folder_say_why_and_change_nothing(memory: Memory) -> None:
    said = memory.say("Prefers tabs")
    assert said.ref is not None
    ref = said.ref
    with read_only(memory.root):
        for act in (
            lambda: memory.service.forget(ref, USER),
            lambda: memory.service.edit(ref, "Prefers spaces", USER),
            lambda: memory.service.pin(ref, USER),
            lambda: memory.history.undo("HEAD", USER),
            lambda: memory.history.compact(USER),
        ):
            with pytest.raises(DiskFault, match="read-only") as caught:
                act()
            assert caught.value.hint
        assert [commit.subject for commit in memory.history.log(limit=1)] == ["Remember preference: Prefers tabs"]
    assert memory.texts("me.md") == ["Prefers tabs"]


def test_without_a_place_to_keep_it_the_caller_hears_that_nothing_was_accepted(memory: Memory) -> None:
    (memory.store.path.parent).mkdir()
    with (
        read_only(memory.root),
        read_only(memory.store.path.parent),
        pytest.raises(DiskFault, match="read-only") as caught,
    ):
        memory.say("Prefers tabs")
    assert any("could not be kept" in note for note in caught.value.__notes__)
    assert memory.waiting() == 0


def test_a_read_only_store_holds_up_no_write_and_what_waits_in_it_goes_on_waiting(memory: Memory) -> None:
    memory.write("photo.png", b"\x89PNG")
    memory.say("Prefers tabs")
    (memory.root / "photo.png").unlink()
    memory.store.close()
    with read_only(memory.store.path.parent):
        later = memory.reopen()
        result = later.say("Lives in Berlin")
        assert result.status is WriteStatus.WRITTEN
        assert later.texts("me.md") == ["Lives in Berlin"]
        memory.store.close()
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.texts("me.md") == ["Lives in Berlin", "Prefers tabs"]
    assert memory.waiting() == 0


def test_a_fact_that_waits_in_a_read_only_store_does_not_come_back_after_it_was_forgotten(memory: Memory) -> None:
    memory.write("photo.png", b"\x89PNG")
    memory.say("Prefers tabs")
    (memory.root / "photo.png").unlink()
    memory.store.close()
    with read_only(memory.store.path.parent):
        later = memory.reopen()
        said = later.say("Prefers tabs")
        assert said.ref is not None
        later.service.forget(said.ref, USER, expect_hash=said.hash)
        assert later.texts("me.md") == []
        later.say("Lives in Berlin")
        assert later.texts("me.md") == ["Lives in Berlin"]
        memory.store.close()


def test_a_file_that_its_owner_marked_read_only_is_not_replaced(memory: Memory) -> None:
    (memory.root / "me.md").chmod(0o444)
    result = memory.say("Prefers tabs")
    assert (result.status, result.reason) == (WriteStatus.KEPT, Reason.UNAVAILABLE)
    assert "chmod u+w me.md" in result.detail
    with pytest.raises(MemrepoError):
        memory.service.clear_global(USER)
    assert memory.say("Run the linter", kind=Kind.RULE).status is WriteStatus.WRITTEN
