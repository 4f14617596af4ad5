"""opencode, through memrepo's own plugin. Read 2026-12-04: https://opencode.ai/docs/plugins

The plugin sends what both sides agreed on. In: `session_id`, `cwd`; `is_sub_agent` and, where opencode knows it,
`parent_session_id` (a sub-agent has a session of its own); `prompt`; `tool_name`, `tool_input`. Out: `context`;
`decision` "deny" with `reason`, which the plugin throws; `tool_input`, the whole new input.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memrepo.policy.tool_calls import ToolVerb
from memrepo.surfaces.hooks.codecs.fields import find_mapping, find_text, has_content, read_common
from memrepo.surfaces.hooks.codecs.tools import ToolRow, make_call, make_patch_call
from memrepo.surfaces.hooks.message import Codec, HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.surfaces.hooks.message import HookAnswer, HookMessage

HOST = "opencode"
TOOLS = {
    "bash": ToolRow(ToolVerb.SHELL),
    "shell": ToolRow(ToolVerb.SHELL),
    "read": ToolRow(ToolVerb.READ, ("filePath", "path")),
    "write": ToolRow(ToolVerb.WRITE, ("filePath", "path")),
    "edit": ToolRow(ToolVerb.WRITE, ("filePath", "path")),
    "multiedit": ToolRow(ToolVerb.WRITE, ("filePath", "path")),
    "list": ToolRow(ToolVerb.LIST, ("path",)),
    "glob": ToolRow(ToolVerb.LIST, ("path",), "pattern"),
    "grep": ToolRow(ToolVerb.SEARCH, ("path",)),
    "webfetch": ToolRow(ToolVerb.FETCH),
    "websearch": ToolRow(ToolVerb.FETCH),
    "codesearch": ToolRow(ToolVerb.FETCH),
    "task": ToolRow(ToolVerb.AGENT),
}


def read(event: HookEvent, document: Mapping[str, Any]) -> HookMessage:
    """The message of a document."""
    name, arguments = find_text(document, "tool_name"), find_mapping(document, "tool_input")
    call = None
    if name in {"patch", "apply_patch"}:
        call = make_patch_call(HOST, name, find_text(arguments, "patchText", "patch", "input"), arguments)
    elif name:
        call = make_call(HOST, name, arguments, TOOLS, has_body=has_content(document.get("tool_output", "?")))
    message = read_common(HOST, event, document, call)
    parent_id = find_text(document, "parent_session_id") or None
    is_sub_agent = document.get("is_sub_agent") is True or parent_id is not None
    return replace(
        message,
        agent_id=message.session_id if is_sub_agent else None,
        parent_id=parent_id,
        is_sub_agent=is_sub_agent,
        is_resumed=is_sub_agent and parent_id is None,  # whose taint it shares is not known
    )


def write(_: HookMessage, answer: HookAnswer) -> Mapping[str, Any] | None:
    """The document of an answer."""
    if answer.denial:
        return {"decision": "deny", "reason": answer.denial}
    if answer.arguments is not None:
        return {"tool_input": dict(answer.arguments)}
    return {"context": answer.context} if answer.context else None


CODEC = Codec(read, write)
