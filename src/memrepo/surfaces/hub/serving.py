"""Serving the Hub on this machine until it is told to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.surfaces.hub.gate import Gate, make_url
from memrepo.surfaces.hub.server import Hub
from memrepo.surfaces.loopback import carry, listen

if TYPE_CHECKING:
    from collections.abc import Callable

    from memrepo.surfaces.hub.settings_page import Profile
    from memrepo.surfaces.opened import Doors


def serve_hub(doors: Doors, profile: Profile, *, port: int, tell: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM; `tell` gets the address once a browser may open it.

    Errors: InvalidInput for a port that is taken.
    """
    import anyio

    with listen(port, hint="take another: --port 0 finds one", key="--port") as listening:
        taken: int = listening.getsockname()[1]
        gate = Gate(taken)
        hub = Hub(doors, profile, gate)
        tell(make_url(taken, gate.launch_path))

        async def serve() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(hub.warm)
                await carry(hub.app, listening, on_stop=lambda: None, on_end=hub.close, has_lifespan=False)
                tasks.cancel_scope.cancel()

        anyio.run(serve)
