"""Cursor. Read 2026-12-04: https://cursor.com/docs/hooks

In: `conversation_id`, `workspace_roots`, `hook_event_name`, and by event `prompt`; `tool_name`, `tool_input`, `cwd`
(preToolUse, postToolUse; a server's tool is `MCP:NAME`); `command` (beforeShellExecution); `tool_name` and `tool_input`
as JSON text (beforeMCPExecution); `file_path` (beforeReadFile); `subagent_id` and `parent_conversation_id`
(subagentStart).
Out: `permission` "deny" with `user_message` and `agent_message`; `additional_context` (sessionStart). A new input needs
an answer that approves the call in some versions, so memory calls are named by a ticket instead of a stamp.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memrepo.policy.tool_calls import ToolCall, ToolVerb
from memrepo.surfaces.hooks.codecs.fields import find_folder, find_mapping, find_text, has_content
from memrepo.surfaces.hooks.codecs.tools import ToolRow, make_call
from memrepo.surfaces.hooks.message import Codec, HookEvent, HookMessage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.surfaces.hooks.message import HookAnswer

HOST = "cursor"
_PATHS = ("file_path", "path", "target_file")
TOOLS = {
    "Read": ToolRow(ToolVerb.READ, _PATHS),
    "Write": ToolRow(ToolVerb.WRITE, _PATHS),
    "StrReplace": ToolRow(ToolVerb.WRITE, _PATHS),
    "Edit": ToolRow(ToolVerb.WRITE, _PATHS),
    "MultiEdit": ToolRow(ToolVerb.WRITE, _PATHS),
    "EditNotebook": ToolRow(ToolVerb.WRITE, (*_PATHS, "target_notebook")),
    "Delete": ToolRow(ToolVerb.DELETE, _PATHS),
    "Grep": ToolRow(ToolVerb.SEARCH, ("path",)),
    "Glob": ToolRow(ToolVerb.LIST, ("path", "target_directory"), "glob_pattern"),
    "LS": ToolRow(ToolVerb.LIST, ("path", "target_directory")),
    "Shell": ToolRow(ToolVerb.SHELL),
    "WebFetch": ToolRow(ToolVerb.FETCH),
    "WebSearch": ToolRow(ToolVerb.FETCH),
    "Task": ToolRow(ToolVerb.AGENT),
}


def read(event: HookEvent, document: Mapping[str, Any]) -> HookMessage:
    """The message of a document."""
    session_id = find_text(document, "conversation_id", "session_id")
    agent_id = None
    if event in {HookEvent.SUB_AGENT_START, HookEvent.SUB_AGENT_STOP}:
        agent_id = find_text(document, "subagent_id") or None
        session_id = find_text(document, "parent_conversation_id") or session_id
    return HookMessage(
        HOST,
        event,
        session_id=session_id,
        host_event=find_text(document, "hook_event_name"),
        folder=find_folder(document, "cwd") or _find_workspace(document),
        prompt=find_text(document, "prompt"),
        call=_read_call(document),
        agent_id=agent_id,
        is_sub_agent=agent_id is not None,
        is_resumed=False,
    )


def write(message: HookMessage, answer: HookAnswer) -> Mapping[str, Any] | None:
    """The document of an answer."""
    if answer.denial:
        return {"permission": "deny", "user_message": answer.denial, "agent_message": answer.denial}
    if answer.context:
        return {"additional_context": answer.context}
    return {"continue": True} if message.event is HookEvent.PROMPT else None


def _read_call(document: Mapping[str, Any]) -> ToolCall | None:
    host_event = find_text(document, "hook_event_name")
    name, arguments = find_text(document, "tool_name"), find_mapping(document, "tool_input")
    if host_event in {"beforeShellExecution", "afterShellExecution"}:
        return make_call(HOST, "Shell", {"command": document.get("command")}, TOOLS)
    if host_event in {"beforeReadFile", "beforeTabFileRead"}:
        return make_call(HOST, "Read", {"file_path": document.get("file_path")}, TOOLS)
    if not name:
        return None
    body = has_content(document.get("tool_output", document.get("result_json")))
    if name.startswith("MCP:") or host_event in {"beforeMCPExecution", "afterMCPExecution"}:
        bare = name.removeprefix("MCP:").strip()
        own = bare if "memrepo" in bare else f"memrepo.{bare}"
        call = make_call(HOST, own, arguments, TOOLS, has_body=body)
        return call if call.memory_tool else make_call(HOST, f"mcp_{bare}", arguments, {}, has_body=body)
    return make_call(HOST, name, arguments, TOOLS, has_body=body)


def _find_workspace(document: Mapping[str, Any]) -> Path | None:
    roots = document.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return Path(first) if isinstance(first, str) and first.startswith("/") else None


CODEC = Codec(read, write, can_rewrite=False)
