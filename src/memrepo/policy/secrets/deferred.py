"""Patterns that are compiled when they are first used: importing the detector costs nothing until there is a text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def deferred(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Returns a function that gives the compiled pattern; the first call compiles it."""
    return cache(lambda: re.compile(pattern, flags))
