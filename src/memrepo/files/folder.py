"""One open folder, and every call that changes what is in it.

A `Folder` is reached step by step from a root that is opened without following a link, each step on the descriptor of
the last, so that nothing on the way can be swapped for a link in between. It knows names, bytes and modes; it does not
know digests, Markdown or locks. All other modules change the memory folder through it: a test that makes the calls of
this module's `os` fail has made every write fail. Where the platform cannot open by descriptor (Windows) it works on
checked paths instead.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from memrepo.errors import DiskFault, PathRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TEMPORARY_NAME = re.compile(r"\.memrepo-[0-9a-f]{16}\.tmp")
NEW_FILE_MODE = 0o600  # memory is personal
NEW_FOLDER_MODE = 0o700

_BY_DESCRIPTOR = {os.open, os.stat, os.mkdir, os.unlink, os.rename, os.link} <= os.supports_dir_fd
_COMMON_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _COMMON_FLAGS
# Without O_NONBLOCK a pipe that takes a file's place between the look and the open would hang us.
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _COMMON_FLAGS
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON_FLAGS
_APPEND_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | _COMMON_FLAGS
_CHUNK_BYTES = 1 << 20

# What a file system without hard links answers (FAT, exFAT, some network and phone storage).
NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})

_FAULTS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("no space left on the disk", "free some space, then run the command again"),
    errno.EDQUOT: ("your disk quota is used up", "free some space, then run the command again"),
    errno.EROFS: ("the disk is mounted read-only", "mount it for writing, then run the command again"),
    errno.EACCES: ("no permission", "give yourself access (chmod -R u+rwX FOLDER), then run the command again"),
    errno.EPERM: ("not permitted", "give yourself access (chmod -R u+rwX FOLDER), then run the command again"),
    errno.EIO: ("input/output error; the disk may be failing", "copy the memory folder to another disk"),
    errno.ENOENT: ("it is not there", "memrepo doctor"),
    errno.EMFILE: ("this process has too many open files", "close some programs, then run the command again"),
    errno.ENFILE: ("the system has too many open files", "close some programs, then run the command again"),
    errno.EFBIG: ("the system's limit for the size of a file is reached", "raise it (ulimit -f), then run it again"),
    errno.ENAMETOOLONG: ("the name is too long here", "use a shorter path"),
}
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISREG, "a regular file"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True)
class Temporary:
    """A whole file under a random name, not yet under its own. Times in nanoseconds."""

    name: str
    mtime_ns: int


def describe_kind(mode: int) -> str:
    """What an `st_mode` is, in words."""
    return next((words for test, words in _KINDS if test(mode)), "something unknown")


def refuse_kind(path: str, mode: int, *, want: str) -> PathRefused:
    """The refusal for something in the way that is not `want` ("folder" or "regular file")."""
    kind = describe_kind(mode)
    rule = "symlink" if stat.S_ISLNK(mode) else "not-a-folder" if want == "folder" else "not-a-file"
    return PathRefused(
        f"{path!r} is {kind}, not a {want}",
        hint=f"put a real {want} in its place, or remove it",
        path=path,
        rule=rule,
    )


def disk_fault(error: OSError, act: str, path: str) -> DiskFault:
    """The refusal of the file system as our error; `act` is a verb ("write"), `path` what it was about."""
    number = error.errno or 0
    name = errno.errorcode.get(number, "unknown")
    why, hint = _FAULTS.get(number, (os.strerror(number) if number else str(error), "memrepo doctor"))
    return DiskFault(f"cannot {act} {path}: {why} ({name})", hint=hint, invariant="disk", path=path, errno_name=name)


@contextmanager
def disk_faults(act: str, path: str) -> Iterator[None]:
    """Turns every OSError inside into DiskFault."""
    try:
        yield
    except OSError as error:
        raise disk_fault(error, act, path) from error


def random_name() -> str:
    """A name that `TEMPORARY_NAME` matches and nobody can guess."""
    return f".memrepo-{os.urandom(8).hex()}.tmp"


class Folder:
    """One open directory. Names given to it are single names, already checked. Use in `with`; errors are OSError.

    `shown` is how messages name the folder: its path from the root, or the root itself.
    """

    __slots__ = ("_descriptor", "_is_root", "path", "shown")

    def __init__(self, path: Path, shown: str, descriptor: int | None, *, is_root: bool) -> None:
        self.path = path
        self.shown = shown
        self._descriptor = descriptor
        self._is_root = is_root

    @classmethod
    def open_root(cls, path: Path) -> Folder:
        """Opens a folder that must be there. Errors: OSError; PathRefused when it is a link or no folder."""
        return cls(path, str(path), _open_folder(str(path), None, str(path)), is_root=True)

    def open_child(self, name: str, *, create: bool = False) -> Folder | None:
        """Opens a folder in this one; None when it is absent and not to be created."""
        shown = self.show(name)
        try:
            descriptor = _open_folder(self._at(name), self._descriptor, shown)
        except FileNotFoundError:
            if not create:
                return None
            with suppress(FileExistsError):  # another program was faster: its folder will do
                os.mkdir(self._at(name), NEW_FOLDER_MODE, dir_fd=self._descriptor)
            self.sync()
            descriptor = _open_folder(self._at(name), self._descriptor, shown)
        return Folder(self.path / name, shown, descriptor, is_root=False)

    def close(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, name: str) -> str:
        """How messages name something in this folder."""
        return name if self._is_root else f"{self.shown}/{name}"

    def find_stat(self, name: str) -> os.stat_result | None:
        """Looks at a name without following it; None when it is absent."""
        try:
            return os.stat(self._at(name), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read_regular(self, name: str, *, limit_bytes: int) -> tuple[bytes, os.stat_result] | None:
        """Reads a regular file up to one byte past the limit; None when it is absent.

        The stat is taken before the first byte, so that a change during the read shows as a later time than it says.
        Errors: PathRefused for anything that is not a regular file, without opening it.
        """
        opened = self.open_regular(name)
        if opened is None:
            return None
        descriptor, look = opened
        try:
            return _read_up_to(descriptor, limit_bytes + 1), look
        finally:
            os.close(descriptor)

    def open_regular(self, name: str) -> tuple[int, os.stat_result] | None:
        """Opens a regular file to read; returns a descriptor that the caller closes, or None when it is absent.

        Errors: OSError; PathRefused for anything that is not a regular file, without opening it.
        """
        look = self.find_stat(name)
        if look is None:
            return None
        if not stat.S_ISREG(look.st_mode):
            raise refuse_kind(self.show(name), look.st_mode, want="regular file")
        try:
            descriptor = os.open(self._at(name), _READ_FLAGS, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        try:
            look = os.fstat(descriptor)
            if not stat.S_ISREG(look.st_mode):
                raise refuse_kind(self.show(name), look.st_mode, want="regular file")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor, look

    @contextmanager
    def temporary(self, data: bytes, *, mode: int = NEW_FILE_MODE, durable: bool = True) -> Iterator[Temporary]:
        """Holds the data in a whole file under a random name; what is still under that name at the end is removed."""
        name = random_name()
        try:
            yield Temporary(name, self.create(name, data, mode=mode, durable=durable))
        finally:
            # Mostly gone already: it was renamed. What cannot be removed now, recovery removes.
            with suppress(OSError):
                os.unlink(self._at(name), dir_fd=self._descriptor)

    def create(self, name: str, data: bytes, *, mode: int = NEW_FILE_MODE, durable: bool = True) -> int:
        """Writes a file that must be absent; returns its `mtime_ns`. Errors: FileExistsError and other OSError."""
        descriptor = os.open(self._at(name), _CREATE_FLAGS, mode & 0o777, dir_fd=self._descriptor)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if mode != NEW_FILE_MODE and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode & 0o777)  # a kept mode holds whatever the umask
            if durable:
                os.fsync(descriptor)
            return os.fstat(descriptor).st_mtime_ns
        finally:
            os.close(descriptor)

    def append(self, name: str, data: bytes, *, durable: bool = False) -> None:
        """Adds bytes at the end of a file in one write; makes the file when it is absent.

        When the name meanwhile became another file's, they are added to that one too. Errors: OSError; PathRefused for
        a link and for anything that is not a regular file.
        """
        while True:
            look = self.find_stat(name)
            if look is not None and not stat.S_ISREG(look.st_mode):
                raise refuse_kind(self.show(name), look.st_mode, want="regular file")
            descriptor = os.open(self._at(name), _APPEND_FLAGS, NEW_FILE_MODE, dir_fd=self._descriptor)
            try:
                if os.write(descriptor, data) != len(data):  # only a disk that is full takes a part
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if durable:
                    os.fsync(descriptor)
                written = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            look = self.find_stat(name)
            if look is not None and (look.st_dev, look.st_ino) == (written.st_dev, written.st_ino):
                return

    def link(self, source: str, target: str) -> bool:
        """Gives a file a second name; False when that name is taken. Never overwrites."""
        folder = self._descriptor
        try:
            os.link(self._at(source), self._at(target), src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            return False
        return True

    def rename(self, source: str, target: str) -> None:
        """Gives a file another name; whatever had that name is replaced in one step."""
        os.replace(self._at(source), self._at(target), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def unlink(self, name: str) -> None:
        """Removes a file. Errors: FileNotFoundError and other OSError."""
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def sync(self) -> None:
        """Makes the names of the folder durable, where the platform can."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def open_shared(self, name: str) -> int:
        """Opens a file to lock it, creating it empty; returns a descriptor that the caller closes."""
        flags = os.O_RDWR | os.O_CREAT | _COMMON_FLAGS
        return os.open(self._at(name), flags, NEW_FILE_MODE, dir_fd=self._descriptor)

    def list_names(self) -> list[tuple[str, bool]]:
        """The names in the folder, each with whether it is a real folder."""
        with os.scandir(self.path if self._descriptor is None else self._descriptor) as listing:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)


