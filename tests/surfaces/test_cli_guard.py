"""`memrepo guard`: what is printed, and what a command in the real sandbox can and cannot reach."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.program import HereProgram, Program


def find_obstacle() -> str:
    """Why bubblewrap cannot run here, in its own words; "" when it can."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed"
    tried = [program, "--unshare-user", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc", "--", "true"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False, timeout=60)
    return "" if done.returncode == 0 else f"bubblewrap cannot run here: {done.stderr.strip()}"


OBSTACLE = find_obstacle()
needs_bubblewrap = pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE or "-")
PRINTED = ("seatbelt", "bubblewrap", "claude-code", "codex")


@pytest.mark.parametrize("name", PRINTED)
def test_each_profile_is_printed_in_words_and_as_a_document(memrepo: HereProgram, name: str) -> None:
    memrepo("init")
    told = memrepo("guard", name)
    assert told.status == 0
    assert str(memrepo.root) in told.out
    document = memrepo("guard", name, "--json").document
    assert document["hidden"][0] == str(memrepo.root)
    assert document["read_only"] == [str(memrepo.home / ".memrepo" / "config")]
    assert document["arguments" if name == "bubblewrap" else "profile"]


def test_the_settings_for_claude_code_are_one_json_document_in_words_too(memrepo: HereProgram) -> None:
    memrepo("init")
    assert set(json.loads(memrepo("guard", "claude-code").out)) == {"permissions", "sandbox"}


@pytest.mark.parametrize("name", PRINTED)
def test_without_a_memory_folder_there_is_nothing_to_guard(memrepo: HereProgram, name: str) -> None:
    told = memrepo("guard", name)
    assert told.status == 2
    assert "memrepo init" in told.err


def test_a_memory_behind_a_link_is_guarded_where_it_really_is(memrepo: HereProgram, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    home = tmp_path / "elsewhere"
    home.symlink_to("real")
    memrepo("init", "--path", str(tmp_path / "real" / "memory"))
    assert memrepo("guard", "seatbelt", "--path", str(tmp_path / "real" / "memory"), "--json").document["hidden"][
        0
    ] == (str((tmp_path / "real" / "memory").resolve()))


def test_a_command_is_not_run_without_a_sandbox(memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    memrepo("init")
    monkeypatch.setattr("shutil.which", lambda _: None)
    for name in ("run", "bubblewrap", "seatbelt"):
        told = memrepo("guard", name, "touch", "proof")
        assert told.status == 3
        assert "the command was not run" in told.err
        assert not (memrepo.home / "proof").exists()


def test_a_system_without_a_known_sandbox_runs_nothing(memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    memrepo("init")
    monkeypatch.setattr("sys.platform", "plan9")
    told = memrepo("guard", "run", "touch", "proof", "--json")
    assert told.status == 3
    assert not (memrepo.home / "proof").exists()


def test_run_without_a_command_says_what_is_missing(memrepo: HereProgram) -> None:
    assert memrepo("guard", "run").status == 2


@needs_bubblewrap
def test_a_guarded_command_sees_an_empty_memory_and_everything_else(program: Program) -> None:
    program("remember", "Prefers tabs over spaces")
    (program.home / "project.txt").write_text("work", "utf-8")
    told = program(
        "guard", "run", "--", "sh", "-c", 'ls -A "CoWork Memory" .memrepo/data .memrepo/cache; cat project.txt'
    )
    assert told.status == 0
    assert "me.md" not in told.out
    assert "default" not in told.out
    assert told.out.endswith("work")


@needs_bubblewrap
def test_a_guarded_command_ends_with_its_own_status_and_keeps_its_options(program: Program) -> None:
    program("init")
    assert program("guard", "run", "sh", "-c", "exit 9").status == 9
    assert program("guard", "bubblewrap", "--", "echo", "--json").out == "--json\n"


ATTACKS = {
    "read": 'cat "CoWork Memory/me.md"',
    "grep": "grep -rs tabs . .memrepo",
    "git": 'git -C "CoWork Memory" show HEAD',
    "another name": 'ln -s "$PWD/CoWork Memory" x && cat x/me.md',
    "uncover": 'umount "CoWork Memory"; cat "CoWork Memory/me.md"',
    "own namespaces": 'unshare -Urm sh -c \'umount -l "$PWD/CoWork Memory"; cat "CoWork Memory/me.md"\'',
    "bind elsewhere": "mkdir y; unshare -Urm sh -c 'mount --bind . y && cat \"y/CoWork Memory/me.md\"'",
    "another process": "cat /proc/*/root/\"$PWD\"/'CoWork Memory/me.md'",
    "private store": "cat .memrepo/data/profiles/default/*",
}


@needs_bubblewrap
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
def test_no_way_around_the_cover_shows_a_word_of_memory(program: Program, attack: str) -> None:
    program("remember", "Prefers tabs over spaces")
    program("remember", "Votes for tabs", "--private")
    told = program("guard", "run", "sh", "-c", f"{attack}; echo done")
    assert told.out.endswith("done\n")
    assert "tabs" not in told.out


@needs_bubblewrap
@pytest.mark.parametrize(
    "attack",
    [
        'rm -rf "CoWork Memory"',
        'mv "CoWork Memory" gone',
        'echo - Lies > "CoWork Memory/me.md"',
        "rm -rf .memrepo/data; mv .memrepo gone",
        "mkdir -p .memrepo/config; echo 'enabled = false' > .memrepo/config/settings.toml",
    ],
)
def test_a_guarded_command_changes_neither_memory_nor_where_it_is_looked_for(program: Program, attack: str) -> None:
    program("remember", "Prefers tabs over spaces")
    program("guard", "run", "sh", "-c", attack)
    assert (program.root / "me.md").read_text("utf-8").count("Prefers tabs over spaces") == 1
    assert program("recall", "tabs").status == 0
    assert program("settings", "get", "enabled").out.strip() == "true"


@needs_bubblewrap
def test_what_comes_into_being_after_the_start_is_covered_too(program: Program) -> None:
    program("init", "--path", str(program.home / "notes" / "memory"))
    told = program("guard", "run", "--path", str(program.home / "notes" / "memory"), "ls", "-A", ".memrepo/cache")
    assert told.status == 0
    assert told.out == ""
    assert (program.home / ".memrepo" / "cache").is_dir()


@needs_bubblewrap
def test_the_folder_above_a_memory_cannot_be_renamed(program: Program) -> None:
    memory = program.home / "notes" / "memory"
    program("init", "--path", str(memory))
    told = program("guard", "run", "--path", str(memory), "mv", "notes", "elsewhere")
    assert told.status == 1
    assert (memory / "MEMORY.md").exists()


@needs_bubblewrap
def test_a_command_in_a_hidden_folder_is_not_run(program: Program) -> None:
    program("init")
    told = program("guard", "run", "ls", folder=program.root)
    assert told.status == 3
    assert "current folder" in told.err
