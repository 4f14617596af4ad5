"""Taking one commit back whatever was written since, and replacing the history with a proof that the rest is gone."""

from __future__ import annotations

import os
import signal
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.forked import Child
from tests.kit.memory import AGENT, USER, Memory
from tests.kit.repos import assert_sound, commit_files, head_of, message_of, porcelain, raw_git

from memrepo import writer as writer_module
from memrepo.errors import InvalidInput, MergeConflict, NotFound, Refused, TooLarge
from memrepo.files.atomic import replace_file
from memrepo.model import Actor, Candidate, Kind, Origin, RepoPath, TaskContext, WriteStatus

if TYPE_CHECKING:
    from pathlib import Path

    from memrepo.model import WriteResult


def commit_of(result: WriteResult) -> str:
    assert result.commit is not None
    return result.commit


def undo(memory: Memory, revision: str) -> None:
    memory.history.undo(revision, USER)
    assert porcelain(memory.root) == []


# Undo


def test_undo_of_a_remembered_line_leaves_what_was_written_around_it(memory: Memory) -> None:
    memory.say("Lives in Berlin")
    wrong = memory.say("Prefers tabs")
    memory.say("Speaks German")
    undo(memory, commit_of(wrong))
    assert memory.texts("me.md") == ["Lives in Berlin", "Speaks German"]
    assert message_of(memory.root) == "Undo: Remember preference: Prefers tabs\n\nOrigin: cli"


def test_undo_of_the_last_write_gives_the_file_back_byte_for_byte(memory: Memory) -> None:
    memory.write("me.md", "# About me\r\n\r\n* Odd  \r\n\tno newline at the end")
    memory.say("Run the linter")
    before = {path: memory.read(path) for path in ("me.md", "MEMORY.md")}
    memory.learn("Uses PostgreSQL 16")
    undo(memory, "HEAD")
    assert {path: memory.read(path) for path in before} == before
    assert not (memory.root / "workspaces/billing-service.md").exists()


def test_undo_of_a_replaced_line_brings_the_old_value_back_to_its_place(memory: Memory) -> None:
    memory.say("Prefers tabs", subject="indentation")
    memory.say("Lives in Berlin")
    replaced = memory.say("Prefers spaces", subject="indentation")
    memory.say("Speaks German")
    undo(memory, commit_of(replaced))
    assert memory.texts("me.md") == ["Prefers tabs", "Lives in Berlin", "Speaks German"]


def test_undo_of_a_forgotten_line_puts_it_back_beside_its_neighbour(memory: Memory) -> None:
    for text in ("Lives in Berlin", "Prefers tabs", "Speaks German"):
        memory.say(text)
    said = memory.say("Prefers tabs")
    assert said.ref is not None
    forgotten = memory.service.forget(said.ref, USER)
    memory.say("Likes tea")
    undo(memory, commit_of(forgotten))
    assert memory.texts("me.md") == ["Lives in Berlin", "Prefers tabs", "Speaks German", "Likes tea"]


def test_undo_of_a_forgotten_line_whose_neighbours_are_gone_puts_it_back_all_the_same(memory: Memory) -> None:
    for text in ("Lives in Berlin", "Prefers tabs", "Speaks German"):
        memory.say(text)
    said = memory.say("Prefers tabs")
    assert said.ref is not None
    forgotten = memory.service.forget(said.ref, USER)
    memory.write("me.md", "# About me\n\n- All new\n")
    memory.say("Likes tea")
    undo(memory, commit_of(forgotten))
    assert sorted(memory.texts("me.md")) == ["All new", "Likes tea", "Prefers tabs"]


def test_undo_of_a_moved_line_moves_it_back(memory: Memory) -> None:
    said = memory.say("Prefers tabs")
    memory.say("Lives in Berlin")
    assert said.ref is not None
    pinned = memory.service.pin(said.ref, USER)
    memory.say("Answer in English", pin=True)
    memory.say("Speaks German")
    undo(memory, commit_of(pinned))
    assert memory.texts("MEMORY.md") == ["Answer in English"]
    assert memory.texts("me.md") == ["Prefers tabs", "Lives in Berlin", "Speaks German"]


