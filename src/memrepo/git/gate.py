"""The gate before every command in a repo: nothing of git runs on a folder that was not looked at.

Owns the places below `.git` that can change what a command does, and the memory of what was audited. A look costs a
dozen `lstat` calls; only when a place changed is the configuration read again (one git process, on no repo, so that
the file is read as data and never loaded).

What it does not hold: a program that rewrites `.git/config` between the look and the command. Whoever can time that
writes as the user already.
"""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import ConfigRefused, DiskFault, GitFailed, GitMissing, RepositoryFault
from memrepo.git.audit import Danger, Finding, audit_attributes, audit_config, parse_config_list
from memrepo.git.hardening import MINIMUM_VERSION
from memrepo.git.process import find_program, run_git

if TYPE_CHECKING:
    from pathlib import Path

FILE, FOLDER, NOTHING = "a plain file", "a plain folder", "nothing"
CONFIG, WORKTREE_CONFIG, ATTRIBUTES = "config", "config.worktree", "info/attributes"


@dataclass(frozen=True, slots=True)
class Place:
    """A path below `.git`, what may stand there, and why it matters."""

    path: str
    allowed: tuple[str, ...]
    reason: str
    source: str = "gitrepository-layout(5)"


PLACES: tuple[Place, ...] = (
    Place("", (FOLDER,), "a .git file or link puts the repo into another folder"),
    Place("HEAD", (FILE,), "a link would move the branch of another repo"),
    Place(CONFIG, (FILE,), "settings; a link would take them from elsewhere"),
    Place(WORKTREE_CONFIG, (FILE, NOTHING), "more settings", "git-worktree(1)"),
    Place("commondir", (NOTHING,), "objects, refs and settings would come from another folder"),
    Place("objects", (FOLDER,), "a link would keep history in another folder"),
    Place("objects/info/alternates", (NOTHING,), "objects of another folder cannot be forgotten"),
    Place("refs", (FOLDER,), "a link would move the branches of another repo"),
    Place("packed-refs", (FILE, NOTHING), "a link would move the branches of another repo"),
    Place("logs", (FOLDER, NOTHING), "a link would write into another folder"),
    Place("index", (FILE, NOTHING), "a link would write into another folder"),
    Place("info", (FOLDER, NOTHING), "a link would take attributes from elsewhere"),
    Place(ATTRIBUTES, (FILE, NOTHING), "attributes that win over the repo's own", "gitattributes(5)"),
    Place("info/grafts", (NOTHING,), "history would be shown other than it is", "git-replace(1)"),
)
_READ_PLACES = frozenset({CONFIG, WORKTREE_CONFIG, ATTRIBUTES})

Stamp = tuple[object, ...]


