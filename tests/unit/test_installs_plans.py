"""What an install writes and what its removal takes out, host by host; no disk."""

from __future__ import annotations

import json
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memrepo.errors import InvalidInput, Refused
from memrepo.installs.hosts import HOSTS, get_host, make_plugin_files, read_package_file
from memrepo.installs.pieces import (
    Event,
    HookEntries,
    InstallScope,
    OwnFile,
    Piece,
    Program,
    ServerEntry,
    Surroundings,
    is_our_handler,
    is_our_server,
)
from memrepo.installs.plan import InstallPlan, list_files, plan_install, plan_uninstall
from memrepo.installs.record import RecordedFile, continue_record, format_record, make_digest, parse_record
from memrepo.surfaces.hooks.codecs import HOSTS as CODECS
from memrepo.surfaces.hooks.message import HookEvent

HOME, FOLDER = Path("/home/me"), Path("/home/me/projects/billing")
WHERE = Surroundings(HOME, FOLDER)
SPACED = Program(("/opt/my tools/memrepo",), ("--profile", "work"), (("MEMREPO_HOME", "/home/me/it's here"),))
Files = dict[Path, bytes | None]


def pieces_of(host: str, scope: InstallScope = InstallScope.USER, program: Program | None = None) -> tuple[Piece, ...]:
    return get_host(host).make_pieces(WHERE, scope, program or Program())


def install(pieces: tuple[Piece, ...], present: Files, *, is_forced: bool = False) -> InstallPlan:
    return plan_install(pieces, present=present, recorded={}, is_forced=is_forced)


def after(plan: InstallPlan, present: Files | None = None) -> Files:
    return {**(present or {}), **{edit.path: edit.after for edit in plan.edits}}


def record(plan: InstallPlan) -> dict[Path, RecordedFile]:
    return {
        edit.path: RecordedFile(
            edit.path,
            make_digest(edit.after or b""),
            was_absent=edit.before is None,
            backup=None if edit.before is None else make_digest(edit.before),
            made=edit.made,
        )
        for edit in plan.edits
    }


def read(files: Files, name: str) -> Any:
    data = files[Path(name)]
    assert data is not None
    return tomllib.loads(data.decode()) if name.endswith(".toml") else json.loads(data)


@pytest.mark.parametrize("scope", InstallScope)
@pytest.mark.parametrize("host", HOSTS)
def test_installing_twice_changes_nothing_the_second_time(host: str, scope: InstallScope) -> None:
    pieces = pieces_of(host, scope)
    files = after(install(pieces, {}))
    assert files
    assert install(pieces, files).edits == ()


@pytest.mark.parametrize("scope", InstallScope)
@pytest.mark.parametrize("host", HOSTS)
def test_a_project_install_stays_in_the_project(host: str, scope: InstallScope) -> None:
    top = HOME if scope is InstallScope.USER else FOLDER
    for path in list_files(pieces_of(host, scope)):
        assert path.is_relative_to(top)
        assert scope is InstallScope.PROJECT or not path.is_relative_to(FOLDER)


@pytest.mark.parametrize("host", HOSTS)
def test_removing_what_was_installed_into_nothing_leaves_nothing(host: str) -> None:
    pieces = pieces_of(host)
    plan = install(pieces, {})
    removal = plan_uninstall(pieces, present=after(plan), recorded=record(plan), backups={})
    assert {edit.path for edit in removal.edits} == {edit.path for edit in plan.edits}
    assert all(edit.after is None for edit in removal.edits)


@pytest.mark.parametrize("host", HOSTS)
def test_without_a_record_the_removal_still_takes_out_every_entry(host: str) -> None:
    pieces = pieces_of(host)
    files = after(install(pieces, {}))
    left = after(plan_uninstall(pieces, present=files, recorded={}, backups={}), files)
    assert all(data is None or b"memrepo" not in data for data in left.values())


@pytest.mark.parametrize("host", HOSTS)
def test_every_event_that_a_host_has_is_watched(host: str) -> None:
    files = after(install(pieces_of(host, program=SPACED), {}))
    text = b"\n".join(data for data in files.values() if data is not None).decode()
    for event, _ in get_host(host).events:
        if host == "opencode":
            assert f'"{event}"' in text
        else:
            assert f"hook {host} {event} --profile work" in text
    assert get_host(host).limits


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "cursor", "vscode"])
def test_a_hook_command_is_quoted_for_a_shell(host: str) -> None:
    command = SPACED.make_hook_command(host, Event.BEFORE_TOOL)
    assert shlex.split(command) == [
        "MEMREPO_HOME=/home/me/it's here",
        "/opt/my tools/memrepo",
        "hook",
        host,
        "before-tool",
        "--profile",
        "work",
    ]
    assert is_our_handler({"command": command})


