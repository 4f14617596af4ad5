"""The program, in this process (`memrepo`) and as a process of its own (`program`), each in an empty home folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.program import HereProgram, Program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def memrepo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> HereProgram:
    return HereProgram(tmp_path, monkeypatch, capsys)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)
