"""The doors of the safety measure: the hooks and the MCP server of this program, run in this process.

Each call is whole: a hook reads its JSON and answers in the host's form, a tool is called by the protocol's own client
on a server that is started for it.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memrepo.app import MemoryRepo
    from memrepo.model import Locations


class ProgramDoors:
    """The real hooks, tools and library, for the memory of whichever home folder a call names."""

    def open_repo(self, home: Path) -> MemoryRepo:
        """The memory as the user's program opens it."""
        from memrepo.app import MemoryRepo

        return MemoryRepo.open(locations=_find_locations(home), home=home)

    def answer_hook(self, home: Path, host: str, event: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer of one hook; empty when it says nothing."""
        from memrepo.surfaces.hooks.arguments import HookArguments
        from memrepo.surfaces.hooks.entry import answer_event
        from memrepo.surfaces.hooks.surroundings import HookSurroundings

        surroundings = HookSurroundings(
            locations=_find_locations(home), home=home, profile="default", path=None, clock=_tell_time
        )
        data = json.dumps(document).encode()
        return answer_event(HookArguments(host, event), surroundings, lambda: data) or {}

    def call_tool(self, home: Path, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The structured answer of one tool; `{"error": …}` when it refused."""
        import anyio

        return anyio.run(_call_tool, home, tool, dict(arguments))


async def _call_tool(home: Path, tool: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
    from mcp import Client

    from memrepo.app import MemoryRepo
    from memrepo.model import Origin
    from memrepo.profiles import find_settings_file
    from memrepo.surfaces.mcp.calls import Standing
    from memrepo.surfaces.mcp.server import MemoryServer
    from memrepo.surfaces.opened import Doors

    locations = _find_locations(home)

    def open_repo(read_only: bool) -> MemoryRepo:  # noqa: FBT001 - the shape that the server asks for
        return MemoryRepo.open(
            locations=locations, home=home, read_only=read_only, create=False, may_be_missing=True,
            origin=Origin.AGENT_TOOL,
        )  # fmt: skip

    doors = Doors(open_repo, lambda: find_settings_file(locations, "default"), lambda _: None)
    server = MemoryServer(doors, Standing())
    try:
        async with Client(server.server) as client:
            result = await client.call_tool(tool, arguments)
    finally:
        await server.close()
    if result.is_error:
        return {"error": [getattr(part, "text", "") for part in result.content]}
    answer: Mapping[str, Any] = result.structured_content or {}
    return answer


def _find_locations(home: Path) -> Locations:
    from memrepo.locations import find_locations

    return find_locations(home / ".memrepo")


def _tell_time() -> dt.datetime:
    return dt.datetime.now().astimezone()
