"""The real program as a process: what it loads, how it meets pipes, terminals, odd locales and a lack of git."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.program import TIMEOUT_S, make_environment

if TYPE_CHECKING:
    from tests.kit.program import Program

HEAVY = {"pydantic", "pydantic_core", "sqlalchemy", "tomlkit", "json", "subprocess", "asyncio", "sqlite3"}
LIST_LOADED = """
import sys
from memrepo.surfaces.cli.entry import run
status = run(sys.argv[1:])
sys.stdout.flush()
sys.stderr.write("\\n".join(sorted({name.partition(".")[0] for name in sys.modules})))
sys.exit(status)
"""


def find_loaded(program: Program, *arguments: str) -> set[str]:
    """The top-level modules that a command loads."""
    done = subprocess.run(
        [sys.executable, "-c", LIST_LOADED, *arguments],
        capture_output=True,
        text=True,
        cwd=program.home,
        env=make_environment(program.home),
        timeout=TIMEOUT_S,
        check=True,
    )
    return set(done.stderr.splitlines())


def run_on_terminal(program: Program, *arguments: str, columns: int = 80, **variables: str) -> str:
    """What a command writes to a terminal of this width."""
    controller, terminal = pty.openpty()
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "memrepo", *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=program.home,
            env=make_environment(program.home, TERM="xterm", COLUMNS=str(columns), **variables),
        )
        os.close(terminal)
        parts = []
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:  # the other end is closed: Linux says EIO
                break
            if not part:
                break
            parts.append(part)
        child.wait(TIMEOUT_S)
    finally:
        os.close(controller)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_help_loads_nothing_heavy_and_no_command(program: Program) -> None:
    loaded = find_loaded(program, "--help")
    assert not loaded & HEAVY


def test_ls_loads_neither_git_nor_the_store_nor_the_settings_schema(program: Program) -> None:
    program("remember", "Drinks tea")
    program("settings", "set", "path", str(program.root))
    assert not find_loaded(program, "ls") & HEAVY


def test_every_process_of_a_day_in_a_life_says_the_right_thing(program: Program) -> None:
    assert program("remember", "Drinks tea").out == "remembered repo:me.md#L3\n"
    assert program("ls", "me").out == "repo:me.md#L3\tuser\tDrinks tea\n"
    assert program("forget", "Drinks tea").status == 0
    assert program("undo", "HEAD", "--json").document["undone"]["subject"] == "Forget: Drinks tea"
    assert program("ls", "me").out == "repo:me.md#L3\tuser\tDrinks tea\n"
    assert program("nosuch").status == 2
    assert program("remember", "x").status == 3


def test_python_m_memrepo_and_the_installed_program_are_one(program: Program) -> None:
    assert program("--version").out.startswith("memrepo ")
    assert program().out.startswith("Usage: memrepo ")


def test_a_reader_that_goes_away_ends_the_program_quietly(program: Program) -> None:
    program("remember", "-", "--each-line", stdin=b"".join(b"Fact number %d is here\n" % n for n in range(600)))
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "memrepo", "ls", "me"],
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=program.home,
            env=make_environment(program.home),
            timeout=TIMEOUT_S,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_stream_without_the_letters_of_an_entry_gets_them_escaped(program: Program, encoding: str) -> None:
    text = "Mag Grüntee 緑茶 🍵"
    program("remember", text)
    told = program("ls", "me", PYTHONIOENCODING=encoding)
    assert (told.status, told.err) == (0, "")
    document = program("ls", "me", "--json", PYTHONIOENCODING=encoding).document
    assert document["entries"][0]["text"] == text


def test_the_c_locale_without_utf8_mode_is_no_crash(program: Program) -> None:
    plain: Any = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert program("remember", "Mag Grüntee 緑茶", **plain).status == 0
    told = program("ls", "me", **plain)
    assert (told.status, told.err) == (0, "")
    assert "Mag Grüntee 緑茶" in program("ls", "me").out
    assert program("forget", "mag grüntee 緑茶", **plain).status == 0


def test_a_terminal_gets_colour_and_columns_and_no_color_takes_the_colour(program: Program) -> None:
    program("remember", "Prefers tabs over spaces in every file that he edits")
    coloured = run_on_terminal(program, "ls", "me", columns=50)
    plain = run_on_terminal(program, "ls", "me", columns=50, NO_COLOR="1")
    assert "\x1b[36mrepo:me.md#L3\x1b[0m" in coloured
    assert plain.splitlines() == [
        "repo:me.md#L3  user",
        "  Prefers tabs over spaces in every file that he",
        "  edits",
    ]


def test_without_git_a_fact_is_written_and_the_missing_history_is_told(program: Program) -> None:
    told = program("remember", "Drinks tea", PATH=str(program.home))
    assert (told.status, told.out) == (0, "remembered repo:me.md#L3\n")
    assert "memory has no history: git not found" in told.err
    assert program("ls", "me", PATH=str(program.home)).status == 0
    log = program("log", PATH=str(program.home))
    assert log.status == 6
    assert "hint: install git" in log.err


def test_variables_of_git_do_not_lead_the_program_elsewhere(program: Program) -> None:
    elsewhere = str(program.home / "elsewhere")
    told = program("remember", "Drinks tea", GIT_DIR=elsewhere, GIT_WORK_TREE=elsewhere, GIT_INDEX_FILE=elsewhere)
    assert told.status == 0
    assert len(program("log").out.splitlines()) == 2
    assert not (program.home / "elsewhere").exists()
