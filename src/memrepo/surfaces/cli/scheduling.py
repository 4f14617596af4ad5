"""`memrepo schedule`: dreams by themselves, by the system's own timer; shown first, as an install is."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrepo.errors import InvalidInput
from memrepo.installs.apply import InstallStore, read_present
from memrepo.installs.pieces import InstallScope, Surroundings
from memrepo.installs.plan import list_files, plan_install, plan_uninstall
from memrepo.installs.schedules import WAYS, choose_way, make_schedule
from memrepo.profiles import DEFAULT_PROFILE, check_profile
from memrepo.surfaces.cli.installing import carry_out, find_program
from memrepo.surfaces.cli.options import yes_option
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.environment import read_host_variables

if TYPE_CHECKING:
    from memrepo.surfaces.cli.invocation import Invocation

_SYSTEMD_RUNS = Path("/run/systemd/system")  # sd_booted(3)


@dataclass(frozen=True, slots=True)
class _Timer:
    """What `carry_out` needs to know of the thing that is installed."""

    name: str
    title: str
    next_steps: tuple[str, ...]
    store: InstallStore
    scope: InstallScope = InstallScope.USER


@click.command(cls=MemrepoCommand, short_help="Let memory be tidied by itself, by the system's timer.")
@click.option("--with", "way", type=click.Choice(WAYS), help="Which timer (default: the one that this system has).")
@click.option("--at", "time", metavar="HH:MM", default="03:30", show_default=True, help="When it looks, each day.")
@click.option("--remove", "is_removal", is_flag=True, help="Take the timer away.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Show the change and write nothing.")
@click.option("--force", "is_forced", is_flag=True, help="Also where the file is not memrepo's, or was edited.")
@yes_option
@click.pass_obj
def schedule(
    invocation: Invocation,
    *,
    way: str | None,
    time: str,
    is_removal: bool,
    is_dry: bool,
    is_forced: bool,
    is_confirmed: bool,
) -> None:
    """Let `memrepo dream now --if-due` run each day: a systemd timer, a launchd agent, or a line for your crontab.

    Shows the files, then asks, and says which command starts the timer. Nothing is dreamt before the setting dream is
    true.

    \b
    memrepo schedule --dry-run
    memrepo schedule --with systemd --at 04:15
    memrepo schedule --remove
    """
    hour, minute = _read_time(time)
    variables = read_host_variables()
    where = Surroundings(invocation.environment.home, invocation.environment.home, variables, sys.platform)
    profile = check_profile(invocation.options.profile)
    chosen = make_schedule(
        way or choose_way(sys.platform, has_systemd=_SYSTEMD_RUNS.is_dir()),
        where,
        find_program(invocation, variables, needs_path=True),
        hour=hour,
        minute=minute,
        profile="" if profile == DEFAULT_PROFILE else profile,
    )
    if chosen.line:
        document = {"way": chosen.way, "line": chosen.line, "next": list(chosen.start_steps)}
        invocation.output.emit(document, chosen.line)
        invocation.output.tell("remove this line: crontab -e" if is_removal else "add this line yourself: crontab -e")
        return
    store = InstallStore(
        invocation.locations.data,
        host=f"schedule-{chosen.way}" + ("" if profile == DEFAULT_PROFILE else f"-{profile}"),
        scope=InstallScope.USER,
        folder=invocation.environment.home,
    )
    recorded = store.read()
    present = read_present([*list_files(chosen.pieces), *recorded])
    if is_removal:
        backups = store.read_backups(recorded)
        plan = plan_uninstall(chosen.pieces, present=present, recorded=recorded, backups=backups, is_forced=is_forced)
        steps = chosen.end_steps
    else:
        plan = plan_install(chosen.pieces, present=present, recorded=recorded, is_forced=is_forced)
        steps = chosen.start_steps
    timer = _Timer(f"schedule-{chosen.way}", chosen.title, steps, store)
    carry_out(invocation, timer, plan, is_install=not is_removal, is_dry=is_dry, is_confirmed=is_confirmed)
    if is_removal and plan.edits and not is_dry:
        for step in steps:
            invocation.output.tell(f"next: {step}")


def _read_time(raw: str) -> tuple[int, int]:
    hour, colon, minute = raw.partition(":")
    if colon and hour.isdecimal() and minute.isdecimal() and int(hour) < 24 and int(minute) < 60:
        return int(hour), int(minute)
    raise InvalidInput(f"{raw[:20]!r} is no time of day", hint="for example: --at 03:30", key="--at", value=raw[:20])
