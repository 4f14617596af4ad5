"""Real processes on one ledger: every record stands whole, pruning loses none, and a ticket is taken once."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING

import pytest
from tests.kit.forked import Child, gates

from memrepo.files import folder as folder_module
from memrepo.model import Taint
from memrepo.sessions import SessionLedger, make_key, pruning

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOST = "claude-code"
OLD = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
NOW = dt.datetime(2026, 12, 4, tzinfo=dt.UTC)
CALL = {"text": "Prefers tabs"}


def open_at(tmp_path: Path, now: dt.datetime = NOW) -> SessionLedger:
    return SessionLedger(tmp_path / "sessions", clock=lambda: now)


def labels_of(ledger: SessionLedger, session_id: str = "s1") -> tuple[str, ...]:
    found = ledger.find(HOST, session_id)
    assert found is not None
    assert not found.is_damaged
    return found.untrusted_reads


def test_many_processes_add_at_once_and_every_record_stands_whole(tmp_path: Path) -> None:
    with gates(1) as (start,):

        def work(number: int) -> None:
            start.wait()
            ledger = open_at(tmp_path)
            for count in range(30):
                ledger.add_untrusted_read(HOST, "s1", f"{number}.{count}")
                ledger.add_message(HOST, "s1", f"{number}.{count} " + "long " * 4000)

        workers = [Child(lambda number=number: work(number)) for number in range(4)]  # type: ignore[misc]
        start.open_for(len(workers))
        assert [worker.wait() for worker in workers] == [0] * len(workers)
    ledger = open_at(tmp_path)
    assert sorted(labels_of(ledger)) == sorted(f"{number}.{count}" for number in range(4) for count in range(30))
    found = ledger.find(HOST, "s1")
    assert found is not None
    assert len(found.user_messages) == 120


def test_processes_that_add_while_others_prune_lose_nothing(tmp_path: Path) -> None:
    with gates(1) as (start,):

        def add(number: int) -> None:
            start.wait()
            for count in range(60):  # each leaves an old message behind, so that there is always something to prune
                open_at(tmp_path, OLD).add_message(HOST, "s1", f"old {number}.{count}")
                open_at(tmp_path).add_untrusted_read(HOST, "s1", f"{number}.{count}")

        def prune() -> None:
            start.wait()
            for _ in range(120):
                open_at(tmp_path).prune()

        open_at(tmp_path).start(HOST, "s1", folder=None)
        workers = [Child(lambda number=number: add(number)) for number in range(2)]  # type: ignore[misc]
        workers += [Child(prune) for _ in range(2)]
        start.open_for(len(workers))
        assert [worker.wait() for worker in workers] == [0] * len(workers)
    ledger = open_at(tmp_path)
    ledger.prune()
    assert sorted(labels_of(ledger)) == sorted(f"{number}.{count}" for number in range(2) for count in range(60))
    assert b"old " not in (ledger.folder / f"{make_key(HOST, 's1')}.jsonl").read_bytes()
    assert [path for path in ledger.folder.iterdir() if path.suffix == ".tmp"] == []


def add_in_the_middle(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], None]) -> None:
    """Lets another process act at the moment before pruning calls this function, once."""
    real = getattr(pruning, name)
    waiting = [act]

    def held(*args: object, **options: object) -> object:
        if waiting:
            assert Child(waiting.pop()).wait() == 0
        return real(*args, **options)

    monkeypatch.setattr(pruning, name, held)


@pytest.mark.parametrize("moment", ["_read_at", "_keep", "_replace"])
def test_what_is_added_while_a_file_is_rewritten_is_carried_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    open_at(tmp_path, OLD).add_message(HOST, "s1", "an old word")
    open_at(tmp_path).start(HOST, "s1", folder=None)
    add_in_the_middle(monkeypatch, moment, lambda: open_at(tmp_path).add_untrusted_read(HOST, "s1", "WebFetch"))
    assert open_at(tmp_path).prune() == 1
    assert labels_of(open_at(tmp_path)) == ("WebFetch",)


@pytest.mark.parametrize("moment", ["_read_at", "_is_over"])
def test_a_session_that_goes_on_while_it_is_removed_keeps_its_taint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    old = open_at(tmp_path, OLD)
    old.start(HOST, "s1", folder=None)
    old.add_untrusted_read(HOST, "s1", "WebFetch")
    old.end(HOST, "s1")
    go_on = open_at(tmp_path)
    add_in_the_middle(monkeypatch, moment, lambda: go_on.start(HOST, "s1", folder=None, is_resumed=True))
    open_at(tmp_path).prune()
    assert labels_of(open_at(tmp_path)) == ("WebFetch",)


@pytest.mark.parametrize("is_over", [False, True])
def test_a_record_written_to_a_file_that_pruning_replaced_is_written_again(tmp_path: Path, is_over: bool) -> None:
    old = open_at(tmp_path, OLD)
    old.start(HOST, "s1", folder=None)
    old.add_message(HOST, "s1", "an old word")
    if is_over:
        old.end(HOST, "s1")
    with gates(2) as (is_open, may_write):

        def add() -> None:
            real = os.write

            def held(descriptor: int, data: bytes) -> int:
                os.write = real  # the second time it goes through
                is_open.open_for()
                may_write.wait()
                return real(descriptor, data)

            os.write = held  # type: ignore[assignment]
            open_at(tmp_path).add_untrusted_read(HOST, "s1", "WebFetch")

        adder = Child(add)
        is_open.wait()
        assert open_at(tmp_path).prune() == 1
        may_write.open_for()
        assert adder.wait() == 0
    assert labels_of(open_at(tmp_path)) == ("WebFetch",)


def test_while_one_process_prunes_another_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_at(tmp_path, OLD).add_message(HOST, "s1", "an old word")

    def prune_too() -> None:
        assert open_at(tmp_path).prune() == 0

    add_in_the_middle(monkeypatch, "_keep", prune_too)
    assert open_at(tmp_path).prune() == 1


def test_a_pruning_that_is_killed_loses_nothing_and_stands_in_nobodys_way(tmp_path: Path) -> None:
    old = open_at(tmp_path, OLD)
    old.start(HOST, "s1", folder=None)
    old.add_message(HOST, "s1", "an old word")
    old.add_untrusted_read(HOST, "s1", "WebFetch")
    with gates(2) as (is_there, never):

        def prune() -> None:
            def held(*_: object, **__: object) -> None:
                is_there.open_for()
                never.wait()

            folder_module.Folder.rename = held  # type: ignore[method-assign]
            open_at(tmp_path).prune()

        pruner = Child(prune)
        is_there.wait()
        pruner.kill()
    assert labels_of(open_at(tmp_path)) == ("WebFetch",)
    assert open_at(tmp_path).prune() == 1
    left = [path for path in (tmp_path / "sessions").iterdir() if path.suffix == ".tmp"]
    assert len(left) == 1  # it may be one in use
    os.utime(left[0], (1, 1))
    open_at(tmp_path).prune()
    assert not left[0].exists()


def test_processes_that_stamp_first_at_once_share_one_key(tmp_path: Path) -> None:
    with gates(1) as (start,):

        def work(number: int) -> int:
            start.wait()
            ledger = open_at(tmp_path)
            stamp = ledger.make_stamp(HOST, f"s{number}", "memory_remember", CALL)
            ledger.leave_ticket(HOST, f"s{number}", "memory_remember", CALL)
            return 0 if ledger.check_stamp(stamp, "memory_remember", CALL) else 1

        workers = [Child(lambda number=number: work(number)) for number in range(6)]  # type: ignore[misc]
        start.open_for(len(workers))
        assert [worker.wait() for worker in workers] == [0] * len(workers)
    ledger = open_at(tmp_path)
    callers = [ledger.take_ticket("memory_remember", CALL) for _ in range(7)]
    assert sorted(one.session.id for one in callers if one) == [f"s{number}" for number in range(6)]
    assert callers[-1] is None


def test_one_ticket_is_taken_by_one_of_many(tmp_path: Path) -> None:
    ledger = open_at(tmp_path)
    ledger.start(HOST, "s1", folder=None)
    with gates(1) as (start,):

        def take() -> int:
            start.wait()
            caller = open_at(tmp_path).take_ticket("memory_remember", CALL)
            return 1 if caller and caller.session.taint is Taint.CLEAN else 0

        ledger.leave_ticket(HOST, "s1", "memory_remember", CALL)
        workers = [Child(take) for _ in range(6)]
        start.open_for(len(workers))
        assert sum(worker.wait() for worker in workers) == 1
