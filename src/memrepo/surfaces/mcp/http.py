"""The server over HTTP, for clients on this machine.

It listens on 127.0.0.1 alone. Every request must carry its own Host, if it comes from a web page its own Origin, and
the token; anything else is turned away before a byte of it is read, so that neither a page whose name was pointed here
(DNS rebinding) nor another user of the machine gets in. The token is a file of the user's; nothing prints it.
Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
"""

from __future__ import annotations

import hmac
import os
import secrets
import signal
import socket
import stat
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memrepo.errors import DiskFault, InvalidInput, Refused

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from pathlib import Path

    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

    from memrepo.surfaces.mcp.server import MemoryServer

HOST = "127.0.0.1"
PATH = "/mcp"
TOKEN_NAME = "mcp-token"  # noqa: S105 - a file's name
_TOKEN_BYTES = 32
_TOKEN_LEAST_CHARS = 32
_STOP_S = 3
_BACKLOG = 128


class Refusal(NamedTuple):
    """Why a request is turned away."""

    status: int
    why: str


class Gate(NamedTuple):
    """What a request must say to get in."""

    port: int
    token: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which this server is reached."""
        return f"{HOST}:{self.port}", f"localhost:{self.port}"

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins of pages that this server itself would serve."""
        return tuple(f"http://{host}" for host in self.hosts)

    def find_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Decides about one request; `headers` by their names in small letters. Pure."""
        if headers.get("host", "") not in self.hosts:
            return Refusal(421, "this server answers to its own name only")
        if "origin" in headers and headers["origin"] not in self.origins:
            return Refusal(403, "web pages of other origins are not served")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(token.strip().encode(), self.token.encode())
        if scheme.lower() != "bearer" or not is_right:
            return Refusal(401, "the token is missing or wrong")
        return None


def read_token(folder: Path) -> tuple[str, Path]:
    """The token and its file, made at the first start. Errors: Refused for a file that others may read, DiskFault.

    Changes: at most one new file, mode 0600.
    """
    place = folder / TOKEN_NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            return _read_token_file(place), place
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
    except OSError as error:
        raise DiskFault(f"the token's file cannot be used: {error.strerror}", path=str(place)) from error
    return token, place


def _read_token_file(place: Path) -> str:
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, encoding="utf-8", errors="replace") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise Refused(
                f"{place} may be read by others, so it protects nothing",
                hint=f"remove it, a new one is made at the next start: rm {place}",
                rule="token-file",
            )
        token = file.read(1024).strip()
    if len(token) < _TOKEN_LEAST_CHARS or not token.isascii():
        raise InvalidInput(f"{place} holds no token", hint=f"remove it, a new one is made: rm {place}", file=str(place))
    return token


def serve_http(server: MemoryServer, port: int, folder: Path) -> None:
    """Serves until SIGINT or SIGTERM. Errors: those of `read_token`; InvalidInput for a port that is taken."""
    import anyio

    token, place = read_token(folder)
    with _listen(port) as listening:
        gate = Gate(listening.getsockname()[1], token)
        sys.stderr.write(f"memrepo: serving http://{HOST}:{gate.port}{PATH}; the token is in {place}\n")
        sys.stderr.flush()
        anyio.run(_serve, server, listening, gate)


@contextmanager
def _listen(port: int) -> Iterator[socket.socket]:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen(_BACKLOG)  # whoever reads where we serve can connect from then on
        except OSError as error:
            raise InvalidInput(
                f"port {port} cannot be used: {error.strerror}", hint="take another: --http 0 finds one", key="--http"
            ) from error
        yield listening
    finally:
        listening.close()


async def _serve(server: MemoryServer, listening: socket.socket, gate: Gate) -> None:
    import anyio
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    app = server.server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(gate.hosts), allowed_origins=list(gate.origins)
        ),
    )
    config = uvicorn.Config(
        _guard(app, gate),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        loop="asyncio",
        http="h11",
        lifespan="on",
        timeout_graceful_shutdown=_STOP_S,
    )
    carrier = _make_carrier(config)

    async def stop_on_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                server.end_streams()
                carrier.should_exit = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal)
        await carrier.serve(sockets=[listening])
        await server.close()
        tasks.cancel_scope.cancel()


def _guard(app: ASGIApp, gate: Gate) -> ASGIApp:
    """The same app behind the gate."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None
        if scope["type"] == "http":
            refusal = gate.find_refusal(_read_headers(scope["headers"]))
        if refusal is None:
            await app(scope, receive, send)
            return
        from starlette.responses import PlainTextResponse

        challenge = {"www-authenticate": "Bearer"} if refusal.status == 401 else None
        await PlainTextResponse(refusal.why, refusal.status, headers=challenge)(scope, receive, send)

    return guarded


def _read_headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name. One that is sent twice counts as both values joined, which fits nothing."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _make_carrier(config: uvicorn.Config) -> uvicorn.Server:
    """A carrier that leaves signals to us: uvicorn would end the process by the signal once it has stopped."""
    import uvicorn

    class Carrier(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            yield

    return Carrier(config)
