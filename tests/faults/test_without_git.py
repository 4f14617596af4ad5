"""A machine without git: files are written, there is no history; and git comes, or goes, later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.memory import USER, Memory, make_memory
from tests.kit.repos import assert_sound, porcelain, raw_git

from memrepo.creation import start_history
from memrepo.errors import GitMissing
from memrepo.model import Kind, Origin, Reason, WriteStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Memory]:
    """A repo made without git."""
    made = make_memory(tmp_path, has_git=False)
    yield made
    made.store.close()


def test_files_are_written_without_a_commit(bare: Memory) -> None:
    said = bare.say("Prefers tabs")
    assert (said.status, said.commit) == (WriteStatus.WRITTEN, None)
    bare.learn("Uses PostgreSQL 16")
    assert bare.texts("me.md") == ["Prefers tabs"]
    assert "[[workspaces/billing-service]]" in bare.read("MEMORY.md")
    assert sorted(path.name for path in (bare.root / ".git").iterdir()) == ["memrepo-write.queue"]


def test_all_acts_on_entries_work_without_git(bare: Memory) -> None:
    first, second = bare.say("Prefers tabs"), bare.say("Lives in Berlin")
    assert first.ref is not None
    assert second.ref is not None
    bare.write("me.md", bare.read("me.md") + "- By hand\n")
    bare.service.pin(second.ref, USER)
    bare.service.edit(first.ref, "Prefers spaces", USER)
    bare.service.forget(first.ref, USER)
    assert bare.texts("me.md") == ["By hand"]
    assert bare.texts("MEMORY.md") == ["Lives in Berlin"]


def test_the_history_commands_say_that_git_is_missing(bare: Memory) -> None:
    for act in (
        bare.history.log,
        bare.history.diff,
        lambda: bare.history.undo("HEAD", USER),
        lambda: bare.history.compact(USER),
    ):
        with pytest.raises(GitMissing, match="no history") as caught:
            act()
        assert "install git" in caught.value.hint


def test_a_history_starts_when_git_comes_later(bare: Memory) -> None:
    bare.say("Prefers tabs")
    before = bare.read("me.md")
    start_history(bare.root, origin=Origin.CLI)
    later = Memory(bare.root, bare.store)
    later.say("Lives in Berlin")
    assert bare.read("me.md").startswith(before)
    assert later.subjects() == ["Remember preference: Lives in Berlin", "Create memory"]
    assert porcelain(bare.root) == []
    assert_sound(bare.root)


def test_a_start_of_the_history_that_was_cut_off_can_be_run_again(bare: Memory) -> None:
    bare.say("Prefers tabs")
    raw_git(bare.root, "init", "--quiet", "--template=", "--initial-branch=main")  # killed right behind it
    later = Memory(bare.root, bare.store)
    kept = later.say("Lives in Berlin")
    assert (kept.status, kept.reason) == (WriteStatus.KEPT, Reason.DIRTY)
    assert "memrepo doctor --fix" in kept.detail
    later.writer.settle_foreign(ignore=False)
    later.say("Run the linter", kind=Kind.RULE)
    assert later.texts("me.md") == ["Prefers tabs", "Lives in Berlin"]
    assert porcelain(bare.root) == []


def test_when_git_goes_away_a_running_process_keeps_its_facts_for_the_next(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.say("Prefers tabs")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(memory.root))
        kept = memory.say("Lives in Berlin")
        assert (kept.status, kept.reason) == (WriteStatus.KEPT, Reason.UNAVAILABLE)
        assert "git" in kept.detail
        # A process that starts now knows of no git, and writes files.
        without = Memory(memory.root, memory.store, has_git=False)
        assert without.say("Speaks German").status is WriteStatus.WRITTEN
        assert without.texts("me.md") == ["Prefers tabs", "Lives in Berlin", "Speaks German"]
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.subjects()[:2] == ["Remember rule: Run the linter", "Hand edits"]
    assert porcelain(memory.root) == []
    assert_sound(memory.root)


def test_a_write_that_was_cut_off_without_git_is_finished(bare: Memory) -> None:
    before = bare.read("MEMORY.md")
    bare.learn("Uses PostgreSQL 16")
    after = {path: bare.read(path) for path in ("MEMORY.md", "workspaces/billing-service.md")}
    bare.write("MEMORY.md", before)
    (bare.root / "workspaces/billing-service.md").unlink()
    from memrepo.files.atomic import digest_bytes
    from memrepo.journal import JournalRecord, write_journal
    from memrepo.model import FileChange, Message, RepoPath, Trailers

    changes = (
        FileChange(RepoPath("workspaces/billing-service.md"), None, after["workspaces/billing-service.md"].encode()),
        FileChange(RepoPath("MEMORY.md"), digest_bytes(before.encode()), after["MEMORY.md"].encode()),
    )
    message = Message("Remember project_fact: Uses PostgreSQL 16", Trailers(Origin.AGENT_TOOL, "t1"))
    write_journal(bare.root / ".git", JournalRecord(changes, message))
    bare.write("workspaces/billing-service.md", after["workspaces/billing-service.md"])  # killed behind the first file
    bare.reopen().say("Prefers tabs")
    assert bare.read("MEMORY.md") == after["MEMORY.md"]