def test_undo_of_a_hand_edit_takes_back_that_edit_alone(memory: Memory) -> None:
    memory.say("Lives in Berlin")
    memory.write("me.md", memory.read("me.md").replace("Berlin", "Hamburg") + "- By hand\n")
    memory.write("notes.md", "# Notes\n")
    memory.say("Speaks German")
    assert memory.subjects()[1] == "Hand edits"
    undo(memory, "HEAD~1")
    assert memory.texts("me.md") == ["Lives in Berlin", "Speaks German"]
    assert not (memory.root / "notes.md").exists()


def test_undo_of_a_removed_file_brings_it_back(memory: Memory) -> None:
    memory.learn("Uses PostgreSQL 16")
    before = memory.read("workspaces/billing-service.md")
    memory.service.clear_workspace("ws-billing", USER)
    memory.say("Lives in Berlin")
    undo(memory, "HEAD~1")
    assert memory.read("workspaces/billing-service.md") == before
    assert "[[workspaces/billing-service]]" in memory.read("MEMORY.md")
    assert memory.learn("Deploys on Fridays").path == "workspaces/billing-service.md"


def test_undo_of_a_workspaces_first_fact_keeps_its_frame_and_its_link_for_the_others(memory: Memory) -> None:
    first = memory.learn("Uses PostgreSQL 15")
    memory.learn("Deploys on Fridays")
    undo(memory, commit_of(first))
    assert memory.texts("workspaces/billing-service.md") == ["CoWork workspace", "Deploys on Fridays"]
    assert memory.read("MEMORY.md").count("[[workspaces/billing-service]]") == 1
    assert memory.learn("Uses PostgreSQL 16").path == "workspaces/billing-service.md"


def test_undo_of_a_link_made_by_hand_takes_the_link_out(memory: Memory) -> None:
    memory.write("notes.md", "# Notes\n")
    memory.say("Lives in Berlin")
    memory.write("MEMORY.md", memory.read("MEMORY.md") + "- [[notes]]\n")
    memory.say("Speaks German")
    undo(memory, "HEAD~1")
    assert "[[notes]]" not in memory.read("MEMORY.md")


def test_undo_twice_is_refused(memory: Memory) -> None:
    said = memory.say("Prefers tabs")
    memory.say("Lives in Berlin")
    undo(memory, commit_of(said))
    before = memory.subjects()
    with pytest.raises(InvalidInput, match="nothing of"):
        memory.history.undo(commit_of(said), USER)
    assert memory.subjects() == before


def test_an_undo_can_be_undone(memory: Memory) -> None:
    said = memory.say("Prefers tabs")
    memory.say("Lives in Berlin")
    undo(memory, commit_of(said))
    undo(memory, "HEAD")
    assert sorted(memory.texts("me.md")) == ["Lives in Berlin", "Prefers tabs"]


def test_a_line_that_was_changed_again_is_a_conflict_and_nothing_is_written(memory: Memory) -> None:
    memory.say("Prefers tabs", subject="indentation")
    replaced = memory.say("Prefers spaces", subject="indentation")
    memory.say("Prefers two spaces", subject="indentation")
    before = (memory.read("me.md"), memory.subjects())
    with pytest.raises(MergeConflict, match="changed again") as caught:
        memory.history.undo(commit_of(replaced), USER)
    assert "memrepo show me.md" in caught.value.hint
    assert (memory.read("me.md"), memory.subjects()) == before


def test_undo_of_a_change_in_a_file_that_is_gone_is_a_conflict(memory: Memory) -> None:
    memory.say("Prefers tabs", subject="indentation")
    replaced = memory.say("Prefers spaces", subject="indentation")
    (memory.root / "me.md").unlink()
    memory.learn("Uses PostgreSQL 16")
    with pytest.raises(MergeConflict, match="removed"):
        memory.history.undo(commit_of(replaced), USER)


def test_undo_never_passes_the_limit_of_a_file(memory: Memory) -> None:
    said = [memory.say(f"Pinned {number} " + "x" * 330, pin=True) for number in range(8)]
    assert said[0].ref is not None
    forgotten = memory.service.forget(said[0].ref, USER)
    for number in range(8, 12):
        memory.say(f"Pinned {number} " + "x" * 330, pin=True)
    before = memory.read("MEMORY.md")
    with pytest.raises(TooLarge, match="4096"):
        memory.history.undo(commit_of(forgotten), USER)
    assert memory.read("MEMORY.md") == before


