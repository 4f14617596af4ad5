"""`memrepo context`, `read` and `grep`: memory as an agent sees it, without secrets and on one line each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import USER, decode_words
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import name_author

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memrepo.lines import ShownLine
    from memrepo.surfaces.cli.invocation import Invocation


@click.command(cls=MemrepoCommand, short_help="Show the block that a prompt gets.")
@click.option("--workspace", metavar="DIR|ID", help="The project the session is in: a folder, or a workspace's id.")
@click.option("--exclude", "excluded", metavar="HASH", multiple=True, help="Leave out the entry with this hash.")
@click.pass_obj
def context(invocation: Invocation, workspace: str | None, excluded: tuple[str, ...]) -> None:
    """Show the block of memory that stands in a prompt. Nothing on standard output: memory is off, or empty.

    \b
    memrepo context
    memrepo context --workspace .
    """
    repo = invocation.open(read_only=True, create=False)
    where = None if workspace is None else invocation.find_workspace(repo, workspace)
    block = repo.context(replace(USER, workspace=where), exclude_hashes=excluded)
    document: dict[str, object] = {
        "text": block.text,
        "refs": [str(ref) for ref in block.refs],
        "hashes": list(block.hashes),
        "tokens": block.tokens,
        "version": block.version,
        "reason": block.reason,
        "warnings": [{"file": file, "why": why} for file, why in block.warnings],
    }
    _warn(invocation, block.warnings)
    if block.reason:
        from memrepo.policy.injection import WHY, InjectionReason

        invocation.output.tell(f"memrepo: note: {WHY[InjectionReason(block.reason)]}")
    invocation.output.emit(document, [block.text] if block.text else [])


@click.command(cls=MemrepoCommand, short_help="Show an entry and the section around it, as agents see it.")
@click.argument("ref")
@click.pass_obj
def read(invocation: Invocation, ref: str) -> None:
    """Show the entry at REF and the section around it, as agents see it: cleaned, and without secrets.

    `memrepo show` shows the same as it is.

    \b
    memrepo read repo:me.md#L4
    """
    from memrepo.format.refs import parse_ref

    place = parse_ref(ref)
    line = invocation.open(read_only=True, create=False).read_section(place, USER)
    tag = "\tunreviewed" if line.unreviewed else ""
    document = {**_describe(line), "around": line.around}
    author = "" if line.by is None else name_author(line.by, line.ref.team)
    invocation.output.emit(document, [f"{line.ref}\t{author}{tag}", line.around])


@click.command(cls=MemrepoCommand, short_help="Look for words or a pattern, line by line.")
@click.argument("pattern", callback=decode_words)
@click.option("--regex", "-E", "is_regex", is_flag=True, help="PATTERN is a regular expression.")
@click.option("--ignore-case", "-i", "ignores_case", is_flag=True, help="Capitals do not count.")
@click.option(
    "--limit",
    "-n",
    metavar="N",
    type=click.IntRange(1, 10_000),
    default=200,
    show_default=True,
    help="At most N lines.",
)
@click.option("--team", metavar="NAME", help="Look in the files of this team repo alone.")
@click.pass_obj
def grep(
    invocation: Invocation, pattern: str, *, is_regex: bool, ignores_case: bool, limit: int, team: str | None
) -> None:
    """Look for PATTERN in every line of every file, those of team repos too. It finds what agents would be shown: no
    secret, no metadata.

    A regular expression has no back references and no look-around, so that no pattern takes forever.

    \b
    memrepo grep Buildkite
    memrepo grep -iE "deploys? .*(tuesday|friday)"
    """
    repo = invocation.open(read_only=True, create=False)
    answer = repo.grep(pattern, USER, is_regex=is_regex, ignores_case=ignores_case, limit=limit, team=team)
    document: dict[str, object] = {
        "lines": [_describe(line) for line in answer.lines],
        "complete": answer.is_complete,
        "warnings": [{"file": file, "why": why} for file, why in answer.warnings],
    }
    _warn(invocation, answer.warnings)
    rows = [(str(line.ref), _name_author(line), line.text) for line in answer.lines]
    invocation.output.emit(document, invocation.output.format_rows(rows))
    if not answer.is_complete:
        invocation.output.tell(f"memrepo: note: there are more; these are the first {limit:,}")


def _describe(line: ShownLine) -> dict[str, object]:
    return {
        "ref": str(line.ref),
        "path": str(line.ref.path),
        "line": line.ref.line,
        "hash": line.hash,
        "by": None if line.by is None else name_author(line.by, line.ref.team),
        "text": line.text,
        "unreviewed": line.unreviewed,
    }


def _name_author(line: ShownLine) -> str:
    if line.by is None:
        return ""
    author = name_author(line.by, line.ref.team)
    return f"{author}, unreviewed" if line.unreviewed else author


def _warn(invocation: Invocation, warnings: Iterable[tuple[str, str]]) -> None:
    from memrepo.surfaces.present import escape_control

    for file, why in warnings:
        invocation.output.tell(f"memrepo: warning: {escape_control(f'{file} was passed over: {why}')}")
