"""What a command does to a memory root from a folder above it: takes it away, changes it, or puts files over it. Pure.

Sources: the manual pages of GNU coreutils, findutils and tar, of rsync, Info-ZIP, patch and git-clean.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from memrepo.policy.shell_options import always, find_values, has, has_option, iter_operands, words
from memrepo.policy.shell_programs import READERS, READERS_FROM_ABOVE
from memrepo.policy.shell_signs import WILD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memrepo.policy.shell_places import RootPlaces

_JUNK = words(
    "core *.pyc *.pyo __pycache__ .ds_store thumbs.db *.swp *.swo *~ *.orig *.rej *.o *.tmp node_modules "
    ".pytest_cache .mypy_cache .ruff_cache"
)  # names that no file of a memory has
_FINDING_ACTS = frozenset(["-prune", "-print", "-delete"])
_FINDING_VALUES = words("-name -iname -type -maxdepth -mindepth -mtime -size")
_RECURSIVE = ("-r", "-R", "-a", "--recursive", "--archive")
_COPYING_VALUES = frozenset({"-t", "--target-directory", "-S", "--suffix", "-e", "--rsh", "--exclude", "--include"})
_EXTRACTING = ("-x", "--extract", "--get")
_STARTING = ("-C", "--directory", "--cd")
_PATTERN_FIRST = words("grep egrep fgrep rg ag ack fd fdfind")


def changes_from_above(program: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    """Whether a program, given a folder above the root or begun in one, changes what is below it.

    Errors: TooMuchWork.
    """
    changes = _CHANGERS_OF_OPERANDS.get(program)
    if changes is not None:
        return changes(arguments) and _is_any_above(arguments, folders, places)
    look = _CHANGERS.get(program)
    return look is not None and look(program, arguments, folders, places)


def reads_from_above(program: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    """Whether a program shows what is below a folder above the root. Errors: TooMuchWork."""
    reads = READERS_FROM_ABOVE.get(program)
    if reads is None or not reads(arguments):
        return False
    if program in {"cp", "scp", "rsync", "ditto"}:
        return _is_any_above(_split_target(program, arguments)[0], folders, places)
    if program in {"tar", "bsdtar"}:
        if _is_unpacking(arguments):
            return False
        begins = find_values(arguments, *_STARTING) or list(folders)
        operands = list(iter_operands(arguments, frozenset({*_STARTING, "-f", "--file"})))
        return _is_any_above([posixpath.join(begin, one) for begin in begins for one in operands], folders, places)
    if program == "find":
        return _begins_above(_split_find(arguments)[0], folders, places)
    return _is_any_above(arguments, folders, places) or any(map(places.is_above, folders))


def lists_from_above(program: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    """Whether a program that writes names of files does so for a folder above the root. Errors: TooMuchWork."""
    if program == "find":
        return not _finds_junk_only(arguments) and _begins_above(_split_find(arguments)[0], folders, places)
    if program in _PATTERN_FIRST:
        goes_below = READERS_FROM_ABOVE.get(program, always)
        if not goes_below(arguments):
            return False
    if program in {"locate", "plocate", "mlocate", "mdfind"}:
        return True
    paths = list(iter_operands(arguments))[program in _PATTERN_FIRST :]
    is_here = not paths or program == "git"
    return _is_any_above(arguments, folders, places) or (is_here and any(map(places.is_above, folders)))


def _finds_junk_only(arguments: Sequence[str]) -> bool:
    """Whether `find` looks for nothing but names that a memory does not hold, and does no more than delete them."""
    names, rest = [], _split_find(arguments)[1]
    at = 0
    while at < len(rest):
        word = rest[at]
        if word in {"-name", "-iname"}:
            names += rest[at + 1 : at + 2]
        elif not names and word not in _FINDING_VALUES:
            return False  # what stands before the name holds for all files
        if word in {"-exec", "-execdir"} and rest[at + 1 : at + 2] == ["rm"]:
            ends = [end for end in range(at, len(rest)) if rest[end] in {";", "+"}]
            end = ends[0] if ends else len(rest)
            if not all(one == "{}" or one.startswith("-") for one in rest[at + 2 : end]):
                return False
            at = end + 1
        elif word in _FINDING_VALUES:
            at += 2
        elif word in _FINDING_ACTS:
            at += 1
        else:
            return False
    return bool(names) and all(name.casefold() in _JUNK for name in names)


def _split_find(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The folders that `find` begins in, and what it looks for and does."""
    at = 0
    while at < len(arguments) and (arguments[at] in {"-H", "-L", "-P", "-D"} or arguments[at].startswith("-O")):
        at += 2 if arguments[at] == "-D" else 1
    end = at
    while end < len(arguments) and not (arguments[end].startswith("-") or arguments[end] in {"(", "!"}):
        end += 1
    return [*arguments[at:end], *find_values(arguments, "-f")], list(arguments[end:])


