"""The rules of hooks that need nothing but values. Pure."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from memrepo.policy.access import Operation
from memrepo.policy.tool_calls import ToolVerb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import PurePath

    from memrepo.policy.access import AccessDecision
    from memrepo.policy.tool_calls import ToolCall

MISSING = (
    "memrepo: the user has no long-term memory here yet. The first fact written with memory_remember makes its folder."
)
SEARCH_ABOVE = "memory is off for this task, and the memory folder is in the folder that is searched"
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
_TEXT_LIMIT_CHARS = 1024 * 1024


def find_operation(call: ToolCall) -> Operation:
    """What a tool does to its paths; a tool of which nothing is known may write."""
    return _OPERATIONS.get(call.verb, Operation.WRITE)


def find_objection(call: ToolCall, decision: AccessDecision) -> str | None:
    """Why a decision on one path of a call denies it, None when it does not."""
    if not decision.is_allowed:
        return decision.why
    closed_roots = any(folder.name != ".git" for folder in decision.leave_out)
    return SEARCH_ABOVE if call.verb is ToolVerb.SEARCH and closed_roots else None


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


def iter_argument_texts(value: object, depth: int = 0) -> Iterator[str]:
    """The texts in a tool's arguments, however deep."""
    if isinstance(value, str):
        yield value[:_TEXT_LIMIT_CHARS]
    elif depth < 8 and isinstance(value, dict):
        for one in value.values():
            yield from iter_argument_texts(one, depth + 1)
    elif depth < 8 and isinstance(value, list):
        for one in value:
            yield from iter_argument_texts(one, depth + 1)


def changes_unnamed_files(call: ToolCall) -> bool:
    """Whether a tool changes files that its arguments do not name where we look: its texts must be searched."""
    return not call.paths and call.verb in {ToolVerb.WRITE, ToolVerb.DELETE, ToolVerb.RENAME}


def names_any(texts: Sequence[str], roots: Sequence[PurePath], home: PurePath) -> bool:
    """Whether one of these texts names a root, as a path or by its own name."""
    from memrepo.policy.shell_commands import is_root_named

    return any(is_root_named(text, root=root, home=home) for text in texts for root in roots)
