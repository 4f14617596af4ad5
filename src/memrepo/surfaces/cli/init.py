"""`memrepo init`: the memory folder comes into being, or one that is there is taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from memrepo.surfaces.cli.invocation import Invocation


@click.command(cls=MemrepoCommand, short_help="Make the memory folder, or take over one that is there.")
@click.option("--from", "source", metavar="EXPORT", help="Make it from what `memrepo export --to` wrote.")
@click.pass_obj
def init(invocation: Invocation, *, source: str | None) -> None:
    """Make the memory folder with its first files and its history. One that is there is taken over unchanged.

    With --from, an export comes back whole: files, history, private facts, settings when there are none. Nothing is
    added to a memory that is there.

    \b
    memrepo init
    memrepo init --path ~/notes/memory
    memrepo init --from memory.zip
    """
    if source is not None:
        from memrepo.surfaces.cli.moving import bring_back

        bring_back(invocation, invocation.find_path(source))
        return
    repo = invocation.open(create=True)
    done = "made" if repo.was_created else "already a memory repo:"
    words = [f"{done} {escape_control(str(repo.root))}"]
    invocation.warn_without_history(repo)
    document = {"root": str(repo.root), "created": repo.was_created, "git": repo.has_git}
    invocation.output.emit(document, words)
    if invocation.options.path is not None:
        invocation.output.tell(f"to use it from now on: memrepo settings set path {escape_control(str(repo.root))!r}")
