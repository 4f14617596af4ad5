"""What stands outside of the memory folder and is to be imported: its names, and its bytes within bounds.

A source is a folder, one file, or a zip archive. Nothing of it is changed, unpacked or followed: symbolic links, hidden
names, pipes, devices and what lies too deep are named and left. The size is looked at before a byte is read, and
counted again while reading. What a file means is the importers' business.
"""

from __future__ import annotations

import os
import shlex
import stat
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, cast

from memrepo.errors import InvalidInput, MemrepoError, NotFound, PathRefused, TooLarge
from memrepo.files.folder import Folder, describe_kind, disk_fault, disk_faults, open_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DEPTH_LIMIT = 4
NAMES_LIMIT = 20_000
"""Names that a scan looks at before it refuses: nobody's notes, but a disk or a home folder."""
ARCHIVE_DIRECTORY_LIMIT_BYTES = 4 * 1024 * 1024
"""The list of names at the end of an archive: some 40,000 names."""
_CHUNK_BYTES = 1 << 20
RATIO_LIMIT = 200
"""How many times larger than in the archive a member may be; what people write stays far below."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Something of a source that is not read; `name` is printable, `why` says what it is or which bound it passes."""

    name: str
    why: str


class Source(Protocol):
    """An open source. `sizes` holds the size in bytes of each file by its name below the source, sorted.

    `is_file`: it is one file, named by the user.
    """

    @property
    def is_file(self) -> bool: ...
    @property
    def sizes(self) -> Mapping[str, int]: ...
    @property
    def unread(self) -> Sequence[Unread]: ...

    def read(self, name: str, *, limit_bytes: int) -> bytes:
        """The bytes of a file of `sizes`, up to one past the limit.

        Errors: PathRefused when it has become something else; NotFound; InvalidInput for a damaged archive; DiskFault.
        """


@dataclass(slots=True)
class FolderSource:
    """A folder, or one file of it."""

    root: Path
    sizes: dict[str, int] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    is_file: bool = False

    def read(self, name: str, *, limit_bytes: int) -> bytes:
        *parts, last = name.split("/")
        with disk_faults("read", printable(name)), open_folder(self.root, parts) as folder:
            found = folder.read_regular(last, limit_bytes=limit_bytes) if folder is not None else None
        if found is None:
            raise NotFound(f"{printable(name)} is gone", what="file", name=printable(name))
        return found[0]


@dataclass(slots=True)
class ArchiveSource:
    """The JSON files of a zip archive; nothing of it is unpacked to the disk."""

    archive: zipfile.ZipFile
    sizes: dict[str, int]
    unread: list[Unread]
    is_file: bool = False

    def read(self, name: str, *, limit_bytes: int) -> bytes:
        with _archive_faults(name), self.archive.open(name) as member:
            chunks: list[bytes] = []
            left = limit_bytes + 1
            while left > 0 and (chunk := member.read(min(left, _CHUNK_BYTES))):
                chunks.append(chunk)
                left -= len(chunk)
            return b"".join(chunks)


@contextmanager
def open_source(path: Path, *, depth: int = DEPTH_LIMIT, names: int = NAMES_LIMIT) -> Iterator[Source]:
    """Opens what is to be imported; the last step of `path` must not be a link.

    Errors: NotFound; PathRefused for a link, a pipe, a device; TooLarge for more than `names` names; InvalidInput for a
    damaged archive; DiskFault. Changes: nothing.
    """
    with disk_faults("read", str(path)):
        try:
            path = Path(os.path.realpath(path.parent)) / path.name  # links on the way to it are the user's own
            look = path.lstat()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFound(
                f"there is nothing at {path}",
                hint="name a file or a folder: memrepo import PATH",
                what="source",
                name=str(path),
            ) from error
        except ValueError as error:  # a NUL in the name
            raise InvalidInput("the path holds a character that no path can hold", key="SOURCE") from error
    if stat.S_ISLNK(look.st_mode):
        raise PathRefused(
            f"{str(path)!r} is a symbolic link, and an import follows none",
            hint=f"name what it points to: memrepo import {shlex.quote(os.path.realpath(path))}",
            path=str(path),
            rule="symlink",
        )
    if stat.S_ISDIR(look.st_mode):
        yield _scan(path, depth=depth, names=names)
    elif not stat.S_ISREG(look.st_mode):
        raise PathRefused(
            f"{str(path)!r} is {describe_kind(look.st_mode)}, not a file or a folder",
            hint="name a file or a folder: memrepo import PATH",
            path=str(path),
            rule="not-a-file",
        )
    elif path.suffix.lower() == ".zip":
        with _open_archive(path) as source:
            yield source
    else:
        yield FolderSource(path.parent, {path.name: look.st_size}, is_file=True)


def printable(name: str) -> str:
    """A name as messages show it: what is not printable is escaped."""
    return name if name.isprintable() else repr(name)[1:-1]


