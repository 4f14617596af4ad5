"""Tickets: stamps that wait in a folder for a call that cannot carry one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memrepo.errors import PathRefused
from memrepo.sessions.stamps import TICKET_S, find_issued_ms

if TYPE_CHECKING:
    from memrepo.files.folder import Folder

TICKETS_FOLDER = "tickets"
_LIMIT_BYTES = 4096


def read_ticket(folder: Folder, name: str) -> str:
    """The stamp on a ticket; "" when it is gone or no file."""
    try:
        found = folder.read_regular(name, limit_bytes=_LIMIT_BYTES)
    except PathRefused:
        return ""
    return "" if found is None else found[0].decode("ascii", "replace")


def sweep_tickets(folder: Folder, *, now_ms: int) -> None:
    """Removes the tickets that nobody took in time, and what is no ticket."""
    for name, is_folder in folder.list_names():
        if is_folder or name.endswith(".tmp"):
            continue
        issued_ms = find_issued_ms(read_ticket(folder, name))
        if issued_ms is None or abs(now_ms - issued_ms) > TICKET_S * 1000:
            with suppress(FileNotFoundError):
                folder.unlink(name)
