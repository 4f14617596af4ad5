"""The hosts, as data: their files, the names of their events, what they cannot enforce. Sources: docs/hosts/.

Each host gets the MCP server, its hooks where it has some, and the skill that tells an agent how to use memory.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from memrepo.errors import InvalidInput
from memrepo.installs.pieces import (
    SERVER_NAME,
    ConfigFile,
    Event,
    HookEntries,
    Host,
    InstallScope,
    OwnFile,
    Piece,
    Program,
    ServerEntry,
    Surroundings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HOOK_TIMEOUT_S = 10
_SKILL = "plugins/claude-code/skills/memrepo/SKILL.md"
_SKILL_MARK = b"name: memrepo"
_SHELL_LIMIT = "a shell command can hide what it touches; to be sure: memrepo guard"
_FAIL_OPEN_LIMIT = "a hook that fails or takes too long lets the tool call pass"

_CLAUDE_EVENTS = (
    (Event.SESSION_START, "SessionStart"),
    (Event.PROMPT, "UserPromptSubmit"),
    (Event.BEFORE_TOOL, "PreToolUse"),
    (Event.AFTER_TOOL, "PostToolUse"),
    (Event.SUB_AGENT_START, "SubagentStart"),
    (Event.SUB_AGENT_STOP, "SubagentStop"),
)
_GEMINI_EVENTS = (
    (Event.SESSION_START, "SessionStart"),
    (Event.PROMPT, "BeforeAgent"),
    (Event.BEFORE_TOOL, "BeforeTool"),
    (Event.AFTER_TOOL, "AfterTool"),
    (Event.SESSION_END, "SessionEnd"),
)
_CURSOR_EVENTS = (
    (Event.SESSION_START, "sessionStart"),
    (Event.PROMPT, "beforeSubmitPrompt"),
    (Event.BEFORE_TOOL, "preToolUse"),
    (Event.AFTER_TOOL, "postToolUse"),
    (Event.SUB_AGENT_START, "subagentStart"),
    (Event.SUB_AGENT_STOP, "subagentStop"),
    (Event.SESSION_END, "sessionEnd"),
)
_OPENCODE_EVENTS = (
    (Event.SESSION_START, "session.created"),
    (Event.PROMPT, "chat.message"),
    (Event.BEFORE_TOOL, "tool.execute.before"),
    (Event.AFTER_TOOL, "tool.execute.after"),
    (Event.SESSION_END, "session.deleted"),
)
_TOOL_EVENTS = frozenset({Event.BEFORE_TOOL, Event.AFTER_TOOL})


def get_host(name: str) -> Host:
    """The host of a name. Errors: InvalidInput."""
    if name not in HOSTS:
        raise InvalidInput(f"memrepo knows no host {name!r}", hint=f"one of: {', '.join(HOSTS)}", value=name)
    return HOSTS[name]


def read_package_file(name: str) -> bytes:
    """A file that is shipped with memrepo, by its path below `installs/`."""
    return files("memrepo.installs").joinpath(name).read_bytes()


def make_plugin_files(program: Program) -> dict[str, bytes]:
    """The Claude Code plugin, by path inside its folder; with the usual program it is what the package ships."""
    groups = _make_groups(program, "claude-code", (*_CLAUDE_EVENTS, (Event.SESSION_END, "SessionEnd")), "*")
    hooks: dict[str, list[Any]] = {event: [group] for event, group in groups}
    return {
        ".claude-plugin/plugin.json": read_package_file("plugins/claude-code/.claude-plugin/plugin.json"),
        ".mcp.json": _show({"mcpServers": {SERVER_NAME: program.make_server()}}),
        "hooks/hooks.json": _show({"hooks": hooks}),
        "skills/memrepo/SKILL.md": read_package_file(_SKILL),
    }


def _make_groups(
    program: Program, host: str, events: tuple[tuple[Event, str], ...], every_tool: str, timeout: int = HOOK_TIMEOUT_S
) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The hooks in the form `{matcher, hooks: [...]}`, which several hosts share."""
    groups = []
    for event, name in events:
        handler = {"type": "command", "command": program.make_hook_command(host, event), "timeout": timeout}
        matcher = {"matcher": every_tool} if event in _TOOL_EVENTS else {}
        groups.append((name, matcher | {"hooks": [handler]}))
    return tuple(groups)


