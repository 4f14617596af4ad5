"""Fields of a host's JSON: of the right type, or not there."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memrepo.surfaces.hooks.message import HookMessage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.policy.tool_calls import ToolCall
    from memrepo.surfaces.hooks.message import HookAnswer, HookEvent

FRESH_SOURCES = frozenset({"startup", "new", "clear"})
"""How a session starts that has read nothing yet. Any other way goes on with an older talk."""


def find_text(document: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that is text and not empty; "" when none is."""
    return next((value for name in names if isinstance(value := document.get(name), str) and value), "")


def find_mapping(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A field that is an object, also when it was sent as text. What is neither stands under "", {} for nothing."""
    value = document.get(name)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        import json

        with contextlib.suppress(ValueError):
            value = json.loads(value)
    return value if isinstance(value, dict) else {"": value} if value else {}


def find_folder(document: Mapping[str, Any], *names: str) -> Path | None:
    """A field that is an absolute path."""
    text = find_text(document, *names)
    return Path(text) if text.startswith("/") and "\0" not in text else None


def has_content(value: object) -> bool:
    """Whether a tool's answer brought something back, however deep."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
        elif isinstance(one, str) and one.strip():
            return True
    return False


def read_common(host: str, event: HookEvent, document: Mapping[str, Any], call: ToolCall | None) -> HookMessage:
    """A message in the fields that Claude Code began with and other hosts took over."""
    agent_id = find_text(document, "agent_id") or None
    return HookMessage(
        host,
        event,
        session_id=find_text(document, "session_id", "sessionId"),
        host_event=find_text(document, "hook_event_name", "hookEventName"),
        folder=find_folder(document, "cwd"),
        prompt=find_text(document, "prompt"),
        call=call,
        agent_id=agent_id,
        is_sub_agent=agent_id is not None,
        is_resumed=find_text(document, "source") not in FRESH_SOURCES,
    )


def write_common(message: HookMessage, answer: HookAnswer, host_event: str, **stamped: str) -> dict[str, Any] | None:
    """An answer in the form `hookSpecificOutput`; `stamped` is what must stand beside a new input."""
    said: dict[str, Any] = {}
    if answer.denial:
        said = {"permissionDecision": "deny", "permissionDecisionReason": answer.denial}
    elif answer.arguments is not None:
        said = {**stamped, "updatedInput": dict(answer.arguments)}
    elif answer.context:
        said = {"additionalContext": answer.context}
    name = message.host_event or host_event
    return {"hookSpecificOutput": {"hookEventName": name, **said}} if said else None
