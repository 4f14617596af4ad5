"""The rules of hooks that need nothing but values. Pure."""

from __future__ import annotations

import contextlib
import posixpath
from typing import TYPE_CHECKING

from memrepo.policy.access import Operation
from memrepo.policy.tool_calls import ToolVerb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import PurePath

    from memrepo.policy.access import AccessDecision
    from memrepo.policy.tool_calls import ToolCall

MISSING = (
    "memrepo: the user has no long-term memory here yet. The first fact written with memory_remember makes its folder."
)
SEARCH_ABOVE = "memory is off for this task, and the memory folder is in the folder that is searched"
GIT_SEARCHED = "that glob reaches into the git folder of the memory folder, which is closed (leave the glob out)"
CLOSED = "the settings, sessions, private store and swarm notes of memrepo are closed to tools"
TOO_LARGE = "a call of more than 16 MB is not looked at, so it is not made"
UNDECIDED = "what this call touches could not be checked, and it names the memory folder"

_OPERATIONS = {
    ToolVerb.READ: Operation.READ,
    ToolVerb.LIST: Operation.LIST,
    ToolVerb.SEARCH: Operation.SEARCH,
    ToolVerb.WRITE: Operation.WRITE,
    ToolVerb.DELETE: Operation.DELETE,
    ToolVerb.RENAME: Operation.RENAME,
}
# What hosts send in place of a prompt when nobody typed: the words of agents and tools.
_NOT_TYPED = (
    "<task-notification",
    "<teammate-message",
    "<system-reminder",
    "<local-command",
    "<bash-",
    "<command-name",
)
_COMMAND_NAMES = frozenset({"command", "commands", "cmd", "commandline", "shellcommand", "shell", "bash", "run"})
_PROGRAM_NAMES = frozenset({"code", "script", "source", "program", "patch", "diff", "expression", "python", "query"})
_SESSION_FIELD = rb'"(?:session_id|sessionId|conversation_id|parent_conversation_id)"\s*:\s*("(?:[^"\\]|\\.){1,512}")'
_SESSIONS_LIMIT = 8


def find_operation(call: ToolCall) -> Operation:
    """What a tool does to its paths; a tool of which nothing is known may write."""
    return _OPERATIONS.get(call.verb, Operation.WRITE)


def find_objection(call: ToolCall, decision: AccessDecision) -> str | None:
    """Why a decision on one path of a call denies it, None when it does not."""
    if not decision.is_allowed:
        return decision.why
    closed_roots = any(folder.name != ".git" for folder in decision.leave_out)
    if call.verb is not ToolVerb.SEARCH or not decision.leave_out:
        return None
    from memrepo.policy.git_globs import searches_git

    return SEARCH_ABOVE if closed_roots else GIT_SEARCHED if searches_git(call.arguments) else None


def make_denial(why: str) -> str:
    """What the agent is told: why, and what to use instead."""
    return (
        f"memrepo: {why}. To change memory use the tools memory_remember and memory_forget; to read it, memory_recall, "
        "memory_read, memory_list or memory_grep."
    )


def is_typed(prompt: str) -> bool:
    """Whether a prompt may be the user's own words."""
    return not prompt.lstrip().startswith(_NOT_TYPED)


def make_absolute(path: str, folder: PurePath | None) -> str:
    """A path as it would be read from the current folder; `~` and addresses stay."""
    return path if folder is None or path.startswith(("/", "~")) or "://" in path else posixpath.join(str(folder), path)


def iter_argument_texts(arguments: object) -> Iterator[str]:
    """The texts in a tool's arguments, however deep."""
    for value in _iter_values(arguments):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from (name for name in value if isinstance(name, str))


def iter_commands(arguments: object) -> Iterator[str]:
    """What in the arguments of an unknown tool may be run as a shell command, with its words where they stand apart."""
    for value in _iter_values(arguments):
        if not isinstance(value, dict):
            continue
        import shlex

        words = [one for name in ("args", "arguments", "argv") for one in _list_texts(value.get(name))]
        for name, one in value.items():
            if _strip_name(name) in _COMMAND_NAMES and (found := _list_texts(one)):
                yield " ".join([one, *map(shlex.quote, words)]) if isinstance(one, str) else shlex.join(found)


def iter_programs(arguments: object) -> Iterator[str]:
    """What in the arguments of an unknown tool may be the text of a program."""
    for value in _iter_values(arguments):
        if isinstance(value, dict):
            for name, one in value.items():
                if _strip_name(name) in _PROGRAM_NAMES:
                    yield from _list_texts(one)


def _iter_values(value: object) -> Iterator[object]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one


def _list_texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _strip_name(name: object) -> str:
    return str(name).casefold().replace("_", "").replace("-", "")


def changes_unnamed_files(call: ToolCall) -> bool:
    """Whether a tool acts on what its arguments do not name where we look: its texts must be searched."""
    if call.verb is ToolVerb.SHELL:
        return not call.command
    return not call.paths and call.verb in {ToolVerb.WRITE, ToolVerb.DELETE, ToolVerb.RENAME}


def read_escapes(text: str) -> str:
    """JSON text with its escapes read, whatever else is wrong with it."""
    import re

    text = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda found: chr(int(found[1], 16)), text)
    return text.replace("\\/", "/")


def find_session_ids(data: bytes) -> tuple[str, ...]:
    """The sessions that an event may be of, when it cannot be read: by the fields that hosts name them with."""
    import json
    import re

    found: list[str] = []
    for one in re.finditer(_SESSION_FIELD, data):
        if len(found) == _SESSIONS_LIMIT:
            break
        with contextlib.suppress(ValueError):
            found.append(json.loads(one[1].decode("utf-8", "replace")))
    return tuple(dict.fromkeys(found))


def names_any(texts: Sequence[str], roots: Sequence[PurePath], home: PurePath) -> bool:
    """Whether one of these texts names a root, as a path or by its own name."""
    from memrepo.policy.shell_commands import is_root_named

    return any(is_root_named(text, root=root, home=home) for text in texts for root in roots)


def writes_any(texts: Iterable[str], roots: Sequence[PurePath], home: PurePath) -> bool:
    """Whether one of these texts holds the path of a root, also as a part of an address."""
    from memrepo.policy.shell_commands import is_root_written

    forms = (form for text in texts for form in ((text, _unquote(text)) if "%" in text else (text,)))
    return any(is_root_written(form, root=root, home=home) for form in forms for root in roots)


def _unquote(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text)
