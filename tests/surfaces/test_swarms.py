"""Swarms: started by the user, noted in by members with stamped calls, shown to members and to nobody else."""

from __future__ import annotations

import datetime as dt
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.mcp import call, fail, in_memory, open_repo
from tests.kit.memory import USER
from tests.kit.program import HereProgram
from tests.kit.repos import raw_git

from memrepo import InvalidInput, Refused, Role, Taint, TaskContext, Workspace
from memrepo.locations import find_locations
from memrepo.model import Privacy, Reason
from memrepo.planning.swarms import NoteKind
from memrepo.policy.own_commands import THE_USERS, find_own_command
from memrepo.profiles import find_sessions_folder
from memrepo.sessions import SessionLedger, make_key
from memrepo.surfaces.hooks.arguments import HookArguments
from memrepo.surfaces.hooks.entry import run
from memrepo.surfaces.mcp.tools import SWARM_KINDS
from memrepo.swarm import Member

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp import Client

HOST = "claude-code"
GOAL = "Find the slow step"
SLUG = "find-the-slow-step"
WORKER = Member("w1", ("root1",))
CLEAN = TaskContext(task_id="root1", role=Role.SUB_AGENT, taint=Taint.CLEAN)


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


@pytest.fixture
def hook(
    home: Path, program: HereProgram, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    def tell(event: str, *, host: str = HOST, session: str = "root1", **fields: object) -> dict[str, Any]:
        document = {"session_id": session, "cwd": str(home / "proj"), **fields}
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(document).encode())))
        capsys.readouterr()
        assert run(HookArguments(host, event)) == 0
        out = capsys.readouterr().out
        answer = json.loads(out) if out.strip() else {}
        specific: dict[str, Any] = answer.get("hookSpecificOutput", answer)
        return specific

    return tell


def ledger_of(home: Path) -> SessionLedger:
    folder = find_sessions_folder(find_locations(home / ".memrepo"), "default")
    return SessionLedger(folder, clock=lambda: dt.datetime.now().astimezone())


def stamp(home: Path, session: str = "root1", agent: str | None = None, **arguments: Any) -> dict[str, Any]:
    """The arguments of a `swarm_note` as a hook of the host stamps them."""
    made = ledger_of(home).make_stamp(HOST, session, "swarm_note", arguments, agent_id=agent)
    return {**arguments, "session": made}


def start(home: Path, root_task: str = "root1") -> None:
    with open_repo(home) as repo:
        repo.swarms.start(GOAL, USER, root_task=root_task)


# The user starts, notes, shows and ends


def test_a_person_starts_a_swarm_notes_shows_and_ends_it(program: HereProgram) -> None:
    started = program("swarm", "start", GOAL, "--task", "root1", "--json").document
    assert (started["swarm"], started["goal"], started["task"]) == (SLUG, GOAL, "cowork://tasks/root1")
    assert program("swarm", "note", SLUG, "It is not the disk", "--kind", "ruled_out", "--source", "iostat").status == 0
    assert program("swarm", "note", SLUG, "Which runner is it?", "--kind", "question").status == 0
    shown = program("swarm", "show").out
    assert "- ruled out: It is not the disk (user; sources: iostat)" in shown
    assert "# Open questions\n- q1: Which runner is it? (user)" in shown
    assert program("swarm", "note", SLUG, "The small one", "--kind", "answer", "--question", "q1").status == 0
    told = program("swarm", "show", "--json").document
    assert (told["notes"], told["open_questions"]) == (3, 0)
    assert "- q1: Which runner is it? The small one (user)" in told["block"]
    assert program("swarm", "end", SLUG).status == 0
    assert program("swarm", "show").status == 2
    assert program("swarm", "note", SLUG, "Too late for this").status == 3
    (listed,) = program("swarm", "list", "--json").document["swarms"]
    assert listed["ended"]
    assert program("swarm", "end", SLUG, "--remove", "--json").status == 3
    assert program("swarm", "end", SLUG, "--remove", "--yes").status == 0
    assert program("swarm", "list").out == "no swarm\n"
    assert raw_git(program.root, "status", "--porcelain") == b""
    assert raw_git(program.root, "log", "--format=%B").decode().count("Origin: swarm") == 6


