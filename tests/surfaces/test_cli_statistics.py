"""`memrepo stats` on a real history, store and ledger."""

from __future__ import annotations

import datetime as dt
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.mcp import call, in_memory, open_repo
from tests.kit.program import HereProgram

from memrepo.locations import find_locations
from memrepo.model import TaskContext
from memrepo.profiles import find_sessions_folder
from memrepo.sessions import SessionLedger
from memrepo.surfaces.hooks.arguments import HookArguments
from memrepo.surfaces.hooks.entry import run

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "proj" / ".git").mkdir(parents=True)
    return home


@pytest.fixture
def program(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> HereProgram:
    program = HereProgram(home, monkeypatch, capsys)
    assert program("init").status == 0
    return program


def ledger_of(home: Path) -> SessionLedger:
    folder = find_sessions_folder(find_locations(home / ".memrepo"), "default")
    return SessionLedger(folder, clock=lambda: dt.datetime.now().astimezone())


def this_week(program: HereProgram) -> dict[str, Any]:
    (week,) = program("stats", "--weeks", "1", "--json").document["weeks"]
    assert isinstance(week, dict)
    return week


def test_a_week_is_counted_from_the_history_and_agrees_with_the_files(home: Path, program: HereProgram) -> None:
    assert program("remember", "Prefers tabs over spaces", "--kind", "correction").status == 0
    assert program("remember", "Prefers tabs over spaces always", "--kind", "correction").status == 0
    for text in ("Deploys run setup.sh", "Backups are on disk two"):
        assert program("remember", text, "--by", "agent", "--taint", "tainted", "--task", "s1").status == 0
    assert program("inbox", "keep", "repo:inbox.md#L3").status == 0
    assert program("inbox", "discard", "repo:inbox.md#L3").status == 0
    (program.root / "Notizen für später.md").write_text("# N\r\n- von Hand\r\n* zwei\r\n")
    assert program("remember", "Sings in a choir").status == 0
    week = this_week(program)
    assert week["facts"] == {"user": 3, "agent": 0, "inbox": 2}
    assert (week["promoted"], week["discarded"]) == (1, 1)
    assert (week["corrections"], week["repeated"]) == (2, 1)
    assert week["origins"] == {"cli": 5, "hand_edit": 2}
    files = program("ls", "--json").document["files"]
    assert (week["files"], week["entries"]) == (len(files), sum(file["entries"] for file in files))
    assert week["bytes"] == sum((program.root / file["path"]).stat().st_size for file in files)
    assert week["memory_file_bytes"] == (program.root / "MEMORY.md").stat().st_size


def test_a_session_that_recalled_or_whose_tools_read_memory_counts_as_reading(
    home: Path, program: HereProgram, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hook(event: str, session: str, **fields: object) -> None:
        document = {"session_id": session, "cwd": str(home / "proj"), "source": "startup", **fields}
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(document).encode())))
        assert run(HookArguments("claude-code", event)) == 0
        capsys.readouterr()

    for session in ("recalls", "opens", "elsewhere", "idle"):
        hook("session-start", session)
    assert this_week(program)["read_share"] == 0
    hook("before-tool", "opens", tool_name="Read", tool_input={"file_path": str(program.root / "me.md")})
    hook("before-tool", "elsewhere", tool_name="Read", tool_input={"file_path": str(home / "proj" / "me.md")})

    async def play(client: Client) -> None:
        arguments = {"query": "tabs"}
        stamp = ledger_of(home).make_stamp("claude-code", "recalls", "memory_recall", arguments)
        await call(client, "memory_recall", **arguments, session=stamp)

    in_memory(home, play)
    week = this_week(program)
    assert (week["tasks"], week["tasks_reading"], week["read_share"]) == (4, 2, 0.5)
    opened = ledger_of(home).find("claude-code", "opens")
    assert opened is not None
    assert not opened.is_damaged
    assert program("stats", "--weeks", "1").lines[1].split("\t")[1:3] == ["4", "50%"]


def test_a_correction_that_is_known_word_for_word_is_counted_where_there_is_a_store(
    home: Path, program: HereProgram
) -> None:
    say = ("remember", "Never force push", "--kind", "correction")
    assert program(*say).status == 0
    assert program(*say).status == 0
    assert this_week(program)["repeated"] == 0
    assert program("remember", "A secret plan", "--private").status == 0
    assert program(*say).status == 0
    assert (this_week(program)["corrections"], this_week(program)["repeated"]) == (2, 1)


def test_reads_of_agents_through_the_library_count_for_their_task(home: Path, program: HereProgram) -> None:
    assert program("remember", "A secret plan", "--private").status == 0
    with open_repo(home) as repo:
        repo.grep("plan", TaskContext(task_id="t1"))
        repo.remember("Prefers tabs over spaces", TaskContext.for_user())
        repo.grep("tabs", TaskContext(task_id="t1"))
    assert (this_week(program)["tasks"], this_week(program)["tasks_reading"]) == (1, 1)


def test_it_shows_eight_weeks_and_changes_nothing(home: Path, program: HereProgram) -> None:
    before = sorted(path.name for path in home.rglob("*"))
    assert len(program("stats").lines) == 1 + 8
    assert sorted(path.name for path in home.rglob("*")) == before
    assert program("stats", "--weeks", "0").status == 2


def test_without_a_folder_or_a_history_it_says_so(
    home: Path, program: HereProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program("stats", "--path", str(home / "nowhere")).status == 2
    monkeypatch.setenv("PATH", str(home))
    told = program("stats")
    assert told.status == 6
    assert "no history" in told.err
