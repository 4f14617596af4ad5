"""Real processes around one lock, held at chosen calls: never two writers, a killed one is replaced, nobody starves."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest
from tests.kit.faulty_os import FaultyOs
from tests.kit.forked import Child, gates

from memrepo.errors import LockBusy
from memrepo.files import folder as folder_module
from memrepo.lock import LOCK_NAME, QUEUE_NAME, WriteLock, read_lock

if TYPE_CHECKING:
    from pathlib import Path

WON, BUSY = 11, 12


@pytest.fixture
def git_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "root/.git"
    folder.mkdir(parents=True)
    return folder


def later() -> float:
    """A clock on which every lock taken in this test is old."""
    return time.time() + 31


def no_wait(_: float) -> None:
    """Stands for sleep where time must not pass."""


def host_lock(pid: int) -> bytes:
    """A lock as the seed's host writes it."""
    return json.dumps({"pid": pid, "runtime": "desktop", "at": int(time.time() * 1000)}).encode()


def plant_dead_lock(git_folder: Path) -> None:
    """Leaves the lock of a process that took it and is gone."""

    def take_and_die() -> None:
        (git_folder / LOCK_NAME).write_bytes(host_lock(os.getpid()))

    assert Child(take_and_die).wait() == 0
    assert (git_folder / LOCK_NAME).exists()


def replace_as_host(git_folder: Path) -> bytes:
    """What the host does with a stale lock: remove it, make its own, knowing nothing of our queue."""
    fresh = host_lock(os.getpid())
    (git_folder / LOCK_NAME).unlink()
    with (git_folder / LOCK_NAME).open("xb") as file:
        file.write(fresh)
    return fresh


def test_a_second_taker_stays_out_while_the_first_stands_between_judging_and_taking(git_folder: Path) -> None:
    plant_dead_lock(git_folder)
    with gates(2) as (judged, go):

        def judge(_: int) -> bool:
            judged.open_for()
            go.wait()
            return False

        def first() -> int:
            with WriteLock(git_folder, clock=later, is_alive=judge).hold(timeout_s=0):
                return WON

        taker = Child(first)
        judged.wait()
        before = (git_folder / LOCK_NAME).read_bytes()
        with pytest.raises(LockBusy), WriteLock(git_folder, clock=later, wait=no_wait).hold(timeout_s=1):
            pass
        assert (git_folder / LOCK_NAME).read_bytes() == before
        go.open_for()
        assert taker.wait() == WON


@pytest.mark.parametrize("call", ["replace", "link", "unlink"])
def test_a_second_taker_stays_out_at_every_step_of_a_takeover(git_folder: Path, call: str) -> None:
    plant_dead_lock(git_folder)
    with gates(3) as (there, go, leave):

        def pause() -> None:
            there.open_for()
            go.wait()

        def first() -> int:
            faulty = FaultyOs(before={call: pause})
            faulty.put_in(folder_module)
            with WriteLock(git_folder, clock=later).hold(timeout_s=0):
                faulty.before.clear()
                leave.wait()
                return WON

        taker = Child(first)
        for _ in range({"replace": 1, "link": 1, "unlink": 2}[call]):
            there.wait()
            with pytest.raises(LockBusy), WriteLock(git_folder, clock=later, wait=no_wait).hold(timeout_s=1):
                pass
            go.open_for()
        leave.open_for()
        assert taker.wait() == WON
        assert read_lock(git_folder) is None


def test_of_many_takers_of_one_stale_lock_exactly_one_wins(git_folder: Path) -> None:
    takers = 8
    for _ in range(10):
        plant_dead_lock(git_folder)
        with gates(3) as (start, told, leave):

            def take() -> int:
                start.wait()
                try:
                    with WriteLock(git_folder, clock=later, wait=no_wait).hold(timeout_s=1):
                        told.open_for()
                        leave.wait()
                        return WON
                except LockBusy:
                    told.open_for()
                    return BUSY

            children = [Child(take) for _ in range(takers)]
            start.open_for(takers)
            for _ in range(takers):
                told.wait()
            leave.open_for(takers)
            assert sorted(child.wait() for child in children) == [WON] + [BUSY] * (takers - 1)
        assert {path.name for path in git_folder.iterdir()} == {QUEUE_NAME}


