"""What a text is searched by: its terms, the same for an entry and for a query, with or without an index.

Owns folding, word boundaries, stems and character pairs. Knows no file, no index and no ranking. Invariants: terms hold
no white space and no control character; equal text gives equal terms; any string is analysed in time linear in its
length and never fails.

Terms come in two sorts. *Words* are what a text says, in order: stems of words, parts of code-like words, pairs of
characters where a script has no spaces. *Extras* stand beside them: `=form` the word before stemming (so that a prefix
of what was written finds it), `#whole` a code-like word as it stands (`#1.2.3`, `#src/model.py`). A word that only
hyphens, underscores or capitals divide is also a word as a whole: `user_name`, `userName` and `username` are one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from memrepo.index.vocabulary import BASE_FORMS, FUNCTION_WORDS, MONTHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKENS_VERSION = 1
"""Raise with every change of what a text gives: an index with other terms is rebuilt."""

FORM, WHOLE = "=", "#"

QUERY_LIMIT_CHARS = 4_000
QUERY_LIMIT_TERMS = 64
_TERM_LIMIT_CHARS = 64
_WHOLE_LIMIT_CHARS = 256
_MEMO_LIMIT = 200_000


class Terms(NamedTuple):
    """The terms of one text."""

    words: tuple[str, ...]
    extras: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. `words` keep the order of the text; `prefix` is the last word when it may go on ("" if not).

    `labels` give for each term what the user wrote; `is_cut` says that the text was longer than a query may be.
    """

    words: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    prefix: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    text: str = ""
    is_cut: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not (self.words or self.extras)


# Marks belong to words (vowel signs of Indic scripts, accents written apart), but `\w` leaves them out. Blocks with
# marks: from combining accents to Phonetic, combining symbols, kana voicing, Cyrillic to Meetei, half marks, plane 1.
_MARK_RANGES = (
    (0x0300, 0x1DFF),
    (0x20D0, 0x20FF),
    (0x302A, 0x309F),
    (0xA66F, 0xABFF),
    (0xFB1E, 0xFB1F),
    (0xFE20, 0xFE30),
)
_EMOJI = "\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff"
_CONNECTORS = r"._\-/\\:@+~"

_ASCII_CHUNK = re.compile(rf"[A-Za-z0-9]+(?:[{_CONNECTORS}]{{1,3}}[A-Za-z0-9]+)*(?:(?:\+\+|#)(?![A-Za-z0-9]))?")
_CONNECTOR = re.compile(rf"[{_CONNECTORS}]+")
_KEEPS_SHAPE = re.compile(r"[./\\:@+~#]|\d-+\d")
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ISO_DATE = re.compile(r"([12][0-9]{3})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?")
_POSSESSIVE = re.compile(r"(?<=\w)['’ʼ`´]s\b", re.IGNORECASE)
# Soft hyphen, zero-width space and joiners: invisible inside words.
_INVISIBLE = dict.fromkeys((0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFE0E, 0xFE0F, 0xFEFF))

# Letters that Unicode does not decompose but readers type without their stroke; Arabic letters of one sound.
_LETTERS = str.maketrans(
    {"ı": "i", "ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ŋ": "n"}
    | {"\u0649": "\u064a", "\u06cc": "\u064a", "\u06a9": "\u0643", "\u0629": "\u0647", "\u0640": None}
)
# Scripts in which marks are accents that may be left out. In all others they are letters, and stay.
_ACCENTED = re.compile(
    "[a-z\u00c0-\u024f\u1e00-\u1eff\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f\u05d0-\u05ea\u0620-\u077f]"
)
# Cyrillic letters of their own: й, ї, ў.
_KEPT_ACCENTS = frozenset({"и\u0306", "і\u0308", "у\u0306"})

# Scripts without spaces between words, and Hangul, whose words carry endings: matched by pairs of characters.
_PAIRED = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u0f40-\u0fbc\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9fe\u1780-\u17d3]+"
)
_CYRILLIC = re.compile("[\u0430-\u044f\u0451]+\\Z")

