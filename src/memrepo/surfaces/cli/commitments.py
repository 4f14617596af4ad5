"""`memrepo commitments`: what was promised, by its day, and what has been met."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import USER, quote
from memrepo.surfaces.cli.stored import describe_stored, parse_number_or_ref
from memrepo.surfaces.cli.table import MemrepoCommand

if TYPE_CHECKING:
    from memrepo.private import StoredFact
    from memrepo.surfaces.cli.invocation import Invocation


@click.command(cls=MemrepoCommand, short_help="List what was promised, by its day.")
@click.option("--all", "with_done", is_flag=True, help="Those that were met too.")
@click.option("--done", metavar="REF", help="Say that a commitment was met: memory:3, or 3.")
@click.pass_obj
def commitments(invocation: Invocation, *, with_done: bool, done: str | None) -> None:
    """List open commitments, overdue ones first. They stand in the private store, never in the folder.

    \b
    memrepo commitments
    memrepo commitments --done memory:3
    """
    if done is not None and with_done:
        raise click.UsageError("--done and --all do not go together")
    repo = invocation.open(read_only=True, may_be_missing=True)
    if done is not None:
        fact = repo.private.finish(parse_number_or_ref(done), USER)
        invocation.output.emit({"done": describe_stored(fact)}, f"done: {quote(fact.text)}")
        return
    found = repo.private.list_commitments(USER, with_done=with_done)
    rows = [(str(fact.ref), _tell_day(fact), fact.text) for fact in found]
    document = {"commitments": [describe_stored(fact) for fact in found]}
    invocation.output.emit(document, invocation.output.format_rows(rows))
    if not found:
        invocation.output.tell("memrepo: note: no commitment is open")


def _tell_day(fact: StoredFact) -> str:
    if fact.done is not None:
        return f"done {fact.done}"
    if fact.due is None:
        return "no day"
    return f"overdue {fact.due}" if fact.is_overdue else f"due {fact.due}"
