"""A memory repo made by another program opens as it is, and is byte for byte the same until the first write."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest
from tests.kit.memory import AGENT, BILLING, USER, Memory, StoreFile
from tests.kit.repos import assert_sound, commit_files, make_repo, message_of, porcelain, raw_git, write_files

from memrepo.app import MemoryRepo
from memrepo.model import Author, Locations, Reason, WriteAction, WriteStatus

if TYPE_CHECKING:
    from pathlib import Path

TASK = "6f1e0c52-7d0c-4d5f-9d5e-2f9a5b1c0a11"
HOST_FILES = {
    "MEMORY.md": (
        "# Memory: Mesut\n\n"
        "- Prefers concise answers with bullet points [by: user; added: 2026-10-05]\n"
        "- Answer in English unless asked otherwise [by: user; added: 2026-10-05]\n\n"
        "## Index\n- [[me]]\n- [[lessons]]\n- [[workspaces/cowork]]\n- [[workspaces/billing-service]]\n"
    ),
    "me.md": (
        "# About me\n\n"
        "- Lives in Berlin [by: user; kind: identity; subject: home; "
        f"source: cowork://tasks/{TASK}; added: 2026-10-05]\n"
        "- Likes short commits [by: agent; kind: preference; mood: fine; added: 2026-10-06]\n"
        "- A line by hand\n"
    ),
    "lessons.md": "# Lessons\n\n- Run `npm ci` first [by: agent; kind: insight; added: 2026-10-05]\n",
    "workspaces/cowork.md": (
        "# CoWork\n\n- CoWork workspace [by: user; workspace: 1c5e]\n"
        "- Uses Electron [by: agent; kind: project_fact; added: 2026-10-05]\n"
    ),
    # The other order of the two keys, as the first document gives it.
    "workspaces/billing-service.md": "# Billing Service\n\n- CoWork workspace [workspace: ws-billing; by: user]\n",
    "inbox.md": "# Inbox\n\n- From a web page [by: agent; kind: rule; added: 2026-10-05]\n",
    ".gitattributes": "*.md merge=union\n",
}


def make_host_repo(root: Path, *, branch: str = "main") -> Path:
    """A folder as the seeds' host leaves it: layout, keys, trailers, markers, records."""
    make_repo(root, {}, branch=branch)
    commit_files(root, {"MEMORY.md": "# Memory: Mesut\n"}, "Create memory folder\n\nOrigin: memory_hub")
    commit_files(root, HOST_FILES, f"Remember identity: Lives in Berlin\n\nTask: {TASK}\nOrigin: agent_tool")
    commit_files(
        root, {"lessons.md": HOST_FILES["lessons.md"]}, "Dream 2026-10-06: 3 changes\n\nOrigin: dream\nDream: d1"
    )
    write_files(
        root,
        {
            ".git/cowork-export-v1": "2026-10-05T10:00:00.000Z",
            ".git/cowork-dreams/d1.json": json.dumps({"id": "d1", "status": "applied"}),
        },
    )
    return root


