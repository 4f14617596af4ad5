"""What an agent's file tools may do under the roots of memory: one decision per path, with its reason. Pure.

Owns the rules: reading needs the task's memory layer; writing, deleting and renaming are for the service alone,
whoever asks; the folder of git is closed, reading included; a link never leads out of a root. The disk is not looked
at: a `Place` says where a path leads (`files/reach.py` finds out). Invariant: adding a root, closing one, or adding a
place can only turn a yes into a no. About other paths there is no opinion.

Limits: a hard link outside of a root to a file inside of it cannot be told from any other file. Nothing here stops a
program that does not ask.
Source: memory repo design (seed 1) §6.4, §14.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PurePath


class Operation(StrEnum):
    """What a tool wants to do. A rename is asked for both of its names."""

    READ = "read"
    LIST = "list"
    SEARCH = "search"
    WRITE = "write"
    DELETE = "delete"
    RENAME = "rename"


READING = frozenset({Operation.READ, Operation.LIST, Operation.SEARCH})
LOOKING_BELOW = frozenset({Operation.LIST, Operation.SEARCH})
TAKING_AWAY = frozenset({Operation.DELETE, Operation.RENAME})


class AccessReason(StrEnum):
    """The code of a decision; the two denials are the names that hosts know."""

    ALLOWED = "allowed"
    NOT_OURS = "not_ours"
    MEMORY_REPO_UNAVAILABLE = "memory_repo_unavailable"
    PROTECTED_PATH = "protected_path"


@dataclass(frozen=True, slots=True)
class Place:
    """One way to read a path: `asked` without dots, `real` without links; None when it cannot be resolved.

    Both are absolute. What is the same folder as a root is spelled like that root, and whatever could be the folder of
    git below it is spelled `.git`.
    """

    asked: PurePath
    real: PurePath | None


@dataclass(frozen=True, slots=True)
class GuardedRoot:
    """A root of memory. `is_readable`: the task's memory layer is on and, for a team's root, the task in its scope."""

    path: PurePath
    is_readable: bool
    name: str = "the memory folder"
    is_team: bool = False


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """Whether memrepo objects. `is_ours` False: no opinion, the host's own rules decide.

    `leave_out`: folders that a listing or a search that goes below its path must not enter.
    """

    is_allowed: bool
    reason: AccessReason
    why: str
    is_ours: bool = True
    leave_out: tuple[PurePath, ...] = ()


def decide_access(places: Sequence[Place], operation: Operation, *, roots: Sequence[GuardedRoot]) -> AccessDecision:
    """Decides one operation on one path, given every way to read that path. One no is a no."""
    found = [decision for root in roots for place in places if (decision := _decide_one(place, operation, root))]
    leave_out = tuple(dict.fromkeys(folder for root in roots for folder in _closed_folders(places, operation, root)))
    for decision in found:
        if not decision.is_allowed:
            return decision
    if found:
        return AccessDecision(is_allowed=True, reason=AccessReason.ALLOWED, why=found[0].why, leave_out=leave_out)
    why = "the path is not under a root of memory"
    return AccessDecision(is_allowed=True, reason=AccessReason.NOT_OURS, why=why, is_ours=False, leave_out=leave_out)


def _decide_one(place: Place, operation: Operation, root: GuardedRoot) -> AccessDecision | None:
    """The decision for one root, None when the place is not under it."""
    forms = [form for form in (place.asked, place.real) if form is not None]
    inside = [form for form in forms if form.is_relative_to(root.path)]
    if not inside:
        if operation in TAKING_AWAY and any(root.path.is_relative_to(form) for form in forms):
            return _deny(AccessReason.PROTECTED_PATH, f"{root.name} is in that folder")
        return None
    if operation not in READING:
        why = f"only memrepo itself changes {root.name}: remember, forget, edit"
        if root.is_team:
            why = f"{root.name} is only read here, so nothing changes it"
        return _deny(AccessReason.PROTECTED_PATH, why)
    if any(part.casefold() == ".git" for form in inside for part in form.relative_to(root.path).parts):
        return _deny(AccessReason.PROTECTED_PATH, f"the git folder of {root.name} is closed, for reading too")
    if place.real is None:
        return _deny(AccessReason.PROTECTED_PATH, "the path cannot be resolved")
    if place.real not in inside:
        return _deny(AccessReason.PROTECTED_PATH, f"a link leads out of {root.name}")
    if not root.is_readable:
        return _deny(AccessReason.MEMORY_REPO_UNAVAILABLE, f"memory is off for this task, so {root.name} is not read")
    return AccessDecision(is_allowed=True, reason=AccessReason.ALLOWED, why=f"{root.name} may be read")


def _closed_folders(places: Sequence[Place], operation: Operation, root: GuardedRoot) -> list[PurePath]:
    """What of a root a walk from these places must not enter."""
    if operation not in LOOKING_BELOW:
        return []
    closed = root.path / ".git" if root.is_readable else root.path
    return [closed for place in places if closed.is_relative_to(place.real or place.asked)]


def _deny(reason: AccessReason, why: str) -> AccessDecision:
    return AccessDecision(is_allowed=False, reason=reason, why=why)