_memo: dict[str, Terms] = {}


def analyze(text: str) -> Terms:
    """The terms of a text."""
    words: list[str] = []
    extras: list[str] = []
    for chunk in _chunks(text):
        terms = _chunk_terms(chunk)
        words += terms.words
        extras += terms.extras
    return Terms(tuple(words), tuple(dict.fromkeys(extras)))


def analyze_query(text: str) -> Query:
    """Reads what a user or an agent asks. Nothing in it is an operator.

    At most 4,000 characters and 64 terms are looked at. The last word counts as begun unless something follows it.
    """
    is_cut = len(text) > QUERY_LIMIT_CHARS
    text = text[:QUERY_LIMIT_CHARS]
    words: dict[str, None] = {}
    ordered: list[str] = []
    extras: dict[str, None] = {}
    labels: dict[str, str] = {}
    last = ""
    for chunk in _chunks(text):
        terms = _chunk_terms(chunk)
        if len(words) + len(extras) + len(terms.words) + len(terms.extras) > QUERY_LIMIT_TERMS:
            is_cut = True
            break
        for term in terms.words:
            words[term] = None
            ordered.append(term)
            labels.setdefault(term, chunk)
        for term in terms.extras:
            if term.startswith(WHOLE):
                extras[term] = None
                labels.setdefault(term, chunk)
        last = chunk
    return Query(tuple(ordered), tuple(extras), _prefix_of(last, text), tuple(labels.items()), text, is_cut)


def is_function_word(term: str) -> bool:
    """Whether a word of `Terms.words` is one that says little."""
    return term in _function_terms()


@cache
def fingerprint() -> str:
    """Names what this process makes of texts: two processes with one fingerprint have the same terms.

    Differs with `TOKENS_VERSION`, with the Unicode tables of Python and with what the stemmer does.
    """
    probe = "Running studies, naïve Ångström groups' foo_bar v1.2.3 книгами 東京都 ภาษา 2023-05-08 generously national"
    seen = (TOKENS_VERSION, unicodedata.unidata_version, analyze(probe))
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


def fold(word: str) -> str:
    """One word without case, accents and width. Marks stay in scripts where they are letters."""
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKC", word).casefold().translate(_LETTERS)
    kept: list[str] = []
    base = ""
    for character in unicodedata.normalize("NFD", folded):
        if not unicodedata.combining(character):
            base = character
        elif base + character not in _KEPT_ACCENTS and (not base or _ACCENTED.match(base)):
            continue
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_LETTERS)


def _chunks(text: str) -> list[str]:
    """Runs of word characters, code-like words in one piece, and emoji."""
    if "s" in text or "S" in text:
        text = _POSSESSIVE.sub("", text)
    if text.isascii():
        return _ASCII_CHUNK.findall(text)
    text = unicodedata.normalize("NFKC", text.translate(_INVISIBLE))
    chunk = _wide_chunk()
    return [found[0] for found in chunk.finditer(text)]


@cache
def _wide_chunk() -> re.Pattern[str]:
    marks = "".join(chr(code) for code in _mark_codes())
    letter = rf"(?:[^\W_]|[{marks}])"
    return re.compile(
        rf"{letter}+(?:[{_CONNECTORS}]{{1,3}}{letter}+)*(?:(?:\+\+|#)(?!\w))?|[{_EMOJI}]",
    )


def _mark_codes() -> Iterator[int]:
    for first, last in _MARK_RANGES:
        yield from (code for code in range(first, last + 1) if unicodedata.category(chr(code))[0] == "M")


def _chunk_terms(chunk: str) -> Terms:
    """The terms of one chunk, remembered: texts repeat their words."""
    terms = _memo.get(chunk)
    if terms is None:
        terms = _read_chunk(chunk)
        if len(_memo) >= _MEMO_LIMIT:
            _memo.clear()
        _memo[chunk] = terms
    return terms


