"""The memory repo as a process holds it that lives for days: opened when first needed, and anew when things changed.

One `Lane` is one thread and one opened repo, so nothing in it is ever used twice at once. A server has two: a search
never waits for a write. What cannot be opened now (faulty settings, a folder that may not be used) is the answer of
that call alone; the next call tries again.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from memrepo.errors import MemrepoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from memrepo.app import MemoryRepo
    from memrepo.model import RepoPath

T = TypeVar("T")
P = ParamSpec("P")

Stamp = tuple[object, ...]
Stamps = dict["RepoPath", tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Doors:
    """How a server gets at the world: opening the repo, the settings file, reporting a bug (None: no report)."""

    open_repo: Callable[[bool], MemoryRepo]
    find_settings: Callable[[], Path]
    report_bug: Callable[[BaseException], Path | None]


class Lane:
    """A thread with a repo of its own. `find_settings` names the file whose change means: open it anew."""

    def __init__(self, name: str, open_repo: Callable[[], MemoryRepo], find_settings: Callable[[], Path]) -> None:
        self._open_repo = open_repo
        self._find_settings = find_settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"memrepo-{name}")
        self._repo: MemoryRepo | None = None
        self._stamp: Stamp = ()

    async def run(self, act: Callable[Concatenate[MemoryRepo, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs an act on the repo in the lane's thread, one at a time.

        Whoever is cancelled stops waiting; an act that has begun still ends, so no write is cut in two.
        Errors: those of the act and of opening.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: act(self._get_repo(), *args, **kwargs)
        )

    async def close(self) -> None:
        """Ends what is under way in bounded time, then closes the repo. Nothing runs here afterwards."""
        with suppress(RuntimeError):  # closed before
            await asyncio.get_running_loop().run_in_executor(self._thread, self._forget_repo)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _get_repo(self) -> MemoryRepo:
        if self._repo is not None and self._stamp != self._find_stamp(self._repo.root):
            self._forget_repo()
        if self._repo is None:
            settings = look(self._find_settings())  # before they are read: a change meanwhile is seen by the next call
            repo = self._open_repo()
            self._repo, self._stamp = repo, (settings, *_look_at_folder(repo.root))
        return self._repo

    def _forget_repo(self) -> None:
        repo, self._repo = self._repo, None
        if repo is not None:
            with suppress(MemrepoError):  # what it could not finish, the next writer does
                repo.close()

    def _find_stamp(self, root: Path) -> Stamp:
        """What changes when the repo must be opened anew: the settings, the folder itself, and whether it has git."""
        return (look(self._find_settings()), *_look_at_folder(root))


def find_stamps(repo: MemoryRepo, paths: Iterable[RepoPath]) -> Stamps:
    """What changes of a file when its text does. Opens none. Changes: nothing."""
    stamps: Stamps = {}
    for path in paths:
        try:
            found = os.lstat(repo.root / path)
        except OSError:  # gone since it was listed
            continue
        stamps[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
    return stamps


def _look_at_folder(root: Path) -> Stamp:
    git_folder = root / ".git"
    return look(root)[:2], look(git_folder)[:2], os.path.lexists(git_folder / "HEAD")


def look(place: Path) -> tuple[int, ...]:
    """What changes when a file is written or replaced; () when there is none."""
    try:
        found = os.lstat(place)
    except OSError:
        return ()
    return found.st_ino, found.st_dev, found.st_mtime_ns, found.st_size
