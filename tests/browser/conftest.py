"""The Hub on a memory worth looking at, and a person at a browser that has opened it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.kit.browser import Visitor, open_browser
from tests.kit.hub import fill, start_hub
from tests.kit.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from tests.kit.hub import RunningHub


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder to copy from: filling one takes longer than copying it."""
    home = tmp_path_factory.mktemp("filled") / "home"
    home.mkdir()
    fill(home)
    return home


@pytest.fixture
def program(tmp_path: Path, filled: Path) -> Program:
    shutil.copytree(filled, tmp_path / "home", symlinks=True)
    return Program(tmp_path / "home")


@pytest.fixture
def hub(program: Program) -> Iterator[RunningHub]:
    with start_hub(program) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, hub: RunningHub) -> Iterator[Visitor]:
    made = Visitor(browser, hub)
    yield made
    made.context.close()
    assert not made.faults


@pytest.fixture
def page(visitor: Visitor) -> Page:
    return visitor.sign_in()
