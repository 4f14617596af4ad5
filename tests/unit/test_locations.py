"""Where memrepo keeps its own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from memrepo.locations import find_locations
from memrepo.model import Locations


def test_one_home_holds_all_three(tmp_path: Path) -> None:
    assert find_locations(tmp_path) == Locations(tmp_path / "config", tmp_path / "data", tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif("sys.platform != 'linux'", reason="the places of Linux")
def test_without_one_the_systems_places_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    monkeypatch.setenv("XDG_DATA_HOME", "/d")
    monkeypatch.setenv("XDG_CACHE_HOME", "/e")
    assert find_locations(None) == Locations(Path("/c/memrepo"), Path("/d/memrepo"), Path("/e/memrepo"))


@pytest.mark.skipif("sys.platform != 'linux'", reason="the places of Linux")
def test_a_place_that_is_not_absolute_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert find_locations(None).data == tmp_path / ".local/share/memrepo"