class Gate:
    """Stands before the commands of one repo. Owns the stamp of what was last found harmless."""

    __slots__ = ("_git_folder", "_passed", "_program", "_root")

    def __init__(self, root: Path) -> None:
        self._root = root
        self._git_folder = root / ".git"
        self._passed: Stamp | None = None
        self._program: str | None = None

    def check(self) -> None:
        """Returns when commands may run here. Changes: nothing.

        Errors: RepositoryFault (no repo), ConfigRefused (a setting or a place that may run a program or redirect),
        GitMissing (no git, or too old a one).
        """
        stamp = self._read_stamp()
        if stamp == self._passed:
            return
        if stamp[0] == NOTHING:
            raise RepositoryFault(
                f"{self._root} is not a git repository",
                hint="memrepo init",
                invariant="git-repository",
                path=str(self._root),
            )
        self._check_version()
        findings = self.find_faults()
        if findings:
            raise self._refuse(findings)
        self._passed = stamp

    def find_faults(self) -> tuple[tuple[Finding, str], ...]:
        """All that is refused in this repo, each with the path of its file: places first, then settings."""
        misplaced = tuple(
            (Finding(place.path or ".git", Danger.REDIRECTS, place.reason), str(self._git_folder / place.path))
            for place in PLACES
            if _name_type(self._git_folder / place.path) not in place.allowed
        )
        return misplaced or self._find_bad_settings()

    def _find_bad_settings(self) -> tuple[tuple[Finding, str], ...]:
        found: list[tuple[Finding, str]] = []
        for name in (CONFIG, WORKTREE_CONFIG):
            path = self._git_folder / name
            if path.exists():
                found += [(finding, str(path)) for finding in self._audit_config_file(path)]
        attributes = self._git_folder / ATTRIBUTES
        if attributes.exists():
            try:
                data = attributes.read_bytes()
            except OSError as error:
                raise _unreadable(attributes, error) from error
            found += [(finding, str(attributes)) for finding in audit_attributes(data)]
        return tuple(found)

    def _audit_config_file(self, path: Path) -> tuple[Finding, ...]:
        try:
            listed = run_git(
                self._root, ("config", "--file", str(path), "--no-includes", "--list", "-z"), repository=False
            )
        except GitFailed:
            return (Finding(path.name, Danger.UNREADABLE, "git cannot read this file"),)
        return audit_config(parse_config_list(listed.stdout))

    def _check_version(self) -> None:
        program = find_program(self._root)
        if program is not None and str(program) == self._program:
            return
        version = find_version(self._root)
        if version is None or version < MINIMUM_VERSION:
            wanted = ".".join(map(str, MINIMUM_VERSION))
            said = ".".join(map(str, version or ()))
            raise GitMissing(
                f"git {said or 'of an unknown version'} is too old, {wanted} is needed",
                hint=f"install git {wanted} or newer, then: memrepo doctor",
                invariant="git-version",
                version=said,
            )
        self._program = str(program)

    def _refuse(self, findings: tuple[tuple[Finding, str], ...]) -> ConfigRefused:
        finding, path = findings[0]
        more = f" ({len(findings) - 1} more)" if len(findings) > 1 else ""
        is_setting = path.endswith((CONFIG, WORKTREE_CONFIG)) and finding.danger is not Danger.UNREADABLE
        command = f"git config --file {shlex.quote(path)} --unset-all {shlex.quote(finding.key)}"
        return ConfigRefused(
            f"{path}: {finding.key} {finding.danger}: {finding.why}{more}",
            hint=command if is_setting and finding.key != CONFIG else "memrepo doctor",
            invariant="git-config",
            path=path,
            key=finding.key,
        )

    def _read_stamp(self) -> Stamp:
        """The types of all places, and for those that are read also which file it is and when it changed."""
        stamp: list[object] = []
        folder = str(self._git_folder)
        for place in PLACES:
            try:
                # Not "folder/" for the folder itself: a slash at the end would follow a link.
                found = os.lstat(f"{folder}/{place.path}" if place.path else folder)
            except OSError:
                stamp.append(NOTHING)
                continue
            if place.path in _READ_PLACES:
                stamp.append(
                    (found.st_mode, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
                )
            else:
                stamp.append(stat.S_IFMT(found.st_mode))
        return tuple(stamp)


def find_version(root: Path) -> tuple[int, ...] | None:
    """The version of the git program as numbers, or None when it names none. Errors: GitMissing."""
    words = run_git(root, ("version",), repository=False).stdout.decode("ascii", "replace").split()
    if len(words) < 3 or words[:2] != ["git", "version"]:
        return None
    numbers: list[int] = []
    for part in words[2].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers) or None


def is_repository(root: Path) -> bool:
    """True when `root` itself is the top of a git work tree: a plain `.git` folder with HEAD, objects and refs.

    Starts no process. What makes the repo unfit (its settings, a redirection) is the gate's business.
    """
    git_folder = root / ".git"
    return _name_type(git_folder) == FOLDER and all(
        _name_type(git_folder / name) == kind for name, kind in (("HEAD", FILE), ("objects", FOLDER), ("refs", FOLDER))
    )


def _name_type(path: Path) -> str:
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISREG(mode):
        return FILE
    return FOLDER if stat.S_ISDIR(mode) else "something else"


def _unreadable(path: Path, error: OSError) -> DiskFault:
    return DiskFault(
        f"{path} cannot be read: {error.strerror}", hint="memrepo doctor", invariant="git-folder", path=str(path)
    )
