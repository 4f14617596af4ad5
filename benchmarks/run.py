"""Runs every benchmark (`make bench`), or those whose names are given: `python benchmarks/run.py write many`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import describe_machine

NAMES = ("write", "many", "startup", "context", "recall", "redaction", "mcp", "hook", "hub")


def main(names: list[str]) -> None:
    print(describe_machine())
    for name in names or NAMES:
        importlib.import_module(f"benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
