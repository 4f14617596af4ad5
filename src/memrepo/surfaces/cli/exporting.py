"""`memrepo export`: facts of a host's database into the memory folder, once; all of it out of it is in `moving`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import count, quote
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import escape_control, get_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from memrepo.app import MemoryRepo
    from memrepo.export import ExportReport
    from memrepo.planning.export_rows import ExportPlan, Left, Offer
    from memrepo.surfaces.cli.invocation import Invocation

_TOLD_FACTS = 100
_SHOWN_FACTS = 20
_SHOWN_WORKSPACES = 3


@click.command(cls=MemrepoCommand, short_help="Take all of this memory with you, or bring the facts of another in.")
@click.option("--to", "target", metavar="PATH", help="Write all of this memory to a new folder, *.zip or *.json.")
@click.option("--format", "form", type=click.Choice(["folder", "zip", "json"]), help="The form, whatever the name.")
@click.option("--from", "source", metavar="FILE", help="The host's database, or a private store of memrepo.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Show what would be written and what stays; change nothing.")
@click.option("--again", is_flag=True, help="Export although it was done; what the folder holds is left out.")
@click.pass_obj
def export(
    invocation: Invocation, *, target: str | None, form: str | None, source: str | None, is_dry: bool, again: bool
) -> int:
    """Take all of this memory with you (--to), or bring the facts of a host's database into it (--from).

    --to writes the files, their history, private facts, settings, all in open formats; `memrepo init --from` makes a
    memory of it again. --from writes one commit each, once per folder, and removes nothing from the database; private
    facts, other people's words, contacts, tasks and commitments stay there.

    \b
    memrepo export --to memory.zip
    memrepo export --from ~/cowork.db --dry-run
    memrepo export --from ~/cowork.db
    """
    if (source is None) == (target is None):
        raise click.UsageError("say where all of this memory goes, --to PATH, or whose facts to bring in, --from FILE")
    if target is not None:
        if is_dry or again:
            raise click.UsageError("--dry-run and --again go with --from")
        from memrepo.surfaces.cli.moving import take_along

        return take_along(invocation, invocation.find_path(target), form)
    if form is not None:
        raise click.UsageError("--format goes with --to")
    assert source is not None  # noqa: S101 - one of the two is given
    return _export_from(invocation, invocation.find_path(source), is_dry=is_dry, again=again)


def _export_from(invocation: Invocation, database: Path, *, is_dry: bool, again: bool) -> int:
    repo = invocation.open(read_only=is_dry, may_be_missing=True)
    done_at_ms = repo.exported_at_ms
    document: dict[str, object] = {"database": str(database), "dry_run": is_dry, "already_at_ms": done_at_ms}
    if done_at_ms is not None and not again:
        document |= _describe(None, None)
        invocation.output.emit(document, f"exported already{_format_day(done_at_ms)}; nothing was written")
        invocation.output.tell("to look for what is new: memrepo export --from FILE --again --dry-run")
        return 0
    plan = repo.plan_export(database)
    if is_dry:
        invocation.output.emit(document | _describe(plan, None), _format_plan(invocation, plan))
        return 0
    repo.create()
    report = repo.run_export(plan, progress=_tell_progress(invocation))
    invocation.output.emit(document | _describe(plan, report), _format_report(report))
    invocation.warn_without_history(repo)
    _tell_what_next(invocation, repo, plan, report, database)
    return _find_status(report)


def _describe(plan: ExportPlan | None, report: ExportReport | None) -> dict[str, object]:
    left = report.left if report else plan.left if plan else ()
    return {
        "written": report.written if report else 0,
        "known": report.known if report else len(plan.known) if plan else 0,
        "unpinned": report.unpinned if report else 0,
        "facts": [_describe_fact(offer) for offer in plan.offers] if plan else [],
        "stayed": describe_left(left),
        "stopped": report.stopped.detail if report and report.stopped else None,
    }


def _describe_fact(offer: Offer) -> dict[str, object]:
    candidate = offer.candidate
    return {
        "id": offer.row.id,
        "text": offer.fact.text,
        "by": str(offer.by),
        "kind": str(candidate.kind),
        "workspace": offer.workspace_id,
        "subject": offer.fact.subject,
        "pinned": candidate.pin,
        "added": str(candidate.added),
    }


def describe_left(left: Iterable[Left]) -> list[dict[str, object]]:
    """The rows that stay, by reason, the most first."""
    from memrepo.planning.export_rows import WHY

    ids: dict[str, list[object]] = {}
    whys = {}
    for row, reason in left:
        ids.setdefault(str(reason), []).append(row.id)
        whys[str(reason)] = WHY[reason]
    ordered = sorted(ids, key=lambda reason: -len(ids[reason]))
    return [{"reason": name, "why": whys[name], "count": len(ids[name]), "ids": ids[name]} for name in ordered]


def format_left(left: Iterable[Left]) -> list[str]:
    """A line for each reason why rows stay, the most first."""
    from memrepo.planning.export_rows import WHY

    counted = Counter(reason for _, reason in left)
    return [f"stays: {WHY[reason]} ({number:,})" for reason, number in counted.most_common()]


def _format_plan(invocation: Invocation, plan: ExportPlan) -> list[str]:
    rows = [
        (str(offer.by), str(offer.candidate.kind), _format_place(offer), quote(offer.fact.text))
        for offer in plan.offers[:_SHOWN_FACTS]
    ]
    more = len(plan.offers) - len(rows)
    rest = [f"and {more:,} more: memrepo export --from FILE --dry-run --json"] if more else []
    head = f"would write {count(len(plan.offers), 'fact')}, {len(plan.known):,} are there already"
    return [head, *invocation.output.format_rows(rows), *rest, *format_left(plan.left)]


def _format_place(offer: Offer) -> str:
    if offer.candidate.pin:
        return "pinned"
    return offer.candidate.workspace.name if offer.candidate.workspace else "global"


def _format_report(report: ExportReport) -> list[str]:
    lines = [f"exported {count(report.written, 'fact')}, {report.known:,} were there already"]
    if report.unpinned:
        lines.append(f"not pinned: {count(report.unpinned, 'fact')}, MEMORY.md has no room")
    return [*lines, *format_left(report.left)]


def _tell_what_next(
    invocation: Invocation, repo: MemoryRepo, plan: ExportPlan, report: ExportReport, database: Path
) -> None:
    tell = invocation.output.tell
    if report.stopped is not None:
        tell(f"memrepo: stopped: {escape_control(report.stopped.detail)}")
        tell("what is written stands; run it again for the rest")
        return
    known = {workspace.id for workspace in repo.workspaces}
    found = {offer.candidate.workspace for offer in plan.offers if offer.candidate.workspace}
    new = sorted(f"{workspace.name} ({workspace.id})" for workspace in found if workspace.id not in known)
    if new:
        shown = "; ".join(new[:_SHOWN_WORKSPACES]) + ("; …" if len(new) > _SHOWN_WORKSPACES else "")
        many = count(len(new), "workspace")
        tell(f"note: the settings do not know {many}: {escape_control(shown)}")
        tell("with its id and root there, a workspace is found from its folder: memrepo settings set workspaces …")
    if report.written or report.known:
        place = escape_control(repr(str(database)))
        tell(f"to take out of the database what the folder now holds: memrepo retire --from {place}")


def _find_status(report: ExportReport) -> int:
    from memrepo.errors import Busy, RepositoryFault
    from memrepo.model import Reason

    if report.stopped is None:
        return 0
    family = Busy if report.stopped.reason is Reason.BUSY else RepositoryFault
    return get_numbers(family("")).exit_status


def _format_day(at_ms: int) -> str:
    import datetime as dt

    return f" on {dt.datetime.fromtimestamp(at_ms / 1000).astimezone():%Y-%m-%d}" if at_ms else ""


def _tell_progress(invocation: Invocation) -> Callable[[int, int], None]:
    """Says on standard error how far a long export is."""

    def tell(done: int, total: int) -> None:
        if total >= _TOLD_FACTS and (done % _TOLD_FACTS == 0 or done == total):
            invocation.output.tell(f"exporting: {done:,} of {count(total, 'fact')}")

    return tell
