"""Whether a shell command may touch a memory root, judged by its text alone. Pure.

A command that does not name a root, in any way that this module can read, is not its business. One that does is let
through only when every part of it is a plain read; what is not understood and names a root is denied. A folder above a
root is named by what takes it away (`rm -rf ~`) or writes over it (`tar x -C ~`) and, where memory is off, by what
reads below it. The work is bounded: a text that takes too much of it counts as not understood.

Limits: a command can hide what it touches (a script, a name put together while it runs, a link made before). This is a
fence for honest agents, no sandbox; `guard` is one. Source: memory repo design (seed 1) §6.4.
"""

from __future__ import annotations

import posixpath
from functools import lru_cache
from typing import TYPE_CHECKING

from memrepo.policy.shell_above import changes_from_above, lists_from_above, reads_from_above
from memrepo.policy.shell_braces import spell_out
from memrepo.policy.shell_budget import TooMuchWork, WorkBudget
from memrepo.policy.shell_glance import (
    CommandGlance,
    find_fed_command,
    find_later_commands,
    find_started_command,
    glance,
    is_of,
    is_powershell,
    list_other_readings,
)
from memrepo.policy.shell_places import RootPlaces, may_be_git, normalize
from memrepo.policy.shell_programs import (
    FED_WRITERS,
    INTERPRETERS,
    LISTERS,
    LOOPS,
    READERS,
    RECURSIVE_READERS,
    RUNNERS,
    SPEAKERS,
    TEXT_RUNNERS,
    WRITERS,
)
from memrepo.policy.shell_scan import NotUnderstood, decode_escapes
from memrepo.policy.shell_signs import ANYTHING, write_choice, write_signs
from memrepo.policy.shell_words import SimpleCommand, read_commands

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PurePath

COMMAND_LIMIT_CHARS = 256 * 1024
_DEPTH_LIMIT = 6
_FOLDERS_LIMIT = 16

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
    return _judge(command, tuple(map(str, roots)), str(home), None if folder is None else str(folder))[not is_readable]


@lru_cache(maxsize=8)
def _judge(command: str, roots: tuple[str, ...], home: str, folder: str | None) -> tuple[str | None, str | None]:
    """The reason of a denial where memory is on, and where it is off: a hook asks for both."""
    budget = WorkBudget()
    start = () if folder is None else (normalize(folder),)
    found = [_Judge(root, home, budget).judge(command, start) for root in roots]
    return _find_first([on for on, _ in found]), _find_first([off for _, off in found])


def _find_first(whys: Sequence[str | None]) -> str | None:
    """The first reason; a folder above says less than a word that leads there."""
    reasons = sorted((why for why in whys if why is not None), key=lambda why: why == ABOVE)
    return reasons[0] if reasons else None


def is_root_named(text: str, *, root: PurePath, home: PurePath) -> bool:
    """Whether any text names a root, as a path or by its own name; quotes and backslashes do not hide it."""
    return RootPlaces(str(root), str(home), WorkBudget()).is_named_in(text)


def is_root_written(text: str, *, root: PurePath, home: PurePath) -> bool:
    """Whether any text holds the path of a root, in one of the ways to write it in full."""
    return RootPlaces(str(root), str(home), WorkBudget(len(text) + 1)).is_written_in(text)


