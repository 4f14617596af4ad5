"""The formats that are imported, and which of them a source has. Pure: `peek` gives the beginning of a file.

A format is guessed from names first, then from what only its files hold. The guess is told, and `--format` overrules
it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput
from memrepo.importers import basic_memory, chatgpt, claude_code, mem0, memory_repo, notes, openclaw

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from memrepo.importers.found import Finding, SourceFile

PEEK_BYTES = 64 * 1024
_PEEKED_FILES = 20


class Format(StrEnum):
    """What a source may be."""

    NOTES = "notes"
    MEMORY_REPO = "memory-repo"
    CLAUDE_CODE = "claude-code"
    OPENCLAW = "openclaw"
    MEM0 = "mem0"
    CHATGPT = "chatgpt"
    BASIC_MEMORY = "basic-memory"


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A format of Markdown or text files, parsed one by one."""

    is_wanted: Callable[[str], bool]
    parse: Callable[[SourceFile], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A format of JSON files, parsed value by value; `parse` is given the name of the file."""

    is_wanted: Callable[[str], bool]
    parse: Callable[[str, Iterable[object]], Iterator[Finding]]


FORMATS: Mapping[Format, TextFormat | JsonFormat] = {
    Format.NOTES: TextFormat(notes.is_wanted, notes.parse),
    Format.MEMORY_REPO: TextFormat(memory_repo.is_wanted, memory_repo.parse),
    Format.CLAUDE_CODE: TextFormat(claude_code.is_wanted, claude_code.parse),
    Format.OPENCLAW: TextFormat(openclaw.is_wanted, openclaw.parse),
    Format.MEM0: JsonFormat(mem0.is_wanted, mem0.parse),
    Format.CHATGPT: JsonFormat(chatgpt.is_wanted, chatgpt.parse),
    Format.BASIC_MEMORY: TextFormat(basic_memory.is_wanted, basic_memory.parse),
}

_REPO_FILES = frozenset(("me.md", "lessons.md", "inbox.md"))
_OPENCLAW_FILES = frozenset(("soul.md", "user.md", "identity.md", "heartbeat.md", "tools.md", "dreams.md"))
_METADATA = re.compile(
    r"^[ \t]*[-*+] .*\[(?:by|kind|subject|workspace|source|added): [^\[\]\n]{1,400}\][ \t\r]*$", re.MULTILINE
)
_INDEX = re.compile(r"^## Index[ \t\r]*$", re.MULTILINE)
_CLAUDE_TYPE = re.compile(r"^[ \t]*type:[ \t]*[\"']?(?:user|feedback|project|reference)\b", re.MULTILINE)
_CLAUDE_INDEX = re.compile(r"^[-*] \[[^\]\n]{1,200}\]\([^()\s/]+\.md\)", re.MULTILINE)
_CLAUDE_NAME = re.compile(r"^name:.*\n(?:.*\n){0,3}?description:", re.MULTILINE)
_PERMALINK = re.compile(r"^permalink:|^#+ Observations[ \t\r]*$", re.MULTILINE)
_OBSERVATION = re.compile(r"^- \[(?![ xX/-]\])[^\[\]()\n]{1,60}\] \S", re.MULTILINE)
_OWN_EXPORT = re.compile(r'"format"\s*:\s*"memrepo-export"')
_CONVERSATION = re.compile(r'"mapping"\s*:\s*\{')
_MEMORY = re.compile(r'"(?:memory|memories)"\s*:|"content"\s*:\s*"')


def get_format(name: str) -> Format:
    """The format of that name. Errors: InvalidInput."""
    try:
        return Format(name)
    except ValueError:
        raise InvalidInput(
            f"there is no format {name!r}", hint=f"one of: {', '.join(Format)}", key="--format", value=name
        ) from None


def detect_format(names: Collection[str], peek: Callable[[str], str]) -> Format:
    """Finds out the format of a source from the names of its files and what they begin with.

    Errors: InvalidInput when nothing in it is of any format, and for an export of memrepo in one file.
    """
    found = _detect_json(names, peek) or _detect_text(names, peek)
    if found is None:
        raise InvalidInput(
            "nothing in it looks like notes, a memory or an export",
            hint=f"say what it is: --format {'|'.join(Format)}",
            key="--format",
        )
    return found


def choose_names(chosen: Format, names: Collection[str]) -> list[str]:
    """The files of a source that a format reads."""
    wanted = [name for name in names if FORMATS[chosen].is_wanted(name)]
    if chosen is Format.CLAUDE_CODE and not wanted:  # the folder of the notes itself
        wanted = [name for name in names if claude_code.is_note(name)]
    return wanted


def _detect_json(names: Collection[str], peek: Callable[[str], str]) -> Format | None:
    if any(chatgpt.is_conversations(name) for name in names):
        return Format.CHATGPT
    files = [name for name in names if mem0.is_wanted(name)]
    if any(notes.is_wanted(name) for name in names):  # JSON files among notes are theirs
        return None
    heads = [peek(name) for name in files[:_PEEKED_FILES]]
    if any(map(_OWN_EXPORT.search, heads)):
        raise InvalidInput(
            "this is a whole memory that memrepo exported, and no import takes it apart",
            hint="to make a memory of it again: memrepo init --from FILE",
            key="SOURCE",
        )
    if any(map(_CONVERSATION.search, heads)):
        return Format.CHATGPT
    return Format.MEM0 if any(map(_MEMORY.search, heads)) else None


def _detect_text(names: Collection[str], peek: Callable[[str], str]) -> Format | None:
    files = [name for name in names if notes.is_wanted(name)]
    if not files:
        return None
    lower = {name.lower(): name for name in files}
    markdown = [name for name in files if name.lower().endswith(".md")]
    heads = [peek(name) for name in sorted(markdown, key=lambda name: (name.count("/"), name))[:_PEEKED_FILES]]
    fronts = [head.partition("\n---")[0] for head in heads if head.startswith("---")]
    memory = peek(lower["memory.md"]) if "memory.md" in lower else None
    has_repo_files = not _REPO_FILES.isdisjoint(lower) or any(name.startswith("workspaces/") for name in lower)
    is_daily = any(name.startswith("memory/") and openclaw.DAILY_NOTE.match(name[7:]) for name in lower)
    is_claude_code = (
        any(_CLAUDE_TYPE.search(front) and _CLAUDE_NAME.search(front) for front in fronts)
        or any(name.rpartition("/")[2] in claude_code.OWN_NAMES for name in lower)
        or all(map(claude_code.is_wanted, lower))
    )
    rules = (
        (memory is not None and has_repo_files, Format.MEMORY_REPO),
        (memory is not None and (_METADATA.search(memory) or _INDEX.search(memory)), Format.MEMORY_REPO),
        (is_daily or (memory is not None and not _OPENCLAW_FILES.isdisjoint(lower)), Format.OPENCLAW),
        (is_claude_code or (memory is not None and _CLAUDE_INDEX.search(memory)), Format.CLAUDE_CODE),
        (any(_PERMALINK.search(head) and _OBSERVATION.search(head) for head in heads), Format.BASIC_MEMORY),
        (memory is not None, Format.OPENCLAW),
        (any(map(_METADATA.search, heads)), Format.MEMORY_REPO),
    )
    return next((found for does_hold, found in rules if does_hold), Format.NOTES)
