"""`memrepo compact` and `memrepo clear`: real forgetting. Both ask first, and both say what was proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.errors import MemrepoError
from memrepo.surfaces.cli.options import USER, count, yes_option
from memrepo.surfaces.cli.table import MemrepoCommand, MemrepoGroup
from memrepo.surfaces.present import escape_control, escape_lines

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.history import CompactResult
    from memrepo.model import RepoPath
    from memrepo.surfaces.cli.invocation import Invocation

_EXIT_NOT_PROVEN = 6  # the family of RepositoryFault: something that should be gone is still there
_SHOWN_FINDINGS = 20

keep_history_option = click.option(
    "--keep-history", is_flag=True, help="Only empty the files; the old text stays in the history."
)


@click.command(cls=MemrepoCommand, short_help="Replace the history, so that forgotten text is gone.")
@yes_option
@click.pass_obj
def compact(invocation: Invocation, *, is_confirmed: bool) -> int:
    """Replace the history with one commit of the current files, then search everything that is left for forgotten text.

    No commit can be undone or shown afterwards.

    \b
    memrepo compact --yes
    """
    repo = invocation.open()
    invocation.confirm(
        f"replace the whole history with one commit{_name_remote(repo)}? It cannot be taken back",
        action="compacting the history",
        is_confirmed=is_confirmed,
    )
    result = repo.compact(USER)
    remote = _replace_remote(repo)
    invocation.output.emit({**_describe(result), "remote": remote[0]}, [*_format(result), *remote[1]])
    return 0 if result.is_proven else _EXIT_NOT_PROVEN


@click.group(cls=MemrepoGroup, short_help="Empty a workspace's memory, or all global memory.")
def clear() -> None:
    """Empty a workspace's memory, or all global memory, and compact the history so that the text is gone.

    \b
    memrepo clear workspace .
    memrepo clear global --yes
    """


@clear.command("workspace")
@click.argument("workspace", metavar="DIR|ID")
@keep_history_option
@yes_option
@click.pass_obj
def clear_workspace(invocation: Invocation, *, workspace: str, keep_history: bool, is_confirmed: bool) -> int:
    """Remove a workspace's file and its links from memory. The project's own folder is not touched.

    \b
    memrepo clear workspace ~/code/billing
    """
    repo = invocation.open()
    where = invocation.find_workspace(repo, workspace)
    path = repo.get_workspace_file(where.id)
    entries = count(len(list(repo.iter_entries([path]))), "entry", "entries")
    _ask(invocation, repo, f"{path} ({entries})", keep_history=keep_history, is_confirmed=is_confirmed)
    removed = repo.service.clear_workspace(where.id, USER)
    return _finish(invocation, repo, (removed,), keep_history=keep_history)


@clear.command("global")
@keep_history_option
@yes_option
@click.pass_obj
def clear_global(invocation: Invocation, *, keep_history: bool, is_confirmed: bool) -> int:
    """Empty me.md, lessons.md, inbox.md and the entries of MEMORY.md. Workspace files and files of your own stay.

    \b
    memrepo clear global
    """
    repo = invocation.open()
    _ask(invocation, repo, "all global memories", keep_history=keep_history, is_confirmed=is_confirmed)
    removed = repo.service.clear_global(USER)
    return _finish(invocation, repo, removed, keep_history=keep_history)


def _ask(invocation: Invocation, repo: MemoryRepo, what: str, *, keep_history: bool, is_confirmed: bool) -> None:
    more = "" if keep_history else f" and replace the whole history{_name_remote(repo)}? It cannot be taken back"
    invocation.confirm(f"clear {what}{more or '?'}", action=f"clearing {what}", is_confirmed=is_confirmed)


def _finish(invocation: Invocation, repo: MemoryRepo, removed: tuple[RepoPath, ...], *, keep_history: bool) -> int:
    document: dict[str, object] = {"cleared": [str(path) for path in removed], "compaction": None}
    lines = [f"cleared {', '.join(removed)}"]
    if keep_history or not repo.has_git:
        invocation.output.emit(document, lines)
        if repo.has_git:
            invocation.output.tell("the history keeps the text until: memrepo compact")
        return 0
    result = repo.compact(USER)
    remote = _replace_remote(repo)
    document["compaction"] = {**_describe(result), "remote": remote[0]}
    invocation.output.emit(document, [*lines, *_format(result), *remote[1]])
    return 0 if result.is_proven else _EXIT_NOT_PROVEN


def _name_remote(repo: MemoryRepo) -> str:
    """What the question says of the remote, whose history goes too."""
    return f", and that of the remote {repo.sync.status().url}" if repo.sync.is_on else ""


def _replace_remote(repo: MemoryRepo) -> tuple[str | None, list[str]]:
    """Syncs after a compaction: None without a remote, else `replaced`, or `waiting` with what is to be done."""
    if not repo.sync.is_on:
        return None, []
    try:
        repo.sync.run()
    except MemrepoError as error:
        again = f"the remote still has the old history: {error.message}"
        return "waiting", [escape_lines(again), "to replace it: memrepo sync now"]
    return "replaced", ["the remote's history was replaced too"]


def _describe(result: CompactResult) -> dict[str, object]:
    return {
        "commit": result.commit,
        "commits_before": result.commits_before,
        "proven": result.is_proven,
        "texts": result.texts,
        "checked": list(result.checked),
        "findings": [{"number": found.number, "where": found.where} for found in result.findings],
        "in_files": [{"number": found.number, "where": found.where} for found in result.in_files],
        "unreachable": list(result.unreachable),
        "kept": list(result.kept),
    }


def _format(result: CompactResult) -> list[str]:
    lines = [f"replaced {count(result.commits_before, 'commit')} with one"]
    lines.append(f"searched {', '.join(result.checked)} for {count(result.texts, 'forgotten text')}")
    if result.is_proven:
        lines.append("none is left")
    else:
        found = [f"still there: {hit.where}" for hit in result.findings]
        found += [f"not removed: object {name}" for name in result.unreachable]
        found += [f"keeps old history: {name}" for name in result.kept]
        lines += found[:_SHOWN_FINDINGS]
        if len(found) > _SHOWN_FINDINGS:
            lines.append(f"and {len(found) - _SHOWN_FINDINGS} more: memrepo compact --json")
        lines.append("hint: remove what keeps it, then run memrepo compact again")
    for path in sorted({hit.where for hit in result.in_files}):
        lines.append(f"note: a file of yours still holds forgotten words: {path}")
    return [escape_control(line) for line in lines]
