"""The prompt block: warm in one process, and `memrepo context` as a whole process against `python -c pass`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import measure_in_turn, report

from memrepo.context import ContextBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

WARM_RUNS = 2_000
COLD_RUNS = 40
WORKSPACES = 50
MARK = "# Project {0}\n- CoWork workspace [by: user; workspace: ws-{0}]\n"
FACT = "- Fact number {0} of the project: what it needs, where it runs [by: agent; kind: insight; added: 2026-10-05]\n"


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
        root = home / "CoWork Memory"
        fill(root)
        measure_warm(root)
        timings = measure_in_turn(
            COLD_RUNS,
            ("python -c pass", run(sys.executable, "-c", "pass")),
            ("memrepo context", run(program, "context")),
            ("memrepo context --workspace", run(program, "context", "--workspace", "ws-7")),
        )
    bar = 4 * timings[0].median_ms + 60
    report(f"Block, whole process, {WORKSPACES} workspaces", timings, f"bar: 4 x python -c pass + 60 ms = {bar:.0f} ms")


def fill(root: Path) -> None:
    """A full `MEMORY.md` and many workspaces, each with more than its budget."""
    facts = "".join(FACT.format(number) for number in range(30))
    links = "".join(f"- [[workspaces/p{number}]]\n" for number in range(10))
    (root / "MEMORY.md").write_text(f"# Memory\n{facts}\n## Index\n- [[me]]\n{links}", "utf-8")
    (root / "workspaces").mkdir()
    for number in range(WORKSPACES):
        text = MARK.format(number) + "".join(FACT.format(at) for at in range(100))
        (root / f"workspaces/p{number}.md").write_text(text, "utf-8")


def measure_warm(root: Path) -> None:
    """The block again and again: files that are long settled, files just written, no such workspace, and built anew."""
    settled, young = ContextBuilder(root, clock=lambda: 2**62), ContextBuilder(root, clock=lambda: 0)
    timings = measure_in_turn(
        WARM_RUNS,
        ("warm", lambda _: settled.build(workspace_id="ws-7")),
        ("warm, files written this moment", lambda _: young.build(workspace_id="ws-7")),
        ("warm, a workspace without a file", lambda _: settled.build(workspace_id="ws-none")),
    )
    (cold,) = measure_in_turn(
        100, ("built anew in one process", lambda _: ContextBuilder(root).build(workspace_id="ws-7"))
    )
    report(f"Block in one process, {WORKSPACES} workspaces", [*timings, cold], "bar: warm under 1 ms")


if __name__ == "__main__":
    main()