class _Judge:
    """The judgement of one root. What is found is only added to, so that what comes later lifts nothing."""

    def __init__(self, root: str, home: str, budget: WorkBudget) -> None:
        self._budget = budget
        self._places = RootPlaces(root, home, budget)
        self._home = home
        self._been: list[str] = []  # the folders that the command goes through
        self._reasons: list[str] = []
        self._is_touched = False  # a word leads there
        self._is_read_from_above = False
        self._is_said = False  # the path stands in what a command writes
        self._is_plain = True
        self._is_harmless_to_words = True
        self._said: list[str] = []  # texts that the words of another command may come from
        self._lists_above = self._changes_fed = self._hands_over = False
        self._writes_vague = False  # a program that changes files is given what only the shell knows

    def judge(self, command: str, start: Sequence[str]) -> tuple[str | None, str | None]:
        """The reason of a denial where memory is on, and where it is off."""
        named = self._places.is_named_in
        if len(command) > COMMAND_LIMIT_CHARS or is_powershell(command):
            if named(command):
                return OPAQUE, OPAQUE
            if len(command) > COMMAND_LIMIT_CHARS:
                return None, None
        try:
            self._been += start
            for reading in (command, *list_other_readings(command)):
                self._read(reading, list(start), depth=0)
            if len(self._been) > len(start) and "pwd" in command.casefold():
                self._read(command, list(start), depth=0)  # now it is known where `$PWD` may be
        except TooMuchWork:
            if self._is_touched or self._is_said or named(command):
                self._reasons.append(OPAQUE)
        if self._lists_above and (self._changes_fed or (self._hands_over and self._writes_vague)):
            self._reasons.append(ABOVE)
        if self._writes_vague and (self._is_touched or any(map(named, self._said))):
            self._reasons.append(OPAQUE)
        if self._reasons:
            return self._reasons[0], self._reasons[0]
        if (self._is_touched and not self._is_plain) or (self._is_said and not self._is_harmless_to_words):
            return CHANGES, CHANGES
        return None, OFF if self._is_touched else ABOVE if self._is_read_from_above else None

    def _read(self, command: str, folders: list[str], *, depth: int, is_run: bool = False) -> None:
        """Looks at all commands of a text. `is_run`: what they write is run."""
        self._budget.spend(20 + len(command) // 64)
        user = posixpath.basename(self._home)
        variables = {"HOME": self._home, "USER": user, "LOGNAME": user, "IFS": " "}
        if self._been:
            variables["PWD"] = write_choice(self._been)
        try:
            if depth > _DEPTH_LIMIT:
                raise NotUnderstood("too deep")
            commands = read_commands(command, variables=variables, budget=self._budget)
        except (NotUnderstood, IndexError, ValueError):
            if self._places.is_named_in(command):
                self._reasons.append(OPAQUE)
            return
        if any(one.is_doubtful for one in commands) and self._places.is_named_in(command):
            self._reasons.append(OPAQUE)
        seen = []
        for one in commands:
            did_list = self._lists_above
            program = glance(one, one.words).program
            for nested in one.nested:
                self._read(nested, folders, depth=depth + 1, is_run=is_of(program, RUNNERS | TEXT_RUNNERS))
            self._hands_over = self._hands_over or self._lists_above > did_list
            seen.append(self._look_at(one, folders, depth=depth))
        self._look_between(seen, folders, depth=depth, is_run=is_run)

    def _look_between(self, seen: Sequence[CommandGlance], folders: list[str], *, depth: int, is_run: bool) -> None:
        """What one command writes may be the program of another."""
        if any(is_of(one.program, INTERPRETERS) and not one.edits_text for one in seen):
            texts = [text for one in seen for text in one.texts]
            if any(map(self._places.is_named_in, texts)):
                self._reasons.append(OPAQUE)
        if is_run or any(is_of(one.program, TEXT_RUNNERS) for one in seen):
            for one in seen:
                if one.program in SPEAKERS:
                    for text in dict.fromkeys((" ".join(one.arguments), *one.arguments, *one.command.bodies)):
                        self._read(decode_escapes(text), list(folders), depth=depth + 1)

    def _look_at(
        self, command: SimpleCommand, folders: list[str], *, depth: int, is_fed: bool = False
    ) -> CommandGlance:
        self._budget.spend(20 + 2 * len(command.words))
        seen = glance(command, [spelled for word in command.words for spelled in spell_out(word, self._budget)])
        self._is_plain = self._is_plain and seen.is_plain
        self._is_harmless_to_words = self._is_harmless_to_words and seen.is_harmless_to_words
        self._changes_fed = self._changes_fed or (is_fed and not seen.is_plain) or seen.program in FED_WRITERS
        self._hands_over = self._hands_over or bool(seen.keywords & LOOPS)
        if seen.program not in READERS or seen.program in SPEAKERS:
            self._said += (*seen.texts, " ".join(seen.arguments))
        for written in command.writes:
            for word in spell_out(written, self._budget):
                self._look_at_target(word, folders)
        for word in (*seen.texts_as_words, *command.reads):
            self._look_at_word(word, folders, seen)
        if any(map(self._places.is_written_in, command.bodies)):
            if seen.program in SPEAKERS:
                self._is_said = True
            elif seen.is_plain:
                self._is_touched = True
            else:
                self._reasons.append(OPAQUE)
        self._look_above(seen, folders)
        self._follow(seen, folders, depth=depth)
        if any(self._places.leads_inside(folder) for folder in folders):
            self._look_at_place(seen)
        return seen

    def _follow(self, seen: CommandGlance, folders: list[str], *, depth: int) -> None:
        """The commands that stand in the arguments, and the folder that the next ones run in."""
        if is_of(seen.program, RUNNERS):
            for text in dict.fromkeys((" ".join(seen.arguments), *seen.arguments, *seen.command.bodies)):
                if text and not text.startswith("-"):
                    self._read(write_signs(text), list(folders), depth=depth + 1)
            fed = find_fed_command(seen.program, seen.arguments)
            if fed and depth < _DEPTH_LIMIT:
                self._look_at(SimpleCommand(words=fed), list(folders), depth=depth + 1, is_fed=True)
        started = find_started_command(seen.program, seen.arguments)
        if started and depth < _DEPTH_LIMIT:
            self._look_at(SimpleCommand(words=started), list(folders), depth=depth + 1)
        for text in find_later_commands(seen.words):
            self._read(text, list(folders), depth=depth + 1)
        if seen.program in {"cd", "pushd"}:
            targets = [word for word in seen.arguments if not word.startswith("-")] or [self._home]
            found = [place for word in targets for place in self._places.resolve(word, folders)]
            folders[:] = list(dict.fromkeys([*folders, *found]))[-_FOLDERS_LIMIT:]
            self._been = list(dict.fromkeys([*self._been, *found]))[-_FOLDERS_LIMIT:]

    def _look_at_target(self, word: str, folders: Sequence[str]) -> None:
        """A file that is written to."""
        if self._places.leads_inside(word, folders):
            self._reasons.append(CHANGES)
        elif ANYTHING in word and self._places.leads_inside(word, folders, may_be_vague=True):
            self._writes_vague = True

    def _look_at_word(self, word: str, folders: Sequence[str], seen: CommandGlance) -> None:
        rest = self._places.find_touch(word, folders)
        if rest is not None:
            self._is_touched = True
            if may_be_git(rest):
                self._reasons.append(GIT_FOLDER)
        elif self._places.is_written_in(word, is_path=seen.names_files):
            if seen.program in SPEAKERS:
                self._is_said = True
            else:
                self._is_touched = True
        elif (
            ANYTHING in word
            and is_of(seen.program, WRITERS)
            and not seen.is_plain
            and self._places.leads_inside(word, folders, may_be_vague=True)
        ):
            self._writes_vague = True

    def _look_at_place(self, seen: CommandGlance) -> None:
        """A command that runs inside the root."""
        self._is_touched = True
        goes_below = RECURSIVE_READERS.get(seen.program)
        if goes_below is not None and goes_below(seen.arguments):
            self._reasons.append(GIT_BELOW)

    def _look_above(self, seen: CommandGlance, folders: Sequence[str]) -> None:
        """Folders that hold the root, and the root itself where a program goes below what it is given."""
        goes_below = RECURSIVE_READERS.get(seen.program)
        if (
            goes_below is not None
            and goes_below(seen.arguments)
            and any(self._places.leads_inside(word, folders) for word in seen.arguments)
        ):
            self._reasons.append(GIT_BELOW)
        if changes_from_above(seen.program, seen.arguments, folders, self._places):
            self._reasons.append(ABOVE)
        if reads_from_above(seen.program, seen.arguments, folders, self._places):
            self._is_read_from_above = True
        if seen.program in LISTERS and lists_from_above(seen.program, seen.arguments, folders, self._places):
            self._lists_above = True
