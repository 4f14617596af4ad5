"""Child processes of a test, and pipes that hold them where the test wants them."""

from __future__ import annotations

import gc
import os
import select
import signal
import time
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Gate:
    """Closed until `open_for` lets that many waiters through. Made before the fork, shared by both sides."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def open_for(self, count: int = 1) -> None:
        os.write(self._write, b"x" * count)

    def wait(self) -> None:
        assert os.read(self._read, 1) == b"x"

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


@contextmanager
def gates(count: int) -> Iterator[tuple[Gate, ...]]:
    """Makes gates for one test; at its end, however it ends, whoever still waits is let through."""
    made = tuple(Gate() for _ in range(count))
    try:
        yield made
    finally:
        for gate in made:
            gate.open_for(100)
            gate.close()


class Child:
    """A forked process that runs one function; its exit code is what that returns (None: 0; a traceback: 99)."""

    def __init__(self, act: Callable[[], int | None]) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            code = 99
            try:
                code = act() or 0
            except BaseException:  # noqa: BLE001 - a child must never return into the test run
                traceback.print_exc()
            finally:
                os._exit(code)

    def wait(self) -> int:
        """The exit code; negative when a signal ended it."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL


def wait_for_index_threads(*, most_s: float = 5.0) -> None:
    """Waits until the threads are gone that watch closed search indexes (they look up twice a second).

    A fork would copy what they hold, and nobody in the child would let go of it. Where the system does not tell, it
    does not wait.
    """
    gc.collect()
    until = time.monotonic() + most_s
    while time.monotonic() < until and any(map(_is_index_thread, Path("/proc/self/task").glob("*/comm"))):
        select.select([], [], [], 0.02)


def _is_index_thread(name: Path) -> bool:
    try:
        return name.read_text("utf-8").startswith("thread-tantivy")
    except OSError:
        return False  # it ended meanwhile
