"""Whole processes: `memrepo --help` and `memrepo ls` against `python -c pass`, in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import measure_in_turn, report

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 40


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "MEMREPO_HOME": str(home / "memrepo"),
            "LC_ALL": "C.UTF-8",
        }
        program = str(Path(sys.executable).with_name("memrepo"))

        def run(*command: str) -> Callable[[int], None]:
            def once(_: int) -> None:
                subprocess.run(command, env=environment, cwd=home, capture_output=True, check=True)

            return once

        run(program, "init")(0)
        for number in range(5):
            run(program, "remember", f"Fact number {number} of the benchmark")(0)
        timings = measure_in_turn(
            RUNS,
            ("python -c pass", run(sys.executable, "-c", "pass")),
            ("memrepo --help", run(program, "--help")),
            ("memrepo ls", run(program, "ls")),
            ("memrepo ls me.md", run(program, "ls", "me.md")),
        )
    bar = 4 * timings[0].median_ms + 60
    report("Start-up, whole process", timings, f"bar: 4 x python -c pass + 60 ms = {bar:.0f} ms")


if __name__ == "__main__":
    main()
