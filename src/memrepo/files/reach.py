"""Where a path leads: every way in which a tool and a file system may read it.

Looks at the disk so that `policy.access` need not, and decides nothing. A tool may take the dots out of a path before
or after the links; it may expand `~` or not; the file system may ignore case or how accents are written, or show one
folder under two names. So a path has one or more places, and a folder is recognised as a root by being the same folder,
not by its letters. Opens and changes nothing.

Limit: hard links and mounts of a folder inside of a root look like files of their own.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from memrepo.errors import PathRefused
from memrepo.files.paths import check_repo_path
from memrepo.policy.access import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_Identity = tuple[int, int]


def resolve_reach(raw: str | Path, *, base: Path, home: Path, roots: Sequence[Path]) -> tuple[Place, ...]:
    """Returns the places that a path may mean, without doubles. `base` is the folder that relative paths start from.

    Any string has at least one place; what cannot be resolved (a loop, no permission) has no `real`. Changes: nothing.
    """
    known = [(root, _find_identity(str(root))) for root in roots]
    places = []
    for candidate in _read_path(os.fspath(raw), str(base), str(home)):
        flat = os.path.normpath(candidate)
        asked = _respell(flat, known)
        for path in (candidate, flat):
            real = _find_real(path)
            places.append(Place(asked, None if real is None else _respell(real, known)))
    return tuple(dict.fromkeys(places))


def _read_path(text: str, base: str, home: str) -> Iterator[str]:
    if text == "~" or text.startswith("~/"):
        yield home + text[1:]
    yield os.path.join(base, text)  # noqa: PTH118 - a Path would drop what the dots may mean


def _find_real(path: str) -> str | None:
    """The path without links; of what is missing, where it would be made."""
    try:
        return os.path.realpath(path, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError):
        return None
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None


def _respell(path: str, known: Sequence[tuple[Path, _Identity | None]]) -> PurePath:
    """The path, spelled like the root that it is under, if any."""
    place = PurePath(path)
    for ancestor in (place, *place.parents):
        identity = _find_identity(str(ancestor))
        for root, root_identity in known:
            if ancestor == root or (identity == root_identity if identity else _may_be(ancestor, root, root_identity)):
                return PurePath(root, *map(_name_git, place.relative_to(ancestor).parts))
    return place


def _may_be(ancestor: PurePath, root: Path, root_identity: _Identity | None) -> bool:
    """Whether two folders of which neither can be looked at could be one: their letters differ in form only.

    When one of them is there and the other is not, the file system has told them apart.
    """
    return root_identity is None and _fold(str(ancestor)) == _fold(str(root))


def _find_identity(path: str) -> _Identity | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - strings here: this runs for every folder above a path
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _name_git(part: str) -> str:
    """The name, or `.git` for every name that some file system takes for it."""
    try:
        check_repo_path(part)
    except PathRefused as refused:
        if refused.facts.get("rule") == "git-folder":
            return ".git"
    return part
