"""Gemini CLI. Read 2026-12-04: https://geminicli.com/docs/hooks/reference and .../reference/tools

In: `session_id`, `cwd`, `hook_event_name`; `source` (startup, resume, clear), `prompt` (BeforeAgent), `tool_name`,
`tool_input`, `tool_response`. Nothing tells a sub-agent from the main one. Out: `decision` "deny" with `reason`;
`hookSpecificOutput.tool_input`, which is merged into the input and decides nothing; `additionalContext`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memrepo.policy.tool_calls import ToolVerb
from memrepo.surfaces.hooks.codecs.fields import find_mapping, find_text, has_content, read_common
from memrepo.surfaces.hooks.codecs.tools import ToolRow, make_call
from memrepo.surfaces.hooks.message import Codec, HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.surfaces.hooks.message import HookAnswer, HookMessage

HOST = "gemini"
TOOLS = {
    "read_file": ToolRow(ToolVerb.READ, ("file_path", "absolute_path", "path")),
    "read_many_files": ToolRow(ToolVerb.READ, ("include", "paths")),
    "write_file": ToolRow(ToolVerb.WRITE, ("file_path", "path")),
    "replace": ToolRow(ToolVerb.WRITE, ("file_path", "path")),
    "list_directory": ToolRow(ToolVerb.LIST, ("dir_path", "path")),
    "glob": ToolRow(ToolVerb.LIST, ("dir_path", "path"), "pattern"),
    "grep_search": ToolRow(ToolVerb.SEARCH, ("dir_path", "path")),
    "search_file_content": ToolRow(ToolVerb.SEARCH, ("dir_path", "path")),
    "run_shell_command": ToolRow(ToolVerb.SHELL),
    "web_fetch": ToolRow(ToolVerb.FETCH),
    "google_web_search": ToolRow(ToolVerb.FETCH),
}


def read(event: HookEvent, document: Mapping[str, Any]) -> HookMessage:
    """The message of a document."""
    name = find_text(document, "tool_name")
    body = has_content(document.get("tool_response"))
    call = make_call(HOST, name, find_mapping(document, "tool_input"), TOOLS, has_body=body) if name else None
    return read_common(HOST, event, document, call)


def write(_: HookMessage, answer: HookAnswer) -> Mapping[str, Any] | None:
    """The document of an answer."""
    if answer.denial:
        return {"decision": "deny", "reason": answer.denial}
    if answer.arguments is not None:
        return {"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": dict(answer.arguments)}}
    if answer.context:
        return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": answer.context}}
    return None


CODEC = Codec(read, write)
