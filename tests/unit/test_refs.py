"""Refs name a line of a file."""

from __future__ import annotations

import pytest

from memrepo.errors import InvalidInput
from memrepo.format.refs import parse_ref
from memrepo.model import Ref, RepoPath


def test_both_lanes_are_read() -> None:
    assert parse_ref("repo:workspaces/cowork.md#L7") == Ref(RepoPath("workspaces/cowork.md"), 7)
    assert parse_ref(" team:core team:MEMORY.md#L12\n") == Ref(RepoPath("MEMORY.md"), 12, "core team")
    assert parse_ref("repo:a#L1.md#L2") == Ref(RepoPath("a#L1.md"), 2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "start with"),
        ("me.md#L1", "start with"),
        ("Repo:me.md#L1", "start with"),
        ("team:me.md", "start with"),
        ("team::me.md#L1", "team's name"),
        ("team:../x:me.md#L1", "team's name"),
        ("repo:me.md", "line number"),
        ("repo:me.md#L0", "line number"),
        ("repo:me.md#L-1", "line number"),
        ("repo:me.md#L٣", "line number"),
        ("repo:me.md#L1x", "line number"),
        ("repo:me.md#L9999999999", "line number"),
        ("repo:#L1", "path"),
        ("repo:/etc/passwd#L1", "path"),
        ("repo:../me.md#L1", "path"),
        ("repo:a/./me.md#L1", "path"),
        ("repo:a//me.md#L1", "path"),
        ("repo:a\\me.md#L1", "path"),
        ("repo:a\x00.md#L1", "path"),
        ("repo:a\nb.md#L1", "path"),
    ],
)
def test_a_wrong_ref_is_told_which_part_is_wrong(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        parse_ref(text)
    assert "memrepo ls" in caught.value.hint


def test_the_error_does_not_repeat_what_may_be_a_memory() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_ref("my secret birthday wish")
    assert "birthday" not in str(caught.value) + caught.value.hint + str(caught.value.facts)
