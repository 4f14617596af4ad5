"""`memrepo import`: notes, exports and other memories, into the inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import count, quote
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import EXIT_OK, EXIT_REFUSED, escape_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memrepo.files.sources import Unread
    from memrepo.importers.found import PassedOver
    from memrepo.importers.plan import ImportPlan, Offer
    from memrepo.model import Ref
    from memrepo.surfaces.cli.invocation import Invocation

# As in importers.formats, which is not loaded to show a help text; a test holds them together.
FORMATS = click.Choice(("notes", "memory-repo", "claude-code", "openclaw", "mem0", "chatgpt", "basic-memory"))
_SHOWN_FACTS = 20
_SHOWN_NAMES = 5


@click.command("import", cls=MemrepoCommand, short_help="Bring notes, exports and other memories to the inbox.")
@click.argument("source")
@click.option("--format", "format_name", type=FORMATS, help="What SOURCE is, instead of finding it out.")
@click.option("--workspace", metavar="DIR|ID", help="The project that its facts belong to, instead of everywhere.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Show what would be brought and what is left; change nothing.")
@click.pass_obj
def import_(
    invocation: Invocation, *, source: str, format_name: str | None, workspace: str | None, is_dry: bool
) -> int:
    """Bring the facts of SOURCE to the inbox, in one commit. SOURCE is a folder, a file or a zip archive.

    It may be notes, another memory repo, the memory of Claude Code, OpenClaw, mem0 or basic-memory, or an export of
    ChatGPT. Nothing counts as your word, and no agent sees it, until you keep it: memrepo inbox.

    \b
    memrepo import ~/notes --dry-run
    memrepo import ~/Downloads/chatgpt-export.zip
    memrepo import ~/projects/billing/CLAUDE.md --workspace ~/projects/billing
    """
    place = invocation.find_path(source)
    repo = invocation.open(read_only=is_dry, may_be_missing=True)
    where = invocation.find_workspace(repo, workspace) if workspace is not None else None
    plan = repo.plan_import(place, format_name=format_name, workspace=where)
    head: dict[str, object] = {"source": str(place), "dry_run": is_dry}
    if is_dry:
        document = _describe(plan, {}, plan.left)
        invocation.output.emit(head | document, _format(invocation, plan, plan.left, "would bring"))
        return EXIT_OK
    repo.create()
    report = repo.run_import(plan)
    refs = {offer.fact.text: result.ref for offer, result in report.written}
    commit = next((result.commit for _, result in report.written), None)
    document = _describe(plan, refs, report.left) | {"written": len(report.written), "commit": commit}
    invocation.output.emit(head | document, _format(invocation, plan, report.left, "brought", len(report.written)))
    invocation.warn_without_history(repo)
    if notes := {result.detail for _, result in report.written if "not yet in the history" in result.detail}:
        invocation.output.tell(f"note: {escape_control(min(notes))}")
    if report.written:
        invocation.output.tell(
            "to read them: memrepo inbox; to decide: memrepo inbox keep, pin or discard, by REF or for"
        )
        invocation.output.tell("many: --contains TEXT, --kind KIND, --source import")
    if report.has_no_room:
        invocation.output.tell("the rest comes when there is room: decide, then run the import again")
        return EXIT_REFUSED
    return EXIT_OK


def _describe(plan: ImportPlan, refs: Mapping[str, Ref | None], left: Iterable[PassedOver]) -> dict[str, object]:
    from memrepo.importers.plan import count_reasons

    return {
        "format": str(plan.format),
        "guessed": plan.is_guessed,
        "written": 0,
        "commit": None,
        "facts": [_describe_fact(offer, refs.get(offer.fact.text)) for offer in plan.offers],
        "skipped": [{"why": why, "count": len(places), "places": places} for why, places in count_reasons(tuple(left))],
        "files": list(plan.files),
        "unread": [{"name": one.name, "why": one.why} for one in plan.unread],
        "other_files": plan.other,
    }


def _describe_fact(offer: Offer, ref: Ref | None) -> dict[str, object]:
    candidate = offer.candidate
    return {
        "text": offer.fact.text,
        "kind": str(candidate.kind),
        "workspace": candidate.workspace.id if candidate.workspace else None,
        "added": str(candidate.added),
        "place": offer.place,
        "redactions": list(offer.redactions),
        "ref": str(ref) if ref else None,
    }


def _format(
    invocation: Invocation, plan: ImportPlan, left: Sequence[PassedOver], verb: str, number: int | None = None
) -> list[str]:
    from memrepo.importers.plan import count_reasons

    guessed = " (to say otherwise: --format)" if plan.is_guessed else ""
    lines = [
        f"{plan.format}: read {count(len(plan.files), 'file')}{guessed}",
        f"{verb} {count(len(plan.offers) if number is None else number, 'fact')} to the inbox",
    ]
    if number is None:
        rows = [(str(one.candidate.kind), one.place, quote(one.fact.text)) for one in plan.offers[:_SHOWN_FACTS]]
        lines += invocation.output.format_rows(rows)
        if more := len(plan.offers) - len(rows):
            lines.append(f"and {more:,} more: memrepo import SOURCE --dry-run --json")
    lines += _format_redactions(plan.offers)
    lines += [f"left: {escape_control(why)} ({len(places):,})" for why, places in count_reasons(tuple(left))]
    lines += _format_unread(plan.unread)
    if plan.other:
        lines.append(f"not read: {count(plan.other, 'file')} of other kinds")
    return lines


def _format_redactions(offers: Iterable[Offer]) -> list[str]:
    redacted = [offer.redactions for offer in offers if offer.redactions]
    kinds = sorted({kind for kinds in redacted for kind in kinds})
    return [f"redacted in {count(len(redacted), 'fact')}: {', '.join(kinds)}"] if redacted else []


def _format_unread(unread: Iterable[Unread]) -> list[str]:
    """A line per reason, with the first names."""
    names: dict[str, list[str]] = {}
    for one in unread:
        names.setdefault(one.why, []).append(one.name)
    lines = []
    for why, found in names.items():
        more = f", and {len(found) - _SHOWN_NAMES:,} more" if len(found) > _SHOWN_NAMES else ""
        lines.append(f"not read: {escape_control(why)}: {escape_control(', '.join(found[:_SHOWN_NAMES]))}{more}")
    return lines
