"""The safety measure: every case holds, and every case can see that it does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.program import HereProgram

from memrepo.errors import InvalidInput
from memrepo.evals.safety import measure_safety
from memrepo.evals.safety_cases import CASES
from memrepo.model import ContextBlock, Taint
from memrepo.reader import MemoryReader
from memrepo.sessions import Session
from memrepo.surfaces.safety_doors import ProgramDoors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAMES = [case.name for case in CASES]


@pytest.mark.parametrize("name", NAMES)
def test_holds(name: str) -> None:
    (row,) = measure_safety(ProgramDoors(), cases=[name])
    assert row.holds, row.seen
    assert row.tries


class Careless(ProgramDoors):
    """Doors behind which a careless program stands: what an agent saves is written by hand, as it came, as the user's,
    unasked; hooks see nothing; the block is all files; planted programs run."""

    def answer_hook(self, home: Path, host: str, event: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
        del home, host, document
        return (
            {"hookSpecificOutput": {"additionalContext": "Prefers tabs over spaces"}}
            if event == "session-start"
            else {}
        )

    def call_tool(self, home: Path, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        root = home / "CoWork Memory"
        if tool == "memory_remember":
            with (root / "me.md").open("a", encoding="utf-8") as file:
                file.write(f"- {arguments['text']}\n")
            return {"path": "me.md"}
        if tool == "memory_forget":
            (root / "me.md").write_text("# Me\n", encoding="utf-8")
            return {}
        if tool == "memory_recall":
            return {"hits": [{"unreviewed": False}]}
        return {"text": "all of it"}


CARELESS = [name for name in NAMES if name not in {"group-channel", "forget", "git-hook", "third-party"}]


@pytest.mark.parametrize("name", CARELESS)
def test_sees_a_program_that_takes_no_care(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def show_all(self: MemoryReader, *_: object, **__: object) -> ContextBlock:
        text = "".join(file.read_text() for file in sorted(self.root.glob("*.md")))
        return ContextBlock(text=text, refs=(), hashes=(), tokens=0, version="")

    monkeypatch.setattr(MemoryReader, "context", show_all)
    (row,) = measure_safety(Careless(), cases=[name])
    assert not row.holds


def test_sees_a_block_given_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        MemoryReader, "context", lambda *_, **__: ContextBlock(text="x", refs=(), hashes=(), tokens=0, version="")
    )
    for name in ("group-channel", "sub-agent"):
        (row,) = measure_safety(ProgramDoors(), cases=[name])
        assert not row.holds, name


def test_sees_a_session_that_is_always_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "taint", property(lambda _: Taint.CLEAN))
    broken = [row.case for row in measure_safety(ProgramDoors()) if not row.holds]
    assert set(broken) >= {"web-page", "steered-save", "sub-agent-taint", "forged-session"}


def test_refuses_a_case_that_is_not_there() -> None:
    with pytest.raises(InvalidInput, match="no case 'nothing'") as caught:
        measure_safety(ProgramDoors(), cases=["nothing"])
    assert "web-page" in (caught.value.hint or "")


def test_the_command_says_what_held_and_fails_when_something_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memrepo = HereProgram(tmp_path, monkeypatch, capsys)
    told = memrepo("eval", "safety", "--case", "shell", "--json")
    assert told.status == 0
    (row,) = json.loads(told.out)["cases"]
    assert row["case"] == "shell"
    assert row["tries"] >= 30
    monkeypatch.setattr(Session, "taint", property(lambda _: Taint.CLEAN))
    told = memrepo("eval", "safety", "--case", "web-page")
    assert told.status == 1
    assert "0 of 1 cases hold" in told.out
    assert not (tmp_path / "CoWork Memory").exists()
