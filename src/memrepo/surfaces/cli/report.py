"""The report of a bug: what broke and where, and no word of any memory.

It holds versions, the command's name and, for each exception of the chain, its class and the places it came through. It
leaves out messages, arguments and local values, because a memory text may stand in any of them.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import platform
import secrets
import sys
import traceback
from typing import TYPE_CHECKING

from memrepo import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.surfaces.cli.invocation import Invocation

REPORT_FOLDER = "reports"


def write_report(error: BaseException, invocation: Invocation) -> Path | None:
    """Writes the report below the data folder; None when even that fails. Changes: one file, mode 0600."""
    # The error is being told already: whatever goes wrong here must not hide it.
    with contextlib.suppress(Exception):
        folder = invocation.locations.data / REPORT_FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        now = dt.datetime.now(dt.UTC)
        path = folder / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}.txt"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in describe_bug(error))
        return path
    return None


def describe_bug(error: BaseException) -> Iterator[str]:
    """Yields the lines of a report."""
    yield f"memrepo {__version__}"
    yield f"Python {platform.python_version()} ({sys.implementation.name})"
    yield f"{platform.system()} {platform.release()} {platform.machine()}"
    yield f"stdout {getattr(sys.stdout, 'encoding', None)}"
    for link in _iter_chain(error):
        yield ""
        yield f"{type(link).__module__}.{type(link).__qualname__}"
        for frame in traceback.extract_tb(link.__traceback__):
            yield f"  {frame.filename}:{frame.lineno} in {frame.name}"


def _iter_chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__
