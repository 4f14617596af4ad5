"""Our own tools are recognised under the names that hosts give them, and calls of every host become one value."""

from __future__ import annotations

from typing import Any

import pytest

from memrepo.policy.tool_calls import ToolVerb, find_memory_tool
from memrepo.surfaces.hooks.codecs import HOSTS, load_codec
from memrepo.surfaces.hooks.message import HookEvent


@pytest.mark.parametrize(
    "name",
    [
        "mcp__memrepo__memory_remember",
        "mcp__plugin_memrepo_memrepo__memory_remember",
        "mcp_memrepo_memory_remember",
        "memrepo.memory_remember",
        "memrepo/memory_remember",
        "memrepo_memory_remember",
    ],
)
def test_our_tool_is_known_under_the_names_of_every_host(name: str) -> None:
    assert find_memory_tool(name) == "memory_remember"


@pytest.mark.parametrize(
    "name",
    [
        "memory_remember",
        "mcp__other__memory_remember",
        "mcp__memrepo__evil",
        "memrepo.memory_write",
        "memrepo.memory_delete_file",
        "xmcp__memrepo__memory_read",
        "",
        "Write",
    ],
)
def test_another_tool_is_not_taken_for_ours(name: str) -> None:
    assert find_memory_tool(name) is None


CALLS: list[tuple[str, str, dict[str, Any], ToolVerb, tuple[str, ...]]] = [
    ("claude-code", "Write", {"file_path": "/a", "content": "x"}, ToolVerb.WRITE, ("/a",)),
    ("claude-code", "Read", {"file_path": "/a"}, ToolVerb.READ, ("/a",)),
    ("claude-code", "Glob", {"path": "/a", "pattern": ".git/*"}, ToolVerb.LIST, ("/a", "/a/.git/")),
    ("claude-code", "Grep", {"path": "/a", "pattern": "x"}, ToolVerb.SEARCH, ("/a",)),
    ("claude-code", "WebFetch", {"url": "https://x"}, ToolVerb.FETCH, ()),
    ("codex", "apply_patch", {"command": "*** Begin Patch\n*** Update File: a.py\n"}, ToolVerb.WRITE, ("a.py",)),
    ("codex", "apply_patch", {"command": "*** Update File: a\n*** Move to: b\n"}, ToolVerb.RENAME, ("a", "b")),
    ("gemini", "replace", {"file_path": "/a"}, ToolVerb.WRITE, ("/a",)),
    ("gemini", "read_many_files", {"include": ["/a", "/b"]}, ToolVerb.READ, ("/a", "/b")),
    ("cursor", "Delete", {"path": "/a"}, ToolVerb.DELETE, ("/a",)),
    ("opencode", "edit", {"filePath": "/a"}, ToolVerb.WRITE, ("/a",)),
    ("vscode", "create_file", {"filePath": "/a"}, ToolVerb.WRITE, ("/a",)),
    ("vscode", "multi_replace_string_in_file", {"replacements": [{"filePath": "/a"}]}, ToolVerb.WRITE, ("/a",)),
    ("claude-code", "mcp__fs__move_file", {"source": "/a", "destination": "/b"}, ToolVerb.RENAME, ("/a", "/b")),
    ("claude-code", "mcp__fs__read_text_file", {"path": "/a"}, ToolVerb.READ, ("/a",)),
    ("gemini", "mcp_fs_write_file", {"deep": {"list": [{"path": "/a"}]}}, ToolVerb.MCP, ("/a",)),
    ("codex", "unheard_of", {"anything": "/a"}, ToolVerb.OTHER, ("/a",)),
    ("opencode", "unheard_of", {"note": "no path"}, ToolVerb.OTHER, ()),
]


@pytest.mark.parametrize(("host", "tool", "arguments", "verb", "paths"), CALLS)
def test_a_call_says_what_it_does_and_to_which_paths(
    host: str, tool: str, arguments: dict[str, Any], verb: ToolVerb, paths: tuple[str, ...]
) -> None:
    message = load_codec(host).read(HookEvent.BEFORE_TOOL, {"tool_name": tool, "tool_input": arguments})
    assert message.call is not None
    assert (message.call.verb, message.call.paths) == (verb, paths)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("junk", [None, 7, [], "text", {"tool_input": {"path": 3}}, {"tool_name": ["x"]}])
def test_fields_of_the_wrong_type_are_fields_that_are_not_there(host: str, junk: object) -> None:
    document = {"tool_name": junk, "tool_input": junk, "session_id": junk, "cwd": junk, "prompt": junk, "source": junk}
    for event in HookEvent:
        load_codec(host).read(event, {**document, "workspace_roots": junk, "conversation_id": junk})


def test_a_shell_command_given_as_words_is_one_command() -> None:
    document = {"tool_name": "shell", "tool_input": {"command": ["rm", "-rf", "/a b"]}}
    call = load_codec("codex").read(HookEvent.BEFORE_TOOL, document).call
    assert call is not None
    assert call.command == "rm -rf '/a b'"
