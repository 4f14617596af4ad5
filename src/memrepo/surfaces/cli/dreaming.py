"""`memrepo dream`: one pass over memory that proposes changes, and what the user decides about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.errors import NotFound
from memrepo.surfaces.cli.changes import paint_diff
from memrepo.surfaces.cli.options import USER, count, quote
from memrepo.surfaces.cli.table import MemrepoGroup
from memrepo.surfaces.environment import find_variable
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.dream.operations import Change
    from memrepo.dream.records import Record
    from memrepo.surfaces.cli.invocation import Invocation

_ID = click.argument("dream_id", metavar="[ID]", required=False)
_ONLY = click.option("--only", "numbers", type=click.IntRange(min=1), multiple=True, metavar="N", help="Only change N.")


@click.group(
    cls=MemrepoGroup,
    invoke_without_command=True,
    short_help="Tidy memory, with a language model or without, and review what it proposes.",
)
@click.pass_context
def dream(context: click.Context) -> None:
    """Tidy memory, with a language model or without, and review what it proposes. docs/dreaming.md tells how.

    What touches only agents' lines is done at once and can be undone; the rest waits for you. Without a command it
    shows where dreaming stands. ID is a dream's, by default of the newest with something to decide.

    \b
    memrepo dream now
    memrepo dream diff
    memrepo dream accept
    """
    if context.invoked_subcommand is None:
        _status(context.obj)


@dream.command()
@click.option("--if-due", is_flag=True, help="Only when dreaming is on, 20 hours have passed and something is new.")
@click.option("--tidy", "is_tidy", is_flag=True, help="By rules alone, without the model of the settings.")
@click.pass_obj
def now(invocation: Invocation, *, if_due: bool, is_tidy: bool) -> None:
    """Dream once. Without a model in the settings it tidies by rules: duplicates, rival values, dead links.

    \b
    memrepo dream now
    memrepo dream now --tidy
    memrepo dream now --if-due
    """
    repo = invocation.open()
    model = None if is_tidy else repo.make_dream_model(find_variable)
    outcome = repo.dreams.run(model, if_due=if_due)
    record = outcome.record
    document = {
        "dream": None if record is None else describe_record(record),
        "not_due": outcome.gate.code or None,
        "reason": outcome.gate.reason,
        "waiting_sessions": outcome.waiting_sessions,
    }
    lines = [f"not now: {outcome.gate.reason}"] if record is None else _format_record(record)
    invocation.output.emit(document, lines)
    if outcome.waiting_sessions:
        invocation.output.tell(f"{count(outcome.waiting_sessions, 'session')} still running; read the next time")
    if record is not None and record.waiting:
        invocation.output.tell(f"to decide: memrepo dream diff {record.id}, then accept or reject")


@dream.command("list")
@click.pass_obj
def list_dreams(invocation: Invocation) -> None:
    """List dreams, the newest first.

    \b
    memrepo dream list
    """
    records = invocation.open(read_only=True).dreams.list_all()
    rows = [
        (one.id, f"{one.at:%Y-%m-%d %H:%M}", one.status, escape_control(one.model), _summarize(one)) for one in records
    ]
    words = invocation.output.format_rows(rows) if rows else "nothing was dreamt yet"
    invocation.output.emit({"dreams": [describe_record(one) for one in records]}, words)


@dream.command()
@_ID
@click.pass_obj
def show(invocation: Invocation, dream_id: str | None) -> None:
    """Show the changes of a dream, and what became of each.

    \b
    memrepo dream show
    """
    record = _find(invocation.open(read_only=True), dream_id)
    invocation.output.emit({"dream": describe_record(record)}, _format_record(record))


@dream.command()
@_ID
@click.pass_obj
def diff(invocation: Invocation, dream_id: str | None) -> None:
    """Show what waits as a diff; what was changed when nothing waits.

    \b
    memrepo dream diff
    """
    repo = invocation.open(read_only=True)
    record = _find(repo, dream_id)
    text = repo.dreams.reviews.diff(record.id).decode("utf-8", "surrogateescape")
    invocation.output.emit({"id": record.id, "diff": text}, paint_diff(invocation, text))


@dream.command()
@_ID
@_ONLY
@click.pass_obj
def accept(invocation: Invocation, dream_id: str | None, *, numbers: tuple[int, ...]) -> None:
    """Take over what waits, or single changes of it. What was built on lines that changed since is not taken.

    \b
    memrepo dream accept
    memrepo dream accept --only 2 --only 3
    """
    repo = invocation.open()
    record = repo.dreams.reviews.accept(_find(repo, dream_id).id, USER, numbers=numbers)
    _tell(invocation, record)


@dream.command()
@_ID
@_ONLY
@click.pass_obj
def reject(invocation: Invocation, dream_id: str | None, *, numbers: tuple[int, ...]) -> None:
    """Give up what waits, or single changes of it. No file changes.

    \b
    memrepo dream reject --only 1
    memrepo dream reject
    """
    repo = invocation.open()
    record = repo.dreams.reviews.reject(_find(repo, dream_id).id, USER, numbers=numbers)
    _tell(invocation, record)


@dream.command()
@click.argument("dream_id", metavar="ID")
@click.pass_obj
def undo(invocation: Invocation, dream_id: str) -> None:
    """Take back all that a dream changed, each of its commits by a new one.

    \b
    memrepo dream undo 2026-10-05
    """
    record = invocation.open().dreams.reviews.undo(dream_id, USER)
    words = f"undid {count(len(record.undone), 'commit')} of dream {record.id}"
    invocation.output.emit({"dream": describe_record(record)}, words)


@dream.command()
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Show where dreaming stands: whether it is on, when the next one is due, what it has spent.

    \b
    memrepo dream status
    """
    _status(invocation)


