"""What each commit of the memory branch did to the lines of files, in the order of the commits; and sizes of a commit.

Merges count as what they brought to the branch. A path is as git writes it in a patch: plain ASCII names are exact,
others may be escaped. Changes: nothing.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, NamedTuple

from memrepo.git.commits import ORIGIN, TASK, parse_trailers
from memrepo.git.process import iter_git_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memrepo.git.client import GitClient

TIMEOUT_S = 120.0
_ARGUMENTS = ("log", "--reverse", "--first-parent", "--patch", "--unified=0", "--format=%x00%H%x00%ct%x00%B%x00",
              "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-merges=first-parent",
              "HEAD", "--")  # fmt: skip
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_FIELDS = 4


class LineChange(NamedTuple):
    """One line that a commit added or removed."""

    path: str
    is_added: bool
    text: str


class CommitLines(NamedTuple):
    """One commit and its lines; `at` is when it was committed, in UTC."""

    id: str
    at: dt.datetime
    subject: str
    origin: str | None
    task: str | None
    lines: tuple[LineChange, ...]


def iter_line_changes(client: GitClient) -> Iterator[CommitLines]:
    """The commits from the first to HEAD, none before the first. Errors: those of `GitClient.check` and of git."""
    client.check()
    if client.head() is None:
        return
    waiting: list[str] = []
    rest = b""
    for piece in iter_git_output(client.root, _ARGUMENTS, timeout_s=TIMEOUT_S):
        *fields, rest = (rest + piece).split(b"\0")
        waiting += [field.decode("utf-8", "surrogateescape") for field in fields]
        if len(waiting) > _FIELDS:  # the first field is what stands before the first commit: nothing
            done = (len(waiting) - 1) // _FIELDS
            yield from _read_commits(waiting[1 : 1 + done * _FIELDS])
            del waiting[1 : 1 + done * _FIELDS]
    yield from _read_commits([*waiting[1:], rest.decode("utf-8", "surrogateescape")])


def list_sizes(client: GitClient, commit: str) -> tuple[tuple[str, int], ...]:
    """The files of a commit, each `(path, bytes)`."""
    listed = client.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit).stdout
    rows = (record.split(b"\t", 1) for record in listed.split(b"\0") if record)
    return tuple((path.decode("utf-8", "surrogateescape"), int(head.split()[3])) for head, path in rows)


def parse_patch(patch: str) -> Iterator[LineChange]:
    """The lines of a patch without context, by the counts of its hunks: no text of a file can pass for a header."""
    old = new = removed = added = ""
    left = [0, 0]
    for line in patch.split("\n"):
        if left[0] and line.startswith("-"):
            left[0] -= 1
            yield LineChange(old, is_added=False, text=line[1:].removesuffix("\r"))
        elif left[1] and line.startswith("+"):
            left[1] -= 1
            yield LineChange(new, is_added=True, text=line[1:].removesuffix("\r"))
        elif hunk := _HUNK.match(line):
            removed, added = hunk[1] or "1", hunk[2] or "1"
            left = [int(removed), int(added)]
        elif line.startswith("--- "):
            old = _read_path(line[4:])
        elif line.startswith("+++ "):
            new = _read_path(line[4:])


def _read_commits(fields: list[str]) -> Iterator[CommitLines]:
    for start in range(0, len(fields) - _FIELDS + 1, _FIELDS):
        commit, at, message, patch = fields[start : start + _FIELDS]
        subject, _, body = message.strip("\n").partition("\n")
        trailers = parse_trailers(body)
        when = dt.datetime.fromtimestamp(int(at), dt.UTC)
        lines = tuple(parse_patch(patch))
        yield CommitLines(commit, when, subject, trailers.get(ORIGIN), trailers.get(TASK), lines)


def _read_path(raw: str) -> str:
    """A path of a patch: without quotes, `a/` or `b/`, and the tab that git puts after one with a space."""
    return raw.rstrip("\t").strip('"')[2:]