def test_the_first_commit_cannot_be_undone(memory: Memory) -> None:
    first = raw_git(memory.root, "rev-list", "--max-parents=0", "HEAD").decode().strip()
    with pytest.raises(Refused, match="nothing before it"):
        memory.history.undo(first, USER)


def test_an_unknown_commit_is_not_found_and_an_agent_is_refused(memory: Memory) -> None:
    with pytest.raises(NotFound):
        memory.history.undo("feedbeef", USER)
    with pytest.raises(Refused):
        memory.history.undo("HEAD", AGENT)


def test_undo_takes_in_hand_edits_first(memory: Memory) -> None:
    said = memory.say("Prefers tabs")
    memory.write("me.md", memory.read("me.md") + "- By hand\n")
    undo(memory, commit_of(said))
    assert memory.texts("me.md") == ["By hand"]
    assert memory.subjects()[1] == "Hand edits"


def test_a_moved_line_whose_undo_is_cut_off_and_met_by_an_edit_stands_somewhere(memory: Memory) -> None:
    said = memory.say("Prefers tabs")
    memory.say("Lives in Berlin")
    assert said.ref is not None
    pinned = memory.service.pin(said.ref, USER)

    def undo_and_die() -> None:

        def replace_and_die(*args: Any, **options: Any) -> None:
            replace_file(*args, **options)
            os.kill(os.getpid(), signal.SIGKILL)

        vars(writer_module)["replace_file"] = replace_and_die
        memory.history.undo(commit_of(pinned), USER)

    assert Child(undo_and_die).wait() == -signal.SIGKILL
    for path in ("me.md", "MEMORY.md"):
        memory.write(path, memory.read(path) + "- By an editor\n")
    memory.reopen_after_its_end().say("Run the linter", kind=Kind.RULE)
    assert "Prefers tabs" in memory.all_texts()
    assert porcelain(memory.root) == []


# Compaction


def everything_stored(root: Path) -> bytes:
    """All that .git holds: loose objects unpacked, every object as git gives it, every other file as it is."""
    parts = [raw_git(root, "cat-file", "--batch-all-objects", "--batch", "--unordered")]
    for path in (root / ".git").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            parts.append(data)
            if path.parent.parent.name == "objects" and len(path.name) == 38:
                parts.append(zlib.decompress(data))
    return b"\0".join(parts)


def forget(memory: Memory, text: str) -> None:
    said = memory.say(text)
    assert said.ref is not None
    memory.service.forget(said.ref, USER)


def test_compaction_leaves_one_commit_and_no_forgotten_text_anywhere(memory: Memory) -> None:
    memory.say("Lives in Berlin")
    forget(memory, "The old address is Sonnenallee 1")
    files = {path: path.read_bytes() for path in memory.root.rglob("*.md")}
    assert b"Sonnenallee" in everything_stored(memory.root)
    result = memory.history.compact(USER)
    assert b"Sonnenallee" not in everything_stored(memory.root)
    assert memory.subjects() == ["Compact history"]
    assert (result.commit, result.commits_before, result.texts) == (head_of(memory.root), 4, 1)
    assert (result.is_proven, result.findings, result.in_files, result.unreachable) == (True, (), (), ())
    assert message_of(memory.root) == "Compact history\n\nOrigin: cli"
    assert {path: path.read_bytes() for path in memory.root.rglob("*.md")} == files
    assert porcelain(memory.root) == []
    assert_sound(memory.root)
    memory.say("Speaks German")
    assert memory.subjects() == ["Remember preference: Speaks German", "Compact history"]


def test_texts_of_reflogs_stashes_dream_branches_and_loose_objects_go_too(memory: Memory) -> None:
    memory.write("me.md", "# About me\n\n- Stashed secret plan\n")
    raw_git(memory.root, "stash", "--quiet")
    raw_git(memory.root, "branch", "dream/2026-10-05")
    raw_git(memory.root, "hash-object", "-w", "--stdin", stdin=b"A loose secret plan")
    memory.write(".git/COMMIT_EDITMSG", "A secret plan in a message")
    result = memory.history.compact(USER, texts=["secret plan"])
    assert b"secret plan" not in everything_stored(memory.root)
    assert result.is_proven


