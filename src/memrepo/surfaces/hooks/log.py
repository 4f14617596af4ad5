"""The log of what went wrong in hooks: `logs/hooks.log` in the data folder, one line each, never growing far.

A line says when, which hook, the class and code of the error and where in memrepo it came from. No message, no argument
and no word of any memory.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LOG_FOLDER = "logs"
LOG_NAME = "hooks.log"
LOG_LIMIT_BYTES = 256 * 1024


def write_log(data_folder: Path, words: tuple[str, ...], error: BaseException) -> None:
    """Adds a line; never fails. Changes: the log, and at its limit the older log `hooks.log.1`."""
    with contextlib.suppress(Exception):  # the error that is being told counts, not this one
        folder = data_folder / LOG_FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / LOG_NAME
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_size > LOG_LIMIT_BYTES:
                path.replace(folder / f"{LOG_NAME}.1")
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = " ".join((when, *words, describe_error(error))) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def describe_error(error: BaseException) -> str:
    """An error without its message."""
    code = getattr(error, "code", None)
    name = type(error).__qualname__ + (f"({code})" if isinstance(code, str) else "")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "memrepo" in frame.filename]
    places = [f"{frame.filename.rpartition('memrepo/')[2]}:{frame.lineno}" for frame in frames[-2:]]
    return " ".join((name, *places))
