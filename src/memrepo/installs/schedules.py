"""How each system runs a command every day: the files of a timer, or the line of a crontab. Pure.

What is scheduled is `memrepo dream now --if-due`, so that the time is only when memrepo looks, not when it must dream.
Forms: systemd.service(5), systemd.timer(5), systemd.syntax(7); launchd.plist(5); crontab(5).
"""

from __future__ import annotations

import plistlib
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.installs.pieces import OwnFile

if TYPE_CHECKING:
    from memrepo.installs.pieces import Program, Surroundings

SYSTEMD, LAUNCHD, CRON = "systemd", "launchd", "cron"
WAYS = (SYSTEMD, LAUNCHD, CRON)
_WORDS = ("dream", "now", "--if-due")


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule: its files, and what the user runs to start and to end it. `line` is a crontab's, else ""."""

    way: str
    title: str
    pieces: tuple[OwnFile, ...]
    start_steps: tuple[str, ...]
    end_steps: tuple[str, ...]
    line: str = ""


def choose_way(platform: str, *, has_systemd: bool) -> str:
    """The way that a system has."""
    if platform == "darwin":
        return LAUNCHD
    return SYSTEMD if has_systemd else CRON


def make_schedule(
    way: str, where: Surroundings, program: Program, *, hour: int, minute: int, profile: str = ""
) -> Schedule:
    """The schedule of one profile ("" for the default one), each day at that time of the machine's own clock."""
    name = f"memrepo-dream-{profile}" if profile else "memrepo-dream"
    argv = (*program.argv, *_WORDS, *program.options)
    if way == LAUNCHD:
        return _make_launchd(name, where, argv, program, hour, minute)
    if way == CRON:
        return _make_cron(argv, program, hour, minute)
    folder = where.find_folder("XDG_CONFIG_HOME", where.home / ".config") / "systemd" / "user"
    variables = "".join(f"Environment={_quote(f'{key}={value}')}\n" for key, value in program.environment)
    service = (
        "[Unit]\nDescription=memrepo: tidy memory when it is due\n\n[Service]\nType=oneshot\n"
        f"ExecStart={_quote(argv[0])} {' '.join(_quote(word).replace('$', '$$') for word in argv[1:])}\n{variables}"
    )
    timer = (
        "[Unit]\nDescription=memrepo: look each day whether memory is to be tidied\n\n[Timer]\n"
        f"OnCalendar=*-*-* {hour:02}:{minute:02}:00\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )
    pieces = (
        OwnFile(folder / f"{name}.service", service.encode()),
        OwnFile(folder / f"{name}.timer", timer.encode()),
    )
    reload = "systemctl --user daemon-reload"
    return Schedule(
        SYSTEMD,
        "systemd",
        pieces,
        (reload, f"systemctl --user enable --now {name}.timer"),
        (f"systemctl --user disable --now {name}.timer", reload),
    )


def _make_launchd(
    name: str, where: Surroundings, argv: tuple[str, ...], program: Program, hour: int, minute: int
) -> Schedule:
    label = f"io.memrepo.{name.removeprefix('memrepo-')}"
    document: dict[str, object] = {
        "Label": label,
        "ProgramArguments": list(argv),
        "StartCalendarInterval": {"Hour": hour, "Minute": minute},
    }
    if program.environment:
        document["EnvironmentVariables"] = dict(program.environment)
    path = where.home / "Library" / "LaunchAgents" / f"{label}.plist"
    place = shlex.quote(str(path))
    return Schedule(
        LAUNCHD,
        "launchd",
        (OwnFile(path, plistlib.dumps(document)),),
        (f"launchctl bootstrap gui/$(id -u) {place}",),
        (f"launchctl bootout gui/$(id -u)/{label}",),
    )


def _make_cron(argv: tuple[str, ...], program: Program, hour: int, minute: int) -> Schedule:
    variables = [f"{key}={shlex.quote(value)}" for key, value in program.environment]
    command = " ".join([*variables, shlex.join(argv)]).replace("%", "\\%")
    line = f"{minute} {hour} * * * {command}"
    return Schedule(CRON, "cron", (), ("crontab -e, and add the line",), ("crontab -e, and remove the line",), line)


def _quote(text: str) -> str:
    """A word as systemd reads it: in double quotes, without specifiers."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'
