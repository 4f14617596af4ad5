"""The values of a JSON text, one after the other. Pure.

An array gives its elements, so that the conversations of an export are never all in memory; anything else gives itself,
and a text of several values (JSON Lines) each of them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = re.compile(r"[ \t\r\n]*")


def iter_values(text: str, *, name: str) -> Iterator[object]:
    """Streams the values. Errors: InvalidInput with the line where the text stops being JSON, once it is reached."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if text[at : at + 1] != "[":
        while at < len(text):
            value, at = _read(text, at, name)
            yield value
            at = _skip(text, at)
        return
    at = _skip(text, at + 1)
    is_first = True
    while is_first or text[at : at + 1] == ",":
        if is_first and text[at : at + 1] == "]":
            break
        value, at = _read(text, at if is_first else _skip(text, at + 1), name)
        is_first = False
        yield value
        at = _skip(text, at)
    if text[at : at + 1] != "]" or _skip(text, at + 1) != len(text):
        raise _fault(text, at, name, "the list does not end as it should")


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _read(text: str, at: int, name: str) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _fault(text, error.pos, name, error.msg) from error
    except (ValueError, RecursionError) as error:
        raise _fault(text, at, name, "a number or a nesting past what can be read") from error


def _fault(text: str, at: int, name: str, why: str) -> InvalidInput:
    line = text.count("\n", 0, at) + 1
    return InvalidInput(
        f"{name} is not JSON from line {line} on: {why}",
        hint="get the export again; nothing was imported",
        file=name,
        line=line,
    )


_DECODER = json.JSONDecoder()
