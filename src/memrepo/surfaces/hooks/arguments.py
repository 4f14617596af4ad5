"""The command line of a hook, read without the command line's library: a hook has milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WITH_VALUE = ("--path", "--profile")


@dataclass(frozen=True, slots=True)
class HookArguments:
    """`memrepo hook HOST EVENT` and the global options that belong to it."""

    host: str = ""
    event: str = ""
    path: str | None = None
    profile: str = "default"


def find_hook_arguments(arguments: Sequence[str]) -> HookArguments | None:
    """What a command line says when its command is `hook`; None for any other, and when it asks for help."""
    words: list[str] = []
    values: dict[str, str] = {}
    waiting = iter(arguments)
    for argument in waiting:
        name, has_value, value = argument.partition("=")
        if name in _WITH_VALUE:
            values[name] = value if has_value else next(waiting, "")
        elif argument in {"-h", "--help", "--version"}:
            return None
        elif argument != "--json":
            words.append(argument)
            if words[0] != "hook":
                return None
    if not words:
        return None
    host, event = (*words[1:], "", "")[:2]
    return HookArguments(host, event, values.get("--path"), values.get("--profile", "default"))
