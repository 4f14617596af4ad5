"""MemoryRepo: where a repo is, what opening makes and does not make, and parts that are made when asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from memrepo.app import MemoryRepo
from memrepo.errors import InvalidInput, NotFound, PathRefused, ReadOnly, SettingsError
from memrepo.model import Actor, Candidate, EntryFilter, Locations, Origin, Taint, TaskContext
from memrepo.profiles import find_default_root, find_settings_file

USER = TaskContext(actor=Actor.USER, origin=Origin.CLI, taint=Taint.CLEAN)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def locations(home: Path) -> Locations:
    base = home / ".memrepo"
    return Locations(base / "config", base / "data", base / "cache")


def test_the_default_profile_lives_in_the_home_folder_and_others_in_the_data_folder(
    home: Path, locations: Locations
) -> None:
    assert find_default_root(locations, home, "default") == home / "CoWork Memory"
    assert find_default_root(locations, home, "work") == locations.data / "profiles" / "work" / "memory-repo"


def test_opening_makes_the_repo_and_opening_again_does_not(home: Path, locations: Locations) -> None:
    with MemoryRepo.open(locations=locations, home=home) as repo:
        assert repo.was_created
    with MemoryRepo.open(locations=locations, home=home) as repo:
        assert not repo.was_created
        assert repo.root == home / "CoWork Memory"


@pytest.mark.parametrize("option", [{"create": False}, {"read_only": True}])
def test_opening_to_look_makes_nothing(home: Path, locations: Locations, option: dict[str, bool]) -> None:
    with pytest.raises(NotFound) as caught:
        MemoryRepo.open(locations=locations, home=home, **option)  # type: ignore[arg-type]
    assert caught.value.hint == "to make one: memrepo init"
    assert list(home.iterdir()) == []


def test_the_path_of_the_settings_is_the_root_until_the_caller_names_another(home: Path, locations: Locations) -> None:
    file = find_settings_file(locations, "default")
    file.parent.mkdir(parents=True)
    file.write_text(f'path = "{home / "notes"}"\n', "utf-8")
    assert MemoryRepo.open(locations=locations, home=home).root == home / "notes"
    assert MemoryRepo.open(locations=locations, home=home, path=home / "other").root == home / "other"


def test_settings_with_faults_open_nothing(home: Path, locations: Locations) -> None:
    file = find_settings_file(locations, "default")
    file.parent.mkdir(parents=True)
    file.write_text("path = 7\nnonsense\n", "utf-8")
    with pytest.raises(SettingsError):
        MemoryRepo.open(locations=locations, home=home)
    assert not (home / "CoWork Memory").exists()


@pytest.mark.parametrize("place", ["", "relative", "/", "/etc/memory"])
def test_a_place_that_no_memory_may_be_in_is_refused(home: Path, locations: Locations, place: str) -> None:
    with pytest.raises(PathRefused):
        MemoryRepo.open(locations=locations, home=home, path=Path(place))


def test_a_profile_is_a_name_and_no_path(home: Path, locations: Locations) -> None:
    with pytest.raises(InvalidInput):
        MemoryRepo.open(locations=locations, home=home, profile="../x")


def test_read_only_lists_and_refuses_to_write(home: Path, locations: Locations) -> None:
    MemoryRepo.open(locations=locations, home=home).service.remember(Candidate("Drinks tea"), USER)
    with MemoryRepo.open(locations=locations, home=home, read_only=True) as repo:
        [located] = repo.iter_entries()
        assert located.entry.text == "Drinks tea"
        with pytest.raises(ReadOnly):
            repo.service.forget(located.ref, USER)


def test_looking_makes_neither_lock_nor_store(home: Path, locations: Locations) -> None:
    MemoryRepo.open(locations=locations, home=home).close()
    before = {path for path in home.rglob("*") if "/objects/" not in str(path)}
    with MemoryRepo.open(locations=locations, home=home, read_only=True) as repo:
        list(repo.iter_entries())
        repo.list_files()
        repo.history.log()
    assert {path for path in home.rglob("*") if "/objects/" not in str(path)} == before


def test_after_closing_nothing_is_written(home: Path, locations: Locations) -> None:
    repo = MemoryRepo.open(locations=locations, home=home)
    repo.service.remember(Candidate("Drinks tea"), USER)
    assert repo.close()
    with pytest.raises(ReadOnly):
        repo.service.forget_where(EntryFilter(contains="tea"), USER)
