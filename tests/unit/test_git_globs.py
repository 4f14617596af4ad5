"""Which globs of a search reach into a folder of git."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from memrepo.policy.access import GuardedRoot, Operation, Place, decide_access
from memrepo.policy.git_globs import may_open_git, searches_git
from memrepo.policy.tool_calls import ToolCall, ToolVerb
from memrepo.surfaces.hooks.decide import GIT_SEARCHED, find_objection

ROOT = PurePosixPath("/home/me/CoWork Memory")
OPENING = [
    *(
        ".git",
        ".git/**",
        "/.git/HEAD",
        "**/.git/**",
        ".gi*/**",
        "{.git,a}/**",
        "{a,.g{it,x}}/b",
        "?git/**",
        "[.]git/**",
    ),
    *(".GIT/config", "\\.git/*", ".*", ".g*", "a/../.git/x", "*", "**", "**/*", "*/**", "x" * 2000),
]
OTHERS = [
    "*.md",
    "**/*.md",
    "workspaces/**",
    "*.{md,txt}",
    "!.git",
    "!*",
    ".github/**",
    ".gitignore",
    "me.md",
    "git/**",
    "",
]


@pytest.mark.parametrize("glob", OPENING)
def test_a_glob_that_may_match_the_folder_of_git_opens_it(glob: str) -> None:
    assert may_open_git(glob)


@pytest.mark.parametrize("glob", OTHERS)
def test_another_glob_does_not(glob: str) -> None:
    assert not may_open_git(glob)


def test_a_glob_is_found_under_the_names_that_hosts_have_for_it() -> None:
    for name in ("glob", "include", "include_pattern", "includePattern", "globs"):
        assert searches_git({name: "**/.git/**"})
        assert searches_git({name: ["*.md", ".git/*"]})
        assert searches_git({name: "*.md, .git/*"})
        assert not searches_git({name: "*.md"})
    assert not searches_git({"pattern": ".git", "glob": None, "path": "x"})


@pytest.mark.parametrize("folder", [ROOT, ROOT.parent])
def test_such_a_search_of_memory_is_denied_and_another_is_not(folder: PurePosixPath) -> None:
    decision = decide_access([Place(folder, folder)], Operation.SEARCH, roots=[GuardedRoot(ROOT, is_readable=True)])
    for verb, glob, why in (
        (ToolVerb.SEARCH, "**/.git/**", GIT_SEARCHED),
        (ToolVerb.SEARCH, "*.md", None),
        (ToolVerb.LIST, "**/*", None),
    ):
        call = ToolCall("claude-code", "Grep", verb, (str(folder),), arguments={"glob": glob})
        assert find_objection(call, decision) == why


def test_a_search_beside_memory_may_use_any_glob() -> None:
    place = PurePosixPath("/home/me/proj")
    decision = decide_access([Place(place, place)], Operation.SEARCH, roots=[GuardedRoot(ROOT, is_readable=True)])
    call = ToolCall("claude-code", "Grep", ToolVerb.SEARCH, (str(place),), arguments={"glob": ".git/**"})
    assert find_objection(call, decision) is None
