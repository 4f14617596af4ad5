"""Recognizes tokens by how they start: the table of `formats`, compiled by its first characters when one is met."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from memrepo.policy.secrets.deferred import deferred
from memrepo.policy.secrets.shapes import is_opaque, is_repetitive
from memrepo.policy.secrets.spans import Span

if TYPE_CHECKING:
    from memrepo.policy.secrets.formats import TokenFormat

KEY_CHARS = 3
_SAMPLE_CHARS = 64
LONG_ENOUGH = 24  # no format with a shorter prefix than KEY_CHARS is shorter
_REST = deferred(r"[A-Za-z0-9_]*")  # a token does not end inside a word
_WORDY_PREFIXES = ("live_", "test_", "sandbox_", "secret_")


class _Group(NamedTuple):
    pattern: re.Pattern[str]
    kinds: tuple[str, ...]


def find_format(text: str, start: int, end: int) -> Span | None:
    """Returns the token of a known format that starts at `start`, or behind a slash before `end`; or None."""
    table = _rows_by_start()
    if end - start < LONG_ENOUGH:
        return (
            _match(text, start, text[start : start + KEY_CHARS]) if text[start : start + KEY_CHARS] in table else None
        )
    while True:
        for size in range(KEY_CHARS, 0, -1):
            key = text[start : start + size]
            if key in table:
                span = _match(text, start, key)
                if span:
                    return span
        start = text.find("/", start, end) + 1
        if not start or end - start < LONG_ENOUGH // 2:
            return None


def _match(text: str, start: int, key: str) -> Span | None:
    group = _compile_group(key)
    match = group.pattern.match(text, start)
    if match is None or match.lastindex is None:
        return None
    stop = _REST().match(text, match.end())
    token = text[start : stop.end() if stop else match.end()].rstrip(".-")
    body = token[len(key) :]
    if is_repetitive(body) or body.endswith("EXAMPLE") or not _is_token(token, body):
        return None
    return Span(start, start + len(token), group.kinds[match.lastindex - 1])


def _is_token(token: str, body: str) -> bool:
    """A body with joining marks may be a name (`live_stream-of-the-year`); one without is what its prefix says."""
    if body.isalnum():
        return True
    digits = sum(map(str.isdigit, token[:_SAMPLE_CHARS]))
    if digits >= 4:
        return True
    is_marked = "-" in token[:9] or "_" in token[:9]
    return (is_marked and digits > 0 and not token.startswith(_WORDY_PREFIXES)) or is_opaque(token)


@cache
def _rows_by_start() -> dict[str, list[TokenFormat]]:
    """The rows by their first three characters, or all of a shorter prefix."""
    from memrepo.policy.secrets.formats import TOKEN_FORMATS  # the tables are read with the first text, not on import

    table: dict[str, list[TokenFormat]] = {}
    for row in TOKEN_FORMATS:
        table.setdefault(row.prefix[:KEY_CHARS], []).append(row)
    return table


@cache
def _compile_group(key: str) -> _Group:
    """Compiles the rows that share a beginning, the longest prefix first."""
    rows = sorted(_rows_by_start()[key], key=lambda row: -len(row.prefix))
    return _Group(re.compile("|".join(map(_write_pattern, rows))), tuple(row.kind for row in rows))


def _write_pattern(row: TokenFormat) -> str:
    if row.pattern:
        return f"({re.escape(row.prefix)}{row.pattern})(?![A-Za-z0-9])"
    if row.exact:
        return f"({re.escape(row.prefix)}[{row.alphabet}]{{{row.least}}})(?![{row.alphabet}A-Za-z0-9_])"
    return f"({re.escape(row.prefix)}[{row.alphabet}]{{{row.least},}})"
