"""What a reader of the documentation types: a shell in an empty home folder, with `memrepo` on its PATH."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.kit.program import make_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TIMEOUT_S = 120


@dataclass(frozen=True)
class Said:
    """What one command said, both streams in their order."""

    status: int
    text: str


@dataclass(frozen=True)
class Shell:
    """`home` is the home folder and where commands start; `programs` is a folder with this checkout's `memrepo`."""

    home: Path
    programs: Path

    def run(self, command: str) -> Said:
        """Runs a line as typed."""
        return self.start(["/bin/sh", "-c", command])

    def start(self, arguments: Sequence[str]) -> Said:
        """Starts a program in this home folder."""
        # Unbuffered, so that results and notes come in their order.
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        environment = make_environment(self.home, PATH=path, PYTHONUNBUFFERED="1", TMPDIR=str(self.home.parent))
        done = subprocess.run(
            arguments,
            cwd=self.home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="backslashreplace",
            timeout=TIMEOUT_S,
            check=False,
        )
        return Said(done.returncode, done.stdout)


def make_shell(folder: Path, memrepo: str = "") -> Shell:
    """A shell below `folder`; `memrepo` are lines that its program runs before the real one."""
    home, programs = folder / "home", folder / "programs"
    home.mkdir()
    programs.mkdir()
    program = programs / "memrepo"
    program.write_text(f'#!/bin/sh\n{memrepo}\nexec {shlex.quote(sys.executable)} -m memrepo "$@"\n')
    program.chmod(0o755)
    return Shell(home, programs)
