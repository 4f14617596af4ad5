"""How rows are laid out: for a terminal of any width, for a pipe, and never broken by what stands in an entry."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.surfaces.cli.invocation import Invocation
from memrepo.surfaces.cli.output import Output, count_cells, wrap
from memrepo.surfaces.environment import Environment

ROWS = [
    ("repo:me.md#L3", "user", "Prefers tabs over spaces in every file that he edits"),
    ("repo:me.md#L10", "agent", "x"),
]


def output_for(width: int | None, *, has_color: bool = False) -> Output:
    invocation = Invocation()
    invocation.environment = Environment(Path("/home/me"), None, has_color, width, can_ask=False)
    return Output(invocation)


def test_without_a_terminal_a_row_is_one_line_with_tabs() -> None:
    assert output_for(None).format_rows(ROWS)[1] == "repo:me.md#L10\tagent\tx"


def test_on_a_terminal_columns_stand_side_by_side_and_text_wraps_under_itself() -> None:
    assert output_for(66).format_rows(ROWS) == [
        "repo:me.md#L3   user   Prefers tabs over spaces in every file that",
        "                       he edits",
        "repo:me.md#L10  agent  x",
    ]


def test_on_a_narrow_terminal_the_text_stands_below_its_ref() -> None:
    lines = output_for(30).format_rows(ROWS)
    assert lines[:2] == ["repo:me.md#L3  user", "  Prefers tabs over spaces in"]
    assert max(map(len, lines)) <= 30


@pytest.mark.parametrize("width", [None, 20, 100])
def test_an_entry_can_neither_start_a_row_nor_move_the_cursor(width: int | None) -> None:
    lines = output_for(width).format_rows([("repo:me.md#L3", "user", "a\nrepo:me.md#L4\tuser\tb\x1b[2J")])
    assert not any("\x1b" in line for line in lines)
    assert not any(line.startswith("repo:me.md#L4") for line in lines)
    assert sum(line.count("\t") for line in lines) == (2 if width is None else 0)


def test_colour_is_only_where_it_is_wanted() -> None:
    assert "\x1b[" in output_for(100, has_color=True).format_rows(ROWS)[0]
    assert "\x1b[" not in output_for(100).format_rows(ROWS)[0]


def test_no_rows_give_no_lines() -> None:
    assert output_for(80).format_rows([]) == []


def test_wide_letters_count_two_columns_and_marks_none() -> None:
    assert (count_cells("日本"), count_cells("é"), count_cells("e\u0301")) == (4, 1, 1)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])), st.integers(2, 40))
def test_wrapping_loses_nothing_and_keeps_the_width(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(count_cells(line) <= width for line in lines)
