"""One command of a shell text at a glance: its program, what of its words counts, whether it only reads. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.policy.shell_options import words as _words
from memrepo.policy.shell_programs import (
    FILE_PROGRAMS,
    KEYWORDS,
    LOOPS,
    MOVED_PROGRAMS,
    READERS,
    SPEAKERS,
    TEXT_TAKERS,
)
from memrepo.policy.shell_scripts import edits_text_only, leave_out_texts
from memrepo.policy.shell_signs import ANYTHING, WILD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.policy.shell_words import SimpleCommand

_OWN_PROGRAMS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
_VERSIONED = ("python", "pypy", "perl", "ruby", "php", "lua", "node", "sqlite", "bash")
_XARGS_VALUES = _words("-I -n -P -L -s -d -a -E --max-args --max-procs --max-lines --max-chars --delimiter --arg-file")
_POWERSHELL = re.compile(r"`|\$env:|\$\{env:|%userprofile%|%home%", re.IGNORECASE)
_CMDLET = re.compile(
    r"\b(?:get|set|add|remove|move|copy|rename|new|clear|out|join|test|resolve|invoke|start)-"
    r"(?:item|itemproperty|content|childitem|location|path|file|expression|process)\b",
    re.IGNORECASE,
)
_EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_NAMING_COMMANDS = ("PAGER", "EDITOR", "VISUAL", "BROWSER", "COMMAND", "ASKPASS", "_SSH", "_DIFF")
_ENVIRONMENT = re.compile(r"\$\{?env:(\w+)\}?|%(\w+)%", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CommandGlance:
    """`texts` are the words and here-documents that may name something: no messages, no scripts that only edit text.

    `is_harmless_to_words`: what another command writes does not become a file's name or a program here.
    """

    command: SimpleCommand
    words: Sequence[str]
    program: str
    arguments: Sequence[str]
    texts_as_words: Sequence[str]
    keywords: frozenset[str]
    is_plain: bool
    edits_text: bool

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self.texts_as_words, *self.command.bodies)

    @property
    def names_files(self) -> bool:
        """Whether the words of the program are names of files, not text that somebody may run."""
        return self.program in FILE_PROGRAMS or (self.program in READERS and self.program not in SPEAKERS)

    @property
    def is_harmless_to_words(self) -> bool:
        is_taker = self.program in TEXT_TAKERS and not any(ANYTHING in word for word in self.texts_as_words)
        return self.is_plain or is_taker


def glance(command: SimpleCommand, words: Sequence[str]) -> CommandGlance:
    """The command, given its words with all braces spelled out."""
    at = _find_program_place(words)
    before, name, arguments = words[:at], words[at] if at < len(words) else "", list(words[at + 1 :])
    program = _name_program(name)
    reads = READERS.get(program) if "/" not in name or name.startswith(_OWN_PROGRAMS) else None
    is_moved = any(word.startswith(MOVED_PROGRAMS) for word in (*before, *(arguments if program == "env" else ())))
    counted = leave_out_texts(program, arguments)
    return CommandGlance(
        command=command,
        words=words,
        program=program,
        arguments=arguments,
        texts_as_words=(*before, *([name] if name else []), *counted),
        keywords=frozenset(before) & KEYWORDS | frozenset({program}) & LOOPS,
        is_plain=not is_moved and (not program or (reads is not None and reads(arguments))),
        edits_text=edits_text_only(program, arguments),
    )


def is_of(program: str, programs: frozenset[str]) -> bool:
    """Whether a program is one of these; one whose name only the shell knows may be any."""
    return program in programs or any(char in WILD for char in program)


def find_fed_command(program: str, arguments: Sequence[str]) -> list[str]:
    """The command that `xargs` or `parallel` starts, with what it is fed as unknown words; none of other programs."""
    if program not in {"xargs", "parallel"}:
        return []
    at, token = 0, "{}" if program == "parallel" else ""
    while at < len(arguments) and arguments[at].startswith("-"):
        option = arguments[at]
        if option.startswith(("-I", "-i", "--replace")):
            is_apart = option == "-I"
            value = "".join(arguments[at + 1 : at + 2]) if is_apart else option[2:] if option[1] != "-" else ""
            token = value or option.partition("=")[2] or "{}"
        at += 2 if option in _XARGS_VALUES else 1
    words = [word.replace(token, ANYTHING) if token else word for word in arguments[at:]]
    return [*words, ANYTHING] if words and not (token and program == "xargs") else words


def find_started_command(program: str, arguments: Sequence[str]) -> list[str]:
    """The command that `find -exec` starts; nothing for other programs."""
    starts = [at for at, word in enumerate(arguments) if word in _EXECUTING]
    return list(arguments[starts[0] + 1 :]) if starts and program in {"find", "fd", "fdfind"} else []


def find_later_commands(words: Sequence[str]) -> list[str]:
    """The commands in an alias or in variables that name a pager, an editor and the like."""
    is_alias = words[:1] == ["alias"]
    pairs = (word.partition("=") for word in words if _is_assignment(word) or (is_alias and "=" in word))
    return [value for name, _, value in pairs if is_alias or name.endswith(_NAMING_COMMANDS)]


def is_powershell(text: str) -> bool:
    """Whether a text holds commands of PowerShell."""
    return _CMDLET.search(text) is not None


def list_other_readings(text: str) -> list[str]:
    """A text as PowerShell reads it, where it may be one: backticks escape, the environment is `$env:`."""
    if not (_POWERSHELL.search(text) or is_powershell(text)):
        return []
    plain = _ENVIRONMENT.sub(lambda found: f"${{{_name_home(found[1] or found[2])}}}", text)
    return [plain.replace("\\", "/").replace("`", "\\")]


def _find_program_place(words: Sequence[str]) -> int:
    """Where the program stands, behind keywords and assignments."""
    at = 0
    while at < len(words) and (words[at] in KEYWORDS or _is_assignment(words[at])):
        at += 1
    return at


def _name_program(word: str) -> str:
    name = word.rpartition("/")[2].casefold().removesuffix(".exe")
    return name.rstrip("0123456789.-") if name.startswith(_VERSIONED) else name


def _name_home(name: str) -> str:
    return "HOME" if name.upper() in {"USERPROFILE", "HOME"} else name


def _is_assignment(word: str) -> bool:
    name, is_there, _ = word.partition("=")
    return bool(is_there) and name.rstrip("+").isidentifier()
