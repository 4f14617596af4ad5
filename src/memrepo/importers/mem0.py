"""mem0: the memories of an export or of `get_all`, and of OpenMemory's backup. Pure.

A memory is an object with its text under `memory` (OpenMemory and exports with a schema of their own: `content`, `text`
or `data`), in a list, or under `results` or `memories`.
Source: https://docs.mem0.ai/cookbooks/essentials/exporting-memories
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.importers.found import Found, PassedOver, guess_kind, read_date, read_kind
from memrepo.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memrepo.importers.found import Finding

_TEXT_KEYS = ("memory", "content", "text", "data")
_LIST_KEYS = ("results", "memories", "items", "data")
_GONE = frozenset(("deleted", "archived", "paused"))
_KIND_OF_CATEGORY = {
    "personal_details": Kind.IDENTITY,
    "personal_information": Kind.IDENTITY,
    "user_preferences": Kind.PREFERENCE,
    "preferences": Kind.PREFERENCE,
    "likes": Kind.PREFERENCE,
    "food": Kind.PREFERENCE,
}


def is_wanted(name: str) -> bool:
    """Whether a file of the source is read."""
    return name.lower().endswith((".json", ".jsonl"))


def parse(name: str, values: Iterable[object]) -> Iterator[Finding]:
    """Streams the memories of a file, given as the values of its JSON."""
    number = 0
    for value in values:
        for item in _iter_items(value):
            number += 1
            yield read_memory(item, f"{name} #{number}")


def read_memory(item: object, place: str) -> Finding:
    """One memory, as an object or as its text alone."""
    if isinstance(item, str):
        return Found(item, place, guess_kind(item))
    text = _find_text(item)
    if not isinstance(item, dict) or text is None:
        return PassedOver("not a memory", place)
    if str(item.get("state", "")).lower() in _GONE or item.get("enabled") is False or item.get("is_deleted") is True:
        return PassedOver("deleted or archived there", place)
    if _is_private(item):
        return PassedOver("private there", place)
    return Found(text, place, _find_kind(item) or guess_kind(text), read_date(item.get("created_at")))


def _is_private(item: dict[str, object]) -> bool:
    """Whether a row of a private store, given as JSON, is one that no memory folder holds."""
    is_of_one = item.get("scope") in ("contact", "task") or item.get("kind") == Kind.COMMITMENT
    return is_of_one or str(item.get("privacy", "normal")).lower() != "normal"


def _iter_items(value: object) -> Iterator[object]:
    if isinstance(value, dict) and _find_text(value) is None:
        lists = [value[key] for key in _LIST_KEYS if isinstance(value.get(key), list)]
        if lists:
            yield from lists[0]
            return
    yield value


def _find_text(item: object) -> str | None:
    if not isinstance(item, dict):
        return None
    return next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str)), None)


def _find_kind(item: dict[str, object]) -> Kind | None:
    metadata = item.get("metadata")
    said: list[object] = []
    for holder in (item, metadata if isinstance(metadata, dict) else {}):
        categories = holder.get("categories")
        said += [*(categories if isinstance(categories, list) else []), holder.get("category"), holder.get("type")]
    names = [name.lower() for name in said if isinstance(name, str)]
    return next((kind for name in names if (kind := read_kind(name) or _KIND_OF_CATEGORY.get(name))), None)
