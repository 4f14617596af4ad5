"""Throw-away repos for tests, made by the plain git program and never by the code under test.

Hermetic: no HOME, no user or system configuration, a fixed identity, no variable of the caller but PATH.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HERMETIC = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "A Hand",
    "GIT_AUTHOR_EMAIL": "hand@example.invalid",
    "GIT_COMMITTER_NAME": "A Hand",
    "GIT_COMMITTER_EMAIL": "hand@example.invalid",
    "GIT_EDITOR": ":",
    "LC_ALL": "C",
}


ANY_CODE = tuple(range(-64, 256))


def raw_git(
    root: Path,
    *args: str,
    stdin: bytes = b"",
    ok_codes: tuple[int, ...] = (0,),
    env: Mapping[str, str] | None = None,
) -> bytes:
    """Runs plain git in `root` and returns its stdout; fails the test on an unexpected exit code.

    `env` is laid over the hermetic environment; an empty value takes a variable away.
    """
    layered = {"PATH": os.environ["PATH"], **HERMETIC, **(env or {})}
    environment = {name: value for name, value in layered.items() if value}
    done = subprocess.run(["git", *args], cwd=root, env=environment, input=stdin, capture_output=True, check=False)
    assert done.returncode in ok_codes, (args, done.returncode, done.stdout[-500:], done.stderr[-500:])
    return done.stdout


def write_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes files below `root`, folders made as needed."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def make_repo(root: Path, files: Mapping[str, str | bytes] | None = None, *, branch: str = "main") -> Path:
    """Makes a repo at `root` with one commit of `files` ({} for a repo without a commit) and returns `root`."""
    root.mkdir(parents=True, exist_ok=True)
    raw_git(root, "init", "--quiet", "--template=", f"--initial-branch={branch}")
    files = {"MEMORY.md": "# Memory\n"} if files is None else files
    if files:
        commit_files(root, files, "Begin")
    return root


def commit_files(root: Path, files: Mapping[str, str | bytes], message: str = "Change") -> str:
    """Writes and commits files as a hand would, and returns the commit's id."""
    write_files(root, files)
    raw_git(root, "add", "--all")
    raw_git(root, "commit", "--quiet", "--allow-empty", "-m", message)
    return head_of(root)


def head_of(root: Path) -> str:
    """The commit that HEAD names."""
    return raw_git(root, "rev-parse", "HEAD").decode().strip()


def message_of(root: Path, revision: str = "HEAD") -> str:
    """The whole message of a commit."""
    return raw_git(root, "log", "-1", "--format=%B", revision).decode().rstrip("\n")


def porcelain(root: Path) -> list[str]:
    """What `git status --porcelain` says, line by line."""
    return raw_git(root, "status", "--porcelain", "--untracked-files=all").decode().splitlines()


def assert_sound(root: Path) -> None:
    """Fails unless every object is there and whole."""
    raw_git(root, "fsck", "--full", "--strict", "--no-progress")
