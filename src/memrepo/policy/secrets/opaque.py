"""From a value to its name: characters that look random are a secret when the words around them say so.

This carries the many providers whose keys have no format of their own: a hex, base64 or alphanumeric value, said to be
a key. The same value said to be a commit, a checksum or an id is left alone, and so is one of which nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.policy.secrets import words
from memrepo.policy.secrets.deferred import deferred
from memrepo.policy.secrets.phrases import (
    CLIENT_ID,
    OPEN,
    OPENERS,
    find_providers,
    find_sentence,
    is_name,
    read_chunk,
    read_phrase,
    split_words,
)
from memrepo.policy.secrets.shapes import Shape, find_shape, is_placeholder, is_public_key, is_repetitive, is_short_hex
from memrepo.policy.secrets.spans import Look, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

LEFT_CHARS = 140
RIGHT_CHARS = 70
ID_DIGITS = range(15, 20)  # application ids that a few providers hand out like secrets

_CONNECTORS = frozenset(":=>|,→：(-—–")
# A commit or a hash stands "in", "since", "before" something; a key stands "is", ":" or right after its name.
_LOCATIVES = words.word_set("in by at from since before after on see until im seit vor ab en dans desde depuis")
_ARTICLES = words.word_set("the a an our my your das der die la el le il de del unser new old current")
_RIGHT_START = deferred(
    r"(?i)(?:as|is|was|for|ist|als|es|como|est|comme|è|come|to)\s|[(\-–—=:|/#>]\s?|は|是|为|作为|을|를"
    r"|<-\s?|←\s?|\)\s(?:(?:private|protected|public|final|static)\s){1,3}"
    r"|(?:[^\W\d_]{1,12}\s?){0,2},\s(?:(?:it|that|this|which)(?:['’]s|\sis)|das\sist|c['’]est)\s"
)
_RIGHT_END = deferred(r"[.!?]\s|[;；\n。,)]")
_OPEN_STARTS = ("base64,", " h1:")  # data in a URL; the hash of a Go module
_VALUE_LABELS = (["value"], ["wert"], ["valor"], ["valeur"], ["valore"])
_VALUE_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.~%!@#$^&*:|")


def find_opaque_values(text: str, candidates: list[tuple[int, int]], look: Look) -> Iterator[Span]:
    """Yields the candidates (places of token characters) that what is said around them calls secret."""
    for start, stop in candidates:
        value = text[start:stop].rstrip(".-/%~+_")
        if value in look.plain:
            continue
        shape = find_shape(value)
        if shape is Shape.WORDS or (shape is Shape.DIGITS and len(value) not in ID_DIGITS):
            look.plain.add(value)
            continue
        if text[stop : stop + 1] == "(":  # a call of a function
            look.let_go += 1
            continue
        before = text[max(0, start - 7) : start]
        if (
            before[-2:] in {"//", ":/"}
            or before.endswith(_OPEN_STARTS)
            or is_public_key(value)
            or (shape is Shape.HEX and is_short_hex(value))
        ):
            look.let_go += 1
            continue
        end = start + len(value)
        span = _widen(text, start, end)
        kind = _judge(text, *span, shape)
        if kind and not is_placeholder(value) and not is_repetitive(value):
            yield Span(*span, kind)
        else:
            look.let_go += 1


def _judge(text: str, start: int, end: int, shape: Shape) -> str | None:
    left = text[max(0, start - LEFT_CHARS) : start]
    begin = find_sentence(left)
    sentence = left[begin:]
    if left[-1:] == ":" and "/" in left.rpartition(" ")[2] and end - start < 30:
        return None  # an image and its tag
    bare = sentence.rstrip(OPENERS)
    connected = bare[-1:] in _CONNECTORS or sentence.rstrip(" \"'`")[-1:] in _CONNECTORS
    bare = bare.rstrip(":=>|→： \t\"'`")
    if not connected and not _may_follow(bare, shape):
        return None
    verdict = read_phrase(bare)
    if verdict is None:
        verdict = _read_right(text, end)
    is_value = begin and len(bare) < 24 and _names_value(split_words(bare))
    if verdict is None and begin and (is_value or (shape is Shape.OPAQUE and end - start >= 16)):
        earlier = left[:begin].rstrip(" .!?;\n")
        verdict = read_phrase(earlier[find_sentence(earlier) :]) or None
    if verdict is None and bare[-4:].lower() in {"uses", " use", "use", "sing", "with"}:
        return _judge_by_provider(bare, shape, end - start) or _judge_by_use(text, start, end, shape)
    if verdict is None:
        return _judge_by_provider(bare, shape, end - start) if connected else None
    if verdict == OPEN:
        return None
    if verdict == CLIENT_ID or shape is Shape.DIGITS:
        named = find_providers(split_words(f"{bare} {text[end : end + RIGHT_CHARS]}"))
        return verdict if named & words.ID_PROVIDERS else None
    if verdict == "key" and shape is Shape.UUID and not connected and len(split_words(bare)) < 2:
        return None  # "Key <uuid> is stale": a row of a table, a KMS key
    return verdict


def _names_value(found: list[str]) -> bool:
    """A sentence that only points back: "It is …", "current value …"."""
    return found[-1:] in _VALUE_LABELS or found in (["it", "is"], ["that", "is"], ["it", "s"], ["here", "it", "is"])


def _may_follow(bare: str, shape: Shape) -> bool:
    """Tells whether a secret may stand right after these words when no mark connects them."""
    found = split_words(bare[-40:])
    nearest = found[-1] if found else ""
    if shape is Shape.DIGITS:
        return not found or nearest in words.COPULAS or nearest == "id" or nearest in words.SECRET_WORDS
    return (nearest == "id" or nearest not in words.OPEN_LABELS) and (
        shape is Shape.OPAQUE or nearest not in _LOCATIVES
    )


def _judge_by_provider(bare: str, shape: Shape, length: int) -> str | None:
    """`datadog: <value>`: the provider's name right before the value says enough when the value can be little else."""
    found = split_words(bare[-48:])[-3:]
    named = find_providers(found)
    if not named or length < 14 or any(word in words.OPEN_LABELS or word in words.OTHER_HEADS for word in found):
        return None
    if shape is Shape.HEX:
        return None if named & words.CODE_HOSTS else "credential"
    return "credential" if shape is Shape.OPAQUE or (shape is Shape.UUID and named & words.UUID_PROVIDERS) else None


