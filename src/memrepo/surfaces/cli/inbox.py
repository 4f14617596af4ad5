"""`memrepo inbox`: what agents wrote after untrusted content, and what was imported, for the user to decide about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING

import click

from memrepo.errors import InvalidInput
from memrepo.model import INBOX_FILE, EntryFilter, Kind
from memrepo.surfaces.cli.options import KINDS, USER, count, decode_words, quote, yes_option
from memrepo.surfaces.cli.selection import describe_entry, find_selected, format_entries, name_entries
from memrepo.surfaces.cli.table import MemrepoGroup
from memrepo.surfaces.present import describe_result, format_result, get_exit_status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from memrepo.app import MemoryRepo
    from memrepo.model import WriteResult
    from memrepo.reading import LocatedEntry
    from memrepo.surfaces.cli.invocation import Invocation


_NOTHING = "no entry of the inbox fulfils that; nothing was changed"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which entries of the inbox a command means: those of its refs, or all that fulfil its conditions."""

    refs: tuple[str, ...]
    wanted: EntryFilter
    is_confirmed: bool


def _selecting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the ways to say which entries are meant, and hands them on as one `Selection`."""

    @click.pass_obj
    @wraps(function)
    def select(
        invocation: Invocation,
        *,
        refs: tuple[str, ...],
        is_all: bool,
        contains: str | None,
        task: str | None,
        source: str | None,
        kind: str | None,
        is_confirmed: bool,
    ) -> Any:
        has_conditions = any(value is not None for value in (contains, task, source, kind))
        if refs and (has_conditions or is_all):
            raise click.UsageError("name entries or give conditions, not both")
        if not refs and not has_conditions and not is_all:
            raise click.UsageError("name an entry (REF), or say --all or --contains TEXT")
        wanted = EntryFilter(
            contains=contains, task=task, source=source, kind=Kind(kind) if kind else None, path=INBOX_FILE
        )
        return function(invocation, Selection(refs, wanted, is_confirmed))

    for option in (
        yes_option,
        click.option("--kind", type=KINDS, help="Every entry of this kind."),
        click.option("--source", callback=decode_words, metavar="S", help="Every entry of this source: import."),
        click.option("--task", metavar="ID", help="Every entry that was written in this task."),
        click.option(
            "--contains",
            callback=decode_words,
            metavar="TEXT",
            help="Every entry that holds this text, whatever its case.",
        ),
        click.option("--all", "is_all", is_flag=True, help="The whole inbox."),
        click.argument("refs", nargs=-1, metavar="[REF]..."),
    ):
        select = option(select)
    return select


@click.group(
    cls=MemrepoGroup, invoke_without_command=True, short_help="Review what agents wrote and you have not seen."
)
@click.pass_context
def inbox(context: click.Context) -> None:
    """Review what agents wrote after reading untrusted content, and what was imported. No agent is shown the inbox.

    Without a command it lists the inbox.

    \b
    memrepo inbox
    memrepo inbox keep repo:inbox.md#L3
    memrepo inbox discard --all
    """
    if context.invoked_subcommand is None:
        _list(context.obj)


@inbox.command("list")
@click.pass_obj
def list_inbox(invocation: Invocation) -> None:
    """List the inbox.

    \b
    memrepo inbox list
    """
    _list(invocation)


@inbox.command()
@_selecting
def keep(invocation: Invocation, selection: Selection) -> int:
    """Keep entries of the inbox: each moves to the file of its kind and becomes your word. All in one commit.

    \b
    memrepo inbox keep repo:inbox.md#L3 repo:inbox.md#L4
    memrepo inbox keep --kind insight
    """
    repo = invocation.open()
    found = _decide(invocation, repo, selection, "keep")
    return _tell_results(
        invocation, found, repo.service.keep_many(name_entries(found), USER, workspaces=repo.workspaces)
    )


@inbox.command()
@_selecting
def pin(invocation: Invocation, selection: Selection) -> int:
    """Pin entries of the inbox: each moves to MEMORY.md, which every session reads. All in one commit.

    \b
    memrepo inbox pin repo:inbox.md#L3
    memrepo inbox pin --contains "answer in English"
    """
    repo = invocation.open()
    found = _decide(invocation, repo, selection, "pin")
    return _tell_results(invocation, found, repo.service.pin_many(name_entries(found), USER))


@inbox.command()
@_selecting
def discard(invocation: Invocation, selection: Selection) -> None:
    """Remove entries of the inbox. All in one commit.

    \b
    memrepo inbox discard repo:inbox.md#L3
    memrepo inbox discard --source import
    """
    repo = invocation.open()
    found = _decide(invocation, repo, selection, "discard")
    repo.service.forget_many(name_entries(found), USER)
    words = f"discarded {count(len(found), 'entry', 'entries')}" if found else _NOTHING
    invocation.output.emit({"removed": [describe_entry(located) for located in found], "count": len(found)}, words)


def _list(invocation: Invocation) -> None:
    repo = invocation.open(read_only=True)
    found = list(repo.iter_entries([INBOX_FILE]))
    document = {"path": str(INBOX_FILE), "entries": [describe_entry(located) for located in found]}
    invocation.output.emit(document, format_entries(invocation, found) if found else "the inbox is empty")
    if found:
        invocation.output.tell("to decide: memrepo inbox keep REF, or memrepo inbox discard REF")


def _decide(invocation: Invocation, repo: MemoryRepo, selection: Selection, verb: str) -> list[LocatedEntry]:
    """The entries that are meant; the user has said yes when they were not named one by one."""
    found = _select(repo, selection.refs, selection.wanted)
    if found and not selection.refs:
        _ask(invocation, found, verb, is_confirmed=selection.is_confirmed)
    return found


def _select(repo: MemoryRepo, refs: tuple[str, ...], wanted: EntryFilter) -> list[LocatedEntry]:
    if not refs:
        return list(repo.iter_matching(wanted))
    found = find_selected(repo, refs)
    for located in found:
        if located.ref.path != INBOX_FILE:
            raise InvalidInput(
                f"{located.ref} is not in the inbox",
                hint=f"to remove it: memrepo forget {located.ref}",
                value=str(located.ref),
            )
    return sorted(found, key=lambda located: located.ref.line)


def _ask(invocation: Invocation, found: list[LocatedEntry], verb: str, *, is_confirmed: bool) -> None:
    if not is_confirmed:
        for line in format_entries(invocation, found):
            invocation.output.tell(line)
    number = count(len(found), "entry", "entries")
    invocation.confirm(f"{verb} {number}?", action=f"to {verb} {number}", is_confirmed=is_confirmed)


def _tell_results(invocation: Invocation, found: list[LocatedEntry], results: Sequence[WriteResult]) -> int:
    lines = []
    for located, result in zip(found, results, strict=True):
        first, *rest = format_result(result).split("\n")
        lines += [f"{first}: {quote(located.entry.text)}", *rest]
    invocation.output.emit({"results": [describe_result(result) for result in results]}, lines or _NOTHING)
    return get_exit_status(results)
