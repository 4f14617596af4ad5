"""`remember_many`: 10,000 entries into several files, one commit."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.bench_write import USER, open_service
from benchmarks.measure import Timing, report

from memrepo.model import Candidate, Kind, Scope, Workspace, WriteStatus

ENTRIES = 10_000
WORKSPACES = 40
BAR_PER_S = 5_000
RUNS = 5


def run_once(folder: Path) -> float:
    """Writes all entries into a new repo and returns the seconds."""
    root = folder / "memory"
    service = open_service(root)
    places = [Workspace(f"w{number}", f"Project {number}") for number in range(WORKSPACES)]
    facts = [
        Candidate(
            f"Service {number} listens on port {8_000 + number} and is owned by team {number % 17}",
            kind=Kind.PROJECT_FACT,
            scope=Scope.WORKSPACE,
            workspace=places[number % WORKSPACES],
        )
        for number in range(ENTRIES)
    ]
    start = time.perf_counter()
    results = service.remember_many(facts, USER)
    spent = time.perf_counter() - start
    assert all(result.status is WriteStatus.WRITTEN for result in results)
    commits = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=root, capture_output=True, check=True).stdout
    assert int(commits) == 2
    return spent


def main() -> None:
    times = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            times.append(run_once(Path(folder)))
    timing = Timing(f"remember_many, {ENTRIES} entries, {WORKSPACES} files", tuple(times))
    rate = ENTRIES / (timing.median_ms / 1_000)
    report("Many entries, one commit", (timing,), f"{rate:,.0f} entries per second (bar {BAR_PER_S:,})")


if __name__ == "__main__":
    main()
