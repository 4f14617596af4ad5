"""ChatGPT: the conversations of an export (`conversations.json`, `conversations-000.json`, …). Pure.

The export has no list of what ChatGPT remembers, only its traces: messages to the tool `bio` (what it noted), snapshots
of what it knew (`model_editable_context`), and the user's custom instructions (`user_editable_context`). Beside these
counts what a user's own message states (`user_words`); answers never do. A list of memories (`memories.json`) is read
too. No schema is published; the fields are those that exports have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.importers.found import NO_MEMORY, Found, PassedOver, guess_kind, read_date
from memrepo.importers.mem0 import read_memory
from memrepo.importers.user_words import find_stated, iter_own_words
from memrepo.model import Kind
from memrepo.policy.screen import has_no_memory

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator

    from memrepo.importers.found import Finding

_FILE = re.compile(r"(?:.*/)?conversations(?:-[0-9]{1,6})?\.json", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:[0-9]{1,5}\.\s*)?\[([0-9]{4}-[0-9]{2}-[0-9]{2})\]\.?\s*(.*)", re.DOTALL)
_FORGET = re.compile(r"(?:forget|delete|remove|erase)\b", re.IGNORECASE)
_FENCED = re.compile(r"```(.*?)```", re.DOTALL)


def is_wanted(name: str) -> bool:
    """Whether a file of the source is read."""
    return _FILE.fullmatch(name) is not None or name.rpartition("/")[2].lower() in ("memories.json", "memory.json")


def is_conversations(name: str) -> bool:
    """Whether a file is one that only this export has."""
    return _FILE.fullmatch(name) is not None


def parse(name: str, values: Iterable[object]) -> Iterator[Finding]:
    """Streams what the conversations of a file, or a list of memories, hold."""
    for number, value in enumerate(values, 1):
        place = f"{name} #{number}"
        mapping = value.get("mapping") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(mapping, dict):
            yield read_memory(value, place)
        elif value.get("is_do_not_remember") is True:
            yield PassedOver("conversation that was not to be remembered", place)
        else:
            added = read_date(value.get("create_time"))
            found = [one for node in mapping.values() for one in _read_node(node, place, added)]
            yield from found or [PassedOver("conversation that states nothing about you", place)]


def _read_node(node: object, place: str, day: dt.date | None) -> Iterator[Finding]:
    message = node.get("message") if isinstance(node, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, dict):
        return
    added = read_date(message.get("create_time")) or day
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    sort = content.get("content_type")
    if sort == "model_editable_context":
        yield from _read_snapshot(content.get("model_set_context"), place)
    elif sort == "user_editable_context":
        for own in _find_instructions(message, content):
            yield from (Found(line, place, guess_kind(line, Kind.PREFERENCE), added) for line in iter_own_words(own))
    elif role == "assistant" and message.get("recipient") == "bio":
        yield from _read_noted(_join_parts(content), place, added)
    elif role == "user" and sort in ("text", "multimodal_text"):
        said = _join_parts(content)
        if has_no_memory((said,)):
            yield PassedOver(NO_MEMORY, place)
            return
        yield from (Found(text, place, guess_kind(text, Kind.PREFERENCE), added) for text in find_stated(said))


def _join_parts(content: dict[str, object]) -> str:
    parts = content.get("parts")
    return "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""


def _read_noted(text: str, place: str, added: dt.date | None) -> Iterator[Finding]:
    """What it noted with its tool, a fact a line."""
    for line in filter(None, map(str.strip, text.split("\n"))):
        if _FORGET.match(line) or line[0] in "{[":
            yield PassedOver("order to its memory, no fact", place)
        else:
            yield Found(line, place, guess_kind(line, Kind.PREFERENCE), added)


def _read_snapshot(text: object, place: str) -> Iterator[Finding]:
    """What it knew when the conversation began: `1. [2025-05-02]. The user likes ice cream`."""
    listed: list[tuple[str, str]] = []
    for line in filter(str.strip, text.split("\n") if isinstance(text, str) else ()):
        if item := _LISTED.match(line):
            listed.append((item[1], item[2].strip()))
        elif listed:
            day, above = listed[-1]
            listed[-1] = (day, f"{above} {line.strip()}")
        else:
            yield PassedOver("text around its list of memories", place)
    for day, fact in listed:
        yield Found(fact, place, guess_kind(fact, Kind.PREFERENCE), read_date(day))


def _find_instructions(message: dict[str, object], content: dict[str, object]) -> Iterator[str]:
    """What the user wrote for every conversation: as they wrote it, or out of the words that the export puts around."""
    metadata = message.get("metadata")
    raw = metadata.get("user_context_message_data") if isinstance(metadata, dict) else None
    if isinstance(raw, dict):
        yield from (value for value in raw.values() if isinstance(value, str))
        return
    for key in ("user_profile", "user_instructions"):
        value = content.get(key)
        if isinstance(value, str):
            fenced = _FENCED.search(value)
            yield fenced[1] if fenced else value
