"""Whatever happens to files and cache, every index answers as if it read all files at this moment."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.kit.recalling import ask, cache_files, put, scan, seen, spoil

from memrepo.index.repo_index import RepoIndex

pytest.importorskip("tantivy")

WORDS = (
    "garden",
    "kayak",
    "coffee",
    "Lisbon",
    "user_name",
    "東京都",
    "café",
    "the",
    "went",
    "running",
    "v1.2.3",
    "gardening",
)
ENTRIES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=6)
NAMES = ("me.md", "lessons.md", "topics/a.md", "topics/deep/b.md", "topics/deep/c.md")
PATHS = st.sampled_from(NAMES)
QUERIES = ("garden", "kayak coffee", "the gard", "東京", "user name", "where did they go running", "1.2.3")


class IndexMachine(RuleBasedStateMachine):
    """One root, one cache, and two indexes on it: one that trusts stamps at once, and one with the true clock."""

    @initialize(texts=st.lists(ENTRIES, min_size=5, max_size=5))
    def begin(self, texts: list[list[str]]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memrepo-test-"))
        self.root = self.folder / "root"
        self.cache = self.folder / "cache"
        self.root.mkdir()
        self.edits = self.asked = 0
        # It writes the index on every change, and holds every stamp for settled: edits get times of their own.
        self.eager = RepoIndex(
            self.root, self.cache, in_memory_limit_bytes=0, clock=lambda: time.time_ns() + 3_600_000_000_000
        )
        self.calm = RepoIndex(self.root, self.cache, in_memory_limit_bytes=120)
        for path, entries in zip(NAMES, texts, strict=True):
            put(self.root, path, entries)
            self._stamp(path)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.eager.close()
            self.calm.close()
            shutil.rmtree(self.folder)

    def _stamp(self, path: str) -> None:
        self.edits += 1
        moment = 1_500_000_000 + self.edits
        os.utime(self.root / path, (moment, moment))

    @rule(path=PATHS, entries=ENTRIES)
    def write_file(self, path: str, entries: list[str]) -> None:
        put(self.root, path, [f"{entry} {self.edits}" for entry in entries])
        self._stamp(path)

    @rule(path=PATHS)
    def remove_file(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    @rule(path=PATHS, other=PATHS)
    def move_file(self, path: str, other: str) -> None:
        if path != other and (self.root / path).exists():
            (self.root / other).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).replace(self.root / other)

    @rule(path=PATHS)
    def touch_file(self, path: str) -> None:
        if (self.root / path).exists():
            self._stamp(path)

    @rule(query=st.sampled_from(QUERIES))
    def ask_newcomer(self, query: str) -> None:
        with RepoIndex(self.root, self.cache) as index:
            assert seen(ask(index, query)) == scan(self.root, query)

    @rule(pick=st.integers(0, 200), how=st.sampled_from(["empty", "short", "flipped", "zeroed", "garbage", "gone"]))
    def spoil_cache(self, pick: int, how: str) -> None:
        places = cache_files(self.cache)
        if places:
            spoil(places[pick % len(places)], how)

    @rule()
    def delete_cache(self) -> None:
        shutil.rmtree(self.cache, ignore_errors=True)

    @rule()
    def rebuild(self) -> None:
        status = self.calm.rebuild()
        assert status.state == "ready"
        assert status.indexed_lines == status.lines

    @rule()
    def purge(self) -> None:
        self.eager.close()
        self.calm.purge()
        assert [place.name for place in cache_files(self.cache)] in ([], ["lock"])

    @invariant()
    def all_agree(self) -> None:
        query = QUERIES[self.asked % len(QUERIES)]
        self.asked += 1
        truth = scan(self.root, query)
        assert seen(ask(self.eager, query)) == truth
        assert seen(ask(self.calm, query)) == truth

    @invariant()
    def nothing_is_written_to_the_root(self) -> None:
        assert all(place.suffix == ".md" for place in self.root.rglob("*") if place.is_file())


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
