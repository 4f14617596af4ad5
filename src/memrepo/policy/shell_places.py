"""Where the words of a shell command lead, as patterns of paths, and how one memory root may be written. Pure.

No disk is asked: `..` of a folder that is not known is not known. Letters are compared without case and in one Unicode
form, since some file systems do.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import TYPE_CHECKING

from memrepo.policy.shell_signs import ANYTHING, DEEP, ONE, STAR, WILD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memrepo.policy.shell_budget import WorkBudget

_LEAST_LITERALS = 3  # so that a lone variable does not stand for every path
_WORD_LIMIT_CHARS = 4096
_IN_PROCESS = re.compile(r"^/+proc/+[^/]+/+cwd(?=/|$)")
_QUOTING = str.maketrans("", "", "'\"\\`")
_UNFINISHED = ("*", "?", "%", "{", "[", "$", *WILD)
_AFTER_A_NAME = frozenset("/\\'\"`\n\t;:,&|()<>[]{}")


class RootPlaces:
    """One root among the places that words mean. Every look is paid from the budget. Errors: TooMuchWork."""

    def __init__(self, root: str, home: str, budget: WorkBudget) -> None:
        self.root = fold(normalize(root))
        self.parents = tuple(_iter_parents(self.root))
        self._names = _list_names(self.root, fold(normalize(home)))
        self._budget = budget

    def resolve(self, word: str, folders: Sequence[str]) -> list[str]:
        """The absolute patterns that a word may mean as a path."""
        self._budget.spend(1 + len(word) // 16)
        if word.startswith("/"):
            inside = _IN_PROCESS.sub("", word, count=1)
            found = [normalize(word)]
            return found if inside == word else found + [normalize(f"{folder}/{inside}") for folder in folders]
        if word.startswith(ANYTHING) or not folders:
            return [normalize(word if word.startswith(ANYTHING) else f"{ANYTHING}/{word}")]
        self._budget.spend(len(folders) * (1 + len(word) // 16))
        return list(dict.fromkeys(normalize(f"{folder}/{word}") for folder in folders))

    def find_rest(self, word: str, folders: Sequence[str], *, may_be_vague: bool = False) -> str | None:
        """What of a path comes below the root; None when it does not lead there.

        `may_be_vague`: a pattern counts too that says next to nothing (a lone variable).
        """
        for place in self.resolve(word, folders):
            folded = fold(place)
            if not _is_pattern(folded):
                if folded == self.root or folded.startswith(self.root + "/"):
                    return folded[len(self.root) + 1 :]
                continue
            for end in self._iter_ends(folded):
                if self._matches(folded[:end], self.root) and (may_be_vague or _says_enough(folded[:end])):
                    return folded[end + 1 :]
        return None

    def leads_inside(self, word: str, folders: Sequence[str] = (), *, may_be_vague: bool = False) -> bool:
        """Whether a word means the root or something below it."""
        return self.find_rest(word, folders, may_be_vague=may_be_vague) is not None

    def is_above(self, place: str) -> bool:
        """Whether an absolute pattern means a folder that holds the root."""
        folded = fold(place)
        if not _is_pattern(folded):
            return folded in self.parents
        return _says_enough(folded) and any(self._matches(folded, parent) for parent in self.parents)

    def find_touch(self, word: str, folders: Sequence[str]) -> str | None:
        """Like `find_rest`, also for what of a word may be a path: `--file=PATH`, `host:PATH`, `@PATH`, `-CPATH`."""
        for piece in _split_pieces(word):
            rest = self.find_rest(piece, folders)
            if rest is not None:
                return rest
        return None

    def is_written_in(self, text: str, *, is_path: bool = False) -> bool:
        """Whether a text holds the path of the root, in any of the ways to write it in full.

        `is_path`: the text is a file's name and no program, so that `CoWork Memory.bak` is another one.
        """
        self._budget.spend(1 + len(text) // 64)
        folded = fold(text)
        return any(_holds(folded, name, is_path=is_path) for name in self._names if "/" in name)

    def is_named_in(self, text: str) -> bool:
        """Whether program text names the root, quotes and backslashes aside; its own name is enough. Never too much."""
        folded = fold(text.replace("\\\n", "").replace("`\n", "").translate(_QUOTING))
        return any(_holds(folded, name) for name in self._names) or _spells_beginning(folded, self._names[-1])

    def _iter_ends(self, pattern: str) -> Iterator[int]:
        """Where the part of a pattern ends that may be the root."""
        literals = 0
        for at, char in enumerate(pattern):
            if char == "/" and at:
                yield at
            literals += char not in WILD
            if literals > len(self.root):
                return
        yield len(pattern)

    def _matches(self, pattern: str, text: str) -> bool:
        self._budget.spend(1 + len(pattern) // 2)
        return matches(pattern, text)


def may_be_git(rest: str) -> bool:
    """Whether a path below the root may lead into its git folder: `*` does not stand for a leading dot."""
    return ANYTHING in rest or any(
        part[:1] not in {STAR, ONE, DEEP} and matches(part, ".git") for part in rest.split("/") if part
    )


def normalize(path: str) -> str:
    """A path without dots and doubled slashes. What `/proc` shows of a process's folder is not known."""
    while STAR + STAR in path:
        path = path.replace(STAR + STAR, DEEP).replace(DEEP + STAR, DEEP)
    is_absolute = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part in {"", "."}:
            continue
        if part != "..":
            parts.append(part)
            is_absolute = _leave_process(parts, is_absolute=is_absolute)
        elif parts == ["dev", "fd"] and is_absolute:
            parts = ["proc", "self"]
        elif parts and ANYTHING in parts[-1]:
            parts[-1] = ANYTHING
        elif parts and DEEP in parts[-1]:
            parts[-1] = DEEP
        elif parts and parts[-1] != "..":
            parts.pop()
        elif not is_absolute:
            parts.append(part)
    flat = "/".join(parts)
    return "/" + flat if is_absolute else flat or "."


