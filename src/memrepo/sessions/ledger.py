"""The ledger: one small file per session that is only added to, the stamps of its calls, and the end of old records.

An addition is one write at the end of a file, so processes add at the same time without a lock. It never changes what
stands; only `prune` rewrites, and what is added meanwhile is found in one of the two files and kept.
Errors of all methods: DiskFault; PathRefused for a link in the place of the folder or of a file; InvalidInput.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from memrepo.errors import DiskFault
from memrepo.files.folder import NEW_FOLDER_MODE, Folder, disk_faults
from memrepo.sessions.records import (
    FILE_LIMIT_BYTES,
    SUFFIX,
    TOO_LARGE,
    clean_text,
    is_key,
    make_key,
    shorten_label,
    write_record,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from memrepo.sessions.session import Caller, Session

MESSAGE_LIMIT_BYTES = 64 * 1024

_CUT_CHARS = 4096  # a secret that the cut goes through is not recognised; it ends in here
_TICKETS_LIMIT = 1000
_RELATIVES_LIMIT = 64
_UNREADABLE = "what could not be looked at"
_NO_MEMORY_MARK = b'"no_memory":true'  # no text of a user can hold it: quotes are escaped there
_LEAST_TRUSTED_FIRST = ("tainted", "unknown", "clean")


class SessionLedger:
    """The sessions of one profile. Makes its folder when there is something to write; holds nothing open."""

    def __init__(self, folder: Path, *, clock: Callable[[], dt.datetime]) -> None:
        self.folder = folder
        self._clock = clock

    # What hooks tell

    def start(
        self, host: str, session_id: str, *, folder: Path | None, parent: str | None = None, is_resumed: bool = False
    ) -> None:
        """Notes that a session begins or goes on. Twice is once.

        `is_resumed`: the host says that it holds an older talk, so that only a start noted before can make it clean.
        `parent` is the key of the session that gave it its task.
        """
        parent = parent if parent is not None and is_key(parent) else None
        where = None if folder is None else clean_text(str(folder))
        self._add(host, session_id, "start", folder=where, parent=parent, resumed=is_resumed)
        above = self._read(parent) if parent else None
        if above is not None:
            self._add(above.host, above.id, "child", key=make_key(host, session_id))

    def add_message(self, host: str, session_id: str, text: str) -> None:
        """Notes what the user said: without secrets, and cut at 64 KB.

        A text with `<no-memory>` marks the session; neither it nor what follows is stored.
        """
        from memrepo.policy.screen import has_no_memory

        if has_no_memory((text,)):
            self._add(host, session_id, "message", is_durable=True, no_memory=True)
        elif text and not self._is_marked_no_memory(make_key(host, session_id)):
            self._add(host, session_id, "message", text=_shorten_message(text))

    def add_untrusted_read(self, host: str, session_id: str, source: str) -> None:
        """Notes that the session read something untrusted; `source` is a label, never what was read. On disk at once:
        a session that goes on after a power cut must not look clean."""
        self._add(host, session_id, "read", is_durable=True, source=shorten_label(source))

    def add_doubt(self, host: str, session_id: str) -> None:
        """Notes that something of the session could not be looked at: it counts as an untrusted read.

        Where even that cannot be noted (a full disk), the session's file goes: nothing is known of it then, and what is
        not known is not clean.
        """
        try:
            self.add_untrusted_read(host, session_id, _UNREADABLE)
        except DiskFault:
            with self._opened() as folder, suppress(FileNotFoundError):
                if folder is not None:
                    folder.unlink(make_key(host, session_id) + SUFFIX)

    def add_sub_agent(self, host: str, session_id: str, agent_id: str) -> None:
        """Notes an agent that works for this session under an id of its own."""
        self._add(host, session_id, "sub_agent", agent=clean_text(agent_id))

    def add_write(self, host: str, session_id: str, *, ref: str, content_hash: str) -> None:
        """Notes an entry that the session wrote: its ref and its hash, never its text."""
        self._add(host, session_id, "write", ref=clean_text(ref), hash=clean_text(content_hash))

    def add_memory_read(self, host: str, session_id: str) -> None:
        """Notes that the session read memory, for the statistics: that, and nothing of what."""
        self._add(host, session_id, "memory_read")

    def end(self, host: str, session_id: str) -> None:
        """Notes that a session is over, for now."""
        self._add(host, session_id, "end")

    # What is known

    def find(self, host: str, session_id: str) -> Session | None:
        """A session of a host. Changes: nothing."""
        return self.find_by_key(make_key(host, session_id))

    def find_by_key(self, key: str) -> Session | None:
        """The session with this key, with the taint of its parent and children. Changes: nothing."""
        session = self._read(key) if is_key(key) else None
        return None if session is None else self._join(session)

    def list_line(self, session: Session) -> tuple[Session, ...]:
        """The session and those that it works for, the nearest first. Changes: nothing."""
        line = [session]
        while (key := line[-1].parent) and is_key(key) and len(line) < _RELATIVES_LIMIT:
            above = self._read(key)
            if above is None or any(above.key == one.key for one in line):
                break
            line.append(above)
        return tuple(line)

    def iter_sessions(self) -> Iterator[Session]:
        """All sessions, the one that was last added to first. Changes: nothing."""
        with self._opened() as folder:
            names = [] if folder is None else [name for name, is_folder in folder.list_names() if not is_folder]
            looks = [(name, look) for name in names if folder and (look := folder.find_stat(name))]
        for name, _ in sorted(looks, key=lambda pair: (-pair[1].st_mtime_ns, pair[0])):
            key = name.removesuffix(SUFFIX)
            session = self.find_by_key(key) if key != name else None
            if session is not None:
                yield session

    def prune(self) -> int:
        """Removes users' messages after 7 days, sessions 30 days after their end; returns how many files it changed.

        A session without an end is removed after 90 days without a record. What is still said of a session keeps its
        taint. Nothing while another process prunes.
        """
        from memrepo.sessions.pruning import prune

        with self._opened() as folder:
            return 0 if folder is None else prune(folder, now_ms=self._now_ms())

    # Who calls

    def make_stamp(
        self, host: str, session_id: str, tool: str, arguments: Mapping[str, Any], *, agent_id: str | None = None
    ) -> str:
        """The stamp that shows the MCP server which session makes this call; `tool` is the bare name."""
        from memrepo.sessions.secret import get_secret
        from memrepo.sessions.stamps import make_stamp

        key = make_key(host, session_id)
        with self._opened(create=True) as folder:
            assert folder is not None  # noqa: S101 - it was created
            secret = get_secret(folder)
            is_known = folder.find_stat(key + SUFFIX) is not None
        if not is_known:
            self._add(host, session_id, "seen")
        return make_stamp(secret, key, agent_id, tool, arguments, now_ms=self._now_ms())

    def check_stamp(self, stamp: str, tool: str, arguments: Mapping[str, Any]) -> Caller | None:
        """Who made the call that a stamp stands for; None when it is forged, old or of another call."""
        from memrepo.sessions.stamps import STAMP_S

        return self._check(stamp, tool, arguments, most_s=STAMP_S)

    def leave_ticket(
        self, host: str, session_id: str, tool: str, arguments: Mapping[str, Any], *, agent_id: str | None = None
    ) -> None:
        """Leaves a stamp where the MCP server finds it, for hosts whose hooks cannot change what a tool is given."""
        from memrepo.sessions.stamps import digest_call
        from memrepo.sessions.tickets import TICKETS_FOLDER, sweep_tickets

        stamp = self.make_stamp(host, session_id, tool, arguments, agent_id=agent_id)
        with self._opened(TICKETS_FOLDER, create=True) as folder:
            assert folder is not None  # noqa: S101 - it was created
            sweep_tickets(folder, now_ms=self._now_ms())
            name = f"{digest_call(tool, arguments)}.{os.urandom(8).hex()}"
            with folder.temporary(stamp.encode("ascii"), durable=False) as temporary:
                folder.rename(temporary.name, name)

    def take_ticket(self, tool: str, arguments: Mapping[str, Any]) -> Caller | None:
        """Who makes a call without a stamp, by the ticket left for exactly this call; each ticket is taken once.

        Of several sessions that wait with the same call it is the least trusted one.
        """
        from memrepo.sessions.stamps import TICKET_S, digest_call
        from memrepo.sessions.tickets import TICKETS_FOLDER, read_ticket, sweep_tickets

        wanted = digest_call(tool, arguments) + "."
        with self._opened(TICKETS_FOLDER) as folder:
            if folder is None:
                return None
            sweep_tickets(folder, now_ms=self._now_ms())
            waiting = []
            for name in sorted(name for name, _ in folder.list_names() if name.startswith(wanted))[:_TICKETS_LIMIT]:
                caller = self._check(read_ticket(folder, name), tool, arguments, most_s=TICKET_S)
                if caller is not None:
                    waiting.append((_rank(caller), name, caller))
            for _, name, caller in sorted(waiting, key=lambda one: one[:2]):
                with suppress(FileNotFoundError):  # another process took it
                    folder.unlink(name)
                    return caller
        return None

    def _check(self, stamp: str, tool: str, arguments: Mapping[str, Any], *, most_s: int) -> Caller | None:
        from memrepo.sessions.secret import find_secret
        from memrepo.sessions.session import Caller
        from memrepo.sessions.stamps import read_stamp

        with self._opened() as folder:
            secret = None if folder is None else find_secret(folder)
        if secret is None:
            return None
        found = read_stamp(secret, stamp, tool, arguments, now_ms=self._now_ms(), most_s=most_s)
        session = None if found is None else self.find_by_key(found.key)
        return None if found is None or session is None else Caller(session, found.agent_id)

    # The disk

    def _add(
        self, host: str, session_id: str, kind: str, *, is_durable: bool = False, **values: str | bool | None
    ) -> None:
        name = make_key(host, session_id) + SUFFIX
        record = write_record(clean_text(host), clean_text(session_id), kind, self._now_ms(), **values)
        with self._opened(create=True) as folder:
            assert folder is not None  # noqa: S101 - it was created
            folder.append(name, record, durable=is_durable)

    def _read(self, key: str) -> Session | None:
        """A session by its own file alone."""
        from dataclasses import replace

        from memrepo.sessions.session import read_session

        data = self._read_bytes(key)
        if data is None:
            return None
        session = read_session(data[:FILE_LIMIT_BYTES], key, now_ms=self._now_ms())
        if session is not None and len(data) > FILE_LIMIT_BYTES:
            return replace(session, untrusted_reads=(*session.untrusted_reads, TOO_LARGE))
        return session

    def _read_bytes(self, key: str) -> bytes | None:
        with self._opened() as folder:
            found = None if folder is None else folder.read_regular(key + SUFFIX, limit_bytes=FILE_LIMIT_BYTES)
        return None if found is None else found[0]

    def _is_marked_no_memory(self, key: str) -> bool:
        return _NO_MEMORY_MARK in (self._read_bytes(key) or b"")

    def _join(self, session: Session) -> Session:
        """Follows parents and children, however they are linked, each once."""
        from memrepo.sessions.session import join_relatives

        seen: dict[str, Session | None] = {session.key: session}
        waiting = [session]
        while waiting:
            one = waiting.pop()
            for key in (one.parent, *one.children):
                if key is None or key in seen:
                    continue
                found = self._read(key) if is_key(key) and len(seen) < _RELATIVES_LIMIT else None
                seen[key] = found
                if found is not None:
                    waiting.append(found)
        return join_relatives(session, [one for key, one in seen.items() if key != session.key])

    @contextmanager
    def _opened(self, child: str | None = None, *, create: bool = False) -> Iterator[Folder | None]:
        """The ledger's folder or one in it; None when it is not there."""
        with disk_faults("use", str(self.folder)):
            folder = _open_private(self.folder, create=create)
            if folder is None or child is None:
                below = folder
            else:
                with folder:
                    below = folder.open_child(child, create=create)
            try:
                yield below
            finally:
                if below is not None:
                    below.close()

    def _now_ms(self) -> int:
        return int(self._clock().timestamp() * 1000)


def _open_private(path: Path, *, create: bool) -> Folder | None:
    try:
        return Folder.open_root(path)
    except FileNotFoundError:
        if not create:
            return None
    path.parent.mkdir(mode=NEW_FOLDER_MODE, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=NEW_FOLDER_MODE)
    return Folder.open_root(path)


def _rank(caller: Caller) -> tuple[int, bool, bool]:
    session = caller.session
    return _LEAST_TRUSTED_FIRST.index(session.taint), not session.no_memory, not caller.is_sub_agent


def _shorten_message(text: str) -> str:
    """What of a message is stored: secrets replaced, then cut."""
    from memrepo.policy.redaction import redact

    looked_at = clean_text(text[: MESSAGE_LIMIT_BYTES + _CUT_CHARS])
    redacted = redact(looked_at).text
    if len(text) > len(looked_at):
        redacted = redacted[:-_CUT_CHARS]
    return redacted.encode("utf-8")[:MESSAGE_LIMIT_BYTES].decode("utf-8", "ignore")
