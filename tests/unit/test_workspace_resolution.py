"""Which workspace a folder or an id means, without any registration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memrepo.errors import InvalidInput
from memrepo.model import Privacy, Workspace
from memrepo.workspace_resolution import make_workspace_id, resolve_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Resolve = Callable[..., Workspace]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "code" / "billing" / "src").mkdir(parents=True)
    (home / "code" / "billing" / ".git").mkdir()
    (home / "loose").mkdir()
    (home / "memory").mkdir()
    return home


@pytest.fixture
def resolve(home: Path) -> Resolve:
    def call(
        argument: str, known: Sequence[Workspace] = (), *, current_folder: Path = home, **more: object
    ) -> Workspace:
        return resolve_workspace(
            argument,
            known=known,
            home=home,
            current_folder=current_folder,
            memory_root=home / "memory",
            **more,  # type: ignore[arg-type]
        )

    return call


def test_a_folder_belongs_to_the_nearest_repository_above_it(resolve: Resolve, home: Path) -> None:
    project = home / "code" / "billing"
    assert resolve("code/billing/src") == Workspace(make_workspace_id(project), "billing", project)


def test_a_worktree_whose_git_is_a_file_is_a_project(resolve: Resolve, home: Path) -> None:
    (home / "loose" / ".git").write_text("gitdir: elsewhere")
    (home / "loose" / "deep").mkdir()
    assert resolve("loose/deep").root == home / "loose"


def test_a_folder_outside_any_repository_is_its_own_project(resolve: Resolve, home: Path) -> None:
    assert resolve("loose").root == home / "loose"


def test_a_repository_of_the_whole_home_folder_is_no_project(resolve: Resolve, home: Path) -> None:
    (home / ".git").mkdir()
    assert resolve("loose").root == home / "loose"


def test_one_folder_has_one_id_however_it_is_spelled(resolve: Resolve, home: Path) -> None:
    (home / "link").symlink_to(home / "loose")
    spellings = ["loose", "./loose/", "loose/../loose", "link", "~/loose", str(home / "loose")]
    assert len({resolve(spelling).id for spelling in spellings}) == 1
    assert resolve(".", current_folder=home / "loose").id == resolve("loose").id


def test_two_folders_of_one_name_have_two_ids(resolve: Resolve, home: Path) -> None:
    (home / "other" / "billing").mkdir(parents=True)
    assert resolve("other/billing").name == resolve("code/billing").name
    assert resolve("other/billing").id != resolve("code/billing").id


def test_an_id_has_a_prefix_and_twelve_hex_digits_of_the_path(home: Path) -> None:
    assert make_workspace_id(home).startswith("ws-")
    assert len(make_workspace_id(home)) == 15
    assert int(make_workspace_id(home)[3:], 16) >= 0


def test_what_the_settings_know_wins_by_id_and_by_folder(resolve: Resolve, home: Path) -> None:
    known = Workspace("w-7", "Billing", home / "code" / "billing", privacy=Privacy.STRICT)
    assert resolve("w-7", [known]) is known
    assert resolve("code/billing/src", [known]) is known


def test_the_innermost_known_workspace_is_meant(resolve: Resolve, home: Path) -> None:
    outer = Workspace("outer", "Code", home / "code")
    inner = Workspace("inner", "Billing", home / "code" / "billing")
    assert resolve("code/billing", [inner, outer]) is inner
    assert resolve("code", [inner, outer]) is outer


def test_a_known_workspace_at_the_home_folder_takes_no_project_in(resolve: Resolve, home: Path) -> None:
    at_home = Workspace("home", "Home", home)
    assert resolve("loose", [at_home]).root == home / "loose"


def test_an_id_that_only_a_file_of_the_repo_names_is_found(resolve: Resolve) -> None:
    named = Workspace("w-9", "from-elsewhere")
    assert resolve("w-9", find_by_id={"w-9": named}.get) is named


@pytest.mark.parametrize("argument", ["nowhere", "", "~", "..", "/", "memory", "code/billing/.git/HEAD"])
def test_what_is_no_project_is_refused_with_a_hint(resolve: Resolve, argument: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        resolve(argument)
    assert "--workspace DIR" in caught.value.hint