def test_the_latest_session_around_the_folder_is_the_root_unless_one_is_named(
    home: Path, program: HereProgram, hook: Callable[..., dict[str, Any]]
) -> None:
    told = program("swarm", "start", GOAL)
    assert told.status == 2
    assert "--task ID" in told.err
    hook("session-start", session="old", source="startup")
    hook("session-end", session="old")
    hook("session-start", source="startup")
    hook("session-start", session="elsewhere", source="startup", cwd="/srv/other")
    assert "for task root1" in program("swarm", "start", GOAL).out


def test_a_task_has_one_swarm_that_goes_on_and_names_that_meet_get_a_number(home: Path, program: HereProgram) -> None:
    start(home)
    again = program("swarm", "start", "Another goal", "--task", "root1")
    assert again.status == 2
    assert f"memrepo swarm end {SLUG}" in again.err
    other = program("swarm", "start", GOAL, "--task", "root2", "--json").document
    assert other["swarm"] == f"{SLUG}-2"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kind", "answer"),
        ("--kind", "answer", "--question", "q7"),
        ("--question", "q1"),
        tuple(word for number in range(6) for word in ("--source", f"s{number}")),
    ],
)
def test_a_note_that_names_the_wrong_things_is_refused_and_nothing_is_written(
    home: Path, program: HereProgram, arguments: tuple[str, ...]
) -> None:
    start(home)
    before = raw_git(program.root, "rev-parse", "HEAD")
    told = program("swarm", "note", SLUG, "Some note", *arguments)
    assert told.status == 2
    assert "hint:" in told.err
    assert raw_git(program.root, "rev-parse", "HEAD") == before


def test_the_same_note_is_noted_once_and_full_notes_say_what_to_do(home: Path, program: HereProgram) -> None:
    start(home)
    assert program("swarm", "note", SLUG, "It is the linker").status == 0
    assert program("swarm", "note", SLUG, "it is the linker.", "--json").document["action"] == "reinforced"
    findings = program.root / "swarms" / SLUG / "findings.md"
    findings.write_text(findings.read_text() + "\n" + "filling " * 8_150 + "\n")
    told = program("swarm", "note", SLUG, "One more " + "word " * 90)
    assert told.status == 3
    assert "memrepo swarm end" in told.err


def test_purging_the_root_task_removes_its_swarm_and_no_other(home: Path, program: HereProgram) -> None:
    start(home)
    start(home, "root2")
    for slug in (SLUG, f"{SLUG}-2"):
        assert program("swarm", "note", slug, "It is the linker").status == 0
    gone = program("purge-task", "root1", "--yes", "--json").document
    assert gone["count"] == 2
    assert {entry["text"] for entry in gone["removed"]} == {GOAL, "It is the linker"}
    assert [one["swarm"] for one in program("swarm", "list", "--json").document["swarms"]] == [f"{SLUG}-2"]
    assert not list((program.root / "swarms" / SLUG).iterdir())
    assert program("purge-task", "root1", "--yes", "--json").document["count"] == 0


# Members, through the tool


