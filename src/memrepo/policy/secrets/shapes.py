"""What a value looks like: random or made of words, a placeholder, a card, a hash. Pure, no context.

These functions know characters only; what a value is called, and so what it may be, is `context`'s business.
"""

from __future__ import annotations

import re
from enum import IntEnum
from operator import add

from memrepo.policy.secrets.deferred import deferred
from memrepo.policy.secrets.words import PLACEHOLDERS, word_set

# Letter pairs that make up most of written English, German, Spanish and French; random letters hold few of them.
_COMMON_PAIRS = word_set(
    """
    ab ac ad ag ai al am an ap ar as at au av aw ax ay ba be bi bl bo br bu by ca ce ch ck cl co cr ct cu da de
    di do dr ds du dy ea ec ed ee ef ei el em en eq er es et ev ew ex fa fe ff fi fo fr ft ga ge gh gi gn go gr
    gu ha he hi ho hu ia ib ic id ie if ig il im in io ip ir is it iv ix ke ki ks la ld le lf li lk ll lo ls lt
    lu ly ma me mi mm mo mp my na nc nd ne ng ni nk nn no ns nt nu oa ob oc od of og oi ok ol om on oo op or os
    ot ou ow oy pa pe ph pl po pp pr pt qu ra rc rd re rg ri rk rl rm rn ro rr rs rt ru rv ry sa sc se sh si sk
    sl sn so sp ss st su sw sy ta te th ti to tr ts tt tu ty ub uc ue ug ui ul um un up ur us ut ux va ve vi vo
    wa we wh wi wo xp xt ye yo ys
    """
)

