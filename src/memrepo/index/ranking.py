"""Which lines answer a query best. Pure: the same lines and query give the same order, wherever lines come from.

A `Corpus` counts and offers candidates: the index, lines read just now, items of a store. The score is BM25 over words,
in which function words count for a fifth; plus a bonus where two neighbours of the query stand side by side in the
line; plus a little for the words that the best lines share (relevance feedback), which reorders but never adds a line.
A line must hold at least one word of the query that says something. Why these numbers: docs/recall.md.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from memrepo.index.tokens import FORM, WHOLE, Query, is_function_word

_Key = TypeVar("_Key")

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# The usual constants of BM25, as published; not tuned.
_SATURATION, _LENGTH_SHARE = 1.2, 0.75
_FUNCTION_WEIGHT = 0.2
_PREFIX_WEIGHT = 0.5
_ADJACENT_BONUS = 0.5
_FEEDBACK_LINES, _FEEDBACK_WORDS, _FEEDBACK_WEIGHT = 5, 10, 0.2
_PREFIX_WORDS = 32
_MARKS = FORM + WHOLE

# How much a first place counts more than a later one: small, because orders are short.
_RANK_OFFSET = 10

POOL_LINES = 100
"""Candidates that are scored in full."""
_POOL_LIMIT = 5_000


class Line(NamedTuple):
    """One searchable line. `words` and `extras` hold the terms, each with a space on either side: `" a  b "`.

    `source` names the state of the file that it was read from (`index.freshness`), or "" where lines have no file.
    """

    path: str
    number: int
    source: str
    section: str
    words: str
    extras: str


class Scored(NamedTuple):
    """A line, its score and the words of the query that it holds, as the user wrote them."""

    line: Line
    score: float
    matched: tuple[str, ...]


_Ranked = tuple[float, str, int, Line]
"""Score with a minus, path, number, line: in the order in which hits come."""


class Corpus(Protocol):
    """What ranking needs to know about the lines as a whole. Counts are exact."""

    @property
    def line_count(self) -> int: ...
    @property
    def word_count(self) -> int: ...
    def count(self, term: str) -> int:
        """How many lines hold the term."""

    def expand(self, prefix: str, limit: int) -> Sequence[str]:
        """The terms that start with the prefix, most frequent first."""

    def find(self, weights: Mapping[str, float], limit: int) -> Sequence[tuple[float, Line]]:
        """The best lines that hold at least one of the terms, with a first score; at most about `limit`."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A query against one corpus: weight times rarity per term, neighbours, and what begins with the last word.

    `essential` are terms, one of which a line must hold; all others are terms with a space on either side.
    """

    weights: dict[str, float]
    essential: dict[str, float]
    pairs: tuple[tuple[str, float], ...]
    begun: tuple[str, ...]
    begun_weight: float


def rank_lines(query: Query, corpus: Corpus, *, limit: int) -> tuple[Scored, ...]:
    """The best lines, best first; lines with one score are in order of path and number."""
    if query.is_empty or limit < 1 or corpus.line_count < 1:
        return ()
    plan = _plan(query, corpus)
    if not plan.essential:
        return ()
    pool = _find_pool(plan, corpus, limit)
    mean_length = max(corpus.word_count / corpus.line_count, 1.0)
    norms = [_norm(line, mean_length) for line in pool]
    scores = [_score(line, plan, norm) for line, norm in zip(pool, norms, strict=True)]
    feedback = _feedback(heapq.nsmallest(_FEEDBACK_LINES, _ranked(scores, pool)), plan, corpus)
    if feedback:
        more = (_bm25(line, feedback, norm) for line, norm in zip(pool, norms, strict=True))
        scores = [score + extra for score, extra in zip(scores, more, strict=True)]
    best = heapq.nsmallest(limit, _ranked(scores, pool))
    labels = dict(query.labels)
    return tuple(Scored(line, -score, _matched(line, plan, labels, query.prefix)) for score, _, _, line in best)


def rarity(holding: int, total: int) -> float:
    """The inverse document frequency of BM25: what a term tells that `holding` of `total` lines hold."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def fuse_ranks(orders: Sequence[tuple[float, Sequence[_Key]]]) -> list[tuple[_Key, float]]:
    """Joins orders by weighted reciprocal rank; a first place in an order of weight 1 is worth 1. Best first."""
    scores: dict[_Key, float] = {}
    for weight, keys in orders:
        for rank, key in enumerate(keys):
            scores[key] = scores.get(key, 0.0) + weight * (_RANK_OFFSET + 1) / (_RANK_OFFSET + 1 + rank)
    return sorted(scores.items(), key=lambda item: -round(item[1], 9))


