"""Finding and removing remembered texts wherever a table holds one: what the proof of forgetting rests on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import sqlalchemy as sa

from memrepo.format.entries import content_hash
from memrepo.store.records import TextFinding, iter_record_texts
from memrepo.store.schema import TEXT_TABLES, archive, memory_items, pending
from memrepo.store.tombstones import Grave, bury

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FILE = "file"
_STEM_CHARS = 3
_FEW = 20
_BATCH = 500


class TextIndex:
    """Many texts, to be looked for in many others. The time for one does not grow with the number of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        numbered = [(number, text) for number, text in enumerate(texts) if text]
        by_stem = len(numbered) > _FEW
        self._plain = [(number, text) for number, text in numbered if not by_stem or len(text) < _STEM_CHARS]
        self._by_stem: dict[str, list[tuple[int, str]]] = {}
        for number, text in numbered if by_stem else ():
            if len(text) >= _STEM_CHARS:
                self._by_stem.setdefault(text[:_STEM_CHARS], []).append((number, text))

    def find(self, held: str) -> set[int]:
        """The numbers of the texts that `held` contains."""
        found = {number for number, text in self._plain if text in held}
        if self._by_stem:
            for start in range(len(held) - _STEM_CHARS + 1):
                for number, text in self._by_stem.get(held[start : start + _STEM_CHARS], ()):
                    if held.startswith(text, start):
                        found.add(number)
        return found


def find_texts(connection: sa.Connection, texts: Sequence[str]) -> tuple[TextFinding, ...]:
    """Which texts the tables hold, ordered by number."""
    index = TextIndex(texts)
    found = {TextFinding(number, table) for table, held in _iter_held(connection) for number in index.find(held)}
    return tuple(sorted(found, key=lambda finding: (finding.needle, finding.table)))


def search_bytes(image: bytes, texts: Sequence[str]) -> tuple[TextFinding, ...]:
    """Which texts stand in the bytes of a database, as UTF-8 or as JSON writes them."""
    return tuple(
        TextFinding(number, _FILE)
        for number, text in enumerate(texts)
        if text and any(form in image for form in (text.encode("utf-8", "surrogatepass"), _json_form(text)))
    )


def delete_texts(connection: sa.Connection, texts: Sequence[str], *, now_ms: int) -> int:
    """Removes the rows whose fact is one of the texts; returns how many. Private facts among them stay forgotten."""
    hashes = sorted({content_hash(text) for text in texts if text.strip()})
    removed = 0
    for start in range(0, len(hashes), _BATCH):
        for table in TEXT_TABLES:
            wanted = table.c.content_hash.in_(hashes[start : start + _BATCH])
            if table is memory_items:
                places = sa.select(table.c.scope, table.c.scope_ref, table.c.content_hash).where(wanted)
                bury(connection, [Grave(*row) for row in connection.execute(places).all()], now_ms=now_ms)
            removed += connection.execute(sa.delete(table).where(wanted)).rowcount
    return removed


def _iter_held(connection: sa.Connection) -> Iterator[tuple[str, str]]:
    """All texts of memory: the table, and what one row holds. Streams."""
    item = (memory_items.c.content, memory_items.c.subject_key, memory_items.c.source_ref)
    for content, subject, source_ref in connection.execute(sa.select(*item)):
        yield memory_items.name, "\n".join((content, subject or "", _read_source(source_ref)))
    record_of = (archive.c.content, archive.c.subject_key, archive.c.source_ref)
    for content, subject, source_ref in connection.execute(sa.select(*record_of)):
        yield archive.name, "\n".join((content, subject or "", _read_source(source_ref)))
    for (record,) in connection.execute(sa.select(pending.c.record)):
        yield pending.name, "\n".join(iter_record_texts(record))


def _read_source(source_ref: str | None) -> str:
    return str(json.loads(source_ref).get("source") or "") if source_ref else ""


def _json_form(text: str) -> bytes:
    return json.dumps(text)[1:-1].encode()
