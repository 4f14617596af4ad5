"""Codex. Read 2026-12-04: https://developers.openai.com/codex/hooks and github.com/openai/codex, codex-rs/hooks

In: as Claude Code. A shell call is `Bash` with one command, an edit is `apply_patch` with the patch as its `command`, a
tool of a server has its full name and arguments. Out: as Claude Code, and unknown fields are refused. A new input must
come with `permissionDecision` "allow"; that grants nothing there, Codex asks and sandboxes as it would have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memrepo.policy.tool_calls import ToolVerb
from memrepo.surfaces.hooks.codecs.fields import find_mapping, find_text, has_content, read_common, write_common
from memrepo.surfaces.hooks.codecs.tools import ToolRow, find_command, make_call, make_patch_call
from memrepo.surfaces.hooks.message import Codec, HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.surfaces.hooks.message import HookAnswer, HookMessage

HOST = "codex"
TOOLS = {
    "Bash": ToolRow(ToolVerb.SHELL),
    "shell": ToolRow(ToolVerb.SHELL),
    "local_shell": ToolRow(ToolVerb.SHELL),
    "exec_command": ToolRow(ToolVerb.SHELL),
    "write_stdin": ToolRow(ToolVerb.SHELL, ("chars",)),
    "view_image": ToolRow(ToolVerb.READ, ("path",)),
    "web_search": ToolRow(ToolVerb.FETCH),
    "spawn_agent": ToolRow(ToolVerb.AGENT),
}
_EVENTS = {
    HookEvent.SESSION_START: "SessionStart",
    HookEvent.BEFORE_TOOL: "PreToolUse",
}


def read(event: HookEvent, document: Mapping[str, Any]) -> HookMessage:
    """The message of a document."""
    name, arguments = find_text(document, "tool_name"), find_mapping(document, "tool_input")
    call = None
    if name == "apply_patch":
        patch = find_command(arguments) or find_text(arguments, "input", "patch")
        call = make_patch_call(HOST, name, patch, arguments)
    elif name:
        body = has_content(document.get("tool_response"))
        call = make_call(HOST, name, arguments, TOOLS, has_body=body)
    return read_common(HOST, event, document, call)


def write(message: HookMessage, answer: HookAnswer) -> Mapping[str, Any] | None:
    """The document of an answer."""
    return write_common(message, answer, _EVENTS.get(message.event, ""), permissionDecision="allow")


CODEC = Codec(read, write)