def test_the_files_of_each_host_are_where_it_looks() -> None:
    files = after(install(pieces_of("codex"), {}))
    assert read(files, "/home/me/.codex/config.toml")["mcp_servers"]["memrepo"] == {
        "command": "memrepo",
        "args": ["mcp"],
    }
    assert "SessionStart" in read(files, "/home/me/.codex/hooks.json")["hooks"]
    files = after(install(pieces_of("gemini"), {}))
    settings = read(files, "/home/me/.gemini/settings.json")
    assert settings["mcpServers"]["memrepo"]["command"] == "memrepo"
    assert settings["hooks"]["BeforeTool"][0]["matcher"] == ".*"
    files = after(install(pieces_of("cursor"), {}))
    assert read(files, "/home/me/.cursor/hooks.json")["version"] == 1
    assert read(files, "/home/me/.cursor/mcp.json")["mcpServers"]["memrepo"]["args"] == ["mcp"]
    files = after(install(pieces_of("vscode", InstallScope.PROJECT), {}))
    assert read(files, f"{FOLDER}/.vscode/mcp.json")["servers"]["memrepo"]["type"] == "stdio"
    assert "PreToolUse" in read(files, f"{FOLDER}/.github/hooks/memrepo.json")["hooks"]
    files = after(install(pieces_of("opencode"), {}))
    assert read(files, "/home/me/.config/opencode/opencode.json")["mcp"]["memrepo"]["command"] == ["memrepo", "mcp"]


def test_variables_of_a_host_move_its_files() -> None:
    where = replace(WHERE, variables={"CODEX_HOME": "/data/codex", "CLAUDE_CONFIG_DIR": "relative"})
    paths = list_files(get_host("codex").make_pieces(where, InstallScope.USER, Program()))
    assert Path("/data/codex/config.toml") in paths
    paths = list_files(get_host("claude-code").make_pieces(where, InstallScope.USER, Program()))
    assert paths[0].is_relative_to(HOME / ".claude")


def test_the_package_ships_the_plugin_as_it_is_installed_with_the_usual_program() -> None:
    for name, data in make_plugin_files(Program()).items():
        assert read_package_file(f"plugins/claude-code/{name}") == data
    marketplace = json.loads(read_package_file("plugins/.claude-plugin/marketplace.json"))
    assert [plugin["source"] for plugin in marketplace["plugins"]] == ["./claude-code"]
    assert json.loads(read_package_file("plugins/claude-code/.claude-plugin/plugin.json"))["name"] == "memrepo"


def test_the_skill_has_the_name_of_its_folder_and_a_description_that_fits() -> None:
    head = read_package_file("plugins/claude-code/skills/memrepo/SKILL.md").decode().split("---\n")[1]
    name, description = head.splitlines()
    assert name == "name: memrepo"
    assert len(description.removeprefix("description: ")) <= 1024


CURSOR_MCP = Path("/home/me/.cursor/mcp.json")
CURSOR_HOOKS = Path("/home/me/.cursor/hooks.json")


def test_other_servers_comments_and_unknown_keys_stay() -> None:
    text = b'{\n  // mine\n  "mcpServers": {\n    "other": {"command": "o", "x": 1}, // keep\n  },\n  "odd": [1,2]\n}\n'
    data = after(install(pieces_of("cursor"), {CURSOR_MCP: text}))[CURSOR_MCP]
    assert data is not None
    for part in (b"// mine", b'{"command": "o", "x": 1}, // keep', b'"odd": [1,2]'):
        assert part in data


def test_an_older_entry_of_ours_is_brought_up_to_date_and_keeps_what_the_user_added() -> None:
    old = {"command": "/old/memrepo", "args": ["mcp"], "env": {"MEMREPO_HOME": "/x", "LANG": "de"}, "disabled": True}
    present: Files = {CURSOR_MCP: json.dumps({"mcpServers": {"memrepo": old}}).encode()}
    server = read(after(install(pieces_of("cursor"), present)), str(CURSOR_MCP))["mcpServers"]["memrepo"]
    assert server == {"command": "memrepo", "args": ["mcp"], "env": {"LANG": "de"}, "disabled": True}


def test_an_entry_of_our_name_that_is_not_ours_is_refused_and_taken_over_only_by_force() -> None:
    present: Files = {CURSOR_MCP: b'{"mcpServers": {"memrepo": {"command": "npx", "args": ["memory"]}}}'}
    with pytest.raises(Refused) as caught:
        install(pieces_of("cursor"), present)
    assert caught.value.facts["rule"] == "foreign-entry"
    assert "--force" in caught.value.hint
    forced = read(after(install(pieces_of("cursor"), present, is_forced=True)), str(CURSOR_MCP))
    assert forced["mcpServers"]["memrepo"]["command"] == "memrepo"
    left = plan_uninstall(pieces_of("cursor"), present=present, recorded={}, backups={})
    assert left.edits == ()