def fold(text: str) -> str:
    """A text without case, in one Unicode form."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern stands for a text, in time that grows with both."""
    if not _is_pattern(pattern):
        return pattern == text
    places = {0}
    for char in pattern:
        if char in {ANYTHING, DEEP}:
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


def _is_pattern(text: str) -> bool:
    return any(char in text for char in WILD)


def _leave_process(parts: list[str], *, is_absolute: bool) -> bool:
    """Takes the folders out that `/proc` shows of a process; whether what is left is absolute."""
    if not is_absolute or parts[0] != "proc" or len(parts) not in {3, 4}:
        return is_absolute
    if parts[2] == "root" and len(parts) == 3:
        parts.clear()
    elif (parts[2] == "cwd" and len(parts) == 3) or (parts[2] == "fd" and len(parts) == 4):
        parts[:] = [ANYTHING]
        return False
    return True


def _split_pieces(word: str) -> Iterator[str]:
    if len(word) > _WORD_LIMIT_CHARS:
        return
    yield word
    if "file:" in word:
        from urllib.parse import unquote

        address = word.partition("file:")[2]
        yield unquote("/" + address[2:].partition("/")[2] if address.startswith("//") else address)
    for mark in "=:@,":
        if mark in word:
            yield from word.split(mark)[1:]
    if len(word) > 2 and word[0] == "-" and word[2] in "/" + ANYTHING:
        yield word[2:]


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


def _holds(text: str, name: str, *, is_path: bool = False) -> bool:
    """Whether a text holds a name that does not go on with a letter or digit; of a path, with anything but its end."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if is_path:
            while end < len(text) and text[end] in ". ":  # some systems leave these away at the end of a name
                end += 1
        after = text[end : end + 1]
        is_end = not after or after in _AFTER_A_NAME if is_path else not (after.isalnum() or after in {"_", "-"})
        if is_end:
            return True
        at = text.find(name, at + 1)
    return False


def _spells_beginning(text: str, own: str) -> bool:
    """Whether program text holds the beginning of the root's own name and then what another part is put in for."""
    least = own.find("/") + 2 if "/" in own else 4
    at = text.find(own[:least])
    while at >= 0:
        size = least
        while size < len(own) and text[at + size : at + size + 1] == own[size]:
            size += 1
        if size < len(own) and text[at + size : at + size + 1] in _UNFINISHED:
            return True
        at = text.find(own[:least], at + 1)
    return False


def _says_enough(pattern: str) -> bool:
    """Whether a pattern with unknown parts at least holds letters of the last name in it."""
    folder, _, name = pattern.rpartition("/")
    literals = sum(char not in WILD for char in name)
    return ANYTHING not in pattern or literals >= (_LEAST_LITERALS if ANYTHING in folder else 1)
