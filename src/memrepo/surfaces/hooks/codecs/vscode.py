"""VS Code's own agent. Read 2026-12-04: https://code.visualstudio.com/docs/agents/reference/hooks-reference

In: as Claude Code, with `sessionId` and `hookEventName` in older versions, names of arguments in camel case, and tools
of its own. Nothing says which agent calls a tool. Out: as Claude Code. `updatedInput` must fit the tool's schema and
decides nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memrepo.policy.tool_calls import ToolVerb
from memrepo.surfaces.hooks.codecs.fields import find_mapping, find_text, has_content, read_common, write_common
from memrepo.surfaces.hooks.codecs.tools import ToolRow, make_call, make_patch_call
from memrepo.surfaces.hooks.message import Codec, HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.surfaces.hooks.message import HookAnswer, HookMessage

HOST = "vscode"
_PATHS = ("filePath", "file_path", "path", "files")
TOOLS = {
    **dict.fromkeys(("read_file", "readFile", "view_image"), ToolRow(ToolVerb.READ, _PATHS)),
    **dict.fromkeys(
        (
            "create_file",
            "createFile",
            "insert_edit_into_file",
            "replace_string_in_file",
            "edit_file",
            "editFiles",
            "edit_notebook_file",
        ),
        ToolRow(ToolVerb.WRITE, _PATHS),
    ),
    "multi_replace_string_in_file": ToolRow(ToolVerb.WRITE, (*_PATHS, "replacements")),
    **dict.fromkeys(("create_directory", "createDirectory"), ToolRow(ToolVerb.WRITE, ("dirPath", "path"))),
    **dict.fromkeys(("delete_file", "deleteFile"), ToolRow(ToolVerb.DELETE, _PATHS)),
    **dict.fromkeys(("list_dir", "listDirectory"), ToolRow(ToolVerb.LIST, ("path",))),
    **dict.fromkeys(("file_search", "fileSearch"), ToolRow(ToolVerb.LIST, (), "query")),
    **dict.fromkeys(("grep_search", "textSearch"), ToolRow(ToolVerb.SEARCH, (), "includePattern")),
    **dict.fromkeys(("run_in_terminal", "runInTerminal", "runTerminalCommand"), ToolRow(ToolVerb.SHELL)),
    **dict.fromkeys(("fetch_webpage", "fetch", "github_repo", "githubRepo"), ToolRow(ToolVerb.FETCH)),
    **dict.fromkeys(("runSubagent", "run_subagent"), ToolRow(ToolVerb.AGENT)),
}
_EVENTS = {
    HookEvent.SESSION_START: "SessionStart",
    HookEvent.BEFORE_TOOL: "PreToolUse",
}


def read(event: HookEvent, document: Mapping[str, Any]) -> HookMessage:
    """The message of a document."""
    name, arguments = find_text(document, "tool_name"), find_mapping(document, "tool_input")
    call = None
    if name in {"apply_patch", "applyPatch"}:
        call = make_patch_call(HOST, name, find_text(arguments, "input", "patch"), arguments)
    elif name:
        call = make_call(HOST, name, arguments, TOOLS, has_body=has_content(document.get("tool_response")))
    return read_common(HOST, event, document, call)


def write(message: HookMessage, answer: HookAnswer) -> Mapping[str, Any] | None:
    """The document of an answer."""
    return write_common(message, answer, _EVENTS.get(message.event, ""))


CODEC = Codec(read, write)
