"""Sandbox profiles that hide the memory from shell commands, each in the words of the sandbox that enforces it.

What is hidden: the memory root, team repos, and what holds their texts outside of them (data folder, cache, private
store). The settings
stay readable and cannot be changed: a command that could would say where memory is. Nothing is started here. All
functions but `find_true_path` are pure; a path that a profile cannot say is refused, and never a lesser one guarded.

Source: memory repo design (seed 1) §6.4, §7.4.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.errors import PathRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memrepo.model import Locations

SANDBOX_EXEC = "/usr/bin/sandbox-exec"
BUBBLEWRAP = "bwrap"
CODEX_PROFILE = "memrepo"

# What would end a line of a profile, or stand in it unseen; lone surrogates are bytes that are no UTF-8.
_UNSAYABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_GLOB = re.compile(r"[*?\[\]\\]")
_SPECIAL_IN_RULE = re.compile(r"[^\w/ .,@%+=~:'-]")


@dataclass(frozen=True, slots=True)
class GuardedFolders:
    """What a command must not reach: `hidden` folders, and `read_only` ones. All absolute, without links.

    `pinned` are the folders above them, outermost first: one that could be renamed would take a folder to a name that
    the next sandbox does not know.
    """

    hidden: tuple[Path, ...]
    read_only: tuple[Path, ...]
    pinned: tuple[Path, ...]

    def is_hidden(self, place: Path) -> bool:
        """Whether a place is in a hidden folder."""
        return any(place.is_relative_to(folder) for folder in self.hidden)


def plan_guard(
    root: Path, locations: Locations, *, store_file: Path | None, home: Path, teams: Sequence[Path] = ()
) -> GuardedFolders:
    """Decides what is hidden for one memory root and the team repos read beside it; every path given is a true one
    (`find_true_path`).

    Errors: PathRefused for a folder that holds the home folder, and for a name that no profile can say.
    """
    wanted = [root, *teams, locations.data, locations.cache]
    if store_file is not None:
        wanted.append(store_file.parent)  # beside the database its log appears, with the same texts
    for folder in (*wanted, locations.config):
        _check_folder(folder, home)
    hidden = _drop_nested(wanted)
    read_only = tuple(folder for folder in (locations.config,) if not _is_in(folder, hidden))
    above = {parent for folder in (*hidden, *read_only) for parent in _iter_movable(folder, home)}
    pinned = tuple(sorted((folder for folder in above if not _is_in(folder, hidden)), key=lambda place: place.parts))
    return GuardedFolders(hidden, read_only, pinned)


def make_seatbelt_profile(folders: GuardedFolders) -> str:
    """The profile for macOS: everything is allowed but these folders. The last rule that matches counts."""
    lines = ["(version 1)", "(allow default)", "(deny file-read* file-write*"]
    lines += [f"    (subpath {_quote_scheme(folder)})" for folder in folders.hidden]
    lines[-1] += ")"
    for folder in folders.read_only:
        lines += [f"(deny file-write* (subpath {_quote_scheme(folder)}))"]
    for folder in folders.pinned:
        lines += [f"(deny file-write-unlink (literal {_quote_scheme(folder)}))"]
    return "\n".join(lines) + "\n"


def make_seatbelt_command(folders: GuardedFolders, command: Sequence[str]) -> tuple[str, ...]:
    """The argument list that runs a command under the profile."""
    return (SANDBOX_EXEC, "-p", make_seatbelt_profile(folders), "--", *command)


def make_bubblewrap_arguments(folders: GuardedFolders, *, has_terminal: bool) -> tuple[str, ...]:
    """The options of `bwrap`: the whole machine as it is, with an empty folder over each hidden one.

    Own user and process namespaces: without them a command could reach the folders through `/proc/<pid>/root` of a
    process outside, and one that root started could take the covers off. `has_terminal` keeps the session, and with it
    Ctrl-C and job control; otherwise a session of its own keeps the command from typing into the terminal.
    """
    options = ["--unshare-user", "--unshare-pid", "--die-with-parent", "--cap-drop", "ALL"]
    if not has_terminal:
        options.append("--new-session")
    options += ["--dev-bind", "/", "/", "--proc", "/proc"]
    for folder in folders.pinned:  # a mount point cannot be renamed
        options += ["--dev-bind-try", str(folder), str(folder)]
    for folder in folders.read_only:
        options += ["--ro-bind-try", str(folder), str(folder)]
    for folder in folders.hidden:
        options += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    return tuple(options)


def make_bubblewrap_command(
    program: str, folders: GuardedFolders, command: Sequence[str], *, has_terminal: bool
) -> tuple[str, ...]:
    """The argument list that runs a command in the sandbox."""
    return (program, *make_bubblewrap_arguments(folders, has_terminal=has_terminal), "--", *command)


def make_claude_code_settings(folders: GuardedFolders) -> dict[str, object]:
    """What goes into Claude Code's `settings.json`: rules for its file tools, and its sandbox for shell commands.

    In a rule `//` starts an absolute path and `Edit` stands for every tool that writes; a sandbox path is absolute as
    it is. Read in December 2026: https://code.claude.com/docs/en/permissions, https://code.claude.com/docs/en/sandboxing.
    Errors: PathRefused for a path that would be read as a pattern.
    """
    hidden = [_check_literal(folder, "Claude Code") for folder in folders.hidden]
    read_only = [_check_literal(folder, "Claude Code") for folder in folders.read_only]
    rules = [f"{tool}({_make_rule_path(path)})" for path in hidden for tool in ("Read", "Edit")]
    rules += [f"Edit({_make_rule_path(path)})" for path in read_only]
    filesystem = {"denyRead": hidden, "denyWrite": [*hidden, *read_only]}
    return {
        "permissions": {"deny": rules},
        "sandbox": {"enabled": True, "failIfUnavailable": True, "filesystem": filesystem},
    }


def make_codex_profile(folders: GuardedFolders) -> str:
    """What goes into Codex's `config.toml`: a permission profile of its own. Elsewhere it writes the workspace only.

    Read in December 2026: https://developers.openai.com/codex/permissions.
    Errors: PathRefused for a path that would be read as a pattern.
    """
    lines = [
        f'default_permissions = "{CODEX_PROFILE}"',
        "",
        f"[permissions.{CODEX_PROFILE}]",
        'extends = ":workspace"',
        "",
        f"[permissions.{CODEX_PROFILE}.filesystem]",
    ]
    # A JSON string without control characters is a TOML basic string too.
    for access, guarded in (("deny", folders.hidden), ("read", folders.read_only)):
        paths = [_check_literal(folder, "Codex") for folder in guarded]
        lines += [f'{json.dumps(path, ensure_ascii=False)} = "{access}"' for path in paths]
    return "\n".join(lines) + "\n"


def find_true_path(path: Path) -> Path:
    """The path as the kernel knows it, all links followed. Changes: nothing.

    On macOS a name's case and composition may differ from what is on the disk, and sandbox rules compare exactly.
    """
    real = Path(os.path.realpath(path))
    if sys.platform == "darwin":
        import fcntl

        missing: list[str] = []
        place = real
        while not place.exists():
            missing.append(place.name)
            place = place.parent
        with_case = os.open(place, os.O_RDONLY)
        try:
            told = fcntl.fcntl(with_case, fcntl.F_GETPATH, bytes(1024))
        finally:
            os.close(with_case)
        return Path(os.fsdecode(told.rstrip(b"\0")), *reversed(missing))
    return real


def _check_folder(folder: Path, home: Path) -> None:
    if home.is_relative_to(folder):
        raise PathRefused(
            f"{folder} holds your home folder; a sandbox that hides it would hide everything",
            hint="see where things are: memrepo settings list",
            path=str(folder),
            rule="guard-holds-home",
        )
    if _UNSAYABLE.search(str(folder)):
        raise PathRefused(
            "the name of a folder has a character that a sandbox profile cannot hold",
            hint="rename it: letters, digits, spaces and most signs will do",
            path=str(folder),
            rule="guard-name",
        )


def _check_literal(folder: Path, host: str) -> str:
    if _GLOB.search(str(folder)):
        raise PathRefused(
            f"{host} would read {folder} as a pattern, and so guard another folder than this",
            hint="rename it without * ? [ ] and \\, or use: memrepo guard run",
            path=str(folder),
            rule="guard-pattern",
        )
    return str(folder)


def _make_rule_path(path: str) -> str:
    """A path in a permission rule. What a rule could read in another way is `?`: any one letter, so never less."""
    return f"/{_SPECIAL_IN_RULE.sub('?', path)}/**"


def _quote_scheme(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _is_in(folder: Path, others: Iterable[Path]) -> bool:
    return any(folder.is_relative_to(other) for other in others)


def _drop_nested(folders: Sequence[Path]) -> tuple[Path, ...]:
    unique = list(dict.fromkeys(folders))
    return tuple(one for one in unique if not _is_in(one, [other for other in unique if other != one]))


def _iter_movable(folder: Path, home: Path) -> Iterator[Path]:
    """The folders above one that its owner may rename: those in the home folder, elsewhere all but `/`."""
    for parent in folder.parents:
        if home.is_relative_to(parent):
            return
        yield parent