def _read_chunk(chunk: str) -> Terms:
    date = _ISO_DATE.fullmatch(chunk)
    if date:
        return _date_terms(date)
    words: list[str] = []
    extras: list[str] = []
    segments = _CONNECTOR.split(chunk)
    for segment in segments:
        _read_segment(segment, words, extras)
    if len(segments) > 1 or chunk[-1] in "+#":
        _add_wholes(chunk, words, extras)
    return Terms(tuple(words), tuple(extras))


def _date_terms(date: re.Match[str]) -> Terms:
    """A date of the form 2023-05-08 or 2023-05 says what `8 May 2023` says."""
    year, month, day = date.groups()
    spoken = ([str(int(day))] if day else []) + [_stem_latin(MONTHS[int(month) - 1]), year]
    return Terms(tuple(spoken), tuple(dict.fromkeys((f"{WHOLE}{date[0]}", f"{WHOLE}{year}-{month}"))))


def _read_segment(segment: str, words: list[str], extras: list[str]) -> None:
    """One run of letters and digits: a plain word, or one that capitals and digits divide."""
    if segment.isascii():
        pieces = _PIECE.findall(segment)
        for piece in pieces:
            _add_word(piece.lower(), words, extras)
        if len(pieces) > 1:
            _add_word(segment.lower(), words, extras)
        return
    folded = fold(segment)
    at = 0
    for run in _PAIRED.finditer(folded):
        _add_word(folded[at : run.start()], words, extras)
        _add_pairs(run[0], words, extras)
        at = run.end()
    _add_word(folded[at:], words, extras)


def _add_word(form: str, words: list[str], extras: list[str]) -> None:
    if not form:
        return
    form = form[:_TERM_LIMIT_CHARS]
    if form.isdecimal():
        words.append(str(int(form)))
        return
    stem = _stem(form)
    words.append(stem)
    if stem != form:
        extras.append(FORM + form)


def _add_pairs(run: str, words: list[str], extras: list[str]) -> None:
    """Each two neighbours; the last one alone too, so that a single character is found wherever it stands."""
    if len(run) == 1:
        words.append(run)
        return
    words.extend(run[at : at + 2] for at in range(len(run) - 1))
    extras.append(FORM + run[-1])


def _add_wholes(chunk: str, words: list[str], extras: list[str]) -> None:
    """The code-like word as it stands, and each step of a path that is itself code-like."""
    if not _KEEPS_SHAPE.search(chunk):
        _add_word("".join(fold(part) for part in _CONNECTOR.split(chunk)), words, extras)
        return
    whole = fold(chunk.replace("\\", "/"))
    steps = whole.split("/")
    if len(whole) <= _WHOLE_LIMIT_CHARS:
        extras.append(WHOLE + whole)
    extras.extend(
        WHOLE + step for step in steps if step != whole and len(step) <= _WHOLE_LIMIT_CHARS and _CONNECTOR.search(step)
    )


def _stem(form: str) -> str:
    if form.isascii():
        return _stem_latin(form) if form.isalpha() else form
    return _stemmer("russian")(form) if _CYRILLIC.match(form) else form


def _stem_latin(form: str) -> str:
    return _stemmer("english")(BASE_FORMS.get(form, form))


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer  # type: ignore[import-untyped]

    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem


@cache
def _function_terms() -> frozenset[str]:
    return frozenset(_stem_latin(word) for word in FUNCTION_WORDS)


def _prefix_of(last: str, text: str) -> str:
    """The last word as written, folded, when the text ends in it and it is long enough to mean something."""
    if not last or not text.endswith(last[-1]):
        return ""
    tail = fold(_CONNECTOR.split(last)[-1])
    paired = list(_PAIRED.finditer(tail))
    if paired and paired[-1].end() == len(tail):
        # A run of one character begins pairs; a longer one is matched by its pairs already.
        return tail if len(tail) == 1 else ""
    return tail if len(tail) >= 3 and not tail.isdecimal() and tail not in FUNCTION_WORDS else ""