@contextmanager
def open_folder(root: Path, parts: Sequence[str], *, create: bool = False) -> Iterator[Folder | None]:
    """Walks from the root down to a folder, each step from the one before; None when one is absent.

    Errors: PathRefused (`symlink`, `not-a-folder`), OSError. Changes: missing folders are made when `create` is set.
    """
    folder: Folder | None = Folder.open_root(root)
    try:
        for part in parts:
            assert folder is not None  # noqa: S101 - the loop ends when it is
            above = folder
            folder = above.open_child(part, create=create)
            above.close()
            if folder is None:
                break
        yield folder
    finally:
        if folder is not None:
            folder.close()


def _open_folder(name: str, above: int | None, shown: str) -> int | None:
    """Opens a directory that is no link; None, after the same checks, where folders cannot be opened."""
    if not _BY_DESCRIPTOR:
        _require_folder(os.lstat(name), shown)
        return None
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=above)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
            _require_folder(os.stat(name, dir_fd=above, follow_symlinks=False), shown)
        raise


def _require_folder(look: os.stat_result, shown: str) -> None:
    if not stat.S_ISDIR(look.st_mode):
        raise refuse_kind(shown, look.st_mode, want="folder")


def _read_up_to(descriptor: int, count: int) -> bytes:
    chunks: list[bytes] = []
    while count > 0 and (chunk := os.read(descriptor, min(count, _CHUNK_BYTES))):
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)
