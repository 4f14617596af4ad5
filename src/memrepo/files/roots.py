"""Where a memory root may be: every rule has a name, a message and a hint, and they are asked in one fixed order.

What a folder is to git is answered by the caller (`is_memory_repo`), so this floor needs no git. Folders are compared
by what the file system says they are (same device and inode), so case, links and spelling cannot hide one; names that
do not exist yet are compared as text. Source: memory repo design (seed 1) §2 and §14 "Path rule".
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.errors import PathRefused
from memrepo.files.folder import describe_kind
from memrepo.model import MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memrepo.model import Workspace


@dataclass(frozen=True, slots=True)
class ProtectedRoot:
    """A folder that no memory root may be; `with_content`: nor any folder below it."""

    folder: str
    reason: str
    with_content: bool = False


_SYSTEM = "it belongs to the operating system"
_SHARED = "it is shared by everything on this machine"
PROTECTED_ROOTS = (
    ProtectedRoot("/", "it is the whole disk"),
    ProtectedRoot("/bin", _SYSTEM, with_content=True),
    ProtectedRoot("/boot", _SYSTEM, with_content=True),
    ProtectedRoot("/dev", _SYSTEM, with_content=True),
    ProtectedRoot("/etc", _SYSTEM, with_content=True),
    ProtectedRoot("/lib", _SYSTEM, with_content=True),
    ProtectedRoot("/lib32", _SYSTEM, with_content=True),
    ProtectedRoot("/lib64", _SYSTEM, with_content=True),
    ProtectedRoot("/nix/store", _SYSTEM, with_content=True),
    ProtectedRoot("/proc", _SYSTEM, with_content=True),
    ProtectedRoot("/sbin", _SYSTEM, with_content=True),
    ProtectedRoot("/sys", _SYSTEM, with_content=True),
    ProtectedRoot("/usr", _SYSTEM, with_content=True),
    ProtectedRoot("/var", _SHARED),  # not its content: temporary folders and services live there
    ProtectedRoot("/var/lib", _SHARED),
    ProtectedRoot("/var/tmp", _SHARED),  # noqa: S108 - refused, not used
    ProtectedRoot("/tmp", _SHARED),  # noqa: S108 - refused, not used
    ProtectedRoot("/run", _SHARED),
    ProtectedRoot("/opt", _SHARED),
    ProtectedRoot("/srv", _SHARED),
    ProtectedRoot("/mnt", _SHARED),
    ProtectedRoot("/media", _SHARED),
    ProtectedRoot("/home", "it holds the home folders of all users"),
    ProtectedRoot("/root", "it is a user's home folder"),
    ProtectedRoot("/Users", "it holds the home folders of all users"),
    ProtectedRoot("/System", _SYSTEM, with_content=True),
    ProtectedRoot("/Library", _SYSTEM, with_content=True),
    ProtectedRoot("/Applications", "it holds programs", with_content=True),
    ProtectedRoot("/Volumes", "it holds the disks of this machine"),
    ProtectedRoot("/private", _SYSTEM),
    ProtectedRoot("/private/etc", _SYSTEM, with_content=True),
    ProtectedRoot("/private/var", _SHARED),
    ProtectedRoot("C:\\", "it is the whole disk"),
    ProtectedRoot("C:\\Windows", _SYSTEM, with_content=True),
    ProtectedRoot("C:\\Program Files", "it holds programs", with_content=True),
    ProtectedRoot("C:\\Program Files (x86)", "it holds programs", with_content=True),
    ProtectedRoot("C:\\ProgramData", _SHARED),
    ProtectedRoot("C:\\Users", "it holds the home folders of all users"),
)
_CREDENTIALS = "programs keep keys and passwords in it"
PROTECTED_IN_HOME = (
    ProtectedRoot("", "it is your home folder"),
    ProtectedRoot(".ssh", _CREDENTIALS, with_content=True),
    ProtectedRoot(".gnupg", _CREDENTIALS, with_content=True),
    ProtectedRoot(".aws", _CREDENTIALS, with_content=True),
    ProtectedRoot(".kube", _CREDENTIALS, with_content=True),
    ProtectedRoot(".config", "programs keep their settings in it"),
    ProtectedRoot(".cache", "it may be emptied at any time", with_content=True),
    ProtectedRoot(".local", "programs keep their data in it"),
    ProtectedRoot(".local/share", "programs keep their data in it"),
    ProtectedRoot("Library", "programs keep their data in it"),
    ProtectedRoot("Library/Application Support", "programs keep their data in it"),
    ProtectedRoot("Library/Caches", "it may be emptied at any time", with_content=True),
    ProtectedRoot("AppData", "programs keep their data in it"),
    ProtectedRoot("AppData/Local", "programs keep their data in it"),
    ProtectedRoot("AppData/Roaming", "programs keep their data in it"),
)


class _Position:
    """A path and all folders above it, as spelled and as links lead, each known by name and by identity."""

    def __init__(self, path: Path) -> None:
        self.path = path
        upwards = {*_iter_upwards(path), *_iter_upwards(Path(os.path.realpath(path)))}
        self._names = {os.path.normcase(folder) for folder in upwards}
        self._identities = {_find_identity(folder) for folder in upwards} - {None}

    def is_within(self, folder: Path) -> bool:
        """Whether the path is the folder, or below it."""
        return os.path.normcase(folder) in self._names or _find_identity(folder) in self._identities

    def is_at(self, folder: Path) -> bool:
        """Whether the path is the folder."""
        if os.path.normcase(folder) == os.path.normcase(self.path):
            return True
        identity = _find_identity(folder)
        return identity is not None and identity == _find_identity(self.path)


_DROPPINGS = frozenset({".DS_Store", ".localized", ".directory", "desktop.ini", "Desktop.ini", "Thumbs.db"})
"""What file managers leave in any folder they show; a folder with only these is empty."""
_CHOOSE = "choose another folder, for example ~/CoWork Memory"


def validate_root(
    path: str | Path,
    *,
    home: Path,
    config: Path,
    data: Path,
    workspaces: Sequence[Workspace],
    is_memory_repo: Callable[[Path], bool],
    others: Sequence[Path] = (),
) -> Path:
    """Returns the folder as a path when it may be a memory root: missing, empty, or already one.

    `~` is the caller's to expand. `is_memory_repo` says whether git takes a folder for the top level of a repository;
    it is asked only about a folder with a `MEMORY.md` and a `.git/HEAD`. A `.git` folder without HEAD beside a
    `MEMORY.md` is a memory repo that was made while git was missing. `others` are roots in use (team repos) that must
    not overlap.
    Errors: PathRefused; rules in their order: `empty`, `control-character`, `not-absolute`, `parent`, `symlink`,
    `git-folder`, `protected-root`, `inside-workspace`, `overlaps-root`, `unreadable`, `not-a-folder`, `git-link`,
    `no-repository`, `not-a-memory-repo`, `not-empty`. Changes: nothing.
    """
    place = _check_spelling(str(path))
    position, home_position = _Position(place), _Position(home)
    try:
        _refuse_links(place, home_position)
        _refuse_protected(position, home_position, (config, data))
        for workspace in workspaces:
            _refuse_workspace(position, home_position, workspace)
        for other in others:
            if position.is_within(other) or _Position(other).is_within(place):
                raise _refuse(place, "overlaps-root", f"it overlaps the memory folder {other}", _CHOOSE)
        _refuse_content(place, is_memory_repo)
    except OSError as error:
        raise _refuse(
            place, "unreadable", f"it cannot be read ({error.strerror})", "give yourself access to it, or " + _CHOOSE
        ) from error
    return place


def _refuse(place: Path | str, rule: str, why: str, hint: str) -> PathRefused:
    return PathRefused(f"{str(place)!r} cannot be the memory folder: {why}", hint=hint, path=str(place), rule=rule)


def _check_spelling(raw: str) -> Path:
    if not raw.strip():
        raise _refuse(raw, "empty", "the path is empty", _CHOOSE)
    if not raw.isprintable():
        raise _refuse(raw, "control-character", "the path holds a control or invisible character", _CHOOSE)
    place = Path(raw)
    if not place.is_absolute():
        raise _refuse(
            raw, "not-absolute", "the path is not absolute", f"give the whole path, such as {Path.cwd() / raw}"
        )
    if ".." in place.parts:
        raise _refuse(raw, "parent", "the path holds ..", f"give the path it means: {os.path.normpath(raw)}")
    return place


def _refuse_links(place: Path, home: _Position) -> None:
    """No link at the folder, nor above it inside home. Links above home (`/home` on another disk) are the system's."""
    for folder in _iter_upwards(place):
        if folder != place and (home.is_within(folder) or not _Position(folder).is_within(home.path)):
            return
        if folder.is_symlink():
            raise _refuse(
                place,
                "symlink",
                "it is a symbolic link" if folder == place else f"{str(folder)!r} above it is a symbolic link",
                f"give the path it leads to: {os.path.realpath(place)}",
            )


