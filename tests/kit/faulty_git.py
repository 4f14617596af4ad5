"""git calls that can be made to fail, to answer too late, or to be the last thing a process did, at a chosen one."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from memrepo.errors import GitFailed, GitTimeout
from memrepo.git import client as client_module
from memrepo.git import gate as gate_module
from memrepo.git.process import GitOutput, run_git

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest


class GitFault(StrEnum):
    """What goes wrong at the chosen call: git says no and did nothing; git did it and the answer was lost (a timeout);
    the process is killed before git, or after it."""

    REFUSED = "refused"
    LOST = "lost"
    KILLED_BEFORE = "killed_before"
    KILLED_AFTER = "killed_after"


FAILING = (GitFault.REFUSED, GitFault.LOST)
KILLING = (GitFault.KILLED_BEFORE, GitFault.KILLED_AFTER)


@dataclass
class FaultyGit:
    """Stands in for `run_git` where clients and gates call it; counts the calls, from 1. `at` 0 means: none fails."""

    at: int = 0
    fault: GitFault = GitFault.REFUSED
    once: bool = True
    calls: list[str] = field(default_factory=list)

    def put_in(self, patch: pytest.MonkeyPatch) -> None:
        """Takes the place of the runner until the patch is undone."""
        patch.setattr(client_module, "run_git", self)
        patch.setattr(gate_module, "run_git", self)

    def put_in_this_process(self) -> None:
        """Takes the place of the runner for good: for children only."""
        vars(client_module)["run_git"] = self
        vars(gate_module)["run_git"] = self

    def __call__(self, root: Path, args: Sequence[str], **options: Any) -> GitOutput:
        self.calls.append(args[0])
        number = len(self.calls)
        if not (self.at and (number == self.at or (number > self.at and not self.once))):
            return run_git(root, args, **options)
        argv = ("git", *args)
        if self.fault is GitFault.REFUSED:
            raise GitFailed(f"git {args[0]} failed", argv=argv, exit_code=128, stderr=("fatal: made to fail",))
        if self.fault is GitFault.KILLED_BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        run_git(root, args, **options)
        if self.fault is GitFault.KILLED_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)
        raise GitTimeout(f"git {args[0]} did not finish within 10 s and was ended", argv=argv, timeout_s=10.0)
