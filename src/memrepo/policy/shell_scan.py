"""Where brackets and quotes of a shell text end, and what their escapes mean. Pure; reads text only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.policy.shell_signs import ANYTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memrepo.policy.shell_budget import WorkBudget

_INNER_RUN = re.compile(r"""[^\\'"(){}]+""")
_SUBSTITUTION = re.compile(r"\$\(|`")
_NAMED_CLASS = re.compile(r"\[([:.=])[^\]\[\s/]{0,20}\1\]")
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


class NotUnderstood(ValueError):
    """The text is no command that this module can read."""


def decode_escapes(text: str) -> str:
    """A text with the escapes of `$'…'` and of `printf` put in."""
    return _ESCAPE.sub(_decode_escape, text)


def find_substitutions(text: str, budget: WorkBudget) -> Iterator[str]:
    """The commands that stand in a text in which quotes mean nothing."""
    at = 0
    while (found := _SUBSTITUTION.search(text, at)) is not None:
        budget.spend()
        if found[0] == "`":
            end = text.find("`", found.end())
            if end < 0:
                return
        else:
            end = find_closing(text, found.end() - 1, budget)
        yield text[found.end() : end]
        at = end + 1


def find_closing(text: str, start: int, budget: WorkBudget) -> int:
    """Where the bracket at `start` closes, quotes minded."""
    opening, closing = (text[start], {"(": ")", "{": "}"}[text[start]])
    depth, at = 0, start
    while at < len(text):
        budget.spend()
        char = text[at]
        if char == "\\":
            at += 1
        elif char in "'\"":
            at = _skip_quote(text, at)
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if depth == 0:
                return at
        at += 1
        if at < len(text) and (run := _INNER_RUN.match(text, at)):
            at = run.end()
    raise NotUnderstood("a bracket without its end")


def find_class_end(text: str, start: int) -> int:
    """Where the class that begins at `start` (`[`) ends; minus the place where it is seen to be none."""
    at = start + (2 if text[start + 1 : start + 2] in {"!", "^"} else 1)
    first = at
    while at < len(text):
        char = text[at]
        if char == "]" and at > first:
            return at
        if char in " \t\n;&|()<>/":
            break
        if named := _NAMED_CLASS.match(text, at):
            at = named.end()
        elif char in "'\"":
            end = text.find(char, at + 1)
            if end < 0:
                break
            at = end + 1
        else:
            at += 2 if char == "\\" else 1
    return -at


def _skip_quote(text: str, start: int) -> int:
    quote, at = text[start], start + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" and quote == '"' else 1
    if at >= len(text):
        raise NotUnderstood("a quote without its end")
    return at


def _decode_escape(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else ANYTHING
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _PLAIN_ESCAPES.get(code, code)