def _refuse_protected(position: _Position, home: _Position, own: Sequence[Path]) -> None:
    place = position.path
    if any(part.rstrip(" .").lower() == ".git" for part in place.parts):
        raise _refuse(place, "git-folder", "it is inside a .git folder, which belongs to git", _CHOOSE)
    # The rows of another system are no absolute paths here.
    rows = [(Path(row.folder), row) for row in PROTECTED_ROOTS if Path(row.folder).is_absolute()]
    rows += [(home.path / row.folder, row) for row in PROTECTED_IN_HOME]
    for folder, row in rows:
        # A system folder that holds the home folder (/usr/home, /var/home) does not take what is in the home folder.
        with_content = row.with_content and not (home.is_within(folder) and position.is_within(home.path))
        if position.is_at(folder) or (with_content and position.is_within(folder)):
            raise _refuse(place, "protected-root", row.reason, _CHOOSE)
    for folder in own:
        if _Position(folder).is_within(place):
            raise _refuse(place, "protected-root", f"memrepo keeps its own files in it ({folder})", _CHOOSE)


def _refuse_workspace(position: _Position, home: _Position, workspace: Workspace) -> None:
    root = workspace.root
    if root is None or home.is_within(root):  # the home folder, or above it: no project
        return
    if position.is_within(root):
        why = f"it is inside the workspace {workspace.name!r} ({root}), where agents may write"
        raise _refuse(position.path, "inside-workspace", why, _CHOOSE)


