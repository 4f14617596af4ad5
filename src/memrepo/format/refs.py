"""Refs: `repo:<path>#L<n>` and `team:<name>:<path>#L<n>` name a line of a memory file. `str(ref)` writes one.

`memory:<n>` and `archive:<n>` name a row of the private store. The path is checked for form only; whether it may be
opened is decided where files are.
"""

from __future__ import annotations

import re

from memrepo.errors import InvalidInput, Refused
from memrepo.model import Ref, RepoPath, Shelf, StoredRef

_LANE = re.compile(r"(?:repo|team:(?P<team>[^:]*)):(?P<rest>.*)", re.DOTALL)
_LINE = re.compile(r"(?P<path>.*)#L(?P<line>[1-9][0-9]{0,8})", re.DOTALL)
_TEAM = re.compile(r"\w(?:[\w .-]*\w)?")
_STORED = re.compile(r"(?P<shelf>memory|archive):(?P<number>[1-9][0-9]{0,17})", re.ASCII)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def parse_ref(text: str) -> Ref:
    """Reads a ref; surrounding white space does not count. Law: `parse_ref(str(ref)) == ref`.

    Errors: InvalidInput saying which part is wrong. The text is not repeated: it may be a memory, not a ref.
    """
    lane = _LANE.fullmatch(text.strip())
    if lane is None:
        raise _invalid("it must start with `repo:` or `team:<name>:`")
    team = lane["team"]
    if team is not None and not _TEAM.fullmatch(team):
        raise _invalid("the team's name must be made of letters, digits, '_', '-', '.' and inner spaces")
    place = _LINE.fullmatch(lane["rest"])
    if place is None:
        raise _invalid("it must end in `#L` and a line number from 1 on")
    path = place["path"]
    if _CONTROL.search(path) or "\\" in path or not _is_relative(path):
        raise _invalid("its path must be relative to the memory root, with `/` between parts and no `.` or `..`")
    return Ref(RepoPath(path), int(place["line"]), team)


def require_own(ref: Ref) -> Ref:
    """Returns a ref to the personal repo. Errors: Refused for a team's entry, which is read only."""
    if ref.team is not None:
        raise Refused(
            f"{ref} belongs to a team; memrepo reads team memory and never writes it",
            hint="change it in the team's own repository",
            rule="team-read-only",
            action="write",
            target=str(ref),
        )
    return ref


def split_team(name: str) -> tuple[str | None, str]:
    """Splits `team:<name>:<path>`, as a block or a list names a team's file; (None, the text) for any other."""
    lane = _LANE.fullmatch(name.strip())
    if lane is None or lane["team"] is None or not _TEAM.fullmatch(lane["team"]):
        return None, name
    return lane["team"], lane["rest"]


def is_stored_ref(text: str) -> bool:
    """Tells whether a text is meant as the ref of a private fact (it may still be a wrong one)."""
    return text.strip().partition(":")[0] in set(Shelf) and ":" in text


def parse_stored_ref(text: str) -> StoredRef:
    """Reads the ref of a private fact. Law: `parse_stored_ref(str(ref)) == ref`. Errors: InvalidInput."""
    match = _STORED.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(
            "not a ref of the private store: it must be `memory:` or `archive:` and a number",
            hint="see them: memrepo ls --private",
        )
    return StoredRef(Shelf(match["shelf"]), int(match["number"]))


def _is_relative(path: str) -> bool:
    return all(part not in ("", ".", "..") for part in path.split("/"))


def _invalid(why: str) -> InvalidInput:
    return InvalidInput(f"not a ref: {why}", hint="A ref looks like `repo:me.md#L3`; `memrepo ls` lists them.")