def pad(terms: Iterable[str]) -> str:
    """Terms as `Line` holds them."""
    return f" {'  '.join(terms)} "


def _plan(query: Query, corpus: Corpus) -> _Plan:
    total = corpus.line_count
    tells: dict[str, float] = {}
    for term in (*query.words, *query.extras):
        if term not in tells:
            holding = corpus.count(term)
            tells[term] = rarity(min(holding, total), total) if holding else 0.0
    meaning = {term for term in tells if term[0] == WHOLE or not is_function_word(term)} or set(tells)
    essential = {term: tell for term, tell in tells.items() if tell and term in meaning}
    weights = {
        _needle(term): tell * (1 if term in meaning else _FUNCTION_WEIGHT) for term, tell in tells.items() if tell
    }
    pairs = {
        f" {first}  {second} ": _ADJACENT_BONUS * min(tells[first], tells[second])
        for first, second in zip(query.words, query.words[1:], strict=False)
        if first != second and tells[first] and tells[second]
    }
    begun = _expand(query, corpus)
    begun_weight = 0.0
    if begun:
        holding = min(sum(corpus.count(term) for term in begun), total)
        begun_weight = _PREFIX_WEIGHT * rarity(holding, total)
        essential |= dict.fromkeys(begun, begun_weight)
    return _Plan(weights, essential, tuple(pairs.items()), tuple(map(_needle, begun)), begun_weight)


def _expand(query: Query, corpus: Corpus) -> tuple[str, ...]:
    """Terms that the last word may be the beginning of, but for the word itself."""
    if not query.prefix:
        return ()
    found = [
        *corpus.expand(query.prefix, _PREFIX_WORDS),
        *corpus.expand(FORM + query.prefix, _PREFIX_WORDS),
    ]
    known = set(query.words)
    if len(query.prefix) > 1:  # a single character is found inside a run by its form only
        known |= {query.prefix, FORM + query.prefix}
    return tuple(term for term in dict.fromkeys(found) if term not in known)


def _find_pool(plan: _Plan, corpus: Corpus, limit: int) -> list[Line]:
    """Enough candidates that no line outside could be among the best but for a tie; then more are taken."""
    size = max(POOL_LINES, limit + limit // 4)
    while True:
        found = corpus.find(plan.essential, size)
        first_scores = heapq.nlargest(size, (score for score, _ in found))
        is_tied = len(first_scores) == size and first_scores[limit - 1] - first_scores[-1] < 1e-6
        if not is_tied or size >= _POOL_LIMIT:
            return [line for _, line in found]
        size = min(size * 5, _POOL_LIMIT)


def _score(line: Line, plan: _Plan, norm: float) -> float:
    score = _bm25(line, plan.weights, norm)
    words = line.words
    for pair, bonus in plan.pairs:
        if pair in words:
            score += bonus
    if plan.begun and any(_holds(line, term) for term in plan.begun):
        score += plan.begun_weight
    return score


def _norm(line: Line, mean_length: float) -> float:
    """What BM25 adds to the number of times: more for a long line."""
    length = line.words.count("  ") + 1
    return _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / mean_length)


