"""Whether a tool call reads text that nobody vouched for. Pure: the call in, a label or None out.

Untrusted are: the web, other people's mail, chat, channels and trackers, HTTP answers that are not empty, other agents,
files outside the workspace, and every tool that the user lists. The rows are data (`untrusted_rows.py`). A tool of an
unknown server is not: the user lists it (setting `untrusted_tools`).

Limits: a link inside the workspace that leads out of it and what a script does when it runs are not seen here. A file
that the workspace holds is trusted, wherever it came from.
Source: memory repo design (seed 1) §7.3, §14.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.policy import untrusted_rows as rows
from memrepo.policy.tool_calls import ToolVerb
from memrepo.policy.trusted_places import OUTSIDE, TrustedPlaces
from memrepo.policy.untrusted_shell import find_untrusted_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PurePath

    from memrepo.policy.tool_calls import ToolCall

_ADDRESS = "://"
_OWN_SERVERS = frozenset({"memrepo", "plugin:memrepo:memrepo"})
_RESOURCE_TOOLS = frozenset(
    {
        *("ReadMcpResourceTool", "ListMcpResourcesTool"),
        *("read_mcp_resource", "list_mcp_resources", "list_mcp_resource_templates"),
    }
)
_NO_WORD = re.compile(r"[^a-z0-9]+")


def find_untrusted_read(
    call: ToolCall,
    *,
    workspace_folder: PurePath | None,
    listed: Sequence[str] | None,
    home: PurePath | None = None,
    trusted_folders: Sequence[PurePath] = (),
    current_folder: PurePath | None = None,
) -> str | None:
    """The label of the untrusted text that a call reads, None when it reads none: the tool's name, never content.

    Without a `workspace_folder` every file is outside. `trusted_folders` hold memory. `listed` are the user's patterns,
    where `*` stands for anything; None when they cannot be read, and then any tool that is not the host's may be one of
    them. Relative paths start in `current_folder`, else in the workspace.
    """
    if call.memory_tool is not None:
        return None
    if listed is None and call.verb in {ToolVerb.MCP, ToolVerb.OTHER}:
        return call.name
    if any(matches_name(pattern.casefold(), call.name.casefold()) for pattern in listed or ()):
        return call.name
    if _reads_own_resource(call):
        return None
    row = _find_tool_row(call)
    if row is not None:
        return call.name if call.has_body or not row.only_with_body else None
    if call.verb is ToolVerb.FETCH:
        return call.name
    places = TrustedPlaces(
        call.host, workspace_folder, home, tuple(trusted_folders), current_folder or workspace_folder
    )
    if call.verb in {ToolVerb.READ, ToolVerb.SEARCH}:
        if any(_ADDRESS in path and not path.startswith("file://") for path in call.paths):
            return call.name
        return OUTSIDE if any(places.is_outside(path, places.start) for path in call.paths) else None
    if call.verb is ToolVerb.SHELL and call.command:
        return find_untrusted_command(call.command, places)
    return None


def matches_name(pattern: str, name: str) -> bool:
    """Whether a name is of a pattern in which `*` stands for anything, in time that grows with the name."""
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *middle, last = rest
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _find_tool_row(call: ToolCall) -> rows.ToolRow | None:
    name = _NO_WORD.sub("_", call.name.lower()).strip("_")
    for row in rows.TOOLS:
        if row.host in {"", call.host} and matches_name(row.pattern, name):
            return row
    return None


def _reads_own_resource(call: ToolCall) -> bool:
    """A host's own tool that shows what our server offers; a tool of another server may take any word as `server`."""
    return call.name in _RESOURCE_TOOLS and call.arguments.get("server") in _OWN_SERVERS
