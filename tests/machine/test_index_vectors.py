"""The optional vectors: near in meaning, always of the text that is there, and with or without their cache the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.recalling import bytes_below, cache_files, put, spoil, texts

pytest.importorskip("numpy")

import numpy as np

from memrepo.index.repo_index import SIMILAR, RepoIndex
from memrepo.index.tokens import analyze, analyze_query
from memrepo.index.vectors import VectorTable
from memrepo.recall import _by_meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from memrepo.index.repo_index import Answer

# Words of one line here mean the same.
MEANINGS = (("bicycle", "cycling", "bike"), ("tea", "drink", "oolong"), ("rain", "weather"), ("code", "program"))


class WordEmbedder:
    """One dimension per meaning, and two that every text shares."""

    name = "words-1"
    dimensions = len(MEANINGS) + 2

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        return np.array([self._row(text) for text in texts], np.float32)

    def embed_query(self, text: str, tell: Callable[[str], float]) -> NDArray[np.float32]:
        assert tell("bicycle") >= 0
        return np.array(self._row(text), np.float32)

    def _row(self, text: str) -> list[float]:
        words = text.lower().split()
        return [float(sum(word in meaning for word in words)) for meaning in MEANINGS] + [1.0, 0.5]


def fill(root: Path) -> None:
    put(root, "me.md", ["Rides a bicycle", "Drinks oolong tea", "Hates rain"])
    put(root, "noise.md", [f"Invoice {number} paid" for number in range(20)])


def ask(index: RepoIndex, table: VectorTable, text: str) -> Answer:
    query = analyze_query(text)
    return index.search(query, limit=5, second=_by_meaning(table, query))


def open_table(root: Path, cache: Path | None) -> tuple[RepoIndex, VectorTable, WordEmbedder]:
    index, embedder = RepoIndex(root, cache, in_memory_limit_bytes=0), WordEmbedder()
    return index, VectorTable(index, embedder, index.vectors_folder), embedder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    fill(tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_what_means_the_same_is_found_and_says_so(root: Path, cache: Path) -> None:
    index, table, _ = open_table(root, cache)
    (hit,) = ask(index, table, "cycling").found
    assert (hit.entry.text, hit.why) == ("Rides a bicycle", (SIMILAR,))
    (hit,) = ask(index, table, "bicycle").found
    assert hit.why == ("bicycle", SIMILAR)


def test_a_query_near_to_nothing_finds_nothing(root: Path, cache: Path) -> None:
    index, table, _ = open_table(root, cache)
    assert texts(ask(index, table, "program")) == []


def test_vectors_are_of_the_text_that_is_there_now(root: Path, cache: Path) -> None:
    index, table, _ = open_table(root, cache)
    ask(index, table, "cycling")
    put(root, "me.md", ["Sells the old car", "Writes code"])
    assert texts(ask(index, table, "cycling")) == []
    assert texts(ask(index, table, "program")) == ["Writes code"]
    (root / "me.md").unlink()
    assert texts(ask(index, table, "program")) == []


def test_a_text_is_embedded_once_for_all_processes(root: Path, cache: Path) -> None:
    index, table, first = open_table(root, cache)
    ask(index, table, "cycling")
    assert len(first.embedded) == 23
    put(root, "me.md", ["Rides a bicycle", "Drinks oolong tea", "Likes weather"])
    ask(index, table, "cycling")
    assert first.embedded[23:] == ["Likes weather"]
    index, table, second = open_table(root, cache)
    assert texts(ask(index, table, "cycling")) == ["Rides a bicycle"]
    assert second.embedded == []


@pytest.mark.parametrize("how", ["empty", "short", "flipped", "zeroed", "garbage", "gone"])
def test_damage_to_the_cached_vectors_changes_no_answer(root: Path, cache: Path, how: str) -> None:
    index, table, _ = open_table(root, cache)
    truth = [(hit.entry.text, hit.score, hit.why) for hit in ask(index, table, "drink in the rain").found]
    (place,) = [place for place in cache_files(cache) if place.suffix == ".f16"]
    for _ in range(2):
        spoil(place, how) if place.exists() else None
        index, table, _ = open_table(root, cache)
        assert [(hit.entry.text, hit.score, hit.why) for hit in ask(index, table, "drink in the rain").found] == truth


def test_an_unfinished_record_does_not_spoil_those_after_it(root: Path, cache: Path) -> None:
    index, table, _ = open_table(root, cache)
    ask(index, table, "cycling")
    (place,) = [place for place in cache_files(cache) if place.suffix == ".f16"]
    place.write_bytes(place.read_bytes()[:-3])
    put(root, "more.md", ["Another bike"])
    index, table, _ = open_table(root, cache)
    ask(index, table, "cycling")
    index, table, third = open_table(root, cache)
    assert sorted(texts(ask(index, table, "cycling"))) == ["Another bike", "Rides a bicycle"]
    assert third.embedded == []


def test_another_model_has_a_cache_of_its_own(root: Path, cache: Path) -> None:
    index, table, _ = open_table(root, cache)
    ask(index, table, "cycling")
    other = WordEmbedder()
    other.name = "words-2"
    table = VectorTable(index, other, index.vectors_folder)
    ask(index, table, "cycling")
    assert len(other.embedded) == 23


def test_purging_takes_the_vectors_too(root: Path, cache: Path) -> None:
    index, table, _ = open_table(root, cache)
    ask(index, table, "cycling")
    index.purge()
    assert [place.name for place in cache_files(cache)] == ["lock"]
    assert bytes_below(cache) == b""


def test_without_permission_vectors_are_made_anew(root: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    index, table, _ = open_table(root, blocked)
    assert texts(ask(index, table, "cycling")) == ["Rides a bicycle"]


def test_the_packaged_model_needs_no_network_and_knows_neighbours() -> None:
    pytest.importorskip("tokenizers")
    from memrepo.index.static_vectors import find_static_embedder

    embedder = find_static_embedder()
    if embedder is None:
        pytest.skip("the wordllama wheel is not installed")
    rows = embedder.embed(["a bicycle ride", "cycling", "tax law", ""])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    assert rows.shape == (4, embedder.dimensions)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1
    assert not rows[3].any()
    assert not embedder.embed_query("...", lambda _: 0.0).any()


TEXTS = st.lists(st.sampled_from([word for meaning in MEANINGS for word in meaning]), min_size=1, max_size=4).map(
    " ".join
)


@given(states=st.lists(st.lists(TEXTS, max_size=5), min_size=1, max_size=4), query=TEXTS)
@settings(max_examples=25, deadline=None)
def test_a_table_that_followed_edits_answers_as_a_new_one(states: list[list[str]], query: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, cache = Path(folder, "root"), Path(folder, "cache")
        fill(root)
        index, table, _ = open_table(root, cache)
        for state in states:
            put(root, "topic.md", state)
            fresh, new_table, _ = open_table(root, None)
            followed = [(hit.entry.text, hit.score, hit.why) for hit in ask(index, table, query).found]
            assert followed == [(hit.entry.text, hit.score, hit.why) for hit in ask(fresh, new_table, query).found]
        index.close()


def test_every_word_of_a_query_may_be_asked_for_what_it_tells(root: Path) -> None:
    index, table, _ = open_table(root, None)
    for text in ("C++ and C#", "東京", "🎉", "_", "a" * 4_000):
        assert analyze(text) == analyze(text)
        ask(index, table, text)
