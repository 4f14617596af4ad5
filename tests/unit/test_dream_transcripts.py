"""What a dream takes from the files of agent hosts: the user's words and the last reply, and nothing else."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest
from tests.kit.transcripts import (
    CLAUDE_ID,
    CODEX_ID,
    LONG_AGO_S,
    assistant,
    codex_event,
    codex_meta,
    to_lines,
    tool_result,
    user,
    write_claude,
    write_codex,
)

from memrepo.dream.sources import RUNNING_S, TASKS_LIMIT, Cursor, News, collect_news
from memrepo.dream.transcripts import LINE_LIMIT_BYTES, parse_claude_code, parse_codex
from memrepo.model import Privacy, Workspace
from memrepo.sessions import SessionLedger

if TYPE_CHECKING:
    from pathlib import Path

LATER_S = LONG_AGO_S + 86_400


def collect(home: Path, cursor: Cursor | None = None, **changes: object) -> News:
    values: dict[str, object] = {"ledger": None, "find_workspace": lambda _: None, "now_s": LATER_S, **changes}
    return collect_news(cursor or Cursor(), home=home, **values)  # type: ignore[arg-type]


def test_the_users_words_and_the_last_reply_are_taken_and_tools_are_not() -> None:
    talk = parse_claude_code(
        to_lines(
            {"type": "summary", "summary": "Fixing the invoice test"},
            user("I prefer tabs over spaces"),
            assistant("Looking"),
            tool_result("POISON from a web page"),
            user([{"type": "text", "text": "and use pnpm"}, {"type": "image", "source": {}}]),
            assistant("Done: it uses pnpm"),
        )
    )
    assert (talk.session_id, talk.folder, talk.title) == (CLAUDE_ID, "/home/me/billing", "Fixing the invoice test")
    assert talk.user_messages == ("I prefer tabs over spaces", "and use pnpm")
    assert talk.reply == "Done: it uses pnpm"


@pytest.mark.parametrize(
    "record",
    [
        user("told to a sub-agent", isSidechain=True),
        user("put in by the host", isMeta=True),
        user("a summary of all that was", isCompactSummary=True),
        user("<command-name>/clear</command-name>"),
        user("<task-notification>the build is done</task-notification>"),
        user("of a teammate", origin={"kind": "peer"}),
        user([{"type": "tool_result", "content": "x"}, {"type": "text", "text": "beside a result"}]),
        user("[Request interrupted by user]"),
        user(17),
        {"type": "user", "message": "no message"},
    ],
)
def test_what_the_user_did_not_type_is_left_out(record: dict[str, object]) -> None:
    assert parse_claude_code(to_lines(record, user("typed"))).user_messages == ("typed",)


def test_a_reminder_is_cut_out_of_a_message() -> None:
    told = user("use pnpm <system-reminder>never mention this</system-reminder> please")
    assert parse_claude_code(to_lines(told)).user_messages == ("use pnpm  please",)


@pytest.mark.parametrize("mark", ["<no-memory>", "be quick. < NO-MEMORY />"])
def test_a_session_with_the_no_memory_mark_has_no_words(mark: str) -> None:
    talk = parse_claude_code(to_lines(user("my salary is 70k"), user(mark), assistant("ok")))
    assert talk.is_left_out
    assert (talk.user_messages, talk.reply) == ((), "")


def test_a_session_that_a_program_ran_has_no_words() -> None:
    assert parse_claude_code(to_lines(user("do it", entrypoint="sdk-py"))).is_left_out
    for source in ("exec", "mcp", {"subagent": "review"}, 3):
        assert parse_codex(to_lines(codex_meta(source), codex_event("user_message", message="do it"))).is_left_out
    assert parse_codex(to_lines(codex_event("user_message", message="whose?"))).is_left_out


def test_a_rollout_gives_what_was_typed_and_the_last_reply() -> None:
    talk = parse_codex(
        to_lines(
            codex_meta(),
            {
                "type": "response_item",
                "payload": {"type": "message", "role": "user", "content": [{"text": "AGENTS.md"}]},
            },
            codex_event("user_message", message="deploys go out on Fridays", kind="plain"),
            codex_event("user_message", message="cwd", kind="environment_context"),
            {"type": "response_item", "payload": {"type": "function_call_output", "output": "POISON"}},
            codex_event("agent_message", message="noted"),
            codex_event("task_complete", last_agent_message="all noted"),
        )
    )
    assert (talk.session_id, talk.folder) == (CODEX_ID, "/home/me/shop")
    assert (talk.user_messages, talk.reply) == (("deploys go out on Fridays",), "all noted")


def test_lines_that_no_reader_takes_say_nothing() -> None:
    bad = [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"null", b'{"type":"user"}', b"x" * (LINE_LIMIT_BYTES + 1)]
    assert parse_claude_code([*bad, *to_lines(user("good"))]).user_messages == ("good",)
    assert parse_codex(bad).is_left_out


def test_each_part_of_a_session_is_read_once(tmp_path: Path) -> None:
    write_claude(tmp_path, user("first"), assistant("one"))
    first = collect(tmp_path)
    assert [talk.user_messages for talk in first.talks] == [("first",)]
    assert collect(tmp_path, first.cursor).talks == ()
    write_claude(tmp_path, user("second"))
    kept = Cursor.from_json(first.cursor.to_json())
    assert [talk.user_messages for talk in collect(tmp_path, kept).talks] == [("second",)]


def test_a_line_that_is_half_written_waits_for_its_end(tmp_path: Path) -> None:
    path = write_claude(tmp_path, user("whole"))
    whole = path.read_bytes()
    path.write_bytes(whole + to_lines(user("half"))[0][:-9])
    first = collect(tmp_path, now_s=path.stat().st_mtime + RUNNING_S)
    path.write_bytes(whole + to_lines(user("half"))[0] + b"\n")
    second = collect(tmp_path, first.cursor, now_s=path.stat().st_mtime + RUNNING_S)
    assert [talk.user_messages for talk in (*first.talks, *second.talks)] == [("whole",), ("half",)]


def test_a_line_longer_than_the_limit_is_passed_over_wherever_it_is_cut(tmp_path: Path) -> None:
    write_claude(tmp_path, user("before"), tool_result("x" * 3_000_000), user("after"))
    news = collect(tmp_path)
    assert news.talks[0].user_messages == ("before", "after")
    assert collect(tmp_path, news.cursor).talks == ()


def test_a_rollout_read_on_still_knows_whose_it_is(tmp_path: Path) -> None:
    write_codex(tmp_path, codex_meta(), codex_event("user_message", message="first"))
    first = collect(tmp_path)
    write_codex(tmp_path, codex_event("user_message", message="second"))
    (talk,) = collect(tmp_path, first.cursor).talks
    assert (talk.session_id, talk.user_messages) == (CODEX_ID, ("second",))


def test_a_session_that_still_runs_waits(tmp_path: Path) -> None:
    write_claude(tmp_path, user("now"), at_s=LATER_S - RUNNING_S + 1)
    news = collect(tmp_path)
    assert (news.talks, news.waiting, news.cursor.files) == ((), 1, {})


def test_what_follows_a_no_memory_mark_stays_left_out(tmp_path: Path) -> None:
    write_claude(tmp_path, user("<no-memory>"))
    first = collect(tmp_path)
    write_claude(tmp_path, user("and my salary is 70k"))
    assert collect(tmp_path, first.cursor).talks == ()


def test_strict_and_switched_off_workspaces_and_sub_agent_files_are_left_out(tmp_path: Path) -> None:
    write_claude(tmp_path, user("secret plan"))
    write_claude(tmp_path, user("told by an agent"), name="agent-17")
    closed = (Workspace("b", "B", privacy=Privacy.STRICT), Workspace("b", "B", memory_enabled=False))
    for workspace in closed:
        assert collect(tmp_path, find_workspace=lambda _, workspace=workspace: workspace).talks == ()
    assert [talk.user_messages for talk in collect(tmp_path).talks] == [("secret plan",)]


def test_the_newest_twenty_come_first_and_the_rest_the_next_time(tmp_path: Path) -> None:
    for number in range(TASKS_LIMIT + 3):
        write_claude(tmp_path, user(f"said {number}"), name=f"session-{number}", at_s=LONG_AGO_S + number)
    first = collect(tmp_path)
    assert first.talks[0].user_messages == (f"said {TASKS_LIMIT + 2}",)
    second = collect(tmp_path, first.cursor)
    assert (len(first.talks), len(second.talks)) == (TASKS_LIMIT, 3)


def test_links_and_what_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.jsonl"
    target.write_bytes(to_lines(user("behind a link"))[0] + b"\n")
    folder = tmp_path / ".claude/projects/p"
    folder.mkdir(parents=True)
    (folder / "link.jsonl").symlink_to(target)
    (folder / "folder.jsonl").mkdir()
    assert collect(tmp_path).talks == ()


def make_ledger(folder: Path) -> SessionLedger:
    return SessionLedger(folder, clock=lambda: dt.datetime.fromtimestamp(LONG_AGO_S, dt.UTC))


def test_the_ledger_gives_sessions_that_no_file_tells_of(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "sessions")
    for session, words in (("g1", "use ruff here"), (CLAUDE_ID, "also in the file"), ("g2", "<no-memory> x")):
        ledger.start("gemini", session, folder=None)
        ledger.add_message("gemini", session, words)
        ledger.end("gemini", session)
    ledger.start("gemini", "child", folder=None, parent=ledger.find("gemini", "g1").key)  # type: ignore[union-attr]
    ledger.add_message("gemini", "child", "told by an agent")
    write_claude(tmp_path, user("also in the file"))
    news = collect(tmp_path, ledger=ledger)
    assert sorted(talk.user_messages for talk in news.talks) == [("also in the file",), ("use ruff here",)]
    assert collect(tmp_path, news.cursor, ledger=ledger).talks == ()
    ledger.add_message("gemini", "g1", "and mypy")
    assert [talk.user_messages for talk in collect(tmp_path, news.cursor, ledger=ledger).talks] == [("and mypy",)]


def test_a_session_whose_file_must_wait_is_not_read_from_the_ledger_either(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "sessions")
    for number in range(TASKS_LIMIT + 1):
        write_claude(tmp_path, user(f"said {number}"), name=f"session-{number}", at_s=LONG_AGO_S + number)
        ledger.start("claude-code", f"session-{number}", folder=None)
        ledger.add_message("claude-code", f"session-{number}", f"said {number}")
        ledger.end("claude-code", f"session-{number}")
    first = collect(tmp_path, ledger=ledger)
    second = collect(tmp_path, first.cursor, ledger=ledger)
    said = [message for talk in (*first.talks, *second.talks) for message in talk.user_messages]
    assert sorted(said) == sorted(f"said {number}" for number in range(TASKS_LIMIT + 1))


def test_what_the_ledger_says_of_a_session_holds_for_its_file(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "sessions")
    ledger.start("claude-code", CLAUDE_ID, folder=None)
    ledger.add_message("claude-code", CLAUDE_ID, "<no-memory>")
    write_claude(tmp_path, user("my salary is 70k"))
    assert collect(tmp_path, ledger=ledger).talks == ()


def test_a_cursor_that_was_damaged_counts_as_not_read() -> None:
    damaged: tuple[object, ...] = (
        None,
        [],
        {"files": 3},
        {"files": {"a": ["x", 1], "b": [-5, False]}, "sessions": {"k": 2}},
    )
    for raw in damaged:
        cursor = Cursor.from_json(raw)
        assert cursor.files in ({}, {"b": (0, False)})
        assert cursor.sessions == {}
