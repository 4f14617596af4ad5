"""Whether an agent's shell command runs memrepo's own command line to do what is the user's to do. Pure.

The command line acts for the user: what it writes is the user's word, and it answers what agents ask. So in the shell
of an agent with hooks it may only read, where the task may read memory, and `remember` as the agent that it is.

Limits: as of `shell_commands`; a program under another name that calls memrepo is not seen.
Source: memory repo design (seed 1) §6.4, §7.3.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.policy.shell_braces import spell_out
from memrepo.policy.shell_budget import TooMuchWork, WorkBudget
from memrepo.policy.shell_programs import INTERPRETERS
from memrepo.policy.shell_scan import NotUnderstood
from memrepo.policy.shell_words import read_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

THE_USERS = "that command of memrepo is the user's: say what they could run, and why"
OFF = "memory is off for this task, so memrepo's command line does not read it"

READING = frozenset({"ls", "show", "recall", "context", "read", "grep", "commitments", "log", "diff", "stats"})
"""Commands that show what memory says."""
HARMLESS = frozenset({"doctor", "index", "eval", "guard", "status"})
"""Commands that neither show memory nor decide about it."""
DECIDING = frozenset(
    {
        *("init", "forget", "edit", "pin", "move", "undo", "clear", "purge-task", "compact", "import", "export"),
        *("retire", "restore", "install", "uninstall", "mcp", "hook", "hub", "swarm", "schedule"),
    }
)
"""Commands that change memory, or who may, as the user."""
LISTING = {
    "inbox": frozenset({"keep", "pin", "discard"}),
    "approvals": frozenset({"grant", "deny"}),
    "dream": frozenset({"now", "accept", "reject", "undo"}),
    "settings": frozenset({"set", "unset"}),
    "team": frozenset({"add", "remove"}),
    "sync": frozenset({"set", "unset", "now", "resume"}),
}
"""Groups that list by themselves, and which of their commands decide."""

_PROGRAM = "memrepo"
_WITH_VALUE = frozenset({"--path", "--profile"})
_QUOTING = str.maketrans(dict.fromkeys("'\"\\", "") | dict.fromkeys("[],", " "))
_CUT = re.compile(r"[;&|\n(){}`<>]")
_DEPTH_LIMIT = 6


def find_own_command(command: str, *, is_readable: bool) -> str | None:
    """Why a shell command with memrepo's own command line in it is denied; None when it may run.

    `is_readable`: the task's memory layer is on.
    """
    if _PROGRAM not in command.replace("\\\n", "").translate(_QUOTING).casefold():
        return None
    try:
        calls = list(_iter_calls(command, WorkBudget()))
    except TooMuchWork:
        calls = list(_iter_text_calls(command))
    whys = [_judge(arguments) for arguments in calls]
    if THE_USERS in whys:
        return THE_USERS
    return OFF if OFF in whys and not is_readable else None


def _iter_calls(command: str, budget: WorkBudget, depth: int = 0) -> Iterator[Sequence[str]]:
    """The arguments of each call of memrepo."""
    try:
        if depth > _DEPTH_LIMIT:
            raise NotUnderstood("too deep")
        commands = read_commands(command, variables={}, budget=budget)
    except (NotUnderstood, IndexError, ValueError):
        yield from _iter_text_calls(command)
        return
    runs_text = False
    for one in commands:
        words = [spelled for word in one.words for spelled in spell_out(word, budget)]
        names = [_name(word) for word in words]
        runs_text = runs_text or any(name in INTERPRETERS or name.startswith("python") for name in names)
        at = next((at for at, word in enumerate(words) if not _is_assignment(word)), 0)
        if words and names[at] == _PROGRAM:
            yield words[at + 1 :]
        for nested in one.nested:
            yield from _iter_calls(nested, budget, depth + 1)
    if runs_text:  # it may be called from anywhere in what is run
        for one in commands:
            yield from _iter_text_calls(" ".join(one.words))
            for text in one.bodies:
                yield from _iter_text_calls(text)


def _iter_text_calls(text: str) -> Iterator[Sequence[str]]:
    for piece in _CUT.split(text.translate(_QUOTING)):
        words = piece.split()
        for at, word in enumerate(words):
            if _name(word) == _PROGRAM:
                yield words[at + 1 :]


def _judge(arguments: Sequence[str]) -> str | None:
    words: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument in _WITH_VALUE:
            next(waiting, "")
        elif not argument.startswith("-"):
            words.append(argument)
    name, below = (*words, "", "")[:2]
    if name == "commitments" and any(argument.startswith("--done") for argument in arguments):
        return THE_USERS
    if name in DECIDING or below in LISTING.get(name, ()):
        return THE_USERS
    if name == "remember":
        return None if _is_the_agents(arguments) else THE_USERS
    return OFF if name in READING or name in LISTING else None


def _is_the_agents(arguments: Sequence[str]) -> bool:
    """Whether a `remember` says that an agent writes, and claims nothing about what that agent has read."""
    said = " ".join(arguments).replace("--by=", "--by ").replace("--taint=", "--taint ")
    return "--by agent" in said and "--taint clean" not in said and "--by user" not in said


def _name(word: str) -> str:
    return word.rpartition("/")[2].casefold()


def _is_assignment(word: str) -> bool:
    name, is_there, _ = word.partition("=")
    return bool(is_there) and name.isidentifier()
