"""`memrepo install`, `uninstall` and `status` as a person runs them, in an empty home folder."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kit.program import TIMEOUT_S, make_environment

from memrepo.installs.hosts import HOSTS

if TYPE_CHECKING:
    from tests.kit.program import HereProgram, Program

GEMINI = b'{\n  // mine\n  "theme": "dark", "odd": [1,2],\n  "mcpServers": {"other": {"command": "o"}}\n}\n'
CODEX = b"# mine\nmodel = 'x' # why\n\n[mcp_servers.other]\ncommand = 'o'\n"


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def list_tree(home: Path) -> dict[str, bytes]:
    """Every file below a home folder but memrepo's own data."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and ".memrepo" not in path.relative_to(home).parts
    }


def list_folders(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_dir() and ".memrepo" not in path.parts}


def test_a_real_process_installs_every_host_and_takes_it_out_again(program: Program) -> None:
    put(program.home / ".gemini" / "settings.json", GEMINI)
    put(program.home / ".codex" / "config.toml", CODEX)
    (program.home / ".config").mkdir()
    before, folders = list_tree(program.home), list_folders(program.home)
    for host in HOSTS:
        assert program("install", host, "--yes").status == 0
    told = program("status", "--json", folder=put(program.home / "work" / "x", b"").parent)
    states = {(row["host"], row["scope"]): row["state"] for row in told.document["hosts"]}
    assert {state for (_, scope), state in states.items() if scope == "user"} == {"installed"}
    assert {state for (_, scope), state in states.items() if scope == "project"} == {"not installed"}
    for host in HOSTS:
        assert program("uninstall", host, "--yes").status == 0
    (program.home / "work" / "x").unlink()
    (program.home / "work").rmdir()
    assert list_tree(program.home) == before
    assert list_folders(program.home) == folders


