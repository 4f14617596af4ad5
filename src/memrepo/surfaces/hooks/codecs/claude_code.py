"""Claude Code. Read 2026-12-04: https://code.claude.com/docs/en/hooks and .../tools-reference

In: `session_id`, `cwd`, `hook_event_name`; `agent_id` in a sub-agent (`agent_type` alone is a main agent with a
name); `source` (startup, resume, clear, compact), `prompt`, `tool_name`, `tool_input`, `tool_response`.
Out: `hookSpecificOutput`. `updatedInput` replaces the whole input. Without `permissionDecision` it is applied and the
usual permission rules decide; with "allow" it would approve the call for the user, so it is left out. Versions before
2.1 ignore it then: the call goes unstamped, and its facts to the inbox.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memrepo.policy.tool_calls import ToolVerb
from memrepo.surfaces.hooks.codecs.fields import find_mapping, find_text, has_content, read_common, write_common
from memrepo.surfaces.hooks.codecs.tools import ToolRow, make_call
from memrepo.surfaces.hooks.message import Codec, HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.surfaces.hooks.message import HookAnswer, HookMessage

HOST = "claude-code"
TOOLS = {
    "Read": ToolRow(ToolVerb.READ, ("file_path",)),
    "NotebookRead": ToolRow(ToolVerb.READ, ("notebook_path",)),
    "Write": ToolRow(ToolVerb.WRITE, ("file_path",)),
    "Edit": ToolRow(ToolVerb.WRITE, ("file_path",)),
    "MultiEdit": ToolRow(ToolVerb.WRITE, ("file_path",)),
    "NotebookEdit": ToolRow(ToolVerb.WRITE, ("notebook_path",)),
    "Glob": ToolRow(ToolVerb.LIST, ("path",), "pattern"),
    "LS": ToolRow(ToolVerb.LIST, ("path",)),
    "Grep": ToolRow(ToolVerb.SEARCH, ("path",), "glob"),
    "Bash": ToolRow(ToolVerb.SHELL),
    "PowerShell": ToolRow(ToolVerb.SHELL),
    "Monitor": ToolRow(ToolVerb.SHELL),
    "WebFetch": ToolRow(ToolVerb.FETCH),
    "WebSearch": ToolRow(ToolVerb.FETCH),
    "Agent": ToolRow(ToolVerb.AGENT),
    "Task": ToolRow(ToolVerb.AGENT),
}
_EVENTS = {
    HookEvent.SESSION_START: "SessionStart",
    HookEvent.BEFORE_TOOL: "PreToolUse",
}


def read(event: HookEvent, document: Mapping[str, Any]) -> HookMessage:
    """The message of a document."""
    name = find_text(document, "tool_name")
    body = has_content(document.get("tool_response"))
    call = make_call(HOST, name, find_mapping(document, "tool_input"), TOOLS, has_body=body) if name else None
    return read_common(HOST, event, document, call)


def write(message: HookMessage, answer: HookAnswer) -> Mapping[str, Any] | None:
    """The document of an answer."""
    return write_common(message, answer, _EVENTS.get(message.event, ""))


CODEC = Codec(read, write)
