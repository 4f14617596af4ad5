"""One writer per memory repo, across processes, threads and programs.

The lock is `<root>/.git/cowork-write.lock`, JSON `{"pid", "runtime", "at"}` as the seed's host reads and writes it,
`at` in milliseconds since 1970 (ISO 8601 is understood too). While it is there, its process alone writes. It comes into
being whole: it is written under another name and then linked to its own, which the file system lets one process do, so
no reader meets half a lock. Two more keys are ours: `token` tells our lock from every other, and `host` names the
machine and process space in which the pid counts, so that a container never judges a process that it cannot see.

A lock is taken over only when it is older than 30 seconds and its process is provably gone. Doubt (unreadable, no pid,
another host, a pid that lives again) means still held: `memrepo doctor` names it, `clear_lock` removes it for a person.

Between memrepo processes a second file, `.git/memrepo-write.queue`, is held with `flock` by whoever is next in line,
from its first look at the lock until it has it. So a process that writes in a loop cannot starve the others, and
judging, taking away and taking over are one step to all of us. The system drops a flock with its process; nothing in it
goes stale.

The seed's host does not know the queue. Were it to take over the same dead lock between our judgement and our rename,
we would hold its new lock in hand: the file renamed is not the file judged, and is linked back without overwriting.
Only a third program that takes the lock in those microseconds, and it too not one of ours, could then write beside it;
the host's own rule ("a lock older than 30 s whose pid is gone is taken over") leaves such a window between any two of
its runtimes.

Source: memory repo design (seed 1) §5.5.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memrepo.errors import LockBusy, PathRefused
from memrepo.files.folder import NO_HARD_LINKS, Folder, disk_faults, random_name

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOCK_NAME = "cowork-write.lock"
QUEUE_NAME = "memrepo-write.queue"
STALE_AFTER_S = 30.0
DEFAULT_TIMEOUT_S = 5.0

_LOCK_LIMIT_BYTES = 4096
_FIRST_STEP_S = 0.0005
_LAST_STEP_S = 0.01
_EPOCH_MILLISECONDS_FROM = 1e11  # as seconds that would be the year 5138


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A lock file as it was seen. What it does not say, or says unreadably, is None. Times in seconds since 1970.

    `raw`, `inode` and `mtime_ns` tell this very file from a later one of the same name.
    """

    pid: int | None
    runtime: str | None
    at_s: float | None
    host: str | None
    raw: bytes
    inode: int
    mtime_ns: int

    @property
    def since_s(self) -> float:
        """When it was taken: the later of what it says and when it was written, so that doubt makes it younger."""
        written_s = self.mtime_ns / 1e9
        return written_s if self.at_s is None else max(self.at_s, written_s)

    @property
    def since(self) -> str:
        """`since_s` as ISO 8601 UTC."""
        try:
            return datetime.fromtimestamp(self.since_s, UTC).isoformat(timespec="seconds")
        except (ValueError, OverflowError, OSError):
            return "unknown"


def read_lock(git_folder: Path) -> LockHolder | None:
    """Returns who holds the write lock, or None. Errors: DiskFault. Changes: nothing."""
    with (
        disk_faults("read", f".git/{LOCK_NAME}"),
        suppress(FileNotFoundError, PathRefused),  # no git folder, no lock
        Folder.open_root(git_folder) as folder,
    ):
        return _read(folder, LOCK_NAME)
    return None


def may_live(holder: LockHolder, *, is_alive: Callable[[int], bool] | None = None) -> bool:
    """Whether the process of a lock could still be running. False is proof that it is gone."""
    if holder.pid is None or holder.host not in {None, find_process_space()}:
        return True
    return (is_alive or is_process_alive)(holder.pid)


def is_process_alive(pid: int) -> bool:
    """Whether a process of this machine has that id; False is certain, True may be another one with the same id.

    On Windows the answer is always True: there is no such question there that does not end the process.
    """
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # there, but another user's; or no id at all
        return True
    return True


def find_process_space() -> str:
    """Names where process ids of this process count: on Linux the machine's name and the pid namespace."""
    if sys.platform == "linux":
        with suppress(OSError):
            return f"{os.uname().nodename} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - a name, not a path
    # Elsewhere a machine's name may change with its network, and there are no namespaces to tell apart.
    return sys.platform


