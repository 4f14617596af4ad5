"""What is known of each session of an agent: what the user said in it, what it has read, and which calls are its own.

Hooks of a host append to a session's file in milliseconds; the MCP server reads it. Promises: a session that has read
something untrusted stays tainted; what is not known to be clean is not called clean; no secret that `policy.redaction`
knows is stored; nobody but the user can read the files. It runs nothing and decides no write.
Rules and limits: docs/sessions.md. Source: memory repo design (seed 1) §7.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memrepo.sessions.ledger import SessionLedger
from memrepo.sessions.records import make_key

if TYPE_CHECKING:
    from memrepo.sessions.session import Caller, Session

__all__ = ["Caller", "Session", "SessionLedger", "make_key"]


def __getattr__(name: str) -> Any:
    """Loads what only a reader needs when it is asked for."""
    if name in {"Caller", "Session"}:
        from memrepo.sessions import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
