"""Each state of the work tree: what is taken in, what blocks, and that the fact is kept and replayed once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.kit.memory import AGENT, TAINTED, USER, Memory
from tests.kit.repos import assert_sound, message_of, porcelain, raw_git

from memrepo.errors import LockBusy, WorkTreeBlocked
from memrepo.model import Candidate, EntryFilter, Kind, Reason, Scope, WriteStatus

if TYPE_CHECKING:
    from collections.abc import Callable


def test_hand_edits_are_committed_first_and_count_as_the_users(memory: Memory) -> None:
    memory.write("me.md", "# About me\n\n- Lives in Berlin\n")
    memory.write("notes/plan.md", "# Plan\n")
    memory.say("Prefers tabs")
    assert memory.subjects()[:2] == ["Remember preference: Prefers tabs", "Hand edits"]
    assert message_of(memory.root, "HEAD~1") == "Hand edits\n\nOrigin: hand_edit"
    assert "notes/plan.md" in raw_git(memory.root, "ls-files").decode()
    assert memory.texts("me.md") == ["Lives in Berlin", "Prefers tabs"]


def test_deleted_and_renamed_files_are_taken_in(memory: Memory) -> None:
    memory.learn("Uses PostgreSQL 16")
    (memory.root / "lessons.md").unlink()
    (memory.root / "me.md").rename(memory.root / "about.md")
    memory.say("Run the linter", kind=Kind.RULE)
    assert memory.subjects()[1] == "Hand edits"
    assert porcelain(memory.root) == []
    assert memory.texts("lessons.md") == ["Run the linter"]


def test_staged_hand_edits_are_taken_in_too(memory: Memory) -> None:
    memory.write("me.md", "# About me\n\n- Staged\n")
    raw_git(memory.root, "add", "me.md")
    memory.write("me.md", "# About me\n\n- Staged\n- And more\n")
    memory.say("Run the linter", kind=Kind.RULE)
    assert memory.subjects()[:2] == ["Remember rule: Run the linter", "Hand edits"]
    assert porcelain(memory.root) == []


def _untracked_file(memory: Memory) -> None:
    memory.write("photo.png", b"\x89PNG")


def _changed_foreign_file(memory: Memory) -> None:
    memory.write(".gitattributes", "*.md merge=union\n# mine\n")


def _index_lock(memory: Memory) -> None:
    memory.write(".git/index.lock", "")


def _detached_head(memory: Memory) -> None:
    raw_git(memory.root, "checkout", "--quiet", "--detach")


def _other_branch(memory: Memory) -> None:
    raw_git(memory.root, "checkout", "--quiet", "-b", "mine")


def _merge(memory: Memory) -> None:
    _diverge(memory)
    raw_git(memory.root, "-c", "merge.conflictStyle=merge", "merge", "mine", ok_codes=(1,))


def _rebase(memory: Memory) -> None:
    _diverge(memory)
    raw_git(memory.root, "rebase", "mine", ok_codes=(1,))


def _cherry_pick(memory: Memory) -> None:
    _diverge(memory)
    raw_git(memory.root, "cherry-pick", "mine", ok_codes=(1,))


def _bisect(memory: Memory) -> None:
    memory.say("Something to bisect")
    raw_git(memory.root, "bisect", "start")


def _diverge(memory: Memory) -> None:
    """Two branches that change one line of a file which is merged as text."""
    memory.write(".git/info/attributes", "*.md merge=text\n")
    memory.write("me.md", "# About me\n\n- base\n")
    raw_git(memory.root, "commit", "-qam", "base")
    raw_git(memory.root, "checkout", "-qb", "mine")
    memory.write("me.md", "# About me\n\n- mine\n")
    raw_git(memory.root, "commit", "-qam", "mine")
    raw_git(memory.root, "checkout", "-q", "main")
    memory.write("me.md", "# About me\n\n- theirs\n")
    raw_git(memory.root, "commit", "-qam", "theirs")


STATES: list[tuple[Callable[[Memory], None], str, list[list[str]]]] = [
    (_untracked_file, "untracked_foreign", [["clean", "-fq", "photo.png"]]),
    (_changed_foreign_file, "foreign_change", [["checkout", "-q", ".gitattributes"]]),
    (_detached_head, "detached_head", [["checkout", "-q", "main"]]),
    (_other_branch, "other_branch", [["checkout", "-q", "main"]]),
    (_merge, "merge", [["merge", "--abort"]]),
    (_rebase, "rebase", [["rebase", "--abort"]]),
    (_cherry_pick, "cherry_pick", [["cherry-pick", "--abort"]]),
    (_bisect, "bisect", [["bisect", "reset"]]),
]


@pytest.mark.parametrize(("disturb", "state", "mend"), STATES, ids=[state for _, state, _ in STATES])
def test_a_blocked_tree_is_left_alone_and_the_fact_is_kept_and_replayed_once(
    memory: Memory, disturb: Callable[[Memory], None], state: str, mend: list[list[str]]
) -> None:
    disturb(memory)
    head = raw_git(memory.root, "rev-parse", "HEAD")
    status = porcelain(memory.root)
    with pytest.raises(WorkTreeBlocked) as caught, memory.writer.hold():
        pass
    assert caught.value.facts["state"] == state
    assert caught.value.hint

    first = memory.say("Prefers tabs")
    second = memory.learn("Uses PostgreSQL 16")
    assert [(result.status, result.reason) for result in (first, second)] == [(WriteStatus.KEPT, Reason.DIRTY)] * 2
    assert first.kept_id is not None
    assert first.detail
    assert raw_git(memory.root, "rev-parse", "HEAD") == head
    assert porcelain(memory.root) == status
    assert memory.waiting() == 2

    for command in mend:
        raw_git(memory.root, *command)
    other = memory.reopen()
    assert other.say("Lives in Berlin").status is WriteStatus.WRITTEN
    assert other.waiting() == 0
    assert other.subjects()[:3] == [
        "Remember preference: Lives in Berlin",
        "Remember project_fact: Uses PostgreSQL 16",
        "Remember preference: Prefers tabs",
    ]
    assert other.all_texts().count("Prefers tabs") == 1
    assert_sound(memory.root)


def test_an_index_lock_blocks_until_it_is_gone(memory: Memory) -> None:
    _index_lock(memory)
    assert memory.say("Prefers tabs").reason is Reason.DIRTY
    (memory.root / ".git/index.lock").unlink()
    memory.say("Lives in Berlin")
    assert memory.texts("me.md") == ["Prefers tabs", "Lives in Berlin"]


def test_a_replayed_fact_keeps_its_day_its_task_its_origin_and_its_author(memory: Memory) -> None:
    _untracked_file(memory)
    quoting = replace(AGENT, user_messages=("I really prefer tabs",))
    candidate = Candidate("Prefers tabs", claims_user=True, quote="I really prefer tabs")
    assert memory.service.remember(candidate, quoting).status is WriteStatus.KEPT
    assert memory.learn("From the web", task=TAINTED).status is WriteStatus.KEPT
    (memory.root / "photo.png").unlink()
    memory.say("Lives in Berlin")
    entry = memory.entries("me.md")[0]
    assert (entry.text, entry.by, entry.value("added")) == ("Prefers tabs", "user", "2026-10-05")
    assert memory.texts("inbox.md") == ["From the web"]
    assert message_of(memory.root, "HEAD~2").endswith("Task: t1\nOrigin: agent_tool")


def test_a_fact_that_waits_twice_is_written_once(memory: Memory) -> None:
    _untracked_file(memory)
    ids = {memory.say("Prefers tabs").kept_id for _ in range(3)}
    assert len(ids) == 1
    (memory.root / "photo.png").unlink()
    memory.say("Lives in Berlin")
    assert memory.texts("me.md") == ["Prefers tabs", "Lives in Berlin"]


def test_a_busy_lock_keeps_the_fact(memory: Memory) -> None:
    other = memory.reopen()
    with other.writer.hold():
        result = memory.say("Prefers tabs")
        assert (result.status, result.reason) == (WriteStatus.KEPT, Reason.BUSY)
        with pytest.raises(LockBusy):
            memory.service.forget_where(EntryFilter(contains="a"), USER)
    memory.say("Lives in Berlin")
    assert memory.texts("me.md") == ["Prefers tabs", "Lives in Berlin"]


def test_a_read_only_process_keeps_the_fact_for_the_next_writer(memory: Memory) -> None:
    reader = memory.reopen(read_only=True)
    result = reader.say("Prefers tabs")
    assert (result.status, result.reason) == (WriteStatus.KEPT, Reason.UNAVAILABLE)
    memory.say("Lives in Berlin")
    assert memory.texts("me.md") == ["Prefers tabs", "Lives in Berlin"]


def test_a_damaged_store_does_not_stop_a_write_to_the_repo(memory: Memory) -> None:
    memory.store.path.parent.mkdir(parents=True)
    memory.store.path.write_bytes(b"this is no database at all" * 100)
    assert memory.say("Prefers tabs").status is WriteStatus.WRITTEN
    assert memory.texts("me.md") == ["Prefers tabs"]


def test_what_neither_the_repo_nor_the_store_can_hold_is_an_error_and_not_a_promise(memory: Memory) -> None:
    memory.store.path.parent.mkdir(parents=True)
    memory.store.path.write_bytes(b"this is no database at all" * 100)
    _untracked_file(memory)
    with pytest.raises(WorkTreeBlocked) as caught:
        memory.say("Prefers tabs")
    assert any("could not be kept" in note for note in caught.value.__notes__)
    assert memory.store.path.read_bytes().startswith(b"this is no database")


def test_a_closed_service_takes_no_write_and_loses_none(memory: Memory) -> None:
    assert memory.service.close()
    result = memory.service.remember(Candidate("Prefers tabs", scope=Scope.GLOBAL), USER)
    assert result.status is WriteStatus.KEPT
