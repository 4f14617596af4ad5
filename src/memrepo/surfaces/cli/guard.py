"""`memrepo guard`: sandbox profiles that hide the memory from shell commands, and commands run in one.

A guarded command takes the place of this process, so its signals, terminal and exit status are its own. It is never run
without its sandbox: where there is none, that is an error.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING

import click

from memrepo.errors import Refused
from memrepo.surfaces.cli.table import MemrepoGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.guard import GuardedFolders
    from memrepo.surfaces.cli.invocation import Invocation

# What follows the first word is the command's own, options included.
_OWN_OPTIONS = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group(cls=MemrepoGroup, short_help="Hide memory from shell commands with a sandbox.")
def guard() -> None:
    """Hide memory from shell commands with a sandbox."""


@guard.command(short_help="Run a command that cannot reach memory.", context_settings=_OWN_OPTIONS)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def run(invocation: Invocation, command: tuple[str, ...]) -> None:
    """Run COMMAND where the memory folder is empty: with bubblewrap on Linux, with sandbox-exec on macOS.

    Without either it is not run.

    \b
    memrepo guard run -- make test
    """
    if sys.platform.startswith("linux"):
        _run_in_bubblewrap(invocation, command)
    elif sys.platform == "darwin":
        _run_in_seatbelt(invocation, command)
    else:
        raise _no_sandbox("there is no sandbox that memrepo knows for this system", hint="", command=command)


@guard.command(short_help="The options for bubblewrap, or a command run by it.", context_settings=_OWN_OPTIONS)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def bubblewrap(invocation: Invocation, command: tuple[str, ...]) -> None:
    """Print the bwrap line (Linux) that hides memory, or run COMMAND with it.

    \b
    memrepo guard bubblewrap
    memrepo guard bubblewrap -- make test
    """
    if command:
        _run_in_bubblewrap(invocation, command)
        return
    from memrepo.guard import BUBBLEWRAP, make_bubblewrap_arguments

    folders = _plan(invocation)
    arguments = [BUBBLEWRAP, *make_bubblewrap_arguments(folders, has_terminal=False)]
    invocation.output.emit({**_describe(folders), "arguments": arguments}, shlex.join(arguments))


@guard.command(short_help="The profile for macOS, or a command run under it.", context_settings=_OWN_OPTIONS)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def seatbelt(invocation: Invocation, command: tuple[str, ...]) -> None:
    """Print the sandbox-exec profile (macOS) that hides memory, or run COMMAND under it.

    \b
    memrepo guard seatbelt
    memrepo guard seatbelt -- make test
    """
    if command:
        _run_in_seatbelt(invocation, command)
        return
    from memrepo.guard import make_seatbelt_profile

    folders = _plan(invocation)
    profile = make_seatbelt_profile(folders)
    invocation.output.emit({**_describe(folders), "profile": profile}, profile.splitlines())


@guard.command("claude-code", short_help="Settings for Claude Code.")
@click.pass_obj
def claude_code(invocation: Invocation) -> None:
    """Print the settings that keep Claude Code's file tools and shell commands out of memory.

    \b
    memrepo guard claude-code
    """
    from memrepo.guard import make_claude_code_settings

    folders = _plan(invocation)
    settings = make_claude_code_settings(folders)
    words = json.dumps(settings, indent=2, ensure_ascii=False)
    invocation.output.emit({**_describe(folders), "profile": settings}, words)


@guard.command(short_help="A permission profile for Codex.")
@click.pass_obj
def codex(invocation: Invocation) -> None:
    """Print the permission profile that keeps Codex's commands out of memory.

    \b
    memrepo guard codex
    """
    from memrepo.guard import make_codex_profile

    folders = _plan(invocation)
    profile = make_codex_profile(folders)
    invocation.output.emit({**_describe(folders), "profile": profile}, profile.splitlines())


def _plan(invocation: Invocation) -> GuardedFolders:
    from memrepo.guard import find_true_path, plan_guard
    from memrepo.model import Locations

    repo = invocation.open(create=False, read_only=True)
    places = invocation.locations
    file = repo.store.file
    return plan_guard(
        find_true_path(repo.root),
        Locations(find_true_path(places.config), find_true_path(places.data), find_true_path(places.cache)),
        store_file=None if file is None else find_true_path(file),
        home=find_true_path(invocation.environment.home),
        teams=[find_true_path(team.path) for team in repo.settings.team_repos if team.path.is_dir()],
    )


def _run_in_bubblewrap(invocation: Invocation, command: Sequence[str]) -> None:
    from memrepo.guard import BUBBLEWRAP, make_bubblewrap_command

    folders = _plan(invocation)
    program = shutil.which(BUBBLEWRAP)
    if program is None:
        raise _no_sandbox(
            "bubblewrap is not installed", hint="install it, for example: apt install bubblewrap", command=command
        )
    has_terminal = invocation.environment.can_ask
    argv = make_bubblewrap_command(os.path.abspath(program), folders, command, has_terminal=has_terminal)  # noqa: PTH100 - text for exec
    _become(argv, folders, command)


def _run_in_seatbelt(invocation: Invocation, command: Sequence[str]) -> None:
    from memrepo.guard import SANDBOX_EXEC, make_seatbelt_command

    folders = _plan(invocation)
    if shutil.which(SANDBOX_EXEC) is None:
        raise _no_sandbox(
            f"there is no {SANDBOX_EXEC}; it is part of macOS", hint="on Linux: memrepo guard run", command=command
        )
    _become(make_seatbelt_command(folders, command), folders, command)


def _become(argv: tuple[str, ...], folders: GuardedFolders, command: Sequence[str]) -> None:
    """Starts a program in the place of this process. Changes: makes the folders that are guarded and not there yet."""
    from memrepo.guard import find_true_path
    from memrepo.surfaces.environment import find_current_folder

    if folders.is_hidden(find_true_path(find_current_folder())):
        raise Refused(
            "the current folder is one of those that are hidden; the command was not run",
            hint="change to another folder first",
            rule="guard-current-folder",
            actor="user",
            action="run",
            target=command[0],
        )
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        for folder in (*folders.hidden, *folders.read_only):  # what comes into being later must be covered too
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.execv(argv[0], argv)  # noqa: S606 - an argument list, no shell
    except OSError as error:
        why = f"the sandbox cannot be set up: {error.filename or argv[0]}: {error.strerror}"
        raise _no_sandbox(why, hint="", command=command) from error


def _no_sandbox(why: str, *, hint: str, command: Sequence[str]) -> Refused:
    return Refused(
        f"{why}; the command was not run", hint=hint, rule="no-sandbox", actor="user", action="run", target=command[0]
    )


def _describe(folders: GuardedFolders) -> dict[str, object]:
    return {
        "hidden": [str(folder) for folder in folders.hidden],
        "read_only": [str(folder) for folder in folders.read_only],
    }
