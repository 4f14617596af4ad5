"""Session files as agent hosts write them, for tests: Claude Code's and Codex's."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

CLAUDE_ID = "5f0c1b1e-3a53-4d54-9a86-2b4f7f1d0a11"
CODEX_ID = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5"
LONG_AGO_S = 1_760_000_000.0


def user(content: Any, **fields: Any) -> dict[str, Any]:
    """A line of Claude Code in which the user (or a tool) speaks."""
    frame = {"isSidechain": False, "cwd": "/home/me/billing", "sessionId": CLAUDE_ID, "version": "2.1.1"}
    return {**frame, "type": "user", "message": {"role": "user", "content": content}, **fields}


def assistant(text: str, **fields: Any) -> dict[str, Any]:
    """A line of Claude Code in which the agent speaks, and thinks, and calls a tool."""
    blocks = [
        {"type": "thinking", "thinking": "thought in private"},
        {"type": "text", "text": text},
        {"type": "tool_use", "name": "Bash", "input": {"command": "cat secrets"}},
    ]
    return {"type": "assistant", "sessionId": CLAUDE_ID, "message": {"role": "assistant", "content": blocks}, **fields}


def tool_result(text: str) -> dict[str, Any]:
    """A line of Claude Code that carries what a tool gave back."""
    return user([{"type": "tool_result", "tool_use_id": "t1", "content": text}], toolUseResult={"stdout": text})


def codex_meta(source: Any = "cli", **fields: Any) -> dict[str, Any]:
    """The first line of a rollout."""
    return {"type": "session_meta", "payload": {"id": CODEX_ID, "cwd": "/home/me/shop", "source": source, **fields}}


def codex_event(kind: str, /, **fields: Any) -> dict[str, Any]:
    """An event of a rollout."""
    return {"type": "event_msg", "payload": {**fields, "type": kind}}


def to_lines(*records: dict[str, Any]) -> list[bytes]:
    return [json.dumps(record).encode() for record in records]


def write_claude(home: Path, *records: dict[str, Any], name: str = CLAUDE_ID, at_s: float = LONG_AGO_S) -> Path:
    """Adds lines to a session file of Claude Code below a home folder."""
    return _add(home / ".claude/projects/-home-me-billing" / f"{name}.jsonl", records, at_s)


def write_codex(home: Path, *records: dict[str, Any], at_s: float = LONG_AGO_S) -> Path:
    """Adds lines to a rollout of Codex below a home folder."""
    return _add(home / ".codex/sessions/2026/10/05" / f"rollout-2026-10-05T09-00-00-{CODEX_ID}.jsonl", records, at_s)


def _add(path: Path, records: tuple[dict[str, Any], ...], at_s: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.write(b"".join(line + b"\n" for line in to_lines(*records)))
    os.utime(path, (at_s, at_s))
    return path