def _judge_by_use(text: str, start: int, end: int, shape: Shape) -> str | None:
    """`use <value> for Datadog`: what one uses for a provider, long and without joining marks, is its key."""
    value = text[start:end]
    if len(value) < 20 or not (value.isalnum() or shape is Shape.UUID):
        return None
    found = split_words(text[end : end + 40])[:3]
    named = find_providers(found[1:]) if found[:1] in (["for"], ["with"], ["on"]) else set()
    if shape is Shape.UUID:
        named &= words.UUID_PROVIDERS
    elif shape is Shape.HEX:
        named -= words.CODE_HOSTS
    return "credential" if named else None


def _read_right(text: str, end: int) -> str | None:
    """Reads on for "… is the Kraken key", "… (Datadog API key)", "… as the token"."""
    right = text[end : end + RIGHT_CHARS].lstrip("\"'`”’»」』*_ ")
    match = _RIGHT_START().match(right)
    if match is None:
        return None
    rest = right[match.end() :]
    stop = _RIGHT_END().search(rest)
    if stop:
        rest = rest[: stop.start()]
    chunk: list[str] = []
    for word in split_words(rest)[:8]:
        if word in _ARTICLES and not chunk:
            continue
        if word in words.PREPOSITIONS:
            break
        chunk.append(word)
    verdict = read_chunk(chunk) if chunk else None
    if verdict is None and not rest.isascii():
        return next((kind for part, kind in words.SECRET_PARTS.items() if part in rest), None)
    return verdict


def _widen(text: str, start: int, end: int) -> tuple[int, int]:
    """Takes in what belongs to the value beyond its token characters: padding, `=` inside, marks in front."""
    limit = min(len(text), end + 300)
    while end < limit and text[end] in _VALUE_CHARS:
        end += 1
    while text[end - 1] in ".:|&!*":
        end -= 1
    if start and text[start - 1] in "-_+/=.":
        back = start
        while back and start - back < 100 and text[back - 1] in _VALUE_CHARS:
            back -= 1
        if text[back - 1 : back] in {'"', "'", "`"} or not is_name(text[back : start - 1]):
            start = back
        elif text[start - 1] != "=":
            start -= 1
    return start, end