_SAMPLE_CHARS = 48  # so much of a value tells how it is made
_LONG_RUNS = deferred(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}")
_FEW_LETTERS = deferred(r"[^A-Za-z]*[A-Za-z]?[^A-Za-z]*")
_DIGIT_RUNS = deferred(r"[0-9]+")
_ODD_PIECE = 10
_LONG_SEGMENT = 22  # no folder or file name of words and numbers is so long without a mark
_MANY_NUMBERS = 5  # no name has so many in one word
_NO_DIGIT = deferred(r"[^0-9]*")
_SEGMENT_SPLIT = deferred(r"[-_./:+= ]+")
_UUID = deferred(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_HEX = deferred(r"(?:0x)?[0-9a-f]+|(?:0x)?[0-9A-F]+")
_WORD_AND_NUMBER = deferred(r"v?\d{1,8}|[A-Za-z]{1,3}|[A-Za-z]{0,4}\d{1,3}[A-Za-z]{0,2}")
_CODE = deferred(
    r"""[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*[(\[]  # a call or a subscript
    |[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$                             # the name of a variable
    |(?:[a-z]+[_-])+(?:password|passwd|pwd|pass|auth|token|key|secret|file|path|name|id|info|env|ref|var)s?$""",
    re.VERBOSE,
)
_DOTTED_NAME = deferred(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)+")
_MASK = deferred(r"[*xX•●.…_\-#?]{3,}$|(.)\1{3,}$|[xX*•]{4,}")
_STAND_IN = deferred(
    r"""[<{\[…]|\.{3}|\$(?:\w+$|[{(])|\$?\{\{|%\w+%|%[sdvr(]|@\w+@|@[./~]
    |/(?:[\w.~-]+/|dev/|$)|\.{1,2}/|~/|[A-Za-z]:\\
    |(?:https?|file|op|vault|env|arn|secret|secrets|ref\+\w+|keyring|keychain|gcp|ssm|s3|gs|aws-sm|doppler|bw)(?:://|:\w+[/:])
    |(?:your|my|the|some|dein|deine|tu|votre|ihr|insert|enter|replace|put|use|add|see|paste)[-_ ]
    |(?:os\.environ|process\.env|getenv|env\.|env\[|System\.getenv|secrets\.|vars\.|config\.|settings\.|var\.|data\.|local\.)
    |!(?:Ref|Sub|GetAtt|vault|secret)|\^[(\[]|\#(?:[0-9a-f]{3,4}){1,2}$""",
    re.VERBOSE | re.IGNORECASE,
)
_EXAMPLES = (
    "example",
    "placeholder",
    "changeme",
    "dummy",
    "redacted",
    "your-",
    "your_",
    "yourtoken",
    "yourapi",
    "yourkey",
    "abcdefghijkl",
    "xxxx",
    "****",
)


class Shape(IntEnum):
    """How a value looks. Only OPAQUE and TEXTUAL differ from UUID and HEX in that nothing harmless looks like them."""

    WORDS = 0  # made of words: an identifier, a path, a version, a date
    DIGITS = 1
    HEX = 2  # a hash or a commit as well as a key
    UUID = 3
    OPAQUE = 4  # random characters


def find_shape(value: str) -> Shape:
    """Tells what a value of ASCII letters, digits and joining marks looks like."""
    if value.isdigit():
        return Shape.DIGITS
    length = len(value)
    if length == 36 and _UUID().fullmatch(value):
        return Shape.UUID
    if _HEX().fullmatch(value) and length >= 7:
        return Shape.HEX if any(map(str.isdigit, value)) and not value.isdigit() else Shape.WORDS
    return Shape.OPAQUE if is_opaque(value) else Shape.WORDS


def is_opaque(value: str) -> bool:
    """Tells whether the characters look drawn at random rather than written as words, numbers or dates."""
    value = value[:_SAMPLE_CHARS]
    if _NO_DIGIT().fullmatch(value):
        return len(value) >= 12 and _is_odd_lettered(value)
    if _FEW_LETTERS().fullmatch(value):
        return False
    worded = sum(len(run) for run in _LONG_RUNS().findall(value) if is_wordlike(run))
    if len(set(value)) < min(7, len(value) // 2 + 1):
        return False
    if worded * 2 >= len(value):
        return value.isalnum() and len(_DIGIT_RUNS().findall(value)) >= _MANY_NUMBERS
    if value.isalnum():
        return True
    segments = [part for part in _SEGMENT_SPLIT().split(value) if part]
    plain = sum(map(_is_plain_segment, segments))
    if len(segments) == 1:
        return True
    if plain == len(segments):
        return False
    return not ("/" in value and plain * 2 > len(segments) > 2 and max(map(len, segments)) < _LONG_SEGMENT)


def _is_odd_lettered(value: str) -> bool:
    """Letters without a digit are random only in one long piece; names are joined from pieces and humps."""
    odd = max((len(part) for part in _SEGMENT_SPLIT().split(value) if not _is_word_or_short(part)), default=0)
    if odd < _ODD_PIECE:
        return False
    return 2 * sum(len(run) for run in _LONG_RUNS().findall(value) if is_wordlike(run, least_percent=60)) < len(value)


def _is_word_or_short(part: str) -> bool:
    return len(part) <= 3 or is_wordlike(part, least_percent=60)


def _is_plain_segment(part: str) -> bool:
    if part.isalpha():
        return len(part) <= 3 or is_wordlike(part)
    if _WORD_AND_NUMBER().fullmatch(part):
        return True
    stripped = part.rstrip("0123456789")
    return len(part) - len(stripped) <= 5 and stripped.isalpha() and (len(stripped) <= 3 or is_wordlike(stripped))


def is_wordlike(letters: str, *, least_percent: int = 67) -> bool:
    """Tells whether letters could be a word: most neighbours are pairs that languages use."""
    folded = letters.lower()
    pairs = len(folded) - 1
    if pairs < 1:
        return True
    common = sum(map(_COMMON_PAIRS.__contains__, map(add, folded, folded[1:])))
    return common * 100 >= pairs * least_percent


def is_short_hex(value: str) -> bool:
    """Tells a short hash, an OpenPGP key id or an address: keys in hex are longer, and after `0x` have 64 digits."""
    size = len(value)
    return (size < 14 or (value.startswith("0x") and size < 64)) and _HEX().fullmatch(value) is not None


def is_public_key(value: str) -> bool:
    """Tells whether base64 starts like an OpenSSH public key (RFC 4253, section 6.6: a length and `ssh-…`)."""
    return value.startswith(("AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNrLX", "AAAAInNrLW"))


def is_placeholder(value: str) -> bool:
    """Tells whether a value only stands for a secret: `<token>`, `${X}`, `****`, `changeme`, code that fetches one."""
    folded = value.lower()
    bare = folded.strip("\"'`.,;:!?()[]{}")
    if not bare or bare in PLACEHOLDERS:
        return True
    if value.isalnum():
        return len(set(bare)) < 3 or _has_example(folded)
    if _STAND_IN().match(value) or _MASK().match(value) or _CODE().match(value):
        return True
    if _DOTTED_NAME().fullmatch(value) and not is_opaque(value):
        return True
    return _has_example(folded)


def _has_example(folded: str) -> bool:
    for mark in _EXAMPLES:  # noqa: SIM110 - a generator costs twice as much here
        if mark in folded:
            return True
    return False


def is_repetitive(value: str) -> bool:
    """Tells whether a token's body is filler: few different characters, `xxxx`, dots or zeros."""
    folded = value[:_SAMPLE_CHARS].lower()
    return len(set(folded)) <= 4 or "xxxx" in folded or "..." in value or "0000000" in value


def passes_luhn(digits: str) -> bool:
    """Tells whether the last digit is the check digit of ISO/IEC 7812."""
    total = 0
    for index, char in enumerate(reversed(digits)):
        number = ord(char) - 48
        if index % 2:
            number = number * 2 - 9 if number > 4 else number * 2
        total += number
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Tells whether digits are a payment card: an issuer's range, its length, and the check digit."""
    length = len(digits)
    if len(set(digits)) < 2:
        return False
    two, four = int(digits[:2]), int(digits[:4])
    known = (
        (digits[0] == "4" and length in {13, 16, 19})
        or ((51 <= two <= 55 or 2221 <= four <= 2720) and length == 16)
        or (two in {34, 37} and length == 15)
        or ((four == 6011 or two == 65 or 644 <= four // 10 <= 649) and length in {16, 19})
        or (3528 <= four <= 3589 and length == 16)
        or ((300 <= four // 10 <= 305 or two in {36, 38, 39}) and length in {14, 16})
        or (two == 62 and 16 <= length <= 19)
    )
    return known and passes_luhn(digits)
