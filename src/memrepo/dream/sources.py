"""Which sessions a dream reads: files of agent hosts and the session ledger, each part of them once.

Reads in bounds whatever the files hold, and never writes to them. A session that was added to in the last half hour
still runs and waits. What was read is remembered by the caller, in a `Cursor`; it is kept only when a dream came to
its end, so that a dream that failed reads the same again.
"""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memrepo.dream.transcripts import CLAUDE_CODE, CODEX, LINE_LIMIT_BYTES, PARSERS, Talk
from memrepo.model import Privacy
from memrepo.sessions.records import SUFFIX

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from memrepo.model import Workspace
    from memrepo.sessions import Session, SessionLedger

TASKS_LIMIT = 20
RUNNING_S = 30 * 60
NEW_DAYS = 14
"""A session that nobody added to for longer is no news, also when no dream has read it."""

_PART_LIMIT_BYTES = 32 * 1024 * 1024
_TOTAL_LIMIT_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1 << 20
_FILES_LIMIT = 5_000
_PATTERNS = ((CLAUDE_CODE, ".claude/projects", "*/*.jsonl"), (CODEX, ".codex/sessions", "*/*/*/rollout-*.jsonl"))


@dataclass(slots=True)
class Cursor:
    """How far each source was read: a file's name to `[bytes, is_left_out]`, a ledger session's key to digests."""

    files: dict[str, tuple[int, bool]] = field(default_factory=dict)
    sessions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, raw: object) -> Cursor:
        """Takes anything; what is of another form counts as not read."""
        cursor = cls()
        found: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
        for name, value in _pairs(found.get("files")):
            if isinstance(value, list) and len(value) == 2 and isinstance(value[0], int):
                cursor.files[name] = (max(0, value[0]), value[1] is True)
        for name, value in _pairs(found.get("sessions")):
            if isinstance(value, list):
                cursor.sessions[name] = tuple(one for one in value if isinstance(one, str))
        return cursor

    def to_json(self) -> dict[str, object]:
        """The form in which it is kept."""
        return {
            "files": {name: list(value) for name, value in sorted(self.files.items())},
            "sessions": {name: list(value) for name, value in sorted(self.sessions.items())},
        }


@dataclass(frozen=True, slots=True)
class News:
    """What is new: talks, the newest first, and how far the sources are read with them. `waiting` still run."""

    talks: tuple[Talk, ...]
    cursor: Cursor
    waiting: int = 0


def collect_news(
    cursor: Cursor,
    *,
    home: Path,
    ledger: SessionLedger | None,
    find_workspace: Callable[[str], Workspace | None],
    now_s: float,
) -> News:
    """Reads what no dream has read yet, at most 20 sessions; the rest is for the next dream.

    Left out: sub-agents, `<no-memory>`, workspaces whose memory is off or strict. Errors: DiskFault, PathRefused of the
    ledger; a transcript that cannot be read is passed over. Changes: nothing.
    """
    ahead = Cursor(dict(cursor.files), dict(cursor.sessions))
    known = {session.id: session for session in ledger.iter_sessions()} if ledger is not None else {}
    talks: list[Talk] = []
    waiting = 0
    files = _list_files(home)
    told = {path.stem if host == CLAUDE_CODE else path.stem[-36:] for host, path, _ in files}
    read_bytes = 0
    for host, path, look in files:
        name = f"{host}:{path.relative_to(home)}"
        start, is_off = cursor.files.get(name, (0, False))
        start = start if start <= look.st_size else 0  # another file by now
        if look.st_size <= start or now_s - look.st_mtime > NEW_DAYS * 86_400:
            continue
        if now_s - look.st_mtime < RUNNING_S:
            waiting += 1
            continue
        if len(talks) >= TASKS_LIMIT or read_bytes > _TOTAL_LIMIT_BYTES:
            break
        talk, end = _read_part(host, path, start)
        read_bytes += end - start
        session = known.get(talk.session_id)
        is_off = is_off or talk.is_left_out or (session is not None and _is_left_out(session))
        ahead.files[name] = (end, is_off)
        if not is_off and talk.says_something and _is_open(find_workspace, talk.folder):
            talks.append(talk)
    for session in known.values() if ledger is not None else ():
        if session.id in told or _is_left_out(session) or not session.user_messages:
            continue
        digests = {_digest(message): message for message in session.user_messages}
        seen = set(cursor.sessions.get(session.key, ()))
        fresh = [message for digest, message in digests.items() if digest not in seen]
        if not fresh:
            continue
        if (
            not session.is_ended
            and ledger is not None
            and _age_s(ledger.folder / (session.key + SUFFIX), now_s) < RUNNING_S
        ):
            waiting += 1
            continue
        if len(talks) >= TASKS_LIMIT:
            break
        ahead.sessions[session.key] = tuple(digests)
        folder = str(session.folder or "")
        if _is_open(find_workspace, folder):
            talks.append(Talk(session.host, session.id, folder, user_messages=tuple(fresh)))
    return News(tuple(talks), ahead, waiting)


def _list_files(home: Path) -> list[tuple[str, Path, os.stat_result]]:
    """The session files below the home folder, those added to last first; links are not followed."""
    found = []
    for host, folder, pattern in _PATTERNS:
        for path in (home / folder).glob(pattern):
            try:
                look = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(look.st_mode) and not path.name.startswith("agent-"):
                found.append((host, path, look))
    return sorted(found, key=lambda one: (-one[2].st_mtime, str(one[1])))[:_FILES_LIMIT]


def _read_part(host: str, path: Path, start: int) -> tuple[Talk, int]:
    """The talk from byte `start` on and where its last whole line ends; nothing of a file that cannot be read."""
    try:
        with path.open("rb") as stream:
            first = stream.readline(LINE_LIMIT_BYTES * 4) if start and host == CODEX else b""
            stream.seek(start)
            reader = _Lines(stream, start)
            talk = PARSERS[host](reader, first_line=first) if first else PARSERS[host](reader)
            return talk, reader.end
    except OSError:
        return Talk(host, ""), start


class _Lines:
    """The whole lines of a stream, without those that are too long; `end` is where the last one ended."""

    def __init__(self, stream: Any, start: int) -> None:
        self._stream = stream
        self.end = start

    def __iter__(self) -> Iterator[bytes]:
        stop = self.end + _PART_LIMIT_BYTES
        rest, is_skipping = b"", False
        while self.end < stop and (piece := self._stream.read(_CHUNK_BYTES)):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self.end += len(line) + 1
                if not is_skipping and len(line) <= LINE_LIMIT_BYTES:
                    yield line
                is_skipping = False
            if len(rest) > LINE_LIMIT_BYTES:
                self.end += len(rest)
                rest, is_skipping = b"", True


def _is_left_out(session: Session) -> bool:
    return session.no_memory or session.parent is not None


def _is_open(find_workspace: Callable[[str], Workspace | None], folder: str) -> bool:
    workspace = find_workspace(folder) if folder else None
    return workspace is None or (workspace.memory_enabled and workspace.privacy is Privacy.NORMAL)


def _age_s(path: Path, now_s: float) -> float:
    try:
        return now_s - path.lstat().st_mtime
    except OSError:
        return RUNNING_S


def _digest(message: str) -> str:
    return hashlib.sha256(message.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _pairs(value: object) -> Iterable[tuple[str, object]]:
    return value.items() if isinstance(value, dict) else ()
