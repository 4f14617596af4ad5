"""Private keys in armor: from `-----BEGIN … PRIVATE KEY-----` to its end, on many lines or folded into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.policy.secrets.deferred import deferred
from memrepo.policy.secrets.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = deferred(r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = deferred(r"-{4,5} ?END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# A header in a sentence has no key behind it.
_BODY = deferred(r"(?:\s|\\[nr]|[>|\"'+,]){0,12}(?:[A-Za-z0-9+/=]{16}|[A-Z][\w-]{2,20}: )")
_LINES = deferred(r"(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{8,}+)+")


def find_key_blocks(text: str) -> Iterator[Span]:
    """Yields private keys. One without its end goes on as far as its text looks like base64.

    Source: RFC 7468 (PEM), RFC 4880 (armor), RFC 4716 (SSH2).
    """
    begin = _BEGIN().search(text)
    while begin:
        following = _BEGIN().search(text, begin.end())
        if _BODY().match(text, begin.end()):
            limit = following.start() if following else len(text)
            end = _END().search(text, begin.end(), limit) or _LINES().match(text, begin.end(), limit)
            yield Span(begin.start(), end.end() if end else limit, "private-key")
        begin = following
