"""A pattern for one line, as `grep` takes it: plain text, or a regular expression in the syntax of RE2.

The patterns may come from an agent, and Python's `re` takes exponential time for some (`(a+)+$`). RE2 is a maintained
engine whose time is linear in the line; it has no back references and no look-around. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

PATTERN_LIMIT_CHARS = 1_000
_MEMORY_LIMIT_BYTES = 8 * 1024 * 1024


def compile_pattern(pattern: str, *, is_regex: bool = False, ignores_case: bool = False) -> Callable[[str], bool]:
    """Returns the question whether a line holds the pattern.

    Errors: InvalidInput for an empty or over-long pattern, and for one that RE2 cannot read, with what it says.
    """
    if not pattern or len(pattern) > PATTERN_LIMIT_CHARS:
        raise InvalidInput(
            f"the pattern has {len(pattern)} characters; it must have 1 to {PATTERN_LIMIT_CHARS}",
            hint="search for a word: memrepo grep WORD",
            key="pattern",
        )
    if is_regex:
        return _compile_regex(pattern, ignores_case=ignores_case)
    if ignores_case:
        wanted = pattern.casefold()
        return lambda line: wanted in line.casefold()
    return lambda line: pattern in line


def _compile_regex(pattern: str, *, ignores_case: bool) -> Callable[[str], bool]:
    import re2

    options = re2.Options()
    options.case_sensitive = not ignores_case
    options.max_mem = _MEMORY_LIMIT_BYTES
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0] if error.args else ""
        why = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise InvalidInput(
            f"not a regular expression that memrepo can match: {why}",
            hint="leave out -E to search for the words as they are",
            key="pattern",
        ) from None
    return lambda line: compiled.search(line.encode("utf-8", "replace").decode()) is not None
