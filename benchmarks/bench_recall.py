"""Recall at 10,000 entries in 80 files and at the limits, 250,000 in 2,000: first build, questions with freshness.

Beside it in the same run: SQLite's FTS5 over the same terms, which looks at no file and proves no hit; and `grep`, one
word through all files. The texts are made up: 30,000 words that follow Zipf's law, and English function words.
"""

from __future__ import annotations

import bisect
import datetime as dt
import itertools
import json
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Timing, measure_in_turn, report

from memrepo.index.freshness import SETTLED_AFTER_NS
from memrepo.index.tokens import analyze, analyze_query
from memrepo.model import Actor, TaskContext
from memrepo.reading import iter_entries
from memrepo.recall import find_embedder, open_repo_lane, recall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = ((10_000, 80), (250_000, 2_000))
BARS = {10_000: "bar: median under 5 ms", 250_000: "bar: median under 15 ms, p95 under 50 ms"}
QUESTIONS = 300
WORDS = 30_000
SEED = 20261005
USER = TaskContext(actor=Actor.USER)
_FUNCTION = "the a of to in on for with and was is has at by from that it as this are"
FUNCTION = _FUNCTION.split()
SYLLABLES = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]


class Texts:
    """Made-up sentences, the same in every run."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)
        self._words = list(dict.fromkeys(self._word() for _ in range(2 * WORDS)))[:WORDS]
        self._weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self._words))))

    def sentence(self) -> str:
        return " ".join(
            self._random.choice(FUNCTION) if self._random.random() < 0.35 else self._pick()
            for _ in range(self._random.randint(8, 22))
        )

    def question(self) -> str:
        """As an agent asks: two to five words that say something, and the words around them."""
        words = [self._pick() for _ in range(self._random.randint(2, 5))]
        return f"what did the {' of the '.join(words)} have"

    def day(self) -> str:
        return (dt.date(2023, 1, 1) + dt.timedelta(days=self._random.randrange(1_000))).isoformat()

    def _word(self) -> str:
        return "".join(self._random.choice(SYLLABLES) for _ in range(self._random.randint(2, 4)))

    def _pick(self) -> str:
        return self._words[bisect.bisect(self._weights, self._random.random() * self._weights[-1])]


def fill(root: Path, texts: Texts, entries: int, files: int) -> None:
    """Writes the entries: 25 below a heading, twenty folders."""
    each = entries // files
    for number in range(files):
        path = root / f"topics/t{number % 20}/f{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"# Topic {number}"]
        for at in range(each):
            if at % 25 == 0:
                lines += ["", f"## Part {at // 25}", ""]
            lines.append(f"- {texts.sentence()} [by: agent; kind: insight; added: {texts.day()}]")
        path.write_text("\n".join(lines) + "\n", "utf-8")


def build(root: Path, cache: Path) -> None:
    """In a process of its own, for its memory: the first question of all, which makes the index."""
    lane = open_repo_lane(root, cache, use_meaning=False)
    before_mb = peak_mb()
    start = time.perf_counter()
    recall("first question", task=USER, lanes=[lane], is_memory_on=True)
    spent = time.perf_counter() - start
    print(json.dumps({"seconds": spent, "peak_mb": peak_mb(), "before_mb": before_mb}))


def peak_mb() -> float:
    """The most memory that this process ever held. `ru_maxrss` may be that of the parent before `exec`."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure_build(root: Path, cache: Path) -> str:
    command = [sys.executable, "-m", "benchmarks.bench_recall", "build", str(root), str(cache)]
    checkout = Path(__file__).resolve().parent.parent
    done = json.loads(subprocess.run(command, cwd=checkout, capture_output=True, check=True, text=True).stdout)
    size = sum(place.stat().st_size for place in cache.rglob("*") if place.is_file()) / 1e6
    return (
        f"first build {done['seconds']:.1f} s, peak memory {done['peak_mb']:.0f} MB "
        f"(process before it {done['before_mb']:.0f} MB), index {size:.0f} MB on disk"
    )


def open_fts(root: Path) -> Callable[[str], list[object]]:
    """SQLite's full-text index over the same words."""
    table = sqlite3.connect(":memory:")
    table.execute("create virtual table lines using fts5(words, tokenize = 'unicode61')")
    rows = ((" ".join(analyze(located.entry.text).words),) for located in iter_entries(root))
    table.executemany("insert into lines values (?)", rows)

    def ask(question: str) -> list[object]:
        wanted = " OR ".join(f'"{word}"' for word in dict.fromkeys(analyze_query(question).words))
        return table.execute(
            "select rowid from lines where lines match ? order by bm25(lines) limit 10", (wanted,)
        ).fetchall()

    return ask


def main() -> None:
    texts = Texts()
    for entries, files in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            root, cache = Path(folder, "root"), Path(folder, "cache")
            fill(root, texts, entries, files)
            build_note = measure_build(root, cache)
            time.sleep(SETTLED_AFTER_NS / 1e9 + 0.1)  # as files mostly are: not written in this very moment
            timings = measure_questions(root, cache, [texts.question() for _ in range(QUESTIONS)])
            timings += measure_edits(root, cache, texts)
        report(f"Recall, {entries:,} entries in {files:,} files", timings, build_note, BARS[entries])


def measure_questions(root: Path, cache: Path, questions: Sequence[str]) -> list[Timing]:
    fts = open_fts(root)
    embedder = find_embedder()
    by_words = open_repo_lane(root, cache, use_meaning=False)
    operations: list[tuple[str, Callable[[int], object]]] = [
        ("recall", lambda at: recall(questions[at], task=USER, lanes=[by_words], is_memory_on=True)),
        ("SQLite FTS5, files not looked at", lambda at: fts(questions[at])),
    ]
    if embedder is not None:
        by_meaning = open_repo_lane(root, cache)
        operations.append(
            ("recall with vectors", lambda at: recall(questions[at], task=USER, lanes=[by_meaning], is_memory_on=True))
        )
    for _, operation in operations:
        operation(0)
    # One after the other and not in turn: at the limits FTS5 walks through so much memory that it empties the caches.
    timings = [measure_in_turn(len(questions), operation)[0] for operation in operations]
    word = questions[0].split()[3]
    timings += measure_in_turn(
        10,
        ("grep, one word", lambda _: subprocess.run(["grep", "-riwc", word, root], capture_output=True, check=False)),
        ("recall as the first call of a lane", lambda at: _ask_anew(root, cache, questions[at])),
    )
    return timings


def measure_edits(root: Path, cache: Path, texts: Texts) -> list[Timing]:
    """Each question comes right after an edit by hand, and is about it."""
    lane = open_repo_lane(root, cache, use_meaning=False)
    place = root / "topics/t0/f0.md"
    times = []
    for number in range(50):
        with place.open("a", encoding="utf-8") as file:
            file.write(f"- {texts.sentence()} edit{number}mark\n")
        start = time.perf_counter()
        hit = recall(f"edit{number}mark", task=USER, lanes=[lane], is_memory_on=True).hits[0]
        times.append(time.perf_counter() - start)
        assert hit.text.endswith(f"edit{number}mark")
    return [Timing("recall right after an edit of a file", tuple(times))]


def _ask_anew(root: Path, cache: Path, question: str) -> object:
    lane = open_repo_lane(root, cache, use_meaning=False)
    answer = recall(question, task=USER, lanes=[lane], is_memory_on=True)
    lane.close()
    return answer


if __name__ == "__main__":
    if sys.argv[1:2] == ["build"]:
        build(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
