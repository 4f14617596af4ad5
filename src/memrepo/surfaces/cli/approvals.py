"""`memrepo approvals`: what agents asked to forget, for the user to grant or deny."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import USER, count, quote
from memrepo.surfaces.cli.selection import describe_entry
from memrepo.surfaces.cli.table import MemrepoGroup

if TYPE_CHECKING:
    from memrepo.approvals import Request
    from memrepo.surfaces.cli.invocation import Invocation

_GONE = "(it has changed since, or is gone)"
_IDS = click.argument("ids", nargs=-1, required=True, type=click.IntRange(min=1), metavar="ID...")


@click.group(cls=MemrepoGroup, invoke_without_command=True, short_help="Answer what agents ask to forget.")
@click.pass_context
def approvals(context: click.Context) -> None:
    """Answer what agents ask to forget. An agent removes by itself only what it wrote in the same session.

    Without a command it lists the open requests; a request ends by itself after seven days.

    \b
    memrepo approvals
    memrepo approvals grant 3
    memrepo approvals deny 4
    """
    if context.invoked_subcommand is None:
        _list(context.obj)


@approvals.command("list")
@click.pass_obj
def list_open(invocation: Invocation) -> None:
    """List the open requests.

    \b
    memrepo approvals list
    """
    _list(invocation)


@approvals.command()
@_IDS
@click.pass_obj
def grant(invocation: Invocation, ids: tuple[int, ...]) -> None:
    """Forget what the requests ask for, now. The history keeps the text until it is compacted.

    \b
    memrepo approvals grant 3
    """
    repo = invocation.open()
    removed = []
    for one in dict.fromkeys(ids):
        outcome = repo.grant_request(one, USER)
        removed.append({"id": one, "ref": str(outcome.ref)})
        invocation.output.tell(f"request {one}: forgot {outcome.ref}")
    words = f"granted {count(len(removed), 'request')}"
    invocation.output.emit({"granted": removed}, words)
    invocation.output.tell("the history keeps the text until: memrepo compact")


@approvals.command()
@_IDS
@click.pass_obj
def deny(invocation: Invocation, ids: tuple[int, ...]) -> None:
    """Close the requests; the entries stay, and the session that asked is told no from then on.

    \b
    memrepo approvals deny 4
    """
    repo = invocation.open()
    denied = [repo.deny_request(one) for one in dict.fromkeys(ids)]
    words = f"denied {count(len(denied), 'request')}"
    invocation.output.emit({"denied": [{"id": request.id} for request in denied]}, words)


def _list(invocation: Invocation) -> None:
    with invocation.open(read_only=True) as repo:
        requests = repo.list_requests()
    rows = [
        (
            str(request.id),
            str(request.located.ref) if request.located else request.approval.target,
            quote(request.located.entry.text) if request.located else _GONE,
        )
        for request in requests
    ]
    document = {"requests": [_describe(request) for request in requests]}
    invocation.output.emit(document, invocation.output.format_rows(rows) if rows else "no agent waits for an answer")
    if requests:
        invocation.output.tell("to decide: memrepo approvals grant ID, or memrepo approvals deny ID")


def _describe(request: Request) -> dict[str, object]:
    """The JSON form of a request; its entry is null when it has changed since or is gone."""
    return {
        "id": request.id,
        "act": request.approval.kind,
        "task": request.approval.task_id,
        "requested_at_ms": request.approval.requested_at_ms,
        "entry": describe_entry(request.located) if request.located else None,
    }
