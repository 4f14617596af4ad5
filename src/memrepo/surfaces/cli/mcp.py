"""`memrepo mcp`: the server that agent hosts start."""

from __future__ import annotations

import gc
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.table import MemrepoCommand

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.surfaces.cli.invocation import Invocation
    from memrepo.surfaces.opened import Doors


@click.command(cls=MemrepoCommand, short_help="Serve memory to agents (Model Context Protocol).")
@click.option(
    "--http",
    "port",
    metavar="PORT",
    type=click.IntRange(0, 65_535),
    help="Serve HTTP on 127.0.0.1 instead of standard input and output; 0 finds a free port.",
)
@click.option(
    "--trust-session",
    "trusts_sessions",
    is_flag=True,
    help="Take a session of which nothing is known for one that has read nothing untrusted.",
)
@click.option(
    "--workspace",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project of the sessions (default: the current folder; with --http none).",
)
@click.pass_obj
def mcp(invocation: Invocation, *, port: int | None, trusts_sessions: bool, workspace: Path | None) -> None:
    """Serve memory to agents (Model Context Protocol). A host starts it; by hand, it waits for a client.

    \b
    memrepo mcp
    memrepo mcp --http 8765
    """
    from memrepo.surfaces.mcp.stdio import serve_stdio, take_stdout

    descriptor = take_stdout() if port is None else -1  # before anything that could print
    gc.disable()  # the SDK makes a hundred thousand objects that stay: a tenth of the start would be looking at them
    from memrepo.surfaces.mcp.calls import Standing
    from memrepo.surfaces.mcp.server import MemoryServer

    gc.freeze()
    gc.enable()

    folder = workspace if workspace is not None or port is not None else _find_current_folder()
    task_id = f"mcp-{secrets.token_hex(6)}" if port is None else None  # over HTTP many sessions share the server
    standing = Standing(trusts_sessions, None if folder is None else folder.absolute(), task_id)
    server = MemoryServer(_make_doors(invocation), standing)
    if port is None:
        serve_stdio(server, descriptor)
        return
    from memrepo.profiles import check_profile, find_profile_folder
    from memrepo.surfaces.mcp.http import serve_http

    serve_http(server, port, find_profile_folder(invocation.locations, check_profile(invocation.options.profile)))


def _find_current_folder() -> Path | None:
    from memrepo.errors import InvalidInput
    from memrepo.surfaces.environment import find_current_folder

    try:
        return find_current_folder()
    except InvalidInput:  # it was removed; the server can do without
        return None


def _make_doors(invocation: Invocation) -> Doors:
    from memrepo.surfaces.cli.report import write_report
    from memrepo.surfaces.opened import Doors

    def open_repo(read_only: bool) -> MemoryRepo:  # noqa: FBT001
        from memrepo.app import MemoryRepo
        from memrepo.model import Origin

        path = invocation.options.path
        return MemoryRepo.open(
            locations=invocation.locations,
            home=invocation.environment.home,
            profile=invocation.options.profile,
            path=None if path is None else invocation.find_path(path),
            read_only=read_only,
            create=False,
            may_be_missing=True,
            origin=Origin.AGENT_TOOL,
        )

    return Doors(open_repo, lambda: invocation.settings_file, lambda error: write_report(error, invocation))
