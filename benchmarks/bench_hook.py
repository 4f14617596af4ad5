"""Hooks as whole processes, as an agent host starts them, against `python -c pass` in the same run."""

from __future__ import annotations

import json
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
SESSION = "0e6f6d1c-7a35-4a8e-8d3c-2f1f6f0f3c21"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        project = home / "project"
        (project / ".git").mkdir(parents=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "MEMREPO_HOME": str(home / "memrepo"),
            "LC_ALL": "C.UTF-8",
        }
        program = str(Path(sys.executable).with_name("memrepo"))

        def run(*command: str, data: bytes = b"") -> Callable[[int], None]:
            def once(_: int) -> None:
                subprocess.run(command, env=environment, cwd=project, input=data, capture_output=True, check=True)

            return once

        def hook(event: str, **fields: object) -> Callable[[int], None]:
            document = {"session_id": SESSION, "cwd": str(project), "source": "startup", **fields}
            return run(program, "hook", "claude-code", event, data=json.dumps(document).encode())

        run(program, "init")(0)
        for number in range(20):
            run(program, "remember", f"Fact number {number} of the benchmark")(0)
        hook("session-start")(0)
        shell = {"tool_name": "Bash", "tool_input": {"command": "npm test && git status"}}
        edit = {"tool_name": "Edit", "tool_input": {"file_path": str(project / "a.py"), "old_string": "a"}}
        memory = {"tool_name": "Write", "tool_input": {"file_path": str(home / "CoWork Memory" / "me.md")}}
        ours = {"tool_name": "mcp__memrepo__memory_remember", "tool_input": {"text": "Wants tabs"}}
        timings = measure_in_turn(
            RUNS,
            ("python -c pass", run(sys.executable, "-c", "pass")),
            ("before-tool, a shell command", hook("before-tool", **shell)),
            ("before-tool, an edit", hook("before-tool", **edit)),
            ("before-tool, a write into memory: denied", hook("before-tool", **memory)),
            ("before-tool, a memory tool: stamped", hook("before-tool", **ours)),
            ("after-tool, a shell command", hook("after-tool", **shell, tool_response={"stdout": "ok"})),
            ("prompt", hook("prompt", prompt="Please run the tests again")),
            ("session-start, with the block", hook("session-start")),
        )
    bar = 4 * timings[0].median_ms + 60
    report("Hooks, whole process", timings, f"bar: 4 x python -c pass + 60 ms = {bar:.0f} ms")


if __name__ == "__main__":
    main()
