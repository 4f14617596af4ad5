"""Payment cards: an issuer's range and a valid check digit, grouped as on the card or called one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.policy.secrets import words
from memrepo.policy.secrets.deferred import deferred
from memrepo.policy.secrets.phrases import split_words
from memrepo.policy.secrets.shapes import is_card
from memrepo.policy.secrets.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS = deferred(r"\d\d\d[ -]?\d\d\d[ -]?\d")
_CARD = deferred(r"(?<![\w.\-+/])\d(?:[ -]?\d){12,18}(?![\w\-])")
_CARD_WORD = deferred(
    r"(?i)card|visa|master|amex|american express|credit|debit|karte|tarjeta|carte|carta|cartão|卡|カード|карт"
)


def find_cards(text: str) -> Iterator[Span]:
    """Yields payment card numbers. Digits in one run beside "order", "invoice", "id" are not one."""
    if not _DIGITS().search(text):
        return
    for match in _CARD().finditer(text):
        digits = match[0].replace(" ", "").replace("-", "")
        if not is_card(digits):
            continue
        if digits == match[0] and not _CARD_WORD().search(text, max(0, match.start() - 60), match.end() + 30):
            left = split_words(text[max(0, match.start() - 40) : match.start()])
            if any(word in words.OPEN_LABELS or word in words.OTHER_HEADS for word in left):
                continue
        yield Span(match.start(), match.end(), "card-number")
