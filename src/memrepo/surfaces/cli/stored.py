"""Facts of the private store on the command line: how they are named, listed, shown and forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.errors import MemrepoError
from memrepo.format.refs import is_stored_ref, parse_stored_ref
from memrepo.model import Shelf
from memrepo.surfaces.cli.options import USER, count, quote
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.app import MemoryRepo
    from memrepo.model import StoredRef
    from memrepo.private import StoredFact
    from memrepo.surfaces.cli.invocation import Invocation

_STAYS_GONE = "only you bring it back, by saying it anew"


def parse_number_or_ref(argument: str) -> StoredRef:
    """The private fact that `memory:3` or `3` names. Errors: InvalidInput."""
    return parse_stored_ref(f"{Shelf.MEMORY}:{argument}" if argument.isascii() and argument.isdigit() else argument)


def list_stored(invocation: Invocation, repo: MemoryRepo, shelf: Shelf) -> None:
    """Lists private facts, or the archive."""
    found = repo.private.list(USER, shelf=shelf)
    document = {"facts": [describe_stored(fact) for fact in found]}
    invocation.output.emit(document, _format_facts(invocation, found))


def show_stored(invocation: Invocation, repo: MemoryRepo, name: str) -> None:
    """Shows everything about one private fact or record."""
    fact = repo.private.get(parse_stored_ref(name), USER)
    described = describe_stored(fact)
    rows = [(key, value) for key, value in described.items() if key != "text" and value not in (None, "", False)]
    lines = [escape_control(fact.text), "", *(escape_control(f"{key}: {value}") for key, value in rows)]
    invocation.output.emit(described, lines)


def forget_stored(invocation: Invocation, repo: MemoryRepo, arguments: Sequence[str], *, is_confirmed: bool) -> None:
    """Forgets the private facts and records that refs name."""
    if not all(map(is_stored_ref, arguments)):
        raise click.UsageError("name entries of the folder and private facts in two calls")
    refs = dict.fromkeys(map(parse_stored_ref, arguments))
    forget_facts(invocation, repo, [repo.private.get(ref, USER) for ref in refs], is_confirmed=is_confirmed)


def forget_facts(invocation: Invocation, repo: MemoryRepo, found: Sequence[StoredFact], *, is_confirmed: bool) -> None:
    """Asks when there are many, and forgets private facts."""
    if len(found) > 1:
        if not is_confirmed:
            for line in _format_facts(invocation, found):
                invocation.output.tell(line)
        number = count(len(found), "private fact")
        invocation.confirm(f"forget {number}?", action=f"forgetting {number}", is_confirmed=is_confirmed)
    for at, fact in enumerate(found):
        try:
            repo.private.forget(fact.ref, USER)
        except MemrepoError:
            if at:
                invocation.output.tell(f"note: {at} of {len(found)} were done before this error")
            raise
    removed = [describe_stored(fact) for fact in found]
    lines = [f"forgot {fact.ref}: {quote(fact.text)}" for fact in found]
    invocation.output.emit({"removed": removed, "count": len(removed)}, lines)
    invocation.output.tell(_STAYS_GONE)


def describe_stored(fact: StoredFact) -> dict[str, object]:
    """The JSON form of a private fact or a record of the archive."""
    return {
        "ref": str(fact.ref),
        "hash": fact.hash,
        "by": str(fact.by),
        "text": fact.text,
        "kind": str(fact.kind),
        "scope": str(fact.scope),
        "scope_ref": fact.scope_ref,
        "privacy": fact.privacy,
        "subject": fact.subject,
        "source": fact.source,
        "task": fact.task_id,
        "added": None if fact.added is None else fact.added.isoformat(),
        "due": None if fact.due is None else fact.due.isoformat(),
        "overdue": fact.is_overdue,
        "done": None if fact.done is None else fact.done.isoformat(),
        "expires": None if fact.expires is None else fact.expires.isoformat(),
        "unreviewed": fact.unreviewed,
    }


def _format_facts(invocation: Invocation, found: Sequence[StoredFact]) -> list[str]:
    return invocation.output.format_rows([(str(fact.ref), _tell_author(fact), fact.text) for fact in found])


def _tell_author(fact: StoredFact) -> str:
    return f"{fact.by}, unreviewed" if fact.unreviewed else str(fact.by)
