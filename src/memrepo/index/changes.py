"""Which files differ from what the index holds, and their lines, read into memory.

Owns the comparison of stamps and bytes; knows no tantivy and no cache. Invariants: after `compare` and `read` with one
survey, every searchable file is either in the index with the bytes it has, or in memory; a file of the index whose
lines are no longer true is `stale`; `generation` differs whenever an answer might.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.index.freshness import FileLines, FileRecord, Notice, digest_of, read_bytes, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from memrepo.index.freshness import Stamp, Survey
    from memrepo.model import RepoPath


class Changes:
    """The state of one root against one index. Without an index every file is a change."""

    __slots__ = ("_redact", "_root", "_settled", "files", "generation", "just_read", "records", "restamped", "stale")

    def __init__(self, root: Path, *, redact: Callable[[str], str] | None) -> None:
        self._root = root
        self._redact = redact
        # For which files an equal stamp proves equal bytes.
        self._settled: dict[RepoPath, Stamp] = {}
        self.records: dict[RepoPath, FileRecord] = {}
        self.files: dict[RepoPath, FileLines] = {}
        self.restamped: dict[RepoPath, FileRecord] = {}
        # Bytes that were read since the last `compare`: true at a moment of this very look.
        self.just_read: dict[RepoPath, bytes] = {}
        self.stale: frozenset[RepoPath] = frozenset()
        self.generation = 0

    def adopt(self, records: Mapping[RepoPath, FileRecord]) -> None:
        """Takes what an index holds; what is in memory is compared with it at the next look."""
        self.records = dict(records)
        self.restamped, self.stale = {}, frozenset()
        self._settled = {path: record.stamp for path, record in records.items() if record.is_settled}
        for path in self.files:
            self._settled.pop(path, None)
        self.generation += 1

    def forget(self) -> None:
        """Lets go of all lines in memory."""
        self.files = {}
        self.adopt({})

    def compare(self, survey: Survey, looked_ns: int) -> list[RepoPath]:
        """Which files must be read as lines. Those that only look changed are read as bytes and let pass."""
        self.just_read = {}
        settled = self._settled
        unread = [
            path
            for path, stamp in survey.stamps.items()
            if settled.get(path) != stamp and not self._is_unchanged(path, stamp, looked_ns)
        ]
        for path in self.files.keys() - survey.stamps.keys():
            del self.files[path]
            self._settled.pop(path, None)
            self.generation += 1
        self._mark_stale(survey)
        return unread

    def read(self, paths: Iterable[RepoPath], survey: Survey, looked_ns: int) -> None:
        """Reads files into memory, each after its stamp was taken."""
        for path in paths:
            data, stamp = read_bytes(self._root, path), survey.stamps[path]
            if isinstance(data, Notice):
                file = FileLines(path, FileRecord(stamp, looked_ns, "", 0, 0), (), b"", (data,))
            else:
                file = read_lines(path, data, stamp, looked_ns, redact=self._redact)
                self.just_read[path] = data
            self.files[path] = file
            self._settle(path, file.record)
            self.generation += 1
        self._mark_stale(survey)

    def _is_unchanged(self, path: RepoPath, stamp: Stamp, looked_ns: int) -> bool:
        """Whether a file with another or a young stamp still has the bytes that are searched."""
        file, record = self.files.get(path), self.records.get(path)
        if file is None and record is None:
            return False
        data = read_bytes(self._root, path)
        digest = "" if isinstance(data, Notice) else digest_of(data)
        if record is not None and digest == record.digest:
            if file is not None:
                del self.files[path]
                self.generation += 1
            record = self.records[path] = record._replace(stamp=stamp, looked_ns=looked_ns)
            if record.is_settled:
                self.restamped[path] = record
        elif file is not None and digest == file.record.digest:
            record = file.record._replace(stamp=stamp, looked_ns=looked_ns)
            self.files[path] = FileLines(path, record, file.lines, file.keys, file.warnings)
        else:
            return False
        self._settle(path, record)
        return True

    def _settle(self, path: RepoPath, record: FileRecord) -> None:
        if record.is_settled:
            self._settled[path] = record.stamp
        else:
            self._settled.pop(path, None)

    def _mark_stale(self, survey: Survey) -> None:
        records = self.records.keys()
        stale = frozenset((records & self.files.keys()) | (records - survey.stamps.keys()))
        if stale != self.stale:
            self.stale = stale
            self.generation += 1
