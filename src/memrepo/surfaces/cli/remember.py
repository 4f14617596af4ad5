"""`memrepo remember`: one fact, or one a line from standard input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from memrepo.errors import InvalidInput
from memrepo.model import Actor, Candidate, Kind, Scope, Taint, WriteStatus
from memrepo.surfaces.cli.options import (
    AUTHORS,
    KINDS,
    SCOPES,
    TAINTS,
    USER,
    count,
    decode_words,
    parse_day,
    read_stdin,
    split_lines,
)
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import describe_result, format_result, get_exit_status

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from memrepo.model import TaskContext, Workspace, WriteResult
    from memrepo.surfaces.cli.invocation import Invocation


@click.command(cls=MemrepoCommand, short_help="Write a fact into memory.")
@click.argument("text", callback=decode_words, required=False)
@click.option("--kind", type=KINDS, help="What sort of fact (preference, or project_fact in a workspace).")
@click.option("--scope", type=SCOPES, help="Where it holds (global, or workspace with --workspace).")
@click.option("--workspace", metavar="DIR|ID", help="The project it belongs to: a folder, or a workspace's id.")
@click.option(
    "--subject",
    callback=decode_words,
    metavar="S",
    help="What it is the value of; a later fact of the subject replaces it.",
)
@click.option("--pin", is_flag=True, help="Put it into MEMORY.md, which every session reads.")
@click.option("--private", is_flag=True, help="Keep it in the private store, never in the folder.")
@click.option("--due", metavar="DATE", callback=parse_day, help="The day of a commitment, such as 2026-12-01.")
@click.option("--expires", metavar="DATE", callback=parse_day, help="The last day on which a private fact counts.")
@click.option("--source", callback=decode_words, metavar="URL", help="Where it comes from.")
@click.option("--each-line", is_flag=True, help="Take each line as a fact of its own; all in one commit.")
@click.option("--by", type=AUTHORS, default="user", show_default=True, help="Who says it. An agent says so honestly.")
@click.option("--task", metavar="ID", help="The agent's session; it becomes the source of the entry.")
@click.option(
    "--taint",
    type=TAINTS,
    help="With --by agent: whether its session has read untrusted content. Unless clean, the fact waits in the inbox "
    "(default: unknown).",
)
@click.pass_obj
def remember(
    invocation: Invocation,
    *,
    text: str | None,
    kind: str | None,
    scope: str | None,
    workspace: str | None,
    subject: str | None,
    pin: bool,
    private: bool,
    due: dt.date | None,
    expires: dt.date | None,
    source: str | None,
    each_line: bool,
    by: str,
    task: str | None,
    taint: str | None,
) -> int:
    """Write a fact into memory. TEXT is one line; - reads it from standard input.

    \b
    memrepo remember "Prefers tabs over spaces"
    memrepo remember "CI runs on Buildkite" --workspace .
    memrepo remember - --each-line < facts.txt
    """
    if taint is not None and by == "user":
        raise click.UsageError("--taint is about an agent's session; it goes with --by agent")
    texts = _read_texts(text, each_line=each_line)
    repo = invocation.open(may_be_missing=True)
    chosen = _choose_scope(scope, workspace)
    where: Workspace | None = None
    if workspace is not None or chosen is Scope.WORKSPACE:
        where = invocation.find_workspace(repo, workspace if workspace is not None else ".")
    repo.create()  # only now: a request that is wrong makes no folder
    candidate = Candidate(
        "",
        kind=_choose_kind(kind, chosen, has_day=due is not None),
        scope=chosen,
        subject=subject,
        pin=pin,
        source=source,
        explicit=by == "user",
        private=private,
        workspace=where,
        due=due,
        expires=expires,
    )
    context = _build_task(by, task, taint, where)
    results = repo.service.remember_many([replace(candidate, text=one) for one in texts], context)
    _tell(invocation, results, each_line=each_line)
    invocation.warn_without_history(repo)
    return get_exit_status(results)


def _read_texts(text: str | None, *, each_line: bool) -> list[str]:
    if text is None and not each_line:
        raise click.UsageError("missing argument 'TEXT'; - reads it from standard input")
    whole = read_stdin() if text is None or text == "-" else text
    if not each_line:
        return [whole.rstrip("\r\n")]
    lines = split_lines(whole)
    if not lines:
        raise InvalidInput("there is no line to remember", hint="give one fact a line on standard input", file="-")
    return lines


def _choose_scope(scope: str | None, workspace: str | None) -> Scope:
    if scope is not None:
        return Scope(scope)
    return Scope.GLOBAL if workspace is None else Scope.WORKSPACE


def _choose_kind(kind: str | None, scope: Scope, *, has_day: bool) -> Kind:
    if kind is not None:
        return Kind(kind)
    if has_day:
        return Kind.COMMITMENT
    return Kind.PROJECT_FACT if scope is Scope.WORKSPACE else Kind.PREFERENCE


def _build_task(by: str, task: str | None, taint: str | None, workspace: Workspace | None) -> TaskContext:
    context = replace(USER, task_id=task, workspace=workspace)
    if by == "user":
        return context
    return replace(context, actor=Actor.AGENT, taint=Taint(taint) if taint else Taint.UNKNOWN)


def _tell(invocation: Invocation, results: Sequence[WriteResult], *, each_line: bool) -> None:
    if not each_line:
        result = results[0]
        if get_exit_status(results):
            invocation.output.fail(describe_result(result), "memrepo: " + format_result(result))
        else:
            invocation.output.emit(describe_result(result), format_result(result))
        return
    statuses = [result.status for result in results]
    told = (WriteStatus.WRITTEN, WriteStatus.KEPT, WriteStatus.SKIPPED)
    totals = {str(status): statuses.count(status) for status in told}
    document = {**totals, "results": [describe_result(result) for result in results]}
    summary = f"{count(len(results), 'line')}: " + ", ".join(f"{number} {status}" for status, number in totals.items())
    troubles = [
        f"line {at}: {format_result(result)}" for at, result in enumerate(results, 1) if result.status != "written"
    ]
    invocation.output.emit(document, [summary, *troubles])
