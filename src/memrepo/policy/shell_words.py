"""A shell command as words: quotes and escapes removed, tildes and known variables put in, the rest kept as patterns.

Reads what POSIX sh and bash agree on, and says so when it does not understand (`NotUnderstood`); it runs nothing and
looks at no disk. In a word, `STAR`, `ONE` and `ANYTHING` stand for what only the shell can know: `ANYTHING` also
crosses `/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

STAR, ONE, ANYTHING = "\ue000", "\ue001", "\ue002"
WILD = STAR + ONE + ANYTHING
_OPEN, _COMMA, _CLOSE = "\ue003", "\ue004", "\ue005"
_PRIVATE = re.compile("[\ue000-\ue00f]")

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_MEANINGFUL = frozenset({"HOME", "PWD", "OLDPWD", "CDPATH", "IFS"})  # they change what words mean
_BLANK = " \t"
_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", "&", "|", ";", "\n", "(", ")")
_REDIRECTIONS = ("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", ">", "<")
_ALTERNATIVES_LIMIT = 64


class NotUnderstood(ValueError):
    """The text is no command that this module can read."""


@dataclass(slots=True)
class SimpleCommand:
    """One command between operators. `bodies` are here-documents; `nested` are command substitutions, as text."""

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.words or self.writes or self.reads or self.bodies or self.nested)


def read_commands(text: str, *, variables: MutableMapping[str, str]) -> list[SimpleCommand]:
    """The simple commands of a text, in order. `variables` are known ones; assignments in the text are added.

    Errors: NotUnderstood for a quote or bracket without its end.
    """
    text = _PRIVATE.sub("?", text)
    commands = _Reader(text.replace("\\\n", ""), variables).read()
    if "\\\n" in text and "#" in text:  # a comment ends at its line, whatever stands there
        commands += _Reader(text.replace("\\\n", "\n"), variables).read()
    return commands


def spell_out(word: str) -> tuple[str, ...]:
    """The words that the braces of a word stand for; past a limit they become a pattern."""
    done, waiting = [], [word]
    while waiting:
        one = waiting.pop()
        start = one.rfind(_OPEN)
        end = one.find(_CLOSE, start)
        if start < 0 or end < 0:
            done.append(one.replace(_OPEN, "{").replace(_CLOSE, "}").replace(_COMMA, ","))
            continue
        inner = one[start + 1 : end]
        choices = inner.split(_COMMA) if _COMMA in inner else ["{" + inner + "}", ANYTHING]
        if len(done) + len(waiting) + len(choices) > _ALTERNATIVES_LIMIT:
            choices = [ANYTHING]
        waiting += [one[:start] + choice + one[end + 1 :] for choice in choices]
    return tuple(done)


class _Reader:
    def __init__(self, text: str, variables: MutableMapping[str, str]) -> None:
        self._text = text
        self._at = 0
        self._variables = variables
        self._commands: list[SimpleCommand] = []
        self._command = SimpleCommand()
        self._waiting: list[tuple[SimpleCommand, str, bool]] = []  # here-documents that begin on the next line

    def read(self) -> list[SimpleCommand]:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char in _BLANK:
                self._at += 1
            elif char == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif (redirection := self._find(_REDIRECTIONS)) and not text.startswith(("<(", ">("), self._at):
                self._at += len(redirection)
                self._read_redirection(redirection)
            elif operator := self._find(_OPERATORS):
                self._at += len(operator)
                self._end_command()
                if operator == "\n":
                    self._read_bodies()
            else:
                self._add_word(self._read_word())
        self._end_command()
        if self._waiting:
            raise NotUnderstood("a here-document without its text")
        return self._commands

    def _find(self, tokens: tuple[str, ...]) -> str | None:
        return next((token for token in tokens if self._text.startswith(token, self._at)), None)

    def _end_command(self) -> None:
        if self._command:
            self._commands.append(self._command)
        self._command = SimpleCommand()

    def _add_word(self, word: str) -> None:
        words = self._command.words
        is_declared = bool(words) and words[0] in {"export", "declare", "local", "readonly", "typeset"}
        found = _ASSIGNMENT.match(word)
        if found and (is_declared or all(_ASSIGNMENT.match(before) for before in words)):
            if found[1] in _MEANINGFUL:
                raise NotUnderstood(f"{found[1]} is given another value")
            value = word[found.end() :]
            is_added = word[found.end() - 2] == "+"
            before = self._variables.get(found[1], "") if is_added else ""
            self._variables[found[1]] = before + value
        words.append(word)

    def _read_redirection(self, kind: str) -> None:
        before = self._text[self._at - len(kind) - 1 : self._at - len(kind)]
        if before.isdigit() and self._command.words and self._command.words[-1].isdigit():
            self._command.words.pop()  # `2>`: a descriptor
        while self._at < len(self._text) and self._text[self._at] in _BLANK:
            self._at += 1
        if kind in {"<<", "<<-"}:
            start = self._at
            end_mark = self._read_word()
            self._waiting.append(
                (self._command, end_mark, any(char in self._text[start : self._at] for char in "'\"\\"))
            )
            return
        word = self._read_word()
        if kind == "<<<":
            self._command.bodies.append(word)
        elif kind == "<":
            self._command.reads.append(word)
        elif not (kind in {">&", "<&"} and (word.isdigit() or word == "-")):
            self._command.writes.append(word)

    def _read_bodies(self) -> None:
        for command, end_mark, is_quoted in self._waiting:
            lines = []
            while True:
                if self._at >= len(self._text):
                    raise NotUnderstood("a here-document without its end")
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                line = self._text[self._at : end]
                self._at = min(end + 1, len(self._text))
                if line.lstrip("\t") == end_mark:
                    break
                lines.append(line)
            body = "\n".join(lines)
            command.bodies.append(body)
            if not is_quoted:
                command.nested += _find_substitutions(body)
        self._waiting.clear()

    # Words

    def _read_word(self) -> str:
        text, start = self._text, self._at
        parts: list[str] = []
        while self._at < len(text):
            char = text[self._at]
            if char in " \t\n;&|()" or (char in "<>" and not text.startswith(("<(", ">("), self._at)):
                break
            parts.append(self._read_part(may_be_tilde=self._at == start or text[self._at - 1] in "=:"))
        if self._at == start:
            raise NotUnderstood("a word is missing")
        return "".join(parts)

    def _read_part(self, *, may_be_tilde: bool) -> str:
        text = self._text
        char = text[self._at]
        if text.startswith(("$'", '$"'), self._at):
            self._at += 1
            return self._read_ansi() if text[self._at] == "'" else self._read_double()
        if char == "'":
            end = text.find("'", self._at + 1)
            if end < 0:
                raise NotUnderstood("a quote without its end")
            start, self._at = self._at + 1, end + 1
            return text[start:end]
        if char == '"':
            return self._read_double()
        if char in "$`" or text.startswith(("<(", ">("), self._at):
            return self._read_expansion()
        self._at += 1
        if char == "\\":
            self._at += 1
            return text[self._at - 1 : self._at]
        if char == "~" and may_be_tilde:
            return self._read_tilde()
        if char == "[":
            return self._read_class()
        return {"*": STAR, "?": ONE, "{": _OPEN, "}": _CLOSE, ",": _COMMA}.get(char, char)

    def _read_tilde(self) -> str:
        start = self._at
        while self._at < len(self._text) and (self._text[self._at].isalnum() or self._text[self._at] in "._-+"):
            self._at += 1
        user = self._text[start : self._at]
        if not user:
            return self._variables.get("HOME", ANYTHING)
        return {"+": self._variables.get("PWD", ANYTHING)}.get(user, ANYTHING)

    def _read_class(self) -> str:
        end = self._text.find("]", self._at + 1)
        line_end = re.compile(r"[\s/;&|]").search(self._text, self._at)
        if end < 0 or (line_end and line_end.start() < end):
            return "["
        self._at = end + 1
        return ONE

    def _read_ansi(self) -> str:
        found = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self._text, self._at)
        if not found:
            raise NotUnderstood("a quote without its end")
        self._at = found.end()
        return _ESCAPE.sub(_decode_escape, found[1])

    def _read_double(self) -> str:
        text = self._text
        parts: list[str] = []
        self._at += 1
        while self._at < len(text):
            char = text[self._at]
            if char == '"':
                self._at += 1
                return "".join(parts)
            if char == "\\" and text[self._at + 1 : self._at + 2] in {"$", "`", '"', "\\"}:
                parts.append(text[self._at + 1])
                self._at += 2
            elif char in "$`":
                parts.append(self._read_expansion())
            else:
                parts.append(char)
                self._at += 1
        raise NotUnderstood("a quote without its end")

    def _read_expansion(self) -> str:
        text = self._text
        if text[self._at] == "`":
            end = self._at + 1
            while end < len(text) and text[end] != "`":
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                raise NotUnderstood("a quote without its end")
            self._command.nested.append(re.sub(r"\\([`$\\])", r"\1", text[self._at + 1 : end]))
            self._at = end + 1
            return ANYTHING
        if text.startswith(("$(", "<(", ">("), self._at):
            end = _find_closing(text, self._at + 1)
            self._command.nested.append(text[self._at + 2 : end])
            self._at = end + 1
            return ANYTHING
        if text.startswith("${", self._at):
            end = _find_closing(text, self._at + 1)
            inner = text[self._at + 2 : end]
            self._at = end + 1
            self._command.nested += _find_substitutions(inner)
            return self._variables.get(inner, ANYTHING) if _NAME.fullmatch(inner) else ANYTHING
        found = _NAME.match(text, self._at + 1)
        if found:
            self._at = found.end()
            return self._variables.get(found[0], ANYTHING)
        self._at += 1
        if self._at < len(text) and text[self._at] in "0123456789@*#?$!-":
            self._at += 1
            return ANYTHING
        return "$"


def _find_substitutions(text: str) -> Iterator[str]:
    """The commands that stand in a text in which quotes mean nothing."""
    for found in re.finditer(r"\$\(|`", text):
        if found[0] == "`":
            end = text.find("`", found.end())
            if end > 0:
                yield text[found.end() : end]
        else:
            yield text[found.end() : _find_closing(text, found.end() - 1)]


def _find_closing(text: str, start: int) -> int:
    """Where the bracket at `start` closes, quotes minded."""
    opening, closing = (text[start], {"(": ")", "{": "}"}[text[start]])
    depth, at = 0, start
    while at < len(text):
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
    raise NotUnderstood("a bracket without its end")


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