def _scan(root: Path, *, depth: int, names: int) -> FolderSource:
    found = FolderSource(root)
    with disk_faults("list", str(root)), Folder.open_root(root) as folder:
        seen = _Seen(names)
        _scan_folder(folder, "", depth, found, seen)
    found.sizes = dict(sorted(found.sizes.items()))
    found.unread.sort(key=lambda unread: unread.name)
    return found


@dataclass(slots=True)
class _Seen:
    limit: int
    count: int = 0

    def add(self, number: int, place: str) -> None:
        self.count += number
        if self.count > self.limit:
            raise TooLarge(
                f"{place} holds more than {self.limit:,} names; this is no folder of notes",
                hint="name a folder further down, or a single file",
                rule="source-names",
                target=place,
                limit=self.limit,
                actual=self.count,
                unit="names",
            )


def _scan_folder(folder: Folder, prefix: str, depth: int, found: FolderSource, seen: _Seen) -> None:
    """Adds the regular files of a folder and of those in it, `depth` levels down."""
    listing = folder.list_names()
    seen.add(len(listing), str(found.root))
    for name, is_folder in listing:
        shown = printable(prefix + name)
        if name.startswith("."):
            found.unread.append(Unread(shown, "hidden"))
        elif is_folder and not depth:
            found.unread.append(Unread(f"{shown}/", "too deep"))
        else:
            try:
                _scan_name(folder, prefix, name, depth, found, seen, is_folder=is_folder)
            except OSError as error:
                why = disk_fault(error, "read", shown).message.rpartition(": ")[2]
                found.unread.append(Unread(shown, why))


def _scan_name(
    folder: Folder, prefix: str, name: str, depth: int, found: FolderSource, seen: _Seen, *, is_folder: bool
) -> None:
    if is_folder:
        child = folder.open_child(name)
        if child is not None:
            with child:
                _scan_folder(child, f"{prefix}{name}/", depth - 1, found, seen)
        return
    look = folder.find_stat(name)
    if look is not None and stat.S_ISREG(look.st_mode):
        found.sizes[prefix + name] = look.st_size
    elif look is not None:
        found.unread.append(Unread(printable(prefix + name), describe_kind(look.st_mode)))


@contextmanager
def _open_archive(path: Path) -> Iterator[ArchiveSource]:
    with disk_faults("read", str(path)), Folder.open_root(path.parent) as folder:
        opened = folder.open_regular(path.name)
    if opened is None:
        raise NotFound(f"{path} is gone", what="source", name=str(path))
    with open(opened[0], "rb") as file:
        with _archive_faults(path.name):
            archive = zipfile.ZipFile(cast("IO[bytes]", _Bounded(file)))
        with archive:
            yield _list_members(archive)


def _list_members(archive: zipfile.ZipFile) -> ArchiveSource:
    members = [info for info in archive.infolist() if _is_json(info.filename)]
    times = Counter(info.filename for info in members)
    refused = {info.filename: why for info in members if (why := _find_fault(info))}
    refused |= {name: "there twice" for name, number in times.items() if number > 1}
    sizes = {info.filename: info.file_size for info in members if info.filename not in refused}
    unread = [Unread(printable(name), why) for name, why in sorted(refused.items())]
    return ArchiveSource(archive, dict(sorted(sizes.items())), unread)


def _is_json(name: str) -> bool:
    return name.lower().endswith(".json") and not any(part.startswith(".") for part in name.split("/"))


def _find_fault(info: zipfile.ZipInfo) -> str | None:
    """Why a member is not read, or None."""
    if info.flag_bits & 0x1:
        return "encrypted"
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        return "compressed in a way that is not read"
    if info.file_size > RATIO_LIMIT * max(info.compress_size, 1):
        return f"{info.file_size:,} bytes out of {info.compress_size:,}: a decompression bomb"
    return None


class _Bounded:
    """An archive's file that does not give out more at once than a list of names may hold. Reads, seeks and tells."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > ARCHIVE_DIRECTORY_LIMIT_BYTES:
            raise InvalidInput(
                f"the archive's list of names has {size:,} bytes; at most {ARCHIVE_DIRECTORY_LIMIT_BYTES:,}",
                hint="unpack it and name the file in it: memrepo import conversations.json",
            )
        return self._file.read(ARCHIVE_DIRECTORY_LIMIT_BYTES if size < 0 else size)


@contextmanager
def _archive_faults(name: str) -> Iterator[None]:
    """Turns what the archive's reader raises on damage into InvalidInput."""
    try:
        yield
    except MemrepoError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OverflowError,
    ) as error:
        raise InvalidInput(
            f"{printable(name)} cannot be read as a zip archive: it is damaged or something else",
            hint="get the archive again, or unpack it and name the file in it",
            file=printable(name),
        ) from error
