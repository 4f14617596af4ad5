"""Serving HTTP to programs on this machine and to nobody else: what the MCP server and the Hub have in common.

A server listens on 127.0.0.1 alone and answers only to its own name, so that a page whose name was pointed here (DNS
rebinding) gets nothing. Who else gets in is the server's own rule.
"""

from __future__ import annotations

import signal
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping

    import uvicorn
    from starlette.types import ASGIApp

HOST = "127.0.0.1"
_STOP_S = 3
_BACKLOG = 128


class Refusal(NamedTuple):
    """Why a request is turned away."""

    status: int
    why: str


def list_hosts(port: int) -> tuple[str, ...]:
    """The names under which a server on this port is reached."""
    return f"{HOST}:{port}", f"localhost:{port}"


def list_origins(port: int) -> tuple[str, ...]:
    """The origins of pages that such a server itself would serve."""
    return tuple(f"http://{host}" for host in list_hosts(port))


def find_foreign(headers: Mapping[str, str], port: int) -> Refusal | None:
    """Refuses another name, and pages of another origin; `headers` by their names in small letters. Pure."""
    if headers.get("host", "") not in list_hosts(port):
        return Refusal(421, "this server answers to its own name only")
    if "origin" in headers and headers["origin"] not in list_origins(port):
        return Refusal(403, "web pages of other origins are not served")
    return None


def read_headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name. One that is sent twice counts as both values joined, which fits nothing."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


@contextmanager
def listen(port: int, *, hint: str, key: str) -> Iterator[socket.socket]:
    """A socket that listens; 0 finds a free port. Errors: InvalidInput for a port that is taken."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen(_BACKLOG)  # whoever reads where we serve can connect from then on
        except OSError as error:
            raise InvalidInput(f"port {port} cannot be used: {error.strerror}", hint=hint, key=key) from error
        yield listening
    finally:
        listening.close()


async def carry(
    app: ASGIApp,
    listening: socket.socket,
    *,
    on_stop: Callable[[], None],
    on_end: Callable[[], Awaitable[None]],
    has_lifespan: bool = True,
) -> None:
    """Serves until SIGINT or SIGTERM: `on_stop` when one comes, `on_end` when nothing is served any more."""
    import anyio
    import uvicorn

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        loop="asyncio",
        http="h11",
        lifespan="on" if has_lifespan else "off",
        timeout_graceful_shutdown=_STOP_S,
    )
    carrier = _make_carrier(config)

    async def stop_on_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                on_stop()
                carrier.should_exit = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal)
        await carrier.serve(sockets=[listening])
        await on_end()
        tasks.cancel_scope.cancel()


def _make_carrier(config: uvicorn.Config) -> uvicorn.Server:
    """A carrier that leaves signals to us: uvicorn would end the process by the signal once it has stopped."""
    import uvicorn

    class Carrier(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            yield

    return Carrier(config)
