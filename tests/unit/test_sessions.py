"""The ledger of sessions: what stands in it, what a session is taken for, and which calls are its own."""

from __future__ import annotations

import datetime as dt
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memrepo.app import MemoryRepo
from memrepo.errors import DiskFault, InvalidInput, PathRefused
from memrepo.model import Candidate, Kind, Locations, Role, Taint, WriteStatus
from memrepo.profiles import find_sessions_folder
from memrepo.sessions import Caller, Session, SessionLedger, make_key
from memrepo.sessions.ledger import MESSAGE_LIMIT_BYTES
from memrepo.sessions.records import FILE_LIMIT_BYTES, TOO_LARGE, write_record

HOST = "claude-code"
TOOL = "memory_remember"
CALL = {"text": "Prefers tabs", "kind": "preference"}
TOKEN = "ghp_" + "Zt7Kq2Wv9Lm4Xc8Rb1Nd6Hs3Jf5Gp0Ya2EuQ"[:36]


class Clock:
    """Tells the time that the test says."""

    def __init__(self) -> None:
        self.now = dt.datetime(2026, 12, 4, 12, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now

    def go_on(self, **much: float) -> None:
        self.now += dt.timedelta(**much)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> SessionLedger:
    return SessionLedger(tmp_path / "data" / "sessions", clock=clock)


def get(ledger: SessionLedger, session_id: str = "s1", host: str = HOST) -> Session:
    found = ledger.find(host, session_id)
    assert found is not None
    return found


def file_of(ledger: SessionLedger, session_id: str = "s1") -> Path:
    return ledger.folder / f"{make_key(HOST, session_id)}.jsonl"


# What is recorded


def test_a_session_tells_what_was_recorded_of_it(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=Path("/src/billing"))
    ledger.add_message(HOST, "s1", "Always use tabs")
    ledger.add_sub_agent(HOST, "s1", "a7")
    ledger.add_write(HOST, "s1", ref="repo:me.md#L3", content_hash="ab" * 32)
    found = get(ledger)
    assert (found.id, found.host, found.folder) == ("s1", HOST, Path("/src/billing"))
    assert found.user_messages == ("Always use tabs",)
    assert found.sub_agents == {"a7"}
    assert found.writes == (("repo:me.md#L3", "ab" * 32),)
    assert found.taint is Taint.CLEAN
    assert not found.is_ended
    ledger.end(HOST, "s1")
    assert get(ledger).is_ended
    ledger.start(HOST, "s1", folder=None, is_resumed=True)
    assert not get(ledger).is_ended


def test_nothing_is_known_of_a_session_that_nobody_told_of(ledger: SessionLedger) -> None:
    assert ledger.find(HOST, "s1") is None
    assert ledger.find_by_key("../../etc/passwd") is None
    assert list(ledger.iter_sessions()) == []
    assert ledger.check_stamp("v1.x.-.0.y", TOOL, CALL) is None
    assert ledger.take_ticket(TOOL, CALL) is None
    assert ledger.prune() == 0
    assert not ledger.folder.exists()


def test_the_same_id_at_another_host_is_another_session(ledger: SessionLedger) -> None:
    ledger.start("codex", "s1", folder=None)
    ledger.add_untrusted_read(HOST, "s1", "WebFetch")
    assert get(ledger, host="codex").taint is Taint.CLEAN
    assert get(ledger).taint is Taint.TAINTED


def test_only_the_user_can_read_what_is_recorded(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    ledger.leave_ticket(HOST, "s1", TOOL, CALL)
    assert stat.S_IMODE(ledger.folder.stat().st_mode) == 0o700
    for path in ledger.folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize("bad", ["", "x" * 257, "a\0b"])
def test_an_id_that_no_host_gives_is_refused(ledger: SessionLedger, bad: str) -> None:
    with pytest.raises(InvalidInput):
        ledger.start(HOST, bad, folder=None)
    with pytest.raises(InvalidInput):
        ledger.end(bad, "s1")


def test_sessions_come_with_the_last_one_first(ledger: SessionLedger) -> None:
    for number, session_id in enumerate(("s1", "s2", "s3")):
        ledger.start(HOST, session_id, folder=None)
        os.utime(file_of(ledger, session_id), (number, number))
    (ledger.folder / "note.txt").write_text("not ours")
    assert [one.id for one in ledger.iter_sessions()] == ["s3", "s2", "s1"]


# Taint


def test_a_session_that_read_something_untrusted_stays_tainted(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    ledger.add_untrusted_read(HOST, "s1", "WebFetch")
    ledger.end(HOST, "s1")
    ledger.start(HOST, "s1", folder=None)
    ledger.start(HOST, "s1", folder=None, is_resumed=True)
    assert get(ledger).taint is Taint.TAINTED
    assert get(ledger).untrusted_reads == ("WebFetch",)


def test_a_session_whose_start_was_not_seen_is_not_called_clean(ledger: SessionLedger, clock: Clock) -> None:
    ledger.add_message(HOST, "s1", "hello there")
    assert get(ledger).taint is Taint.UNKNOWN
    clock.go_on(minutes=5)  # the hooks came into the middle of a talk
    ledger.start(HOST, "s1", folder=None)
    assert get(ledger).taint is Taint.UNKNOWN


def test_a_prompt_that_overtakes_the_start_changes_nothing(ledger: SessionLedger, clock: Clock) -> None:
    ledger.add_message(HOST, "s1", "hello there")
    clock.go_on(seconds=2)
    ledger.start(HOST, "s1", folder=None)
    assert get(ledger).taint is Taint.CLEAN


def test_a_talk_that_goes_on_is_clean_only_if_its_start_was_seen(ledger: SessionLedger, clock: Clock) -> None:
    ledger.start(HOST, "s1", folder=None, is_resumed=True)
    assert get(ledger).taint is Taint.UNKNOWN
    ledger.start(HOST, "s2", folder=None)
    clock.go_on(days=1)
    ledger.start(HOST, "s2", folder=None, is_resumed=True)
    assert get(ledger, "s2").taint is Taint.CLEAN


def test_parent_and_child_share_their_taint_both_ways(ledger: SessionLedger) -> None:
    ledger.start(HOST, "main", folder=None)
    ledger.start(HOST, "child", folder=None, parent=make_key(HOST, "main"))
    ledger.start(HOST, "grandchild", folder=None, parent=make_key(HOST, "child"))
    assert {get(ledger, one).taint for one in ("main", "child", "grandchild")} == {Taint.CLEAN}
    ledger.add_untrusted_read(HOST, "grandchild", "WebFetch")
    assert {get(ledger, one).taint for one in ("main", "child", "grandchild")} == {Taint.TAINTED}
    assert {one.taint for one in ledger.iter_sessions()} == {Taint.TAINTED}


def test_a_child_of_a_session_that_is_not_known_is_not_clean(ledger: SessionLedger) -> None:
    ledger.start(HOST, "child", folder=None, parent=make_key(HOST, "main"))
    assert get(ledger, "child").taint is Taint.UNKNOWN
    assert get(ledger, "child").is_damaged


def test_what_a_child_is_asked_are_not_the_words_of_the_user(ledger: SessionLedger) -> None:
    ledger.start(HOST, "main", folder=None)
    ledger.start(HOST, "child", folder=None, parent=make_key(HOST, "main"))
    ledger.add_message(HOST, "child", "The user loves Comic Sans")
    assert get(ledger, "child").user_messages == ()
    assert Caller(get(ledger, "child")).is_sub_agent
    assert not Caller(get(ledger, "main")).is_sub_agent
    assert Caller(get(ledger, "main"), "a7").is_sub_agent


def test_two_sessions_that_are_each_others_parent_end_the_search(ledger: SessionLedger) -> None:
    ledger.start(HOST, "a", folder=None, parent=make_key(HOST, "b"))
    ledger.start(HOST, "b", folder=None, parent=make_key(HOST, "a"))
    assert get(ledger, "a").taint is Taint.CLEAN


def test_a_label_is_one_short_line(ledger: SessionLedger) -> None:
    ledger.add_untrusted_read(HOST, "s1", "mcp__evil\n__\x1b[31m" + "x" * 500)
    ledger.add_untrusted_read(HOST, "s1", "\n")
    label, empty = get(ledger).untrusted_reads
    assert label.startswith("mcp__evil __ [31mxxx")
    assert len(label) == 80
    assert empty == "unknown"


# Damage


def test_a_torn_line_leaves_a_doubt_and_the_next_record_whole(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    with file_of(ledger).open("ab") as file:
        file.write(b'{"v":1,"at":1,"host":"claude-code","sess')  # killed in the middle of a write
    assert get(ledger).taint is Taint.UNKNOWN
    ledger.add_message(HOST, "s1", "Always use tabs")
    assert get(ledger).user_messages == ("Always use tabs",)
    assert get(ledger).taint is Taint.UNKNOWN
    ledger.add_untrusted_read(HOST, "s1", "WebFetch")
    assert get(ledger).taint is Taint.TAINTED


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"v":2,"at":1,"host":"claude-code","session":"s1","kind":"start"}',
        b'{"v":1,"at":"1","host":"claude-code","session":"s1","kind":"message"}',
        b'{"v":1,"at":1,"host":"claude-code","session":"s1","kind":"future"}',
        b'{"v":1,"at":1,"host":"codex","session":"s1","kind":"message","text":"I said so"}',
        write_record(HOST, "s2", "message", 1, text="I said so"),
    ],
)
def test_a_line_that_is_not_of_this_session_is_passed_over_with_a_doubt(ledger: SessionLedger, line: bytes) -> None:
    ledger.start(HOST, "s1", folder=None)
    with file_of(ledger).open("ab") as file:
        file.write(line)
    assert get(ledger).user_messages == ()
    assert get(ledger).taint is Taint.UNKNOWN


def test_a_file_past_the_limit_is_not_read_on_and_is_tainted(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    with file_of(ledger).open("ab") as file:
        file.truncate(FILE_LIMIT_BYTES + 1)
    assert get(ledger).taint is Taint.TAINTED
    assert get(ledger).untrusted_reads == (TOO_LARGE,)


def test_a_link_in_the_place_of_the_folder_or_of_a_file_is_not_followed(ledger: SessionLedger, tmp_path: Path) -> None:
    ledger.start(HOST, "s1", folder=None)
    elsewhere = tmp_path / "elsewhere.jsonl"
    file_of(ledger).rename(elsewhere)
    before = elsewhere.read_bytes()
    file_of(ledger).symlink_to(elsewhere)
    with pytest.raises(PathRefused):
        ledger.find(HOST, "s1")
    with pytest.raises(PathRefused):
        ledger.add_message(HOST, "s1", "hello there")
    assert elsewhere.read_bytes() == before
    real = ledger.folder.rename(tmp_path / "real")
    ledger.folder.symlink_to(real)
    with pytest.raises(PathRefused):
        ledger.start(HOST, "s2", folder=None)


def test_a_pipe_in_the_place_of_a_file_does_not_hang(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    file_of(ledger).unlink()
    os.mkfifo(file_of(ledger))
    with pytest.raises(PathRefused):
        ledger.end(HOST, "s1")
    with pytest.raises(PathRefused):
        ledger.find(HOST, "s1")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_a_fault_of_the_disk(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    ledger.folder.chmod(0)
    try:
        with pytest.raises(DiskFault):
            ledger.find(HOST, "s1")
        with pytest.raises(DiskFault):
            ledger.add_untrusted_read(HOST, "s1", "WebFetch")
    finally:
        ledger.folder.chmod(0o700)


def test_a_folder_that_cannot_be_made_is_a_fault_of_the_disk(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "data").write_text("")
    ledger = SessionLedger(tmp_path / "data" / "sessions", clock=clock)
    for act in (lambda: ledger.end(HOST, "s1"), lambda: ledger.find(HOST, "s1"), lambda: list(ledger.iter_sessions())):
        with pytest.raises(DiskFault):
            act()


def test_a_file_in_the_way_of_the_folder_is_refused(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "sessions").write_text("")
    with pytest.raises(PathRefused):
        SessionLedger(tmp_path / "sessions", clock=clock).start(HOST, "s1", folder=None)


# Messages


def test_a_secret_in_a_message_is_never_stored(ledger: SessionLedger) -> None:
    ledger.add_message(HOST, "s1", f"deploy with {TOKEN} on fridays only")
    assert TOKEN.encode() not in file_of(ledger).read_bytes()
    assert get(ledger).user_messages[0].startswith("deploy with [REDACTED ")


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_a_secret_that_the_cut_goes_through_is_not_stored_either(ledger: SessionLedger, shift: int) -> None:
    block = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 300 + "-----END PRIVATE KEY-----\n"
    for before in ("", block):  # with the block replaced, what is stored ends further down
        for at in (MESSAGE_LIMIT_BYTES, MESSAGE_LIMIT_BYTES + 4096):
            ledger.add_message(HOST, "s1", before + "w" * (at - shift - len(before)) + " " + TOKEN + " tail" * 2000)
    assert TOKEN[:12].encode() not in file_of(ledger).read_bytes()
    assert all(len(one.encode()) <= MESSAGE_LIMIT_BYTES for one in get(ledger).user_messages)


def test_a_huge_prompt_is_cut_and_still_searched_for_no_memory(ledger: SessionLedger) -> None:
    ledger.add_message(HOST, "s1", "é" * 1_000_000)
    assert get(ledger).user_messages[0] == "é" * (MESSAGE_LIMIT_BYTES // 2)
    assert not get(ledger).no_memory
    ledger.add_message(HOST, "s1", "x" * 1_000_000 + "<no-memory>")
    assert get(ledger).no_memory


def test_no_memory_marks_the_session_for_good_and_nothing_more_is_stored(ledger: SessionLedger) -> None:
    ledger.add_message(HOST, "s1", 'I wrote "no_memory":true somewhere')
    ledger.add_message(HOST, "s1", "my salary is a secret <No-Memory/>")
    ledger.add_message(HOST, "s1", "and my diagnosis too")
    assert get(ledger).no_memory
    assert get(ledger).user_messages == ('I wrote "no_memory":true somewhere',)
    assert b"salary" not in file_of(ledger).read_bytes()
    assert b"diagnosis" not in file_of(ledger).read_bytes()


def test_a_message_may_hold_any_character(ledger: SessionLedger) -> None:
    ledger.add_message(HOST, "s1", 'a\nb\r\u2028 "c" \\ 日本 \ud800 \x00')
    assert get(ledger).user_messages == ('a\nb\r\u2028 "c" \\ 日本 ? \x00',)
    assert not get(ledger).is_damaged


# The end of old records


def test_messages_are_gone_after_a_week_and_the_rest_stays(ledger: SessionLedger, clock: Clock) -> None:
    ledger.start(HOST, "s1", folder=Path("/src"))
    ledger.add_message(HOST, "s1", "an old word")
    ledger.add_untrusted_read(HOST, "s1", "WebFetch")
    clock.go_on(days=6)
    ledger.add_message(HOST, "s1", "a new word")
    assert ledger.prune() == 0
    clock.go_on(days=2)
    assert get(ledger).user_messages == ("a new word",)  # before any pruning
    assert ledger.prune() == 1
    assert b"an old word" not in file_of(ledger).read_bytes()
    assert get(ledger).user_messages == ("a new word",)
    assert get(ledger).folder == Path("/src")
    assert get(ledger).taint is Taint.TAINTED
    assert ledger.prune() == 0


def test_pruning_never_makes_a_session_cleaner(ledger: SessionLedger, clock: Clock) -> None:
    ledger.add_message(HOST, "late", "hello there")
    ledger.start(HOST, "torn", folder=None)
    with file_of(ledger, "torn").open("ab") as file:
        file.write(b'{"v":1,"kind":"message","text":"a private wo\n')
    ledger.add_message(HOST, "off", "hello <no-memory>")
    clock.go_on(hours=1)
    ledger.start(HOST, "late", folder=None)
    ledger.start(HOST, "torn", folder=None)
    clock.go_on(days=8)
    assert ledger.prune() == 2
    assert get(ledger, "late").taint is Taint.UNKNOWN
    assert get(ledger, "torn").taint is Taint.UNKNOWN
    assert b"private" not in file_of(ledger, "torn").read_bytes()
    assert get(ledger, "off").no_memory
    assert ledger.prune() == 0


def test_sessions_are_gone_a_month_after_their_end_and_live_ones_are_not(ledger: SessionLedger, clock: Clock) -> None:
    for session_id in ("over", "again", "open"):
        ledger.start(HOST, session_id, folder=None)
        ledger.add_untrusted_read(HOST, session_id, "WebFetch")
    ledger.end(HOST, "over")
    ledger.end(HOST, "again")
    ledger.start(HOST, "again", folder=None, is_resumed=True)
    clock.go_on(days=31)
    assert ledger.prune() == 1
    assert ledger.find(HOST, "over") is None
    assert get(ledger, "again").taint is get(ledger, "open").taint is Taint.TAINTED
    clock.go_on(days=60)
    assert ledger.prune() == 2


def test_a_parent_whose_child_is_gone_is_not_clean(ledger: SessionLedger, clock: Clock) -> None:
    ledger.start(HOST, "main", folder=None)
    ledger.start(HOST, "child", folder=None, parent=make_key(HOST, "main"))
    ledger.add_untrusted_read(HOST, "child", "WebFetch")
    ledger.end(HOST, "child")
    clock.go_on(days=31)
    assert ledger.prune() == 1
    assert get(ledger, "main").taint is Taint.UNKNOWN
    assert get(ledger, "main").is_damaged


def test_a_file_past_the_limit_is_cut_when_nobody_uses_it(ledger: SessionLedger, clock: Clock) -> None:
    ledger.start(HOST, "s1", folder=None)
    ledger.add_message(HOST, "s1", "an old word")
    with file_of(ledger).open("ab") as file:
        file.truncate(FILE_LIMIT_BYTES + 10)
    clock.now = dt.datetime.now(dt.UTC)
    assert ledger.prune() == 0
    clock.go_on(days=8)
    assert ledger.prune() == 1
    assert file_of(ledger).stat().st_size < 1000
    assert get(ledger).taint is Taint.TAINTED


# Stamps


def test_a_stamp_names_the_session_and_the_agent_of_its_call(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    caller = ledger.check_stamp(ledger.make_stamp(HOST, "s1", TOOL, CALL), TOOL, CALL)
    assert caller == Caller(get(ledger), None)
    stamp = ledger.make_stamp(HOST, "s1", TOOL, CALL, agent_id="a.7 é")
    assert stamp.isascii()
    caller = ledger.check_stamp(stamp, TOOL, {**CALL, "session": stamp})
    assert caller == Caller(get(ledger), "a.7 é")


def test_a_stamp_holds_whatever_way_its_json_is_written(ledger: SessionLedger) -> None:
    stamp = ledger.make_stamp(HOST, "s1", TOOL, {"b": [1, {"x": 2.0}], "a": "é", "c": None})
    assert ledger.check_stamp(stamp, TOOL, {"a": "é", "b": [1.0, {"x": 2}], "session": stamp})
    assert not ledger.check_stamp(stamp, TOOL, {"a": "é", "b": [1.5, {"x": 2}]})
    assert not ledger.check_stamp(stamp, TOOL, {"a": "é", "b": [True, {"x": 2}]})


def test_a_stamp_is_of_no_use_for_another_call(ledger: SessionLedger, tmp_path: Path, clock: Clock) -> None:
    ledger.start(HOST, "s1", folder=None)
    ledger.start(HOST, "s2", folder=None)
    stamp = ledger.make_stamp(HOST, "s1", TOOL, CALL)
    version, key, agent, issued, code = stamp.split(".")
    other = SessionLedger(tmp_path / "other", clock=clock)
    other.start(HOST, "s1", folder=None)
    forged = [
        "",
        "v1",
        "...." * 400,
        stamp[:-1] + ("0" if stamp[-1] != "0" else "1"),
        f"{version}.{make_key(HOST, 's2')}.{agent}.{issued}.{code}",
        f"{version}.{key}.{b'a7'.hex()}.{issued}.{code}",
        f"{version}.{key}.{agent}.{int(issued) + 1}.{code}",
        f"v2.{key}.{agent}.{issued}.{code}",
        f"{version}.{key}.{agent}.{issued}.",
        "é" + stamp,
        other.make_stamp(HOST, "s1", TOOL, CALL),
    ]
    for one in forged:
        assert ledger.check_stamp(one, TOOL, CALL) is None
    assert ledger.check_stamp(stamp, TOOL, {**CALL, "text": "Prefers spaces"}) is None
    assert ledger.check_stamp(stamp, TOOL, {**CALL, "pin": True}) is None
    assert ledger.check_stamp(stamp, "memory_forget", CALL) is None
    assert ledger.check_stamp(stamp, TOOL, CALL) is not None


def test_a_stamp_is_of_no_use_after_ten_minutes_nor_before_its_time(ledger: SessionLedger, clock: Clock) -> None:
    stamp = ledger.make_stamp(HOST, "s1", TOOL, CALL)
    clock.go_on(minutes=10)
    assert ledger.check_stamp(stamp, TOOL, CALL) is not None
    clock.go_on(seconds=1)
    assert ledger.check_stamp(stamp, TOOL, CALL) is None
    clock.go_on(minutes=-12)
    assert ledger.check_stamp(stamp, TOOL, CALL) is None


def test_a_stamp_of_a_session_without_a_start_names_it_as_unknown(ledger: SessionLedger) -> None:
    caller = ledger.check_stamp(ledger.make_stamp(HOST, "s1", TOOL, CALL), TOOL, CALL)
    assert caller is not None
    assert caller.session.taint is Taint.UNKNOWN


def test_a_key_that_cannot_be_one_is_made_anew(ledger: SessionLedger) -> None:
    stamp = ledger.make_stamp(HOST, "s1", TOOL, CALL)
    (ledger.folder / "key").write_bytes(b"")
    assert ledger.check_stamp(stamp, TOOL, CALL) is None
    again = ledger.make_stamp(HOST, "s1", TOOL, CALL)
    assert ledger.check_stamp(again, TOOL, CALL) is not None
    assert (ledger.folder / "key").stat().st_size == 32


def test_a_session_that_is_gone_makes_no_calls(ledger: SessionLedger) -> None:
    stamp = ledger.make_stamp(HOST, "s1", TOOL, CALL)
    file_of(ledger).unlink()
    assert ledger.check_stamp(stamp, TOOL, CALL) is None


# Tickets


def test_a_ticket_is_taken_once_and_only_for_its_call(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    ledger.leave_ticket(HOST, "s1", TOOL, CALL, agent_id="a7")
    assert ledger.take_ticket(TOOL, {"text": "Prefers spaces"}) is None
    assert ledger.take_ticket("memory_forget", CALL) is None
    assert ledger.take_ticket(TOOL, CALL) == Caller(get(ledger), "a7")
    assert ledger.take_ticket(TOOL, CALL) is None
    assert list((ledger.folder / "tickets").iterdir()) == []


def test_of_several_that_wait_with_the_same_call_the_least_trusted_comes_first(ledger: SessionLedger) -> None:
    for session_id in ("clean", "tainted", "unknown"):
        if session_id != "unknown":
            ledger.start(HOST, session_id, folder=None)
        ledger.leave_ticket(HOST, session_id, TOOL, CALL)
    ledger.add_untrusted_read(HOST, "tainted", "WebFetch")
    taken = [ledger.take_ticket(TOOL, CALL) for _ in range(4)]
    assert [one.session.id if one else None for one in taken] == ["tainted", "unknown", "clean", None]


def test_a_ticket_that_nobody_took_is_gone_after_a_minute(ledger: SessionLedger, clock: Clock) -> None:
    ledger.leave_ticket(HOST, "s1", TOOL, CALL)
    clock.go_on(seconds=61)
    assert ledger.take_ticket(TOOL, CALL) is None
    assert list((ledger.folder / "tickets").iterdir()) == []
    ledger.leave_ticket(HOST, "s1", TOOL, CALL)
    clock.go_on(seconds=61)
    ledger.prune()
    assert list((ledger.folder / "tickets").iterdir()) == []


def test_a_forged_ticket_names_nobody(ledger: SessionLedger, tmp_path: Path) -> None:
    ledger.leave_ticket(HOST, "s1", TOOL, CALL)
    (ticket,) = (ledger.folder / "tickets").iterdir()
    version, key, _, issued, code = ticket.read_text().split(".")
    ticket.write_text(f"{version}.{key}.6137.{issued}.{code}")
    ticket.with_name("nothing").write_text("x")
    ticket.with_name("link").symlink_to(tmp_path)
    assert ledger.take_ticket(TOOL, CALL) is None
    ledger.leave_ticket(HOST, "s1", "memory_forget", CALL)  # what is no ticket does not last
    assert len(list((ledger.folder / "tickets").iterdir())) == 2


# In the front door


@pytest.fixture
def repo(tmp_path: Path, clock: Clock) -> MemoryRepo:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "cache")
    (tmp_path / "home" / "src" / "billing").mkdir(parents=True)
    return MemoryRepo.open(locations=locations, home=tmp_path / "home", path=tmp_path / "home" / "memory", clock=clock)


def test_each_profile_has_sessions_of_its_own(tmp_path: Path, repo: MemoryRepo) -> None:
    locations = Locations(tmp_path / "c", tmp_path / "d", tmp_path / "x")
    assert find_sessions_folder(locations, "default") == tmp_path / "d" / "sessions"
    assert find_sessions_folder(locations, "work") == tmp_path / "d" / "profiles" / "work" / "sessions"
    assert repo.sessions is repo.sessions
    assert repo.sessions.folder == tmp_path / "data" / "sessions"


def test_a_call_of_nobody_is_a_task_of_which_nothing_is_known(repo: MemoryRepo) -> None:
    task = repo.make_task(None)
    assert (task.task_id, task.taint, task.user_messages, task.role) == (None, Taint.UNKNOWN, (), Role.MAIN)
    assert repo.make_task(None, trust=True).taint is Taint.CLEAN
    assert repo.make_task(None, user_confirmed=True).user_confirmed


def test_a_task_is_what_its_session_says(repo: MemoryRepo, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "src" / "billing"
    repo.sessions.start(HOST, "s1", folder=folder)
    repo.sessions.add_message(HOST, "s1", "Always use tabs")
    session = get(repo.sessions)
    task = repo.make_task(Caller(session))
    assert (task.task_id, task.taint, task.role, task.no_memory) == ("s1", Taint.CLEAN, Role.MAIN, False)
    assert task.user_messages == ("Always use tabs",)
    assert task.workspace is not None
    assert task.workspace.root == folder
    assert repo.make_task(Caller(session, "a7")).role is Role.SUB_AGENT
    repo.sessions.add_message(HOST, "s1", "<no-memory>")
    assert repo.make_task(Caller(get(repo.sessions))).no_memory


@pytest.mark.parametrize("place", [".", "memory", "gone"])
def test_a_place_that_is_no_workspace_gives_none(repo: MemoryRepo, tmp_path: Path, place: str) -> None:
    repo.sessions.start(HOST, "s1", folder=tmp_path / "home" / place)
    assert repo.make_task(Caller(get(repo.sessions))).workspace is None


def test_trust_lifts_what_is_unknown_and_never_a_taint_or_a_damage(repo: MemoryRepo) -> None:
    sessions = repo.sessions
    sessions.add_message(HOST, "unknown", "hello there")
    sessions.start(HOST, "tainted", folder=None)
    sessions.add_untrusted_read(HOST, "tainted", "WebFetch")
    sessions.start(HOST, "torn", folder=None)
    with file_of(sessions, "torn").open("ab") as file:
        file.write(b"{")
    taints = [repo.make_task(Caller(get(sessions, one)), trust=True).taint for one in ("unknown", "tainted", "torn")]
    assert taints == [Taint.CLEAN, Taint.TAINTED, Taint.UNKNOWN]


@pytest.mark.parametrize(
    ("quote", "by"),
    [
        ("on fridays only", "user"),
        (f"deploy with {TOKEN} on fridays", "user"),  # as the user said it; recorded without the secret
        ("deploy with [REDACTED github-token] on fridays", None),
        (TOKEN, "agent"),  # what stands for a secret is nobody's words
        ("never on fridays", "agent"),
    ],
)
def test_a_quote_is_found_in_what_is_recorded_without_secrets(repo: MemoryRepo, quote: str, by: str | None) -> None:
    repo.sessions.start(HOST, "s1", folder=None)
    repo.sessions.add_message(HOST, "s1", f"please deploy with {TOKEN} on Fridays only")
    (said,) = get(repo.sessions).user_messages
    if by is None:  # the very words of the record
        quote, by = said[7:-5], "user"
    with repo:
        fact = Candidate("Deploys on Fridays only", kind=Kind.RULE, claims_user=True, quote=quote)
        result = repo.service.remember(fact, repo.make_task(Caller(get(repo.sessions))))
        assert result.status is WriteStatus.WRITTEN
        (entry,) = [one.entry for one in repo.iter_entries() if one.entry.text == "Deploys on Fridays only"]
    assert entry.by == by


def test_a_hook_that_adds_a_line_loads_little() -> None:
    code = "import sys, memrepo.sessions; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"memrepo.model", "memrepo.policy.redaction", "sqlite3", "sqlalchemy", "pydantic", "click", "subprocess"}
    assert not heavy & set(loaded)


def test_a_record_is_one_line_of_json(ledger: SessionLedger) -> None:
    ledger.start(HOST, "s1", folder=None)
    (line,) = [one for one in file_of(ledger).read_text().split("\n") if one]
    assert json.loads(line) == {"v": 1, "at": 1796385600000, "host": HOST, "session": "s1", "kind": "start"}
