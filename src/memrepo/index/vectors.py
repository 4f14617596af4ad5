"""The optional vectors: which entries mean something like the query, whatever their words.

Owns the vectors of one root's entries in memory and their cache file, keyed by what was embedded. Knows no model: an
`Embedder` comes in. Needs numpy, and is imported only when the extra is installed. Invariants: a vector comes from the
text that its entry has now; a record of the cache whose checksum is wrong counts as missing; without the cache the
answers are the same.

Vectors of one memory share much (its user, its words), which hides what differs; so their mean is taken out before
they are compared. Costs 1 KB of memory per entry at 256 dimensions.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from memrepo.model import RepoPath

    Matrix = NDArray[np.float32]
    HalfRow = NDArray[np.float16]

LEAST_SIMILARITY = 0.2
"""Below this two texts have nothing to do with each other."""
_MEAN_PRIOR = 10
_KEY_BYTES, _CHECK_BYTES = 16, 4
_BATCH = 512


class Embedder(Protocol):
    """A model that turns texts into vectors. `name` names the model and its version: other names, other cache."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text."""

    def embed_query(self, text: str, tell: Callable[[str], float]) -> Matrix:
        """One vector; `tell` says how much a word tells in this memory (0 and up), for models that weigh words."""


class KeyedLines(Protocol):
    """What gives the lines of a root: `repo_index.RepoIndex`. `generation` differs whenever they may have changed."""

    @property
    def generation(self) -> int: ...
    def iter_keys(self) -> Iterator[tuple[RepoPath, tuple[int, ...], bytes]]: ...
    def iter_texts(self, path: RepoPath) -> Iterator[tuple[bytes, str]]: ...


class Near(NamedTuple):
    """A line and how near it is to the query, 1 being the same."""

    path: RepoPath
    number: int
    similarity: float


class _FileVectors(NamedTuple):
    """The lines of one file, the keys of what was embedded for them, and one row for each."""

    numbers: tuple[int, ...]
    keys: tuple[bytes, ...]
    rows: Matrix


class VectorTable:
    """The vectors of all entries of one root. `folder` None keeps no cache."""

    __slots__ = ("_cache", "_embedder", "_files", "_generation", "_lines", "_matrix", "_mean", "_sizes", "_source")

    def __init__(self, source: KeyedLines, embedder: Embedder, folder: Path | None) -> None:
        self._source = source
        self._embedder = embedder
        self._cache = VectorCache(folder, embedder.name, embedder.dimensions)
        self._generation = -1
        self._files: dict[RepoPath, _FileVectors] = {}
        self._lines: list[tuple[RepoPath, int]] = []
        self._matrix: Matrix = np.zeros((0, embedder.dimensions), np.float32)
        self._mean: Matrix = np.zeros(embedder.dimensions, np.float32)
        self._sizes: Matrix = np.zeros(0, np.float32)

    def find(self, text: str, tell: Callable[[str], float], *, limit: int) -> list[Near]:
        """The entries nearest to a text, nearest first. Changes: the cache, when vectors were missing."""
        if self._generation != self._source.generation:
            self._refresh()
        query = _unit(np.asarray(self._embedder.embed_query(text, tell), np.float32))
        if not self._lines or not query.any():
            return []
        query = _unit(query - self._mean)
        near = (self._matrix @ query - self._mean @ query) / self._sizes
        count = min(limit, len(near))
        best = np.argpartition(-near, count - 1)[:count]
        least = max(float(near[best].min()), LEAST_SIMILARITY)
        # All that tie with the last one, so that their order is ours and not that of the sort.
        chosen = [Near(*self._lines[at], round(float(near[at]), 5)) for at in np.flatnonzero(near >= least - 1e-6)]
        return sorted(chosen, key=lambda one: (-one.similarity, one.path, one.number))[:limit]

    def _refresh(self) -> None:
        """Takes in changed files. What stood in a file before is looked up there, the rest in the cache, once."""
        generation = self._source.generation
        cached = self._cache.load() if not self._files else {}
        sources = [(path, numbers, _split_keys(packed)) for path, numbers, packed in self._source.iter_keys()]
        # Filled in place: a second copy of the matrix would be the largest thing in memory.
        matrix = np.zeros((sum(len(numbers) for _, numbers, _ in sources), self._embedder.dimensions), np.float32)
        files: dict[RepoPath, _FileVectors] = {}
        end = 0
        for path, numbers, keys in sources:
            rows = matrix[end : end + len(numbers)]
            before = self._files.get(path)
            if before is not None and before.keys == keys:
                rows[:] = before.rows
            else:
                self._embed(path, keys, rows, before, cached)
            files[path] = _FileVectors(numbers, keys, rows)
            end += len(numbers)
        self._cache.flush()
        self._files, self._matrix = files, matrix
        self._lines = [(path, number) for path, file in files.items() for number in file.numbers]
        self._mean = self._matrix.sum(axis=0, dtype=np.float64).astype(np.float32) / (len(self._lines) + _MEAN_PRIOR)
        square = 1 - 2 * (self._matrix @ self._mean) + self._mean @ self._mean
        self._sizes = np.sqrt(np.maximum(square, 1e-6))
        self._generation = generation

    def _embed(
        self,
        path: RepoPath,
        keys: Sequence[bytes],
        rows: Matrix,
        before: _FileVectors | None,
        cached: Mapping[bytes, HalfRow],
    ) -> None:
        """Fills in one row per key. A text that is gone since has no vector: its row is zero, nothing is near to it."""
        known: dict[bytes, Matrix] = dict(zip(before.keys, before.rows, strict=True)) if before is not None else {}
        missing = {key for key in keys if key not in known and key not in cached}
        texts = {key: text for key, text in self._source.iter_texts(path) if key in missing} if missing else {}
        for batch in _batches(list(texts.items())):
            vectors = self._embedder.embed([text for _, text in batch])
            for (key, _), vector in zip(batch, vectors, strict=True):
                known[key] = self._cache.add(key, _unit(np.asarray(vector, np.float32)))
        for at, key in enumerate(keys):
            row = known.get(key)
            if row is not None:
                rows[at] = row
            elif key in cached:
                rows[at] = cached[key]


