"""What file tools may do under a root: the whole table over places, operations and the memory layer, and its laws."""

from __future__ import annotations

from itertools import product
from pathlib import PurePosixPath as P

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.policy.access import (
    READING,
    AccessReason,
    GuardedRoot,
    Operation,
    Place,
    decide_access,
)

ROOT = P("/home/me/CoWork Memory")
TEAM = P("/srv/team")
ON = [GuardedRoot(ROOT, is_readable=True)]
OFF = [GuardedRoot(ROOT, is_readable=False)]

INSIDE = {
    "the root": Place(ROOT, ROOT),
    "a file": Place(ROOT / "me.md", ROOT / "me.md"),
    "a file that is not there yet": Place(ROOT / "new/x.md", ROOT / "new/x.md"),
    "a link from outside": Place(P("/tmp/l/me.md"), ROOT / "me.md"),
}
CLOSED = {
    "the git folder": Place(ROOT / ".git", ROOT / ".git"),
    "below the git folder": Place(ROOT / ".git/hooks/pre-commit", ROOT / ".git/hooks/pre-commit"),
    "a git folder further down": Place(ROOT / "sub/.git/config", ROOT / "sub/.git/config"),
    "the git folder in capitals": Place(ROOT / ".GIT/config", ROOT / ".GIT/config"),
    "a link to the git folder": Place(ROOT / "history", ROOT / ".git"),
    "a link from outside to the git folder": Place(P("/tmp/l"), ROOT / ".git"),
    "what cannot be resolved": Place(ROOT / "loop", None),
    "a link that leads out": Place(ROOT / "out", P("/etc/passwd")),
}
OUTSIDE = {
    "another folder": Place(P("/home/me/src/x.py"), P("/home/me/src/x.py")),
    "a folder whose name begins alike": Place(P("/home/me/CoWork Memory 2/x"), P("/home/me/CoWork Memory 2/x")),
    "what cannot be resolved elsewhere": Place(P("/home/me/loop"), None),
    "a git folder elsewhere": Place(P("/home/me/src/.git/config"), P("/home/me/src/.git/config")),
}
ABOVE = {"the folder above": Place(P("/home/me"), P("/home/me")), "a link to it": Place(P("/h"), P("/home/me"))}


@pytest.mark.parametrize(("name", "operation"), [*product(INSIDE, Operation)])
def test_inside_only_reading_is_allowed_and_only_while_memory_is_on(name: str, operation: Operation) -> None:
    place = [INSIDE[name]]
    on, off = decide_access(place, operation, roots=ON), decide_access(place, operation, roots=OFF)
    assert on.is_ours
    assert off.is_ours
    if operation in READING:
        assert (on.is_allowed, on.reason) == (True, AccessReason.ALLOWED)
        assert (off.is_allowed, off.reason) == (False, "memory_repo_unavailable")
    else:
        assert (on.is_allowed, on.reason) == (False, "protected_path")
        assert (off.is_allowed, off.reason) == (False, "protected_path")


@pytest.mark.parametrize(("name", "operation", "roots"), [*product(CLOSED, Operation, (ON, OFF))])
def test_closed_places_are_closed_to_everything(name: str, operation: Operation, roots: list[GuardedRoot]) -> None:
    decision = decide_access([CLOSED[name]], operation, roots=roots)
    assert (decision.is_allowed, decision.reason, decision.is_ours) == (False, AccessReason.PROTECTED_PATH, True)


@pytest.mark.parametrize(("name", "operation", "roots"), [*product(OUTSIDE, Operation, (ON, OFF, []))])
def test_about_other_paths_there_is_no_opinion(name: str, operation: Operation, roots: list[GuardedRoot]) -> None:
    decision = decide_access([OUTSIDE[name]], operation, roots=roots)
    assert (decision.is_allowed, decision.reason, decision.is_ours) == (True, AccessReason.NOT_OURS, False)