def _show(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _make_claude_code(where: Surroundings, scope: InstallScope, program: Program) -> tuple[Piece, ...]:
    """A plugin in the skills folder: loaded from there as it is, so that no shared settings file is touched.

    A marketplace in the settings would be asked about first, and not be loaded at all without a terminal; the user's
    MCP entries stand in a file that a running session rewrites; hooks in `settings.json` are run by other hosts too.
    """
    top = where.folder / ".claude"
    if scope is InstallScope.USER:
        top = where.find_folder("CLAUDE_CONFIG_DIR", where.home / ".claude")
    folder = top / "skills" / "memrepo"
    return tuple(OwnFile(folder / name, data) for name, data in make_plugin_files(program).items())


def _make_codex(where: Surroundings, scope: InstallScope, program: Program) -> tuple[Piece, ...]:
    top, skills = where.folder / ".codex", where.folder
    if scope is InstallScope.USER:
        top, skills = where.find_folder("CODEX_HOME", where.home / ".codex"), where.home
    return (
        ServerEntry(ConfigFile((top / "config.toml",), is_toml=True), (("mcp_servers",),), program.make_server()),
        HookEntries(ConfigFile((top / "hooks.json",)), _make_groups(program, "codex", _CLAUDE_EVENTS, "*")),
        _make_skill(skills / ".agents"),
    )


def _make_gemini(where: Surroundings, scope: InstallScope, program: Program) -> tuple[Piece, ...]:
    top = where.folder / ".gemini"
    if scope is InstallScope.USER:
        top = where.find_folder("GEMINI_CLI_HOME", where.home) / ".gemini"
    settings = ConfigFile((top / "settings.json",))
    groups = _make_groups(program, "gemini", _GEMINI_EVENTS, ".*", HOOK_TIMEOUT_S * 1000)
    return (
        ServerEntry(settings, (("mcpServers",),), program.make_server()),
        HookEntries(settings, groups),
        _make_skill(top),
    )


def _make_cursor(where: Surroundings, scope: InstallScope, program: Program) -> tuple[Piece, ...]:
    top = (where.home if scope is InstallScope.USER else where.folder) / ".cursor"
    elements = tuple(
        (name, {"command": program.make_hook_command("cursor", event), "timeout": HOOK_TIMEOUT_S})
        for event, name in _CURSOR_EVENTS
    )
    return (
        ServerEntry(ConfigFile((top / "mcp.json",)), (("mcpServers",),), program.make_server()),
        HookEntries(ConfigFile((top / "hooks.json",)), elements, defaults=(("version", 1),)),
        _make_skill(top),
    )


def _make_opencode(where: Surroundings, scope: InstallScope, program: Program) -> tuple[Piece, ...]:
    top, config = where.folder / ".opencode", where.folder
    if scope is InstallScope.USER:
        top = config = where.find_folder("XDG_CONFIG_HOME", where.home / ".config") / "opencode"
    server: dict[str, Any] = {"type": "local", "command": [*program.argv, "mcp", *program.options]}
    server |= {"environment": dict(program.environment)} if program.environment else {}
    return (
        # Version 2 has its servers one level deeper, and takes the older form too.
        ServerEntry(
            ConfigFile((config / "opencode.json", config / "opencode.jsonc")), (("mcp", "servers"), ("mcp",)), server
        ),
        OwnFile(top / "plugins" / "memrepo.js", _make_opencode_plugin(program), mark=b"// memrepo in opencode"),
        _make_skill(top),
    )


def _make_opencode_plugin(program: Program) -> bytes:
    text = read_package_file("plugins/opencode/memrepo.js").decode()
    values = {"PROGRAM": list(program.argv), "OPTIONS": list(program.options), "VARIABLES": dict(program.environment)}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        name = line.removeprefix("const ").partition(" = ")[0]
        if name in values:
            lines[number] = f"const {name} = {json.dumps(values.pop(name))}"
    return "\n".join(lines).encode()


def _make_vscode(where: Surroundings, scope: InstallScope, program: Program) -> tuple[Piece, ...]:
    if scope is InstallScope.USER:
        agents, hooks = where.home / ".copilot", where.home / ".copilot" / "hooks"
        usual = where.find_folder("XDG_CONFIG_HOME", where.home / ".config")
        settings = where.home / "Library" / "Application Support" if where.platform == "darwin" else usual
        servers = settings / "Code" / "User" / "mcp.json"
    else:
        agents, hooks = where.folder / ".github", where.folder / ".github" / "hooks"
        servers = where.folder / ".vscode" / "mcp.json"
    handlers = {
        name: [{"type": "command", "command": program.make_hook_command("vscode", event), "timeout": HOOK_TIMEOUT_S}]
        for event, name in _CLAUDE_EVENTS
    }
    return (
        ServerEntry(ConfigFile((servers,)), (("servers",),), {"type": "stdio", **program.make_server()}),
        OwnFile(hooks / "memrepo.json", _show({"hooks": handlers}), mark=b"hook vscode"),
        _make_skill(agents),
    )


def _make_skill(top: Path) -> OwnFile:
    return OwnFile(top / "skills" / "memrepo" / "SKILL.md", read_package_file(_SKILL), mark=_SKILL_MARK)


HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        Host(
            "claude-code",
            "Claude Code",
            (*_CLAUDE_EVENTS, (Event.SESSION_END, "SessionEnd")),
            (_SHELL_LIMIT, _FAIL_OPEN_LIMIT, "disableAllHooks in its settings turns the hooks off"),
            ("start a new session, or /reload-plugins; /plugin shows memrepo@skills-dir",),
            _make_claude_code,
        ),
        Host(
            "codex",
            "Codex",
            _CLAUDE_EVENTS,
            (
                "no hook runs before you trusted it: /hooks in Codex",
                "its own web search is seen only where it comes as a tool call",
                "there is no event for the end of a session",
                _SHELL_LIMIT,
                _FAIL_OPEN_LIMIT,
            ),
            ("start Codex, and trust the new hooks: /hooks",),
            _make_codex,
        ),
        Host(
            "gemini",
            "Gemini CLI",
            _GEMINI_EVENTS,
            (
                "sub-agents are not told apart from the main agent",
                "a project's hooks run only in a trusted folder",
                _SHELL_LIMIT,
                _FAIL_OPEN_LIMIT,
            ),
            ("start a new session; /hooks panel and /mcp list show memrepo",),
            _make_gemini,
        ),
        Host(
            "cursor",
            "Cursor",
            _CURSOR_EVENTS,
            (
                "completions in the editor (Tab) are not watched",
                "cloud agents have neither this program nor your memory",
                _SHELL_LIMIT,
                _FAIL_OPEN_LIMIT,
            ),
            ("restart Cursor; its settings list the server under MCP and the hooks under Hooks",),
            _make_cursor,
            is_app=True,
        ),
        Host(
            "opencode",
            "opencode",
            _OPENCODE_EVENTS,
            (
                "a session whose parent cannot be asked counts as a sub-agent's: its messages are no quotes",
                _SHELL_LIMIT,
                _FAIL_OPEN_LIMIT,
            ),
            ("start opencode anew; opencode mcp list shows memrepo",),
            _make_opencode,
        ),
        Host(
            "vscode",
            "VS Code",
            _CLAUDE_EVENTS,
            (
                "hooks are a preview there, and an organization may turn them off",
                "a sub-agent's calls are not told apart from the main agent's",
                "hooks of the Claude and Codex harnesses come from those hosts: install them there",
                "there is no event for the end of a session",
                _SHELL_LIMIT,
                _FAIL_OPEN_LIMIT,
            ),
            ("start the server once: MCP: List Servers",),
            _make_vscode,
            is_app=True,
        ),
    )
}