def _split_target(program: str, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is copied or moved, and where to."""
    operands = list(iter_operands(arguments, _COPYING_VALUES))
    target: list[str] = []
    if program in {"cp", "mv"}:
        split = [part for one in arguments for part in ((one[:-1], "-t") if _ends_with_target(one) else (one,))]
        target = find_values(split, "-t", "--target-directory")
    return (operands, target) if target else (operands[:-1], operands[-1:])


def _ends_with_target(argument: str) -> bool:
    return argument.startswith("-") and argument[1:2] != "-" and len(argument) > 2 and argument.endswith("t")


def _lands_on(sources: Sequence[str], targets: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    """Whether something of the root's name, or of a folder's above it, is put in a folder above it."""
    above = [place for one in targets for place in places.resolve(one, folders) if places.is_above(place)]
    put = [posixpath.join(place, posixpath.basename(one.rstrip("/"))) for place in above for one in sources]
    return any(places.leads_inside(one) or (places.is_above(one) and one not in above) for one in put)


def _copies_over(program: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    """Whether a folder is copied in such a way that what it holds lands in a folder above the root, or on the root."""
    if (
        program == "rsync"
        and has_option(arguments, "--remove-source-files")
        and _is_any_above(arguments, folders, places)
    ):
        return True
    sources, targets = _split_target(program, arguments)
    if not _is_any_above(targets, folders, places) or (program == "cp" and not has_option(arguments, *_RECURSIVE)):
        return False
    if program == "ditto" or has_option(arguments, "-T", "--no-target-directory", "--delete", "--delete-after"):
        return True
    means_inside = any(_means_what_is_inside(one, is_rsync=program == "rsync") for one in sources)
    return means_inside or _lands_on(sources, targets, folders, places)


def _means_what_is_inside(source: str, *, is_rsync: bool) -> bool:
    """Whether not the folder is copied but what it holds. A slash at the end says so to `rsync` only."""
    name = posixpath.basename(source if is_rsync else source.rstrip("/"))
    return name in {"", ".", ".."} or any(char in WILD for char in name)


def _unpacks_over(_: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    starts = find_values(arguments, *_STARTING)
    if not arguments[:1] or "C" in arguments[0].partition("/")[0]:
        starts += iter_operands(arguments)
    if has_option(arguments, "--remove-files") and _begins_above([*starts, *iter_operands(arguments)], folders, places):
        return True
    return _is_unpacking(arguments) and _begins_above(starts, folders, places)


def _is_unpacking(arguments: Sequence[str]) -> bool:
    return has_option(arguments, *_EXTRACTING) or "x" in "".join(arguments[:1]).partition("/")[0].partition(".")[0]


def _unpacks_zip_over(program: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    if has_option(arguments, "-p", "-l", "-t", "-Z") and program == "unzip":
        return False
    if program in {"7z", "7za", "unrar"} and arguments[:1] not in (["x"], ["e"]):
        return False
    if program == "cpio" and not has_option(arguments, "-i", "-p", "--extract", "--pass-through"):
        return False
    option = {"unzip": "-d", "7z": "-o", "7za": "-o", "unar": "-o"}.get(program)
    starts = find_values(arguments, option) if option else []
    return _begins_above(starts, folders, places)


def _begins_above(starts: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    """Whether one of these folders is above the root; without any, one of those that the command is in."""
    return _is_any_above(starts, folders, places) if starts else any(map(places.is_above, folders))


def _is_any_above(words: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    return any(places.is_above(place) for word in words for place in places.resolve(word, folders))


def _finds_changes(_: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    if READERS["find"](arguments) or _finds_junk_only(arguments):
        return False
    return _begins_above(_split_find(arguments)[0], folders, places)


def _cleans(_: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    return "clean" in arguments and (
        _is_any_above(arguments, folders, places) or _begins_above(find_values(arguments, "-C"), folders, places)
    )


def _patches(_: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    return _begins_above(find_values(arguments, "-d", "--directory"), folders, places)


def _moves(program: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    sources, targets = _split_target(program, arguments)
    return _is_any_above(sources or targets, folders, places) or _lands_on(sources, targets, folders, places)


def _links(program: str, arguments: Sequence[str], folders: Sequence[str], places: RootPlaces) -> bool:
    """What is done through the link later is not seen."""
    sources = _split_target(program, arguments)[0] or arguments
    return has_option(arguments, "-s", "--symbolic") and _is_any_above(sources, folders, places)


_CHANGERS_OF_OPERANDS: dict[str, Callable[[Sequence[str]], bool]] = {
    **dict.fromkeys(("rm", "shred", "srm", "unlink"), has("-r", "-R", "--recursive")),
    **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl", "chattr"), has("-R", "--recursive")),
    **dict.fromkeys(("rename", "mmv", "trash", "trash-put", "gio"), always),
    **dict.fromkeys(("fd", "fdfind"), has("-x", "-X", "--exec", "--exec-batch")),
    "zip": has("-m", "--move"),
}
"""Programs that take away or change what is below a folder that they are given, with these options."""

_CHANGERS: dict[str, Callable[[str, Sequence[str], Sequence[str], RootPlaces], bool]] = {
    "find": _finds_changes,
    "git": _cleans,
    "patch": _patches,
    "mv": _moves,
    "ln": _links,
    **dict.fromkeys(("cp", "rsync", "ditto", "scp"), _copies_over),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _unpacks_over),
    **dict.fromkeys(("unzip", "unar", "cpio", "pax", "7z", "7za", "unrar"), _unpacks_zip_over),
}
"""Programs for which it matters which of their words is the folder."""