def test_the_hosts_fresh_lock_is_given_back_when_it_came_between_judging_and_taking(git_folder: Path) -> None:
    plant_dead_lock(git_folder)
    fresh: list[bytes] = []

    def judge(_: int) -> bool:
        if not fresh:  # later questions are about the fresh one
            fresh.append(replace_as_host(git_folder))
        return False

    with pytest.raises(LockBusy), WriteLock(git_folder, clock=later, wait=no_wait, is_alive=judge).hold(timeout_s=0):
        pass
    assert (git_folder / LOCK_NAME).read_bytes() == fresh[0]
    assert {path.name for path in git_folder.iterdir()} == {LOCK_NAME, QUEUE_NAME}


def test_the_hosts_fresh_lock_is_given_back_when_it_came_just_before_the_rename(
    git_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_dead_lock(git_folder)
    fresh: list[bytes] = []
    faulty = FaultyOs(before={"replace": lambda: fresh.append(replace_as_host(git_folder))})
    monkeypatch.setattr(folder_module, "os", faulty)
    with pytest.raises(LockBusy), WriteLock(git_folder, clock=later, wait=no_wait).hold(timeout_s=0):
        pass
    assert (git_folder / LOCK_NAME).read_bytes() == fresh[0]
    assert {path.name for path in git_folder.iterdir()} == {LOCK_NAME, QUEUE_NAME}


def test_the_host_that_takes_the_lock_between_our_removal_and_ours_keeps_it(
    git_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_dead_lock(git_folder)
    fresh = host_lock(os.getpid())

    def take() -> None:
        with (git_folder / LOCK_NAME).open("xb") as file:
            file.write(fresh)

    monkeypatch.setattr(folder_module, "os", FaultyOs(before={"link": take}))
    with pytest.raises(LockBusy), WriteLock(git_folder, clock=later, wait=no_wait).hold(timeout_s=0):
        pass
    assert (git_folder / LOCK_NAME).read_bytes() == fresh


def test_no_memrepo_process_gets_in_while_the_hosts_lock_is_being_given_back(git_folder: Path) -> None:
    plant_dead_lock(git_folder)
    with gates(2) as (there, go):

        def pause() -> None:
            there.open_for()
            go.wait()

        def take() -> int:
            faulty = FaultyOs(before={"replace": lambda: replace_as_host(git_folder), "link": pause})
            faulty.put_in(folder_module)
            try:
                with WriteLock(git_folder, clock=later, wait=no_wait).hold(timeout_s=0):
                    return WON
            except LockBusy:
                return BUSY

        taker = Child(take)
        there.wait()
        assert not (git_folder / LOCK_NAME).exists()  # the gap: the host's lock is in the taker's hand
        with pytest.raises(LockBusy), WriteLock(git_folder, wait=no_wait).hold(timeout_s=1):
            pass
        go.open_for()
        assert taker.wait() == BUSY
        assert (git_folder / LOCK_NAME).exists()


def test_many_processes_never_write_at_once_and_none_of_their_writes_is_lost(git_folder: Path) -> None:
    processes, writes = 6, 40
    counter, inside = git_folder / "counter", git_folder / "inside"
    counter.write_text("0")

    def work() -> None:
        lock = WriteLock(git_folder)
        for _ in range(writes):
            with lock.hold(timeout_s=120):
                inside.touch(exist_ok=False)
                counter.write_text(str(int(counter.read_text()) + 1))
                inside.unlink()

    children = [Child(work) for _ in range(processes)]
    assert [child.wait() for child in children] == [0] * processes
    assert counter.read_text() == str(processes * writes)


def test_a_writer_in_a_loop_lets_the_one_in_line_go_first(git_folder: Path) -> None:
    lock = WriteLock(git_folder, wait=no_wait)
    with gates(2) as (in_line, go):

        def wait(_: float) -> None:
            in_line.open_for()
            go.wait()

        def come_second() -> int:
            with WriteLock(git_folder, wait=wait).hold(timeout_s=5):
                return WON

        with lock.hold():
            second = Child(come_second)
            in_line.wait()
        with pytest.raises(LockBusy), lock.hold(timeout_s=1):  # free, but not ours to take again
            pass
        go.open_for()
        assert second.wait() == WON
    with lock.hold(timeout_s=0):
        pass


def test_a_killed_holder_is_replaced_after_thirty_seconds_and_not_before(git_folder: Path) -> None:
    with gates(2) as (held, never):

        def hold() -> None:
            with WriteLock(git_folder).hold():
                held.open_for()
                never.wait()

        holder = Child(hold)
        held.wait()
        with pytest.raises(LockBusy) as busy, WriteLock(git_folder, clock=later, wait=no_wait).hold(timeout_s=1):
            pass
        assert busy.value.facts["holder_pid"] == holder.pid  # old, but alive
        holder.kill()
        with pytest.raises(LockBusy), WriteLock(git_folder, wait=no_wait).hold(timeout_s=1):
            pass  # gone, but not old
        with WriteLock(git_folder, clock=later).hold(timeout_s=0):
            seen = read_lock(git_folder)
            assert seen is not None
            assert seen.pid == os.getpid()
    assert read_lock(git_folder) is None


def test_a_process_killed_in_line_leaves_the_line(git_folder: Path) -> None:
    with gates(2) as (in_line, never):

        def wait(_: float) -> None:
            in_line.open_for()
            never.wait()

        def stand_in_line() -> None:
            with WriteLock(git_folder, wait=wait).hold(timeout_s=5):
                pass

        with WriteLock(git_folder).hold():
            waiter = Child(stand_in_line)
            in_line.wait()
        waiter.kill()
    with WriteLock(git_folder).hold(timeout_s=0):
        pass


def test_a_taker_killed_at_any_step_leaves_a_lock_that_the_next_one_gets(git_folder: Path) -> None:
    number, killed = 0, True
    while killed:
        number += 1
        plant_dead_lock(git_folder)

        def take(number: int = number) -> None:
            FaultyOs(kill_at=number).put_in(folder_module)
            with WriteLock(git_folder, clock=later).hold(timeout_s=0):
                pass

        killed = Child(take).wait() < 0
        with WriteLock(git_folder, clock=lambda: time.time() + 62).hold(timeout_s=0):
            pass
    assert number > 8


def test_a_forked_child_that_leaves_the_block_does_not_release_its_parents_lock(git_folder: Path) -> None:
    block = WriteLock(git_folder).hold()
    with block:
        assert Child(lambda: block.__exit__(None, None, None) and None).wait() == 0
        held = read_lock(git_folder)
        assert held is not None
        assert held.pid == os.getpid()
    assert read_lock(git_folder) is None


def test_a_child_forked_while_waiting_does_not_keep_the_place_in_line(git_folder: Path) -> None:
    (git_folder / LOCK_NAME).write_bytes(host_lock(os.getpid()))
    with gates(1) as (go,):
        children: list[Child] = []

        def fork_while_waiting(_: float) -> None:
            children.append(Child(go.wait))
            (git_folder / LOCK_NAME).unlink()

        with WriteLock(git_folder, wait=fork_while_waiting).hold(timeout_s=5):
            pass
        with WriteLock(git_folder).hold(timeout_s=0):
            pass
        go.open_for()
        assert [child.wait() for child in children] == [0]
