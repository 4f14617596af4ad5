"""What an install is made of: entries in files of the host, and files of memrepo's own. Frozen values, no disk."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

SERVER_NAME = "memrepo"
"""What the MCP server is called in every host."""

_HOOK_COMMAND = re.compile(r"(?:^|[\s/])memrepo['\"]?\s(?:.*\s)?hook\s+[a-z-]+\s+[a-z-]+")


class InstallScope(StrEnum):
    """Whose sessions get memrepo: all of this user, or those in one project folder."""

    USER = "user"
    PROJECT = "project"


class Event(StrEnum):
    """The moments that `memrepo hook` knows, under one name for every host."""

    SESSION_START = "session-start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before-tool"
    AFTER_TOOL = "after-tool"
    SUB_AGENT_START = "sub-agent-start"
    SUB_AGENT_STOP = "sub-agent-stop"
    SESSION_END = "session-end"


@dataclass(frozen=True, slots=True)
class Program:
    """How a host starts memrepo: `argv`, global `options` behind each command, and variables to set."""

    argv: tuple[str, ...] = ("memrepo",)
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def make_hook_command(self, host: str, event: Event) -> str:
        """The shell command of one hook."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment]
        return " ".join([*variables, shlex.join([*self.argv, "hook", host, str(event), *self.options])])

    def make_server(self) -> dict[str, Any]:
        """The MCP server as most hosts write it: `command`, `args`, and `env` where it is needed."""
        server: dict[str, Any] = {"command": self.argv[0], "args": [*self.argv[1:], "mcp", *self.options]}
        return server | ({"env": dict(self.environment)} if self.environment else {})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where an install takes place. `folder` is the project's; `variables` are those that hosts look at."""

    home: Path
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    platform: str = "linux"

    def find_folder(self, variable: str, usual: Path) -> Path:
        """The folder that a variable of the host names, else the usual one."""
        from pathlib import Path

        named = self.variables.get(variable, "")
        return Path(named) if named.startswith("/") else usual


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A settings file of the host; of several `candidates` the first that is there, else the first."""

    candidates: tuple[Path, ...]
    is_toml: bool = False

    def find(self, present: Mapping[Path, bytes | None]) -> Path:
        """The one that is meant, given what is there."""
        return next((path for path in self.candidates if present.get(path) is not None), self.candidates[0])


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """The MCP server's entry. Of several `containers` that may hold it the first that is there counts, or the last."""

    file: ConfigFile
    containers: tuple[tuple[str, ...], ...]
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HookEntries:
    """The hooks of one settings file: for each event of the host one element of its list.

    `defaults` are keys at the top that the file needs and that stay when they are there.
    """

    file: ConfigFile
    elements: tuple[tuple[str, Mapping[str, Any]], ...]
    defaults: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is memrepo's as a whole. A text with `mark` in it is an older one of memrepo's."""

    path: Path
    data: bytes
    mark: bytes = b"memrepo"


@dataclass(frozen=True, slots=True)
class Host:
    """One agent host. `events` maps ours to the host's own names; `limits` is what this host cannot enforce.

    `is_app` says that it is started from a desktop, where the PATH may be another than that of a shell.
    """

    name: str
    title: str
    events: tuple[tuple[Event, str], ...]
    limits: tuple[str, ...]
    next_steps: tuple[str, ...]
    make_pieces: Callable[[Surroundings, InstallScope, Program], tuple[Piece, ...]]
    is_app: bool = False


Piece = ServerEntry | HookEntries | OwnFile


def is_our_server(value: object) -> bool:
    """Whether an MCP entry starts memrepo."""
    if not isinstance(value, dict):
        return False
    command, arguments = value.get("command"), value.get("args", [])
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    texts = [word for word in words if isinstance(word, str)]
    return "mcp" in texts and any(word.rpartition("/")[2] == "memrepo" for word in texts)


def is_our_handler(value: object) -> bool:
    """Whether a hook of a host runs `memrepo hook`."""
    if not isinstance(value, dict):
        return False
    texts = [value.get(key) for key in ("command", "bash")]
    return any(isinstance(text, str) and _HOOK_COMMAND.search(text) is not None for text in texts)
