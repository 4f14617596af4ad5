"""`memrepo inbox`: what agents wrote from sessions that had read untrusted content, for the user to keep or discard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.errors import InvalidInput
from memrepo.model import INBOX_FILE, EntryFilter, Kind
from memrepo.surfaces.cli.options import KINDS, USER, count, decode_words, quote, yes_option
from memrepo.surfaces.cli.selection import apply_to_each, describe_entry, find_selected, format_entries
from memrepo.surfaces.cli.table import MemrepoGroup
from memrepo.surfaces.present import describe_result, format_result, get_exit_status

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from memrepo.app import MemoryRepo
    from memrepo.model import WriteResult
    from memrepo.reading import LocatedEntry
    from memrepo.surfaces.cli.invocation import Invocation


_NOTHING = "no entry of the inbox fulfils that; nothing was changed"


def _selection(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the ways to say which entries of the inbox are meant."""
    for option in (
        yes_option,
        click.option("--kind", type=KINDS, help="Every entry of this kind."),
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
        function = option(function)
    return function


@click.group(
    cls=MemrepoGroup, invoke_without_command=True, short_help="Review what agents wrote and you have not seen."
)
@click.pass_context
def inbox(context: click.Context) -> None:
    """Review what agents wrote from sessions that had read untrusted content. No agent is shown the inbox.

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
@_selection
@click.pass_obj
def keep(
    invocation: Invocation,
    *,
    refs: tuple[str, ...],
    is_all: bool,
    contains: str | None,
    task: str | None,
    kind: str | None,
    is_confirmed: bool,
) -> int:
    """Keep entries of the inbox: each moves to the file of its kind and becomes your word.

    \b
    memrepo inbox keep repo:inbox.md#L3 repo:inbox.md#L4
    memrepo inbox keep --kind insight
    """
    wanted = _check_selection(refs, contains=contains, task=task, kind=kind, is_all=is_all)
    repo = invocation.open()
    found = _select(repo, refs, wanted)
    if found and not refs:
        _ask(invocation, found, "keep", is_confirmed=is_confirmed)
    results = apply_to_each(
        invocation,
        found,
        lambda ref, text_hash: repo.service.keep(ref, USER, expect_hash=text_hash, workspaces=repo.workspaces),
    )
    _tell_results(invocation, found, results)
    return get_exit_status(results)


@inbox.command()
@_selection
@click.pass_obj
def discard(
    invocation: Invocation,
    *,
    refs: tuple[str, ...],
    is_all: bool,
    contains: str | None,
    task: str | None,
    kind: str | None,
    is_confirmed: bool,
) -> None:
    """Remove entries of the inbox.

    \b
    memrepo inbox discard repo:inbox.md#L3
    memrepo inbox discard --task 4f2a
    """
    wanted = _check_selection(refs, contains=contains, task=task, kind=kind, is_all=is_all)
    repo = invocation.open()
    found = _select(repo, refs, wanted)
    if found and refs:
        apply_to_each(invocation, found, lambda ref, text_hash: repo.service.forget(ref, USER, expect_hash=text_hash))
    elif found:
        _ask(invocation, found, "discard", is_confirmed=is_confirmed)
        repo.service.forget_where(wanted, USER)
    words = f"discarded {count(len(found), 'entry', 'entries')}" if found else _NOTHING
    invocation.output.emit({"removed": [describe_entry(located) for located in found], "count": len(found)}, words)


def _list(invocation: Invocation) -> None:
    repo = invocation.open(read_only=True)
    found = list(repo.iter_entries([INBOX_FILE]))
    document = {"path": str(INBOX_FILE), "entries": [describe_entry(located) for located in found]}
    invocation.output.emit(document, format_entries(invocation, found) if found else "the inbox is empty")
    if found:
        invocation.output.tell("to decide: memrepo inbox keep REF, or memrepo inbox discard REF")


def _check_selection(
    refs: tuple[str, ...], *, contains: str | None, task: str | None, kind: str | None, is_all: bool
) -> EntryFilter:
    has_conditions = any(value is not None for value in (contains, task, kind))
    if refs and (has_conditions or is_all):
        raise click.UsageError("name entries or give conditions, not both")
    if not refs and not has_conditions and not is_all:
        raise click.UsageError("name an entry (REF), or say --all or --contains TEXT")
    return EntryFilter(contains=contains, task=task, kind=Kind(kind) if kind else None, path=INBOX_FILE)


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


def _tell_results(invocation: Invocation, found: list[LocatedEntry], results: list[WriteResult]) -> None:
    lines = []
    for located, result in zip(found, results, strict=True):
        first, *rest = format_result(result).split("\n")
        lines += [f"{first}: {quote(located.entry.text)}", *rest]
    invocation.output.emit({"results": [describe_result(result) for result in results]}, lines or _NOTHING)
