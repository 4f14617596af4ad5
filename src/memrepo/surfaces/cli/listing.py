"""`memrepo ls` and `memrepo show`: what is there. Neither makes, locks nor changes anything."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click

from memrepo.errors import NotFound, PathRefused
from memrepo.format.refs import is_stored_ref, parse_ref, split_team
from memrepo.model import Shelf
from memrepo.surfaces.cli.options import USER, count, quote
from memrepo.surfaces.cli.selection import (
    describe_entry,
    find_located,
    format_entries,
    is_ref,
    parse_file,
)
from memrepo.surfaces.cli.stored import list_stored, show_stored
from memrepo.surfaces.cli.table import MemrepoCommand

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.model import RepoPath
    from memrepo.surfaces.cli.invocation import Invocation

_COMMIT = re.compile(r"[0-9a-fA-F]{4,40}|HEAD(?:[~^][0-9]*)*")


@click.command(cls=MemrepoCommand, short_help="List files, or the entries of one.")
@click.argument("file", required=False)
@click.option("--private", "shows_private", is_flag=True, help="List the facts of the private store.")
@click.option("--archive", "shows_archive", is_flag=True, help="List what happened in tasks.")
@click.option("--team", metavar="NAME", help="List the files of this team repo, or the entries of one.")
@click.pass_obj
def ls(invocation: Invocation, file: str | None, *, shows_private: bool, shows_archive: bool, team: str | None) -> None:
    """List the files of the memory folder with the number of their entries, or the entries of FILE.

    \b
    memrepo ls
    memrepo ls me
    memrepo ls --private
    memrepo ls --team core
    """
    if shows_private or shows_archive:
        if file is not None or team is not None or (shows_private and shows_archive):
            raise click.UsageError("name a file or a team, or give --private or --archive")
        repo = invocation.open(read_only=True, may_be_missing=True)
        list_stored(invocation, repo, Shelf.ARCHIVE if shows_archive else Shelf.MEMORY)
        return
    repo = invocation.open(read_only=True)
    if file is None:
        _list_files(invocation, repo, team)
        return
    named, name = split_team(file)
    team = team if named is None else named
    _list_entries(invocation, repo, _get_file(repo, name, team), team)


@click.command(cls=MemrepoCommand, short_help="Show a file, an entry or a commit.")
@click.argument("name", metavar="FILE|REF|COMMIT")
@click.pass_obj
def show(invocation: Invocation, name: str) -> None:
    """Show a file as it is, everything about one entry or private fact, or what a commit changed.

    \b
    memrepo show me
    memrepo show repo:me.md#L4
    memrepo show HEAD
    """
    team, file = split_team(name)
    if is_ref(name) and (team is None or "#L" in name):
        _show_entry(invocation, name)
        return
    if is_stored_ref(name):
        show_stored(invocation, invocation.open(read_only=True, may_be_missing=True), name)
        return
    repo = invocation.open(read_only=True)
    path = _find_file(repo, file, team)
    if path is not None:
        _show_file(invocation, repo, path, team)
    elif _COMMIT.fullmatch(name):
        from memrepo.surfaces.cli.changes import show_commit

        show_commit(invocation, repo, name)
    else:
        raise NotFound(
            f"{quote(name)!r} is no file, ref or commit here",
            hint="see the files: memrepo ls; the commits: memrepo log",
            what="file, ref or commit",
            name=quote(name),
        )


def _list_files(invocation: Invocation, repo: MemoryRepo, team: str | None) -> None:
    counts: dict[RepoPath, int] = dict.fromkeys(repo.list_files(team=team), 0)
    for located in repo.iter_entries(counts, team=team):
        counts[located.ref.path] += 1
    rows = [(count(number, "entry", "entries"), str(path)) for path, number in counts.items()]
    document = {
        "root": str(repo.root if team is None else repo.teams.get(team, USER).path),
        "files": [{"path": str(path), "entries": number} for path, number in counts.items()],
    }
    invocation.output.emit(document, invocation.output.format_rows([(path, number) for number, path in rows]))


def _list_entries(invocation: Invocation, repo: MemoryRepo, path: RepoPath, team: str | None) -> None:
    found = list(repo.iter_entries([path], team=team))
    document = {"path": str(path), "entries": [describe_entry(located) for located in found]}
    invocation.output.emit(document, format_entries(invocation, found))


def _show_entry(invocation: Invocation, name: str) -> None:
    from memrepo.surfaces.present import escape_control, name_author

    ref = parse_ref(name)
    repo = invocation.open(read_only=True)
    located = find_located(repo, ref)
    entry = located.entry
    meta = [(key, value) for key, value in entry.meta if key != "by"]
    rows = [
        ("by", name_author(entry.by, ref.team)),
        *meta,
        ("section", entry.section),
        ("ref", str(located.ref)),
        ("hash", located.hash),
    ]
    lines = [escape_control(entry.text), ""]
    lines += [escape_control(f"{key}: {value}") for key, value in rows if value]
    invocation.output.emit(describe_entry(located), lines)


def _show_file(invocation: Invocation, repo: MemoryRepo, path: RepoPath, team: str | None) -> None:
    from memrepo.surfaces.present import escape_lines

    text = (repo.read_file(path, team=team) or b"").decode("utf-8", "surrogateescape")
    document: dict[str, object] = {"path": str(path), "text": text}
    invocation.output.emit(document, escape_lines(text).removesuffix("\n"))


def _get_file(repo: MemoryRepo, name: str, team: str | None) -> RepoPath:
    path = parse_file(repo, name)
    if repo.read_file(path, team=team) is None:
        hint = "see the files: memrepo ls" + (f" --team {shlex.quote(team)}" if team is not None else "")
        raise NotFound(f"there is no file {path}", hint=hint, what="file", name=str(path))
    return path


def _find_file(repo: MemoryRepo, name: str, team: str | None) -> RepoPath | None:
    try:
        path = parse_file(repo, name)
    except PathRefused:
        return None
    return path if repo.read_file(path, team=team) is not None else None
