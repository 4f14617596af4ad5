"""Whether a `.git/index.lock` is what a dead git left behind, and its removal.

git writes no process id into it, so death must be shown otherwise: where the system lists processes and what they have
open (Linux), nobody may hold the file and no git may stand in the folder; elsewhere only a lock of an hour counts.
Doubt means alive.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.errors import DiskFault

if TYPE_CHECKING:
    import datetime as dt

    from memrepo.git.status import IndexLock

MINIMUM_AGE = timedelta(seconds=30)
UNSEEN_AGE = timedelta(hours=1)
_PROC = Path("/proc")


def is_dead(lock: IndexLock, *, now: dt.datetime) -> bool:
    """Whether the lock's git is gone for certain. Changes: nothing."""
    age = now - lock.modified_at
    if age < MINIMUM_AGE:
        return False
    if age >= UNSEEN_AGE:
        return not _is_used(Path(lock.path))
    return _PROC.is_dir() and not _is_used(Path(lock.path))


def remove_index_lock(lock: IndexLock) -> None:
    """Removes the lock. The caller has shown that it is dead. Changes: `.git/index.lock`. Errors: DiskFault."""
    try:
        Path(lock.path).unlink(missing_ok=True)
    except OSError as error:
        raise DiskFault(
            f"{lock.path} cannot be removed: {error.strerror}", hint="check who owns it", path=lock.path
        ) from error


def _is_used(lock: Path) -> bool:
    """Whether a process that we can see has the lock open, or is a git that stands in its repo."""
    root = str(lock.parent.parent)
    if not _PROC.is_dir():
        return False
    for process in _PROC.iterdir():
        if not process.name.isdigit():
            continue
        try:
            stands_here = str((process / "cwd").readlink()).startswith(root)
            if stands_here and "git" in (process / "exe").readlink().name:
                return True
            if any(handle.readlink() == lock for handle in (process / "fd").iterdir()):
                return True
        except OSError:  # it ended meanwhile, or is another user's: not one of ours in this folder
            continue
    return False
