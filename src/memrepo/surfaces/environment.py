"""What the process was started with: the only reader of environment variables above `git/process`.

Variables: `MEMREPO_HOME` (puts config, data and cache under one folder), `NO_COLOR` (any value that is not empty:
no colour, https://no-color.org), `TERM`, `COLUMNS`; for `memrepo install` those of the hosts; for a dream the one that
the settings name. Everything is read once and handed on as a value.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

HOME_VARIABLE = "MEMREPO_HOME"
_HOST_VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "VIRTUAL_ENV")
_WIDEST_COLUMNS = 120
_USUAL_COLUMNS = 80


@dataclass(frozen=True, slots=True)
class Environment:
    """The surroundings of one process. `width` is the columns of the terminal, None when the output is no terminal."""

    home: Path
    memrepo_home: Path | None
    has_color: bool
    width: int | None
    can_ask: bool


def read_environment() -> Environment:
    """Reads the surroundings once. Errors: InvalidInput for a MEMREPO_HOME that is not absolute."""
    variables = os.environ
    is_terminal = _is_terminal(sys.stdout)
    return Environment(
        home=_find_home(),
        memrepo_home=_read_memrepo_home(variables),
        has_color=is_terminal and not variables.get("NO_COLOR") and variables.get("TERM", "") not in {"", "dumb"},
        width=min(_WIDEST_COLUMNS, _find_columns(variables)) if is_terminal else None,
        can_ask=_is_terminal(sys.stdin) and _is_terminal(sys.stderr),
    )


def read_host_variables() -> dict[str, str]:
    """The variables by which agent hosts find their settings, and the one of an active virtual environment."""
    return {name: os.environ[name] for name in _HOST_VARIABLES if name in os.environ}


def find_variable(name: str) -> str | None:
    """The value of a variable that the settings name: a model's key, which goes into its requests and nowhere else."""
    return os.environ.get(name) or None


def find_current_folder() -> Path:
    """The folder that relative paths start from. Errors: InvalidInput when it was removed."""
    try:
        return Path.cwd()
    except OSError as error:
        raise InvalidInput("the current folder is gone", hint="change to a folder that exists: cd") from error


def _read_memrepo_home(variables: Mapping[str, str]) -> Path | None:
    raw = variables.get(HOME_VARIABLE, "")
    if not raw:
        return None
    place = Path(raw).expanduser()
    if not place.is_absolute():
        raise InvalidInput(
            f"{HOME_VARIABLE} is not an absolute path: {raw!r}",
            hint=f"set it to a whole path, for example: {HOME_VARIABLE}=/home/me/.memrepo",
            key=HOME_VARIABLE,
        )
    return place


def _find_home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise InvalidInput("your home folder is not known", hint="set HOME to a whole path", key="HOME") from error


def _find_columns(variables: Mapping[str, str]) -> int:
    """As `shutil.get_terminal_size`, without the archive modules that `shutil` loads."""
    columns = variables.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()
