"""What the user said in a session, read from the file that an agent host keeps of it. Pure: lines come in.

Taken are the user's own words and the agent's last reply. Left out: what tools gave back, what sub-agents were told,
what the host put into the user's mouth (reminders, commands, summaries), and sessions that a program ran. A line that
cannot be read says nothing. Formats: Claude Code's session files (one JSON object a line: `type`, `message`, `cwd`,
`sessionId`, `isSidechain`, `isMeta`), Codex's rollouts (`timestamp`, `type`, `payload`); both as their programs write
them, neither promised by their makers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memrepo.policy.screen import has_no_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CLAUDE_CODE, CODEX = "claude-code", "codex"
LINE_LIMIT_BYTES = 256 * 1024
MESSAGES_LIMIT = 200
_MESSAGE_LIMIT_CHARS = 20_000

# What the host writes in the user's place begins with a tag; a user's words that do are left out with it.
_TAGGED = re.compile(r"\s*<[a-z][a-z0-9_-]*[\s>/]", re.IGNORECASE)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL | re.IGNORECASE)
_NOT_TYPED = ("Caveat: The messages below", "[Request interrupted", "This session is being continued from")
# Where a person types. A rollout of `codex exec`, of its MCP server or of a sub-agent was told by a program.
_TYPED_CODEX_SOURCES = frozenset({"cli", "vscode"})


@dataclass(frozen=True, slots=True)
class Talk:
    """What is new of one session. `folder` is where it ran, "" when unknown; `reply` is the agent's last word.

    `is_left_out`: a program or an agent told it, or it carries `<no-memory>`; then it has no words.
    """

    host: str
    session_id: str
    folder: str = ""
    title: str = ""
    user_messages: tuple[str, ...] = ()
    reply: str = ""
    is_left_out: bool = False

    @property
    def says_something(self) -> bool:
        """Whether there is anything in it for a dream."""
        return bool(self.user_messages) and not self.is_left_out


@dataclass(slots=True)
class _Parts:
    session_id: str = ""
    folder: str = ""
    title: str = ""
    reply: str = ""
    is_left_out: bool = False


def parse_claude_code(lines: Iterable[bytes]) -> Talk:
    """The talk in lines of a Claude Code session file; of any part of one, since each line names its session."""
    found, messages = _Parts(), list[str]()
    for record in _iter_records(lines):
        if record.get("isSidechain") is True:
            continue
        found.session_id = found.session_id or _text(record.get("sessionId"))
        found.folder = found.folder or _text(record.get("cwd"))
        if _text(record.get("entrypoint")).startswith("sdk"):
            found.is_left_out = True
        kind, message = record.get("type"), record.get("message")
        if kind == "summary":
            found.title = _text(record.get("summary")) or found.title
        elif kind in {"ai-title", "custom-title"}:
            found.title = _text(record.get("customTitle")) or _text(record.get("aiTitle")) or found.title
        elif kind == "user" and isinstance(message, dict) and _is_typed(record):
            messages += _read_typed(message.get("content"))
        elif kind == "assistant" and isinstance(message, dict) and record.get("isApiErrorMessage") is not True:
            found.reply = "\n".join(_iter_blocks(message.get("content"))).strip() or found.reply
    return _make_talk(CLAUDE_CODE, found, messages)


def parse_codex(lines: Iterable[bytes], *, first_line: bytes = b"") -> Talk:
    """The talk in lines of a Codex rollout; `first_line` is the file's own first, which says whose session it is."""
    found, messages = _Parts(), list[str]()
    has_meta = False
    for record in _iter_records((first_line, *lines) if first_line else lines):
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        kind = payload.get("type")
        if record.get("type") == "session_meta" and not has_meta:  # a fork repeats that of its parent
            has_meta = True
            found.session_id, found.folder = _text(payload.get("id")), _text(payload.get("cwd"))
            source = payload.get("source", "cli")
            is_typed = isinstance(source, str) and source in _TYPED_CODEX_SOURCES
            found.is_left_out = not is_typed or payload.get("thread_source") == "subagent"
        elif record.get("type") == "event_msg" and kind == "user_message":
            if payload.get("kind", "plain") in {"plain", None}:
                messages += _read_typed(payload.get("message"))
        elif record.get("type") == "event_msg" and kind in {"agent_message", "task_complete"}:
            said = payload.get("message") if kind == "agent_message" else payload.get("last_agent_message")
            found.reply = _text(said).strip() or found.reply
    if not has_meta:
        found.is_left_out = True  # nobody knows whose words these are
    return _make_talk(CODEX, found, messages)


PARSERS: dict[str, Callable[..., Talk]] = {CLAUDE_CODE: parse_claude_code, CODEX: parse_codex}


def _make_talk(host: str, found: _Parts, messages: list[str]) -> Talk:
    if found.is_left_out or has_no_memory(messages):
        return Talk(host, found.session_id, found.folder, is_left_out=True)
    said = tuple(dict.fromkeys(messages))[-MESSAGES_LIMIT:]
    reply = "" if has_no_memory((found.reply,)) else found.reply[:_MESSAGE_LIMIT_CHARS]
    return Talk(host, found.session_id, found.folder, found.title, said, reply)


def _iter_records(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if not line.strip() or len(line) > LINE_LIMIT_BYTES:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _is_typed(record: dict[str, Any]) -> bool:
    origin = record.get("origin")
    is_other = isinstance(origin, dict) and origin.get("kind") not in {None, "human"}
    marks = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
    return not is_other and "toolUseResult" not in record and not any(record.get(mark) is True for mark in marks)


def _read_typed(content: object) -> list[str]:
    """The words of a message that a person typed; none when a tool's result is part of it."""
    if isinstance(content, list) and any(isinstance(b, dict) and b.get("type") == "tool_result" for b in content):
        return []
    texts = [_REMINDER.sub("", text).strip() for text in _iter_blocks(content)]
    # `<no-memory>` is the user's own tag.
    kept = [text for text in texts if text and not text.startswith(_NOT_TYPED)]
    return [text[:_MESSAGE_LIMIT_CHARS] for text in kept if has_no_memory((text,)) or not _TAGGED.match(text)]


def _iter_blocks(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
                yield block["text"]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
