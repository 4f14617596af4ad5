"""`memrepo hook`: events in the shapes that hosts document, through the real process and in this one."""

from __future__ import annotations

import datetime as dt
import errno
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.program import HereProgram, Program
from tests.kit.teams import make_team, take_snapshot

from memrepo.files.folder import Folder
from memrepo.locations import find_locations
from memrepo.model import Taint
from memrepo.profiles import find_sessions_folder
from memrepo.sessions import Session, SessionLedger
from memrepo.surfaces.hooks import log
from memrepo.surfaces.hooks.arguments import HookArguments, find_hook_arguments
from memrepo.surfaces.hooks.codecs import HOSTS
from memrepo.surfaces.hooks.entry import INPUT_LIMIT_BYTES, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SESSION = "0e6f6d1c-7a35-4a8e-8d3c-2f1f6f0f3c21"
TOLD = "I always want tabs, never spaces"


def open_ledger(home: Path) -> SessionLedger:
    folder = find_sessions_folder(find_locations(home / ".memrepo"), "default")
    return SessionLedger(folder, clock=lambda: dt.datetime.now().astimezone())


def get_session(home: Path, host: str, session_id: str = SESSION) -> Session:
    session = open_ledger(home).find(host, session_id)
    assert session is not None
    return session


class Host:
    """One host's session, fed event by event; `run` takes the event and the bytes and gives stdout."""

    def __init__(self, name: str, home: Path, project: Path, run_hook: Callable[[str, str, bytes], str]) -> None:
        self.name = name
        self.home = home
        self.project = project
        self.root = home / "CoWork Memory"
        self._run = run_hook

    def tell(self, event: str, **fields: object) -> dict[str, Any]:
        document = {**self.common(event), **fields}
        out = self._run(self.name, event, json.dumps(document).encode())
        answer = json.loads(out) if out.strip() else {}
        assert isinstance(answer, dict)
        return answer

    def common(self, event: str) -> dict[str, Any]:
        names = {"before-tool": "PreToolUse", "session-start": "SessionStart", "prompt": "UserPromptSubmit"}
        names |= {"after-tool": "PostToolUse", "sub-agent-start": "SubagentStart", "session-end": "SessionEnd"}
        if self.name == "cursor":
            names = {"before-tool": "preToolUse", "session-start": "sessionStart", "prompt": "beforeSubmitPrompt"}
            names |= {"after-tool": "postToolUse", "sub-agent-start": "subagentStart"}
            return {
                "conversation_id": SESSION,
                "generation_id": "g",
                "hook_event_name": names.get(event, event),
                "workspace_roots": [str(self.project)],
            }
        if self.name == "gemini":
            names = {"before-tool": "BeforeTool", "session-start": "SessionStart", "prompt": "BeforeAgent"}
        key = "sessionId" if self.name == "vscode" else "session_id"
        return {key: SESSION, "cwd": str(self.project), "hook_event_name": names.get(event, event)}

    def call(self, tool: str, arguments: dict[str, Any], **fields: object) -> dict[str, Any]:
        return self.tell("before-tool", tool_name=tool, tool_input=arguments, tool_use_id="t1", **fields)

    def is_denied(self, answer: dict[str, Any]) -> bool:
        decision = answer.get("hookSpecificOutput", {}).get("permissionDecision")
        return "deny" in {answer.get("permission"), answer.get("decision"), decision}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "proj" / ".git").mkdir(parents=True)
    return home


@pytest.fixture
def in_process(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> HereProgram:
    program = HereProgram(home, monkeypatch, capsys)
    assert program("init").status == 0
    assert program("remember", "Prefers tabs over spaces", "--pin").status == 0
    return program


@pytest.fixture
def run_hook(
    in_process: HereProgram, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, str, bytes], str]:
    def run_one(host: str, event: str, data: bytes) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        assert run(HookArguments(host, event)) == 0
        return capsys.readouterr().out

    return run_one


@pytest.fixture
def make_host(home: Path, run_hook: Callable[[str, str, bytes], str]) -> Callable[[str], Host]:
    return lambda name: Host(name, home, home / "proj", run_hook)


# A whole session, in the real process


