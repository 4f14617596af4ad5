"""`memrepo forget` and `memrepo purge-task`: removing entries by ref, by text, by conditions or by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.errors import NotFound
from memrepo.format.entries import content_hash
from memrepo.format.refs import is_stored_ref
from memrepo.model import SWARMS_FOLDER, Author, EntryFilter, Kind
from memrepo.surfaces.cli.options import (
    AUTHORS,
    KINDS,
    USER,
    check_hash,
    count,
    decode_words,
    hash_option,
    parse_day,
    quote,
    yes_option,
)
from memrepo.surfaces.cli.selection import (
    describe_entry,
    find_located,
    find_selected,
    format_entries,
    is_ref,
    name_entries,
    parse_file,
    parse_own_ref,
)
from memrepo.surfaces.cli.stored import forget_facts, forget_stored
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import format_result

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable

    from memrepo.app import MemoryRepo
    from memrepo.model import Ref
    from memrepo.private import StoredFact
    from memrepo.reading import LocatedEntry
    from memrepo.surfaces.cli.invocation import Invocation

_STILL_IN_HISTORY = "the history keeps the text until: memrepo compact"


@click.command(cls=MemrepoCommand, short_help="Remove entries from memory.")
@click.argument("entries", callback=decode_words, nargs=-1, metavar="[REF|TEXT]...")
@hash_option
@click.option(
    "--contains", callback=decode_words, metavar="TEXT", help="Every entry that holds this text, whatever its case."
)
@click.option("--by", type=AUTHORS, help="Every entry that the user, or an agent, said.")
@click.option("--kind", type=KINDS, help="Every entry of this kind.")
@click.option("--subject", callback=decode_words, metavar="S", help="Every entry of this subject.")
@click.option("--task", metavar="ID", help="Every entry that was written in this task.")
@click.option("--in", "file", metavar="FILE", help="Only entries of this file.")
@click.option("--before", metavar="DATE", callback=parse_day, help="Only entries added before this day.")
@yes_option
@click.pass_obj
def forget(
    invocation: Invocation,
    *,
    entries: tuple[str, ...],
    expected_hash: str | None,
    contains: str | None,
    by: str | None,
    kind: str | None,
    subject: str | None,
    task: str | None,
    file: str | None,
    before: dt.date | None,
    is_confirmed: bool,
) -> None:
    """Remove entries: those named by REF, the one that says TEXT, or all that fulfil every condition given.

    A private fact is named by its ref too (memory:3, archive:5), or by its text.

    \b
    memrepo forget repo:me.md#L4
    memrepo forget "Prefers tabs over spaces"
    memrepo forget --by agent --before 2026-01-01

    The removal is a commit; the history keeps the text until it is compacted.
    """
    conditions = (contains, by, kind, subject, task, file, before)
    if entries and any(value is not None for value in conditions):
        raise click.UsageError("name entries or give conditions, not both")
    if not entries and all(value is None for value in conditions):
        raise click.UsageError("name an entry (REF or TEXT), or give a condition such as --contains TEXT")
    if expected_hash is not None and (len(entries) != 1 or not is_ref(entries[0])):
        raise click.UsageError("--hash goes with exactly one REF")
    if any(map(is_stored_ref, entries)):
        stored = invocation.open(read_only=True, may_be_missing=True)
        forget_stored(invocation, stored, entries, is_confirmed=is_confirmed)
        return
    repo = invocation.open()
    if entries:
        _forget_named(invocation, repo, entries, expected_hash, is_confirmed=is_confirmed)
        return
    wanted = EntryFilter(
        contains=contains,
        by=Author(by) if by else None,
        kind=Kind(kind) if kind else None,
        subject=subject,
        task=task,
        path=parse_file(repo, file) if file else None,
        added_before=before,
    )
    forget_where(invocation, repo, wanted, is_confirmed=is_confirmed)


@click.command("purge-task", cls=MemrepoCommand, short_help="Remove what an agent wrote in one task.")
@click.argument("task_id", metavar="TASK")
@yes_option
@click.pass_obj
def purge_task(invocation: Invocation, *, task_id: str, is_confirmed: bool) -> None:
    """Remove every line that an agent wrote in TASK, and the swarm that it is the root of. What you said in it stays.

    \b
    memrepo purge-task 4f2a
    """
    repo = invocation.open()
    folders = tuple(f"{SWARMS_FOLDER}/{one.slug}/" for one in repo.swarms.list_of_task(task_id))
    wanted = EntryFilter(by=Author.AGENT, task=task_id)
    preview = [one for one in repo.iter_matching(wanted) if not one.ref.path.startswith(folders)]
    preview += repo.iter_entries([path for path in repo.list_files() if path.startswith(folders)] if folders else [])
    _forget_previewed(invocation, preview, lambda: repo.service.purge_task(task_id, USER), is_confirmed=is_confirmed)


def forget_where(invocation: Invocation, repo: MemoryRepo, wanted: EntryFilter, *, is_confirmed: bool) -> None:
    """Shows what the filter means, asks, and removes it in one commit."""
    preview = list(repo.iter_matching(wanted))
    _forget_previewed(invocation, preview, lambda: repo.service.forget_where(wanted, USER), is_confirmed=is_confirmed)


def _forget_previewed(
    invocation: Invocation, preview: list[LocatedEntry], act: Callable[[], Iterable[Ref]], *, is_confirmed: bool
) -> None:
    if not preview:
        invocation.output.emit({"removed": [], "count": 0}, "no entry fulfils that; nothing was changed")
        return
    _ask(invocation, preview, is_confirmed=is_confirmed)
    gone = tuple(act())
    known = {located.ref: located for located in preview}
    removed = [describe_entry(known[ref]) if ref in known else {"ref": str(ref)} for ref in gone]
    invocation.output.emit({"removed": removed, "count": len(gone)}, f"forgot {count(len(gone), 'entry', 'entries')}")
    invocation.output.tell(_STILL_IN_HISTORY)


def _forget_named(
    invocation: Invocation,
    repo: MemoryRepo,
    arguments: tuple[str, ...],
    expected_hash: str | None,
    *,
    is_confirmed: bool,
) -> None:
    if expected_hash is not None:
        found = [find_located(repo, parse_own_ref(arguments[0]), check_hash(expected_hash))]
    else:
        try:
            found = find_selected(repo, arguments)
        except NotFound:
            if private := _find_private(repo, arguments):
                forget_facts(invocation, repo, private, is_confirmed=is_confirmed)
                return
            raise
    if len(found) > 1:
        _ask(invocation, found, is_confirmed=is_confirmed)
    results = repo.service.forget_many(name_entries(found), USER)
    lines: list[str] = []
    for located, result in zip(found, results, strict=True):
        first, *rest = format_result(result).split("\n")
        lines += [f"{first}: {quote(located.entry.text)}", *rest]
    removed = [describe_entry(located) for located in found]
    invocation.output.emit({"removed": removed, "count": len(removed)}, lines)
    invocation.output.tell(_STILL_IN_HISTORY)


def _find_private(repo: MemoryRepo, arguments: tuple[str, ...]) -> list[StoredFact]:
    """The private facts that say what the one argument says."""
    if len(arguments) != 1 or is_ref(arguments[0]):
        return []
    wanted = content_hash(arguments[0])
    return [fact for fact in repo.private.list(USER) if fact.hash == wanted]


def _ask(invocation: Invocation, found: list[LocatedEntry], *, is_confirmed: bool) -> None:
    if not is_confirmed:
        for line in format_entries(invocation, found):
            invocation.output.tell(line)
    number = count(len(found), "entry", "entries")
    invocation.confirm(f"forget {number}?", action=f"forgetting {number}", is_confirmed=is_confirmed)
