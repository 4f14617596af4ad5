"""Which entries a person means: by ref, by text, by conditions, or all of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput, NotFound
from memrepo.format.entries import content_hash
from memrepo.format.refs import parse_ref, require_own
from memrepo.surfaces.cli.options import quote
from memrepo.surfaces.present import name_author

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memrepo.app import MemoryRepo
    from memrepo.model import ContentHash, Ref, RepoPath
    from memrepo.reading import LocatedEntry
    from memrepo.surfaces.cli.invocation import Invocation

_LANES = ("repo:", "team:")


def is_ref(argument: str) -> bool:
    """Tells whether an argument is meant as a ref (it may still be a wrong one)."""
    return argument.lstrip().startswith(_LANES)


def parse_own_ref(argument: str) -> Ref:
    """Reads a ref to the personal repo. Errors: InvalidInput; Refused for a team's entry, which is read only."""
    return require_own(parse_ref(argument))


def parse_file(repo: MemoryRepo, argument: str) -> RepoPath:
    """The Markdown file that an argument means: `me`, `me.md`, or its whole path. Errors: PathRefused."""
    from pathlib import Path

    from memrepo.files.paths import check_repo_path

    name = argument.removeprefix("./")
    place = Path(argument)
    if place.is_absolute() and place.is_relative_to(repo.root):
        name = place.relative_to(repo.root).as_posix()
    return check_repo_path(name if name.lower().endswith(".md") else f"{name}.md")


def find_located(repo: MemoryRepo, ref: Ref, expected_hash: ContentHash | None = None) -> LocatedEntry:
    """The entry that stands at a ref now, or with a hash the one that carries it. Errors: NotFound."""
    entries = [found for found in repo.iter_entries([ref.path], team=ref.team) if found.ref == ref]
    if expected_hash is not None and not (entries and entries[0].hash == expected_hash):
        entries = [found for found in repo.iter_entries([ref.path]) if found.hash == expected_hash]
    if len(entries) != 1:
        raise NotFound(
            f"{ref} names no entry" + (" with that hash" if expected_hash else ""),
            hint=f"see the entries: memrepo ls {ref.path}",
            what="entry",
            name=str(ref),
        )
    return entries[0]


def find_by_text(repo: MemoryRepo, text: str) -> LocatedEntry:
    """The one entry that says this, whatever its case and white space.

    Errors: NotFound; InvalidInput that lists the refs when several do.
    """
    wanted = content_hash(text)
    found = [entry for entry in repo.iter_entries() if entry.hash == wanted]
    if not found:
        raise NotFound(
            f"no entry says exactly {quote(text)!r}",
            hint="find it with: memrepo forget --contains WORD, or memrepo ls",
            what="entry",
            name=quote(text),
        )
    if len(found) > 1:
        raise InvalidInput(
            f"{len(found)} entries say that; which one?",
            hint=f"name one: memrepo forget {found[0].ref}",
            faults=tuple((str(entry.ref), f"by {entry.entry.by}") for entry in found),
        )
    return found[0]


def find_selected(repo: MemoryRepo, arguments: Sequence[str]) -> list[LocatedEntry]:
    """The entries that several refs name, or the one that a ref or a text names."""
    if len(arguments) == 1 and not is_ref(arguments[0]):
        return [find_by_text(repo, arguments[0])]
    for argument in arguments:
        if not is_ref(argument):
            raise InvalidInput(
                f"{quote(argument)!r} is no ref", hint="put a text of several words in quotes", value=quote(argument)
            )
    refs = dict.fromkeys(parse_own_ref(argument) for argument in arguments)
    return [find_located(repo, ref) for ref in refs]


def name_entries(found: Iterable[LocatedEntry]) -> list[tuple[Ref, ContentHash]]:
    """Entries as the service is told of them: where they stood, and the hash that proves it."""
    return [(located.ref, located.hash) for located in found]


def describe_entry(located: LocatedEntry) -> dict[str, object]:
    """The JSON form of an entry: what its line says, and the names to call it by."""
    entry = located.entry
    return {
        "ref": str(located.ref),
        "path": str(located.ref.path),
        "line": located.ref.line,
        "hash": located.hash,
        "by": name_author(entry.by, located.ref.team),
        "text": entry.text,
        "section": entry.section,
        "meta": dict(entry.meta),
    }


def format_entries(invocation: Invocation, found: Iterable[LocatedEntry]) -> list[str]:
    """The lines of a list of entries: ref, who said it, text."""
    return invocation.output.format_rows(
        [(str(one.ref), name_author(one.entry.by, one.ref.team), one.entry.text) for one in found]
    )
