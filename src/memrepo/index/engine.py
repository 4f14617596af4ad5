"""The derived index on disk: tantivy, and the only module that imports it.

Owns one folder in the cache and everything in it. Knows lines and records, never the files they came from. Invariants:
what a reader sees is one whole commit; a segment is read only after its checksum was proven, and again after any of
its files changed; whatever is wrong with the folder is an `IndexUnusable`, never a wrong answer. Terms are given to
tantivy ready-made, one space between, and asked for as terms: no text of a user is ever parsed as a query.

One commit holds, per file, one record document (what the file held) and one keys document (names of its lines for the
vector cache), and one document per line. So what the index says about a file and its lines always belong together.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import struct
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memrepo.index.freshness import FileRecord
from memrepo.index.ranking import Line
from memrepo.index.tokens import fingerprint
from memrepo.model import RepoPath

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import tantivy

    from memrepo.index.freshness import FileLines

SCHEMA_VERSION = 1
"""Raise with every change of the fields or of what a document holds."""

_HEAP_BYTES = 64_000_000
_SMALL_HEAP_BYTES = 15_000_000
_FOOTER_MAGIC = 1337
_CHUNK_BYTES = 1 << 20
_LOADS = 5
_SPLIT = "\x1f"
_FILES_LIMIT = 1_000_000
_LINES_LIMIT = 10_000_000
_DISK_REFUSAL = re.compile(r"\(os error (\d+)\)")
_CANNOT_WRITE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})

_WORDS, _EXTRAS, _FILE, _PLACE, _SORT, _BODY = "words", "extras", "file", "place", "sort", "body"
_LINE_SORT, _RECORD_SORT, _KEYS_SORT = "line", "record", "keys"


class IndexUnusable(Exception):
    """The index cannot be used now; `code` says why (`missing`, `no-engine`, `damaged`, `denied`, `busy`)."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


def engine_name() -> str:
    """Names everything that the form of the index depends on: a folder of another name is another version.

    Errors: IndexUnusable (`no-engine`).
    """
    parts = (SCHEMA_VERSION, fingerprint(), _load_tantivy().__version__)
    return f"lines-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


