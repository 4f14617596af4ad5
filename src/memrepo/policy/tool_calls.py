"""A tool call of any host as one value: what hooks are asked about, without the host's own names for it. Pure.

Owns how our own tools are recognised under the names that hosts give them. How a host's call becomes this value is that
host's codec.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class ToolVerb(StrEnum):
    """What a tool does, whatever its name."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    RENAME = "rename"
    LIST = "list"
    SEARCH = "search"
    SHELL = "shell"
    FETCH = "fetch"
    MCP = "mcp"
    AGENT = "agent"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. `paths` are as the tool was given them; `memory_tool` is the bare name if the tool is one of ours.

    `has_body`: an HTTP request that brought something back. `is_known`: the host documents the tool, so `paths` are all
    that it touches; of another one any argument may say what it does.
    """

    host: str
    name: str
    verb: ToolVerb
    paths: tuple[str, ...] = ()
    command: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    memory_tool: str | None = None
    has_body: bool = False
    is_known: bool = True


_MEMORY_TOOL = re.compile(
    r"(?:mcp__(?:plugin_memrepo_)?memrepo__|mcp_memrepo_|memrepo[./_])"
    r"(memory_(?:remember|recall|forget|read|list|grep)|swarm_note)",
    re.ASCII,
)


def find_memory_tool(name: str) -> str | None:
    """The bare name of one of our tools, whatever a host puts in front of it; None for any other tool."""
    found = _MEMORY_TOOL.fullmatch(name)
    return found[1] if found else None
