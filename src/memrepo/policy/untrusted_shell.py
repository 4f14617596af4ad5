"""Whether a shell command reads text that nobody vouched for. Pure: the command in, a label or None out.

It does when it starts a program that fetches, or when a word of a program that may show it is a file outside of the
workspace. Which programs show nothing is data (`untrusted_rows.py`); an unknown one shows. Copying such a file into the
workspace is reading it: there it is trusted afterwards. Doubt counts as a read, for that is cheap.

Limits: a variable that the command does not set, and what a script does when it runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.policy import untrusted_rows as rows
from memrepo.policy.shell_braces import spell_out
from memrepo.policy.shell_budget import TooMuchWork, WorkBudget
from memrepo.policy.shell_options import find_values, iter_operands
from memrepo.policy.shell_programs import RUNNERS, TEXT_RUNNERS
from memrepo.policy.shell_scan import NotUnderstood
from memrepo.policy.shell_scripts import leave_out_texts
from memrepo.policy.shell_signs import ANYTHING
from memrepo.policy.shell_words import SimpleCommand, read_commands
from memrepo.policy.trusted_places import OUTSIDE, TrustedPlaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNREAD = "shell: unread"
_ADDRESS = "://"
_LIMIT_CHARS = 256 * 1024
_DEPTH_LIMIT = 6
_CUT = re.compile(r"[;&|\n(){}`]|\$\(|<<<?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_QUOTES = "'\"\\"
_ALWAYS = frozenset(row.program for row in rows.PROGRAMS if not row.words)
_FEEDING = frozenset({"xargs", "parallel", "read", "mapfile", "readarray"})
_STARTING = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_APART = " \n;|&<"
_DEVICES = ("/dev/", "/proc/")


def find_untrusted_command(command: str, places: TrustedPlaces) -> str | None:
    """The label of what a command reads, None when it reads nothing untrusted."""
    if len(command) > _LIMIT_CHARS:
        return UNREAD
    try:
        found = _Watch(command, places).find(command)
    except TooMuchWork:
        return UNREAD
    return found or ("shell: /dev/tcp" if "/dev/tcp/" in command else None)


class _Watch:
    """The watch over one command: where it is, and whether what one program names another one reads."""

    def __init__(self, command: str, places: TrustedPlaces) -> None:
        self._budget = WorkBudget()
        self._places = places
        self._start = places.start
        self._has_address = _ADDRESS in command

    def find(self, text: str, depth: int = 0, *, is_shown: bool = False) -> str | None:
        """The label of the first untrusted read. `is_shown`: what quiet programs name here is read elsewhere."""
        self._budget.spend(10 + len(text) // 64)
        seen = [(one, self._spell(one.words)) for one in self._read(text, depth)]
        programs = {_name_program(word) for _, words in seen for word in words}
        is_shown = is_shown or bool(programs & _FEEDING)
        for one, words in seen:
            found = self._find_in_command(one, words, depth, is_shown=is_shown)
            if found is not None:
                return found
        if programs & TEXT_RUNNERS:
            texts = [
                text for one, words in seen for text in (*one.bodies, *words) if any(char in text for char in _APART)
            ]
            return next((found for text in texts if (found := self.find(text, depth + 1)) is not None), None)
        return None

    def _read(self, text: str, depth: int) -> list[SimpleCommand]:
        home = self._places.home or "/~"
        try:
            if depth > _DEPTH_LIMIT:
                raise NotUnderstood("too deep")
            return read_commands(text, variables={"HOME": home, "PWD": self._start, "IFS": " "}, budget=self._budget)
        except (NotUnderstood, IndexError, ValueError):
            text = text.replace("${HOME}", home).replace("$HOME", home)
            pieces = ([word.strip(_QUOTES) for word in piece.split()] for piece in _CUT.split(text))
            return [SimpleCommand(words=words) for words in pieces if words]

    def _spell(self, words: Sequence[str]) -> list[str]:
        return [spelled for word in words for spelled in spell_out(word, self._budget)]

    def _find_in_command(self, one: SimpleCommand, words: list[str], depth: int, *, is_shown: bool) -> str | None:
        self._budget.spend(20 + 4 * len(words))
        words = _skip_to_program(words)
        program = _name_program(words[0]) if words else ""
        shows_nested = program not in rows.QUIET and bool(program)
        for text in one.nested:
            if (found := self.find(text, depth + 1, is_shown=shows_nested)) is not None:
                return found
        if any(self._is_foreign(path) for path in one.reads):
            return OUTSIDE
        if program in {"cd", "pushd"}:
            target = next((word for word in words[1:] if not word.startswith("-")), None)
            if target is not None and ANYTHING not in target:
                self._start = self._places.resolve(target, self._start)
            return None
        return self._find_fetch(words, one, depth) or self._find_path(words, is_shown=is_shown)

    # Programs

    def _find_fetch(self, words: Sequence[str], one: SimpleCommand, depth: int) -> str | None:
        """The program that fetches, among those that these words start."""
        if not words:
            return None
        first = _name_program(words[0])
        found = first if self._has_address and first in rows.INTERPRETERS else None
        if first in rows.WRAPPERS and found is None:  # what it starts may stand anywhere
            found = next((name for word in words[1:] if (name := _name_program(word)) in _ALWAYS), None)
        found = found or self._find_row(_skip_wrappers(words))
        if found is not None:
            return f"shell: {found}"
        if first in RUNNERS or first in rows.WRAPPERS:
            for text in (*words[1:], *one.bodies):
                if any(char in text for char in _APART):
                    label = self.find(text, depth + 1)
                    if label is not None:
                        return label
        return None

    def _find_row(self, words: Sequence[str]) -> str | None:
        if not words:
            return None
        program = _name_program(words[0])
        if program in _ALWAYS or (program in rows.INTERPRETERS and self._has_address):
            return program
        said = tuple(iter_operands(words[1:], rows.OPTIONS_WITH_VALUE.get(program, frozenset())))
        for row in rows.PROGRAMS:
            if row.program == program and row.words and said[: len(row.words)] == row.words:
                return " ".join((program, *row.words))
        if program == "git" and said[:1] in {("fetch",), ("pull",)} and any(map(_is_foreign_remote, said[1:])):
            return f"git {said[0]}"
        if program == "rsync" and any(":" in word for word in said):
            return program
        return None

    # Files

    def _find_path(self, words: Sequence[str], *, is_shown: bool) -> str | None:
        inner = _skip_wrappers(words)
        if not inner:
            return None
        program = _name_program(inner[0])
        if is_shown and program in _FEEDING | {"for"}:
            return None
        if program in rows.QUIET and not is_shown:
            started = next((at for at, word in enumerate(inner) if word in _STARTING), None)
            if started is None or _name_program("".join(inner[started + 1 : started + 2])) in rows.QUIET:
                return None
        if program in rows.FOREIGN_PATHS:
            return None
        paths = _iter_paths(program, inner[1:], is_away=self._places.is_outside(self._start, self._start))
        return OUTSIDE if any(map(self._is_foreign, paths)) else None

    def _is_foreign(self, path: str) -> bool:
        self._budget.spend(1 + len(path) // 16)
        return not path.startswith((*_DEVICES, ANYTHING)) and self._places.is_outside(path, self._start)


def _iter_paths(program: str, arguments: Sequence[str], *, is_away: bool) -> Iterator[str]:
    """What may be files that a program shows; in a folder of the workspace only those that lead out of it."""
    is_reader = program in rows.READERS or program in rows.PATTERN_READERS
    for word in _list_operands(program, arguments):
        path = word.removeprefix("file://")
        leads_away = path.startswith(("/", "~")) or ".." in path.split("/")
        if _ADDRESS in path or (path == "/" and program not in rows.PATTERN_READERS):
            continue
        if leads_away or (is_away and path and (is_reader or "." in path or "/" in path)):
            yield path


def _list_operands(program: str, arguments: Sequence[str]) -> list[str]:
    if program in rows.PATTERN_READERS:
        given = find_values(arguments, "-e", "-f", "--regexp", "--file", "--expression")
        operands = list(iter_operands(arguments, rows.PATTERN_OPTIONS))
        return operands if given else operands[1:]
    if program in rows.READERS:
        return list(iter_operands(arguments))
    operands = list(iter_operands(leave_out_texts(program, arguments), rows.OUTPUT_OPTIONS))
    if program in rows.COPIERS:
        target = find_values(arguments, "-t", "--target-directory") if program != "rsync" else []
        return [one for one in operands if one not in target] if target else operands[:-1]
    if program == "dd":
        return [word[3:] for word in operands if word.startswith("if=")]
    if program in {"tar", "bsdtar"} and "c" in "".join(arguments[:1]).partition("/")[0]:
        return [word for word in operands if not word.endswith((".tar", "gz", ".tgz", "xz", "bz2", "zst"))]
    return operands[1:] if program in {"zip", "7z"} else operands


def _skip_wrappers(words: Sequence[str]) -> list[str]:
    """What wrappers start in the end. `find` is one of itself, for what it is told to start."""
    kept = list(words)
    while kept and _name_program(kept[0]) in rows.WRAPPERS - {"find", "fd"}:
        kept = kept[1:]
        while kept and (kept[0].startswith("-") or kept[0][:1].isdigit() or _ASSIGNMENT.match(kept[0])):
            del kept[0]
    return kept


def _skip_to_program(words: Sequence[str]) -> list[str]:
    at = 0
    while at < len(words) and (words[at] in rows.KEYWORDS or _ASSIGNMENT.match(words[at])):
        at += 1
    return list(words[at:])


def _name_program(word: str) -> str:
    return word.rpartition("/")[2].lower().removesuffix(".exe")


def _is_foreign_remote(word: str) -> bool:
    """A remote that is not one of the workspace's own names, or somebody's pull request."""
    return _ADDRESS in word or "@" in word or "pull/" in word or "merge-requests/" in word
