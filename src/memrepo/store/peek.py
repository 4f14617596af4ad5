"""One question that every write asks, answered without the database library: loading that takes longer than a write."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_WAIT_S = 5.0


def may_have_pending(path: Path, root: str) -> bool:
    """Whether facts may wait for a memory root. What cannot be told counts as yes: opening the store says why."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_WAIT_S)) as connection:
            found = connection.execute("SELECT 1 FROM pending WHERE root = ? LIMIT 1", (root,)).fetchone()
    except sqlite3.Error:
        return True
    return found is not None
