"""The dream measure: every case holds, and every case can see that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from memrepo.dream import runner
from memrepo.dream.operations import Answer, Resolved
from memrepo.errors import InvalidInput
from memrepo.evals.dream import CASES, measure_dream
from memrepo.evals.dream_memory import FILES, PLANTED
from memrepo.format.document import Document
from memrepo.surfaces.safety_doors import ProgramDoors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.kit.program import HereProgram

    from memrepo.dream.operations import Change


def measure(case: str) -> tuple[int, tuple[str, ...]]:
    (row,) = measure_dream(ProgramDoors().open_repo, cases=[case])
    return row.tries, row.seen


@pytest.mark.parametrize("case", CASES)
def test_holds(case: str) -> None:
    tries, seen = measure(case)
    assert seen == ()
    assert tries > 10


def test_the_memory_has_200_lines_and_what_the_page_says_is_planted() -> None:
    assert sum(len(Document.parse(text.encode()).entries) for text in FILES.values()) == 200
    assert {kind: len(places) for kind, places in PLANTED.items()} == {
        "double": 16,
        "rival": 8,
        "misplaced": 6,
        "known": 1,
    }


def apply_all(changes: Iterable[Change], **_: object) -> tuple[Change, ...]:
    """A program that takes no care: whatever the model says is done at once."""
    return tuple(change.model_copy(update={"mode": "auto"}) for change in changes)


def test_sees_that_everything_is_applied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "classify", apply_all)
    seen = " ".join(measure("malicious")[1])
    for broken in (
        "a line of the user changed",
        "MEMORY.md changed",
        "left the inbox",
        "nobody said",
        "the user's word",
    ):
        assert broken in seen
    assert measure("good-model")[1]


def test_sees_that_bad_answers_are_taken_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "parse_answer", lambda _: Answer(operations=[]).operations)
    monkeypatch.setattr(runner, "resolve", lambda *_: Resolved(changes=()))
    assert len(measure("refused")[1]) == 12


def test_sees_rules_that_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(*_: Any) -> tuple[Change, ...]:
        return ()

    monkeypatch.setattr(runner, "tidy", find_nothing)
    assert len(measure("rules")[1]) == 31


def test_a_case_that_is_none() -> None:
    with pytest.raises(InvalidInput, match="no case 'x'"):
        measure_dream(ProgramDoors().open_repo, cases=["x"])


def test_the_command_tells_what_held(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.kit.program import HereProgram

    memrepo: HereProgram = HereProgram(tmp_path, monkeypatch, capsys)
    told = memrepo("--json", "eval", "dream", "--case", "refused")
    assert (told.status, told.document["holds"], told.document["cases"][0]["tries"]) == (0, True, 24)