class Engine:
    """An open index folder. Open it with `open_engine`; one object serves one process and is not shared by threads."""

    __slots__ = ("_counts", "_folder", "_index", "_proven", "_schema", "_searcher", "_seen", "has_deletions", "records")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._proven: dict[str, object] = {}
        self._index: tantivy.Index | None = None
        self._searcher: tantivy.Searcher | None = None
        self._counts: dict[str, int] = {}
        self._schema = _schema()
        self._load()

    def refresh(self) -> bool:
        """Takes in what others committed; True when anything changed. Errors: IndexUnusable."""
        if self._look() == self._seen:
            return False
        self._index = None
        self._load()
        return True

    def close(self) -> None:
        """Lets go of the mapped files."""
        self._index = self._searcher = None
        self._counts = {}

    def count(self, term: str) -> int:
        """How many lines hold the term."""
        found = self._counts.get(term)
        if found is None:
            field = _field_of(term)
            with _faults():
                if self.has_deletions:  # tantivy's own count includes what was deleted
                    result: Any = self._open_searcher().search(self._term(field, term), limit=1, count=True)
                    found = int(result.count)  # its stub has no `count`
                else:
                    found = self._open_searcher().doc_freq(field, term)
            self._counts[term] = found
        return found

    def expand(self, prefix: str, limit: int) -> Sequence[tuple[str, int]]:
        """Terms with the prefix and about how many lines hold them, most frequent first."""
        with _faults():
            return self._open_searcher().terms_with_prefix(_field_of(prefix), prefix, limit=limit)

    def find(self, boosts: Mapping[str, float], limit: int, stale: Collection[str]) -> list[tuple[float, Line]]:
        """The best lines that hold any of the terms, with tantivy's score for them."""
        import tantivy

        searcher = self._open_searcher()
        wanted = [
            (tantivy.Occur.Should, tantivy.Query.boost_query(self._term(_field_of(term), term), boost))
            for term, boost in boosts.items()
        ]
        query = self._without(tantivy.Query.boolean_query(wanted), stale)
        with _faults():
            hits = searcher.search(query, limit=limit, count=False).hits
            return [(score, _line_of(_body(searcher, address))) for score, address in hits]

    def iter_lines(self, paths: Collection[str]) -> Iterator[Line]:
        """The lines of some files."""
        import tantivy

        if not paths:
            return
        of_files = tantivy.Query.term_set_query(self._schema, _FILE, sorted(paths))
        both = [of_files, self._term(_SORT, _LINE_SORT)]
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in both])
        with _faults():
            searcher = self._open_searcher()
            for _, address in searcher.search(query, limit=_LINES_LIMIT, count=False).hits:
                yield _line_of(_body(searcher, address))

    def find_line(self, path: str, number: int) -> Line | None:
        """The line of that file and number, or None."""
        place = self._term(_PLACE, _place(path, number))
        with _faults():
            hits = self._open_searcher().search(place, limit=1, count=False).hits
            return _line_of(_body(self._open_searcher(), hits[0][1])) if hits else None

    def load_keys(self) -> dict[RepoPath, tuple[tuple[int, ...], bytes]]:
        """For each file the numbers of its lines and their vector keys, 16 bytes each."""
        keys: dict[RepoPath, tuple[tuple[int, ...], bytes]] = {}
        with _faults():
            for body in self._bodies(_KEYS_SORT):
                path, _, rest = body.partition(_SPLIT.encode())
                count = len(rest) // 20
                keys[RepoPath(path.decode())] = (struct.unpack(f"<{count}I", rest[: 4 * count]), rest[4 * count :])
        return keys

    def apply(
        self,
        gone: Iterable[str],
        files: Iterable[FileLines],
        *,
        restamped: Mapping[RepoPath, FileRecord],
        is_small: bool,
    ) -> None:
        """Replaces what the index holds of some files, in one commit. Only under the index lock.

        `restamped` files keep their lines and get another record.

        Errors: IndexUnusable; then nothing was committed. Changes: the folder.
        """
        with _faults():
            heap = _SMALL_HEAP_BYTES if is_small else _HEAP_BYTES
            writer = self._open_index().writer(heap_size=heap, num_threads=1)
        try:
            with _faults():
                for path in gone:
                    writer.delete_documents_by_term(_FILE, path)
                for path, record in restamped.items():
                    writer.delete_documents_by_query(self._record_query(path))
                    writer.add_document(_document(path, _RECORD_SORT, _body_of_record(path, record)))
            for file in files:  # reading them may raise errors of its own
                with _faults():
                    writer.delete_documents_by_term(_FILE, file.path)
                    for document in _documents(file):
                        writer.add_document(document)
            with _faults():
                writer.commit()
        except BaseException:
            writer.rollback()
            raise
        finally:
            writer.wait_merging_threads()
        self.refresh()

    def _load(self) -> None:
        """Opens the newest commit. Errors: IndexUnusable."""
        for _ in range(_LOADS):
            # The look comes first: a commit that lands in between is seen at the next refresh.
            before = self._look_at_commit()
            try:
                self._read_commit()
            except IndexUnusable:
                # A writer may have replaced files between two of our steps; then there is another commit to read.
                if self._look_at_commit() == before:
                    raise
            else:
                self._seen = (before, *self._proven.values())
                return
        raise IndexUnusable("busy", "another process writes the index over and over")

    def _read_commit(self) -> None:
        """Proves the files of a commit and reads its records. Errors: IndexUnusable."""
        with _faults():
            self._prove()
            index = self._open_index()
            index.reload()
            searcher = self._searcher = index.searcher()
            self._counts = {}
            self.records = dict(_record_of(body) for body in self._bodies(_RECORD_SORT))
            lines = sum(record.line_count for record in self.records.values())
            is_whole = searcher.num_docs == lines + 2 * len(self.records)
            held = searcher.doc_freq(_SORT, _LINE_SORT)
        if not is_whole:
            raise IndexUnusable("damaged", "the index does not hold the lines that it says it holds")
        self.has_deletions = held != lines

    def _prove(self) -> None:
        """Compares each file of each segment with the checksum in its footer; files that were proven count as such."""
        meta = json.loads((self._folder / "meta.json").read_bytes())
        wanted: set[str] = set()
        for segment in meta["segments"]:
            stem = segment["segment_id"].replace("-", "")
            wanted |= {f"{stem}.{part}" for part in ("term", "idx", "pos", "fieldnorm", "fast", "store")}
            if segment["deletes"]:
                wanted.add(f"{stem}.{segment['deletes']['opstamp']}.del")
        proven: dict[str, object] = {}
        for name in wanted:
            place = self._folder / name
            stamp = _stamp(place)
            if stamp is None or self._proven.get(name) != stamp:
                _prove_file(place)
            proven[name] = stamp
        self._proven = proven

    def _look(self) -> tuple[object, ...]:
        """What the folder looks like from outside: the commit, and every file that was proven."""
        return (self._look_at_commit(), *(_stamp(self._folder / name) for name in self._proven))

    def _look_at_commit(self) -> object:
        return _stamp(self._folder / "meta.json")

    def _open_index(self) -> tantivy.Index:
        if self._index is None:
            import tantivy

            index = tantivy.Index(self._schema, path=str(self._folder))
            index.register_tokenizer("spaces", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
            index.config_reader("manual")
            self._index = index
        return self._index

    def _open_searcher(self) -> tantivy.Searcher:
        if self._searcher is None:
            raise IndexUnusable("missing", "the index was closed")
        return self._searcher

    def _bodies(self, sort: str) -> Iterator[bytes]:
        searcher = self._open_searcher()
        hits = (
            searcher.search(self._term(_SORT, sort), limit=_FILES_LIMIT, count=False).hits if searcher.num_docs else ()
        )
        for _, address in hits:
            yield _body(searcher, address)

    def _term(self, field: str, term: str) -> tantivy.Query:
        import tantivy

        return tantivy.Query.term_query(self._schema, field, term, "freq" if field == _WORDS else "basic")

    def _record_query(self, path: str) -> tantivy.Query:
        import tantivy

        both = [self._term(_FILE, path), self._term(_SORT, _RECORD_SORT)]
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in both])

    def _without(self, query: tantivy.Query, stale: Collection[str]) -> tantivy.Query:
        if not stale:
            return query
        import tantivy

        left_out = tantivy.Query.term_set_query(self._schema, _FILE, sorted(stale))
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.MustNot, left_out)])


