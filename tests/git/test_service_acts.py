"""Forgetting, editing, pinning, moving, keeping, clearing: what each does, and who may."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from tests.kit.memory import AGENT, BILLING, TAINTED, USER, Memory
from tests.kit.repos import message_of

from memrepo.errors import ApprovalNeeded, InvalidInput, NotFound, Refused, StaleRef, TooLarge
from memrepo.format.entries import content_hash
from memrepo.model import Author, EntryFilter, Kind, Ref, RepoPath, WriteAction, WriteStatus


def test_forgetting_removes_the_line_in_a_commit_of_its_own(memory: Memory) -> None:
    kept = memory.say("Lives in Berlin")
    gone = memory.say("Prefers tabs")
    assert gone.ref is not None
    result = memory.service.forget(gone.ref, USER, expect_hash=gone.hash)
    assert (result.action, result.hash) == (WriteAction.REMOVED, gone.hash)
    assert memory.texts("me.md") == ["Lives in Berlin"]
    assert message_of(memory.root) == "Forget: Prefers tabs\n\nOrigin: cli"
    assert kept.ref is not None


def test_forgetting_takes_the_indented_text_under_a_line_along_and_nothing_else(memory: Memory) -> None:
    memory.write("me.md", "# About me\n\n- First\n  more of the first\n  - Inner\n\n  apart\n- Second\n")
    memory.service.forget(Ref(RepoPath("me.md"), 3), USER)
    assert memory.read("me.md") == "# About me\n\n  - Inner\n\n  apart\n- Second\n"


def test_a_moved_line_is_found_by_its_hash(memory: Memory) -> None:
    result = memory.say("Prefers tabs")
    memory.write("me.md", "# About me\n\n- New first line\n- Another\n" + memory.read("me.md").split("\n\n")[1])
    assert result.ref is not None
    memory.service.forget(result.ref, USER, expect_hash=result.hash)
    assert memory.texts("me.md") == ["New first line", "Another"]


@pytest.mark.parametrize("text", ["- Other\n", "- Prefers tabs\n- Other\n- Prefers tabs\n"])
def test_a_ref_that_is_gone_or_stands_twice_is_stale_and_nothing_is_removed(memory: Memory, text: str) -> None:
    memory.write("me.md", f"# About me\n\n- First\n{text}")
    with pytest.raises(StaleRef, match="changed"):
        memory.service.forget(Ref(RepoPath("me.md"), 3), USER, expect_hash=content_hash("Prefers tabs"))
    assert memory.read("me.md") == f"# About me\n\n- First\n{text}"


def test_a_ref_to_no_entry_is_not_found(memory: Memory) -> None:
    for ref in (Ref(RepoPath("me.md"), 1), Ref(RepoPath("me.md"), 99), Ref(RepoPath("absent.md"), 1)):
        with pytest.raises(NotFound):
            memory.service.forget(ref, USER)


def test_an_agent_forgets_its_own_line_without_asking(memory: Memory) -> None:
    result = memory.learn("Uses PostgreSQL 16")
    assert result.ref is not None
    memory.service.forget(result.ref, AGENT, expect_hash=result.hash)
    assert memory.texts("workspaces/billing-service.md") == ["CoWork workspace"]


def test_an_agent_needs_approval_for_anything_else(memory: Memory) -> None:
    users = memory.say("Prefers tabs")
    others = memory.learn("Uses PostgreSQL 16", task=replace(AGENT, task_id="t7"))
    for result in (users, others):
        assert result.ref is not None
        with pytest.raises(ApprovalNeeded) as caught:
            memory.service.forget(result.ref, AGENT, expect_hash=result.hash)
        assert caught.value.facts["approval"] == "memory_delete"
        memory.service.forget(result.ref, AGENT, expect_hash=result.hash, is_approved=True)


def test_editing_keeps_the_metadata_and_sets_who_said_it(memory: Memory) -> None:
    result = memory.learn("Uses PostgreSQL 15")
    assert result.ref is not None
    edited = memory.service.edit(result.ref, "Uses PostgreSQL 16", USER, expect_hash=result.hash)
    entry = memory.entries("workspaces/billing-service.md")[1]
    assert (edited.action, entry.text, entry.by) == (WriteAction.EDITED, "Uses PostgreSQL 16", Author.USER)
    assert (entry.value("source"), entry.value("kind")) == ("cowork://tasks/t1", "project_fact")


def test_an_edit_keeps_unknown_keys_bullets_and_indentation(memory: Memory) -> None:
    memory.write("me.md", "# About me\n\n* Outer\n  + Inner [colour: red; by: agent]\n")
    memory.service.edit(Ref(RepoPath("me.md"), 4), "Inner, changed", USER)
    assert memory.read("me.md") == "# About me\n\n* Outer\n  + Inner, changed [by: user; colour: red]\n"


def test_an_edit_passes_the_same_screen_as_a_new_fact(memory: Memory) -> None:
    result = memory.say("Prefers tabs")
    assert result.ref is not None
    assert memory.service.edit(result.ref, "ok", USER).status is WriteStatus.SKIPPED
    with pytest.raises(TooLarge, match="501"):
        memory.service.edit(result.ref, "x" * 501, USER)
    token = "ghp_" + "a1B2" * 9
    memory.service.edit(result.ref, f"The token is {token}", USER)
    assert token not in memory.read("me.md")


def test_an_edit_to_a_text_that_stands_there_already_is_refused(memory: Memory) -> None:
    memory.say("Lives in Berlin")
    result = memory.say("Lives in Hamburg")
    assert result.ref is not None
    with pytest.raises(InvalidInput, match="already"):
        memory.service.edit(result.ref, "lives in berlin", USER)


def test_pinning_moves_a_line_to_the_file_that_every_session_reads(memory: Memory) -> None:
    result = memory.say("Prefers tabs", task=AGENT)
    assert result.ref is not None
    pinned = memory.service.pin(result.ref, USER, expect_hash=result.hash)
    assert pinned.path == "MEMORY.md"
    assert memory.texts("me.md") == []
    assert [(entry.text, entry.by) for entry in memory.entries("MEMORY.md")] == [("Prefers tabs", Author.USER)]


def test_pinning_into_a_full_file_leaves_the_line_where_it_was(memory: Memory) -> None:
    for number in range(12):
        memory.say(f"Pinned {number} " + "x" * 330, pin=True)
    result = memory.say("One more " + "y" * 300)
    assert result.ref is not None
    refused = memory.service.pin(result.ref, USER)
    assert refused.status is WriteStatus.SKIPPED
    assert any(text.startswith("One more") for text in memory.texts("me.md"))


def test_moving_makes_and_links_a_new_file(memory: Memory) -> None:
    result = memory.say("Likes the Pixel font")
    assert result.ref is not None
    moved = memory.service.move(result.ref, RepoPath("topics/fonts.md"), USER)
    assert (moved.action, moved.path) == (WriteAction.MOVED, "topics/fonts.md")
    assert memory.texts("topics/fonts.md") == ["Likes the Pixel font"]
    assert "[[topics/fonts]]" in memory.read("MEMORY.md")


def test_agents_neither_pin_nor_move_nor_clear(memory: Memory) -> None:
    result = memory.learn("Uses PostgreSQL 16")
    assert result.ref is not None
    ref = result.ref
    acts = (
        lambda: memory.service.pin(ref, AGENT),
        lambda: memory.service.move(ref, RepoPath("x.md"), AGENT),
        lambda: memory.service.clear_global(AGENT),
        lambda: memory.service.clear_workspace("ws-billing", AGENT),
        lambda: memory.history.undo("HEAD", AGENT),
        lambda: memory.history.compact(AGENT),
    )
    before = memory.subjects()
    for act in acts:
        with pytest.raises(Refused):
            act()
    assert memory.subjects() == before


def test_keeping_an_inbox_entry_files_it_as_the_users_word(memory: Memory) -> None:
    result = memory.learn("Deploys on Fridays", task=TAINTED)
    assert result.ref is not None
    kept = memory.service.keep(result.ref, USER, expect_hash=result.hash, workspaces=[BILLING])
    assert kept.path == "workspaces/billing-service.md"
    entry = memory.entries("workspaces/billing-service.md")[1]
    assert (entry.text, entry.by, entry.value("workspace")) == ("Deploys on Fridays", Author.USER, None)
    assert memory.texts("inbox.md") == []


def test_forgetting_by_filter_is_one_commit(memory: Memory) -> None:
    memory.say("Prefers tabs")
    memory.learn("Uses tabs in Go")
    memory.learn("Uses PostgreSQL 16")
    gone = memory.service.forget_where(EntryFilter(contains="TABS", by=Author.AGENT), USER)
    assert [str(ref) for ref in gone] == ["repo:workspaces/billing-service.md#L4"]
    assert memory.texts("me.md") == ["Prefers tabs"]
    assert memory.subjects()[0] == "Forget 1 entry"


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (EntryFilter(kind=Kind.RULE), 1),
        (EntryFilter(subject="Indentation"), 1),
        (EntryFilter(path=RepoPath("me.md")), 1),
        (EntryFilter(task="t1"), 1),
        (EntryFilter(added_before=dt.date(2026, 10, 6)), 3),
        (EntryFilter(added_before=dt.date(2026, 10, 5)), 0),
        (EntryFilter(kind=Kind.RULE, task="t1"), 0),
    ],
)
def test_each_condition_of_a_filter_counts(memory: Memory, wanted: EntryFilter, count: int) -> None:
    memory.say("Prefers tabs", subject="indentation")
    memory.say("Run the linter", kind=Kind.RULE)
    memory.learn("Uses PostgreSQL 16")
    assert len(memory.service.forget_where(wanted, USER)) == count


def test_an_empty_filter_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="filter"):
        memory.service.forget_where(EntryFilter(), USER)


def test_purging_a_task_leaves_the_users_own_words(memory: Memory) -> None:
    memory.learn("Uses PostgreSQL 16")
    memory.say("Prefers tabs", task=replace(AGENT, user_confirmed=True))
    memory.learn("Deploys on Fridays", task=replace(AGENT, task_id="t9"))
    gone = memory.service.purge_task("t1", USER)
    assert len(gone) == 1
    assert memory.texts("me.md") == ["Prefers tabs"]
    assert memory.texts("workspaces/billing-service.md") == ["CoWork workspace", "Deploys on Fridays"]


def test_clearing_a_workspace_removes_its_file_and_link(memory: Memory) -> None:
    memory.learn("Uses PostgreSQL 16")
    memory.service.clear_workspace("ws-billing", USER)
    assert not (memory.root / "workspaces/billing-service.md").exists()
    assert "billing" not in memory.read("MEMORY.md")
    with pytest.raises(NotFound):
        memory.service.clear_workspace("ws-billing", USER)


def test_clearing_global_memories_keeps_the_frame_and_the_workspaces(memory: Memory) -> None:
    memory.say("Prefers tabs")
    memory.say("Answer in English", pin=True)
    memory.say("Run the linter", kind=Kind.RULE)
    memory.say("From the web", task=TAINTED)
    memory.learn("Uses PostgreSQL 16")
    memory.service.clear_global(USER)
    assert memory.read("me.md") == "# About me\n"
    assert memory.read("lessons.md") == "# Lessons\n"
    assert memory.read("inbox.md") == "# Inbox\n"
    assert memory.entries("MEMORY.md") == []
    assert "[[workspaces/billing-service]]" in memory.read("MEMORY.md")
    assert "Uses PostgreSQL 16" in memory.texts("workspaces/billing-service.md")
