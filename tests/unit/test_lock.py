"""The lock file: what it says, how others' are read, when it is waited for, taken over and released."""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.faulty_os import FaultyOs

from memrepo.errors import DiskFault, LockBusy, PathRefused
from memrepo.files import folder as folder_module
from memrepo.lock import (
    LOCK_NAME,
    QUEUE_NAME,
    WriteLock,
    clear_lock,
    find_process_space,
    is_process_alive,
    may_live,
    read_lock,
)

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_790_000_000.0
DEAD_PID = 4_000_000  # past the largest id that Linux gives by default


class Waits:
    """Stands for sleep: notes what was asked for, waits for nothing."""

    def __init__(self) -> None:
        self.asked_s: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.asked_s.append(seconds)


@pytest.fixture
def git_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "root/.git"
    folder.mkdir(parents=True)
    return folder


def make_lock(git_folder: Path, **options: Any) -> WriteLock:
    return WriteLock(git_folder, **{"clock": lambda: NOW, "wait": Waits(), "is_alive": lambda _: False, **options})


def plant(git_folder: Path, content: object, *, age_s: float = 31, file_age_s: float | None = None) -> Path:
    """Leaves a lock file as another program would; an `at` of None is filled in from `age_s`."""
    if isinstance(content, dict) and content.get("at", ...) is None:
        content["at"] = int((NOW - age_s) * 1000)
    path = git_folder / LOCK_NAME
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    written = NOW - (age_s if file_age_s is None else file_age_s)
    os.utime(path, (written, written))
    return path


def is_taken_over(git_folder: Path, **options: Any) -> bool:
    """Whether a taker gets past the lock that is there; it must stay untouched when not."""
    before = (git_folder / LOCK_NAME).lstat()
    try:
        with make_lock(git_folder, **options).hold(timeout_s=0):
            return True
    except LockBusy:
        after = (git_folder / LOCK_NAME).lstat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
        return False


def test_the_lock_says_pid_runtime_and_milliseconds_and_is_gone_afterwards(git_folder: Path) -> None:
    with make_lock(git_folder, runtime="hub").hold():
        said = json.loads((git_folder / LOCK_NAME).read_bytes())
        assert said["pid"] == os.getpid()
        assert said["runtime"] == "hub"
        assert said["at"] == NOW * 1000
        assert said["host"] == find_process_space()
        assert re.fullmatch(r"[0-9a-f]{16}", said["token"])
    assert {path.name for path in git_folder.iterdir()} == {QUEUE_NAME}


def test_the_lock_is_released_when_the_block_fails(git_folder: Path) -> None:
    with pytest.raises(KeyError), make_lock(git_folder).hold():
        raise KeyError
    assert read_lock(git_folder) is None


def test_a_missing_git_folder_is_made_and_a_missing_root_is_not(tmp_path: Path) -> None:
    with make_lock(tmp_path / ".git").hold():
        assert (tmp_path / ".git").stat().st_mode & 0o777 == 0o700
    with pytest.raises(DiskFault), make_lock(tmp_path / "gone/.git").hold():
        pass
    assert not (tmp_path / "gone").exists()


def test_a_git_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".git").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PathRefused), make_lock(tmp_path / ".git").hold():
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert read_lock(tmp_path / ".git") is None
    assert read_lock(tmp_path / "nothing") is None


def test_a_held_lock_is_waited_for_exactly_the_timeout_and_then_named(git_folder: Path) -> None:
    waits = Waits()
    with make_lock(git_folder, runtime="daemon").hold():
        waiting = make_lock(git_folder, wait=waits, is_alive=lambda _: True)
        with pytest.raises(LockBusy) as busy, waiting.hold(timeout_s=5):
            pass
        assert busy.value.facts["holder_pid"] == os.getpid()
        assert busy.value.facts["waited_s"] == 5
        assert busy.value.facts["lock"] == str(git_folder / LOCK_NAME)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", str(busy.value.facts["held_since"]))
        assert "'daemon'" in busy.value.message
        assert "memrepo doctor --fix" in busy.value.hint
    assert sum(waits.asked_s) == pytest.approx(5)
    assert waits.asked_s == sorted(waits.asked_s[:-1]) + waits.asked_s[-1:]
    assert max(waits.asked_s) <= 0.01