def test_a_users_hooks_stay_beside_ours_and_an_older_one_of_ours_is_replaced() -> None:
    theirs = {"command": "./audit.sh"}
    old = {"command": "/old/memrepo hook cursor before-tool"}
    gone = {"command": "memrepo hook cursor before-shell"}
    hooks = {"version": 1, "hooks": {"preToolUse": [theirs, old, old], "beforeShellExecution": [gone]}}
    present: Files = {CURSOR_HOOKS: json.dumps(hooks, indent=2).encode()}
    read_back = read(after(install(pieces_of("cursor"), present)), str(CURSOR_HOOKS))["hooks"]
    assert read_back["preToolUse"] == [theirs, {"command": "memrepo hook cursor before-tool", "timeout": 10}]
    assert read_back["beforeShellExecution"] == []


def test_a_hook_that_the_user_put_into_our_group_stays_there() -> None:
    path = Path("/home/me/.codex/hooks.json")
    ours = {"type": "command", "command": "memrepo hook codex before-tool"}
    theirs = {"type": "command", "command": "./audit.sh"}
    present: Files = {path: json.dumps({"hooks": {"PreToolUse": [{"hooks": [ours, theirs]}]}}).encode()}
    groups = read(after(install(pieces_of("codex"), present)), str(path))["hooks"]["PreToolUse"]
    assert groups[0] == {"hooks": [theirs]}
    assert is_our_handler(groups[1]["hooks"][0])
    left = after(plan_uninstall(pieces_of("codex"), present=present, recorded={}, backups={}), present)
    assert read(left, str(path))["hooks"]["PreToolUse"] == [{"hooks": [theirs]}]


def test_a_file_changed_since_keeps_the_change_when_ours_comes_out() -> None:
    before = b'{\n  "theme": "dark"\n}\n'
    settings = Path("/home/me/.gemini/settings.json")
    pieces = pieces_of("gemini")
    plan = install(pieces, {settings: before})
    files = after(plan)
    data = files[settings]
    assert data is not None
    files[settings] = data.replace(b'"dark"', b'"light"')
    left = after(plan_uninstall(pieces, present=files, recorded=record(plan), backups={settings: before}), files)
    assert left[settings] == b'{\n  "theme": "light"\n}\n'


def test_an_untouched_file_gets_its_old_bytes_back() -> None:
    before = b'\xef\xbb\xbf{"theme":"dark",\r\n}'
    settings = Path("/home/me/.gemini/settings.json")
    pieces = pieces_of("gemini")
    plan = install(pieces, {settings: before})
    left = after(
        plan_uninstall(pieces, present=after(plan), recorded=record(plan), backups={settings: before}), after(plan)
    )
    assert left[settings] == before
    assert (after(plan)[settings] or b"").startswith(b"\xef\xbb\xbf")


def test_an_own_file_that_was_edited_is_neither_overwritten_nor_removed_without_force() -> None:
    pieces = pieces_of("claude-code")
    plan = install(pieces, {})
    files, recorded = after(plan), record(plan)
    skill = next(path for path in files if path.name == "SKILL.md")
    files[skill] = (files[skill] or b"") + b"\nmine\n"
    newer = tuple(replace(one, data=one.data + b"\n") if isinstance(one, OwnFile) else one for one in pieces)
    with pytest.raises(Refused, match="was changed since"):
        plan_install(newer, present=files, recorded=recorded)
    removal = plan_uninstall(pieces, present=files, recorded=recorded, backups={})
    assert skill not in {edit.path for edit in removal.edits}
    assert "--force" in removal.notes[0]
    forced = plan_uninstall(pieces, present=files, recorded=recorded, backups={}, is_forced=True)
    assert skill in {edit.path for edit in forced.edits}


def test_a_file_in_our_place_that_is_not_ours_is_refused() -> None:
    pieces = pieces_of("opencode")
    plugin = next(one for one in pieces if isinstance(one, OwnFile))
    with pytest.raises(Refused, match="is not memrepo's"):
        install(pieces, {plugin.path: b"export default 1\n"})
    assert install(pieces, {plugin.path: plugin.mark + b" of last year\n"}).edits


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b'{"mcp": {"other": {"type": "local", "command": ["o"]}}}', ("mcp", "memrepo")),
        (b'{"mcp": {"servers": {}}}', ("mcp", "servers", "memrepo")),
        (b'{"mcp": {"servers": {"type": "local", "command": ["s"]}}}', ("mcp", "memrepo")),
    ],
)
def test_opencode_keeps_its_servers_in_the_form_that_the_file_has(text: bytes, place: tuple[str, ...]) -> None:
    path = Path("/home/me/.config/opencode/opencode.jsonc")
    files = after(install(pieces_of("opencode"), {path: text}), {path: text})
    found = read(files, str(path))
    for key in place:
        found = found[key]
    assert is_our_server(found)
    assert Path("/home/me/.config/opencode/opencode.json") not in files
    removal = plan_uninstall(pieces_of("opencode"), present=files, recorded={}, backups={})
    assert after(removal)[path] == text