def _bm25(line: Line, weights: Mapping[str, float], norm: float) -> float:
    words = line.words
    score = 0.0
    for needle, weight in weights.items():
        if needle in words:
            times = words.count(needle)
            score += weight * times * (_SATURATION + 1) / (times + norm)
        elif needle[1] in _MARKS and needle in line.extras:
            score += weight * (_SATURATION + 1) / (1 + norm)
    return score


def _feedback(ranked: Sequence[_Ranked], plan: _Plan, corpus: Corpus) -> dict[str, float]:
    """The words that the best lines share, weighted by how much they tell and how good the lines are."""
    total = corpus.line_count
    shared: dict[str, float] = {}
    tells: dict[str, float] = {}
    for minus_score, _, _, line in ranked:
        for term in dict.fromkeys(line.words.split()):
            if _needle(term) in plan.weights or is_function_word(term):
                continue
            if term not in tells:
                tells[term] = rarity(min(corpus.count(term), total), total)
            shared[term] = shared.get(term, 0.0) - minus_score * tells[term]
    best = heapq.nsmallest(_FEEDBACK_WORDS, shared.items(), key=lambda item: (-item[1], item[0]))
    most = best[0][1] if best else 0.0
    return {_needle(term): _FEEDBACK_WEIGHT * (worth / most) * tells[term] for term, worth in best if most > 0}


def _needle(term: str) -> str:
    return f" {term} "


def _holds(line: Line, needle: str) -> bool:
    return needle in (line.extras if needle[1] in _MARKS else line.words)


def _ranked(scores: Iterable[float], lines: Iterable[Line]) -> list[_Ranked]:
    # Rounded: sums in another order must not make another order of lines.
    return [(-round(score, 9), line.path, line.number, line) for score, line in zip(scores, lines, strict=True)]


def _matched(line: Line, plan: _Plan, labels: Mapping[str, str], prefix: str) -> tuple[str, ...]:
    seen = [
        labels.get(term, term)
        for term in plan.essential
        if _needle(term) in plan.weights and _holds(line, _needle(term))
    ]
    if any(_holds(line, needle) for needle in plan.begun):
        seen.append(f"{prefix}…")
    return tuple(dict.fromkeys(seen))


class LineCorpus:
    """Lines in memory as a corpus. Reads every line for every question: for few lines, or when there is no index."""

    __slots__ = ("_counts", "_extras", "_lines", "_words", "line_count", "word_count")

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._words = [line.words for line in lines]
        self._extras = [line.extras for line in lines]
        self._counts: dict[str, int] = {}
        self.line_count = len(lines)
        self.word_count = sum(words.count("  ") + 1 for words in self._words)

    def count(self, term: str) -> int:
        found = self._counts.get(term)
        if found is None:
            needle = _needle(term)
            texts = self._extras if term[0] in _MARKS else self._words
            found = self._counts[term] = sum([needle in text for text in texts])
        return found

    def expand(self, prefix: str, limit: int) -> Sequence[str]:
        begin = f" {prefix}"
        held: Counter[str] = Counter()
        for line in self._lines:
            terms = line.extras if prefix[0] in _MARKS else line.words
            if begin in terms:
                held.update({term for term in terms.split() if term.startswith(prefix)})
        return [term for term, _ in heapq.nsmallest(limit, held.items(), key=lambda item: (-item[1], item[0]))]

    def find(self, weights: Mapping[str, float], limit: int) -> Sequence[tuple[float, Line]]:
        needles = {_needle(term): weight for term, weight in weights.items()}
        mean_length = max(self.word_count / max(self.line_count, 1), 1.0)
        held = [line for line in self._lines if any(_holds(line, needle) for needle in needles)]
        scores = (_bm25(line, needles, _norm(line, mean_length)) for line in held)
        return [(-score, line) for score, _, _, line in heapq.nsmallest(limit, _ranked(scores, held))]
