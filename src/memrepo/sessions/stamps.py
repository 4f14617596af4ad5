"""Stamps: which session makes a call to a memory tool, shown by a secret that only this machine's user has. Pure.

A stamp holds for one tool with exactly its arguments and for a short time. It is no proof against a program that runs
as the user: that can read the secret (docs/threat-model.md).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memrepo.sessions.records import is_key

if TYPE_CHECKING:
    from collections.abc import Mapping

STAMP_S = 600
TICKET_S = 60
STAMP_ARGUMENT = "session"
"""The argument of a tool that carries the stamp; it is not stamped itself."""

_CLOCKS_APART_MS = 5_000
_LIMIT_CHARS = 2_000
_NO_AGENT = "-"
_DIGEST_DIGITS = 32


class Stamp(NamedTuple):
    """What a genuine stamp says: the key of the session, the agent in it, and when it was made."""

    key: str
    agent_id: str | None
    issued_ms: int


def make_stamp(
    secret: bytes, key: str, agent_id: str | None, tool: str, arguments: Mapping[str, Any], *, now_ms: int
) -> str:
    """The stamp of a call: `v1.<session>.<agent or ->.<time>.<code>`."""
    agent = _NO_AGENT if agent_id is None else agent_id.encode("utf-8", "surrogatepass").hex() or "00"
    head = f"v1.{key}.{agent}.{now_ms}"
    return f"{head}.{_sign(secret, head, tool, arguments)}"


def read_stamp(
    secret: bytes, stamp: str, tool: str, arguments: Mapping[str, Any], *, now_ms: int, most_s: int = STAMP_S
) -> Stamp | None:
    """What a stamp says; None when it is forged, too old, from the future, or of another call."""
    if len(stamp) > _LIMIT_CHARS or not stamp.isascii():
        return None
    head, _, code = stamp.rpartition(".")
    if not hmac.compare_digest(code, _sign(secret, head, tool, arguments)):
        return None
    parts = head.split(".")  # ours from here on: the code is right
    if len(parts) != 4 or parts[0] != "v1" or not is_key(parts[1]):
        return None
    issued_ms = int(parts[3])
    if not -_CLOCKS_APART_MS <= now_ms - issued_ms <= most_s * 1000:
        return None
    agent = None if parts[2] == _NO_AGENT else bytes.fromhex(parts[2]).decode("utf-8", "surrogatepass")
    return Stamp(parts[1], agent, issued_ms)


def find_issued_ms(stamp: str) -> int | None:
    """When a stamp says that it was made, genuine or not: good enough to throw it away."""
    parts = stamp[:_LIMIT_CHARS].split(".")
    return int(parts[3]) if len(parts) == 5 and parts[3].isascii() and parts[3].isdigit() else None


def digest_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """Names a call by its tool and its arguments."""
    return hashlib.sha256(_write_call(tool, arguments)).hexdigest()[:_DIGEST_DIGITS]


def _sign(secret: bytes, head: str, tool: str, arguments: Mapping[str, Any]) -> str:
    return hmac.new(secret, head.encode() + b"\0" + _write_call(tool, arguments), hashlib.sha256).hexdigest()


def _write_call(tool: str, arguments: Mapping[str, Any]) -> bytes:
    """A call in one form, however the host writes its JSON: order, `1` for `1.0`, and null for what is left out."""
    named = {name: _plain(value) for name, value in arguments.items() if name != STAMP_ARGUMENT and value is not None}
    return json.dumps([tool, named], sort_keys=True, separators=(",", ":"), default=repr).encode("ascii")


def _plain(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
