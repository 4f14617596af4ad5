"""The folder in the cache that holds all that is derived from one memory root: where it is, who may write, its removal.

Nothing in it is the only copy of anything. Invariants: one process writes at a time, and the system frees the place of
one that died; only this root's folder is ever removed from; nobody but the user can read it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from memrepo.errors import Busy
from memrepo.index.engine import IndexUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

VECTORS_FOLDER = "vectors"
LOCK_NAME = "lock"
_GRAVE = "removed-"
_RETRY_S = 0.02
_OLD_VERSION_S = 30 * 86_400


def index_folder(cache: Path, root: Path) -> Path:
    """The folder below the cache folder that holds all that is derived from one root."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]
    return cache / "index" / name


@contextmanager
def locked(folder: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Holds the folder for writing. Errors: Busy; IndexUnusable when it cannot be used. Changes: makes the folder."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise IndexUnusable("denied", f"the cache folder cannot be written: {error.strerror}") from error
    try:
        _take_lock(descriptor, wait_s, folder)
        yield
    finally:
        os.close(descriptor)


def _take_lock(descriptor: int, wait_s: float, folder: Path) -> None:
    """Locks an open file; the system frees it when this process ends, however that happens."""
    until = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in {errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK}:
                raise IndexUnusable("denied", f"the cache folder cannot be locked: {error.strerror}") from error
            if time.monotonic() >= until:
                raise Busy(
                    f"another process writes the search index in {folder}", hint="try again in a moment"
                ) from error
            time.sleep(_RETRY_S)
        else:
            return


def remove_contents(folder: Path, *, keep: Sequence[str]) -> int:
    """Removes all in a folder but some names; returns the number of files. Programs that use one go on with it."""
    removed = 0
    for place in folder.iterdir():
        if place.name in keep:
            continue
        if place.is_dir() and not place.is_symlink():
            removed += sum(1 for inside in place.rglob("*") if not inside.is_dir())
            # Renamed first, so that no other process opens it half empty.
            grave = folder / f"{_GRAVE}{secrets.token_hex(8)}"
            place.rename(grave)
            shutil.rmtree(grave)
        else:
            place.unlink()
            removed += 1
    return removed


def remove_old_versions(current: Path | None) -> None:
    """Removes indexes of other versions that nobody used for a month, and what a killed process left of a removal."""
    if current is None:
        return
    with suppress(OSError):
        newest = (current / "meta.json").stat().st_mtime
        for place in current.parent.iterdir():
            if place == current or place.name in (LOCK_NAME, VECTORS_FOLDER) or not place.is_dir():
                continue
            if place.name.startswith(_GRAVE) or newest - place.stat().st_mtime > _OLD_VERSION_S:
                shutil.rmtree(place, ignore_errors=True)


def size_of(folder: Path | None) -> int:
    if folder is None or not folder.is_dir():
        return 0
    return sum(place.lstat().st_size for place in folder.rglob("*"))
