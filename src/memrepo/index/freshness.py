"""What the Markdown files say right now, at the price of one `lstat` per file and folder.

Owns which files are searched, how a change is noticed and how a file becomes lines. Knows no index and no ranking;
writes nothing. Invariants: a file whose bytes may have changed since they were read never counts as unchanged; what
cannot be read is passed over with a warning that names it; nothing but regular files is opened, and no link followed.

A change shows in the stamp: modification and change time, size, file number. Two changes within one tick of the
file system's clock may share a stamp, so a stamp is *settled* only when it was already old as the bytes were read;
a file with an unsettled stamp is read again. Limit: a file system whose clock runs behind ours by more than that may
hide a change that keeps the size and falls in the tick of the reading; hits are checked against the bytes all the same.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memrepo.errors import MemrepoError, PathRefused
from memrepo.files.atomic import READ_LIMIT_BYTES, read_file
from memrepo.files.paths import SCAN_LIMIT_NAMES, check_repo_path
from memrepo.format.document import WORKSPACE_ENTRY, Document
from memrepo.index.ranking import Line, pad
from memrepo.index.tokens import analyze
from memrepo.index.vocabulary import MONTHS
from memrepo.model import SWARMS_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.model import Entry, RepoPath

SETTLED_AFTER_NS = 2_000_000_000
"""Longer than the tick of any file system (FAT: two seconds)."""
SEARCH_LIMIT_BYTES = READ_LIMIT_BYTES
"""A larger file is no memory: it is passed over with a warning, unopened."""
UNSEARCHED_FOLDERS = frozenset({SWARMS_FOLDER})
"""Folders of the root that personal recall does not see: only a swarm's members read its notes."""

Redactor = Callable[[str], str]
"""Replaces the secrets in a text."""

Stamp = tuple[int, int, int, int]
"""Modification time and change time in ns, size in bytes, inode."""


class Notice(NamedTuple):
    """Something that could not be searched, or a search that had to be done another way. `code` is stable."""

    code: str
    where: str
    message: str


class Survey(NamedTuple):
    """The searchable files with their stamps, and what was passed over."""

    stamps: dict[RepoPath, Stamp]
    warnings: tuple[Notice, ...]


class FileRecord(NamedTuple):
    """What is known of one file: its stamp, when it was looked at, and what its bytes held."""

    stamp: Stamp
    looked_ns: int
    digest: str
    line_count: int
    word_count: int

    @property
    def is_settled(self) -> bool:
        """Whether an equal stamp proves equal bytes."""
        return self.looked_ns - max(self.stamp[0], self.stamp[1]) >= SETTLED_AFTER_NS


@dataclass(frozen=True, slots=True)
class FileLines:
    """One file as lines. `keys` name the text of each line for the vector cache, 16 bytes each, in the same order."""

    path: RepoPath
    record: FileRecord
    lines: tuple[Line, ...]
    keys: bytes
    warnings: tuple[Notice, ...] = ()