def test_a_young_lock_of_a_gone_process_is_not_waited_for(git_folder: Path) -> None:
    plant(git_folder, {"pid": DEAD_PID, "runtime": "desktop", "at": None}, age_s=20)
    waits = Waits()
    with pytest.raises(LockBusy, match="ended while it was writing") as busy:
        make_lock(git_folder, wait=waits).hold(timeout_s=5).__enter__()
    assert waits.asked_s == []
    assert "30 s" in busy.value.hint
    assert "memrepo doctor --fix" in busy.value.hint


def test_a_lock_that_is_released_while_waiting_is_taken(git_folder: Path) -> None:
    path = plant(git_folder, {"pid": os.getpid(), "runtime": "desktop", "at": None}, age_s=0)
    steps = []

    def wait(seconds: float) -> None:
        steps.append(seconds)
        if len(steps) == 3:
            path.unlink()

    with make_lock(git_folder, wait=wait, is_alive=lambda _: True).hold(timeout_s=5):
        assert len(steps) == 3


@pytest.mark.parametrize(
    "at", [(NOW - 31) * 1000, int((NOW - 31) * 1000), NOW - 31, "2026-09-21T14:12:49Z", "2026-09-21T14:12:49.000+00:00"]
)
def test_an_old_lock_of_a_gone_process_is_taken_over_however_it_writes_the_time(git_folder: Path, at: object) -> None:
    plant(git_folder, {"pid": DEAD_PID, "runtime": "desktop", "at": at})
    holder = read_lock(git_folder)
    assert holder is not None
    assert holder.at_s == NOW - 31
    assert holder.since == "2026-09-21T14:12:49+00:00"
    assert is_taken_over(git_folder)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ({"pid": DEAD_PID, "runtime": "desktop", "at": None}, {"age_s": 29}),
        ({"pid": DEAD_PID, "runtime": "desktop", "at": None}, {"file_age_s": 1}),
        ({"pid": DEAD_PID, "runtime": "desktop", "at": NOW * 1000}, {}),
        ({"pid": DEAD_PID, "runtime": "desktop", "at": (NOW + 9_999) * 1000}, {}),
        ({"pid": DEAD_PID, "runtime": "memrepo", "at": None, "host": "another machine"}, {}),
        ({"runtime": "desktop", "at": None}, {}),
        ({"pid": str(DEAD_PID), "at": None}, {}),
        ({"pid": True, "at": None}, {}),
        ({"pid": 0, "at": None}, {}),
        ({"pid": -1, "at": None}, {}),
        ({"pid": 2**40, "at": None}, {}),
        (b"", {}),
        (b'{"pid": 40000', {}),
        (b"[" * 100_000, {}),
        (b"\xff\xfe", {}),
        ([DEAD_PID], {}),
        (DEAD_PID, {}),
    ],
)
def test_a_lock_in_doubt_is_held(git_folder: Path, content: object, options: dict[str, float]) -> None:
    plant(git_folder, content, **options)
    assert not is_taken_over(git_folder)
    assert read_lock(git_folder) is not None


def test_a_lock_without_a_time_is_judged_by_its_file(git_folder: Path) -> None:
    for at in ("soon", None, float("nan"), 1e300, [1]):
        plant(git_folder, {"pid": DEAD_PID, "runtime": "desktop", "at": at or "x"})
        assert is_taken_over(git_folder)


def test_a_lock_whose_process_lives_is_held_however_old(git_folder: Path) -> None:
    plant(git_folder, {"pid": os.getpid(), "runtime": "desktop", "at": None}, age_s=100_000)
    assert not is_taken_over(git_folder, is_alive=is_process_alive)


def test_something_else_in_the_place_of_the_lock_is_held_and_readable(git_folder: Path) -> None:
    (git_folder / LOCK_NAME).symlink_to(git_folder / "nothing")
    assert not is_taken_over(git_folder)
    (git_folder / LOCK_NAME).unlink()
    os.mkfifo(git_folder / LOCK_NAME)
    assert not is_taken_over(git_folder)
    (git_folder / LOCK_NAME).unlink()
    (git_folder / LOCK_NAME).mkdir()
    assert not is_taken_over(git_folder)
    holder = read_lock(git_folder)
    assert holder is not None
    assert holder.pid is None


