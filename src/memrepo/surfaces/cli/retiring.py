"""`memrepo retire` and `memrepo restore`: rows that the folder made needless, out of a host's database and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.exporting import describe_left, format_left
from memrepo.surfaces.cli.options import count
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from memrepo.surfaces.cli.invocation import Invocation


@click.command(cls=MemrepoCommand, short_help="Take out of a database what the folder holds now.")
@click.option("--from", "source", metavar="FILE", required=True, help="The database that was exported.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Say how many rows would be removed; change nothing.")
@click.option("--backup", metavar="FILE", help="Where to put the backup, a new file (default: the data folder).")
@click.pass_obj
def retire(invocation: Invocation, *, source: str, is_dry: bool, backup: str | None) -> None:
    """Remove the rows whose text the memory folder holds from a database that was exported. The others stay.

    They are written to an encrypted backup first, which memrepo restore puts back.

    \b
    memrepo retire --from ~/cowork.db --dry-run
    memrepo retire --from ~/cowork.db
    """
    database = invocation.find_path(source)
    repo = invocation.open(read_only=True)
    document: dict[str, object] = {"database": str(database), "dry_run": is_dry}
    if is_dry:
        plan = repo.plan_retirement(database)
        document |= {"retired": 0, "to_retire": len(plan.retired), "backup": None, "stayed": describe_left(plan.left)}
        words = [f"would remove {count(len(plan.retired), 'row')}", *format_left(plan.left)]
        invocation.output.emit(document, words)
        return
    report = repo.retire(database, backup=None if backup is None else invocation.find_path(backup))
    document |= {
        "retired": report.retired,
        "to_retire": 0,
        "backup": None if report.backup is None else str(report.backup),
        "stayed": describe_left(report.left),
    }
    invocation.output.emit(document, [f"removed {count(report.retired, 'row')}", *format_left(report.left)])
    if report.backup is not None:
        invocation.output.tell(f"to put them back: memrepo restore {escape_control(repr(str(report.backup)))}")


@click.command(cls=MemrepoCommand, short_help="Put retired rows back into their database.")
@click.argument("backup", metavar="BACKUP")
@click.option("--into", metavar="FILE", help="Another database than the one that they came from.")
@click.option("--key", metavar="FILE", help="The key of the backup (default: the one in the data folder).")
@click.pass_obj
def restore(invocation: Invocation, *, backup: str, into: str | None, key: str | None) -> None:
    """Put the rows of a backup of memrepo retire back. What is there already stays as it is: twice is as once.

    \b
    memrepo restore ~/facts.backup
    memrepo restore ~/facts.backup --into ~/cowork.db
    """
    repo = invocation.open(read_only=True, may_be_missing=True)
    report = repo.restore(
        invocation.find_path(backup),
        into=None if into is None else invocation.find_path(into),
        key=None if key is None else invocation.find_path(key),
    )
    rows = report.rows
    document = {
        "database": str(report.database),
        "restored": rows.restored,
        "present": rows.present,
        "displaced": rows.displaced,
    }
    words = [f"put back {count(rows.restored, 'row')}, {rows.present:,} were there"]
    if rows.displaced:
        words.append(f"left out: {rows.displaced:,} whose place another row has, or whose workspace is gone")
    invocation.output.emit(document, words)
