"""How many tokens a text will cost a language model, without asking one.

Four characters are a token in English only: in other scripts a token holds one or two, or less than one. So letters
and signs of ASCII are counted by pieces, all others by what their script costs. The weights lie between an older and a
newer public vocabulary (cl100k, o200k), measured on notes in 27 languages, in code and in signs: at least 0.85 of the
newer count, at most 1.3 of the older one (docs/context.md). Pure; the same text gives the same number everywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

_SHARE = 100  # weights are hundredths of a token, so that sums are exact

# One space in front of a piece belongs to it. A capital starts a new piece, as vocabularies cut `userName`.
_PIECE = re.compile(
    r"([A-Z]?[a-z]+|[A-Z]+)|([0-9]+)|([!-/:-@\[-`{-~\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+)|([\r\n]| {2,}|\t)"
)
_LETTERS, _DIGITS, _SIGNS, _BREAK = 1, 2, 3, 4
_LETTERS_OF_A_WORD, _LETTERS_MORE, _DIGITS_A_TOKEN, _SIGNS_A_TOKEN = 8, 4, 3, 2

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")

# (first code point, hundredths of a token for a character from there on to the next row)
_WEIGHTS = (
    (0x0080, 110),  # accented Latin of Western Europe: it cuts words into pieces
    (0x0100, 190),  # accented Latin of Central Europe and Turkey, in words that vocabularies know less
    (0x0180, 100),  # more Latin, IPA, combining accents
    (0x0370, 65),  # Greek
    (0x0400, 48),  # Cyrillic
    (0x0530, 110),  # Armenian
    (0x0590, 70),  # Hebrew
    (0x0600, 55),  # Arabic
    (0x0700, 150),  # Syriac, Thaana, N'Ko and their like
    (0x0900, 65),  # Devanagari
    (0x0980, 80),  # Bengali, Gurmukhi, Gujarati, Oriya
    (0x0B80, 90),  # Tamil to Sinhala
    (0x0E00, 75),  # Thai
    (0x0E80, 130),  # Lao
    (0x0F00, 190),  # Tibetan
    (0x1000, 125),  # Burmese
    (0x10A0, 115),  # Georgian
    (0x1100, 150),  # Hangul letters
    (0x1200, 235),  # Ethiopic and the other scripts that vocabularies hardly know
    (0x1780, 115),  # Khmer
    (0x1800, 200),  # Mongolian and further rare scripts
    (0x1E00, 60),  # more accented Latin and Greek
    (0x2000, 100),  # punctuation, signs, arrows
    (0x2200, 200),  # mathematics
    (0x2500, 110),  # boxes and shapes
    (0x2600, 150),  # symbols and dingbats
    (0x2E80, 120),  # radicals and Han punctuation
    (0x3040, 95),  # kana
    (0x3100, 150),  # Bopomofo and squared letters
    (0x3400, 200),  # rare Han
    (0x4E00, 112),  # Han
    (0xA000, 350),  # Yi and further rare scripts
    (0xAC00, 105),  # Hangul
    (0xD7B0, 250),  # surrogates and private characters
    (0xF900, 200),  # compatibility forms
    (0xFF00, 110),  # full-width forms
    (0x10000, 350),  # rare scripts, a token for nearly every byte
    (0x1F000, 200),  # emoji
    (0x1FB00, 300),  # rare Han and all that comes after
)
_FIRST = tuple(first for first, _ in _WEIGHTS)


def estimate_tokens(text: str) -> int:
    """The tokens of a text, rounded up; 0 for "".

    Law: of a text cut at line ends the parts are never below the whole, so a budget may be filled line by line.
    """
    hundredths = 0
    for piece in _PIECE.finditer(text):
        kind, length = piece.lastindex, piece.end() - piece.start()
        if kind == _LETTERS:
            hundredths += _SHARE * (1 + max(0, -(-(length - _LETTERS_OF_A_WORD) // _LETTERS_MORE)))
        elif kind == _DIGITS:
            hundredths += _SHARE * -(-length // _DIGITS_A_TOKEN)
        elif kind == _SIGNS:
            hundredths += _SHARE * -(-length // _SIGNS_A_TOKEN)
        else:
            hundredths += _SHARE
    if not text.isascii():
        hundredths += sum(map(_weigh, _NOT_ASCII.findall(text)))
    return -(-hundredths // _SHARE)


@lru_cache(maxsize=4096)
def _weigh(character: str) -> int:
    return _WEIGHTS[bisect_right(_FIRST, ord(character)) - 1][1]
