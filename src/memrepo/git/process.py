"""The only module that starts a process, and the only program it starts is git.

It owns: finding git, one call (argument list, explicit repo, an environment built from nothing, a deadline, bounded
output, bytes out) and the end of a call's processes. It refuses to know what a command means.

Invariants:
- No shell, no terminal, no discovery: `--git-dir` and `--work-tree` are given, so neither folders above the repo nor
  the owner of a folder matter.
- git is an absolute path outside the repo; folders of PATH that are relative or inside the repo are not searched.
- A call that raises leaves no process of its group running. A call that succeeds ends nobody: a credential helper may
  have left its agent behind on purpose.
- An error holds the arguments and the first lines of stderr, with user names and passwords of URLs taken out. Texts
  that may be private (commit messages) go in by stdin, so that they are in no error.

Reading the environment is otherwise left to the surfaces. Cleaning it is this door's own duty, so it is read here,
in `_read_environment` and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from memrepo.errors import DiskFault, GitFailed, GitMissing, GitTimeout, TooLarge
from memrepo.git.hardening import build_config_arguments, build_environment

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from memrepo.git.hardening import Override

LOCAL_TIMEOUT_S = 10.0
NETWORK_TIMEOUT_S = 30.0
OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024

_GRACE_S = 2.0  # git removes its lock files on SIGTERM; SIGKILL would leave .git/index.lock behind
_CHUNK_BYTES = 256 * 1024
_STDERR_KEPT_BYTES = 16 * 1024
_STDERR_LINES = 5
_EXIT_CHECK_S = 0.05  # only where the system has no pidfd
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class GitOutput:
    """What one call gave back, as bytes."""

    stdout: bytes
    stderr: bytes
    exit_code: int


def run_git(
    root: Path,
    args: Sequence[str],
    *,
    timeout_s: float | None = None,
    stdin: bytes = b"",
    network: bool = False,
    ok_codes: Collection[int] = (0,),
    limit_bytes: int = OUTPUT_LIMIT_BYTES,
    at: dt.datetime | None = None,
    extra: Sequence[Override] = (),
    repository: bool = True,
) -> GitOutput:
    """Runs `git <args>` on the repo at `root` and returns its output.

    `at` dates the commits it makes; `extra` are more overrides; `repository=False` runs it on no repo at all, so that
    no configuration is loaded.

    Units: `timeout_s` seconds, by default 10, or 30 with `network`.
    Errors: GitMissing, GitTimeout, GitFailed (an exit code outside `ok_codes`), TooLarge (more than `limit_bytes`).
    """
    parts: list[bytes] = []
    size_bytes = 0
    with _Call.start(root, args, timeout_s, stdin, network=network, at=at, extra=extra, repository=repository) as call:
        for chunk in call.iter_stdout():
            parts.append(chunk)
            size_bytes += len(chunk)
            if size_bytes > limit_bytes:
                raise TooLarge(
                    f"git {args[0] if args else ''} wrote more than {limit_bytes:,} bytes",
                    rule="git-output",
                    limit=limit_bytes,
                    actual=size_bytes,
                    unit="bytes",
                    where_instead="",
                )
        exit_code = call.finish(ok_codes)
        return GitOutput(b"".join(parts), bytes(call.stderr), exit_code)


def iter_git_output(
    root: Path, args: Sequence[str], *, timeout_s: float | None = None, stdin: bytes = b""
) -> Iterator[bytes]:
    """Streams the output of a local command in pieces, without holding more than one.

    Leaving the loop early ends git. Errors: as `run_git`, GitFailed after the last piece.
    """
    with _Call.start(root, args, timeout_s, stdin) as call:
        yield from call.iter_stdout()
        call.finish((0,))


def find_program(root: Path) -> Path | None:
    """Finds the git program that commands on `root` use, or None."""
    found = _find_program(_clean_path(_read_environment().get("PATH", ""), root), root)
    return Path(found) if found else None


def _read_environment() -> Mapping[str, str]:
    return os.environ


@lru_cache(maxsize=32)
def _clean_path(path: str, root: Path) -> str:
    inside = os.path.realpath(root)
    return os.pathsep.join(
        entry
        for entry in path.split(os.pathsep)
        if Path(entry).is_absolute() and not _is_within(os.path.realpath(entry), inside)
    )


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


_found_programs: dict[tuple[str, Path], str] = {}


def _find_program(path: str, root: Path) -> str | None:
    """Searches `path`. Only a find is remembered: git may be installed while this process runs."""
    known = _found_programs.get((path, root))
    if known is not None:
        return known
    found = shutil.which("git", path=path) if path else None
    if found is None or _is_within(os.path.realpath(found), os.path.realpath(root)):
        return None
    _found_programs[path, root] = found
    return found


def _git_missing(root: Path) -> GitMissing:
    return GitMissing(
        "git not found: memory has no history",
        hint="install git and see that it is on PATH, then: memrepo doctor",
        invariant="git-present",
        path=str(root),
    )


@dataclass(slots=True)
class _Call:
    """One running git: owns its processes, its pipes and its deadline."""

    child: subprocess.Popen[bytes]
    argv: tuple[str, ...]
    timeout_s: float
    deadline: float
    unsent: memoryview
    stderr: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(
        cls,
        root: Path,
        args: Sequence[str],
        timeout_s: float | None,
        stdin: bytes,
        *,
        network: bool = False,
        at: dt.datetime | None = None,
        extra: Sequence[Override] = (),
        repository: bool = True,
    ) -> Self:
        timeout_s = timeout_s or (NETWORK_TIMEOUT_S if network else LOCAL_TIMEOUT_S)
        base = _read_environment()
        path = _clean_path(base.get("PATH", ""), root)
        program = _find_program(path, root)
        if program is None:
            raise _git_missing(root)
        where = (f"--git-dir={root / '.git'}", f"--work-tree={root}") if repository else (f"--git-dir={os.devnull}",)
        config = build_config_arguments(network=network, extra=extra)
        try:
            child = subprocess.Popen(  # noqa: S603 - an argument list, and an absolute program outside the repo
                [program, "--no-pager", *where, *config, *args],
                cwd=root,
                env=build_environment(base, path=path, network=network, at=at),
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            if not root.is_dir():
                raise DiskFault(
                    f"{root} is not a folder that can be entered: {error.strerror}",
                    hint="memrepo doctor",
                    invariant="root-present",
                    path=str(root),
                ) from error
            _found_programs.pop((path, root), None)
            raise _git_missing(root) from error
        argv = ("git", *(_USER_INFO.sub("", arg) for arg in args))
        return cls(child, argv, timeout_s, time.monotonic() + timeout_s, memoryview(stdin))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.child.returncode is None:
            self._end()
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            if pipe is not None:
                pipe.close()

    def iter_stdout(self) -> Iterator[bytes]:
        """Feeds stdin, keeps the head of stderr and yields stdout until git has exited.

        The end is git's own exit where the system tells of it: a program that git left behind may hold the pipes.
        """
        poller = select.poll()
        for pipe, event in (
            (self.child.stdout, select.POLLIN),
            (self.child.stderr, select.POLLIN),
            (self.child.stdin, select.POLLOUT),
        ):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                poller.register(pipe.fileno(), event)
        exit_descriptor = _open_exit_descriptor(self.child.pid)
        if exit_descriptor is not None:
            poller.register(exit_descriptor, select.POLLIN)
        readers = [pipe for pipe in (self.child.stdout, self.child.stderr) if pipe is not None]
        try:
            is_over = False
            # Waiting for the exit here and not in `finish` spares a millisecond: Popen.wait with a deadline sleeps.
            while not is_over and (readers or exit_descriptor is not None):
                ready = self._wait(poller, has_exit_event=exit_descriptor is not None)
                if exit_descriptor is None:
                    is_over = not ready and self.child.poll() is not None
                else:
                    is_over = exit_descriptor in ready
                self._feed(poller, ready)
                for pipe in tuple(readers):
                    if is_over or pipe.fileno() in ready:
                        yield from self._drain(pipe, poller, readers, to_the_end=is_over)
        finally:
            if exit_descriptor is not None:
                os.close(exit_descriptor)

    def _drain(
        self, pipe: IO[bytes], poller: select.poll, readers: list[IO[bytes]], *, to_the_end: bool
    ) -> Iterator[bytes]:
        """Yields what stdout holds now, or keeps what stderr holds; a pipe at its end leaves `readers`."""
        while (chunk := _read(pipe.fileno())) is not None:
            if not chunk:
                readers.remove(pipe)
                poller.unregister(pipe.fileno())
                return
            if pipe is self.child.stdout:
                yield chunk
            else:
                self.stderr += chunk[: _STDERR_KEPT_BYTES - len(self.stderr)]
            if not to_the_end:
                return

    def finish(self, ok_codes: Collection[int]) -> int:
        """Waits for the exit and returns its code. Errors: GitTimeout, GitFailed."""
        try:
            exit_code = self.child.wait(max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._timed_out() from None
        if exit_code in ok_codes:
            return exit_code
        text = _USER_INFO.sub("", self.stderr.decode("utf-8", "replace"))
        lines = tuple(line[:300] for line in text.splitlines() if line.strip())[:_STDERR_LINES]
        said = f": {lines[0]}" if lines else ""
        raise GitFailed(
            f"git {self.argv[1]} failed with exit code {exit_code}{said}",
            hint="memrepo doctor",
            argv=self.argv,
            exit_code=exit_code,
            stderr=lines,
        )

    def _wait(self, poller: select.poll, *, has_exit_event: bool) -> set[int]:
        remaining_s = self.deadline - time.monotonic()
        if remaining_s <= 0:
            raise self._timed_out()
        slice_s = remaining_s if has_exit_event else min(remaining_s, _EXIT_CHECK_S)
        return {descriptor for descriptor, _ in poller.poll(max(1, int(slice_s * 1000)))}

    def _feed(self, poller: select.poll, ready: set[int]) -> None:
        """Writes what stdin takes, and closes it when nothing is left to write or git reads no more."""
        stdin = self.child.stdin
        if stdin is None or stdin.closed or stdin.fileno() not in ready:
            return
        try:
            self.unsent = self.unsent[os.write(stdin.fileno(), self.unsent[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.unsent = self.unsent[len(self.unsent) :]
        if not self.unsent:
            poller.unregister(stdin.fileno())
            stdin.close()

    def _timed_out(self) -> GitTimeout:
        self._end()
        return GitTimeout(
            f"git {self.argv[1]} did not finish within {self.timeout_s:g} s and was ended",
            hint="try again; if it stays so: memrepo doctor",
            argv=self.argv,
            timeout_s=self.timeout_s,
        )

    def _end(self) -> None:
        """Ends the whole process group: first so that git removes its lock files, then for certain."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(_GRACE_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()


def _open_exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when the process exits, where the system has such a thing (Linux)."""
    open_pidfd = getattr(os, "pidfd_open", None)
    if open_pidfd is None:
        return None
    try:
        return int(open_pidfd(pid))
    except OSError:  # an old kernel, or a sandbox that forbids it
        return None


def _read(descriptor: int) -> bytes | None:
    """Reads one piece; b"" at the end, None when there is nothing now."""
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except BlockingIOError:
        return None
