"""docs/cli.md knows every command and option of the program, and its examples run as they stand."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from tests.kit.cowork import make_cowork, make_row
from tests.kit.remotes import Switchboard, make_bare
from tests.kit.teams import make_team

from memrepo.app import MemoryRepo
from memrepo.locations import find_locations
from memrepo.model import TaskContext
from memrepo.surfaces.cli.entry import run
from memrepo.surfaces.cli.table import COMMANDS, root

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text("utf-8")
SECTIONS = {match[1]: match[0] for match in re.finditer(r"^## ([\w-]+)\n(?:(?!^## ).*\n?)+", PAGE, re.MULTILINE)}
EXAMPLES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def iter_commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its whole name; a group comes before its own."""
    context = click.Context(root)
    for name in COMMANDS:
        command = root.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", command.commands[below]) for below in command.commands)


ALL = dict(iter_commands())


def test_every_command_has_a_section_and_every_section_of_a_command_is_one() -> None:
    assert [name for name in SECTIONS if name in COMMANDS] == sorted(SECTIONS, key=list(SECTIONS).index)
    assert set(SECTIONS) == set(COMMANDS)


@pytest.mark.parametrize("name", [name for name in ALL if not isinstance(ALL[name], click.Group)])
def test_every_command_has_an_example(name: str) -> None:
    assert any(f"{line} ".startswith(f"memrepo {name} ") for line in EXAMPLES)


@pytest.mark.parametrize("name", ALL)
def test_the_list_of_commands_says_what_the_command_says(name: str) -> None:
    command = ALL[name]
    assert command.help
    if name in COMMANDS:
        assert command.short_help == COMMANDS[name].help
    if not isinstance(command, click.Group):
        assert f"memrepo {name}" in command.help, "its help shows no example"


@pytest.mark.parametrize("name", ALL)
def test_every_command_takes_the_global_options(name: str) -> None:
    options = {option for parameter in ALL[name].params for option in parameter.opts}
    assert {"--path", "--profile", "--json"} <= options


@pytest.mark.parametrize("name", ALL)
def test_every_option_is_in_the_section_of_its_command(name: str) -> None:
    section = SECTIONS[name.partition(" ")[0]]
    shared = {"--path", "--profile", "--json", "--help", "--yes"}
    for parameter in ALL[name].params:
        for option in parameter.opts:
            if option.startswith("--") and option not in shared:
                assert option in section, f"{name}: {option} is not documented"


def ask_to_forget(home: Path) -> None:
    """Two agents ask to forget what they did not write."""
    with MemoryRepo.open(locations=find_locations(home / "memrepo-home"), home=home) as repo:
        for fact in ("Hums while working", "Whistles while working"):
            ref = repo.remember(fact, TaskContext.for_user()).ref
            assert ref is not None
            repo.request_forget(ref, TaskContext(task_id="s-1"))


def leave_lines_to_tidy(home: Path) -> None:
    """An agent's double, which a dream removes at once, and two of the user's own, which wait."""
    with (home / "CoWork Memory" / "lessons.md").open("a", encoding="utf-8") as file:
        file.write("- Knocks twice [by: agent]\n- Knocks twice [by: agent]\n- Bows once\n- Bows once\n- Bows once\n")


def test_every_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMREPO_HOME", str(tmp_path / "memrepo-home"))
    monkeypatch.chdir(tmp_path)
    # A guarded command would take the place of this process; tests/surfaces/test_cli_guard.py runs real ones.
    monkeypatch.setattr("os.execv", lambda program, arguments: None)
    # A server keeps the standard output it takes; tests/surfaces/test_mcp_transports.py runs real ones.
    monkeypatch.setattr("memrepo.surfaces.mcp.stdio.take_stdout", lambda: -1)
    monkeypatch.setattr("memrepo.surfaces.mcp.stdio.serve_stdio", lambda server, descriptor: None)
    network = Switchboard({"git@example.org:me/memory.git": make_bare(tmp_path / "host" / "memory.git")})
    network.put_in(monkeypatch)
    # The Hub serves until it is told to end; tests/surfaces/test_hub.py runs the real one.
    monkeypatch.setattr("memrepo.surfaces.hub.serving.serve_hub", lambda doors, profile, port, tell: None)
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "bwrap").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=os.pathsep)
    (tmp_path / "projects" / "billing" / ".git").mkdir(parents=True)
    (tmp_path / "facts.txt").write_text("Drinks tea\nPlays the cello\n", "utf-8")
    (tmp_path / "event.json").write_text('{"session_id": "s", "source": "startup"}', "utf-8")
    make_cowork(tmp_path / "cowork.db", [make_row("Sings in a choir"), make_row("Rides to work", source="curated")])
    (tmp_path / "notes").mkdir(exist_ok=True)
    (tmp_path / "notes" / "me.md").write_text("- Plays the viola\n", "utf-8")
    (tmp_path / "projects" / "billing" / "CLAUDE.md").write_text("- Run the tests with nox\n", "utf-8")
    (tmp_path / "mem0.json").write_text('[{"memory": "Dreams of the sea"}]', "utf-8")
    make_team(tmp_path / "team" / "core")
    make_team(tmp_path / "team" / "ops")
    (tmp_path / "measured").mkdir()
    fact = {"conv": "c", "fact": "Ann plays the cello", "date": "8 May, 2023", "dia_ids": ["D1:1"]}
    question = {"conv": "c", "question": "What does Ann play?", "covered": ["D1:1"]}
    (tmp_path / "measured" / "facts.jsonl").write_text(json.dumps(fact) + "\n", "utf-8")
    (tmp_path / "measured" / "questions.jsonl").write_text(json.dumps(question) + "\n", "utf-8")
    day = ""
    for example in EXAMPLES:
        command, _, source = example.partition(" < ")
        stdin = (tmp_path / source).read_bytes() if source else b""
        if example == "memrepo approvals":
            ask_to_forget(tmp_path)
        if example == "memrepo dream now --tidy":
            leave_lines_to_tidy(tmp_path)
            day = dt.datetime.now().astimezone().date().isoformat()
        command = command.replace("2026-10-05", day)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = run(shlex.split(command.replace(" ~/", f" {tmp_path}/"))[1:])
        told = capsys.readouterr()
        assert status == 0, f"{example}: exit {status}\n{told.out}{told.err}"
