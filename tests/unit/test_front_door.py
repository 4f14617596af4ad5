"""What `from memrepo import …` offers: named once, loaded when asked for, and pleasant without the parts behind it."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

import memrepo
from memrepo import Candidate, Kind, Locations, MemoryRepo, NotFound, Origin, Taint, TaskContext, WriteStatus, model
from memrepo.errors import InvalidInput, PathRefused

USER = TaskContext.for_user()


@pytest.fixture
def repo(tmp_path: Path) -> MemoryRepo:
    base = tmp_path / ".memrepo"
    return MemoryRepo.open(locations=Locations(base / "config", base / "data", base / "cache"), home=tmp_path)


@pytest.mark.parametrize("name", memrepo.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(memrepo, name).__name__ == name
    assert name in dir(memrepo)


def test_the_names_for_type_checkers_are_the_public_ones() -> None:
    tree = ast.parse(Path(memrepo.__file__).read_text("utf-8"))
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert named - {"annotations", "TYPE_CHECKING", "import_module"} == set(memrepo.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        _ = memrepo.nothing_of_ours  # type: ignore[attr-defined]


def test_importing_the_package_loads_none_of_its_modules() -> None:
    program = "import sys, memrepo; print([name for name in sys.modules if name.startswith('memrepo.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_the_keyword_arguments_of_remember_are_the_fields_of_a_candidate() -> None:
    fields = {field.name for field in dataclasses.fields(Candidate)} - {"text"}
    assert set(model.CandidateFields.__annotations__) == fields


def test_the_users_own_task_is_clean_and_theirs() -> None:
    assert (USER.actor, USER.taint, USER.origin) == (model.Actor.USER, Taint.CLEAN, Origin.CLI)
    assert TaskContext.for_user(origin=Origin.MEMORY_HUB).origin is Origin.MEMORY_HUB


def test_a_repo_opens_without_arguments_in_the_places_of_this_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMREPO_HOME", str(tmp_path / "for the program alone"))
    with MemoryRepo.open() as repo:
        assert repo.root == tmp_path / "CoWork Memory"
        assert repo.locations.data.is_relative_to(tmp_path)
    assert not (tmp_path / "for the program alone").exists()


def test_a_fact_is_remembered_as_text_with_fields_or_as_a_candidate(repo: MemoryRepo) -> None:
    with repo:
        first = repo.remember("Restart the queue after a migration", USER, kind=Kind.INSIGHT)
        second = repo.remember(Candidate("Lives in Lisbon"), USER, kind=Kind.IDENTITY, subject="home")
        assert [str(first.ref), str(second.ref)] == ["repo:lessons.md#L3", "repo:me.md#L3"]


def test_what_a_rule_turns_away_is_a_result(repo: MemoryRepo) -> None:
    with repo:
        assert repo.remember("  ", USER).status is WriteStatus.SKIPPED


def test_entries_are_edited_moved_and_pinned_by_ref_or_by_its_text(repo: MemoryRepo) -> None:
    with repo:
        ref = repo.remember("Prefers tabs", USER).ref
        assert ref
        assert repo.edit(str(ref), "Prefers spaces", USER).ref == ref
        moved = repo.move(ref, "style.md", USER)
        assert str(moved.ref) == "repo:style.md#L3"
        pinned = repo.pin(str(moved.ref), USER)
        assert pinned.path == "MEMORY.md"


def test_what_names_no_entry_and_no_file_is_refused_before_anything_is_touched(repo: MemoryRepo) -> None:
    with repo:
        repo.remember("Prefers tabs", USER)
        with pytest.raises(InvalidInput):
            repo.edit("me.md:3", "x", USER)
        with pytest.raises(PathRefused):
            repo.move("repo:me.md#L3", "../outside.md", USER)
        with pytest.raises(NotFound):
            repo.pin("repo:me.md#L99", USER)
        assert [found.entry.text for found in repo.iter_entries()] == ["Prefers tabs"]
