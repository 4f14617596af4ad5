"""Redaction: lines per second on the labelled set (60 to 200 characters, most with a secret) and on clean lines.

The bar is 20,000 lines a second in one thread. The bare operation beside it is one lower-casing and one search for a
single word per line: what any look at a line costs at the least. CPU time is measured, so that a busy machine disturbs
less; the best of several rounds is told.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.data.secrets.rows import HALVES, make_rows

from memrepo.policy.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BAR_LINES_PER_S = 20_000
ROUNDS = 7
LENGTHS = range(60, 201)


def measure(lines: Sequence[str], look: Callable[[str], object]) -> float:
    """Returns lines per second of CPU time, the best of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for line in lines:
            look(line)
        best = min(best, time.process_time() - start)
    return len(lines) / best


def main() -> int:
    """Prints one line per case and returns 1 when the bar is missed."""
    rows = [row for half in HALVES for row in make_rows(half) if len(row.text) in LENGTHS]
    mixed = [row.text for row in rows]
    clean = [row.text for row in rows if not row.secret]
    share = 1 - len(clean) / len(mixed)
    bare = measure(mixed, lambda line: "password" in line.lower())
    speed = measure(mixed, redact)
    print(f"redaction, {len(mixed)} lines, {share:.0%} with a secret: {speed:,.0f} lines/s (bar {BAR_LINES_PER_S:,})")
    print(f"redaction, {len(clean)} clean lines: {measure(clean, redact):,.0f} lines/s")
    print(f"bare look at a line: {bare:,.0f} lines/s")
    return 0 if speed >= BAR_LINES_PER_S else 1


if __name__ == "__main__":
    raise SystemExit(main())
