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
import stat
import sys
from typing import TYPE_CHECKING, NamedTuple

from memrepo.errors import DiskFault, InvalidInput, Refused
from memrepo.surfaces.loopback import HOST, Refusal, carry, find_foreign, list_hosts, list_origins, listen, read_headers

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

    from memrepo.surfaces.mcp.server import MemoryServer

PATH = "/mcp"
TOKEN_NAME = "mcp-token"  # noqa: S105 - a file's name
_TOKEN_BYTES = 32
_TOKEN_LEAST_CHARS = 32


class Gate(NamedTuple):
    """What a request must say to get in."""

    port: int
    token: str

    def find_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Decides about one request; `headers` by their names in small letters. Pure."""
        if refusal := find_foreign(headers, self.port):
            return refusal
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
    with listen(port, hint="take another: --http 0 finds one", key="--http") as listening:
        gate = Gate(listening.getsockname()[1], token)
        sys.stderr.write(f"memrepo: serving http://{HOST}:{gate.port}{PATH}; the token is in {place}\n")
        sys.stderr.flush()
        anyio.run(_serve, server, listening, gate)


async def _serve(server: MemoryServer, listening: socket.socket, gate: Gate) -> None:
    from mcp.server.transport_security import TransportSecuritySettings

    app = server.server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(list_hosts(gate.port)), allowed_origins=list(list_origins(gate.port))
        ),
    )
    await carry(_guard(app, gate), listening, on_stop=server.end_streams, on_end=server.close)


def _guard(app: ASGIApp, gate: Gate) -> ASGIApp:
    """The same app behind the gate."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None
        if scope["type"] == "http":
            refusal = gate.find_refusal(read_headers(scope["headers"]))
        if refusal is None:
            await app(scope, receive, send)
            return
        from starlette.responses import PlainTextResponse

        challenge = {"www-authenticate": "Bearer"} if refusal.status == 401 else None
        await PlainTextResponse(refusal.why, refusal.status, headers=challenge)(scope, receive, send)

    return guarded
