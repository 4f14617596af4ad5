"""Whether a shell command may touch a memory root, judged by its text alone. Pure.

A command that does not name a root, in any way that this module can read, is not its business. One that does is let
through only when every part of it is a plain read; what is not understood and names a root is denied. A folder above a
root is named by what takes it away (`rm -rf ~`) and, where memory is off, by what reads below it.

Limits: a command can hide what it touches (a script, a name put together while it runs, a link made before). This is a
fence for honest agents, no sandbox; `guard` is one. Source: memory repo design (seed 1) §6.4.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import TYPE_CHECKING

from memrepo.policy.shell_programs import (
    CHANGERS_ABOVE,
    INTERPRETERS,
    KEYWORDS,
    READERS,
    RECURSIVE_READERS,
    RUNNERS,
)
from memrepo.policy.shell_words import ANYTHING, ONE, STAR, WILD, NotUnderstood, SimpleCommand, read_commands, spell_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import PurePath

COMMAND_LIMIT_CHARS = 256 * 1024
_DEPTH_LIMIT = 6
_FOLDERS_LIMIT = 16
_WORDS_LIMIT = 1000
_PATH_LIMIT_CHARS = 4096
_UNKNOWN_ABOVE = re.compile(rf"(?:[^/]*{ANYTHING}[^/]*|/proc/[^/]+/(?:cwd|root|fd/[^/]+))/+(?:\./+)*\.\.(?=/|$)")
_OWN_PROGRAMS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
_LEAST_LITERALS = 3  # so that a lone variable does not stand for every path
_VERSIONED = ("python", "pypy", "perl", "ruby", "php", "lua", "node", "sqlite", "bash")
_QUOTING = str.maketrans("", "", "'\"\\")
_OTHER_ROOTS = ("/proc/self/root", "/proc/thread-self/root", "/proc/1/root", "/dev/fd/../root")

CHANGES = "a shell command may name the memory folder only to read it (cat, ls, head, tail, wc, stat, find, grep, rg)"
OPAQUE = "the command names the memory folder in a way that cannot be checked"
GIT_FOLDER = "the git folder of the memory folder is closed, for reading too"
GIT_BELOW = "that reads the git folder of the memory folder too (leave it out: --exclude-dir=.git)"
ABOVE = "the memory folder is in that folder"
OFF = "memory is off for this task, so the memory folder is not read"


def find_memory_touch(
    command: str,
    *,
    roots: Sequence[PurePath],
    home: PurePath,
    folder: PurePath | None,
    is_readable: bool,
) -> str | None:
    """Why a command is denied; None when it may run. `folder` is where it starts, None when that is not known.

    `is_readable`: the task's memory layer is on, so plain reads may pass.
    """
    judges = [_Judge(str(root), str(home), is_readable=is_readable) for root in roots]
    start = () if folder is None else (_normalize(str(folder)),)
    return next((reason for judge in judges if (reason := judge.judge(command, start)) is not None), None)


def is_root_named(text: str, *, root: PurePath, home: PurePath) -> bool:
    """Whether any text names a root, as a path or by its own name; quotes and backslashes do not hide it."""
    return _Judge(str(root), str(home), is_readable=False).is_named_in(text)


def is_root_written(text: str, *, root: PurePath, home: PurePath) -> bool:
    """Whether any text holds the path of a root, in one of the ways to write it in full."""
    return _Judge(str(root), str(home), is_readable=False).is_written_in(text)


class _Judge:
    """The judgement of one root."""

    def __init__(self, root: str, home: str, *, is_readable: bool) -> None:
        self._root = _fold(_normalize(root))
        self._parents = [str(one) for one in _iter_parents(self._root)]
        self._home = home
        self._is_readable = is_readable
        self._names = _list_names(self._root, _fold(_normalize(home)))
        self._touches: list[str] = []  # what was found, as reasons; "" is a read of what may be read
        self._is_plain = True

    def judge(self, command: str, start: Sequence[str]) -> str | None:
        """The reason of a denial, or None."""
        self._touches, self._is_plain = [], True
        if len(command) > COMMAND_LIMIT_CHARS:
            return OPAQUE if self.is_named_in(command) else None
        self._read(command, list(start), depth=0)
        if not self._touches:
            return None
        worst = next((reason for reason in self._touches if reason), None)
        if worst is not None:
            return worst
        if not self._is_plain:
            return CHANGES
        return None if self._is_readable else OFF

    def _read(self, command: str, folders: list[str], *, depth: int) -> None:
        user = posixpath.basename(self._home)
        variables = {"HOME": self._home, "USER": user, "LOGNAME": user} | ({"PWD": folders[0]} if folders else {})
        try:
            if depth > _DEPTH_LIMIT:
                raise NotUnderstood("too deep")
            commands = read_commands(command, variables=variables)
        except (NotUnderstood, IndexError, ValueError):
            if self.is_named_in(command):
                self._touches.append(OPAQUE)
            return
        for one in commands:
            for nested in one.nested:
                self._read(nested, folders, depth=depth + 1)
            self._look_at(one, folders, depth=depth)
        if any(_is_of(_find_program(one.words)[0], INTERPRETERS) for one in commands):
            texts = [text for one in commands for text in (*one.words, *one.bodies)]
            if any(map(self.is_named_in, texts)):  # one of them may be the program of another
                self._touches.append(OPAQUE)

    def _look_at(self, command: SimpleCommand, folders: list[str], *, depth: int) -> None:
        words = [spelled for word in command.words for spelled in spell_out(word)]
        program, arguments = _find_program(words)
        reader = READERS.get(program) if _is_own_program(words) else None
        is_plain = not program or (reader is not None and reader.allows(arguments))
        self._is_plain = self._is_plain and is_plain
        if any(self._leads_inside(one, folders) for written in command.writes for one in spell_out(written)):
            self._touches.append(CHANGES)
        for word in (*words, *command.reads):
            self._look_at_word(word, folders)
        if any(map(self.is_written_in, command.bodies)):
            self._touches.append("" if is_plain else OPAQUE)
        self._look_above(program, arguments, folders)
        if _is_of(program, RUNNERS):
            for text in (" ".join(arguments), *arguments, *command.bodies):
                if text and not text.startswith("-"):
                    self._read(text, list(folders), depth=depth + 1)
        if program in {"cd", "pushd"}:
            targets = [word for word in arguments if not word.startswith("-")] or [self._home]
            folders += [place for word in targets for place in self._resolve(word, folders)]
            del folders[_FOLDERS_LIMIT:]
        if any(self._leads_inside(folder, ()) for folder in folders):
            self._look_at_place(program, arguments)

    def _look_at_word(self, word: str, folders: Sequence[str]) -> None:
        for piece in _split_pieces(word):
            rest = self._find_rest(piece, folders)
            if rest is not None:
                self._touches.append(GIT_FOLDER if _may_be_git(rest) else "")
                return
        if self.is_written_in(word):
            self._touches.append("")

    def _look_at_place(self, program: str, arguments: Sequence[str]) -> None:
        """A command that runs inside the root."""
        self._touches.append("")
        if program in RECURSIVE_READERS and RECURSIVE_READERS[program](arguments):
            self._touches.append(GIT_BELOW)

    def _look_above(self, program: str, arguments: Sequence[str], folders: Sequence[str]) -> None:
        """Folders that hold the root, and the root itself where a program goes below what it is given."""
        goes_below = RECURSIVE_READERS.get(program)
        places = [place for word in arguments[:_WORDS_LIMIT] for place in self._resolve(word, folders)]
        if goes_below is not None and goes_below(arguments) and any(self._leads_inside(place, ()) for place in places):
            self._touches.append(GIT_BELOW)
        if goes_below is not None or program == "git":  # they begin in the current folder
            places += folders
        if not any(map(self._is_above, places)):
            return
        changes = CHANGERS_ABOVE.get(program)
        is_taken = changes is not None and changes(arguments)
        is_read = (
            not self._is_readable and goes_below is not None and (program in {"rg", "find"} or goes_below(arguments))
        )
        if is_taken or is_read:
            self._touches.append(ABOVE)

    # Places

    def _resolve(self, word: str, folders: Sequence[str]) -> list[str]:
        """The absolute patterns that a word may mean as a path."""
        if word.startswith("/"):
            return [_strip_other_root(_normalize(word))]
        if word.startswith(ANYTHING) or not folders:
            return [_normalize(word if word.startswith(ANYTHING) else f"{ANYTHING}/{word}")]
        return [_strip_other_root(_normalize(f"{folder}/{word}")) for folder in folders]

    def _find_rest(self, word: str, folders: Sequence[str]) -> str | None:
        """What of a path comes below the root; None when it does not lead there."""
        for place in self._resolve(word, folders):
            folded = _fold(place)
            ends = [at for at, char in enumerate(folded) if char == "/" and at] + [len(folded)]
            for end in ends:
                if _count_literals(folded[:end]) > len(self._root):
                    break
                if _matches(folded[:end], self._root) and _says_enough(folded[:end]):
                    return folded[end + 1 :]
        return None

    def _leads_inside(self, word: str, folders: Sequence[str]) -> bool:
        return self._find_rest(word, folders) is not None

    def _is_above(self, place: str) -> bool:
        folded = _fold(place)
        return any(_matches(folded, parent) and _says_enough(folded) for parent in self._parents)

    # Text

    def is_written_in(self, text: str) -> bool:
        """Whether a text holds the path of the root, in any of the ways to write it in full."""
        folded = _fold(text)
        return any(_holds(folded, name) for name in self._names if "/" in name)

    def is_named_in(self, text: str) -> bool:
        """Whether program text names the root, quotes and backslashes aside; its own name is enough."""
        folded = _fold(text.replace("\\\n", "").translate(_QUOTING))
        return any(_holds(folded, name) for name in self._names) or _spells_pattern(folded, self._names)


def _find_program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program of a simple command and its arguments, without what stands before it."""
    at = 0
    while at < len(words) and (words[at] in KEYWORDS or _is_assignment(words[at])):
        at += 1
    if at >= len(words):
        return "", ()
    name = words[at].rpartition("/")[2].casefold()
    return name.rstrip("0123456789.-") if name.startswith(_VERSIONED) else name, words[at + 1 :]