def test_members_note_by_their_stamp_and_each_sees_what_the_others_noted(home: Path, program: HereProgram) -> None:
    ledger = ledger_of(home)
    ledger.start(HOST, "root1", folder=home / "proj")
    ledger.start(HOST, "child", folder=home / "proj", parent=make_key(HOST, "root1"))
    start(home)

    async def play(client: Client) -> None:
        first = await call(
            client, "swarm_note", **stamp(home, agent="a77", text="It is not the disk", kind="ruled_out")
        )
        assert (first["status"], first["swarm"]) == ("written", SLUG)
        asked = await call(client, "swarm_note", **stamp(home, "child", text="Which runner?", kind="question"))
        assert "- ruled out: It is not the disk (a77)" in asked["block"]
        read = await call(client, "swarm_note", **stamp(home))
        assert read["status"] is None
        assert "- q1: Which runner? (child)" in read["block"]
        answered = await call(
            client, "swarm_note", **stamp(home, text="The small one", kind="answer", question="q1", sources=["ci.yml"])
        )
        assert "- q1: Which runner? The small one (root; sources: ci.yml)" in answered["block"]
        assert "Open questions" not in answered["block"]

    in_memory(home, play)
    text = (program.root / "swarms" / SLUG / "findings.md").read_text()
    assert "[by: agent; kind: ruled_out; source: cowork://tasks/root1; added: " in text
    assert "member: a77" in text
    assert "taint" not in text


def test_a_note_of_a_tainted_member_is_marked_wherever_it_is_shown(home: Path, program: HereProgram) -> None:
    ledger = ledger_of(home)
    ledger.start(HOST, "root1", folder=home / "proj")
    start(home)
    ledger.add_untrusted_read(HOST, "root1", "WebFetch")

    async def play(client: Client) -> None:
        noted = await call(client, "swarm_note", **stamp(home, agent="a77", text="Always run setup.sh first"))
        assert "- Always run setup.sh first (a77; unverified)" in noted["block"]

    in_memory(home, play)
    assert "taint: tainted" in (program.root / "swarms" / SLUG / "findings.md").read_text()
    assert "(a77; unverified)" in program("swarm", "show").out


def test_an_agent_that_is_no_member_neither_notes_nor_reads(home: Path, program: HereProgram) -> None:
    ledger = ledger_of(home)
    for session in ("root1", "stranger"):
        ledger.start(HOST, session, folder=home / "proj")
    start(home)

    async def play(client: Client) -> None:
        forged = {"text": "Let me in", "session": stamp(home, text="Something else")["session"]}
        for arguments in (stamp(home, "stranger", text="Let me in"), {"text": "Let me in"}, forged):
            error = await fail(client, "swarm_note", **arguments)
            assert error["facts"]["rule"] == "swarm-members-only"

    in_memory(home, play)
    assert "Let me in" not in (program.root / "swarms" / SLUG / "findings.md").read_text()


def test_notes_are_no_part_of_personal_memory(home: Path, program: HereProgram) -> None:
    start(home)
    assert program("swarm", "note", SLUG, "The zebra linker is slow").status == 0
    path = f"swarms/{SLUG}/findings.md"

    async def play(client: Client) -> None:
        assert (await call(client, "memory_recall", query="zebra linker"))["hits"] == []
        assert (await call(client, "memory_grep", pattern="zebra"))["lines"] == []
        assert not any("swarms" in one["path"] for one in (await call(client, "memory_list"))["files"])
        for tool, arguments in (
            ("memory_read", {"path": path}),
            ("memory_read", {"path": path.upper()}),
            ("memory_read", {"ref": f"repo:{path}#L3"}),
            ("memory_list", {"path": path}),
        ):
            assert (await fail(client, tool, **arguments))["facts"]["rule"] == "swarm-members-only"
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        assert not any("swarms" in uri for uri in listed)

    in_memory(home, play)
    assert "zebra" not in program("context").out
    assert program("recall", "zebra linker").out == ""
    assert "swarms" not in (program.root / "MEMORY.md").read_text()
    with open_repo(home) as repo:
        (line,) = repo.read_lines([repo.swarms.get(SLUG).findings[0].ref], CLEAN_MAIN)
        assert (line.text, line.why) == ("", "notes of a swarm are shown to its members only")


def test_a_new_file_in_the_folder_of_swarms_is_never_linked(program: HereProgram) -> None:
    assert program("remember", "Prefers tabs over spaces").status == 0
    assert program("move", "repo:me.md#L3", "swarms/mine/notes.md").status == 0
    assert "swarms" not in (program.root / "MEMORY.md").read_text()


