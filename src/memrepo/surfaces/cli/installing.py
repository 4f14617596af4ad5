"""`memrepo install`, `uninstall` and `status`: agent hosts get memrepo and lose it again, by a change that is shown."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from memrepo.errors import InvalidInput, MemrepoError
from memrepo.installs.apply import InstallStore, check_inside, find_target, read_present
from memrepo.installs.hosts import HOSTS, get_host
from memrepo.installs.pieces import InstallScope, Program, Surroundings
from memrepo.installs.plan import list_files, plan_install, plan_uninstall
from memrepo.profiles import DEFAULT_PROFILE, check_profile
from memrepo.surfaces.cli.options import yes_option
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.environment import HOME_VARIABLE, find_current_folder, read_host_variables
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memrepo.installs.pieces import Host, Piece
    from memrepo.installs.plan import FileEdit, InstallPlan
    from memrepo.surfaces.cli.invocation import Invocation

_CONTEXT_LINES = 2
_COLORS = {"+": "good", "-": "bad", "@": "faint"}

_host_argument = click.argument("host", metavar="HOST", type=click.Choice(list(HOSTS)))
_folder_option = click.option("--folder", metavar="DIR", help="The project (default: the current folder).")
_force_option = click.option(
    "--force", "is_forced", is_flag=True, help="Also where it is not memrepo's, or was edited."
)
_dry_option = click.option("--dry-run", "is_dry", is_flag=True, help="Show the change and write nothing.")


def _scope_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--scope",
        type=click.Choice([str(scope) for scope in InstallScope]),
        default=str(InstallScope.USER),
        help="All your sessions, or those in one project (default: user).",
    )(command)


@click.command(cls=MemrepoCommand, short_help="Give memory to an agent host.")
@_host_argument
@_scope_option
@_folder_option
@_dry_option
@_force_option
@yes_option
@click.pass_obj
def install(
    invocation: Invocation,
    host: str,
    scope: str,
    folder: str | None,
    is_dry: bool,  # noqa: FBT001 - click's
    is_forced: bool,  # noqa: FBT001 - click's
    is_confirmed: bool,  # noqa: FBT001 - click's
) -> None:
    """Give memory to an agent host: the MCP server, hooks and a skill. Shows the change, then asks.

    HOST is claude-code, codex, gemini, cursor, opencode or vscode. What you wrote in its settings stays.

    \b
    memrepo install claude-code
    memrepo install codex --dry-run
    memrepo install vscode --scope project --folder ~/projects/billing
    """
    target = _Target.find(invocation, host, scope, folder)
    plan = plan_install(target.pieces, present=target.present, recorded=target.recorded, is_forced=is_forced)
    carry_out(invocation, target, plan, is_install=True, is_dry=is_dry, is_confirmed=is_confirmed)


@click.command(cls=MemrepoCommand, short_help="Take memory out of an agent host.")
@_host_argument
@_scope_option
@_folder_option
@_dry_option
@_force_option
@yes_option
@click.pass_obj
def uninstall(
    invocation: Invocation,
    host: str,
    scope: str,
    folder: str | None,
    is_dry: bool,  # noqa: FBT001 - click's
    is_forced: bool,  # noqa: FBT001 - click's
    is_confirmed: bool,  # noqa: FBT001 - click's
) -> None:
    """Take memory out of an agent host. A file that is as memrepo left it becomes what it was, byte by byte.

    \b
    memrepo uninstall claude-code
    """
    target = _Target.find(invocation, host, scope, folder)
    plan = plan_uninstall(
        target.pieces,
        present=target.present,
        recorded=target.recorded,
        backups=target.store.read_backups(target.recorded),
        is_forced=is_forced,
    )
    carry_out(invocation, target, plan, is_install=False, is_dry=is_dry, is_confirmed=is_confirmed)


@click.command(cls=MemrepoCommand, short_help="Show which agent hosts have memory.")
@click.argument("host", metavar="[HOST]", type=click.Choice(list(HOSTS)), required=False)
@_folder_option
@click.pass_obj
def status(invocation: Invocation, host: str | None, folder: str | None) -> None:
    """Show for each host and scope whether memrepo is installed, what it sees there, and what it cannot enforce.

    \b
    memrepo status
    memrepo status codex
    """
    has_project = folder is not None or find_current_folder() != invocation.environment.home
    rows = [
        _describe_state(_Target.find(invocation, name, scope, folder))
        for name in ([host] if host else HOSTS)
        for scope in InstallScope
        if scope is InstallScope.USER or has_project
    ]
    cells = [(row["host"], row["scope"], row["state"], row["detail"]) for row in rows]
    words = [line.rstrip() for line in invocation.output.format_rows(cells)]
    if host:
        words += ["", f"sees: {', '.join(rows[0]['events'])}", *(f"cannot: {one}" for one in rows[0]["limits"])]
    invocation.output.emit({"hosts": rows}, words)


@dataclass(frozen=True)
class _Target:
    """One host in one scope: its pieces, and what stands there now."""

    host: Host
    scope: InstallScope
    folder: Path
    program: Program
    pieces: tuple[Piece, ...]
    store: InstallStore

    @classmethod
    def find(cls, invocation: Invocation, host: str, scope: str, folder: str | None) -> _Target:
        chosen, in_scope = get_host(host), InstallScope(scope)
        variables = read_host_variables()
        where = invocation.find_path(folder) if folder is not None else find_current_folder()
        if not where.is_dir():
            raise InvalidInput(
                f"{where} is not a folder", hint="give the project's folder: --folder DIR", key="--folder"
            )
        if in_scope is InstallScope.PROJECT and where == invocation.environment.home:
            raise InvalidInput(
                "the home folder is no project",
                hint="give the project's folder: --folder DIR; or all your sessions: --scope user",
                key="--folder",
            )
        surroundings = Surroundings(invocation.environment.home, where, variables, sys.platform)
        # A project's files are for all who work on it, on machines where a path of this one says nothing.
        needs_path = chosen.is_app and in_scope is InstallScope.USER
        program = find_program(invocation, variables, needs_path=needs_path)
        return cls(
            chosen,
            in_scope,
            where,
            program,
            chosen.make_pieces(surroundings, in_scope, program),
            InstallStore(invocation.locations.data, host=host, scope=in_scope, folder=where),
        )

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def title(self) -> str:
        return self.host.title

    @property
    def next_steps(self) -> tuple[str, ...]:
        return self.host.next_steps

    @cached_property
    def recorded(self) -> dict[Path, Any]:
        return self.store.read()

    @cached_property
    def present(self) -> dict[Path, bytes | None]:
        paths = [*list_files(self.pieces), *self.recorded]
        if self.scope is InstallScope.PROJECT:
            check_inside(self.folder, paths)
        return read_present(paths)


def find_program(invocation: Invocation, variables: dict[str, str], *, needs_path: bool = False) -> Program:
    """How hosts start this memrepo: by its name where every shell finds it, else by its whole path."""
    found = shutil.which("memrepo")
    active = variables.get("VIRTUAL_ENV")
    if found and not (active and Path(found).is_relative_to(active)):  # there only while it is active
        argv: tuple[str, ...] = (str(Path(found).absolute()) if needs_path else "memrepo",)
    elif Path(sys.argv[0]).name == "memrepo" and os.access(sys.argv[0], os.X_OK):
        argv = (str(Path(sys.argv[0]).absolute()),)
    else:
        argv = (found,) if found else (sys.executable, "-m", "memrepo")
    options: list[str] = []
    profile = check_profile(invocation.options.profile)
    if profile != DEFAULT_PROFILE:
        options += ["--profile", profile]
    if invocation.options.path is not None:
        options += ["--path", str(invocation.find_path(invocation.options.path))]
    home = invocation.environment.memrepo_home
    return Program(argv, tuple(options), ((HOME_VARIABLE, str(home)),) if home is not None else ())


class Installed(Protocol):
    """What `carry_out` must know of the thing that gets files of ours."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def next_steps(self) -> tuple[str, ...]: ...
    @property
    def scope(self) -> InstallScope: ...
    @property
    def store(self) -> InstallStore: ...


