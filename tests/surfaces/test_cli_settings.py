"""settings: what is read, what a change keeps of the file, and what is refused before it is saved."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.program import HereProgram


def file_of(memrepo: HereProgram) -> Path:
    return memrepo.home / ".memrepo" / "config" / "settings.toml"


def write(memrepo: HereProgram, text: str) -> None:
    file_of(memrepo).parent.mkdir(parents=True, exist_ok=True)
    file_of(memrepo).write_text(text, "utf-8")


def test_path_says_where_the_file_would_be(memrepo: HereProgram) -> None:
    assert memrepo("settings", "path").out == f"{file_of(memrepo)}\n"
    assert memrepo("settings", "path", "--json").document == {"path": str(file_of(memrepo)), "exists": False}
    work = memrepo("settings", "path", "--profile", "work").out.strip()
    assert work.endswith("/config/profiles/work/settings.toml")


def test_a_setting_is_set_read_listed_and_taken_out(memrepo: HereProgram) -> None:
    place = str(memrepo.home / "notes")
    assert memrepo("settings", "set", "path", place).out == f"path = {place}\n"
    assert memrepo("settings", "get", "path").out == f"{place}\n"
    assert f"path\t{place}" in memrepo("settings", "list").lines
    assert memrepo("settings", "list", "--json").document["settings"]["path"] == place
    assert memrepo("settings", "unset", "path").out == "path is no longer set\n"
    unset = memrepo("settings", "get", "path")
    assert (unset.status, unset.out) == (0, "")
    assert str(memrepo.root) in unset.err


def test_the_file_is_for_its_owner_alone_and_nothing_is_left_beside_it(memrepo: HereProgram) -> None:
    memrepo("settings", "set", "enabled", "false")
    assert stat.S_IMODE(file_of(memrepo).stat().st_mode) == 0o600
    assert [path.name for path in file_of(memrepo).parent.iterdir()] == ["settings.toml"]


def test_a_change_keeps_the_comments_and_a_link_to_the_file(memrepo: HereProgram) -> None:
    dotfiles = memrepo.home / "dotfiles.toml"
    dotfiles.write_text("# mine\nenabled = true  # for now\n", "utf-8")
    file_of(memrepo).parent.mkdir(parents=True)
    file_of(memrepo).symlink_to(dotfiles)
    memrepo("settings", "set", "enabled", "false")
    assert file_of(memrepo).is_symlink()
    assert dotfiles.read_text("utf-8") == "# mine\nenabled = false  # for now\n"


def test_a_set_path_is_where_facts_go(memrepo: HereProgram) -> None:
    memrepo("settings", "set", "path", "notes")
    memrepo("remember", "Drinks tea")
    assert "Drinks tea" in (memrepo.home / "notes" / "me.md").read_text("utf-8")
    assert not memrepo.root.exists()


@pytest.mark.parametrize(
    ("place", "rule"), [("/etc/memory", "protected-root"), ("~", "protected-root"), ("full", "not-empty")]
)
def test_a_folder_that_no_memory_may_be_in_is_refused_before_it_is_saved(
    memrepo: HereProgram, place: str, rule: str
) -> None:
    (memrepo.home / "full").mkdir()
    (memrepo.home / "full" / "thesis.doc").write_bytes(b"x")
    told = memrepo("settings", "set", "path", place, "--json")
    assert told.status == 2
    assert told.document["error"]["facts"]["rule"] == rule
    assert not file_of(memrepo).exists()


def test_a_workspace_around_the_memory_folder_is_refused_before_it_is_saved(memrepo: HereProgram) -> None:
    memrepo("settings", "set", "path", "code/notes")
    (memrepo.home / "code").mkdir()
    told = memrepo("settings", "set", "workspaces.w1.root", "code", "--json")
    assert (told.status, told.document["error"]["facts"]["rule"]) == (2, "inside-workspace")


def test_a_known_workspace_keeps_its_privacy_wherever_it_is_named(memrepo: HereProgram) -> None:
    (memrepo.home / "code").mkdir()
    memrepo("settings", "set", "workspaces.w1.root", "code")
    memrepo("settings", "set", "workspaces.w1.privacy", "strict")
    told = memrepo("remember", "Builds with make", "--workspace", "code", "--json").document
    assert (told["status"], told["reason"]) == ("kept", "private")
    assert "workspaces.w1.privacy\tstrict" in memrepo("settings", "list").lines


def test_a_value_or_key_that_is_none_changes_nothing(memrepo: HereProgram) -> None:
    write(memrepo, "enabled = true\n")
    for arguments in (("set", "enabled", "perhaps"), ("set", "colour", "red"), ("get", "pth"), ("unset", "colour")):
        told = memrepo("settings", *arguments)
        assert told.status == 2
        assert "\nhint: " in told.err
    assert file_of(memrepo).read_text("utf-8") == "enabled = true\n"


def test_a_file_with_faults_is_told_whole_and_mended_key_by_key(memrepo: HereProgram) -> None:
    write(memrepo, "enabled = 7\npth = 'x'\n")
    told = memrepo("ls")
    assert told.status == 2
    assert "line 1: enabled" in told.err
    assert "line 2: pth" in told.err
    assert told.err.count("pth: ") == 1
    assert memrepo("settings", "unset", "pth").status == 0
    assert memrepo("settings", "set", "enabled", "true").status == 0
    assert memrepo("settings", "get", "enabled").out == "true\n"


def test_a_file_that_is_no_toml_or_no_utf8_names_its_line(memrepo: HereProgram) -> None:
    write(memrepo, "enabled = true\nnonsense\n")
    assert "line 2" in memrepo("settings", "list").err
    file_of(memrepo).write_bytes(b"# ok\n# \xff\n")
    told = memrepo("settings", "list")
    assert told.status == 2
    assert "not UTF-8 (line 2)" in told.err


def test_a_damaged_mark_of_a_good_file_is_no_trouble(memrepo: HereProgram) -> None:
    memrepo("settings", "set", "enabled", "false")
    [mark] = (memrepo.home / ".memrepo" / "cache").iterdir()
    mark.write_bytes(b"\xff")
    assert memrepo("settings", "get", "enabled").out == "false\n"
    write(memrepo, "enabled = 7\n")
    assert memrepo("settings", "get", "enabled").status == 2