def test_what_a_swarm_notes_may_still_be_imported_as_a_fact(home: Path, program: HereProgram) -> None:
    start(home)
    assert program("swarm", "note", SLUG, "The linker is slow").status == 0
    (home / "notes").mkdir()
    (home / "notes" / "a.md").write_text("- The linker is slow\n")
    assert program("import", str(home / "notes")).status == 0
    assert "The linker is slow" in (program.root / "inbox.md").read_text()


def test_the_notes_of_another_memory_are_not_imported_with_it(home: Path, program: HereProgram) -> None:
    other = home / "other"
    (other / "swarms" / "x").mkdir(parents=True)
    (other / "MEMORY.md").write_text("# Memory\n")
    (other / "me.md").write_text("- Sings in a choir\n")
    (other / "swarms" / "x" / "findings.md").write_text("- The linker is slow [by: agent; kind: finding]\n")
    assert program("import", str(other)).status == 0
    inbox = (program.root / "inbox.md").read_text()
    assert "Sings in a choir" in inbox
    assert "linker" not in inbox


CLEAN_MAIN = TaskContext(task_id="other", taint=Taint.CLEAN)


# Members, through hooks


def test_a_sub_agent_is_shown_its_swarm_and_nothing_of_personal_memory(
    home: Path, program: HereProgram, hook: Callable[..., dict[str, Any]]
) -> None:
    assert program("remember", "Prefers tabs over spaces", "--pin").status == 0
    hook("session-start", source="startup")
    assert hook("sub-agent-start", agent_id="a77") == {}
    start(home)
    given = hook("sub-agent-start", agent_id="a78", hook_event_name="SubagentStart")
    assert given["hookEventName"] == "SubagentStart"
    assert "- Find the slow step" in given["additionalContext"]
    assert "- root, a78, a77" in given["additionalContext"]
    assert "tabs" not in given["additionalContext"]
    resumed = hook("session-start", source="resume")["additionalContext"]
    assert "Prefers tabs over spaces" in resumed
    assert "<cowork_swarm>" in resumed
    hook("session-start", session="other", source="startup")
    assert hook("sub-agent-start", session="other", agent_id="b1") == {}
    assert "cowork_swarm" not in hook("session-start", session="other", source="clear")["additionalContext"]


def test_a_session_of_its_own_that_works_for_the_root_is_shown_its_swarm(
    home: Path, hook: Callable[..., dict[str, Any]]
) -> None:
    hook("session-start", host="opencode")
    start(home)
    given = hook("session-start", host="opencode", session="child", parent_session_id="root1")
    assert "<cowork_swarm>" in given["context"]


def test_nobody_is_shown_a_swarm_after_no_memory_or_its_end(
    home: Path, program: HereProgram, hook: Callable[..., dict[str, Any]]
) -> None:
    hook("session-start", source="startup")
    start(home)
    hook("prompt", prompt="<no-memory> and go on")
    assert hook("sub-agent-start", agent_id="a77") == {}
    hook("session-start", session="root2", source="startup")
    start(home, "root2")
    assert hook("sub-agent-start", session="root2", agent_id="a1")
    assert program("swarm", "end", f"{SLUG}-2").status == 0
    assert hook("sub-agent-start", session="root2", agent_id="a1") == {}


def test_the_folder_of_swarms_is_closed_to_tools(
    home: Path, program: HereProgram, hook: Callable[..., dict[str, Any]]
) -> None:
    hook("session-start", source="startup")
    start(home)
    path = str(program.root / "swarms" / SLUG / "findings.md")
    for tool, arguments in (("Read", {"file_path": path}), ("Bash", {"command": f"cat '{path}'"})):
        answer = hook("before-tool", tool_name=tool, tool_input=arguments)
        assert answer["permissionDecision"] == "deny", tool
    allowed = {"file_path": str(program.root / "me.md")}
    assert hook("before-tool", tool_name="Read", tool_input=allowed) == {}


# The library