def carry_out(
    invocation: Invocation, target: Installed, plan: InstallPlan, *, is_install: bool, is_dry: bool, is_confirmed: bool
) -> None:
    """Shows a plan, asks, writes it, and says what was done."""
    output, title = invocation.output, target.title
    backups: dict[Path, Path] = {}
    verb = "installed" if is_install else "removed"
    notes = [*plan.notes, *_tell_links(plan)]
    if not plan.edits:
        lines = [f"{title} ({target.scope}): {'already installed' if is_install else 'not installed'}; nothing changed"]
    elif is_dry:
        lines = [*_paint_diff(invocation, plan), *notes]
    else:
        if not is_confirmed and not invocation.options.as_json:
            for line in (*_paint_diff(invocation, plan), *notes):
                output.tell(line)
        question = f"{'Change' if is_install else 'Restore'} these files of {title}?"
        invocation.confirm(question, action="install" if is_install else "uninstall", is_confirmed=is_confirmed)
        backups = target.store.apply(plan, is_install=is_install)
        lines = [*(_tell_edit(edit) for edit in plan.edits), f"{title} ({target.scope}): {verb}"]
        places = dict.fromkeys(escape_control(str(place.parent)) for place in backups.values())
        lines += [f"the files from before are in {place}" for place in places]
        lines += [f"next: {step}" for step in target.next_steps] if is_install else []
    document = {
        "host": target.name,
        "scope": str(target.scope),
        "changed": bool(plan.edits) and not is_dry,
        "files": [
            {"path": str(edit.path), "change": _name_change(edit), "backup": _name(backups.get(edit.path))}
            for edit in plan.edits
        ],
        "diff": "".join(f"{line}\n" for line in _iter_diff(plan)),
        "notes": notes,
    }
    output.emit(document, lines if is_dry or not plan.notes else [*lines, *plan.notes])


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _name_change(edit: FileEdit) -> str:
    if edit.before is None:
        return "created"
    return "removed" if edit.after is None else "changed"


