"""The measure of recall: what it counts, and what it says about a set that it cannot read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from memrepo.errors import InvalidInput, NotFound
from memrepo.evals.recall import ALL, CUTS, measure_recall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Rows = Sequence[Mapping[str, object]]

FACTS = [
    {"conv": "1", "fact": "Ana adopted a parrot", "date": "1:56 pm on 8 May, 2023", "dia_ids": ["D1:1"]},
    {"conv": "1", "fact": "Ana moved to Porto", "date": "9:00 am on 2 June, 2023", "dia_ids": ["D1:2", "D1:3"]},
    {"conv": "2", "fact": "Ben bakes bread", "date": "", "dia_ids": ["D1:1"]},
]
QUESTIONS = [
    {"conv": "1", "question": "Which bird did Ana adopt: a parrot?", "covered": ["D1:1"]},
    {"conv": "1", "question": "What happened in June 2023?", "covered": ["D1:2", "D1:9"]},
    {"conv": "2", "question": "What about zebras?", "covered": ["D1:1"]},
    {"conv": "2", "question": "Left out, as nothing covers it", "covered": []},
]


def write_set(data: Path, facts: Rows, questions: Rows) -> Path:
    data.mkdir()
    (data / "facts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in facts))
    (data / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
    return data


def test_recall_is_the_share_of_the_needed_ids_averaged_over_questions(tmp_path: Path) -> None:
    rows = measure_recall(write_set(tmp_path / "set", FACTS, QUESTIONS), methods=["lexical"])
    by_name = {row.conversation: row for row in rows}
    assert list(by_name) == ["1", "2", ALL]
    assert (by_name["1"].facts, by_name["1"].questions) == (2, 2)
    assert by_name["1"].recalls == (0.75,) * len(CUTS)  # one whole, one half
    assert by_name["2"].recalls == (0.0,) * len(CUTS)
    assert (by_name[ALL].facts, by_name[ALL].questions) == (3, 3)
    assert by_name[ALL].recalls == (0.5,) * len(CUTS)


def test_a_method_whose_extra_is_missing_has_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memrepo.evals.recall.find_embedder", lambda: None)
    rows = measure_recall(write_set(tmp_path / "set", FACTS, QUESTIONS))
    assert {row.method for row in rows} == {"lexical"}


def test_a_folder_without_a_set_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        measure_recall(tmp_path)


@pytest.mark.parametrize("line", ["not json", "[]", '{"conv": "1"}', "7"])
def test_a_fault_in_a_set_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    data = write_set(tmp_path / "set", FACTS, QUESTIONS)
    with (data / "facts.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InvalidInput) as caught:
        measure_recall(data)
    assert caught.value.facts["line"] == 4


def test_a_question_about_a_conversation_without_facts_is_named(tmp_path: Path) -> None:
    data = write_set(tmp_path / "set", FACTS, [{"conv": "9", "question": "x", "covered": ["D1:1"]}])
    with pytest.raises(InvalidInput, match="9"):
        measure_recall(data)
