"""`memrepo hook`: what agent hosts run. It stands here for `--help`; the program runs hooks before it loads this."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.table import MemrepoCommand

if TYPE_CHECKING:
    from memrepo.surfaces.cli.invocation import Invocation


@click.command(cls=MemrepoCommand, short_help="Answer an event of an agent host (installed by memrepo install).")
@click.argument("host", metavar="HOST")
@click.argument("event", metavar="EVENT")
@click.pass_obj
def hook(invocation: Invocation, *, host: str, event: str) -> None:
    """Answer an event of an agent host. The host runs it, with its own JSON on standard input.

    HOST: claude-code, codex, gemini, cursor, opencode, vscode.

    EVENT: session-start, prompt, before-tool, after-tool, sub-agent-start, sub-agent-stop, session-end.

    \b
    memrepo hook claude-code session-start < event.json
    """
    from memrepo.surfaces.hooks.arguments import HookArguments
    from memrepo.surfaces.hooks.entry import run

    options = invocation.options
    run(HookArguments(host, event, options.path, options.profile))
