"""`memrepo stats`: does memory pay off? Numbers per week, counted on this machine and sent nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.table import MemrepoCommand

if TYPE_CHECKING:
    from memrepo.statistics import Week
    from memrepo.surfaces.cli.invocation import Invocation

_WEEKS_MOST = 520
_HEAD = (
    "week",
    "tasks",
    "read",
    "user",
    "agent",
    "inbox",
    "promoted",
    "discarded",
    "repeated",
    "files",
    "entries",
    "bytes",
)


@click.command(cls=MemrepoCommand, short_help="Show per week what was written, read, reviewed and repeated.")
@click.option(
    "--weeks", type=click.IntRange(1, _WEEKS_MOST), default=8, show_default=True, help="How many weeks, this one last."
)
@click.pass_obj
def stats(invocation: Invocation, *, weeks: int) -> None:
    """Show per week what was written, read, reviewed and repeated. docs/statistics.md says what each number means.

    \b
    memrepo stats
    memrepo stats --weeks 4 --json
    """
    found = invocation.open(read_only=True).compute_statistics(weeks=weeks)
    rows = invocation.output.format_rows([_HEAD, *map(_make_row, found)])
    notes = [
        "user, agent, inbox: facts per 10 tasks (in a week without tasks, = the number of facts)",
        *(["+: some older tasks are not known any more"] if any(not week.is_whole for week in found) else []),
    ]
    invocation.output.emit({"weeks": [_describe(week) for week in found]}, rows)
    for note in notes:
        invocation.output.tell(note)


def _make_row(week: Week) -> tuple[str, ...]:
    rates = week.facts_per_10_tasks
    share = week.read_share
    return (
        week.start.isoformat(),
        f"{week.tasks}{'' if week.is_whole else '+'}",
        "-" if share is None else f"{share:.0%}",
        *(f"={week.facts[name]}" if rate is None else f"{rate:g}" for name, rate in rates.items()),
        str(week.promoted),
        str(week.discarded),
        f"{week.repeated}/{week.corrections}",
        str(week.sizes.files),
        str(week.sizes.entries),
        str(week.sizes.size_bytes),
    )


def _describe(week: Week) -> dict[str, object]:
    sizes = week.sizes
    return {
        "week": week.start.isoformat(),
        "tasks": week.tasks,
        "tasks_complete": week.is_whole,
        "tasks_reading": week.tasks_reading,
        "read_share": week.read_share,
        "facts": {name: week.facts[name] for name in week.facts_per_10_tasks},
        "facts_per_10_tasks": week.facts_per_10_tasks,
        "origins": {name: number for name, number in sorted(week.origins.items()) if number},
        "promoted": week.promoted,
        "discarded": week.discarded,
        "corrections": week.corrections,
        "repeated": week.repeated,
        "files": sizes.files,
        "entries": sizes.entries,
        "bytes": sizes.size_bytes,
        "memory_file_bytes": sizes.memory_file_bytes,
    }
