"""MCP clients for tests: the SDK's own client, on the real program over stdio and HTTP, or on a server in this process.

`in_memory` runs the same server without a process, which is twenty times faster; what stdio, HTTP or a signal does is
tested on the real one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from tests.kit.memory import USER
from tests.kit.program import TIMEOUT_S, make_environment

from memrepo.app import MemoryRepo
from memrepo.locations import find_locations
from memrepo.model import Candidate, Origin
from memrepo.profiles import find_settings_file
from memrepo.surfaces.mcp.calls import Standing
from memrepo.surfaces.mcp.server import MemoryServer
from memrepo.surfaces.opened import Doors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from mcp.client.session import ClientRequestContext, IncomingMessage
    from tests.kit.program import Program

Mode = Literal["legacy", "auto"]
MODES: tuple[Mode, Mode] = ("legacy", "auto")
"""The handshake of the versions up to 2025-11-25, and the newest version."""


@dataclass
class Person:
    """Who answers when the server asks: `says` is the action, and with accept what was ticked."""

    says: Literal["yes", "no", "decline", "cancel", "fault"]
    asked: list[str] = field(default_factory=list)

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params.message)
        if self.says == "fault":
            return types.ErrorData(code=types.INTERNAL_ERROR, message="no window")
        if self.says in {"yes", "no"}:
            return types.ElicitResult(action="accept", content={"yes": self.says == "yes"})
        return types.ElicitResult(action="decline" if self.says == "decline" else "cancel")


@dataclass
class Mailbox:
    """The notifications a client got; `wait_for` waits for one."""

    got: list[types.ServerNotification] = field(default_factory=list)
    _news: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, message: IncomingMessage) -> None:
        if not isinstance(message, Exception):
            self.got.append(message)
            self._news.set()
            self._news = anyio.Event()

    async def wait_for(self, method: str, uri: str | None = None) -> None:
        with anyio.fail_after(TIMEOUT_S):
            while not any(self._is(message, method, uri) for message in self.got):
                await self._news.wait()

    @staticmethod
    def _is(message: types.ServerNotification, method: str, uri: str | None) -> bool:
        return message.method == method and (uri is None or getattr(message.params, "uri", None) == uri)


def open_repo(home: Path) -> MemoryRepo:
    """The memory of a home folder, as another program of the user's opens it."""
    return MemoryRepo.open(locations=find_locations(home / ".memrepo"), home=home)


def make_home(home: Path) -> None:
    """Makes a home folder whose memory holds one fact of the user's, and one that nobody has reviewed."""
    home.mkdir()
    with open_repo(home) as repo:
        repo.service.remember(Candidate("Prefers tabs over spaces", subject="indentation"), USER)
        (repo.root / "inbox.md").write_text("# Inbox\n- Run setup.sh first [by: agent; kind: rule]\n")


def make_server(home: Path, standing: Standing | None = None, *, poll_s: float = 0.01) -> MemoryServer:
    """A server on the memory of this home folder, in this process."""
    locations = find_locations(home / ".memrepo")

    def open_repo(read_only: bool) -> MemoryRepo:
        return MemoryRepo.open(
            locations=locations,
            home=home,
            read_only=read_only,
            create=False,
            may_be_missing=True,
            origin=Origin.AGENT_TOOL,
        )

    doors = Doors(open_repo, lambda: find_settings_file(locations, "default"), lambda _: None)
    return MemoryServer(doors, standing or Standing(trusts_sessions=True, task_id="mcp-test"), poll_s=poll_s)


def in_memory(
    home: Path,
    play: Callable[[Client], Awaitable[None]],
    *,
    mode: Mode = "legacy",
    standing: Standing | None = None,
    person: Person | None = None,
    mailbox: Mailbox | None = None,
) -> None:
    """Plays against a server in this process."""

    async def run() -> None:
        server = make_server(home, standing)
        try:
            async with Client(server.server, mode=mode, elicitation_callback=person, message_handler=mailbox) as client:
                await play(client)
        finally:
            await server.close()

    anyio.run(run)


def over_stdio(
    program: Program,
    play: Callable[[Client], Awaitable[None]],
    *arguments: str,
    mode: Mode = "legacy",
    folder: Path | None = None,
    person: Person | None = None,
    mailbox: Mailbox | None = None,
    **variables: str,
) -> None:
    """Plays against the real program."""

    async def run() -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "memrepo", "mcp", *arguments],
            env=make_environment(program.home, **variables),
            cwd=folder or program.home,
        )
        async with Client(
            stdio_client(server), mode=mode, elicitation_callback=person, message_handler=mailbox
        ) as client:
            await play(client)

    anyio.run(run)


@dataclass(frozen=True)
class HttpServer:
    """The real program, serving HTTP."""

    process: subprocess.Popen[bytes]
    url: str
    token: str

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://").removesuffix("/mcp")

    @asynccontextmanager
    async def connect(
        self, *, mode: Mode = "legacy", person: Person | None = None, mailbox: Mailbox | None = None
    ) -> AsyncIterator[Client]:
        async with create_mcp_http_client(headers={"Authorization": f"Bearer {self.token}"}) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=person, message_handler=mailbox) as client:
                yield client


@contextmanager
def start_http(program: Program, *arguments: str) -> Iterator[HttpServer]:
    """Starts the real program on a free port and ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memrepo", "mcp", "--http", "0", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program.home,
        env=make_environment(program.home),
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        assert "serving http://127.0.0.1:" in line, line + process.stderr.read().decode()
        url = line.split("serving ")[1].split(";")[0]
        token_file = line.rsplit("the token is in ", 1)[1].strip()
        with open(token_file, encoding="utf-8") as file:
            yield HttpServer(process, url, file.read().strip())
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT_S)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Calls a tool that must do it; its structured answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def fail(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Calls a tool that must refuse; its error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    assert result.structured_content is None
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    error: dict[str, Any] = json.loads(content.text)["error"]
    return error
