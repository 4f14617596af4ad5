"""Whether a glob of a search reaches into a folder of git. Pure.

Search tools leave hidden folders out, and take them in again where a glob names them: what `*`, `**` or `.*` matches is
searched though it is hidden. Seen in ripgrep 13, whose globs other tools share. So a glob is judged by whether it may
match `.git` itself or what is below it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memrepo.policy.shell_places import matches
from memrepo.policy.shell_signs import DEEP, ONE, STAR

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMIT_CHARS = 1024
_GLOB_KEYS = frozenset({"glob", "globs", "include", "includes", "includepattern"})
_APART = re.compile(r"[\s,]+")
_BRACE = re.compile(r"\{([^{}]*)\}")
_CLASS = re.compile(r"\[[!^]?\]?[^\]/]*\]")
_CHOICES_LIMIT = 64


def may_open_git(glob: str) -> bool:
    """Whether a search with this glob may read below a folder `.git`. One that leaves files out (`!…`) does not."""
    if glob.startswith("!"):
        return False
    if len(glob) > _LIMIT_CHARS:
        return True
    return any(map(_matches_git, _spell_out(glob.replace("\\", "").casefold())))


def searches_git(arguments: Mapping[str, Any]) -> bool:
    """Whether a search tool is given such a glob, under one of the names that hosts have for it."""
    for name, value in arguments.items():
        if name.casefold().replace("_", "") in _GLOB_KEYS:
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str) and any(map(may_open_git, (text, *_APART.split(text)))):
                    return True
    return False


def _spell_out(glob: str) -> list[str]:
    waiting, done = [glob], []
    while waiting:
        one = waiting.pop()
        found = _BRACE.search(one)
        if found is None:
            done.append(one)
            continue
        choices = found[1].split(",")
        if len(waiting) + len(done) + len(choices) > _CHOICES_LIMIT:
            choices = ["**"]
        waiting += [one[: found.start()] + choice + one[found.end() :] for choice in choices]
    return done


def _matches_git(glob: str) -> bool:
    """Whether a part of it names `.git`, or all of it matches any name."""
    parts = [part for part in glob.strip("/").split("/") if part != "."]
    if set(parts) <= {"*", "**"}:
        return True
    return any(set(part) - set("*?") and matches(_to_pattern(part), ".git") for part in parts)


def _to_pattern(part: str) -> str:
    part = _CLASS.sub(ONE, part)
    return part.replace("**", DEEP).replace("*", STAR).replace("?", ONE)
