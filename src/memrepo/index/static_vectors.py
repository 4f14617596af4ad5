"""A small embedding model without a network or a large library: one vector per token, a text is their weighted mean.

Reads the table of 32,000 token vectors and the tokenizer that lie inside the `wordllama` wheel, both as files; the
package itself is never imported (its own loader looks for the tokenizer in another folder and then asks the network).
Needs numpy and tokenizers. Invariant: the same text gives the same vector, in every process and every memory.

In an entry function words count for a fifth; in a query each word counts by the square root of what it tells.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from memrepo.index.vocabulary import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

_PACKAGE = "wordllama"
_TABLE_FILE = "weights/l2_supercat_256.safetensors"
_TOKENIZER_FILE = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_FUNCTION_WEIGHT = 0.2
_TEXT_LIMIT_CHARS = 4_000
_WORD = re.compile(r"\w+|[^\w\s]+")
_SIGNS = ". , ; : ! ? ' ’ \" - ( ) s"


class StaticEmbedder:
    """The model. Make it with `find_static_embedder`."""

    __slots__ = ("_table", "_tokenizer", "_weights", "dimensions", "name")

    def __init__(self, folder: Path) -> None:
        self._table = _read_table(folder / _TABLE_FILE)
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER_FILE))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._weights = np.ones(len(self._table), np.float32)
        for word in (*FUNCTION_WORDS, *_SIGNS.split()):
            for form in (word, word.capitalize()):
                self._weights[self._tokens(form)] = _FUNCTION_WEIGHT
        self.dimensions = int(self._table.shape[1])
        self.name = f"static-l2-supercat-{self.dimensions}-1"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text; all zero for a text without tokens."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for at, text in enumerate(texts):
            tokens = self._tokens(text[:_TEXT_LIMIT_CHARS])
            if tokens:
                rows[at] = self._weights[tokens] @ self._table[tokens].astype(np.float32)
        return rows

    def embed_query(self, text: str, tell: Callable[[str], float]) -> Matrix:
        """One vector; a word of the query counts by what it tells in this memory."""
        total = np.zeros(self.dimensions, np.float32)
        for word in _WORD.findall(text[:_TEXT_LIMIT_CHARS]):
            weight = np.float32(max(tell(word), 0.0) ** 0.5)
            tokens = self._tokens(word)
            if weight > 0 and tokens:
                total += weight * (self._weights[tokens] @ self._table[tokens].astype(np.float32))
        return total

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def find_static_embedder() -> StaticEmbedder | None:
    """The model, if its files are installed. Changes: nothing; no network."""
    spec = importlib.util.find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place)
        if (folder / _TABLE_FILE).is_file() and (folder / _TOKENIZER_FILE).is_file():
            return StaticEmbedder(folder)
    return None


def _read_table(place: Path) -> NDArray[np.float16]:
    """The one tensor of a safetensors file: the length of a JSON header, the header, the numbers.

    Source: safetensors format description.
    """
    with place.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(length))[_TENSOR]
    rows, columns = entry["shape"]
    if entry["dtype"] != "F16":
        raise ValueError(f"{place.name} holds {entry['dtype']}, not F16")
    offset = 8 + length + entry["data_offsets"][0]
    return np.memmap(place, np.dtype("<f2"), "r", offset, (rows, columns))
