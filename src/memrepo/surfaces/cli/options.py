"""Options and values that several commands share, in one spelling."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from memrepo.errors import InvalidInput
from memrepo.model import Actor, Author, ContentHash, Kind, Origin, Scope, Taint, TaskContext

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable


def decode_words(_: click.Context, __: click.Parameter, value: Any) -> Any:
    """Reads words of a memory as UTF-8, also where the locale is not (`LC_ALL=C` leaves bytes that nobody decoded)."""
    if isinstance(value, tuple):
        return tuple(_decode(part) for part in value)
    return None if value is None else _decode(value)


def _decode(word: str) -> str:
    if not any("\ud800" <= letter <= "\udfff" for letter in word):
        return word
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        raise click.BadParameter("it is not UTF-8") from None


KINDS = click.Choice([str(kind) for kind in Kind])
SCOPES = click.Choice([str(scope) for scope in Scope])
AUTHORS = click.Choice([str(author) for author in Author])
TAINTS = click.Choice([str(taint) for taint in Taint])

yes_option = click.option("--yes", "-y", "is_confirmed", is_flag=True, help="Do it without asking.")
hash_option = click.option(
    "--hash",
    "expected_hash",
    metavar="HASH",
    help="The entry's hash as `memrepo ls --json` showed it: if the line has moved, the entry is still found; if its "
    "text has changed, nothing is written.",
)

_HASH = re.compile(r"[0-9a-f]{64}")
_LINE_END = re.compile(r"\r\n|\n|\r")
USER = TaskContext(actor=Actor.USER, origin=Origin.CLI, taint=Taint.CLEAN)
"""The task of a person at the command line."""


def check_hash(raw: str | None) -> ContentHash | None:
    """Returns the hash that an option gave. Errors: InvalidInput."""
    if raw is None:
        return None
    if not _HASH.fullmatch(raw.lower()):
        raise InvalidInput("a hash has 64 hex digits", hint="see the hashes: memrepo ls FILE --json", key="--hash")
    return ContentHash(raw.lower())


def parse_day(_: click.Context, __: click.Parameter, raw: str | None) -> dt.date | None:
    """Reads a day in the form of the `added` key, `YYYY-MM-DD`."""
    if raw is None:
        return None
    import datetime as dt

    try:
        return dt.date.fromisoformat(raw)
    except ValueError:
        raise click.BadParameter("a day looks like 2026-10-05") from None


def read_stdin() -> str:
    """Reads standard input to its end, as UTF-8 with or without a byte order mark. Errors: InvalidInput."""
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InvalidInput(
            f"standard input is not UTF-8 (line {line})",
            hint="convert it first, for example: iconv -f LATIN1 -t UTF-8",
            file="-",
            line=line,
        ) from error


def split_lines(text: str) -> list[str]:
    """The lines of a text that hold anything; they end at `\\n`, `\\r\\n` or `\\r` only."""
    return [line for line in _LINE_END.split(text) if line.strip()]


def quote(text: str, limit_chars: int = 70) -> str:
    """A text as a message repeats it: safe for a terminal, and not the whole of a long one."""
    from memrepo.surfaces.present import escape_control

    safe = escape_control(text)
    return safe if len(safe) <= limit_chars else safe[: limit_chars - 1].rstrip() + "…"


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def join(parts: Iterable[str]) -> str:
    """The parts that say something, in one line."""
    return "; ".join(part for part in parts if part)
