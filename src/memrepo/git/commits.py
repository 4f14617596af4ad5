"""Commits as values and as text: the message a commit gets, and what `git log` says of one. Pure.

Invariants: a message has a subject of one line, a blank line, and a last paragraph of trailers with `Origin:` always in
it. No value can begin a line of its own, so no text can forge a trailer.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput, RepositoryFault
from memrepo.model import CommitId

if TYPE_CHECKING:
    from memrepo.model import Trailers

TASK, ORIGIN, DREAM = "Task", "Origin", "Dream"

LOG_FORMAT = "tformat:%H%x00%P%x00%ct%x00%an%x00%ae%x00%B"
"""Six fields per commit; with `-z` each record ends with a NUL too. A commit's message holds no NUL."""

_FIELDS = 6
_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*):[ \t]*(.*)")
# Control, surrogate, line and paragraph separators: what a reader may take for the end of a line, or cannot encode.
_BREAKING_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit. `at` is when it was committed, in UTC; `origin`, `task` and `dream` are its trailers or None."""

    id: CommitId
    parents: tuple[CommitId, ...]
    at: dt.datetime
    author_name: str
    author_email: str
    subject: str
    body: str
    origin: str | None = None
    task: str | None = None
    dream: str | None = None


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path that a commit added (A), changed (M), removed (D) or whose type it changed (T)."""

    code: str
    path: str


def compose_message(subject: str, trailers: Trailers) -> bytes:
    """The bytes of a commit message: subject, blank line, trailers.

    Errors: InvalidInput when nothing is left of the subject.
    """
    title = to_one_line(subject)
    if not title:
        raise InvalidInput("a commit needs a subject", key="subject")
    pairs = [(TASK, trailers.task), (ORIGIN, trailers.origin.value), (DREAM, trailers.dream)]
    lines = [f"{key}: {line}" for key, value in pairs if value is not None and (line := to_one_line(value))]
    return "\n".join([title, "", *lines, ""]).encode()


def to_one_line(text: str) -> str:
    """`text` on one line: what breaks a line or cannot be encoded becomes a space, spaces are collapsed."""
    return " ".join(
        "".join(" " if unicodedata.category(letter) in _BREAKING_CATEGORIES else letter for letter in text).split()
    )


def parse_log(data: bytes) -> tuple[Commit, ...]:
    """Reads the output of `git log -z` in LOG_FORMAT. Errors: RepositoryFault when it is not of that form."""
    fields = data.decode("utf-8", "replace").split("\0")
    if fields and fields[-1] == "":
        fields.pop()
    if len(fields) % _FIELDS:
        raise RepositoryFault("git log answered in a form that is not known", invariant="log-form")
    return tuple(_build_commit(*fields[start : start + _FIELDS]) for start in range(0, len(fields), _FIELDS))


def _build_commit(commit_id: str, parents: str, at: str, name: str, email: str, message: str) -> Commit:
    subject, _, rest = message.strip("\n").partition("\n")
    body = rest.strip("\n")
    trailers = parse_trailers(body)
    return Commit(
        id=CommitId(commit_id),
        parents=tuple(CommitId(parent) for parent in parents.split()),
        at=dt.datetime.fromtimestamp(int(at), dt.UTC),
        author_name=name,
        author_email=email,
        subject=subject,
        body=body,
        origin=trailers.get(ORIGIN),
        task=trailers.get(TASK),
        dream=trailers.get(DREAM),
    )


def parse_trailers(body: str) -> dict[str, str]:
    """The trailers of a message's body: its last paragraph, if every line of it is one. The last of a key wins."""
    lines = re.split(r"\n[ \t]*\n", body.strip("\n"))[-1].split("\n")
    matches = [_TRAILER.fullmatch(line) for line in lines]
    return {match[1]: match[2].strip() for match in matches if match} if all(matches) else {}


def parse_name_status(data: bytes) -> tuple[PathChange, ...]:
    """Reads `--name-status -z --no-renames`: a code and a path in turn."""
    fields = data.decode("utf-8", "surrogateescape").split("\0")
    return tuple(PathChange(code[:1], path) for code, path in zip(fields[::2], fields[1::2], strict=False) if code)