def clear_lock(git_folder: Path, seen: LockHolder) -> bool:
    """Removes the lock that `seen` describes, held or not; False when it is another one by now.

    Dangerous: for a person who knows that the process is gone where memrepo cannot prove it.
    Errors: LockBusy while a memrepo process is next in line; DiskFault. Changes: the lock file.
    """
    with disk_faults("remove", f".git/{LOCK_NAME}"), Folder.open_root(git_folder) as folder, _Queue(folder) as queue:
        if not queue.enter():
            raise LockBusy(
                "a memrepo process is waiting for the write lock right now",
                hint="wait until it is done, then run the command again",
                lock=str(git_folder / LOCK_NAME),
            )
        return _take_away(folder, seen)


class WriteLock:
    """The write lock of one repo. One object may be used by several threads; each `hold` is a holder of its own."""

    def __init__(
        self,
        git_folder: Path,
        *,
        runtime: str = "memrepo",
        clock: Callable[[], float] = time.time,
        wait: Callable[[float], None] = time.sleep,
        is_alive: Callable[[int], bool] = is_process_alive,
    ) -> None:
        self.git_folder = git_folder
        self._runtime = runtime
        self._clock = clock
        self._wait = wait
        self._is_alive = is_alive

    @contextmanager
    def hold(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Iterator[None]:
        """Holds the lock inside the `with`; not reentrant.

        Errors: LockBusy after `timeout_s`, with the holder; DiskFault; PathRefused when `.git` is no folder.
        Changes: the lock file, the queue file; the git folder is made when it is missing (no git on this machine).
        """
        content = self._take(timeout_s)
        owner = os.getpid()
        try:
            yield
        finally:
            if os.getpid() == owner:  # a forked child leaves the block too; the lock is its parent's
                self._release(content)

    def _take(self, timeout_s: float) -> bytes:
        """Waits in line, then for the lock; returns the bytes that make it ours."""
        waited_s, step_s = 0.0, _FIRST_STEP_S  # the waits asked for, so that an injected `wait` decides alone
        with (
            disk_faults("lock", str(self.git_folder)),
            _open_git_folder(self.git_folder) as folder,
            _Queue(folder) as queue,
        ):
            while True:
                if queue.enter() and (content := self._try_once(folder, may_take_over=queue.is_held)):
                    return content
                left_s = timeout_s - waited_s
                holder = _read(folder, LOCK_NAME)
                if left_s <= 0 or (holder is not None and self._stays(holder, left_s)):
                    raise self._busy(holder, waited_s)
                if left_s <= step_s:
                    self._wait(left_s)
                    waited_s = timeout_s
                else:
                    self._wait(step_s)
                    waited_s += step_s
                    step_s = min(step_s * 1.5, _LAST_STEP_S)

    def _try_once(self, folder: Folder, *, may_take_over: bool) -> bytes | None:
        holder = _read(folder, LOCK_NAME)
        if holder is not None:
            is_stale = self._clock() - holder.since_s > STALE_AFTER_S and not may_live(holder, is_alive=self._is_alive)
            if not is_stale or not may_take_over or not _take_away(folder, holder):
                return None
        content = self._content()
        return content if _place(folder, content) else None

    def _stays(self, holder: LockHolder, left_s: float) -> bool:
        """Whether nobody is there to let go of a lock, and it is not old enough to be taken over in time."""
        ready_s = holder.since_s + STALE_AFTER_S - self._clock()
        return ready_s > left_s and not may_live(holder, is_alive=self._is_alive)

    def _content(self) -> bytes:
        lock = {
            "pid": os.getpid(),
            "runtime": self._runtime,
            "at": int(self._clock() * 1000),
            "host": find_process_space(),
            "token": os.urandom(8).hex(),
        }
        return json.dumps(lock).encode()

    def _release(self, content: bytes) -> None:
        """Removes the lock if it is ours; another's, after a person cleared ours, is left alone."""
        with (
            disk_faults("unlock", str(self.git_folder)),
            suppress(FileNotFoundError),
            Folder.open_root(self.git_folder) as folder,
        ):
            holder = _read(folder, LOCK_NAME)
            if holder is not None and holder.raw == content:
                folder.unlink(LOCK_NAME)

    def _busy(self, holder: LockHolder | None, waited_s: float) -> LockBusy:
        lock = self.git_folder / LOCK_NAME
        if holder is None:
            who = "other memrepo processes are in line before this one"
            return LockBusy(
                f"the memory repo is busy: {who}", hint="run the command again", lock=str(lock), waited_s=waited_s
            )
        who = "an unknown process" if holder.pid is None else f"process {holder.pid}"
        if holder.runtime:
            who += f" ({holder.runtime[:40]!r})"
        is_gone = not may_live(holder, is_alive=self._is_alive)
        doing = "ended while it was writing, at" if is_gone else "has been writing since"
        hint = "run the command again; if that process is gone for good: memrepo doctor --fix"
        return LockBusy(
            f"the memory repo is busy: {who} {doing} {holder.since}",
            hint=f"its lock is taken over {STALE_AFTER_S:g} s after that; now: memrepo doctor --fix"
            if is_gone
            else hint,
            lock=str(lock),
            holder_pid=holder.pid,
            held_since=holder.since,
            waited_s=waited_s,
        )


class _Queue:
    """The place of whoever is next for the lock. Where there is no flock, everybody is, and nobody takes over."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._descriptor: int | None = None
        self.is_held = False

    def __enter__(self) -> _Queue:
        self._descriptor = self._folder.open_shared(QUEUE_NAME)
        return self

    def enter(self) -> bool:
        """Whether this process may look at the lock now: it is next, or there is no queue here."""
        if self.is_held or sys.platform == "win32":
            return True
        assert self._descriptor is not None  # noqa: S101 - opened on entry
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # network and other file systems without flock
            return True
        self.is_held = True
        return True

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            if self.is_held and sys.platform != "win32":
                with suppress(OSError):  # a forked child may share the descriptor: closing alone would not let go
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = None
            self.is_held = False


@contextmanager
def _open_git_folder(git_folder: Path) -> Iterator[Folder]:
    with Folder.open_root(git_folder.parent) as above:
        folder = above.open_child(git_folder.name, create=True)
    assert folder is not None  # noqa: S101 - it was created
    with folder:
        yield folder


def _place(folder: Folder, content: bytes) -> bool:
    """Makes the lock if there is none. It need not outlive a power cut, so nothing is synced."""
    try:
        with folder.temporary(content, durable=False) as temporary:
            return folder.link(temporary.name, LOCK_NAME)
    except FileNotFoundError:  # recovery by a holder that is not in our queue swept the temporary away
        return False
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
    try:
        folder.create(LOCK_NAME, content, durable=False)
    except FileExistsError:
        return False
    except OSError:
        with suppress(OSError):  # created, but the disk was full: half a lock would stay for ever
            folder.unlink(LOCK_NAME)
        raise
    return True


def _take_away(folder: Folder, judged: LockHolder) -> bool:
    """Removes the lock that was judged, and no other; False when another has its place by now."""
    aside = random_name()  # so that recovery removes it, should we die here
    try:
        folder.rename(LOCK_NAME, aside)
    except FileNotFoundError:
        return False
    taken = _read(folder, aside)
    is_judged = taken == judged
    if not is_judged:
        _put_back(folder, aside)
    with suppress(FileNotFoundError):
        folder.unlink(aside)
    return is_judged


def _put_back(folder: Folder, aside: str) -> None:
    """Gives a living lock its name again, unless a third has taken it since: then two hold it; nothing undoes that."""
    try:
        folder.link(aside, LOCK_NAME)
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if folder.find_stat(LOCK_NAME) is None:
            folder.rename(aside, LOCK_NAME)


def _read(folder: Folder, name: str) -> LockHolder | None:
    """Reads a lock file; whatever is in the way that is no file, or no JSON, is a lock of which nothing is known."""
    try:
        found = folder.read_regular(name, limit_bytes=_LOCK_LIMIT_BYTES)
    except PathRefused:
        look = folder.find_stat(name)
        return None if look is None else LockHolder(None, None, None, None, b"", look.st_ino, look.st_mtime_ns)
    if found is None:
        return None
    raw, look = found
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        said = {}
    pid, runtime, host = said.get("pid"), said.get("runtime"), said.get("host")
    return LockHolder(
        pid=pid if isinstance(pid, int) and not isinstance(pid, bool) and 0 < pid < 2**31 else None,
        runtime=runtime if isinstance(runtime, str) else None,
        at_s=_parse_time(said.get("at")),
        host=host if isinstance(host, str) else None,
        raw=raw,
        inode=look.st_ino,
        mtime_ns=look.st_mtime_ns,
    )


def _parse_time(at: object) -> float | None:
    """Seconds since 1970 from milliseconds, seconds or ISO 8601 (without an offset: UTC)."""
    if isinstance(at, str):
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(at, bool) or not isinstance(at, int | float) or not abs(at) < 1e18:
        return None
    return at / 1000 if abs(at) >= _EPOCH_MILLISECONDS_FROM else float(at)