def _refuse_content(place: Path, is_memory_repo: Callable[[Path], bool]) -> None:
    nearest = next(folder for folder in _iter_upwards(place) if os.path.lexists(folder))
    if not nearest.is_dir():
        what = "it" if nearest == place else repr(str(nearest))
        raise _refuse(place, "not-a-folder", f"{what} is {describe_kind(nearest.stat().st_mode)}", _CHOOSE)
    if nearest != place:
        return
    with os.scandir(place) as listing:
        names = {entry.name for entry in listing} - _DROPPINGS
    if not names:
        return
    has_memory = MEMORY_FILE in names and stat.S_ISREG((place / MEMORY_FILE).lstat().st_mode)
    if ".git" in names:
        _refuse_repository(place, is_memory_repo, has_memory=has_memory)
    elif has_memory:
        raise _refuse(
            place,
            "no-repository",
            f"it has a {MEMORY_FILE} but is not a git repository",
            f'to use it as it is, make it one: git init "{place}"; then run the command again',
        )
    else:
        raise _refuse(place, "not-empty", f"it holds other files and no {MEMORY_FILE}", f"empty it, or {_CHOOSE}")


def _refuse_repository(place: Path, is_memory_repo: Callable[[Path], bool], *, has_memory: bool) -> None:
    git_folder = place / ".git"
    mode = git_folder.lstat().st_mode
    if not stat.S_ISDIR(mode):
        raise _refuse(
            place,
            "git-link",
            f"its .git is {describe_kind(mode)}: a worktree or submodule of another repository",
            "use a repository of its own (git clone), or " + _CHOOSE,
        )
    if not has_memory:
        raise _refuse(
            place,
            "not-a-memory-repo",
            f"it is a git repository without a {MEMORY_FILE}",
            f'{_CHOOSE}; or, if it is meant for memory, create "{place / MEMORY_FILE}"',
        )
    if os.path.lexists(git_folder / "HEAD") and not is_memory_repo(place):
        raise _refuse(
            place,
            "not-a-memory-repo",
            "git does not take it for the top level of a repository",
            f'see what is wrong with it: git -C "{place}" status; or {_CHOOSE}',
        )


def _iter_upwards(place: Path) -> Iterator[Path]:
    yield place
    yield from place.parents


def _find_identity(folder: Path) -> tuple[int, int] | None:
    """What the file system knows a folder by; None when it is not there, or not to be looked at."""
    try:
        look = os.stat(folder)  # noqa: PTH116 - half the time of Path.stat, for some sixty folders
    except (OSError, ValueError):
        return None
    return look.st_dev, look.st_ino
