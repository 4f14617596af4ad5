"""How errors and results are told: exit status, MCP code, HTTP status, one JSON form and one form in words.

Owns the only table from error class to numbers, so that the same error is the same on every surface. Pure: it prints
nothing and reads nothing. Whatever comes from a memory is told with its control characters escaped, so that an entry
can neither move a cursor nor turn the direction of a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import (
    Busy,
    Conflict,
    GitFailed,
    GitTimeout,
    MemrepoError,
    NotFound,
    Refused,
    RepositoryFault,
    TooLarge,
    UserError,
)
from memrepo.model import Reason, WriteAction, WriteStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memrepo.model import Author, WriteResult

EXIT_OK = 0
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_BUG = 70  # EX_SOFTWARE of sysexits.h
EXIT_INTERRUPTED = 130  # 128 + SIGINT
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE, what a shell reports for any program whose reader went away


@dataclass(frozen=True, slots=True)
class Numbers:
    """What one family of errors is to a shell, to an MCP client and to a browser."""

    exit_status: int
    mcp_code: int
    http_status: int


# A class answers with the row of its nearest base. MCP: JSON-RPC 2.0 keeps -32602 for bad parameters and leaves -32000
# to -32099 to the server; MCP itself uses -32002 for a thing that is not there.
NUMBERS: Mapping[type[MemrepoError], Numbers] = {
    UserError: Numbers(EXIT_USAGE, -32602, 400),
    NotFound: Numbers(EXIT_USAGE, -32002, 404),
    Refused: Numbers(EXIT_REFUSED, -32003, 403),
    TooLarge: Numbers(EXIT_REFUSED, -32003, 413),
    Conflict: Numbers(4, -32004, 409),
    Busy: Numbers(5, -32005, 503),
    GitTimeout: Numbers(5, -32005, 504),
    RepositoryFault: Numbers(6, -32006, 500),
    GitFailed: Numbers(7, -32007, 502),
}
BUG = Numbers(EXIT_BUG, -32603, 500)


def get_numbers(error: BaseException) -> Numbers:
    """Returns the row of an error; anything that memrepo did not raise on purpose is a bug."""
    for base in type(error).__mro__:
        if base in NUMBERS:
            return NUMBERS[base]
    return BUG


def describe_error(error: MemrepoError) -> dict[str, object]:
    """Returns the JSON form: `code`, `message`, `hint`, `exit_status` and the facts that the error carries."""
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "exit_status": get_numbers(error).exit_status,
        "facts": {name: to_plain(value) for name, value in error.facts.items()},
    }


def format_error(error: MemrepoError) -> str:
    """Returns the lines for a person: the message, each fault when there are many, the hint."""
    lines = [f"memrepo: error: {escape_lines(error.message)}"]
    faults = error.facts.get("faults")
    if isinstance(faults, tuple | list) and "\n" not in error.message:  # a message of many lines tells them itself
        lines += [f"  {_format_fault(fault)}" for fault in faults]
    if where := error.facts.get("where_instead"):
        lines.append(f"write instead to: {escape_control(str(where))}")
    if error.hint:
        lines.append(f"hint: {escape_control(error.hint)}")
    return "\n".join(lines)


def describe_result(result: WriteResult) -> dict[str, object]:
    """Returns the JSON form of a write's result; a field that does not speak is null or empty."""
    return {
        "status": str(result.status),
        "action": to_plain(result.action),
        "ref": to_plain(result.ref),
        "path": to_plain(result.path),
        "line": result.ref.line if result.ref else None,
        "hash": result.hash,
        "reason": to_plain(result.reason),
        "detail": result.detail,
        "where_instead": result.where_instead,
        "redactions": list(result.redactions),
        "kept_id": result.kept_id,
        "kept_ref": to_plain(result.kept_ref),
        "commit": result.commit,
    }


_DONE = {
    WriteAction.INSERTED: "remembered",
    WriteAction.REPLACED: "replaced",
    WriteAction.REINFORCED: "already known",
    WriteAction.REMOVED: "forgot",
    WriteAction.EDITED: "edited",
    WriteAction.MOVED: "moved to",
}


def format_result(result: WriteResult) -> str:
    """Returns the lines for a person: what happened and where, then what is worth knowing about it."""
    if result.status is WriteStatus.WRITTEN:
        done = _DONE[result.action] if result.action else "written"
        lines = [f"{done} {result.ref}" if result.ref else done]
        if result.detail:
            lines.append(f"note: {escape_control(result.detail)}")
    elif result.status is WriteStatus.KEPT:
        name = f", as {result.kept_ref}" if result.kept_ref else ""
        lines = [f"kept in the private store {_until(result)}{name}: {escape_control(result.detail)}"]
    else:
        lines = [f"not written ({result.reason}): {escape_control(result.detail or str(result.reason))}"]
        if result.where_instead:
            lines.append(f"write instead to: {escape_control(result.where_instead)}")
    if result.redactions:
        lines.append(f"redacted: {', '.join(result.redactions)}")
    return "\n".join(lines)


def get_exit_status(results: Iterable[WriteResult]) -> int:
    """Returns 3 when at least one fact was turned away, else 0: kept facts and known facts are no failure."""
    skipped = any(result.status is WriteStatus.SKIPPED for result in results)
    return EXIT_REFUSED if skipped else EXIT_OK


def name_author(by: Author, team: str | None) -> str:
    """Whose word an entry is, as results say it. A team's line does not speak for the user, whatever stands in it."""
    return str(by) if team is None else "team"


def name_file(path: str, team: str | None) -> str:
    """The file of an entry, as tools and commands take it back."""
    return path if team is None else f"team:{team}:{path}"


# Control characters, direction marks, separators that some programs take for line ends, tag characters and bytes that
# are no UTF-8. White space of a line and the joiners that scripts and emoji need stay.
_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def escape_control(text: str) -> str:
    """Returns the text on one line, each character that a terminal could act on written as `\\xNN` or `\\uNNNN`.

    Law: idempotent, and a text without such characters comes back unchanged.
    """
    return _UNSAFE.sub(lambda found: _escape(ord(found[0])), text)


def escape_lines(text: str) -> str:
    """Returns a text of many lines with its line ends kept and everything else as in `escape_control`."""
    return "\n".join(escape_control(line) for line in text.replace("\r\n", "\n").split("\n"))


def to_plain(value: object) -> object:
    """Returns what JSON can hold: numbers, strings, lists and objects of them; anything else by its name."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(item) for item in value]
    return str(value)


def _until(result: WriteResult) -> str:
    return "only" if result.reason is Reason.PRIVATE else "until the folder can take it"


def _format_fault(fault: object) -> str:
    """A fault is `(where, why)` or `(key, line or None, why)`."""
    parts = [str(part) for part in fault if part is not None] if isinstance(fault, tuple | list) else [str(fault)]
    if isinstance(fault, tuple | list) and len(fault) == 3 and fault[1] is not None:
        parts = [f"line {fault[1]}", str(fault[0]), str(fault[2])]
    return escape_control(": ".join(part for part in parts if part))


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
