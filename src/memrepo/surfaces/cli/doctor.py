"""`memrepo doctor`: every check with its verdict and remedy, and what can be mended safely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import count
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.health import HealthRow
    from memrepo.surfaces.cli.invocation import Invocation

_EXIT_UNWELL = 6  # the family of RepositoryFault
_STYLES = {"PASS": "good", "WARN": "warn", "FAIL": "bad", "SKIP": "faint"}


@click.command(cls=MemrepoCommand, short_help="Check that everything is well, and mend it.")
@click.option("--fix", "wants_fix", is_flag=True, help="Mend what can be mended safely, then check again.")
@click.option(
    "--foreign",
    type=click.Choice(["add", "ignore"]),
    help="With --fix: add files that are not Markdown to the history, or ignore them from now on.",
)
@click.pass_obj
def doctor(invocation: Invocation, *, wants_fix: bool, foreign: str | None) -> int:
    """Check the memory folder, git, the limits, the private store and what waits; say PASS, WARN, FAIL or SKIP.

    \b
    memrepo doctor
    memrepo doctor --fix
    memrepo doctor --fix --foreign ignore

    Without --fix nothing is changed. Nothing is ever thrown away: what is damaged is set aside.
    """
    repo = invocation.open(may_be_missing=True)
    if foreign and not wants_fix:
        raise click.UsageError("--foreign settles files only together with --fix")
    fixed = repo.fix(foreign=foreign) if wants_fix else ()
    rows = repo.check_health()
    status = _EXIT_UNWELL if any(row.status == "FAIL" for row in rows) else 0
    document = {
        "root": str(repo.root),
        "healthy": status == 0,
        "fixed": [str(one) for one in fixed],
        "checks": [
            {"name": row.name, "status": str(row.status), "detail": row.detail, "remedy": row.remedy} for row in rows
        ],
    }
    lines = [f"fixed: {escape_control(str(one))}" for one in fixed]
    invocation.output.emit(document, [*lines, *_format(invocation, rows)])
    return status


def _format(invocation: Invocation, rows: Sequence[HealthRow]) -> list[str]:
    width = max((len(row.name) for row in rows), default=0)
    lines: list[str] = []
    for row in rows:
        status = invocation.output.paint(str(row.status), _STYLES.get(str(row.status), "faint"))
        lines.append(f"{status}  {row.name.ljust(width)}  {escape_control(row.detail)}".rstrip())
        if row.remedy and row.status != "PASS":
            lines.append(" " * (width + 8) + f"-> {escape_control(row.remedy)}")
    unwell = sum(1 for row in rows if row.status in {"WARN", "FAIL"})
    lines.append("all is well" if not unwell else count(unwell, "check needs a look", "checks need a look"))
    return lines