def open_engine(folder: Path, *, create: bool = False) -> Engine:
    """Opens the index in a folder. Errors: IndexUnusable. Changes: nothing, unless `create` makes an empty index."""
    _load_tantivy()
    if not (folder / "meta.json").exists():
        if not create:
            raise IndexUnusable("missing", "there is no index yet")
        with _faults():
            import tantivy

            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            tantivy.Index(_schema(), path=str(folder))
    return Engine(folder)


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field(_WORDS, tokenizer_name="spaces", index_option="freq")
    builder.add_text_field(_EXTRAS, tokenizer_name="spaces", index_option="basic")
    for field in (_FILE, _PLACE, _SORT):
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field(_BODY, stored=True)
    return builder.build()


def _load_tantivy() -> Any:
    try:
        import tantivy
    except ImportError as error:
        raise IndexUnusable("no-engine", "the package tantivy cannot be imported") from error
    return tantivy


@contextmanager
def _faults() -> Iterator[None]:
    """Turns whatever tantivy and the disk raise into IndexUnusable."""
    try:
        yield
    except IndexUnusable:
        raise
    except PermissionError as error:
        raise IndexUnusable("denied", f"no permission in the cache folder: {error.strerror}") from error
    except FileNotFoundError as error:
        raise IndexUnusable("damaged", "a file of the index is missing") from error
    except OSError as error:
        code = "denied" if error.errno in _CANNOT_WRITE else "damaged"
        raise IndexUnusable(code, f"the cache folder cannot be used: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, struct.error) as error:
        # tantivy passes the refusals of the disk on as words.
        refusal = _DISK_REFUSAL.search(str(error))
        if refusal and int(refusal[1]) in _CANNOT_WRITE:
            raise IndexUnusable("denied", f"the cache folder: {os.strerror(int(refusal[1]))}") from error
        raise IndexUnusable("damaged", f"the index cannot be read: {type(error).__name__}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a fault inside tantivy becomes; it has no public name
            raise
        raise IndexUnusable("damaged", "the index cannot be read") from error


def _body(searcher: tantivy.Searcher, address: tantivy.DocAddress) -> bytes:
    body: bytes = searcher.doc(address).get_first(_BODY)  # type: ignore[assignment]
    return body


def _documents(file: FileLines) -> Iterator[tantivy.Document]:
    """All documents of one file; each carries its path, so that one deletion takes them all."""
    yield _document(file.path, _RECORD_SORT, _body_of_record(file.path, file.record))
    numbers = struct.pack(f"<{len(file.lines)}I", *(line.number for line in file.lines))
    yield _document(file.path, _KEYS_SORT, f"{file.path}{_SPLIT}".encode() + numbers + file.keys)
    for line in file.lines:
        document = _document(file.path, _LINE_SORT, _body_of_line(line))
        document.add_text(_WORDS, line.words)
        document.add_text(_EXTRAS, line.extras)
        document.add_text(_PLACE, _place(line.path, line.number))
        yield document


def _document(path: str, sort: str, body: bytes) -> tantivy.Document:
    import tantivy

    document = tantivy.Document()
    document.add_text(_FILE, path)
    document.add_text(_SORT, sort)
    document.add_bytes(_BODY, body)
    return document


def _field_of(term: str) -> str:
    return _EXTRAS if term[0] in "#=" else _WORDS


def _place(path: str, number: int) -> str:
    return f"{path}{_SPLIT}{number}"


def _body_of_line(line: Line) -> bytes:
    section = line.section.replace(_SPLIT, " ")
    return _SPLIT.join((line.path, str(line.number), line.source, section, line.words, line.extras)).encode()


def _line_of(body: bytes) -> Line:
    path, number, source, section, words, extras = body.decode().split(_SPLIT)
    return Line(path, int(number), source, section, words, extras)


def _body_of_record(path: str, record: FileRecord) -> bytes:
    return json.dumps([path, *record]).encode()


def _record_of(body: bytes) -> tuple[RepoPath, FileRecord]:
    path, stamp, looked_ns, digest, line_count, word_count = json.loads(body)
    return RepoPath(path), FileRecord(tuple(stamp), looked_ns, digest, line_count, word_count)


def _stamp(place: Path) -> object:
    try:
        look = os.lstat(place)
    except OSError:
        return None
    return look.st_mtime_ns, look.st_ctime_ns, look.st_size, look.st_ino


def _prove_file(place: Path) -> None:
    """Compares a file of tantivy with the CRC-32 in its footer: body, JSON, length of the JSON, magic number."""
    with place.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 8, 0))
        length, magic = struct.unpack("<II", file.read(8))
        body_bytes = size - 8 - length
        if magic != _FOOTER_MAGIC or body_bytes < 0:
            raise IndexUnusable("damaged", f"{place.name} has no checksum")
        file.seek(body_bytes)
        expected = json.loads(file.read(length))["crc"]
        file.seek(0)
        checksum = 0
        while body_bytes > 0:
            chunk = file.read(min(body_bytes, _CHUNK_BYTES))
            if not chunk:
                raise IndexUnusable("damaged", f"{place.name} became shorter")
            checksum = zlib.crc32(chunk, checksum)
            body_bytes -= len(chunk)
    if checksum != expected:
        raise IndexUnusable("damaged", f"{place.name} does not have its checksum")
