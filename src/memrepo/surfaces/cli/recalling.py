"""`memrepo recall`, `index` and `eval`: asking memory, the index behind it, and how good the answers are."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import USER, count, decode_words
from memrepo.surfaces.cli.table import MemrepoCommand, MemrepoGroup
from memrepo.surfaces.present import escape_control, name_author

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memrepo.index.freshness import Notice
    from memrepo.index.repo_index import IndexStatus, Progress
    from memrepo.recall import Hit
    from memrepo.surfaces.cli.invocation import Invocation

_TOLD_FILES = 200


@click.command(cls=MemrepoCommand, short_help="Find what memory knows about something.")
@click.argument("query", callback=decode_words)
@click.option(
    "--limit", "-n", metavar="N", type=click.IntRange(1, 100), default=10, show_default=True, help="At most N."
)
@click.option("--workspace", metavar="DIR|ID", help="The project that is asked for: a folder, or a workspace's id.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["memory", "repo", "team", "archive"]),
    help="Where to look (default: memory, which is everything but the archive). May be given more than once.",
)
@click.option("--full", "is_full", is_flag=True, help="Show the section around each hit.")
@click.pass_obj
def recall(
    invocation: Invocation, query: str, *, limit: int, workspace: str | None, scopes: tuple[str, ...], is_full: bool
) -> None:
    """Find the entries that answer QUERY, the best first. Words are words: there are no operators to know.

    \b
    memrepo recall "which database does billing use"
    memrepo recall deploys -n 3 --full
    """
    repo = invocation.open(read_only=True, create=False)
    where = None if workspace is None else invocation.find_workspace(repo, workspace)
    result = repo.recall(
        query,
        replace(USER, workspace=where),
        scopes=scopes or None,
        limit=limit,
        detail="full" if is_full else "line",
        progress=_tell_progress(invocation),
    )
    _warn(invocation, result.warnings)
    document: dict[str, object] = {
        "hits": [_describe(hit) for hit in result.hits],
        "lanes": [str(lane) for lane in result.lanes],
        "warnings": [notice._asdict() for notice in result.warnings],
    }
    rows = [(hit.ref, _tag(hit), hit.text) for hit in result.hits]
    lines = invocation.output.format_rows(rows)
    if is_full:
        lines = [line for hit in result.hits for line in (f"{hit.ref}\t{_tag(hit)}", hit.around or hit.text, "")]
    invocation.output.emit(document, lines)
    if not result.hits:
        invocation.output.tell("memrepo: note: nothing found")


@click.group(cls=MemrepoGroup, short_help="Look at the search index, or make it anew.")
def index() -> None:
    """Look at the search index, or make it anew. It stands in the cache folder and is never needed for an answer.

    \b
    memrepo index status
    """


@index.command("status")
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Say where the index is, what it holds and what is searched in memory because it changed since.

    \b
    memrepo index status
    """
    repo = invocation.open(read_only=True, create=False)
    with repo.open_index() as opened:
        _show_status(invocation, opened.status())


@index.command("rebuild")
@click.pass_obj
def rebuild(invocation: Invocation) -> None:
    """Make the index anew from the files.

    \b
    memrepo index rebuild
    """
    repo = invocation.open(read_only=True, create=False)
    with repo.open_index() as opened:
        _show_status(invocation, opened.rebuild(progress=_tell_progress(invocation)))


def _show_status(invocation: Invocation, found: IndexStatus) -> None:
    _warn(invocation, found.warnings)
    document = {key: value for key, value in asdict(found).items() if key != "warnings"}
    document["warnings"] = [notice._asdict() for notice in found.warnings]
    lines = [
        f"state    {found.state}",
        f"folder   {escape_control(found.folder)}",
        f"files    {found.files:,}, {found.indexed_files:,} of them indexed, {found.changed_files:,} changed since",
        f"lines    {found.lines:,}, {found.indexed_lines:,} of them indexed",
        f"size     {found.size_bytes:,} bytes",
    ]
    invocation.output.emit(document, lines)


def _describe(hit: Hit) -> dict[str, object]:
    return {**asdict(hit), "lane": str(hit.lane), "by": name_author(hit.by, hit.team)}


def _tag(hit: Hit) -> str:
    author = name_author(hit.by, hit.team)
    return f"{author}, unreviewed" if hit.unreviewed else author


def _warn(invocation: Invocation, warnings: Iterable[Notice]) -> None:
    for notice in warnings:
        invocation.output.tell(f"memrepo: warning: {escape_control(notice.message)}")


def _tell_progress(invocation: Invocation) -> Callable[[Progress], None]:
    """Says on standard error how far a long build is: every so many files, and at the end."""
    told = 0

    def tell(progress: Progress) -> None:
        nonlocal told
        if progress.of_files < _TOLD_FILES:
            return
        if progress.files == progress.of_files or progress.files - told >= _TOLD_FILES:
            told = progress.files
            of_files = count(progress.of_files, "file")
            invocation.output.tell(f"indexing: {progress.files:,} of {of_files}, {progress.lines:,} lines")

    return tell
