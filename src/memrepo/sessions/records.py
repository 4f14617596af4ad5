"""The lines of a session's file. Pure: text in, values out.

One record is one line of JSON that names its host and session, so that a line from another file is seen to be foreign.
A hook that adds a line loads this module and no more: it has milliseconds.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
SUFFIX = ".jsonl"
FILE_LIMIT_BYTES = 16 * 1024 * 1024
MESSAGE_DAYS = 7
ID_LIMIT_CHARS = 256
LABEL_LIMIT_CHARS = 80
TOO_LARGE = "too-much-recorded"
"""The label of a session whose file is past the limit: what stands behind it is not looked at."""
DAY_MS = 86_400_000

_KEY_DIGITS = 32
KINDS = frozenset({"start", "seen", "child", "message", "read", "sub_agent", "write", "memory_read", "end", "damaged"})


class Record(NamedTuple):
    """One line. `at_ms` is when it was written, since 1970 in UTC; `values` holds what its kind says."""

    kind: str
    at_ms: int
    host: str
    session_id: str
    values: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        """A value that is text, or None."""
        value = self.values.get(name)
        return value if isinstance(value, str) else None


def make_key(host: str, session_id: str) -> str:
    """The name of a session's file: one host's session is never another's. Errors: InvalidInput."""
    for what, value in (("host", host), ("session id", session_id)):
        if not value or len(value) > ID_LIMIT_CHARS or "\0" in value:
            raise InvalidInput(
                f"a {what} has 1 to {ID_LIMIT_CHARS} characters and no NUL",
                hint="give it as the host gives it to its hooks",
                key=what,
            )
    return hashlib.sha256(_encode(f"{host}\0{session_id}")).hexdigest()[:_KEY_DIGITS]


def is_key(text: str) -> bool:
    """Whether a text can be the name of a session's file."""
    return len(text) == _KEY_DIGITS and all(char in "0123456789abcdef" for char in text)


def write_record(host: str, session_id: str, kind: str, at_ms: int, **values: object) -> bytes:
    """A record as bytes. It begins with a newline, so that it stands alone whatever a killed process left before it."""
    said = {name: value for name, value in values.items() if value is not None and value is not False}
    head = {"v": VERSION, "at": at_ms, "host": host, "session": session_id, "kind": kind}
    return b"\n" + _encode(json.dumps({**head, **said}, ensure_ascii=False, separators=(",", ":"))) + b"\n"


def read_record(line: bytes, key: str) -> Record | None:
    """The record of a line; None when it is torn, of another version, or of another session."""
    try:
        raw = json.loads(line)
        found = Record(raw["kind"], raw["at"], raw["host"], raw["session"], raw)
        is_own = raw["v"] == VERSION and make_key(found.host, found.session_id) == key
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InvalidInput):
        return None
    is_sound = isinstance(found.kind, str) and isinstance(found.at_ms, int) and not isinstance(found.at_ms, bool)
    return found if is_own and is_sound else None


def shorten_label(text: str) -> str:
    """A label in one line of printable characters: it may come from a server that nobody trusts."""
    shown = "".join(char if char.isprintable() else " " for char in text[: 4 * LABEL_LIMIT_CHARS])
    return " ".join(shown.split())[:LABEL_LIMIT_CHARS] or "unknown"


def clean_text(text: str) -> str:
    """The text without what UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