def describe_record(record: Record) -> dict[str, object]:
    """The JSON form of a dream."""
    return {
        "id": record.id,
        "at": record.at.isoformat(),
        "status": record.status,
        "model": record.model,
        "input_tokens": record.input_tokens,
        "output_tokens": record.output_tokens,
        "sessions": record.sessions,
        "changes": [_describe_change(change) for change in record.changes],
        "dropped": list(record.dropped),
        "commits": list(record.commits),
        "undone": list(record.undone),
        "failure": record.failure,
    }


def _describe_change(change: Change) -> dict[str, object]:
    return {
        "number": change.number,
        "op": str(change.op),
        "lines": [f"repo:{line.path}#L{line.line}" for line in change.lines],
        "file": change.file,
        "text": change.text,
        "reason": change.reason,
        "mode": change.mode,
        "why": change.why,
        "state": change.state,
    }


def _find(repo: MemoryRepo, dream_id: str | None) -> Record:
    """The dream that is meant. Errors: NotFound."""
    records = repo.dreams.list_all()
    if dream_id is None:
        found = next((one for one in records if one.waiting), records[0] if records else None)
    else:
        found = next((one for one in records if one.id == dream_id), None)
    if found is None:
        raise NotFound(
            "nothing was dreamt yet" if dream_id is None else f"there is no dream {dream_id!r}",
            hint="memrepo dream now" if dream_id is None else "memrepo dream list",
            what="dream",
            name=dream_id or "",
        )
    return found


def _tell(invocation: Invocation, record: Record) -> None:
    invocation.output.emit({"dream": describe_record(record)}, _format_record(record))


def _status(invocation: Invocation) -> None:
    repo = invocation.open(read_only=True)
    stands = repo.dreams.status()
    last = stands.last
    document = {
        "on": stands.is_on,
        "model": repo.settings.dream_model,
        "last": None if last is None else last.id,
        "waiting": stands.waiting,
        "spent_tokens": stands.spent_tokens,
        "tokens_per_day": stands.tokens_per_day,
        "not_due": stands.gate.code or None,
        "reason": stands.gate.reason,
    }
    when = "never" if last is None else f"{last.id} ({_summarize(last)})"
    lines = [
        f"dreaming: {'on' if stands.is_on else 'off'}, by {escape_control(repo.settings.dream_model or 'rules alone')}",
        f"last: {when}",
        f"waiting for you: {count(stands.waiting, 'change')}",
        f"tokens of the last 24 hours: {stands.spent_tokens:,} of {stands.tokens_per_day:,}",
        f"next: {stands.gate.reason or 'due as soon as something is new'}",
    ]
    invocation.output.emit(document, lines)


def _summarize(record: Record) -> str:
    if record.status == "failed":
        return f"failed: {escape_control(record.failure)}"
    states = [change.state for change in record.changes]
    told = [f"{states.count(state)} {name}" for state, name in _STATES.items() if state in states]
    return ("undone, " if record.undone else "") + (", ".join(told) or "nothing to change")


_STATES = {"applied": "applied", "open": "waiting", "rejected": "rejected", "stale": "stale", "dropped": "dropped"}


def _format_record(record: Record) -> list[str]:
    tokens = record.input_tokens + record.output_tokens
    cost = f", {count(record.sessions, 'session')}, {tokens:,} tokens" if tokens else ""
    lines = [f"dream {record.id} by {escape_control(record.model)}{cost}: {_summarize(record)}"]
    lines += [_format_change(change) for change in record.changes]
    return [*lines, *(f"   - {escape_control(reason)}" for reason in record.dropped)]


def _format_change(change: Change) -> str:
    where = " ".join(f"{line.path}#L{line.line}" for line in change.lines)
    what = " ".join(part for part in (where, f"-> {change.file}" if change.file else "") if part)
    old = change.lines[0].text if change.lines else ""
    said = quote(change.text or old) if change.text or old else ""
    why = change.why or change.reason
    state = _STATES[change.state]
    return f"{change.number:>4} {state:<8} {change.op:<8} {escape_control(what)} {said}" + (
        f"  ({escape_control(why)})" if why else ""
    )