class Surveyor:
    """Looks at one root again and again; lists folders anew only when one of them changed."""

    __slots__ = ("_clock", "_files", "_folders", "_listed_ns", "_most_bytes", "_root", "_skipped", "_warnings")

    def __init__(
        self,
        root: Path,
        *,
        clock: Callable[[], int] = time.time_ns,
        skipped_folders: frozenset[str] = UNSEARCHED_FOLDERS,
        most_bytes: int | None = None,
    ) -> None:
        """`most_bytes`: how much of a root that others fill is searched; files beyond it, by name, are passed over."""
        self._root = str(root)
        self._clock = clock
        self._skipped = skipped_folders
        self._most_bytes = most_bytes
        self._folders: dict[str, tuple[int, int, int]] = {}
        self._files: list[tuple[RepoPath, str]] = []
        self._warnings: list[Notice] = []
        self._listed_ns = 0

    def survey(self) -> Survey:
        """Looks at every file. Changes: nothing."""
        if not self._is_listing_current():
            self._list()
        stamps: dict[RepoPath, Stamp] = {}
        warnings = list(self._warnings)
        lstat, is_regular = os.lstat, stat.S_ISREG
        room = sys.maxsize if self._most_bytes is None else self._most_bytes
        for path, place in self._files:
            try:
                look = lstat(place)
            except OSError as error:
                self._listed_ns = 0
                if not isinstance(error, FileNotFoundError):
                    warnings.append(_unreadable(path, error))
                continue
            if not is_regular(look.st_mode):
                self._listed_ns = 0
                warnings.append(_not_a_file(path, look.st_mode))
            elif look.st_size > SEARCH_LIMIT_BYTES:
                warnings.append(_too_large(path, look.st_size))
            elif look.st_size > room:
                message = f"more than {self._most_bytes:,} bytes together: {path} and what follows was not searched"
                warnings.append(Notice("too-many-bytes", str(path), message))
                break
            else:
                room -= look.st_size
                stamps[path] = (look.st_mtime_ns, look.st_ctime_ns, look.st_size, look.st_ino)
        return Survey(stamps, tuple(warnings))

    def _is_listing_current(self) -> bool:
        if not self._listed_ns:
            return False
        for place, before in self._folders.items():
            stamp = _folder_stamp(place)
            if stamp is None or stamp != before or self._listed_ns - max(stamp[0], stamp[1]) < SETTLED_AFTER_NS:
                return False
        return True

    def _list(self) -> None:
        """Walks all folders. A folder's stamp is taken before its names, so that a change in between shows."""
        self._listed_ns = self._clock()
        self._folders, self._files, self._warnings = {}, [], []
        waiting = [""]
        seen = 0
        while waiting:
            prefix = waiting.pop()
            place = os.path.join(self._root, prefix) if prefix else self._root  # noqa: PTH118 - one of thousands
            stamp = _folder_stamp(place)
            if stamp is None:
                continue
            self._folders[place] = stamp
            try:
                with os.scandir(place) as listing:
                    entries = list(listing)
            except OSError as error:
                self._warnings.append(_unreadable(prefix or ".", error))
                continue
            seen += len(entries)
            if seen > SCAN_LIMIT_NAMES:
                message = f"more than {SCAN_LIMIT_NAMES:,} names: what lies further was not searched"
                self._warnings.append(Notice("too-many-files", prefix or ".", message))
                break
            if prefix and any(entry.name.lower() == ".git" for entry in entries):
                message = f"{prefix} is a git repository of its own and was not searched"
                self._warnings.append(Notice("nested-repository", prefix.rstrip("/"), message))
                continue
            for entry in entries:
                self._take(entry, prefix, waiting)
        self._files.sort()
        self._warnings.sort()

    def _take(self, entry: os.DirEntry[str], prefix: str, waiting: list[str]) -> None:
        if entry.name.startswith(".") or (not prefix and entry.name in self._skipped):
            return
        is_folder = entry.is_dir(follow_symlinks=False)
        is_markdown = entry.name[-3:].lower() == ".md"
        if not is_folder and not is_markdown:
            if entry.is_symlink():
                self._warnings.append(_not_a_file(prefix + entry.name, stat.S_IFLNK))
            return
        name = _composed_name(entry)
        try:
            path = check_repo_path(prefix + name)
        except PathRefused as refused:
            where = ascii(prefix + name)[1:-1]
            self._warnings.append(Notice("odd-name", where, f"{where} was not searched: {refused.facts['rule']}"))
            return
        if is_folder:
            waiting.append(f"{path}/")
        elif entry.is_file(follow_symlinks=False):
            self._files.append((path, os.path.join(self._root, path)))  # noqa: PTH118 - one of thousands
        else:
            self._warnings.append(_not_a_file(path, entry.stat(follow_symlinks=False).st_mode))


def read_bytes(root: Path, path: RepoPath) -> bytes | Notice:
    """The bytes of one file, or why it cannot be read. b"" when it is gone. Changes: nothing."""
    try:
        return read_file(root, path, limit_bytes=SEARCH_LIMIT_BYTES).data or b""
    except MemrepoError as error:
        return Notice("unreadable", path, f"{path} was not searched: {error.message}")