def _is_own_program(words: Sequence[str]) -> bool:
    """Whether the name of a program means the system's: not a file in some folder, nor what a new PATH finds."""
    before = [word for word in words if _is_assignment(word)]
    named = next((word for word in words if word not in KEYWORDS and not _is_assignment(word)), "")
    is_moved = any(word.startswith(("PATH=", "PATH+=", "LD_", "DYLD_")) for word in before)
    return not is_moved and ("/" not in named or named.startswith(_OWN_PROGRAMS))


def _is_of(program: str, programs: frozenset[str]) -> bool:
    """Whether a program is one of these; one whose name only the shell knows may be any."""
    return program in programs or any(char in WILD for char in program)


def _is_assignment(word: str) -> bool:
    name, is_there, _ = word.partition("=")
    return bool(is_there) and name.rstrip("+").isidentifier()


def _split_pieces(word: str) -> Iterator[str]:
    """A word, and what of it may be a path: `--file=PATH`, `of=PATH`, `host:PATH`, `@PATH`, `-CPATH`."""
    if len(word) > _PATH_LIMIT_CHARS:
        return
    yield word
    yield word.removeprefix("file://")
    for mark in "=:@,":
        yield from word.split(mark)[1:]
    if len(word) > 2 and word[0] == "-" and word[2] in "/" + ANYTHING:
        yield word[2:]


