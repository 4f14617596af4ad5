"""`memrepo log`, `diff` and `undo`: the history as a person reads it and takes it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import USER, count
from memrepo.surfaces.cli.selection import parse_file
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import escape_control, escape_lines

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.git.commits import Commit
    from memrepo.surfaces.cli.invocation import Invocation

SHORT_ID_DIGITS = 10
_DIFF_STYLES = {"+": "good", "-": "bad", "@": "place"}


@click.command(cls=MemrepoCommand, short_help="List what was written, the newest first.")
@click.argument("file", required=False)
@click.option("-n", "limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many.")
@click.pass_obj
def log(invocation: Invocation, file: str | None, limit: int) -> None:
    """List the newest commits, of FILE only when it is given.

    \b
    memrepo log -n 5
    memrepo log me
    """
    repo = invocation.open(read_only=True)
    commits = repo.history.log(limit=limit, path=parse_file(repo, file) if file else None)
    rows = [
        (commit.id[:SHORT_ID_DIGITS], f"{commit.at:%Y-%m-%d %H:%M}", commit.origin or "-", commit.subject)
        for commit in commits
    ]
    words = invocation.output.format_rows(rows) if rows else "nothing was written yet"
    invocation.output.emit({"commits": [describe_commit(commit) for commit in commits]}, words)


@click.command(cls=MemrepoCommand, short_help="Show what a commit changed, or what you edited since.")
@click.argument("commit", required=False)
@click.option("--file", metavar="FILE", help="Of this file only.")
@click.pass_obj
def diff(invocation: Invocation, commit: str | None, file: str | None) -> None:
    """Show what COMMIT changed; without it, what you edited by hand and is not in the history yet.

    \b
    memrepo diff
    memrepo diff HEAD~1
    """
    repo = invocation.open(read_only=True)
    path = parse_file(repo, file) if file else None
    text = repo.history.diff(commit, path=path).decode("utf-8", "surrogateescape")
    lines = paint_diff(invocation, text)
    if not lines and commit is None:
        invocation.output.tell("no unsaved edits")
    invocation.output.emit({"commit": commit, "diff": text}, lines)


@click.command(cls=MemrepoCommand, short_help="Take a commit back.")
@click.argument("commit")
@click.pass_obj
def undo(invocation: Invocation, commit: str) -> None:
    """Take COMMIT back by a new commit, whatever was written since.

    \b
    memrepo undo HEAD
    """
    repo = invocation.open()
    undone, applied = repo.history.undo(commit, USER)
    document = {
        "undone": describe_commit(undone),
        "commit": applied.commit,
        "deferred": applied.deferred.message if applied.deferred else None,
    }
    lines = [f"undid {undone.id[:SHORT_ID_DIGITS]} {escape_control(undone.subject)}"]
    if applied.deferred:
        why = escape_control(applied.deferred.message)
        lines.append(f"note: not yet in the history ({why}); the next write commits it")
    invocation.output.emit(document, lines)


def show_commit(invocation: Invocation, repo: MemoryRepo, revision: str) -> None:
    """Shows one commit: what it says of itself, and what it changed."""
    commit, changes = repo.history.get(revision)
    text = repo.history.diff(commit.id).decode("utf-8", "surrogateescape")
    heads = [
        ("commit", commit.id),
        ("date", f"{commit.at:%Y-%m-%d %H:%M:%S} UTC"),
        ("origin", commit.origin or ""),
        ("task", commit.task or ""),
        ("dream", commit.dream or ""),
        ("files", count(len(changes), "file")),
    ]
    lines = [f"{name}: {escape_control(value)}" for name, value in heads if value]
    lines += ["", f"    {escape_control(commit.subject)}", "", *paint_diff(invocation, text)]
    files = [{"change": change.code, "path": change.path} for change in changes]
    invocation.output.emit({"commit": describe_commit(commit), "files": files, "diff": text}, lines)


def describe_commit(commit: Commit) -> dict[str, object]:
    """The JSON form of a commit."""
    return {
        "id": commit.id,
        "at": commit.at.isoformat(),
        "subject": commit.subject,
        "origin": commit.origin,
        "task": commit.task,
        "dream": commit.dream,
        "parents": list(commit.parents),
    }


def paint_diff(invocation: Invocation, text: str) -> list[str]:
    """The lines of a unified diff, safe to print, with their colours."""
    lines = escape_lines(text).removesuffix("\n").split("\n") if text else []
    return [
        invocation.output.paint(line, _DIFF_STYLES[line[0]]) if line[:1] in _DIFF_STYLES else line for line in lines
    ]
