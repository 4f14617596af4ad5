"""Small and read-only file systems for tests. Only root can mount; others skip with the reason."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def small_disk(place: Path, *, size_kb: int) -> Iterator[Path]:
    """A folder that is a disk of its own, of that size. Units: kibibytes."""
    with _mounted(place, "-t", "tmpfs", "-o", f"size={size_kb}k,mode=0700", "tmpfs"):
        yield place


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder cannot be changed inside the `with`, by root neither."""
    with _mounted(folder, "--bind", str(folder)):
        _mount("-o", "remount,bind,ro", str(folder))
        yield


@contextmanager
def _mounted(place: Path, *how: str) -> Iterator[None]:
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only root on Linux can mount a disk for this test")
    place.mkdir(exist_ok=True)
    _mount(*how, str(place))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this machine does not let root mount: {done.stderr.strip()}")