def test_only_the_user_starts_and_ends_a_swarm(home: Path, program: HereProgram) -> None:
    start(home)
    with open_repo(home) as repo:
        for act in (
            lambda: repo.swarms.start("Another", CLEAN, root_task="root3"),
            lambda: repo.swarms.end(SLUG, CLEAN),
            lambda: repo.service.purge_task("root1", CLEAN),
        ):
            with pytest.raises(Refused, match="only the user may"):
                act()
        assert [one.slug for one in repo.swarms.list()] == [SLUG]
    for command in (f"memrepo swarm end {SLUG} --remove --yes", "memrepo swarm note x 'By the user'"):
        assert find_own_command(command, is_readable=True) == THE_USERS


@pytest.mark.parametrize(
    ("task", "text", "reason"),
    [
        (TaskContext(task_id="root1", no_memory=True), "Some finding", Reason.MEMORY_DISABLED),
        (CLEAN, "<no-memory> some finding", Reason.NO_MEMORY),
        (CLEAN, "ok", Reason.LOW_SALIENCE),
        (CLEAN, "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", Reason.SECRET_ONLY),
        (
            TaskContext(task_id="root1", workspace=Workspace("w", "W", privacy=Privacy.STRICT)),
            "Some finding",
            Reason.PRIVATE,
        ),
    ],
)
def test_what_may_not_be_noted_is_skipped_with_its_reason(
    home: Path, program: HereProgram, task: TaskContext, text: str, reason: Reason
) -> None:
    start(home)
    with open_repo(home) as repo:
        result = repo.swarms.note(repo.swarms.get(SLUG), text, task, member="w1")
        assert result.reason == reason
        assert repo.swarms.get(SLUG).findings == ()


def test_the_nearest_swarm_is_the_one_that_an_agent_is_in(home: Path, program: HereProgram) -> None:
    start(home)
    with open_repo(home) as repo:
        inner = repo.swarms.start("A part of it", USER, root_task="child")
        assert repo.swarms.find(Member("x", ("grandchild", "child", "root1"))) == inner
        repo.swarms.end(inner.slug, USER)
        found = repo.swarms.find(Member("x", ("grandchild", "child", "root1")))
        assert found is not None
        assert found.slug == SLUG


def test_what_a_hand_made_of_the_files_is_read_as_far_as_it_goes(home: Path, program: HereProgram) -> None:
    start(home)
    folder = program.root / "swarms"
    (folder / SLUG / "findings.md").write_bytes(
        b"# F\n- by hand\n- \xff\xfe bytes [kind: finding\n* last [kind: odd]\n"
    )
    (folder / "empty").mkdir()
    (folder / "empty" / "README.md").write_text("no goal here\n")
    (folder / "link").symlink_to(folder / SLUG)
    with open_repo(home) as repo:
        (swarm,) = repo.swarms.list()
        assert swarm.findings[0].text == "by hand"
        assert len(swarm.findings) == 3
        block = repo.swarms.block(WORKER, CLEAN).text
        assert "- by hand\n" in block


def test_a_goal_must_be_a_text_and_a_root_must_be_named(home: Path, program: HereProgram) -> None:
    with open_repo(home) as repo:
        for goal, root_task in (("", "t"), ("x" * 20_001, "t"), ("A goal", " ")):
            with pytest.raises(InvalidInput):
                repo.swarms.start(goal, USER, root_task=root_task)
        assert repo.swarms.list() == ()


def test_the_kinds_that_the_tool_names_are_those_of_notes() -> None:
    assert set(SWARM_KINDS) == set(NoteKind)


def test_two_that_have_the_memory_open_note_in_turn_and_lose_nothing(home: Path, program: HereProgram) -> None:
    start(home)
    with open_repo(home) as one, open_repo(home) as other:
        swarm = one.swarms.get(SLUG)
        for number in range(3):
            for repo in (one, other):
                text = f"Step {number} is slow in {'one' if repo is one else 'other'}"
                assert repo.swarms.note(swarm, text, CLEAN, member="w1").commit
        assert len(one.swarms.get(SLUG).findings) == 6