class VectorCache:
    """One file of vectors by key, in half precision, that only grows until it is purged."""

    __slots__ = ("_dimensions", "_place", "_unsaved")

    def __init__(self, folder: Path | None, name: str, dimensions: int) -> None:
        file = f"{hashlib.sha256(f'{name}:{dimensions}'.encode()).hexdigest()[:16]}.f16"
        self._place = None if folder is None else folder / file
        self._dimensions = dimensions
        self._unsaved: list[bytes] = []

    def load(self) -> dict[bytes, HalfRow]:
        """All vectors whose checksum is right."""
        try:
            data = b"" if self._place is None else self._place.read_bytes()
        except OSError:
            return {}
        size, end = self._record_bytes, self._record_bytes - _CHECK_BYTES
        view = memoryview(data)
        found: dict[bytes, HalfRow] = {}
        for at in range(0, len(data) - size + 1, size):
            record = view[at : at + end]
            if zlib.crc32(record) == int.from_bytes(view[at + end : at + size], "little"):
                found[bytes(record[:_KEY_BYTES])] = np.frombuffer(record, "<f2", offset=_KEY_BYTES)
        return found

    def add(self, key: bytes, vector: Matrix) -> Matrix:
        """Keeps a vector for `flush` and returns it as it will be read back."""
        rounded = vector.astype("<f2")
        record = key + rounded.tobytes()
        self._unsaved.append(record + zlib.crc32(record).to_bytes(_CHECK_BYTES, "little"))
        return rounded.astype(np.float32)

    def flush(self) -> None:
        """Writes what is new; without permission or space it is not kept. Changes: the cache file."""
        records, self._unsaved = self._unsaved, []
        if not records or self._place is None:
            return
        with suppress(OSError):
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "r+b") as file:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                # A record that a killed process left unfinished would shift all that follow.
                whole = file.seek(0, os.SEEK_END) // self._record_bytes * self._record_bytes
                file.truncate(whole)
                file.seek(whole)
                file.write(b"".join(records))

    @property
    def _record_bytes(self) -> int:
        return _KEY_BYTES + 2 * self._dimensions + _CHECK_BYTES


def _split_keys(packed: bytes) -> tuple[bytes, ...]:
    return tuple(packed[at : at + _KEY_BYTES] for at in range(0, len(packed), _KEY_BYTES))


def _unit(vector: Matrix) -> Matrix:
    size = float(np.linalg.norm(vector))
    return vector / np.float32(size) if size > 0 else vector


def _batches(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
