"""The setting `team_repos`: what it may hold, and adding and removing one without losing a byte of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.errors import NotFound, SettingsError
from memrepo.format.refs import parse_ref
from memrepo.model import Ref, RepoPath
from memrepo.settings import TEAM_REPOS_MOST, TeamRepo, get_setting, parse_settings, set_setting
from memrepo.settings.editing import add_team_repo, remove_team_repo
from memrepo.settings.schema import check_team_name

FILE = "/config/settings.toml"
CORE, OPS = TeamRepo("core", Path("/team/core"), ("billing",)), TeamRepo("ops", Path("/team/ops"))
MINE = "# mine\npath = '/home/me/notes'  # keep\n\n[[workspaces]]\nid = 'billing'\n"


def find_faults(text: str) -> list[tuple[str, int | None, str]]:
    with pytest.raises(SettingsError) as caught:
        parse_settings(text, file=FILE)
    found = caught.value.facts["faults"]
    assert isinstance(found, tuple)
    return list(found)


def make_table(name: str, path: str, more: str = "") -> str:
    return f"[[team_repos]]\nname = '{name}'\npath = '{path}'\n{more}\n"


def test_team_repos_are_read_and_added_at_the_end_and_taken_out_again() -> None:
    text = add_team_repo(add_team_repo(MINE, CORE, file=FILE), OPS, file=FILE)
    assert text.startswith(MINE)
    settings = parse_settings(text, file=FILE)
    assert settings.team_repos == (CORE, OPS)
    assert get_setting(settings, "team_repos") == [
        {"name": "core", "path": "/team/core", "workspace_ids": ["billing"]},
        {"name": "ops", "path": "/team/ops"},
    ]
    left = remove_team_repo(text, "core", file=FILE)
    assert left == add_team_repo(MINE, OPS, file=FILE)
    assert remove_team_repo(left, "ops", file=FILE).rstrip("\n") == MINE.rstrip("\n")


@pytest.mark.parametrize("text", ["team_repos = []\n", "\ufeff# \u00fc\r\nteam_repos = [] # none\r\n"])
def test_a_list_in_one_line_stays_one(text: str) -> None:
    added = add_team_repo(text, CORE, file=FILE)
    assert parse_settings(added, file=FILE).team_repos == (CORE,)
    assert "[[" not in added
    assert remove_team_repo(added, "core", file=FILE).startswith(text.partition("team_repos")[0])


def test_the_whole_list_is_set_as_toml() -> None:
    text = set_setting(MINE, "team_repos", '[{ name = "ops", path = "/team/ops" }]', file=FILE)
    assert parse_settings(text, file=FILE).team_repos == (OPS,)
    assert text.startswith(MINE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("team_repos = 3", "must be list of tables"),
        ("team_repos = [3]", "team repo 1: must be a table"),
        ("[[team_repos]]\nname = 'a'", "a: path is missing"),
        ("[[team_repos]]\nname = 5\npath = '/t'", "team repo 1: name must be text"),
        (make_table("a", "/t", "workspace_ids = 'x'"), "a: workspace_ids must be list of text"),
        (make_table("a", "/t", "workspace_ids = ['x y']"), "a: workspace_ids must not hold white space"),
        (make_table("a", "/t", "workspaces = []"), "a: workspaces is no setting; did you mean workspace_ids?"),
        (make_table("a", "t/core"), "a: path must be an absolute path"),
        (make_table("a", "/t/../core"), "a: path must not hold .."),
        (make_table("a:b", "/t"), "a:b: name must be 1 to 60 letters"),
        (make_table("x" * 61, "/t"), f"{'x' * 61}: name must be 1 to 60 letters"),
        (make_table("a", "/t") + make_table("A", "/u"), "A: name is that of another team repo in the list"),
        (make_table("a", "/t") + make_table("b", "/t/x"), "b: path overlaps that of a"),
        (make_table("a", "/t/x") + make_table("b", "/t"), "b: path overlaps that of a"),
        ("path = '/m'\n" + make_table("a", "/m/team"), "a: path overlaps the memory folder (path)"),
        ("path = '/m/own'\n" + make_table("a", "/m"), "a: path overlaps the memory folder (path)"),
    ],
)
def test_each_fault_names_the_team_and_says_what_must_be(text: str, why: str) -> None:
    ((key, line, said),) = find_faults(text)
    assert (key, line is not None) == ("team_repos", True)
    assert said.startswith(why)


def test_no_more_than_three_are_read() -> None:
    tables = [make_table(f"t{number}", f"/t/{number}") for number in range(TEAM_REPOS_MOST + 1)]
    assert len(parse_settings("".join(tables[:-1]), file=FILE).team_repos) == TEAM_REPOS_MOST
    assert [why for _, _, why in find_faults("".join(tables))] == ["holds 4 team repos; at most 3 are read"]


def test_a_change_that_would_make_a_fault_changes_nothing_and_an_unknown_name_is_not_found() -> None:
    text = add_team_repo(MINE, CORE, file=FILE)
    for team in (
        TeamRepo("Core", Path("/team/other")),
        TeamRepo("x", Path("/team/core/x")),
        TeamRepo("a:b", Path("/")),
    ):
        with pytest.raises(SettingsError, match="is unchanged"):
            add_team_repo(text, team, file=FILE)
    with pytest.raises(NotFound):
        remove_team_repo(text, "ops", file=FILE)


def test_one_of_a_faulty_list_can_be_taken_out() -> None:
    faulty = make_table("a", "t") + make_table("b", "u")
    left = remove_team_repo(faulty, "a", file=FILE)
    assert [why for _, _, why in find_faults(left)] == ["b: path must be an absolute path"]


@given(st.text(min_size=1, max_size=61))
def test_each_name_that_is_accepted_comes_back_from_a_ref(name: str) -> None:
    try:
        check_team_name(name)
    except ValueError:
        return
    ref = Ref(RepoPath("MEMORY.md"), 3, name)
    assert parse_ref(str(ref)) == ref
