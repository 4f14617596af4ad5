"""Telling clients that resources changed, whoever changed them: this process, another one, or an editor.

A look at the files' stamps every few seconds, and only while somebody listens; after a write of this process at once.
Clients of the handshake versions subscribe per connection; those of 2026-07-28 open a stream (`subscriptions/listen`).
Telling is best effort: a client that is gone is not an error.
Source: https://modelcontextprotocol.io/specification/2025-11-25/server/resources and /2026-07-28/ of the same page.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

from memrepo.errors import MemrepoError
from memrepo.surfaces.mcp.resources import Survey, find_changed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

POLL_S = 3.0
_SESSIONS_MOST = 256
_HEADER = "mcp-session-id"


class _Listener:
    """One connection of a handshake version."""

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self.uris: set[str] = set()


class Watcher:
    """Looks for changes and tells them. One per server; `look` gives a survey, or raises what cannot be looked at."""

    def __init__(self, look: Callable[[], Awaitable[Survey]], *, poll_s: float = POLL_S) -> None:
        self._look = look
        self._poll_s = poll_s
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._open_streams = 0
        self._listeners: dict[str, _Listener] = {}
        self._seen: Survey | None = None
        self._looking = anyio.Lock()
        self._wake = anyio.Event()

    async def run(self) -> None:
        """Looks again and again until it is cancelled."""
        while True:
            with anyio.move_on_after(self._poll_s if self._listeners or self._open_streams else None):
                await self._wake.wait()
            self._wake = anyio.Event()
            await self._tell()

    def poke(self) -> None:
        """Says that this process has just written."""
        self._wake.set()

    async def greet(self, ctx: ServerRequestContext[Any, Any], _: object = None) -> _Listener:
        """Counts a connection among those that hear of changes; the same one again is the same listener."""
        key = _find_key(ctx)
        if key not in self._listeners:
            # A connection over HTTP that ended says nothing; the oldest make room.
            while len(self._listeners) >= _SESSIONS_MOST:
                del self._listeners[next(iter(self._listeners))]
            self._listeners[key] = _Listener(ctx.session)
            await self._begin()
        return self._listeners[key]

    async def subscribe(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """Tells this connection of changes of one resource from now on."""
        listener = await self.greet(ctx)
        listener.uris.add(uri)

    async def unsubscribe(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """Tells it no longer."""
        listener = await self.greet(ctx)
        listener.uris.discard(uri)

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serves one stream of events until its client leaves."""
        await self._begin()
        self._open_streams += 1
        self._wake.set()
        try:
            return await self._streams(ctx, params)
        finally:
            self._open_streams -= 1

    def close(self) -> None:
        """Ends all streams of events, so that their clients know."""
        self._streams.close()

    async def _begin(self) -> None:
        """Remembers how things are now, if nobody listened before: what changes later is a change."""
        async with self._looking:
            if self._seen is None:
                with suppress(MemrepoError):
                    self._seen = await self._look()
        self._wake.set()  # the loop may be asleep without an end

    async def _tell(self) -> None:
        if not self._listeners and not self._open_streams:
            self._seen = None
            return
        async with self._looking:
            before = self._seen
            with suppress(MemrepoError):  # told by the next call of a tool
                self._seen = await self._look()
            after = self._seen
        if before is None or after is None or before == after:
            return
        changed = find_changed(before, after)
        is_list_changed = before.stamps.keys() != after.stamps.keys()
        for listener in list(self._listeners.values()):
            await _send(listener, changed, is_list_changed=is_list_changed)
        if is_list_changed:
            await self._bus.publish(ResourcesListChanged())
        for uri in changed:
            await self._bus.publish(ResourceUpdated(uri))


async def _send(listener: _Listener, changed: tuple[str, ...], *, is_list_changed: bool) -> None:
    if is_list_changed:
        await listener.session.send_resource_list_changed()
    for uri in changed:
        if uri in listener.uris:
            await listener.session.send_resource_updated(uri)


def _find_key(ctx: ServerRequestContext[Any, Any]) -> str:
    """Tells connections apart: over HTTP by their session, else there is one."""
    headers = getattr(ctx.request, "headers", None)
    return "" if headers is None else str(headers.get(_HEADER, ""))