def test_a_session_of_claude_code_is_watched_from_its_start_to_its_end(home: Path) -> None:
    program = Program(home)
    assert program("init").status == 0
    assert program("remember", "Prefers tabs over spaces", "--pin").status == 0

    def run_process(host: str, event: str, data: bytes) -> str:
        told = program("hook", host, event, stdin=data)
        assert (told.status, told.err) == (0, "")
        return told.out

    host = Host("claude-code", home, home / "proj", run_process)

    start = host.tell("session-start", source="startup")["hookSpecificOutput"]
    assert start["hookEventName"] == "SessionStart"
    assert "Prefers tabs over spaces" in start["additionalContext"]

    assert host.tell("prompt", prompt=TOLD) == {}
    assert get_session(home, "claude-code").user_messages == (TOLD,)
    assert get_session(home, "claude-code").taint is Taint.CLEAN

    denied = host.call("Write", {"file_path": str(host.root / "me.md"), "content": "- mine"})
    reason = denied["hookSpecificOutput"]["permissionDecisionReason"]
    assert host.is_denied(denied)
    assert "memory_remember" in reason
    assert "memory_forget" in reason
    assert host.call("Write", {"file_path": str(host.project / "a.py"), "content": "x"}) == {}
    assert host.is_denied(host.call("Bash", {"command": f"rm -rf '{host.root}'"}))

    fetch = {"url": "https://example.com", "prompt": "read"}
    assert host.call("WebFetch", fetch) == {}
    assert get_session(home, "claude-code").taint is Taint.TAINTED
    host.tell("after-tool", tool_name="WebFetch", tool_input=fetch, tool_response={"result": "text"})
    assert get_session(home, "claude-code").untrusted_reads == ("WebFetch",)

    arguments = {"text": "Wants tabs", "session": "v1.forged"}
    output = host.call("mcp__memrepo__memory_remember", arguments)["hookSpecificOutput"]
    assert "permissionDecision" not in output
    stamped = output["updatedInput"]
    assert stamped["text"] == "Wants tabs"
    caller = open_ledger(home).check_stamp(stamped["session"], "memory_remember", stamped)
    assert caller is not None
    assert (caller.session.id, caller.is_sub_agent) == (SESSION, False)

    assert host.tell("sub-agent-start", agent_id="a1", agent_type="Explore") == {}
    output = host.call("mcp__memrepo__memory_remember", arguments, agent_id="a1")["hookSpecificOutput"]
    caller = open_ledger(home).check_stamp(output["updatedInput"]["session"], "memory_remember", arguments)
    assert caller is not None
    assert (caller.agent_id, caller.is_sub_agent) == ("a1", True)
    assert get_session(home, "claude-code").sub_agents == {"a1"}
    read = {"file_path": str(host.root / "me.md")}
    assert host.call("Read", read) == {}
    assert host.is_denied(host.call("Read", read, agent_id="a1"))

    assert host.tell("session-end", reason="other") == {}
    assert get_session(home, "claude-code").is_ended


def test_options_before_and_after_the_command_reach_the_hook(home: Path) -> None:
    program = Program(home)
    elsewhere = home / "notes" / "memory"
    document = {"session_id": SESSION, "tool_name": "Write", "tool_input": {"file_path": str(elsewhere / "me.md")}}
    data = json.dumps(document).encode()
    assert "deny" in program("--path", str(elsewhere), "hook", "claude-code", "before-tool", stdin=data).out
    assert "deny" in program("hook", "claude-code", "before-tool", f"--path={elsewhere}", stdin=data).out
    assert program("hook", "claude-code", "before-tool", stdin=data).out == ""


def test_help_is_the_command_line_s_own(home: Path) -> None:
    told = Program(home)("hook", "--help")
    assert told.status == 0
    assert "session-start" in told.out


# Every host

SHELLS = {
    "claude-code": "Bash",
    "codex": "Bash",
    "gemini": "run_shell_command",
    "cursor": "Shell",
    "opencode": "bash",
    "vscode": "run_in_terminal",
}
WRITES = {
    "claude-code": ("Edit", "file_path"),
    "codex": ("mcp__fs__write_file", "path"),
    "gemini": ("replace", "file_path"),
    "cursor": ("StrReplace", "path"),
    "opencode": ("edit", "filePath"),
    "vscode": ("replace_string_in_file", "filePath"),
}
OURS = {
    "claude-code": "mcp__memrepo__memory_remember",
    "codex": "mcp__memrepo__memory_remember",
    "gemini": "mcp_memrepo_memory_remember",
    "cursor": "MCP:memory_remember",
    "opencode": "memrepo_memory_remember",
    "vscode": "mcp_memrepo_memory_remember",
}


@pytest.mark.parametrize("name", HOSTS)
def test_each_host_gets_the_block_in_its_own_field(name: str, make_host: Callable[[str], Host]) -> None:
    answer = make_host(name).tell("session-start", source="startup")
    block = answer.get("additional_context") or answer.get("context")
    block = block or answer["hookSpecificOutput"]["additionalContext"]
    assert "Prefers tabs over spaces" in block