def _may_be_git(rest: str) -> bool:
    """Whether a path below the root may lead into its git folder: `*` does not stand for a leading dot."""
    return (
        any(_matches(part, ".git") and part[:1] not in {STAR, ONE} for part in rest.split("/") if part)
        or ANYTHING in rest
    )


def _normalize(path: str) -> str:
    path = path.replace(STAR + STAR, ANYTHING)
    while (found := _UNKNOWN_ABOVE.search(path)) is not None:  # `..` of what is not known is not known
        path = path[: found.start()] + ANYTHING + path[found.end() :]
    flat = posixpath.normpath(path)
    return flat[1:] if flat.startswith("//") else flat


def _strip_other_root(path: str) -> str:
    for prefix in _OTHER_ROOTS:
        if path.startswith(prefix + "/"):
            return path[len(prefix) :]
    return path


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _iter_parents(path: str) -> Iterator[str]:
    while path not in {"/", ""}:
        path = posixpath.dirname(path)
        yield path


def _list_names(root: str, home: str) -> tuple[str, ...]:
    """The ways to write the root down: in full, from the home folder, and by its own name (with a folder, if plain)."""
    names = [root]
    if root.startswith(home + "/"):
        below = root[len(home) :]
        names += ["~" + below, "$home" + below, "${home}" + below]
    parent, own = posixpath.split(root)
    names.append(own if " " in own else f"{posixpath.basename(parent)}/{own}")
    return tuple(names)


def _holds(text: str, name: str) -> bool:
    """Whether a text holds a name that does not go on with a letter or digit."""
    at = text.find(name)
    while at >= 0:
        after = text[at + len(name) : at + len(name) + 1]
        if not (after.isalnum() or after in {"_", "-"}):
            return True
        at = text.find(name, at + 1)
    return False


def _spells_pattern(text: str, names: Sequence[str]) -> bool:
    """Whether program text holds the beginning of the root's own name and then a wildcard (`CoWork*`)."""
    own = names[-1]
    return any(f"{own[:size]}{mark}" in text for size in range(4, len(own)) for mark in ("*", "?", STAR, ONE))


def _says_enough(pattern: str) -> bool:
    """Whether a pattern with unknown parts at least holds letters of the last name in it."""
    return ANYTHING not in pattern or _count_literals(pattern.rpartition("/")[2]) >= _LEAST_LITERALS


def _count_literals(pattern: str) -> int:
    return sum(char not in WILD for char in pattern)


def _matches(pattern: str, text: str) -> bool:
    """Whether a pattern stands for a text, in time that grows with both."""
    if not any(char in WILD for char in pattern):
        return pattern == text
    places = {0}
    for char in pattern:
        if char == ANYTHING:
            places = set(range(min(places), len(text) + 1))
        elif char == STAR:
            places = {end for at in places for end in _run(text, at)}
        else:
            places = {
                at + 1 for at in places if at < len(text) and (text[at] == char or (char == ONE and text[at] != "/"))
            }
        if not places:
            return False
    return len(text) in places


def _run(text: str, at: int) -> range:
    end = text.find("/", at)
    return range(at, (len(text) if end < 0 else end) + 1)
