"""Which workspace a person means by a folder or an id.

A folder needs no registration: its workspace is the nearest folder above it with a `.git` (else itself), and its id is
made from that path, so every process gives it the same. Settings may know a workspace better (its name, its privacy);
then they win. Looks at folders and changes nothing; what the current and the home folder are is the caller's to say.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput
from memrepo.model import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ID_PREFIX = "ws-"
_ID_DIGITS = 12


def make_workspace_id(root: Path) -> str:
    """The id of a workspace that no settings name: from its absolute path alone."""
    return ID_PREFIX + hashlib.sha256(os.fsencode(root)).hexdigest()[:_ID_DIGITS]


def resolve_workspace(
    argument: str,
    *,
    known: Sequence[Workspace],
    home: Path,
    current_folder: Path,
    memory_root: Path,
    find_by_id: Callable[[str], Workspace | None] = lambda _: None,
) -> Workspace:
    """Returns the workspace that an id or a folder names.

    An id that `known` has comes first, then one that `find_by_id` finds, then a folder. A folder inside several known
    workspaces belongs to the innermost. Errors: InvalidInput for what is neither, for the home folder and folders above
    it, and for the memory folder. Changes: nothing.
    """
    by_id = next((workspace for workspace in known if workspace.id == argument), None) or find_by_id(argument)
    if by_id is not None:
        return by_id
    if not argument.strip():
        raise _invalid("the workspace is empty", argument)
    named = home / argument[2:] if argument == "~" or argument.startswith("~/") else Path(argument)
    folder = Path(os.path.realpath(current_folder / named))
    if not folder.is_dir():
        raise _invalid(f"{argument!r} is neither a folder nor the id of a known workspace", argument)
    if folder.is_relative_to(os.path.realpath(memory_root)):
        raise _invalid(f"{folder} is the memory folder, which is no workspace", argument)
    registered = _find_innermost(folder, known)
    real_home = Path(os.path.realpath(home))
    if registered is not None and not real_home.is_relative_to(os.path.realpath(registered.root or "/")):
        return registered
    if real_home.is_relative_to(folder):
        raise _invalid(f"{folder} is your home folder or above it, which is no workspace", argument)
    root = _find_project(folder, real_home)
    return Workspace(make_workspace_id(root), root.name, root)


def _find_innermost(folder: Path, known: Sequence[Workspace]) -> Workspace | None:
    around = [
        (len(Path(root).parts), workspace)
        for workspace in known
        if workspace.root is not None and folder.is_relative_to(root := os.path.realpath(workspace.root))
    ]
    return max(around, key=lambda pair: pair[0])[1] if around else None


def _find_project(folder: Path, home: Path) -> Path:
    """The nearest folder with a `.git`, below the home folder or outside it; a repository of the whole home is none."""
    for place in (folder, *folder.parents):
        if home.is_relative_to(place):
            break
        if os.path.lexists(place / ".git"):
            return place
    return folder


def _invalid(why: str, argument: str) -> InvalidInput:
    return InvalidInput(
        why,
        hint="give a project's folder (--workspace DIR), or an id that is in: memrepo settings get workspaces",
        key="--workspace",
        value=argument,
    )