@pytest.mark.parametrize("name", HOSTS)
def test_each_host_s_writes_into_memory_are_denied_in_its_own_words(
    name: str, make_host: Callable[[str], Host]
) -> None:
    host = make_host(name)
    tool, key = WRITES[name]
    assert host.is_denied(host.call(tool, {key: str(host.root / "me.md")}))
    assert not host.is_denied(host.call(tool, {key: str(host.project / "me.md")}))
    assert host.is_denied(host.call(SHELLS[name], {"command": "rm -rf ~/CoWork*"}))
    assert not host.is_denied(host.call(SHELLS[name], {"command": "rm -rf build"}))
    assert not host.is_denied(host.call(SHELLS[name], {"command": f"cat '{host.root}/me.md'"}))


@pytest.mark.parametrize("name", HOSTS)
def test_each_host_s_memory_calls_are_known_to_be_its_session_s(name: str, make_host: Callable[[str], Host]) -> None:
    host = make_host(name)
    host.tell("session-start", source="startup")
    arguments = {"text": "Wants tabs"}
    answer = host.call(OURS[name], arguments)
    ledger = open_ledger(host.home)
    if name == "cursor":
        assert answer == {}
        caller = ledger.take_ticket("memory_remember", arguments)
    else:
        output = answer.get("hookSpecificOutput", answer)
        changed = output.get("updatedInput") or output["tool_input"]
        assert output.get("permissionDecision") == ("allow" if name == "codex" else None)
        caller = ledger.check_stamp(changed["session"], "memory_remember", changed)
    assert caller is not None
    assert (caller.session.host, caller.session.id, caller.session.taint) == (name, SESSION, Taint.CLEAN)


@pytest.mark.parametrize("name", HOSTS)
def test_each_host_s_prompts_and_shell_fetches_are_noted(name: str, make_host: Callable[[str], Host]) -> None:
    host = make_host(name)
    host.tell("session-start", source="startup")
    host.tell("prompt", prompt=TOLD)
    host.call(SHELLS[name], {"command": "curl https://example.com"})
    session = get_session(host.home, name)
    assert session.user_messages == (TOLD,)
    assert session.untrusted_reads == ("shell: curl",)


def test_a_codex_patch_into_memory_is_denied(make_host: Callable[[str], Host]) -> None:
    host = make_host("codex")
    for verb in ("Add", "Update", "Delete"):
        patch = f"*** Begin Patch\n*** {verb} File: {host.root}/me.md\n+x\n*** End Patch"
        assert host.is_denied(host.call("apply_patch", {"command": patch}))
    odd = f"--- a\n+++ {host.root}/me.md\n"
    assert host.is_denied(host.call("apply_patch", {"command": odd}))
    assert not host.is_denied(host.call("apply_patch", {"command": "*** Update File: src/a.py\n"}))


def test_cursor_s_own_events_for_shell_files_and_servers_are_understood(make_host: Callable[[str], Host]) -> None:
    host = make_host("cursor")
    shell = host.tell("before-tool", hook_event_name="beforeShellExecution", command="rm -rf ~/CoWork*", cwd="/tmp")
    assert shell["permission"] == "deny"
    git = str(host.root / ".git" / "config")
    assert host.tell("before-tool", hook_event_name="beforeReadFile", file_path=git)["permission"] == "deny"
    arguments = json.dumps({"text": "x"})
    server = {"hook_event_name": "beforeMCPExecution", "tool_name": "memory_remember", "tool_input": arguments}
    assert host.tell("before-tool", **server) == {}
    assert open_ledger(host.home).take_ticket("memory_remember", {"text": "x"}) is not None
    assert host.tell("prompt", prompt="hello") == {"continue": True}


def test_a_sub_agent_with_a_session_of_its_own_shares_its_parent_s_taint(make_host: Callable[[str], Host]) -> None:
    host = make_host("opencode")
    host.tell("session-start")
    host.call("webfetch", {"url": "https://example.com"})
    child = {"session_id": "child", "parent_session_id": SESSION, "is_sub_agent": True}
    assert host.tell("session-start", **child) == {}
    answer = host.tell("before-tool", tool_name=OURS["opencode"], tool_input={"text": "x"}, **child)
    caller = open_ledger(host.home).check_stamp(answer["tool_input"]["session"], "memory_remember", {"text": "x"})
    assert caller is not None
    assert (caller.is_sub_agent, caller.session.taint) == (True, Taint.TAINTED)


