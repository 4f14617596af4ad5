"""Errors of the library in the words of the MCP tools."""

from __future__ import annotations

import pytest

from memrepo.surfaces.mcp.wording import word_for_agents


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (
            "see the entries: memrepo ls workspaces/billing.md",
            "see the entries: memory_list with path workspaces/billing.md",
        ),
        ("see the files: memrepo ls; the commits: memrepo log", "see the files: memory_list; the commits: memrepo log"),
        ("Run `memrepo recall` or `memrepo ls` again", "Run memory_recall or memory_list again"),
        (
            "A ref looks like `repo:me.md#L3`; `memrepo ls` lists them.",
            "A ref looks like `repo:me.md#L3`; memory_list lists them.",
        ),
        (
            "name it: --workspace DIR (or ID), or use --scope global",
            "name it: workspace (a folder or an id), or use scope global",
        ),
        ("leave out -E to search for the words as they are", "leave out is_regex to search for the words as they are"),
        ("run: memrepo doctor --fix", "run: memrepo doctor --fix"),
    ],
)
def test_a_hint_names_the_tool_and_its_argument(hint: str, words: str) -> None:
    assert word_for_agents(hint) == words