def test_an_entry_that_still_contains_the_words_is_told_and_breaks_no_proof(memory: Memory) -> None:
    forget(memory, "Likes tea")
    memory.say("Likes tea with milk")
    result = memory.history.compact(USER)
    assert [finding.where for finding in result.in_files] == ["me.md"]
    assert result.findings == ()
    assert result.is_proven


def test_a_tag_or_branch_that_holds_old_history_is_named_and_the_proof_does_not_hold(memory: Memory) -> None:
    forget(memory, "The old address is Sonnenallee 1")
    raw_git(memory.root, "tag", "keep", "HEAD~1")
    raw_git(memory.root, "branch", "mine", "HEAD~1")
    result = memory.history.compact(USER)
    assert not result.is_proven
    assert set(result.kept) == {"refs/heads/mine", "refs/tags/keep"}
    assert result.findings
    raw_git(memory.root, "tag", "-d", "keep")
    raw_git(memory.root, "branch", "-D", "mine")
    assert memory.history.compact(USER, texts=["The old address is Sonnenallee 1"]).is_proven
    assert b"Sonnenallee" not in everything_stored(memory.root)


def test_a_worktree_of_the_users_own_is_named(memory: Memory, tmp_path: Path) -> None:
    raw_git(memory.root, "worktree", "add", "--quiet", "-b", "mine", str(tmp_path / "tree"))
    result = memory.history.compact(USER)
    assert str(tmp_path / "tree") in result.kept
    assert not result.is_proven


def test_a_forgotten_text_in_the_private_store_is_found(memory: Memory) -> None:
    private = Candidate("The old address is Sonnenallee 1", private=True)
    assert memory.service.remember(private, USER).status is WriteStatus.KEPT
    forget(memory, "The old address is Sonnenallee 1")
    result = memory.history.compact(USER)
    assert not result.is_proven
    assert [finding.where for finding in result.findings] == ["private store: memory_items"]
    assert "private store" in result.checked


def test_a_dream_record_that_holds_a_forgotten_text_is_found(memory: Memory) -> None:
    forget(memory, "The old address is Sonnenallee 1")
    memory.write(".git/cowork-dreams/d1.json", '{"text": "The old address is Sonnenallee 1"}')
    result = memory.history.compact(USER)
    assert [finding.where for finding in result.findings] == [".git/cowork-dreams/d1.json"]


def test_a_half_written_file_of_a_killed_writer_goes_too(memory: Memory) -> None:
    memory.write("workspaces/.memrepo-0123456789abcdef.tmp", "- The old address is Sonnenallee 1\n")
    assert memory.history.compact(USER, texts=["Sonnenallee"]).is_proven
    assert not (memory.root / "workspaces/.memrepo-0123456789abcdef.tmp").exists()


def test_compaction_of_history_that_others_made_keeps_every_file_of_theirs(memory: Memory) -> None:
    commit_files(memory.root, {"scripts/run.sh": "#!/bin/sh\n", "queries/all.sql": "select 1\n"}, "Mine")
    tree = raw_git(memory.root, "rev-parse", "HEAD^{tree}")
    memory.history.compact(USER)
    assert raw_git(memory.root, "rev-parse", "HEAD^{tree}") == tree


def test_an_agent_may_compact_only_with_the_users_confirmation(memory: Memory) -> None:
    with pytest.raises(Refused):
        memory.history.compact(AGENT)
    confirmed = TaskContext(actor=Actor.AGENT, user_confirmed=True, origin=Origin.AGENT_TOOL)
    assert memory.history.compact(confirmed).is_proven


def test_a_moved_line_is_not_taken_for_a_forgotten_one(memory: Memory) -> None:
    said = memory.say("Prefers tabs")
    assert said.ref is not None
    memory.service.move(said.ref, RepoPath("topics/tabs.md"), USER)
    result = memory.history.compact(USER)
    assert (result.texts, result.is_proven) == (0, True)
