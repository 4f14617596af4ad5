"""One session as its records tell it, and who makes a call in it. Pure.

A line that cannot be read is passed over and leaves a doubt: the session is no longer known to be clean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.model import Taint
from memrepo.sessions.records import DAY_MS, KINDS, MESSAGE_DAYS, read_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memrepo.sessions.records import Record

# A hook of the first prompt may overtake the one of the start; what is older was not watched.
_OVERTAKING_MS = 60_000


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a host. `key` names its file, and stands in stamps; `folder` is where it began.

    `has_started`: its reads are watched from its beginning on. `untrusted_reads` are labels, never content.
    `is_damaged`: something recorded cannot be read, here or in a session it belongs to. `writes` are pairs of ref and
    hash. `first_at_ms` is when its first record was made, `has_read_memory` whether one of its tools read memory. A
    session with a `parent` has no words of the user: whatever it is asked, an agent asks.
    """

    key: str
    id: str
    host: str
    folder: Path | None = None
    has_started: bool = False
    user_messages: tuple[str, ...] = ()
    untrusted_reads: tuple[str, ...] = ()
    no_memory: bool = False
    sub_agents: frozenset[str] = frozenset()
    is_ended: bool = False
    parent: str | None = None
    children: tuple[str, ...] = ()
    writes: tuple[tuple[str, str], ...] = ()
    is_damaged: bool = False
    first_at_ms: int = 0
    has_read_memory: bool = False

    @property
    def taint(self) -> Taint:
        """Tainted by any untrusted read; clean only when all reads were watched and all records can be read."""
        if self.untrusted_reads:
            return Taint.TAINTED
        return Taint.CLEAN if self.has_started and not self.is_damaged else Taint.UNKNOWN


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call: a session and, where one does, the agent in it. Hosts name an agent for sub-agents only."""

    session: Session
    agent_id: str | None = None

    @property
    def is_sub_agent(self) -> bool:
        """Whether another agent gave it its task."""
        return self.agent_id is not None or self.session.parent is not None


def read_session(data: bytes, key: str, *, now_ms: int) -> Session | None:
    """The session that a file tells of, without what its relatives add; None when no line of it can be read."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    records = [record for line in lines if (record := read_record(line, key)) is not None]
    if not records:
        return None
    is_damaged = len(records) < len(lines) or any(one.kind not in KINDS or one.kind == "damaged" for one in records)
    start = next((one for one in records if one.kind == "start"), None)
    parent = next(_iter_texts(records, "start", "parent"), None)
    last = next((one.kind for one in reversed(records) if one.kind in {"start", "end"}), None)
    oldest_ms = now_ms - MESSAGE_DAYS * DAY_MS
    recent = [one for one in records if one.at_ms >= oldest_ms]
    folder = start.text("folder") if start else None
    return Session(
        key=key,
        id=records[0].session_id,
        host=records[0].host,
        folder=Path(folder) if folder else None,
        has_started=start is not None
        and not start.values.get("resumed")
        and start.at_ms - min(one.at_ms for one in records) <= _OVERTAKING_MS,
        user_messages=() if parent else tuple(_iter_texts(recent, "message", "text")),
        untrusted_reads=_once(one.text("source") or "unknown" for one in records if one.kind == "read"),
        no_memory=any(one.values.get("no_memory") for one in records),
        sub_agents=frozenset(_iter_texts(records, "sub_agent", "agent")),
        is_ended=last == "end",
        parent=parent,
        children=_once(_iter_texts(records, "child", "key")),
        writes=tuple((one.text("ref") or "", one.text("hash") or "") for one in records if one.kind == "write"),
        is_damaged=is_damaged,
        first_at_ms=min(one.at_ms for one in records),
        has_read_memory=any(one.kind == "memory_read" for one in records),
    )


def join_relatives(session: Session, relatives: Iterable[Session | None]) -> Session:
    """The session with what its parent and its children read: taint goes both ways. None is one that is not there."""
    for one in relatives:
        if one is None:
            session = replace(session, is_damaged=True)
        else:
            session = replace(
                session,
                has_started=session.has_started and one.has_started,
                untrusted_reads=_once((*session.untrusted_reads, *one.untrusted_reads)),
                no_memory=session.no_memory or one.no_memory,
                is_damaged=session.is_damaged or one.is_damaged,
            )
    return session


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _iter_texts(records: Iterable[Record], kind: str, name: str) -> Iterator[str]:
    return (text for one in records if one.kind == kind and (text := one.text(name)))
