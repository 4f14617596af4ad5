"""Patterns for one line: plain text as it is, regular expressions in linear time, and a clear no to the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.errors import InvalidInput
from memrepo.format.patterns import PATTERN_LIMIT_CHARS, compile_pattern


@given(st.text(min_size=1, max_size=5), st.text(max_size=12))
def test_without_regex_every_sign_is_itself(pattern: str, line: str) -> None:
    assert compile_pattern(pattern)(line) is (pattern in line)
    assert compile_pattern(pattern)(f"x{pattern}y")
    assert compile_pattern(pattern.upper(), ignores_case=True)(f"x{pattern.upper().lower()}y")


@pytest.mark.parametrize(
    ("pattern", "line", "is_found"),
    [
        ("^Uses .*SQL", "Uses PostgreSQL 16", True),
        ("^SQL", "Uses PostgreSQL 16", False),
        (r"\d{2}$", "Uses PostgreSQL 16", True),
        ("grün|rot", "der Tee ist grün", True),
        ("猫+", "猫が好き", True),
        (r"\.$", "no full stop", False),
    ],
)
def test_a_regular_expression_finds_what_it_means(pattern: str, line: str, *, is_found: bool) -> None:
    assert compile_pattern(pattern, is_regex=True)(line) is is_found


def test_case_counts_unless_it_is_told_not_to() -> None:
    assert not compile_pattern("ÜBER", is_regex=True)("über")
    assert compile_pattern("ÜBER", is_regex=True, ignores_case=True)("über")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*a){12}b", "a*a*a*a*a*b"])
def test_patterns_that_take_re_for_ever_are_answered(pattern: str) -> None:
    assert not compile_pattern(pattern, is_regex=True)("a" * 50_000 + "!")


@pytest.mark.parametrize("pattern", ["(", "[z-a]", r"(a)\1", "(?=a)", "a{5000}", "x" * (PATTERN_LIMIT_CHARS + 1), ""])
def test_what_cannot_be_matched_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(InvalidInput, match=r"pattern|regular expression"):
        compile_pattern(pattern, is_regex=True)


def test_a_line_with_broken_bytes_is_no_crash() -> None:
    assert compile_pattern("a.b", is_regex=True)("a\udcffb")
