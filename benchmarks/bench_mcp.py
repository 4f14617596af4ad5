"""The MCP server as a host meets it: how soon it answers, what a call costs, and the memory it holds."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Timing, measure_in_turn, report

if TYPE_CHECKING:
    from collections.abc import Iterator

STARTS = 15
CALLS = 300
WRITES = 30
FILES = 40
ENTRIES = 10_000
PROGRAM = str(Path(sys.executable).with_name("memrepo"))
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Host:
    """A host that has started the server, over pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._number = 0

    def send(self, method: str, params: dict[str, Any] | None = None, *, has_answer: bool = True) -> dict[str, Any]:
        """Sends one message and reads the answer, if there is one."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if has_answer:
            self._number += 1
            message["id"] = self._number
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while has_answer:
            answer: dict[str, Any] = json.loads(self.process.stdout.readline())
            if answer.get("id") == self._number:
                return answer
        return {}

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Calls a tool that must do it."""
        result: dict[str, Any] = self.send("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert not result.get("isError"), result
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def read_memory_mb(self) -> float:
        """What the process holds of the machine's memory; 0 where the system does not tell."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        except OSError:
            return 0.0
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def start(home: Path) -> Iterator[Host]:
    """Starts the server and shakes hands, as every host does."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "MEMREPO_HOME": str(home / "memrepo")}
    with subprocess.Popen(
        [PROGRAM, "mcp", "--trust-session"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=home,
        env=environment | {"LC_ALL": "C.UTF-8"},
    ) as process:
        host = Host(process)
        host.send("initialize", INITIALIZE)
        host.send("notifications/initialized", has_answer=False)
        yield host
        assert process.stdin is not None
        process.stdin.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        times = []
        for _ in range(STARTS):
            began = time.perf_counter()
            with start(home) as host:
                host.send("tools/list")
                times.append(time.perf_counter() - began)
        timing = Timing("initialize and tools/list", tuple(times))
        report("MCP server, from the start of the process", [timing], "bar: 1,000 ms")
        with start(home) as host:
            measure_calls(host, home / "CoWork Memory")


def measure_calls(host: Host, root: Path) -> None:
    """Calls of one server over a memory of 10,000 entries."""
    at_start_mb = host.read_memory_mb()
    host.call("memory_remember", text="The first fact makes the folder")
    for number in range(FILES):
        facts = "".join(
            f"- Fact {number * 1000 + at} on topic {at % 97}: component {at % 31} runs on host {number} [by: agent]\n"
            for at in range(ENTRIES // FILES)
        )
        (root / f"notes-{number:02}.md").write_text(f"# Notes {number}\n{facts}", "utf-8")
    host.call("memory_recall", query="topic")  # builds the index
    after_build_mb = host.read_memory_mb()
    timings = measure_in_turn(
        CALLS,
        ("ping", lambda _: host.send("ping")),
        ("memory_recall", lambda at: host.call("memory_recall", query=f"component {at % 31} host {at % FILES}")),
        ("memory_read, a section", lambda at: host.call("memory_read", ref=f"repo:notes-{at % FILES:02}.md#L9")),
        ("resources/read, the block", lambda _: host.send("resources/read", {"uri": "memrepo://context"})),
    )
    (write,) = measure_in_turn(
        WRITES, ("memory_remember", lambda at: host.call("memory_remember", text=f"Fact of call {at}"))
    )
    memory = f"{at_start_mb:.0f} MB at the start, {after_build_mb:.0f} MB after the index was built"
    report(
        f"MCP server, {ENTRIES:,} entries",
        [*timings, write],
        f"memory: {memory}, {host.read_memory_mb():.0f} MB at the end; bar: 120 MB without the extra `semantic`"
        f" (here: {'with' if importlib.util.find_spec('wordllama') else 'without'} it)",
    )


if __name__ == "__main__":
    main()
