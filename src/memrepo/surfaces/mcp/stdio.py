"""The server over standard input and output, as agent hosts start it.

Standard output carries the protocol and nothing else: from the first moment its descriptor is a private one, and
whatever prints, this program, a library or a child, prints to standard error. SIGINT and SIGTERM end what is being
written and close the repo; then the process ends, because a thread that waits for input cannot be woken.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

    from memrepo.surfaces.mcp.server import MemoryServer


def take_stdout() -> int:
    """Returns a descriptor for the protocol; the one numbered 1 means standard error from now on."""
    private = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # no standard error: let it go nowhere
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    return private


def _take_stdin() -> int:
    """A descriptor for the protocol; whatever else reads standard input, a child of ours, finds it empty."""
    private = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    return private


def serve_stdio(server: MemoryServer, descriptor: int) -> None:
    """Serves until the input ends or a signal comes."""
    import anyio

    anyio.run(_serve, server, descriptor)


async def _serve(server: MemoryServer, descriptor: int) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    from memrepo.surfaces.mcp.lines import MessageLines

    out = anyio.wrap_file(TextIOWrapper(os.fdopen(descriptor, "wb"), encoding="utf-8", newline="\n"))
    text = TextIOWrapper(os.fdopen(_take_stdin(), "rb", closefd=False), encoding="utf-8", errors="replace")
    lines = MessageLines(anyio.wrap_file(text))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, server)
        async with stdio_server(stdin=lines, stdout=out) as (incoming, outgoing):  # type: ignore[arg-type]
            lines.answer_to(outgoing)
            await server.server.run(incoming, outgoing, server.options)
        await server.close()
        tasks.cancel_scope.cancel()


async def _stop_on_signal(server: MemoryServer) -> NoReturn:
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            await server.close()
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(0)
    raise AssertionError("signals do not end")