def everything_in(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def adopt(root: Path, folder: Path) -> MemoryRepo:
    locations = Locations(folder / "config", folder / "data", folder / "cache")
    return MemoryRepo.open(locations=locations, home=folder / "home", path=root)


def read_all(repo: MemoryRepo) -> None:
    """All that only looks."""
    list(repo.iter_entries())
    repo.list_files()
    repo.check_health()
    for commit in repo.history.log():
        repo.history.get(commit.id)
    repo.history.diff()
    assert repo.get_workspace_file("ws-billing") == "workspaces/billing-service.md"
    assert repo.get_workspace_file("1c5e") == "workspaces/cowork.md"


@pytest.mark.parametrize("branch", ["main", "master", "memory"])
def test_a_folder_of_the_host_opens_and_stays_byte_for_byte_until_the_first_write(tmp_path: Path, branch: str) -> None:
    root = make_host_repo(tmp_path / "memory", branch=branch)
    before = everything_in(root)
    with adopt(root, tmp_path) as repo:
        assert not repo.was_created
        read_all(repo)
        assert everything_in(root) == before
    assert everything_in(root) == before


@pytest.mark.parametrize("branch", ["main", "master", "memory"])
def test_the_first_write_to_a_folder_of_the_host_changes_one_line_of_one_file(tmp_path: Path, branch: str) -> None:
    root = make_host_repo(tmp_path / "memory", branch=branch)
    before = everything_in(root)
    memory = Memory(root, StoreFile(tmp_path / "store.db"))
    said = memory.learn("Uses PostgreSQL 16")
    assert (said.status, said.path) == (WriteStatus.WRITTEN, "workspaces/billing-service.md")
    after = everything_in(root)
    changed = {
        name for name in {*before, *after} if before.get(name) != after.get(name) and not name.startswith(".git/")
    }
    assert changed == {"workspaces/billing-service.md"}
    path = "workspaces/billing-service.md"
    assert after[path][0].startswith(before[path][0])
    assert after[path][0].count(b"\n") == before[path][0].count(b"\n") + 1
    for name in (".git/cowork-export-v1", ".git/cowork-dreams/d1.json", ".git/config", ".git/HEAD"):
        assert after[name] == before[name]
    assert raw_git(root, "branch", "--show-current").decode().strip() == branch
    assert porcelain(root) == []
    assert_sound(root)


def test_lines_of_the_host_keep_their_author_their_subject_and_their_unknown_keys(tmp_path: Path) -> None:
    memory = Memory(make_host_repo(tmp_path / "memory"), StoreFile(tmp_path / "store.db"))
    assert [entry.by for entry in memory.entries("me.md")] == [Author.USER, Author.AGENT, Author.USER]
    assert memory.say("lives in berlin").action is WriteAction.REINFORCED
    assert memory.say("Lives in Hamburg", task=AGENT, subject="Home").reason is Reason.OUTRANKED
    assert memory.say("Lives in Hamburg", subject="Home").action is WriteAction.REPLACED
    assert "- Likes short commits [by: agent; kind: preference; mood: fine; added: 2026-10-06]\n" in memory.read(
        "me.md"
    )


def test_the_log_reads_the_trailers_of_the_host(tmp_path: Path) -> None:
    memory = Memory(make_host_repo(tmp_path / "memory"), StoreFile(tmp_path / "store.db"))
    newest_first = memory.history.log()
    assert [(commit.origin, commit.task) for commit in newest_first] == [
        ("dream", None),
        ("agent_tool", TASK),
        ("memory_hub", None),
    ]


def test_an_agent_forgets_a_line_that_its_task_wrote_through_the_host(tmp_path: Path) -> None:
    root = make_host_repo(tmp_path / "memory")
    line = f"- Uses npm [by: agent; kind: insight; source: cowork://tasks/{TASK}; added: 2026-10-05]\n"
    commit_files(root, {"lessons.md": HOST_FILES["lessons.md"] + line})
    memory = Memory(root, StoreFile(tmp_path / "store.db"))
    assert memory.service.purge_task(TASK, USER)
    assert memory.read("lessons.md") == HOST_FILES["lessons.md"]


def test_the_lock_of_a_living_host_makes_a_write_wait_however_old_it_is(tmp_path: Path) -> None:
    root = make_host_repo(tmp_path / "memory")
    lock = root / ".git/cowork-write.lock"
    an_hour_ago_s = time.time() - 3600
    content = json.dumps({"pid": os.getppid(), "runtime": "desktop", "at": int(an_hour_ago_s * 1000)})
    write_files(root, {".git/cowork-write.lock": content})
    os.utime(lock, (an_hour_ago_s, an_hour_ago_s))
    memory = Memory(root, StoreFile(tmp_path / "store.db"))
    kept = memory.say("Prefers tabs")
    assert (kept.status, kept.reason) == (WriteStatus.KEPT, Reason.BUSY)
    assert "desktop" in kept.detail
    assert lock.read_text() == content
    lock.unlink()
    memory.reopen().say("Speaks German")
    assert memory.texts("me.md")[-2:] == ["Prefers tabs", "Speaks German"]
    memory.store.close()


def test_what_the_host_wrote_between_two_of_our_writes_is_neither_lost_nor_called_a_hand_edit(tmp_path: Path) -> None:
    root = make_host_repo(tmp_path / "memory")
    memory = Memory(root, StoreFile(tmp_path / "store.db"))
    memory.say("Prefers tabs")
    commit_files(
        root, {"me.md": memory.read("me.md") + "- By the host [by: agent]\n"}, "Remember\n\nOrigin: agent_tool"
    )
    memory.say("Speaks German")
    assert memory.texts("me.md")[-3:] == ["Prefers tabs", "By the host", "Speaks German"]
    assert "Hand edits" not in memory.subjects()


def test_a_plain_repo_of_the_format_is_adopted_with_all_its_other_files(tmp_path: Path) -> None:
    others = {
        "queries/open.sql": "select 1\n",
        "scripts/run.sh": "#!/bin/sh\n",
        "people/anna.md": "# Anna\r\n\r\n* Likes tea\r\n",
        "data.csv": "a,b\n",
        "MEMORY.md": "- First line of all\n- [[people/anna]]\n",
    }
    root = make_repo(tmp_path / "memory", others, branch="master")
    before = everything_in(root)
    with adopt(root, tmp_path) as repo:
        list(repo.iter_entries())
        repo.check_health()
        assert everything_in(root) == before
    memory = Memory(root, StoreFile(tmp_path / "store.db"))
    assert memory.say("Prefers tabs").path == "me.md"
    assert memory.learn("Uses PostgreSQL 16").path == "workspaces/billing-service.md"
    for name, text in others.items():
        if name != "MEMORY.md":
            assert memory.read(name) == text
    assert memory.read("MEMORY.md").startswith(others["MEMORY.md"])
    assert "[[me]]" in memory.read("MEMORY.md")
    assert "[[workspaces/billing-service]]" in memory.read("MEMORY.md")
    assert message_of(root).endswith("Task: t1\nOrigin: agent_tool")
    assert porcelain(root) == []


def test_a_workspace_file_of_the_host_is_found_by_its_id_under_any_name(tmp_path: Path) -> None:
    root = make_host_repo(tmp_path / "memory")
    raw_git(root, "mv", "workspaces/billing-service.md", "workspaces/rechnungen-größe.md")
    raw_git(root, "commit", "--quiet", "-m", "Rename")
    memory = Memory(root, StoreFile(tmp_path / "store.db"))
    assert BILLING.id == "ws-billing"
    assert memory.learn("Uses PostgreSQL 16").path == "workspaces/rechnungen-größe.md"