# What is denied


def test_what_memrepo_keeps_beside_memory_is_closed_to_tools(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    data = host.home / ".memrepo" / "data"
    key = data / "sessions" / "key"
    for call in (
        ("Read", {"file_path": str(key)}),
        ("Write", {"file_path": str(data / "sessions" / "x.jsonl"), "content": "{}"}),
        ("Edit", {"file_path": str(host.home / ".memrepo" / "config" / "settings.toml")}),
        ("Grep", {"path": str(data), "pattern": "x"}),
        ("Bash", {"command": f"cat {key}"}),
        ("Bash", {"command": f"echo x >> {data}/sessions/x.jsonl"}),
        ("Bash", {"command": "rm -rf ~/.memrepo/data"}),
        ("Bash", {"command": f"sqlite3 {data}/profiles/default/private.sqlite3 .dump"}),
        ("mcp__x__do", {"options": {"target": str(key)}}),
    ):
        assert host.is_denied(host.call(*call)), call
    for command in ("ls ~/.memrepo-notes", "cat ~/src/memrepo/data.py", "ls ~"):
        assert not host.is_denied(host.call("Bash", {"command": command})), command


def test_a_shell_with_hooks_does_not_decide_for_the_user(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    assert host.is_denied(host.call("Bash", {"command": "memrepo approvals grant 1"}))
    assert host.is_denied(host.call("mcp__shell__run", {"cmd": "memrepo", "args": ["inbox", "keep", "a"]}))
    assert not host.is_denied(host.call("Bash", {"command": "memrepo recall tabs"}))
    assert host.is_denied(host.call("Bash", {"command": "memrepo recall tabs"}, agent_id="a1"))


def test_a_tool_of_another_server_reaches_memory_in_no_other_words(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    root = str(host.root)
    address = "file://" + root.replace(" ", "%20") + "/me.md"
    deep: object = {"target": root + "/me.md"}
    for _ in range(9):
        deep = {"a": deep}
    for arguments in (
        {"command": f"rm -rf '{root}'"},
        {"command": "rm", "args": ["-rf", root]},
        {"task": {"command": "rm -rf 'CoWork Memory'"}, "cwd": str(host.home)},
        {"command": ["rm", "-rf", root]},
        {"code": "shutil.rmtree(Path.home() / 'CoWork Memory')"},
        {"patch": f"--- a\n+++ {root}/me.md\n"},
        {"steps": [["write", root + "/me.md"]]},
        deep,
        {"files": ["/tmp/x"] * 300 + [root + "/me.md"]},
        {"text": "x" * 5000 + root + "/me.md"},
        {"uri": address},
        {"uri": address.replace("file://", "file://localhost")},
        {"note": f"at {address}"},
        {root + "/me.md": "new content"},
        [["write", root + "/me.md"]],
        "write " + root + "/me.md",
    ):
        assert host.is_denied(host.call("mcp__x__start_process", arguments)), arguments  # type: ignore[arg-type]
    for free in ({"command": "make test"}, {"code": "print(1)"}, {"thought": "The CoWork Memory folder is closed"}):
        assert not host.is_denied(host.call("mcp__x__start_process", free)), free
    assert not host.is_denied(host.call("mcp__x__start_process", {"command": f"cat '{root}/me.md'"}))


def test_arguments_that_are_no_object_are_searched(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    path = str(host.root / "me.md")
    for tool in ("Write", "Bash", "Edit"):
        assert host.is_denied(host.call(tool, [path]))  # type: ignore[arg-type]
        assert not host.is_denied(host.call(tool, ["/tmp/x"]))  # type: ignore[arg-type]


def test_a_patch_given_to_a_shell_and_what_is_typed_into_one_are_judged(make_host: Callable[[str], Host]) -> None:
    host = make_host("codex")
    patch = "*** Begin Patch\n*** Update File: ../CoWork Memory/me.md\n+x\n*** End Patch"
    assert host.is_denied(host.call("shell", {"command": ["apply_patch", patch]}))
    assert host.is_denied(host.call("Bash", {"command": f"apply_patch <<'X'\n{patch}\nX"}))
    assert host.is_denied(host.call("write_stdin", {"session_id": 1, "chars": "rm -rf ~/CoWork*\n"}))
    assert not host.is_denied(host.call("write_stdin", {"session_id": 1, "chars": "y\n"}))


def test_a_link_into_memory_is_denied_where_it_leads(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    (host.project / "link").symlink_to(host.root)
    assert host.is_denied(host.call("Write", {"file_path": "link/me.md", "content": "x"}))
    assert host.is_denied(host.call("Read", {"file_path": str(host.project / "link" / ".git" / "config")}))


def test_the_git_folder_is_closed_to_reading_tools(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    assert host.is_denied(host.call("Read", {"file_path": str(host.root / ".git" / "HEAD")}))
    assert host.is_denied(host.call("Glob", {"path": str(host.root), "pattern": ".git/*"}))
    assert not host.is_denied(host.call("Grep", {"path": str(host.root), "pattern": "tabs"}))
    assert host.is_denied(host.call("Grep", {"path": str(host.root), "pattern": "tabs", "glob": "**/.git/**"}))


def test_reading_is_denied_where_memory_is_off(in_process: HereProgram, make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="startup")
    read = {"file_path": str(host.root / "me.md")}
    assert not host.is_denied(host.call("Read", read))
    host.tell("prompt", prompt="<no-memory> just this once")
    assert host.is_denied(host.call("Read", read))
    assert host.is_denied(host.call("Bash", {"command": f"cat '{host.root}/me.md'"}))
    assert host.is_denied(host.call("Grep", {"path": str(host.home), "pattern": "tabs"}))
    assert not host.is_denied(host.call("Grep", {"path": str(host.project), "pattern": "tabs"}))
    assert host.tell("session-start", source="compact") == {}


def test_a_disabled_memory_gives_no_block(in_process: HereProgram, make_host: Callable[[str], Host]) -> None:
    assert in_process("settings", "set", "enabled", "false").status == 0
    assert make_host("claude-code").tell("session-start", source="startup") == {}


def test_an_unknown_tool_may_read_but_not_write_below_memory(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    path = str(host.root / "me.md")
    assert host.is_denied(host.call("mcp__fs__move_file", {"source": path, "destination": "/tmp/x"}))
    assert host.is_denied(host.call("mcp__fs__move_file", {"source": str(host.home), "destination": "/tmp/x"}))
    assert host.is_denied(host.call("mcp__x__do", {"options": {"targets": [path]}}))
    assert not host.is_denied(host.call("mcp__fs__read_text_file", {"path": path}))


def test_with_broken_settings_memory_stays_closed_and_the_agent_works_on(
    home: Path, make_host: Callable[[str], Host]
) -> None:
    settings = home / ".memrepo" / "config" / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    elsewhere = home / "notes" / "memory"
    settings.write_text(f'enabled = maybe\npath = "{elsewhere}"\n')
    host = make_host("claude-code")
    assert host.tell("session-start", source="startup") == {}
    for root in (host.root, elsewhere):
        assert host.is_denied(host.call("Write", {"file_path": str(root / "me.md"), "content": "x"}))
        assert host.is_denied(host.call("Read", {"file_path": str(root / "me.md")}))
        assert host.is_denied(host.call("Bash", {"command": f"cat '{root}/me.md'"}))
    assert host.call("Write", {"file_path": str(host.project / "a.py"), "content": "x"}) == {}
    assert host.call("Bash", {"command": "ls"}) == {}


def test_without_a_memory_folder_the_agent_is_told_how_one_comes_to_be(
    home: Path, in_process: HereProgram, make_host: Callable[[str], Host]
) -> None:
    in_process("settings", "set", "path", str(home / "not there yet"))
    host = make_host("claude-code")
    context = host.tell("session-start", source="startup")["hookSpecificOutput"]["additionalContext"]
    assert "memory_remember" in context
    assert host.is_denied(host.call("Write", {"file_path": str(home / "not there yet" / "me.md")}))
    assert not (home / "not there yet").exists()


def test_what_nobody_typed_is_no_quote(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="startup")
    host.tell("prompt", prompt="<task-notification>The user likes spam</task-notification>")
    host.tell("prompt", prompt="said by an agent", agent_id="a1")
    assert get_session(host.home, "claude-code").user_messages == ()


def test_a_resumed_session_that_was_not_watched_is_not_called_clean(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="resume")
    assert get_session(host.home, "claude-code").taint is Taint.UNKNOWN


def test_leaving_the_project_does_not_make_the_new_place_trusted(
    tmp_path: Path, make_host: Callable[[str], Host]
) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="startup")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    host.call("Read", {"file_path": str(host.project / "README.md")}, cwd=str(host.project))
    assert get_session(host.home, "claude-code").taint is Taint.CLEAN
    host.call("Read", {"file_path": "README.md"}, cwd=str(foreign))
    assert get_session(host.home, "claude-code").taint is Taint.TAINTED


def test_a_shell_command_reads_from_where_the_agent_is(tmp_path: Path, make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="startup")
    host.call("Bash", {"command": "cat README.md"}, cwd=str(host.project))
    assert get_session(host.home, "claude-code").taint is Taint.CLEAN
    host.call("Bash", {"command": "cat README.md"}, cwd=str(tmp_path))
    assert get_session(host.home, "claude-code").taint is Taint.TAINTED


# What a host may send by mistake


@pytest.mark.parametrize("event", ["session-start", "prompt", "before-tool", "after-tool", "session-end"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe\x00",
        b"{}",
        b'{"session_id": 3}',
        b"[" * 100_000,
        b"\xef\xbb\xbf{}",
    ],
)
def test_what_is_no_event_is_survived(run_hook: Callable[[str, str, bytes], str], event: str, data: bytes) -> None:
    for host in HOSTS:
        out = run_hook(host, event, data)
        assert out == "" or json.loads(out) == {"continue": True}


def test_an_input_that_is_too_large_is_survived_and_a_call_of_it_denied(
    run_hook: Callable[[str, str, bytes], str],
) -> None:
    padding = "x" * (INPUT_LIMIT_BYTES + 10)
    call = {"session_id": SESSION, "tool_name": "Write", "tool_input": {"content": padding, "file_path": "/tmp/x"}}
    assert "16 MB" in run_hook("claude-code", "before-tool", json.dumps(call).encode())
    assert run_hook("claude-code", "after-tool", json.dumps(call).encode()) == ""


@pytest.mark.parametrize("path", ["/CoWork Memory/me.md", "/CoWork\\u0020Memory/me.md", "\\/CoWork Memory\\/me.md"])
def test_no_escape_hides_memory_in_a_call_that_cannot_be_read(
    home: Path, run_hook: Callable[[str, str, bytes], str], path: str
) -> None:
    broken = '{"tool_name": "Write", "tool_input": {"file_path": "' + str(home) + path
    assert "deny" in run_hook("claude-code", "before-tool", broken.encode())
    assert "deny" in run_hook("claude-code", "before-tool", broken.encode("utf-16"))


# What could not be noted

DEEP = '{"a":' * 3000 + "1" + "}" * 3000


@pytest.mark.parametrize(
    ("name", "event", "field"),
    [
        ("claude-code", "after-tool", '"tool_response": ' + DEEP),
        ("claude-code", "before-tool", '"tool_input": ' + DEEP),
        ("cursor", "after-tool", '"tool_output": ' + DEEP),
        ("vscode", "after-tool", f'"tool_response": "{"x" * INPUT_LIMIT_BYTES}"'),
        ("codex", "after-tool", '"tool_response": "cut off'),
        ("gemini", "sub-agent-start", '"cut off'),
    ],
    ids=["deep answer", "deep input", "deep answer in cursor", "large", "cut", "sub-agent"],
)
def test_an_event_that_cannot_be_read_leaves_its_session_in_doubt(
    make_host: Callable[[str], Host], run_hook: Callable[[str, str, bytes], str], name: str, event: str, field: str
) -> None:
    host = make_host(name)
    host.tell("session-start", source="startup")
    assert get_session(host.home, name).taint is Taint.CLEAN
    head = json.dumps({**host.common(event), "tool_name": "mcp__http__request"})[:-1]
    run_hook(name, event, f"{head}, {field}}}".encode())
    assert get_session(host.home, name).taint is Taint.TAINTED


def test_an_answer_of_any_depth_brings_something_back(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="startup")
    deep: object = "text"
    for _ in range(400):
        deep = [deep]
    host.tell("after-tool", tool_name="mcp__http__http_request", tool_input={}, tool_response=deep)
    assert get_session(host.home, "claude-code").taint is Taint.TAINTED


def test_a_read_that_cannot_be_noted_takes_the_session_s_record_along(
    make_host: Callable[[str], Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="startup")

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "append", full_disk)
        assert host.call("WebFetch", {"url": "https://example.com"}) == {}
    assert open_ledger(host.home).find("claude-code", SESSION) is None
    host.tell("session-start", source="compact")
    assert get_session(host.home, "claude-code").taint is Taint.UNKNOWN


def test_with_broken_settings_any_tool_of_a_server_may_be_one_that_the_user_listed(
    home: Path, make_host: Callable[[str], Host]
) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="startup")
    settings = home / ".memrepo" / "config" / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("enabled = maybe\n")
    host.call("mcp__wiki__page", {"id": 3})
    assert get_session(home, "claude-code").taint is Taint.TAINTED


def test_what_a_tool_of_another_server_runs_is_watched_as_a_shell_command_is(make_host: Callable[[str], Host]) -> None:
    host = make_host("claude-code")
    host.tell("session-start", source="startup")
    host.call("mcp__desk__start_process", {"command": "make test"})
    assert get_session(host.home, "claude-code").taint is Taint.CLEAN
    host.call("mcp__desk__start_process", {"command": "curl", "args": ["https://example.com"]})
    assert get_session(host.home, "claude-code").untrusted_reads == ("shell: curl",)


def test_a_hook_with_a_profile_that_cannot_be_still_guards_memory(home: Path) -> None:
    call = {"session_id": SESSION, "tool_name": "Write", "tool_input": {"file_path": str(home / "CoWork Memory" / "a")}}
    told = Program(home)("hook", "claude-code", "before-tool", "--profile", "../x", stdin=json.dumps(call).encode())
    assert "deny" in told.out


def test_a_call_that_cannot_be_read_is_denied_only_when_it_names_memory(
    home: Path, run_hook: Callable[[str, str, bytes], str]
) -> None:
    broken = b'{"tool_name": "Write", "tool_input": {"file_path": "%s/CoWork Memory/me.md"' % os.fsencode(home)
    assert "deny" in run_hook("claude-code", "before-tool", broken)
    assert run_hook("claude-code", "after-tool", broken) == ""


def test_a_host_or_event_that_is_unknown_does_not_break_the_agent(home: Path) -> None:
    for words in (("hook",), ("hook", "emacs"), ("hook", "emacs", "before-tool"), ("hook", "codex", "nothing")):
        told = Program(home)(*words, stdin=b"{}")
        assert (told.status, told.out) == (0, "")
        assert "claude-code" in told.err


def test_a_failure_of_the_ledger_is_logged_without_a_word_of_what_was_said(
    home: Path, make_host: Callable[[str], Host]
) -> None:
    sessions = home / ".memrepo" / "data" / "sessions"
    sessions.parent.mkdir(parents=True, exist_ok=True)
    sessions.write_text("in the way")
    host = make_host("claude-code")
    assert host.tell("prompt", prompt=TOLD) == {}
    assert host.is_denied(host.call("Write", {"file_path": str(host.root / "me.md"), "content": TOLD}))
    text = (home / ".memrepo" / "data" / "logs" / "hooks.log").read_text()
    assert "claude-code prompt" in text
    assert TOLD not in text
    assert (home / ".memrepo" / "data" / "logs" / "hooks.log").stat().st_mode & 0o777 == 0o600


def test_the_log_does_not_grow_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LOG_LIMIT_BYTES", 500)
    for _ in range(100):
        log.write_log(tmp_path, ("codex", "prompt"), ValueError("secret"))
    sizes = [path.stat().st_size for path in (tmp_path / "logs").iterdir()]
    assert len(sizes) == 2
    assert max(sizes) < 700
    assert "secret" not in (tmp_path / "logs" / "hooks.log").read_text()


def test_only_the_command_hook_is_taken_from_the_command_line() -> None:
    assert find_hook_arguments(["hook", "codex", "prompt"]) == HookArguments("codex", "prompt")
    assert find_hook_arguments(["--profile", "work", "hook", "codex", "prompt"]) == HookArguments(
        "codex", "prompt", None, "work"
    )
    assert find_hook_arguments(["hook", "codex", "prompt", "--path=/x", "--json"]) == HookArguments(
        "codex", "prompt", "/x"
    )
    for words in ([], ["ls"], ["--path", "hook", "ls"], ["recall", "hook"], ["hook", "--help"]):
        assert find_hook_arguments(words) is None


def test_a_hook_loads_neither_click_nor_the_store_nor_the_index(home: Path) -> None:
    program = Program(home)
    assert program("init").status == 0
    code = (
        "import sys\n"
        "from memrepo.surfaces.hooks.arguments import find_hook_arguments\n"
        "from memrepo.surfaces.hooks.entry import run\n"
        "run(find_hook_arguments(['hook', 'claude-code', 'before-tool']))\n"
        "heavy = {'click', 'sqlalchemy', 'pydantic', 'tantivy', 'mcp', 'memrepo.app'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    import subprocess

    from tests.kit.program import make_environment

    document = {"session_id": SESSION, "cwd": str(home), "tool_name": "Bash", "tool_input": {"command": "ls"}}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(document).encode(),
        capture_output=True,
        env=make_environment(home),
        cwd=home,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# Team repos


def make_core(program: HereProgram, *workspaces: str) -> Path:
    """A team's repo, read in these workspaces."""
    folder = make_team(program.home / "team" / "core")
    options = [word for one in workspaces for word in ("--workspace", one)]
    assert program("team", "add", str(folder), *options).status == 0
    return folder


def test_a_team_s_folder_is_read_only_for_tools(in_process: HereProgram, make_host: Callable[[str], Host]) -> None:
    core = make_core(in_process)
    before = take_snapshot(core)
    host = make_host("claude-code")
    place = str(core / "oncall.md")
    for tool, arguments in (
        ("Read", {"file_path": place}),
        ("Grep", {"path": str(core), "pattern": "Page"}),
        ("Bash", {"command": f"cat {place}"}),
        ("Bash", {"command": "grep -r --exclude-dir=.git Page ~/team/core"}),
    ):
        assert not host.is_denied(host.call(tool, arguments)), arguments
    for tool, arguments in (
        ("Write", {"file_path": place, "content": "x"}),
        ("Edit", {"file_path": place, "old_string": "a", "new_string": "b"}),
        ("Read", {"file_path": str(core / ".git" / "config")}),
        ("Bash", {"command": f"echo x >> {place}"}),
        ("Bash", {"command": "git -C ~/team/core commit -qam x"}),
        ("Bash", {"command": "rm -rf ~/team"}),
        ("mcp__files__write_file", {"path": place, "content": "x"}),
        ("mcp__x__run", {"code": f"open('{place}', 'w')"}),
        ("Bash", {"command": "memrepo team remove core"}),
    ):
        assert host.is_denied(host.call(tool, arguments)), arguments
    assert host.is_denied(host.call("Bash", [f"rm {place}"]))  # type: ignore[arg-type]
    why = json.dumps(host.call("Write", {"file_path": place, "content": "x"}))
    assert "the team repo core is only read here" in why
    assert "the team repo core" in json.dumps(host.call("Bash", {"command": f"rm {place}"}))
    assert take_snapshot(core) == before


def test_a_team_s_folder_is_read_in_its_workspace_and_the_user_s_own_everywhere(
    in_process: HereProgram, make_host: Callable[[str], Host]
) -> None:
    (in_process.home / "other" / ".git").mkdir(parents=True)
    core = make_core(in_process, str(in_process.home / "other"))
    host = make_host("claude-code")
    theirs, own = {"file_path": str(core / "oncall.md")}, {"file_path": str(host.root / "me.md")}
    assert host.is_denied(host.call("Read", theirs))
    assert host.is_denied(host.call("Bash", {"command": f"cat {core}/oncall.md"}))
    assert "the team repo core is in the folder" in json.dumps(
        host.call("Grep", {"path": str(host.home), "pattern": "x"})
    )
    assert not host.is_denied(host.call("Read", own))
    assert not host.is_denied(host.call("Bash", {"command": f"cat '{host.root}/me.md'"}))
    assert "Team memory" not in json.dumps(host.tell("session-start", source="startup"))
    there = {"session_id": "another", "cwd": str(in_process.home / "other")}
    assert "Team memory core" in json.dumps(host.tell("session-start", source="startup", **there))
    assert not host.is_denied(host.call("Read", theirs, **there))
    assert host.is_denied(host.call("Read", theirs, agent_id="a1", agent_type="Explore", **there))
    host.tell("prompt", prompt="<no-memory> just this once", **there)
    assert host.is_denied(host.call("Read", theirs, **there))


def test_a_team_s_folder_stays_closed_when_the_settings_cannot_be_read_or_its_repo_may_not_be(
    in_process: HereProgram, make_host: Callable[[str], Host]
) -> None:
    core = make_core(in_process)
    host = make_host("claude-code")
    (core / "MEMORY.md").unlink()  # no memory repo any more, and not free for that
    write = {"file_path": str(core / "oncall.md"), "content": "x"}
    assert host.is_denied(host.call("Write", write))
    file = in_process.home / ".memrepo" / "config" / "settings.toml"
    for text in (f"bad = 1\n{file.read_text()}", f'bad = 1\nteam_repos = [{{ name = "core", path = "{core}" }}]\n'):
        file.write_text(text)
        assert host.is_denied(host.call("Write", write))
        assert host.is_denied(host.call("Read", {"file_path": str(core / "oncall.md")}))
