"""An `os` whose calls can be made to fail, to pause or to kill at a chosen one. Put it in a module in place of `os`."""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

CHANGES = frozenset(("open", "close", "write", "fsync", "mkdir", "unlink", "replace", "rename", "link", "fchmod"))
CALLS = CHANGES | {"read", "fstat", "stat", "lstat", "scandir"}


@dataclass
class FaultyOs:
    """Passes everything on to the real `os`, and counts the calls named in `counted`.

    `fail_from`: that call (from 1) fails with `error`, and so do all later ones unless `once`. `kill_at`: the process
    gets SIGKILL before that call. `before`: a function by call name, run before each call of that name.
    """

    fail_from: int = 0
    once: bool = True
    error: int = errno.EIO
    kill_at: int = 0
    write_at_most: int | None = None
    counted: frozenset[str] = CHANGES
    before: dict[str, Callable[[], object]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def put_in(self, module: ModuleType) -> None:
        """Replaces the module's `os` for the rest of this process: for children only."""
        vars(module)["os"] = self

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CALLS:
            return real

        def call(*args: Any, **options: Any) -> Any:
            if hook := self.before.get(name):
                hook()
            if name in self.counted:
                self._count(name, args)
            if name == "write" and self.write_at_most is not None:
                return real(args[0], args[1][: self.write_at_most])
            return real(*args, **options)

        return call

    def _count(self, name: str, args: tuple[Any, ...]) -> None:
        self.calls.append(name)
        number = len(self.calls)
        if number == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fail_from and (number == self.fail_from or (number > self.fail_from and not self.once)):
            if name == "close":  # a failed close closes all the same
                os.close(args[0])
            raise OSError(self.error, os.strerror(self.error))