def digest_of(data: bytes) -> str:
    """Names the bytes of a file: 128 bits of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:32]


def read_lines(path: RepoPath, data: bytes, stamp: Stamp, looked_ns: int, *, redact: Redactor | None) -> FileLines:
    """The searchable lines of a file that was read after the stamp was taken.

    Secrets are replaced before terms are made: what recall would not show cannot be searched for either. Bytes that
    are not UTF-8 become U+FFFD, with a warning.
    """
    digest = digest_of(data)
    warnings: tuple[Notice, ...] = ()
    if not _is_utf8(data):
        message = f"{path} holds bytes that are not UTF-8; they are searched as U+FFFD"
        warnings = (Notice("not-utf-8", path, message),)
        data = data.decode("utf-8", "replace").encode()
    lines: list[Line] = []
    keys: list[bytes] = []
    sections: dict[str, str] = {}
    word_count = 0
    for entry in Document.parse(data).entries:
        if entry.text == WORKSPACE_ENTRY and entry.value("workspace"):
            continue  # structure: it tells which workspace the file is for
        text = redact(entry.text) if redact else entry.text
        section = sections.get(entry.section)
        if section is None:
            section = sections[entry.section] = redact(entry.section) if redact else entry.section
        words, extras = analyze(_searchable_text(entry, text, section, redact))
        word_count += len(words)
        lines.append(Line(path, entry.line, digest, section, pad(words), pad(extras)))
        keys.append(vector_key(_meaning_text(entry, text, redact)))
    record = FileRecord(stamp, looked_ns, digest, len(lines), word_count)
    return FileLines(path, record, tuple(lines), b"".join(keys), warnings)


def read_meanings(data: bytes, *, redact: Redactor | None) -> Iterator[tuple[bytes, str]]:
    """Vector key and text of each entry in the bytes of a file, as `read_lines` keys them."""
    if not _is_utf8(data):
        data = data.decode("utf-8", "replace").encode()
    for entry in Document.parse(data).entries:
        text = _meaning_text(entry, redact(entry.text) if redact else entry.text, redact)
        yield vector_key(text), text


def _searchable_text(entry: Entry, text: str, section: str, redact: Redactor | None) -> str:
    """What an entry is found by: its text, its subject, the heading above it and the day it was added."""
    return "\n".join((text, _subject(entry, redact), section, entry.value("added") or ""))


def _meaning_text(entry: Entry, text: str, redact: Redactor | None) -> str:
    """What is given to an embedding model for an entry: its text and subject, and the day in words."""
    return " ".join(part for part in (text, _subject(entry, redact), _spoken_day(entry.value("added") or "")) if part)


def _subject(entry: Entry, redact: Redactor | None) -> str:
    subject = entry.value("subject")
    return redact(subject) if subject and redact else subject or ""


def vector_key(text: str) -> bytes:
    """Names a text for the vector cache."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _spoken_day(day: str) -> str:
    parts = day.split("-")
    if len(parts) == 3 and all(part.isdecimal() for part in parts) and 1 <= int(parts[1]) <= 12:
        return f"{int(parts[2])} {MONTHS[int(parts[1]) - 1].title()} {parts[0]}"
    return day


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _folder_stamp(place: str) -> tuple[int, int, int] | None:
    try:
        look = os.lstat(place)
    except OSError:
        return None
    return (look.st_mtime_ns, look.st_ctime_ns, look.st_ino) if stat.S_ISDIR(look.st_mode) else None


def _composed_name(entry: os.DirEntry[str]) -> str:
    """The NFC form of a name where the file system takes both forms for one file (HFS+ lists them decomposed)."""
    if entry.name.isascii():
        return entry.name
    composed = unicodedata.normalize("NFC", entry.name)
    if composed == entry.name:
        return composed
    try:
        is_same = os.lstat(entry.path[: -len(entry.name)] + composed).st_ino == entry.inode()
    except (OSError, ValueError):
        return entry.name
    return composed if is_same else entry.name


def _unreadable(where: str, error: OSError) -> Notice:
    why = os.strerror(error.errno) if error.errno else "unknown"
    return Notice("unreadable", where.rstrip("/"), f"{where.rstrip('/')} was not searched: {why}")


def _not_a_file(where: str, mode: int) -> Notice:
    code = "symlink" if stat.S_ISLNK(mode) else "not-a-file"
    kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
    return Notice(code, where, f"{where} was not searched: it is {kind}")


def _too_large(where: str, size_bytes: int) -> Notice:
    limit = SEARCH_LIMIT_BYTES // (1024 * 1024)
    return Notice("too-large", where, f"{where} was not searched: {size_bytes:,} bytes, the limit is {limit} MiB")
