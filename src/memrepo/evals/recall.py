"""How often recall finds what a question needs: recall at k on sets of facts and questions.

Owns the measure; prints nothing, and keeps none of the data. Each conversation becomes a memory of its own in a folder
that is gone afterwards, is asked through the same door as every user, and is scored by the facts that came back.

A set is a folder with `facts.jsonl` (`conv`, `fact`, `date`, `dia_ids`) and `questions.jsonl` (`conv`, `question`,
`covered`: the ids that an answer needs). Recall at k is the share of these ids that the first k hits carry, averaged
over the questions.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memrepo.errors import InvalidInput, NotFound
from memrepo.format.clean import clean_text
from memrepo.format.entries import render_entry
from memrepo.index.vocabulary import MONTHS
from memrepo.model import Actor, TaskContext
from memrepo.recall import RepoLane, find_embedder, open_index, recall

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memrepo.index.vectors import Embedder

CUTS = (5, 10, 20)
"""The k of recall at k."""
ALL = "all"
_FACTS_FILE, _QUESTIONS_FILE = "facts.jsonl", "questions.jsonl"
_DAY = re.compile(r"(\d{1,2}) (\w+),? (\d{4})")


@dataclass(frozen=True, slots=True)
class RecallRow:
    """One line of the table: a method on one conversation, or on `all`. `recalls` go with `CUTS`; times in ms."""

    method: str
    conversation: str
    facts: int
    questions: int
    recalls: tuple[float, ...]
    median_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    covered: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Fact:
    text: str
    added: str
    ids: frozenset[str]


def measure_recall(data: Path, *, methods: Sequence[str] = ("lexical", "semantic")) -> tuple[RecallRow, ...]:
    """Measures each method on each conversation and on all; `semantic` is left out when the extra is not installed.

    Errors: NotFound without the files, InvalidInput with file and line. Changes: a temporary folder, gone afterwards.
    """
    facts, questions = _read_facts(data), _read_questions(data)
    for conversation in [*questions] or [""]:
        if conversation not in facts:
            what = f"no facts for conversation {conversation}" if conversation else "no question that a fact covers"
            raise InvalidInput(f"{data} holds {what}", file=str(data), hint="check both files of the set")
    rows: list[RecallRow] = []
    for method in methods:
        embedder = find_embedder() if method == "semantic" else None
        if method == "semantic" and embedder is None:
            continue
        parts = [_measure(name, facts[name], asked, embedder) for name, asked in questions.items()]
        rows += [_row(method, part, len(facts[part[0]])) for part in parts]
        rows.append(_row(method, _merge(parts), sum(len(facts[name]) for name in questions)))
    return tuple(rows)


_Part = tuple[str, list[tuple[float, ...]], list[float]]


def _measure(
    conversation: str, facts: Sequence[_Fact], questions: Sequence[_Question], embedder: Embedder | None
) -> _Part:
    """Recall per question, and its time in ms. The first question is asked twice: once to open everything."""
    with tempfile.TemporaryDirectory(prefix="memrepo-eval-") as folder:
        root = Path(folder, "memory")
        root.mkdir()
        ids = _write_facts(root / "facts.md", facts)
        lane = RepoLane(root, open_index(root, Path(folder, "cache")), embedder=embedder)
        scores, times = [], []
        for number, question in enumerate((questions[0], *questions)):
            began = time.perf_counter()
            result = recall(
                question.text, task=TaskContext(actor=Actor.USER), lanes=(lane,), is_memory_on=True, limit=CUTS[-1]
            )
            took_ms = (time.perf_counter() - began) * 1e3
            if number:
                lines = [int(hit.ref.rpartition("#L")[2]) for hit in result.hits]
                scores.append(_recalls([ids[line] for line in lines], question.covered))
                times.append(took_ms)
        lane.close()
    return conversation, scores, times


def _row(method: str, part: _Part, fact_count: int) -> RecallRow:
    conversation, scores, times = part
    means = tuple(round(sum(column) / len(column), 4) for column in zip(*scores, strict=True))
    ordered = sorted(times)
    median_ms, p95_ms = (round(ordered[int(len(ordered) * share)], 3) for share in (0.5, 0.95))
    return RecallRow(method, conversation, fact_count, len(scores), means, median_ms, p95_ms)


def _merge(parts: Sequence[_Part]) -> _Part:
    return ALL, [score for _, scores, _ in parts for score in scores], [took for _, _, times in parts for took in times]


def _recalls(found: Sequence[frozenset[str]], covered: frozenset[str]) -> tuple[float, ...]:
    return tuple(len(covered & frozenset().union(*found[:cut])) / len(covered) for cut in CUTS)


def _write_facts(place: Path, facts: Sequence[_Fact]) -> dict[int, frozenset[str]]:
    """Writes the facts as entries and returns the ids by line number."""
    lines = ["# Facts", ""]
    ids = {}
    for fact in facts:
        meta = [("by", "agent"), *([("added", fact.added)] if fact.added else [])]
        lines.append(render_entry(clean_text(fact.text), meta))
        ids[len(lines)] = fact.ids
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ids


def _read_facts(data: Path) -> dict[str, list[_Fact]]:
    facts: defaultdict[str, list[_Fact]] = defaultdict(list)
    for row in _read_rows(data / _FACTS_FILE, ("conv", "fact", "dia_ids")):
        facts[str(row["conv"])].append(
            _Fact(str(row["fact"]), _read_day(str(row.get("date", ""))), frozenset(row["dia_ids"]))
        )
    return dict(facts)


def _read_questions(data: Path) -> dict[str, list[_Question]]:
    questions: defaultdict[str, list[_Question]] = defaultdict(list)
    for row in _read_rows(data / _QUESTIONS_FILE, ("conv", "question", "covered")):
        if row["covered"]:
            questions[str(row["conv"])].append(_Question(str(row["question"]), frozenset(row["covered"])))
    return dict(questions)


def _read_rows(place: Path, keys: Sequence[str]) -> Iterator[dict[str, Any]]:
    try:
        lines = place.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except FileNotFoundError as error:
        hint = "name a folder with facts.jsonl and questions.jsonl"
        raise NotFound(f"there is no {place}", hint=hint, what="measured set", name=str(place)) from error
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            missing = [key for key in keys if key not in row]
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"{place}:{number} is not a JSON object", file=str(place), line=number) from error
        if missing:
            raise InvalidInput(f"{place}:{number} has no {missing[0]}", file=str(place), line=number, key=missing[0])
        yield row


def _read_day(text: str) -> str:
    """The day in a date such as `1:56 pm on 8 May, 2023`, as the `added` key writes it; "" when there is none."""
    day = _DAY.search(text)
    if day is None or day[2].lower() not in MONTHS:
        return ""
    try:
        return dt.date(int(day[3]), MONTHS.index(day[2].lower()) + 1, int(day[1])).isoformat()
    except ValueError:
        return ""
