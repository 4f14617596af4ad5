"""The salience gate and the `<no-memory>` marker."""

from __future__ import annotations

import pytest

from memrepo.model import Reason
from memrepo.policy.screen import find_low_salience, has_no_memory


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", Reason.EMPTY),
        ("ok", Reason.LOW_SALIENCE),
        ("…!?", Reason.LOW_SALIENCE),
        ("Tool called: read_file(path='x')", Reason.LOW_SALIENCE),
        ("tool result : 200 OK", Reason.LOW_SALIENCE),
        ("Step 3 completed: wrote the parser", Reason.LOW_SALIENCE),
        ('{"steps": ["a", "b"]}', Reason.LOW_SALIENCE),
        ('[{"id": 1}]', Reason.LOW_SALIENCE),
        ("Traceback (most recent call last): File x", Reason.LOW_SALIENCE),
    ],
)
def test_a_text_that_is_no_fact_is_turned_away(text: str, reason: Reason) -> None:
    found = find_low_salience(text)
    assert found is not None
    assert found[0] is reason
    assert found[1]


@pytest.mark.parametrize(
    "text",
    [
        "Uses tabs",
        "猫が好き",
        "The tool called pytest runs the suite",
        "Steps are documented in docs/steps.md",
        "[ ] is how open points are written",
        "42 is the answer",
    ],
)
def test_a_plain_fact_passes_the_gate(text: str) -> None:
    assert find_low_salience(text) is None


@pytest.mark.parametrize("marker", ["<no-memory>", "<NO-MEMORY>", "< no-memory />", "x <no-memory> y"])
def test_the_marker_is_found_in_any_of_the_texts(marker: str) -> None:
    assert has_no_memory(["a fact", marker])


@pytest.mark.parametrize("text", ["", "no-memory", "<no memory>", "the no-memory flag <b>"])
def test_other_words_are_not_the_marker(text: str) -> None:
    assert not has_no_memory([text])
