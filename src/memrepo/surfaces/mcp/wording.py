"""What an error tells an agent: the words of the tools in the place of those of the command line. Pure."""

from __future__ import annotations

import re

_SAID = (
    (r"`?memrepo recall`? or `?memrepo ls`?", "memory_recall or memory_list"),
    (r"memrepo ls --private", "memory_recall"),
    (r"memrepo ls ([\w./-]+\.md)(?: --json)?", r"memory_list with path \1"),
    (r"memrepo ls FILE --json", "memory_list with its path"),
    (r"`?memrepo ls`?", "memory_list"),
    (r"`?memrepo recall`?", "memory_recall"),
    (r"memrepo forget --contains WORD", "memory_recall"),
    (r"--workspace DIR \(or ID\)", "workspace (a folder or an id)"),
    (r"\(--workspace DIR\)", "(workspace)"),
    (r"--workspace DIR", "workspace"),
    (r"--scope global", "scope global"),
    (r"leave out -E", "leave out is_regex"),
    (r"--(expect-hash|kind|due|subject)\b", r"\1"),
)
_ROWS = tuple((re.compile(pattern), words) for pattern, words in _SAID)


def word_for_agents(text: str) -> str:
    """A hint or message in the words of the tools; what only the user can run stays as it is."""
    for pattern, words in _ROWS:
        text = pattern.sub(words, text)
    return text