def _tell_edit(edit: FileEdit) -> str:
    return f"{_name_change(edit)} {escape_control(str(edit.path))}"


def _tell_links(plan: InstallPlan) -> list[str]:
    found = [(edit.path, find_target(edit.path)) for edit in plan.edits if edit.after is not None]
    return [f"{path} is a link; what changes is {target}" for path, target in found if target is not None]


def _iter_diff(plan: InstallPlan) -> Iterator[str]:
    import difflib

    from memrepo.policy.redaction import redact

    for edit in plan.edits:
        old, new = (_split(data) for data in (edit.before, edit.after))
        source, target = ("/dev/null" if data is None else str(edit.path) for data in (edit.before, edit.after))
        for line in difflib.unified_diff(old, new, source, target, lineterm="", n=_CONTEXT_LINES):
            yield redact(line).text  # the lines around the change may hold keys of other servers


def _split(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").split("\n")


def _paint_diff(invocation: Invocation, plan: InstallPlan) -> list[str]:
    lines = []
    for line in _iter_diff(plan):
        shown = escape_control(line)
        style = _COLORS.get(line[:1])
        lines.append(invocation.output.paint(shown, style) if style else shown)
    return lines


def _describe_state(target: _Target) -> dict[str, Any]:
    state, detail = _find_state(target)
    return {
        "host": target.host.name,
        "scope": str(target.scope),
        "state": state,
        "detail": detail,
        "program": list(target.program.argv),
        "program_found": shutil.which(target.program.argv[0]) is not None,
        "files": [str(path) for path in dict.fromkeys((*list_files(target.pieces), *target.recorded))],
        "events": [str(event) for event, _ in target.host.events],
        "limits": list(target.host.limits),
    }


def _find_state(target: _Target) -> tuple[str, str]:
    """`not installed`, `installed`, `outdated` or `broken`, and why."""
    try:
        present = target.present
        removal = plan_uninstall(target.pieces, present=present, recorded=target.recorded, backups={})
        if not removal.edits and not removal.notes:
            return "not installed", ""
        plan = plan_install(target.pieces, present=present, recorded=target.recorded)
    except MemrepoError as error:
        return "broken", error.message
    if plan.edits:
        names = ", ".join(str(edit.path) for edit in plan.edits)
        return "outdated", f"run memrepo install {target.host.name} again: {names}"
    command = target.program.argv[0]
    if shutil.which(command) is None:
        return "broken", f"{command} is not found"
    return "installed", ""
