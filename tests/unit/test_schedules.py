"""What is written for a timer of each system, and how a command stands in it."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest

from memrepo.installs.pieces import Program, Surroundings
from memrepo.installs.schedules import CRON, LAUNCHD, SYSTEMD, Schedule, choose_way, make_schedule

HOME = Path("/home/me")
PLAIN = Program(("/usr/bin/memrepo",))
ODD = Program(('/opt/my "tools"/100%/$x\\memrepo',), ("--path", "/home/me/a $b"), (("MEMREPO_HOME", "/home/me/m r"),))


def make(way: str, program: Program = PLAIN, **options: str) -> Schedule:
    return make_schedule(way, Surroundings(HOME, HOME), program, hour=3, minute=5, **options)


def test_a_system_gets_the_timer_it_has() -> None:
    ways = [choose_way("darwin", has_systemd=False), choose_way("linux", has_systemd=True)]
    assert [*ways, choose_way("linux", has_systemd=False)] == [LAUNCHD, SYSTEMD, CRON]


def test_systemd_gets_a_service_and_a_timer() -> None:
    schedule = make(SYSTEMD)
    service, timer = (piece.data.decode() for piece in schedule.pieces)
    assert [str(piece.path) for piece in schedule.pieces] == [
        "/home/me/.config/systemd/user/memrepo-dream.service",
        "/home/me/.config/systemd/user/memrepo-dream.timer",
    ]
    assert 'ExecStart="/usr/bin/memrepo" "dream" "now" "--if-due"\n' in service
    assert "OnCalendar=*-*-* 03:05:00\nPersistent=true" in timer
    assert "systemctl --user enable --now memrepo-dream.timer" in schedule.start_steps


def test_what_systemd_would_read_as_its_own_is_escaped() -> None:
    service = make(SYSTEMD, ODD).pieces[0].data.decode()
    assert '"/opt/my \\"tools\\"/100%%/$x\\\\memrepo" "dream"' in service
    assert '"--path" "/home/me/a $$b"' in service
    assert 'Environment="MEMREPO_HOME=/home/me/m r"' in service


def test_launchd_gets_an_agent() -> None:
    (piece,) = make(LAUNCHD, ODD).pieces
    document = plistlib.loads(piece.data)
    assert piece.path == HOME / "Library/LaunchAgents/io.memrepo.dream.plist"
    assert document["ProgramArguments"] == [*ODD.argv, "dream", "now", "--if-due", "--path", "/home/me/a $b"]
    assert document["EnvironmentVariables"] == {"MEMREPO_HOME": "/home/me/m r"}
    assert document["StartCalendarInterval"] == {"Hour": 3, "Minute": 5}


def test_cron_gets_a_line() -> None:
    assert make(CRON).line == "5 3 * * * /usr/bin/memrepo dream now --if-due"
    assert make(CRON).pieces == ()
    assert make(CRON, ODD).line.startswith("5 3 * * * MEMREPO_HOME='/home/me/m r' '/opt/my \"tools\"/100\\%/$x")


@pytest.mark.parametrize("way", [SYSTEMD, LAUNCHD])
def test_each_profile_has_a_timer_of_its_own(way: str) -> None:
    paths = {piece.path for profile in ("", "work") for piece in make(way, profile=profile).pieces}
    assert len(paths) == (4 if way == SYSTEMD else 2)
