"""`memrepo eval`: how good the answers of memory are, and whether its promises hold."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.table import MemrepoGroup
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.evals.safety import SafetyRow
    from memrepo.surfaces.cli.invocation import Invocation

_EXIT_NOT_HELD = 1


@click.group("eval", cls=MemrepoGroup, short_help="Measure recall, and try to break the promises of memory.")
def evaluate() -> None:
    """Measure recall on a set of questions, and try to break the promises of memory.

    \b
    memrepo eval recall --data DIR
    memrepo eval safety
    memrepo eval dream
    """


@evaluate.command("recall")
@click.option(
    "--data",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder with facts.jsonl and questions.jsonl.",
)
@click.option("--each", "shows_each", is_flag=True, help="Show every conversation, not only all of them together.")
@click.pass_obj
def eval_recall(invocation: Invocation, *, data: Path, shows_each: bool) -> None:
    """Measure how much of what a question needs stands among the first 5, 10 and 20 hits. docs/recall.md tells how.

    \b
    memrepo eval recall --data DIR
    """
    from memrepo.evals.recall import ALL, CUTS, measure_recall

    rows = [row for row in measure_recall(data) if shows_each or row.conversation == ALL]
    document: dict[str, object] = {"cuts": list(CUTS), "rows": [asdict(row) for row in rows]}
    head = ("method", "set", "facts", "questions", *(f"R@{cut}" for cut in CUTS), "median ms", "p95 ms")
    table = [
        (
            row.method,
            row.conversation,
            str(row.facts),
            str(row.questions),
            *(f"{value:.3f}" for value in row.recalls),
            f"{row.median_ms:.1f}",
            f"{row.p95_ms:.1f}",
        )
        for row in rows
    ]
    invocation.output.emit(document, invocation.output.format_rows([head, *table]))


@evaluate.command("safety")
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Play only this case; may be given again.")
@click.pass_obj
def eval_safety(invocation: Invocation, *, cases: tuple[str, ...]) -> int:
    """Attack a memory of its own in a temporary folder, as pages, agents and planted files would. docs/safety.md.

    Ends with status 1 when a promise does not hold. Your own memory is not touched.

    \b
    memrepo eval safety
    memrepo eval safety --case shell
    """
    from memrepo.evals.safety import measure_safety
    from memrepo.surfaces.safety_doors import ProgramDoors

    rows = measure_safety(ProgramDoors(), cases=cases, progress=lambda name: invocation.output.tell(f"trying {name}"))
    return _tell_rows(invocation, rows)


@evaluate.command("dream")
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Play only this case; may be given again.")
@click.pass_obj
def eval_dream(invocation: Invocation, *, cases: tuple[str, ...]) -> int:
    """Let scripted models, good and malicious, dream over a memory of its own in a temporary folder. docs/dreaming.md.

    Ends with status 1 when a promise does not hold. Your own memory is not touched, and no model is asked.

    \b
    memrepo eval dream
    memrepo eval dream --case malicious
    """
    from memrepo.evals.dream import measure_dream
    from memrepo.surfaces.safety_doors import ProgramDoors

    rows = measure_dream(
        ProgramDoors().open_repo, cases=cases, progress=lambda name: invocation.output.tell(f"trying {name}")
    )
    return _tell_rows(invocation, rows)


def _tell_rows(invocation: Invocation, rows: Sequence[SafetyRow]) -> int:
    held = sum(row.holds for row in rows)
    document: dict[str, object] = {
        "holds": held == len(rows),
        "cases": [{**asdict(row), "seen": list(row.seen), "holds": row.holds} for row in rows],
    }
    table = [(row.case, str(row.tries), "holds" if row.holds else "BROKEN", row.about) for row in rows]
    lines = invocation.output.format_rows([("case", "tries", "result", "what must hold"), *table])
    lines += [escape_control(f"{row.case}: {seen}") for row in rows for seen in row.seen]
    lines.append(f"{held} of {len(rows)} cases hold")
    invocation.output.emit(document, lines)
    return 0 if held == len(rows) else _EXIT_NOT_HELD
