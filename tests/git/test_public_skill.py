"""A memory folder that another memory skill uses too: plain git, its own author, entries without `by`, hand edits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.kit.memory import AGENT, USER
from tests.kit.repos import assert_sound, commit_files, message_of, porcelain, raw_git

from memrepo.model import Author, Candidate, Kind, WriteStatus

if TYPE_CHECKING:
    from tests.kit.memory import Memory

SKILL_AUTHOR = {
    "GIT_AUTHOR_NAME": "Some Skill",
    "GIT_AUTHOR_EMAIL": "skill@example.invalid",
    "GIT_COMMITTER_NAME": "Some Skill",
    "GIT_COMMITTER_EMAIL": "skill@example.invalid",
}
ENTRY = "- Uses fish as the shell [added: 2026-11-02]\n"


def commit_as_skill(memory: Memory, name: str, text: str) -> str:
    (memory.root / name).write_text(text, "utf-8")
    raw_git(memory.root, "add", "--", name)
    raw_git(memory.root, "commit", "-q", "-m", "memory: note the shell", env=SKILL_AUTHOR)
    return raw_git(memory.root, "rev-parse", "HEAD").decode().strip()


def read_entries(memory: Memory, name: str) -> dict[str, Author]:
    return {entry.text: entry.by for entry in memory.entries(name)}


def test_an_entry_of_the_skill_without_by_counts_as_the_users(memory: Memory) -> None:
    memory.say("Drinks tea")
    theirs = (memory.root / "me.md").read_text("utf-8") + ENTRY
    commit_as_skill(memory, "me.md", theirs)
    result = memory.say("Plays the cello")
    assert result.status is WriteStatus.WRITTEN
    assert read_entries(memory, "me.md") == dict.fromkeys(
        ("Drinks tea", "Uses fish as the shell", "Plays the cello"), Author.USER
    )
    assert ENTRY in (memory.root / "me.md").read_text("utf-8")


def test_the_skills_commit_stays_in_the_history_with_its_author(memory: Memory) -> None:
    memory.say("Drinks tea")
    theirs = commit_as_skill(memory, "lessons.md", "# Lessons\n\n" + ENTRY)
    memory.say("Plays the cello")
    log = raw_git(memory.root, "log", "--format=%H %ae").decode().split("\n")
    assert f"{theirs} skill@example.invalid" in log
    raw_git(memory.root, "merge-base", "--is-ancestor", theirs, "HEAD")
    assert_sound(memory.root)


def test_hand_edits_that_the_skill_left_are_committed_as_the_users_before_the_next_write(memory: Memory) -> None:
    memory.say("Drinks tea")
    commit_as_skill(memory, "me.md", (memory.root / "me.md").read_text("utf-8") + ENTRY)
    path = memory.root / "me.md"
    path.write_text(path.read_text("utf-8") + "* Likes oat milk\n\n## Tools\n\nFree text stays.\n", "utf-8")
    (memory.root / "workspaces").mkdir(exist_ok=True)
    (memory.root / "workspaces" / "garden.md").write_text("# Garden\n\n- Waters on Sundays\n", "utf-8")
    memory.say("Plays the cello")
    assert porcelain(memory.root) == []
    assert "Origin: hand_edit" in message_of(memory.root, "HEAD~1")
    assert "Free text stays.\n" in path.read_text("utf-8")
    assert read_entries(memory, "me.md")["Likes oat milk"] is Author.USER
    assert (memory.root / "workspaces" / "garden.md").read_text("utf-8") == "# Garden\n\n- Waters on Sundays\n"


def test_an_agents_fact_does_not_outrank_the_skills_entry(memory: Memory) -> None:
    memory.say("Drinks tea")
    commit_as_skill(memory, "me.md", "# About me\n\n- Uses fish as the shell [subject: shell]\n")
    offered = Candidate("Uses zsh as the shell", kind=Kind.PREFERENCE, subject="shell")
    result = memory.service.remember(offered, replace(AGENT, workspace=None))
    assert result.status is not WriteStatus.WRITTEN or result.path != "me.md"
    assert list(read_entries(memory, "me.md")) == ["Uses fish as the shell"]


def test_the_skill_goes_on_where_memrepo_wrote(memory: Memory) -> None:
    ref = memory.say("Drinks tea").ref
    commit_files(memory.root, {"notes.md": "# Notes\n\n- From the skill\n"}, "memory: a file of its own")
    assert ref is not None
    memory.service.forget(ref, USER)
    after = (memory.root / "me.md").read_text("utf-8") + ENTRY
    commit_as_skill(memory, "me.md", after)
    assert memory.say("Plays the cello").status is WriteStatus.WRITTEN
    assert porcelain(memory.root) == []
    assert_sound(memory.root)
