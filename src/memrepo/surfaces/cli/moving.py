"""All of a memory out of this machine (`memrepo export --to`) and into another (`memrepo init --from`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.surfaces.cli.options import count
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memrepo.portable.leaving import LeaveReport
    from memrepo.portable.returning import ReturnReport
    from memrepo.surfaces.cli.invocation import Invocation

_SHOWN_NAMES = 10
_UNTIDY = {
    "hand_edits": "what you edited since the last commit is in the export as it stands, in no commit",
    "no_history": "there is no history to export",
}


def take_along(invocation: Invocation, target: Path, form: str | None) -> int:
    """Writes an export and says what is in it."""
    repo = invocation.open(read_only=True)
    report = repo.export_to(target, form=form)
    invocation.output.emit(_describe_export(report), _format_export(report))
    tell = invocation.output.tell
    if report.work_tree != "clean":
        state = report.work_tree.replace("_", " ")
        tell(f"note: {_UNTIDY.get(report.work_tree, f'the folder is exported as it stands ({state})')}")
    if not repo.has_git_program and report.work_tree == "no_history":
        tell("note: git not found: without it no history is exported")
    if report.form == "json" and repo.has_git:
        tell("note: JSON holds the files as they are now; their history is in a folder or a zip only")
    for name, why in report.left_out[:_SHOWN_NAMES]:
        tell(f"left out: {escape_control(name)}: {escape_control(why)}")
    if (more := len(report.left_out) - _SHOWN_NAMES) > 0:
        tell(f"left out: {more:,} more, see manifest.json")
    for warning in report.warnings:
        tell(f"memrepo: warning: {escape_control(warning)}")
    tell("it is not encrypted: keep it where only you can read it")
    tell(f"to make a memory of it again: memrepo init --from {escape_control(repr(str(report.path)))}")
    return 0


def bring_back(invocation: Invocation, export: Path) -> None:
    """Makes a memory from an export and says what came back."""
    repo = invocation.open(may_be_missing=True)
    report = repo.init_from(export)
    document = {
        "root": str(report.path),
        "created": True,
        "git": repo.has_git,
        "from": str(export),
        "head": report.head,
        **_describe_counts(report.counts),
        "settings": report.settings,
        "work_tree": report.work_tree,
        "notes": list(report.notes),
    }
    invocation.output.emit(document, _format_return(report))
    for note in report.notes:
        invocation.output.tell(f"note: {escape_control(note)}")
    invocation.warn_without_history(repo)
    if invocation.options.path is not None and report.settings != "taken":
        place = escape_control(str(report.path))
        invocation.output.tell(f"to use it from now on: memrepo settings set path {place!r}")


def _describe_export(report: LeaveReport) -> dict[str, object]:
    return {
        "export": str(report.path),
        "format": str(report.form),
        "size_bytes": report.size_bytes,
        "head": report.head,
        **_describe_counts(report.counts),
        "settings": report.has_settings,
        "work_tree": report.work_tree,
        "left_out": [{"name": name, "why": why} for name, why in report.left_out],
        "warnings": list(report.warnings),
    }


def _describe_counts(counts: Mapping[str, int]) -> dict[str, object]:
    names = ("files", "commits", "facts", "commitments", "archive", "pending", "forgotten", "events")
    return {name: counts.get(name, 0) for name in names}


def _format_export(report: LeaveReport) -> list[str]:
    words = [f"exported to {escape_control(str(report.path))} ({report.size_bytes:,} bytes)"]
    return words + _format_counts(report.counts)


def _format_return(report: ReturnReport) -> list[str]:
    return [f"made {escape_control(str(report.path))} from the export", *_format_counts(report.counts)]


def _format_counts(counts: Mapping[str, int]) -> list[str]:
    folder = [count(counts.get("files", 0), "file"), count(counts.get("commits", 0), "commit")]
    kinds = (
        ("facts", "private fact", None),
        ("commitments", "commitment", None),
        ("archive", "record of tasks", "records of tasks"),
        ("pending", "write that waits", "writes that wait"),
        ("forgotten", "mark of what was forgotten", "marks of what was forgotten"),
    )
    store = [count(number, one, many) for name, one, many in kinds if (number := counts.get(name, 0))]
    return [", ".join(folder), *([", ".join(store)] if store else [])]
