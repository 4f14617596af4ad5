"""Every error is known by one code, has its numbers, and is in docs/errors.md with all that a reader needs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from memrepo import errors
from memrepo.errors import MemrepoError
from memrepo.model import Reason
from memrepo.surfaces import present

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "errors.md").read_text("utf-8")
CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, MemrepoError) and value is not MemrepoError
]
SECTIONS = {
    match[1]: match[0] for match in re.finditer(r"^### (\w+) \(`[^`]+`\)\n(?:(?!^##).*\n?)+", PAGE, re.MULTILINE)
}
FAMILY_EXITS = {"UserError": 2, "Refused": 3, "Conflict": 4, "Busy": 5, "RepositoryFault": 6, "GitFailed": 7}


def family_of(error: type[MemrepoError]) -> str:
    return next(base.__name__ for base in reversed(error.__mro__) if base.__name__ in FAMILY_EXITS)


def test_no_two_errors_share_a_code() -> None:
    codes = [error.code for error in CLASSES]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_every_error_is_documented_with_its_code_its_facts_and_what_to_do(error: type[MemrepoError]) -> None:
    section = SECTIONS[error.__name__]
    assert f"### {error.__name__} (`{error.code}`)" in section
    assert "\nDo: " in section
    inherited = error.__mro__[1].fact_names  # type: ignore[attr-defined]
    for fact in set(error.fact_names) - set(inherited):
        assert f"`{fact}`" in section, f"{error.__name__}: fact {fact} is not documented"


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_every_error_exits_with_the_status_of_its_family_and_stands_under_it(error: type[MemrepoError]) -> None:
    exit_status = FAMILY_EXITS[family_of(error)]
    assert present.get_numbers(error("x")).exit_status == exit_status
    above = PAGE[: PAGE.index(f"### {error.__name__} (`")]
    assert re.findall(r"^## (\w+), exit (\d+)$", above, re.MULTILINE)[-1] == (family_of(error), str(exit_status))


def test_the_page_documents_no_error_that_is_not_there() -> None:
    assert set(SECTIONS) == {error.__name__ for error in CLASSES}


def test_the_table_of_the_page_is_the_table_of_the_code() -> None:
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (-\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    told = {name: tuple(map(int, numbers)) for name, *numbers in rows}
    coded = {
        error.__name__: (numbers.exit_status, numbers.mcp_code, numbers.http_status)
        for error, numbers in present.NUMBERS.items()
    }
    assert told == coded


def test_a_bug_is_no_error_of_a_family() -> None:
    assert present.get_numbers(ValueError("x")) == present.BUG
    assert f"| anything else | {present.BUG.exit_status} | {present.BUG.mcp_code} | {present.BUG.http_status} |" in PAGE


def test_every_reason_to_turn_a_fact_away_is_documented() -> None:
    kept_only = {Reason.BUSY, Reason.DIRTY, Reason.UNAVAILABLE}
    for reason in set(Reason) - kept_only:
        assert f"`{reason}`" in PAGE
