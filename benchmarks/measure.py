"""Timing for the benchmarks: pairs in one run, median and 95th percentile, one table. Nothing here judges a test."""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Timing:
    """Times of one operation, in seconds."""

    name: str
    times_s: tuple[float, ...]

    @property
    def median_ms(self) -> float:
        """The median, in milliseconds."""
        return statistics.median(self.times_s) * 1_000

    @property
    def p95_ms(self) -> float:
        """The 95th percentile, in milliseconds."""
        ordered = sorted(self.times_s)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] * 1_000

    def row(self) -> str:
        """One line of a table."""
        return f"  {self.name:<44} median {self.median_ms:9.2f} ms   p95 {self.p95_ms:9.2f} ms   n={len(self.times_s)}"


def measure_in_turn(runs: int, *operations: tuple[str, Callable[[int], object]]) -> list[Timing]:
    """Runs the operations one after the other, `runs` times, so that a drift of the machine meets all alike."""
    times: list[list[float]] = [[] for _ in operations]
    for number in range(runs):
        for spent, (_, operation) in zip(times, operations, strict=True):
            start = time.perf_counter()
            operation(number)
            spent.append(time.perf_counter() - start)
    return [Timing(name, tuple(spent)) for spent, (name, _) in zip(times, operations, strict=True)]


def report(title: str, timings: Sequence[Timing], *notes: str) -> None:
    """Prints a block: title, one line per timing, notes."""
    print(f"\n{title}")
    for timing in timings:
        print(timing.row())
    for note in notes:
        print(f"  {note}")


def describe_machine() -> str:
    """What a figure needs beside it: the machine and the versions."""
    git = subprocess.run(["git", "--version"], capture_output=True, check=True, text=True).stdout.strip()
    return f"{platform.system()} {platform.machine()}, Python {sys.version.split()[0]}, {git}"