@pytest.mark.parametrize(("name", "operation", "roots"), [*product(ABOVE, Operation, (ON, OFF))])
def test_a_folder_that_holds_the_root_can_be_used_but_not_taken_away(
    name: str, operation: Operation, roots: list[GuardedRoot]
) -> None:
    decision = decide_access([ABOVE[name]], operation, roots=roots)
    taken_away = operation in {Operation.DELETE, Operation.RENAME}
    assert decision.is_allowed is not taken_away
    assert decision.is_ours is taken_away


def test_a_walk_from_above_leaves_out_what_is_closed() -> None:
    above = [ABOVE["the folder above"]]
    for operation in (Operation.LIST, Operation.SEARCH):
        assert decide_access(above, operation, roots=OFF).leave_out == (ROOT,)
        assert decide_access(above, operation, roots=ON).leave_out == (ROOT / ".git",)
        assert decide_access([INSIDE["the root"]], operation, roots=ON).leave_out == (ROOT / ".git",)
    assert decide_access(above, Operation.READ, roots=OFF).leave_out == ()
    assert decide_access([OUTSIDE["another folder"]], Operation.SEARCH, roots=OFF).leave_out == ()


def test_a_path_that_cannot_be_resolved_is_told_from_a_link_that_leads_out() -> None:
    assert decide_access([CLOSED["what cannot be resolved"]], Operation.READ, roots=ON).why.endswith("be resolved")
    assert "leads out" in decide_access([CLOSED["a link that leads out"]], Operation.READ, roots=ON).why


def test_a_teams_root_follows_the_same_rules_by_its_own_scope() -> None:
    roots = [GuardedRoot(ROOT, is_readable=True), GuardedRoot(TEAM, is_readable=False, name="team docs")]
    mine, theirs = Place(ROOT / "me.md", ROOT / "me.md"), Place(TEAM / "a.md", TEAM / "a.md")
    assert decide_access([mine], Operation.READ, roots=roots).is_allowed
    denied = decide_access([theirs], Operation.READ, roots=roots)
    assert (denied.reason, "team docs" in denied.why) == ("memory_repo_unavailable", True)
    assert decide_access([theirs], Operation.WRITE, roots=roots).reason == "protected_path"


# Laws

paths = st.sampled_from(
    [
        P("/"),
        P("/home/me"),
        ROOT,
        ROOT / "me.md",
        ROOT / ".git/x",
        TEAM,
        TEAM / "a.md",
        P("/etc/passwd"),
        ROOT / "team",
    ]
)
places = st.builds(Place, paths, st.none() | paths)
roots = st.builds(GuardedRoot, st.sampled_from([ROOT, TEAM, ROOT / "team", P("/home/me")]), st.booleans())


@given(st.lists(places, min_size=1, max_size=3), st.sampled_from(Operation), st.lists(roots, max_size=3), roots, places)
def test_adding_a_deny_never_allows(
    asked: list[Place], operation: Operation, known: list[GuardedRoot], more: GuardedRoot, another: Place
) -> None:
    before = decide_access(asked, operation, roots=known)
    closed = [GuardedRoot(root.path, is_readable=False) for root in known]
    for after in (
        decide_access(asked, operation, roots=[*known, more]),
        decide_access([*asked, another], operation, roots=known),
        decide_access(asked, operation, roots=closed),
    ):
        assert before.is_allowed or not after.is_allowed


@given(st.lists(places, min_size=1, max_size=3), st.sampled_from(Operation), st.lists(roots, max_size=3))
def test_nothing_under_a_root_is_ever_changed_and_the_order_does_not_count(
    asked: list[Place], operation: Operation, known: list[GuardedRoot]
) -> None:
    decision = decide_access(asked, operation, roots=known)
    forms = [form for place in asked for form in (place.asked, place.real) if form]
    if operation not in READING and any(form.is_relative_to(root.path) for form in forms for root in known):
        assert not decision.is_allowed
    turned = decide_access(asked[::-1], operation, roots=known[::-1])
    assert turned.is_allowed is decision.is_allowed
    assert turned.is_ours is decision.is_ours
