"""The `memrepo` program as tests run it: in an empty home folder, with nothing of the user's and no network.

`Program` starts the real process; `run_here` calls the same entry in this process, which is fifty times faster.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memrepo.surfaces.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TIMEOUT_S = 60


@dataclass(frozen=True)
class Told:
    """What one run said."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def make_environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of a process that knows this home folder and nothing else."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "MEMREPO_HOME": str(home / ".memrepo"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        **more,
    }


@dataclass(frozen=True)
class Program:
    """The real program in a home folder of its own; `folder` is where it is started."""

    home: Path

    @property
    def root(self) -> Path:
        return self.home / "CoWork Memory"

    def __call__(self, *arguments: str, stdin: bytes = b"", folder: Path | None = None, **variables: str) -> Told:
        done = subprocess.run(
            [sys.executable, "-m", "memrepo", *arguments],
            input=stdin,
            capture_output=True,
            cwd=folder or self.home,
            env=make_environment(self.home, **variables),
            timeout=TIMEOUT_S,
            check=False,
        )
        out, err = done.stdout.decode("utf-8", "backslashreplace"), done.stderr.decode("utf-8", "backslashreplace")
        return Told(done.returncode, out, err)


class HereProgram:
    """The same entry, in this process."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.root = home / "CoWork Memory"
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        for name in [name for name in os.environ if name.startswith(("GIT_", "MEMREPO_", "XDG_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("MEMREPO_HOME", str(home / ".memrepo"))
        monkeypatch.chdir(home)

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Told:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capsys.readouterr()
        status = run(arguments)
        told = self._capsys.readouterr()
        return Told(status, told.out, told.err)
