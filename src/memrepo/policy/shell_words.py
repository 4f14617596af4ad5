"""A shell command as words: quotes and escapes removed, tildes and known variables put in, the rest kept as patterns.

Reads what POSIX sh and bash agree on, and says so when it does not understand (`NotUnderstood`); it runs nothing and
looks at no disk. In a word, `STAR`, `ONE`, `DEEP` and `ANYTHING` stand for what only the shell can know: `DEEP` (`**`)
and `ANYTHING` (what is not known at all) also cross `/`. Shells differ in what becomes of blanks in a variable without
quotes: then both readings stand in the command, the pieces and the whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memrepo.policy.shell_scan import NotUnderstood, decode_escapes, find_class_end, find_closing, find_substitutions
from memrepo.policy.shell_signs import ANYTHING, CLOSE, COMMA, ONE, OPEN, STAR, write_choice

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from memrepo.policy.shell_budget import WorkBudget

_SPLIT = "\ue006"
_PRIVATE = re.compile("[\ue000-\ue00f]")

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)
_MEANINGFUL = frozenset({"HOME", "PWD", "OLDPWD", "CDPATH", "IFS"})  # they change what words mean
_DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
_PARAMETER = re.compile(r"([A-Za-z_]\w*)(?:(:?[-=+?])(.*))?", re.ASCII | re.DOTALL)
_CHANGE = re.compile(r"([A-Za-z_]\w*)(?=[%#/:^,@])", re.ASCII)
_FOLDERS_OFF = re.compile(r"%((?:/\*)+)")
_ECHO = re.compile(r"\s*echo\s+(?:-n\s+)?([^\s;&|<>()`]+)\s*")
_PWD = re.compile(r"(?:.*[;&\n])?\s*pwd(?:\s+-[LP])?\s*", re.DOTALL)
_PLAIN_RUN = re.compile(r"""[^ \t\n;&|()<>'"\\$`~\[{},*?]+""")
_DOUBLE_RUN = re.compile(r"""[^"\\$`]+""")
_EXTENDED = "?*+@!"
_UNQUOTED = str.maketrans({" ": _SPLIT, "\t": _SPLIT, "\n": _SPLIT, "*": STAR, "?": ONE})
_BLANK = " \t"
_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", "&", "|", ";", "\n", "(", ")")
_REDIRECTIONS = ("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", ">", "<")
_DEFAULTS_LIMIT = 8
_VALUE_LIMIT_CHARS = 64 * 1024


@dataclass(slots=True)
class SimpleCommand:
    """One command between operators. `bodies` are here-documents; `nested` are command substitutions, as text.

    `is_doubtful`: it gives another value to a variable that changes what words mean.
    """

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    is_doubtful: bool = False

    def __bool__(self) -> bool:
        return bool(self.words or self.writes or self.reads or self.bodies or self.nested)


def read_commands(text: str, *, variables: MutableMapping[str, str], budget: WorkBudget) -> list[SimpleCommand]:
    """The simple commands of a text, in order. `variables` are known ones; assignments in the text are added.

    Errors: NotUnderstood for a quote or bracket without its end; TooMuchWork.
    """
    text = _PRIVATE.sub("?", text)
    commands = _Reader(text.replace("\\\n", ""), variables, budget).read()
    if "\\\n" in text and "#" in text:  # a comment ends at its line, whatever stands there
        commands += _Reader(text.replace("\\\n", "\n"), variables, budget).read()
    return commands


class _Reader:
    def __init__(self, text: str, variables: MutableMapping[str, str], budget: WorkBudget, *, depth: int = 0) -> None:
        self._text = text
        self._at = 0
        self._variables = variables
        self._budget = budget
        self._depth = depth  # of values that stand in values
        self._commands: list[SimpleCommand] = []
        self._command = SimpleCommand()
        self._is_assigning = True  # no word but assignments so far
        self._waiting: list[tuple[SimpleCommand, str, bool]] = []  # here-documents that begin on the next line

    def read(self) -> list[SimpleCommand]:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            self._budget.spend()
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
                self._add_words(self._read_word())
        self._end_command()
        if self._waiting:
            raise NotUnderstood("a here-document without its text")
        return self._commands

    def _find(self, tokens: tuple[str, ...]) -> str | None:
        return next((token for token in tokens if self._text.startswith(token, self._at)), None)

    def _end_command(self) -> None:
        self._budget.spend(2)
        if self._command:
            self._commands.append(self._command)
        self._command = SimpleCommand()
        self._is_assigning = True

    def _add_words(self, word: str) -> None:
        if _SPLIT in word:
            pieces = [piece for piece in word.split(_SPLIT) if piece]
            is_assigned = self._is_assigning and _ASSIGNMENT.match(word)
            if not is_assigned:
                for piece in pieces:
                    self._add_word(piece)
                if len(pieces) < 2:
                    return
            word = word.replace(_SPLIT, " ")
        self._add_word(word)

    def _add_word(self, word: str) -> None:
        words = self._command.words
        is_declared = bool(words) and words[0] in _DECLARING
        found = _ASSIGNMENT.match(word)
        self._is_assigning = self._is_assigning and found is not None
        if found and (is_declared or self._is_assigning):
            value = word[found.end() :]
            if word[found.end() - 2] == "+":
                value = self._variables.get(found[1], "") + value
            self._assign(found[1], value)
        words.append(word)

    def _assign(self, name: str, value: str) -> None:
        self._budget.spend(len(value) // 16)
        if len(value) > _VALUE_LIMIT_CHARS:
            value = ANYTHING
        if name in _MEANINGFUL:
            self._command.is_doubtful = True
            value = write_choice((self._variables.get(name, ANYTHING), value))
        if name != "IFS":
            self._variables[name] = value

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
        word = self._read_word().replace(_SPLIT, " ")
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
                self._budget.spend(1 + len(line) // 64)
                self._at = min(end + 1, len(self._text))
                if line.lstrip("\t") == end_mark:
                    break
                lines.append(line)
            body = "\n".join(lines)
            command.bodies.append(body)
            if not is_quoted:
                command.nested += find_substitutions(body, self._budget)
        self._waiting.clear()

    # Words

    def _read_word(self) -> str:
        text, start = self._text, self._at
        parts: list[str] = []
        while self._at < len(text):
            self._budget.spend()
            run = _PLAIN_RUN.match(text, self._at)
            if run:
                parts.append(run[0])
                self._at = run.end()
                continue
            char = text[self._at]
            if char == "(" and self._at > start and text[self._at - 1] in _EXTENDED:
                parts[-1:] = [parts[-1][:-1], self._read_extended()]
            elif char in " \t\n;&|()" or (char in "<>" and not text.startswith(("<(", ">("), self._at)):
                break
            else:
                parts.append(self._read_part(may_be_tilde=self._at == start or text[self._at - 1] in "=:{,"))
        if self._at == start:
            raise NotUnderstood("a word is missing")
        return "".join(parts)

    def _read_text(self) -> str:
        """All of the text as one value: blanks and operators are characters like others."""
        parts: list[str] = []
        while self._at < len(self._text):
            self._budget.spend()
            char = self._text[self._at]
            if char in " \t\n;&|()<>" and not self._text.startswith(("<(", ">("), self._at):
                parts.append(char)
                self._at += 1
            else:
                parts.append(self._read_part(may_be_tilde=self._at == 0))
        return "".join(parts)

    def _read_extended(self) -> str:
        """`@(a|b)`: a pattern, or where the shell does not know it, a command."""
        end = find_closing(self._text, self._at, self._budget)
        self._command.nested.append(self._text[self._at + 1 : end])
        self._at = end + 1
        return STAR

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
            value = self._read_expansion()
            self._budget.spend(len(value) // 16)
            return value.translate(_UNQUOTED)
        self._at += 1
        if char == "\\":
            self._at += 1
            return text[self._at - 1 : self._at]
        if char == "~" and may_be_tilde:
            return self._read_tilde()
        if char == "[":
            return self._read_class()
        return {"*": STAR, "?": ONE, "{": OPEN, "}": CLOSE, ",": COMMA}.get(char, char)

    def _read_tilde(self) -> str:
        start = self._at
        while self._at < len(self._text) and (self._text[self._at].isalnum() or self._text[self._at] in "._-+"):
            self._at += 1
        user = self._text[start : self._at]
        if not user:
            return self._variables.get("HOME", ANYTHING)
        name = {"+": "PWD", self._variables.get("USER"): "HOME"}.get(user, "")
        return self._variables.get(name, ANYTHING)

    def _read_class(self) -> str:
        start = self._at - 1
        end = find_class_end(self._text, start)
        self._budget.spend(1 + (abs(end) - start) // 4)
        if end < 0:
            return "["
        self._command.nested += find_substitutions(self._text[start:end], self._budget)
        self._at = end + 1
        return ONE

    def _read_ansi(self) -> str:
        found = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self._text, self._at)
        if not found:
            raise NotUnderstood("a quote without its end")
        self._at = found.end()
        return decode_escapes(found[1])

    def _read_double(self) -> str:
        text = self._text
        parts: list[str] = []
        self._at += 1
        while self._at < len(text):
            self._budget.spend()
            run = _DOUBLE_RUN.match(text, self._at)
            if run:
                parts.append(run[0])
                self._at = run.end()
                continue
            char = text[self._at]
            if char == '"':
                self._at += 1
                return "".join(parts)
            if char == "\\" and text[self._at + 1 : self._at + 2] in {"$", "`", '"', "\\"}:
                parts.append(text[self._at + 1])
                self._at += 2
            elif char in "$`":
                parts.append(value := self._read_expansion())
                self._budget.spend(len(value) // 64)
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
            inner = re.sub(r"\\([`$\\])", r"\1", text[self._at + 1 : end])
            self._at = end + 1
            return self._read_substitution(inner)
        if text.startswith(("$(", "<(", ">("), self._at):
            end = find_closing(text, self._at + 1, self._budget)
            inner = text[self._at + 2 : end]
            self._at = end + 1
            return self._read_substitution(inner)
        if text.startswith("${", self._at):
            end = find_closing(text, self._at + 1, self._budget)
            inner = text[self._at + 2 : end]
            self._at = end + 1
            return self._read_parameter(inner)
        found = _NAME.match(text, self._at + 1)
        if found:
            self._at = found.end()
            return self._variables.get(found[0], ANYTHING)
        self._at += 1
        if self._at < len(text) and text[self._at] in "0123456789@*#?$!-":
            self._at += 1
            return ANYTHING
        return "$"

    def _read_substitution(self, inner: str) -> str:
        """What a command writes, where that is plain: `$(pwd)`, `$(echo ~)`."""
        self._command.nested.append(inner)
        if _PWD.fullmatch(inner):
            return write_choice((ANYTHING, self._variables.get("PWD", ANYTHING)))
        found = _ECHO.fullmatch(inner)
        if found is None or self._depth > _DEFAULTS_LIMIT:
            return ANYTHING
        return self._read_inside(found[1])

    def _read_inside(self, text: str) -> str:
        inside = _Reader(text, self._variables, self._budget, depth=self._depth + 1)
        inside._command = self._command
        return inside._read_text().replace(_SPLIT, " ")

    def _read_change(self, inner: str) -> str:
        """`${NAME%/*}` and its like: folders that are taken off, or a value that may be another."""
        found = _CHANGE.match(inner)
        value = self._variables.get(found[1]) if found else None
        if found is None or value is None or found[1] == "IFS":
            return ANYTHING if value is None else value
        ends = _FOLDERS_OFF.fullmatch(inner, found.end())
        if ends is None:
            return write_choice((ANYTHING, value))
        for _ in range(len(ends[1]) // 2):
            value = value.rpartition("/")[0]
        return value

    def _read_parameter(self, inner: str) -> str:
        """The value of `${…}`; of a default both it and the unknown, of other changes nothing."""
        found = _PARAMETER.fullmatch(inner)
        if found is None or self._depth > _DEFAULTS_LIMIT:
            self._command.nested += find_substitutions(inner, self._budget)
            return self._read_change(inner)
        name, kind, text = found.groups()
        value = self._variables.get(name)
        if kind is None or "?" in kind:
            return ANYTHING if value is None else value
        default = self._read_inside(text)
        if "+" not in kind and value:
            return value
        either = write_choice((ANYTHING, default))
        if "=" in kind:
            self._assign(name, either)
        return either