def test_on_a_terminal_the_change_is_shown_and_asked_for(program: Program) -> None:
    settings = put(program.home / ".gemini" / "settings.json", GEMINI)

    def answer(word: bytes) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        started = subprocess.Popen(
            [sys.executable, "-m", "memrepo", "install", "gemini"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=program.home,
            env=make_environment(program.home),
        )
        os.close(theirs)
        os.write(ours, word + b"\n")
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
        os.close(ours)
        return started.wait(TIMEOUT_S), said.decode()

    status, said = answer(b"n")
    assert status == 3
    assert f"+++ {settings}" in said
    assert '+    "BeforeTool": [' in said
    assert settings.read_bytes() == GEMINI
    assert not (program.home / ".gemini" / "skills").exists()
    status, _ = answer(b"y")
    assert status == 0
    assert b"BeforeTool" in settings.read_bytes()


def test_without_a_terminal_it_needs_yes(memrepo: HereProgram) -> None:
    told = memrepo("install", "cursor")
    assert told.status == 3
    assert "--yes" in told.err
    assert list_tree(memrepo.home) == {}


def test_a_dry_run_shows_the_change_and_writes_nothing(memrepo: HereProgram) -> None:
    told = memrepo("install", "codex", "--dry-run")
    assert told.status == 0
    assert "+[mcp_servers.memrepo]" in told.lines
    assert list_tree(memrepo.home) == {}
    assert not (memrepo.home / ".memrepo" / "data" / "installs").exists()


def test_secrets_around_the_change_are_not_shown(memrepo: HereProgram) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
    servers = {"mcpServers": {"other": {"env": {"GITHUB_TOKEN": key}}}}
    for indent, arguments in ((2, ()), (2, ["--json"]), (None, ())):
        put(memrepo.home / ".cursor" / "mcp.json", json.dumps(servers, indent=indent).encode())
        told = memrepo("install", "cursor", "--dry-run", *arguments)
        assert "GITHUB_TOKEN" in told.out
        assert key not in told.out
    assert memrepo("install", "cursor", "--yes").status == 0
    assert key in (memrepo.home / ".cursor" / "mcp.json").read_text()


def test_installing_again_changes_nothing(memrepo: HereProgram) -> None:
    memrepo("install", "gemini", "--yes")
    before = list_tree(memrepo.home)
    told = memrepo("install", "gemini", "--json")
    assert told.status == 0
    assert told.document["changed"] is False
    assert told.document["files"] == []
    assert list_tree(memrepo.home) == before


def test_the_bytes_from_before_are_kept_for_the_owner_alone(memrepo: HereProgram) -> None:
    settings = put(memrepo.home / ".gemini" / "settings.json", GEMINI)
    settings.chmod(0o640)
    told = memrepo("install", "gemini", "--yes", "--json").document
    kept = {Path(row["path"]).name: row["backup"] for row in told["files"]}
    backup = Path(kept["settings.json"])
    assert backup.read_bytes() == GEMINI
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(backup.parent.stat().st_mode) == 0o700
    assert kept["SKILL.md"] is None
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert [path.name for path in settings.parent.iterdir() if path.name.endswith(".tmp")] == []


def test_what_the_user_wrote_since_stays_when_memrepo_goes(memrepo: HereProgram) -> None:
    settings = put(memrepo.home / ".gemini" / "settings.json", GEMINI)
    memrepo("install", "gemini", "--yes")
    settings.write_bytes(settings.read_bytes().replace(b'"dark"', b'"light"'))
    memrepo("uninstall", "gemini", "--yes")
    assert settings.read_bytes() == GEMINI.replace(b'"dark"', b'"light"')


def test_profile_path_and_memrepo_home_are_handed_on_and_a_change_of_them_is_outdated(memrepo: HereProgram) -> None:
    memrepo("install", "codex", "--yes", "--profile", "work", "--path", "notes")
    server = tomllib.loads((memrepo.home / ".codex" / "config.toml").read_text())["mcp_servers"]["memrepo"]
    assert server["args"][-4:] == ["--profile", "work", "--path", str(memrepo.home / "notes")]
    assert server["env"] == {"MEMREPO_HOME": str(memrepo.home / ".memrepo")}
    hooks = (memrepo.home / ".codex" / "hooks.json").read_text()
    assert f"MEMREPO_HOME={memrepo.home / '.memrepo'} " in hooks
    row = memrepo("status", "codex", "--json").document["hosts"][0]
    assert row["state"] == "outdated"
    assert memrepo("install", "codex", "--yes").status == 0
    assert memrepo("status", "codex", "--json").document["hosts"][0]["state"] == "installed"


def test_settings_that_cannot_be_read_are_told_with_their_line_and_nothing_is_written(memrepo: HereProgram) -> None:
    settings = put(memrepo.home / ".gemini" / "settings.json", b'{\n  "theme": "dark"\n  "x": 1\n}\n')
    before = list_tree(memrepo.home)
    told = memrepo("install", "gemini", "--yes", "--json")
    assert told.status == 2
    assert told.document["error"]["facts"] == {"file": str(settings), "line": 3}
    assert list_tree(memrepo.home) == before
    row = memrepo("status", "gemini", "--json").document["hosts"][0]
    assert row["state"] == "broken"
    assert "line 3" in row["detail"]


def test_an_entry_of_another_program_is_refused_without_force(memrepo: HereProgram) -> None:
    settings = put(memrepo.home / ".cursor" / "mcp.json", b'{"mcpServers": {"memrepo": {"command": "npx"}}}')
    told = memrepo("install", "cursor", "--yes")
    assert told.status == 3
    assert "--force" in told.err
    assert memrepo("install", "cursor", "--yes", "--force").status == 0
    assert memrepo("uninstall", "cursor", "--yes").status == 0
    assert json.loads(settings.read_bytes()) == {"mcpServers": {"memrepo": {"command": "npx"}}}


def test_a_link_to_a_dotfile_stays_a_link_and_is_told(memrepo: HereProgram) -> None:
    dotfile = put(memrepo.home / "dotfiles" / "gemini.json", GEMINI)
    settings = memrepo.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.symlink_to(dotfile)
    told = memrepo("install", "gemini", "--yes", "--json").document
    assert told["notes"] == [f"{settings} is a link; what changes is {dotfile}"]
    assert settings.is_symlink()
    assert b"BeforeTool" in dotfile.read_bytes()
    memrepo("uninstall", "gemini", "--yes")
    assert settings.is_symlink()
    assert dotfile.read_bytes() == GEMINI


def test_a_link_to_a_dotfile_that_is_not_there_yet_is_left_as_it_was(memrepo: HereProgram) -> None:
    dotfile = memrepo.home / "dotfiles" / "gemini.json"
    dotfile.parent.mkdir()
    settings = memrepo.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.symlink_to(dotfile)
    assert memrepo("install", "gemini", "--yes").status == 0
    assert b"BeforeTool" in dotfile.read_bytes()
    assert memrepo("uninstall", "gemini", "--yes").status == 0
    assert settings.is_symlink()
    assert not dotfile.exists()


def test_a_file_of_comments_alone_is_kept_and_comes_back(memrepo: HereProgram) -> None:
    settings = put(memrepo.home / ".gemini" / "settings.json", b"// mine, empty for now")
    assert memrepo("install", "gemini", "--yes").status == 0
    assert settings.read_bytes().startswith(b"// mine, empty for now\n{")
    assert memrepo("uninstall", "gemini", "--yes").status == 0
    assert settings.read_bytes() == b"// mine, empty for now"


def test_a_pipe_in_the_place_of_settings_is_not_opened(memrepo: HereProgram) -> None:
    settings = memrepo.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    os.mkfifo(settings)
    told = memrepo("install", "gemini", "--yes")
    assert told.status != 0
    assert "no file" in told.err


def test_a_read_only_file_is_not_replaced(memrepo: HereProgram) -> None:
    settings = put(memrepo.home / ".gemini" / "settings.json", GEMINI)
    settings.chmod(0o444)
    told = memrepo("install", "gemini", "--yes")
    assert told.status == 3
    assert "chmod u+w" in told.err
    assert list_tree(memrepo.home) == {".gemini/settings.json": GEMINI}


def test_a_project_gets_its_own_files_and_the_home_folder_none(memrepo: HereProgram) -> None:
    project = memrepo.home / "projects" / "billing"
    project.mkdir(parents=True)
    for host in HOSTS:
        assert memrepo("install", host, "--yes", "--scope", "project", "--folder", str(project)).status == 0
    assert all(name.startswith("projects/billing/") for name in list_tree(memrepo.home))
    rows = memrepo("status", "--json", "--folder", str(project)).document["hosts"]
    assert {row["state"] for row in rows if row["scope"] == "project"} == {"installed"}
    for host in HOSTS:
        assert memrepo("uninstall", host, "--yes", "--scope", "project", "--folder", str(project)).status == 0
    assert list_tree(memrepo.home) == {}
    assert list(project.iterdir()) == []


def test_in_a_project_no_link_is_followed_out_of_it(memrepo: HereProgram) -> None:
    project, outside = memrepo.home / "project", memrepo.home / "outside"
    project.mkdir()
    outside.mkdir()
    (project / ".cursor").symlink_to(outside)
    told = memrepo("install", "cursor", "--yes", "--scope", "project", "--folder", str(project), "--json")
    assert told.status == 2
    assert told.document["error"]["facts"]["rule"] == "link"
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("folder", [".", "missing"])
def test_neither_the_home_folder_nor_a_missing_one_is_a_project(memrepo: HereProgram, folder: str) -> None:
    assert memrepo("install", "cursor", "--yes", "--scope", "project", "--folder", folder).status == 2
    assert list_tree(memrepo.home) == {}


def test_status_says_what_is_seen_and_what_cannot_be_enforced(memrepo: HereProgram) -> None:
    told = memrepo("status", "codex")
    assert "codex\tuser\tnot installed" in told.lines
    assert "sees: session-start, prompt, before-tool" in told.out
    assert "cannot: no hook runs before you trusted it: /hooks in Codex" in told.lines


def test_a_program_that_is_gone_makes_the_install_outdated(memrepo: HereProgram) -> None:
    memrepo("install", "cursor", "--yes")
    servers = memrepo.home / ".cursor" / "mcp.json"
    whole = json.loads(servers.read_bytes())
    whole["mcpServers"]["memrepo"]["command"] = "/gone/memrepo"
    servers.write_text(json.dumps(whole))
    row = memrepo("status", "cursor", "--json").document["hosts"][0]
    assert row["state"] == "outdated"
    assert str(servers) in row["detail"]


@pytest.mark.parametrize(
    ("host", "is_active", "has_path"),
    [("codex", False, False), ("codex", True, True), ("cursor", False, True)],
    ids=["on the path", "only while an environment is active", "an app"],
)
def test_a_host_starts_memrepo_by_its_name_where_that_will_be_found(
    memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch, host: str, is_active: bool, has_path: bool
) -> None:
    program = put(memrepo.home / "env" / "bin" / "memrepo", b"#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    if is_active:
        monkeypatch.setenv("VIRTUAL_ENV", str(memrepo.home / "env"))
        monkeypatch.setattr(sys, "argv", [str(program)])
    row = memrepo("status", host, "--json").document["hosts"][0]
    assert row["program"] == [str(program) if has_path else "memrepo"]
    assert row["program_found"] is True


def test_a_program_that_no_path_knows_is_started_by_its_python(
    memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(memrepo.home))
    monkeypatch.setattr(sys, "argv", ["/somewhere/__main__.py"])
    assert memrepo("status", "codex", "--json").document["hosts"][0]["program"] == [sys.executable, "-m", "memrepo"]