@pytest.mark.parametrize("data", [b'{"hooks": ', b"\xff{}", b"[]", b'{"hooks": 1}', b'{"mcpServers": [], "hooks": {}}'])
def test_settings_that_cannot_be_read_are_refused_with_their_file(data: bytes) -> None:
    settings = Path("/home/me/.gemini/settings.json")
    with pytest.raises(InvalidInput, match="nothing was changed") as caught:
        install(pieces_of("gemini"), {settings: data})
    assert caught.value.facts["file"] == str(settings)
    assert caught.value.facts["line"] == 1


@pytest.mark.parametrize("data", [b"", b"\n", b"{}", b"{\n}\n"])
def test_an_empty_file_is_filled(data: bytes) -> None:
    files = after(install(pieces_of("cursor"), {CURSOR_MCP: data, CURSOR_HOOKS: data}))
    assert is_our_server(read(files, str(CURSOR_MCP))["mcpServers"]["memrepo"])
    assert read(files, str(CURSOR_HOOKS))["version"] == 1


def test_pieces_are_one_server_and_hooks_where_a_host_has_shared_files() -> None:
    kinds = {host: [type(piece) for piece in pieces_of(host)] for host in HOSTS}
    assert set(kinds["claude-code"]) == {OwnFile}
    assert kinds["codex"] == [ServerEntry, HookEntries, OwnFile]


@pytest.mark.parametrize(
    "command",
    [
        "memrepo hook codex prompt",
        "/opt/x/memrepo hook codex prompt --profile work",
        "'/opt/my tools/memrepo' hook codex prompt",
        "MEMREPO_HOME=/x /usr/bin/python3 -m memrepo hook codex prompt",
    ],
)
def test_hooks_of_ours_are_known_by_their_command(command: str) -> None:
    assert is_our_handler({"type": "command", "command": command})


@pytest.mark.parametrize("command", ["memrepo doctor", "my-memrepo hook codex prompt", "echo memrepo", "", None, 3])
def test_other_hooks_are_not_ours(command: object) -> None:
    assert not is_our_handler({"type": "command", "command": command})


def test_a_record_comes_back_and_a_broken_one_counts_as_none() -> None:
    one = RecordedFile(Path("/a"), "d", was_absent=True, made=(("hooks", "x"),), folders=(Path("/f"),))
    assert parse_record(format_record([one])) == {Path("/a"): one}
    for broken in (b"{", b"[]", b'{"files": [{}]}', b'{"files": 3}', b"\xff", None):
        assert parse_record(broken) == {}


def test_a_second_install_keeps_the_way_back_to_before_the_first() -> None:
    first = RecordedFile(Path("/a"), make_digest(b"1"), backup="b0", made=(("x",),))
    second = RecordedFile(Path("/a"), make_digest(b"2"), backup="b1", made=(("y",),))
    untouched = continue_record(first, second, before=b"1")
    assert (untouched.backup, untouched.after, untouched.made) == ("b0", make_digest(b"2"), (("x",), ("y",)))
    edited = continue_record(first, second, before=b"1 and a hand")
    assert (edited.backup, edited.after) == (None, "")
    assert continue_record(first, second, before=None) == second


def test_an_unknown_host_is_told_which_there_are() -> None:
    with pytest.raises(InvalidInput) as caught:
        get_host("emacs")
    assert "codex" in caught.value.hint


@pytest.mark.parametrize("host", HOSTS)
def test_the_page_of_a_host_says_what_it_cannot_enforce_and_which_events_are_seen(host: str) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "hosts" / f"{host}.md").read_text("utf-8")
    for limit in get_host(host).limits:
        assert f"- {limit}\n" in page
    for ours, theirs in get_host(host).events:
        assert f"| `{ours}` | `{theirs}` |\n" in page
    assert f"memrepo uninstall {host}\n" in page


def test_the_hook_command_knows_the_same_hosts_and_events() -> None:
    assert {str(event) for event in Event} == {str(event) for event in HookEvent}
    assert set(HOSTS) == set(CODECS)
