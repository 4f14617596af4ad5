"""Real paths into a memory repo: links, dots, loops, case and Unicode forms, and a workspace around the root."""

from __future__ import annotations

import os
import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest
from tests.kit.repos import make_repo

from memrepo.files import reach
from memrepo.files.reach import resolve_reach
from memrepo.policy.access import AccessDecision, GuardedRoot, Operation, decide_access

if TYPE_CHECKING:
    from pathlib import Path

ROOT_NAME = "CoWork Memory"


class Tool:
    """A file tool of an agent in a workspace beside the memory, or around it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.workspace = home / "src"
        self.workspace.mkdir()
        self.root = make_repo(home / ROOT_NAME, {"MEMORY.md": "# Memory\n", "notes/a.md": "- a\n"})
        self.base = self.workspace

    def ask(self, path: str | Path, operation: Operation = Operation.READ, *, is_on: bool = True) -> AccessDecision:
        places = resolve_reach(path, base=self.base, home=self.home, roots=[self.root])
        return decide_access(places, operation, roots=[GuardedRoot(self.root, is_on)])

    def link(self, name: str, target: str | Path) -> Path:
        place = self.workspace / name
        place.symlink_to(target)
        return place


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return Tool(tmp_path)


def assert_guarded(tool: Tool, path: str | Path) -> None:
    """The path means something in the memory: read with the layer, never without, never written."""
    assert tool.ask(path).reason == "allowed", path
    assert tool.ask(path, is_on=False).reason == "memory_repo_unavailable", path
    for operation in (Operation.WRITE, Operation.DELETE, Operation.RENAME):
        assert tool.ask(path, operation).reason == "protected_path", path


def assert_closed(tool: Tool, path: str | Path) -> None:
    for operation in Operation:
        assert tool.ask(path, operation).reason == "protected_path", (path, operation)


def test_plain_paths_relative_absolute_and_from_home(tool: Tool) -> None:
    for path in (
        tool.root / "MEMORY.md",
        f"../{ROOT_NAME}/MEMORY.md",
        f"../{ROOT_NAME}",
        f"~/{ROOT_NAME}/notes/a.md",
        f"./../src/../{ROOT_NAME}//notes/./a.md",
        tool.root / "not there yet.md",
    ):
        assert_guarded(tool, path)
    for path in ("x.py", "../src", "~/other", f"../{ROOT_NAME} 2/x", "/etc/passwd", ""):
        assert tool.ask(path, Operation.WRITE).reason == "not_ours", path


def test_links_from_outside_lead_in(tool: Tool) -> None:
    assert_guarded(tool, tool.link("file", tool.root / "MEMORY.md"))
    assert_guarded(tool, tool.link("folder", tool.root) / "notes" / "a.md")
    assert_guarded(tool, tool.link("chain", "folder/notes") / "a.md")
    assert_guarded(tool, tool.link("new", tool.root / "new.md"))  # a link to what a write would make
    assert_closed(tool, tool.link("git", tool.root / ".git") / "config")


def test_dots_behind_a_link_are_read_both_ways(tool: Tool) -> None:
    tool.link("notes", tool.root / "notes")
    # The system reads the root's file here, a tool that takes the dots out first the workspace's.
    assert tool.ask("notes/../MEMORY.md", Operation.WRITE).reason == "protected_path"
    tool.link("far", "/usr/share")
    # And here the other way round.
    assert tool.ask(f"far/../../{ROOT_NAME}/MEMORY.md", Operation.WRITE).reason == "protected_path"
    tool.link("inside", tool.root / "MEMORY.md")
    assert tool.ask("far/../inside", Operation.WRITE).reason == "protected_path"
    assert tool.ask(f"missing/../../{ROOT_NAME}/MEMORY.md", Operation.WRITE).reason == "protected_path"


def test_a_link_in_the_memory_leads_nowhere(tool: Tool) -> None:
    (tool.root / "out.md").symlink_to("/etc/passwd")
    (tool.root / "up").symlink_to(tool.home)
    assert_closed(tool, tool.root / "out.md")
    assert_closed(tool, tool.root / "up" / "src")
    (tool.root / "history").symlink_to(".git")
    assert_closed(tool, tool.root / "history" / "HEAD")


def test_what_cannot_be_resolved_is_closed_under_the_root_and_nobodys_elsewhere(tool: Tool) -> None:
    (tool.root / "loop").symlink_to("loop")
    (tool.workspace / "loop").symlink_to("loop")
    assert_closed(tool, tool.root / "loop")
    assert_closed(tool, tool.root / "loop" / "x.md")
    assert_closed(tool, f"{tool.root}/nul\0l")
    assert tool.ask(tool.workspace / "loop").reason == "not_ours"


@pytest.mark.parametrize(
    "name", [".git", ".GIT", ".Git ", ".git.", "git~1", ".g\u200bit", ".gıt", ".git::$INDEX_ALLOCATION", "\uff0egit"]
)
def test_the_git_folder_is_closed_under_every_name_that_some_system_takes_for_it(tool: Tool, name: str) -> None:
    assert_closed(tool, tool.root / name / "config")
    assert_closed(tool, tool.root / "notes" / name)


def test_a_workspace_that_holds_the_root_changes_nothing(tool: Tool) -> None:
    tool.base = tool.home
    assert_guarded(tool, f"{ROOT_NAME}/MEMORY.md")
    assert_closed(tool, f"{ROOT_NAME}/.git/config")
    for operation in (Operation.DELETE, Operation.RENAME):
        assert tool.ask(".", operation).reason == "protected_path"
    assert tool.ask("src/x.py", Operation.WRITE).reason == "not_ours"
    walk = tool.ask(".", Operation.SEARCH, is_on=False)
    assert (walk.is_ours, walk.leave_out) == (False, (tool.root,))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")
def test_the_process_file_system_is_no_way_around(tool: Tool) -> None:
    assert_guarded(tool, f"/proc/self/root{tool.root}/MEMORY.md")
    descriptor = os.open(tool.root, os.O_RDONLY)
    try:
        assert_guarded(tool, f"/proc/self/fd/{descriptor}/MEMORY.md")
    finally:
        os.close(descriptor)


def test_on_a_disk_that_tells_case_and_forms_apart_another_folder_is_another_folder(tool: Tool) -> None:
    other = tool.home / ROOT_NAME.lower()
    if other.exists():
        pytest.skip("this disk ignores case")
    assert tool.ask(other / "x", Operation.WRITE).reason == "not_ours"
    other.mkdir()
    assert tool.ask(other / "x", Operation.WRITE).reason == "not_ours"


@pytest.mark.parametrize("name", ["cowork memory", "COWORK MEMORY", "CoWork\u0020MEMORY"])
def test_on_a_disk_that_ignores_case_the_folder_is_known_by_being_the_same(
    tool: Tool, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = reach._find_identity

    def ignoring_case(path: str) -> tuple[int, int] | None:
        spelled = path.casefold().replace(str(tool.root).casefold(), str(tool.root))
        return plain(spelled if spelled.startswith(str(tool.root)) else path)

    monkeypatch.setattr(reach, "_find_identity", ignoring_case)
    assert_guarded(tool, tool.home / name / "MEMORY.md")
    assert_closed(tool, tool.home / name / ".Git")


def test_composed_and_decomposed_names_of_a_folder_that_is_not_there_yet_are_one(tool: Tool) -> None:
    root = tool.home / "M\u00e9moire"
    asked = tool.home / unicodedata.normalize("NFD", "MÉMOIRE") / "me.md"
    places = resolve_reach(asked, base=tool.base, home=tool.home, roots=[root])
    decision = decide_access(places, Operation.WRITE, roots=[GuardedRoot(root, is_readable=True)])
    assert decision.reason == "protected_path"


def test_a_root_behind_a_link_is_known_under_both_names(tool: Tool) -> None:
    alias = tool.home / "alias"
    alias.symlink_to(tool.home)
    root = alias / ROOT_NAME
    for path in (tool.root / "MEMORY.md", root / "MEMORY.md"):
        places = resolve_reach(path, base=tool.base, home=tool.home, roots=[root])
        roots = [GuardedRoot(root, is_readable=True)]
        assert decide_access(places, Operation.READ, roots=roots).reason == "allowed"
        assert decide_access(places, Operation.WRITE, roots=roots).reason == "protected_path"


def test_a_hard_link_from_outside_cannot_be_told_from_any_other_file(tool: Tool) -> None:
    """A limit that is written down: whoever can make such a link can read the file anyway."""
    outside = tool.workspace / "hard.md"
    outside.hardlink_to(tool.root / "MEMORY.md")
    assert tool.ask(outside).reason == "not_ours"


def test_asking_changes_nothing(tool: Tool) -> None:
    before = sorted(map(str, tool.home.rglob("*")))
    tool.ask(tool.root / "a" / "b" / "c.md", Operation.WRITE)
    assert sorted(map(str, tool.home.rglob("*"))) == before