def test_only_a_missing_process_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_process_alive(os.getpid())
    assert is_process_alive(1)
    assert not is_process_alive(DEAD_PID)

    def forbid(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbid)
    assert is_process_alive(DEAD_PID)


def test_a_process_of_another_space_is_never_asked_about(git_folder: Path) -> None:
    plant(git_folder, {"pid": DEAD_PID, "at": None, "host": "another machine"})
    elsewhere = read_lock(git_folder)
    plant(git_folder, {"pid": DEAD_PID, "at": None, "host": find_process_space()})
    here = read_lock(git_folder)
    assert elsewhere is not None
    assert here is not None
    assert may_live(elsewhere, is_alive=lambda _: pytest.fail("asked"))
    assert not may_live(here)


def test_a_release_leaves_a_lock_that_is_not_ours(git_folder: Path) -> None:
    with make_lock(git_folder).hold():
        ours = (git_folder / LOCK_NAME).read_bytes()
        (git_folder / LOCK_NAME).unlink()
        plant(git_folder, ours.replace(b'"token": "', b'"token": "0'))
    assert (git_folder / LOCK_NAME).exists()


def test_a_release_bears_a_lock_or_git_folder_that_is_gone(git_folder: Path) -> None:
    with make_lock(git_folder).hold():
        (git_folder / LOCK_NAME).unlink()
    with make_lock(git_folder).hold():
        for path in git_folder.iterdir():
            path.unlink()
        git_folder.rmdir()


def test_a_person_can_clear_exactly_the_lock_that_was_seen(git_folder: Path) -> None:
    plant(git_folder, b"")
    seen = read_lock(git_folder)
    assert seen is not None
    plant(git_folder, b"", age_s=1)
    assert not clear_lock(git_folder, seen)
    assert (git_folder / LOCK_NAME).read_bytes() == b""
    again = read_lock(git_folder)
    assert again is not None
    assert clear_lock(git_folder, again)
    assert not clear_lock(git_folder, again)
    assert {path.name for path in git_folder.iterdir()} == {QUEUE_NAME}


def test_threads_of_one_process_exclude_each_other(git_folder: Path) -> None:
    lock = WriteLock(git_folder)
    inside, most, done = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, done
        for _ in range(25):
            with lock.hold(timeout_s=60):
                inside += 1
                most = max(most, inside)
                done += 1
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, done) == (1, 100)


# --- file systems that cannot do everything, and those that fail


def test_without_hard_links_the_lock_still_excludes(git_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    with make_lock(git_folder).hold():
        with pytest.raises(LockBusy), make_lock(git_folder).hold(timeout_s=0):
            pass
        assert json.loads((git_folder / LOCK_NAME).read_bytes())["pid"] == os.getpid()
    plant(git_folder, {"pid": DEAD_PID, "at": None})
    assert is_taken_over(git_folder)
    assert {path.name for path in git_folder.iterdir()} == {QUEUE_NAME}


def test_without_flock_the_lock_still_excludes_and_nobody_takes_over(
    git_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr("fcntl.flock", refuse)
    with make_lock(git_folder).hold(), pytest.raises(LockBusy), make_lock(git_folder).hold(timeout_s=0):
        pass
    plant(git_folder, {"pid": DEAD_PID, "at": None})
    assert not is_taken_over(git_folder)


def test_a_failing_disk_is_named_and_leaves_no_lock_and_no_temporary(
    git_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 0
    while True:
        number += 1
        faulty = FaultyOs(fail_from=number, error=errno.ENOSPC)
        with monkeypatch.context() as patch:
            patch.setattr(folder_module, "os", faulty)
            lock = make_lock(git_folder)
            try:
                with lock.hold(timeout_s=0):
                    assert len(faulty.calls) != number or faulty.calls[-1] in {"unlink", "close"}
                    patch.undo()
            except DiskFault as fault:
                assert fault.facts["errno_name"] == "ENOSPC"  # noqa: PT017 - the loop ends when none is raised
        if len(faulty.calls) < number:
            break
        for path in git_folder.glob(".memrepo-*.tmp"):  # only when its removal is what failed
            assert faulty.calls[number - 1] == "unlink"
            path.unlink()
        if (git_folder / LOCK_NAME).exists():  # only when a folder could not be closed: no system does that
            assert faulty.calls[number - 1] == "close"
            (git_folder / LOCK_NAME).unlink()
    assert number > 5
