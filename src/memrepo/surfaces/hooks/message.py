"""One event of a host and our answer, as values that no host's names reach."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memrepo.policy.tool_calls import ToolCall


class HookEvent(StrEnum):
    """The moments of a session, under one name for every host."""

    SESSION_START = "session-start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before-tool"
    AFTER_TOOL = "after-tool"
    SUB_AGENT_START = "sub-agent-start"
    SUB_AGENT_STOP = "sub-agent-stop"
    SESSION_END = "session-end"


@dataclass(frozen=True, slots=True)
class HookMessage:
    """What a host says. `host_event` is its own name of the event, for the answer.

    `folder` is the current one; `agent_id` names a sub-agent, `parent_id` the session that it works for when it has one
    of its own. `is_resumed`: the session may be older than its hooks.
    """

    host: str
    event: HookEvent
    session_id: str
    host_event: str = ""
    folder: Path | None = None
    prompt: str = ""
    call: ToolCall | None = None
    agent_id: str | None = None
    parent_id: str | None = None
    is_sub_agent: bool = False
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What we say: a block for the prompt, the reason of a denial, or the whole new input of a tool. Mostly nothing."""

    context: str = ""
    denial: str = ""
    arguments: Mapping[str, Any] | None = None


class Codec(NamedTuple):
    """One host's JSON. `can_rewrite`: its hooks can change a tool's input without approving the call for the user."""

    read: Callable[[HookEvent, Mapping[str, Any]], HookMessage]
    write: Callable[[HookMessage, HookAnswer], Mapping[str, Any] | None]
    can_rewrite: bool = True
