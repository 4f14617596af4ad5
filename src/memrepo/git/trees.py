"""Commits as files: what a tree holds, what a commit changed, and a chain of commits made without a work tree.

Owns the forms of `ls-tree`, `diff-tree`, `cat-file --batch` and `fast-import`. Knows nothing of what is merged, or why.
A path is text with lone surrogates for bytes that are not UTF-8, as everywhere.
Source: git-ls-tree(1), git-diff-tree(1), git-cat-file(1), git-fast-import(1), gitformat-commit.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import RepositoryFault
from memrepo.model import CommitId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from memrepo.git.client import GitClient

REGULAR, EXECUTABLE = "100644", "100755"
_LONG_TIMEOUT_S = 120.0
_OBJECTS_LIMIT_BYTES = 1024 * 1024 * 1024
_ABSENT = "0" * 40


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One entry of a commit's whole tree: `mode` as git writes it, `kind` blob or commit, the size of a blob."""

    path: str
    mode: str
    kind: str
    id: str
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What a commit did to one path: mode and blob before and after, None where the path was not there."""

    path: str
    before: tuple[str, str] | None
    after: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A commit that is still to be made. `people`: its author and committer lines as git keeps them.

    `files` are what it changes: a path gets a blob that is there already (`(mode, id)`), new bytes (`(mode, bytes)`),
    or None to go.
    """

    people: tuple[bytes, bytes]
    message: bytes
    files: tuple[tuple[str, tuple[str, str | bytes] | None], ...]


@dataclass(frozen=True, slots=True)
class RawCommit:
    """A commit as git keeps it: its author and committer lines, and its message in UTF-8."""

    id: CommitId
    people: tuple[bytes, bytes]
    message: bytes


def list_files(client: GitClient, commit: str) -> tuple[TreeFile, ...]:
    """All files of a commit, in git's order. Changes: nothing. Errors: TooLarge past some 500,000 files."""
    listed = client.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, timeout_s=_LONG_TIMEOUT_S).stdout
    return tuple(_read_tree_row(record) for record in listed.split(b"\0") if record)


def _read_tree_row(record: bytes) -> TreeFile:
    head, _, path = record.partition(b"\t")
    mode, kind, object_id, size = head.decode("ascii").split()
    return TreeFile(os.fsdecode(path), mode, kind, object_id, int(size) if size != "-" else 0)


def list_edits(client: GitClient, commits: Sequence[str]) -> tuple[tuple[FileEdit, ...], ...]:
    """What each commit changed against its only parent, or against nothing. Changes: nothing."""
    if not commits:
        return ()
    flags = ("--stdin", "--root", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--always")
    listed = client.run(
        "diff-tree", *flags, stdin="".join(f"{commit}\n" for commit in commits).encode(), timeout_s=_LONG_TIMEOUT_S
    ).stdout
    return _group_edits(listed, commits)


def compare(client: GitClient, old: str, new: str) -> tuple[FileEdit, ...]:
    """What differs between two commits. Changes: nothing."""
    flags = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff")
    return tuple(_read_edits(client.run("diff-tree", *flags, old, new, timeout_s=_LONG_TIMEOUT_S).stdout.split(b"\0")))


def _group_edits(listed: bytes, commits: Sequence[str]) -> tuple[tuple[FileEdit, ...], ...]:
    """Splits the answer at the ids of the commits, which come in the order in which they were asked for."""
    fields = [field.lstrip(b"\n") for field in listed.split(b"\0")]
    starts: list[int] = []
    wanted = iter(commits)
    next_id = next(wanted).encode()
    for at, field in enumerate(fields):
        if field == next_id:
            starts.append(at)
            next_id = next(wanted, "").encode() or b"\xff"
    if len(starts) != len(commits):
        raise _unreadable("diff-tree")
    stops = [*starts[1:], len(fields)]
    return tuple(tuple(_read_edits(fields[start + 1 : stop])) for start, stop in zip(starts, stops, strict=True))


def _read_edits(fields: Sequence[bytes]) -> Iterable[FileEdit]:
    rest = iter(field for field in fields if field)
    for head in rest:
        if not head.startswith(b":"):
            raise _unreadable("diff-tree")
        old_mode, new_mode, old_id, new_id, _ = head[1:].decode("ascii").split(" ")
        yield FileEdit(
            os.fsdecode(next(rest, b"")),
            None if old_id == _ABSENT and old_mode == "000000" else (old_mode, old_id),
            None if new_id == _ABSENT and new_mode == "000000" else (new_mode, new_id),
        )


def read_objects(client: GitClient, ids: Collection[str]) -> dict[str, bytes]:
    """The bytes of blobs and commits by id, each asked for once. Changes: nothing.

    Errors: RepositoryFault when one is missing, TooLarge past the limit of one call's output.
    """
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    data = client.run(
        "cat-file", "--batch", "--buffer", stdin="".join(f"{one}\n" for one in wanted).encode(),
        timeout_s=_LONG_TIMEOUT_S, limit_bytes=_OBJECTS_LIMIT_BYTES,
    ).stdout  # fmt: skip
    found: dict[str, bytes] = {}
    at = 0
    for one in wanted:
        end = data.find(b"\n", at)
        words = data[at:end].split(b" ")
        if end < 0 or len(words) != 3 or not words[2].isdigit():
            raise RepositoryFault(
                f"object {one[:12]} is missing or damaged", hint="memrepo doctor", invariant="objects"
            )
        size = int(words[2])
        found[one] = data[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return found


def read_commits(client: GitClient, ids: Sequence[CommitId]) -> tuple[RawCommit, ...]:
    """Commits as git keeps them, in the order asked for. Changes: nothing."""
    objects = read_objects(client, ids)
    return tuple(parse_commit(one, objects[one]) for one in ids)


def parse_commit(commit_id: CommitId, data: bytes) -> RawCommit:
    """Reads a commit object; a message in another encoding comes back in UTF-8. Pure."""
    head, _, message = data.partition(b"\n\n")
    rows = dict(line.split(b" ", 1) for line in head.split(b"\n") if b" " in line and not line.startswith(b" "))
    encoding = rows.get(b"encoding", b"UTF-8").decode("ascii", "replace")
    try:
        message = message.decode(encoding).encode()
    except (LookupError, UnicodeError):
        message = message.decode("utf-8", "replace").encode()
    return RawCommit(commit_id, (rows[b"author"], rows[b"committer"]), message)


def list_commits(client: GitClient, include: str, exclude: str | None) -> tuple[CommitId, ...]:
    """The commits that lead to `include` and not to `exclude`, parents first, merges left out. Changes: nothing."""
    limits = (include,) if exclude is None else (include, f"^{exclude}")
    listed = client.run("rev-list", "--reverse", "--topo-order", "--no-merges", *limits, "--").stdout
    return tuple(CommitId(line) for line in listed.decode("ascii").split())


def is_ancestor(client: GitClient, old: str, new: str) -> bool:
    """Whether `new` is `old` or follows it; False also when `old` is no object here. Changes: nothing."""
    return client.run("merge-base", "--is-ancestor", old, new, ok_codes=(0, 1, 128)).exit_code == 0


def find_merge_base(client: GitClient, one: str, other: str) -> CommitId | None:
    """The newest commit that both lead back to; None when they share none, or one is no object here."""
    found = client.run("merge-base", one, other, ok_codes=(0, 1, 128)).stdout.decode("ascii").split()
    return CommitId(found[0]) if found else None


def build_chain(client: GitClient, onto: CommitId, drafts: Sequence[Draft], *, ref: str) -> CommitId:
    """Makes commits one after the other on top of `onto`, and returns the last (or `onto`).

    Changes: objects, and `ref`, which names the result. Errors: GitFailed; then nothing names what was made.
    """
    if not drafts:
        client.run("update-ref", "--no-deref", ref, onto)
        return onto
    done = client.run(
        "fast-import", "--quiet", "--force", "--done", "--date-format=raw-permissive",
        stdin=compose_import(onto, drafts, ref=ref), timeout_s=_LONG_TIMEOUT_S,
    )  # fmt: skip
    answer = done.stdout.decode("ascii", "replace").strip()
    if not re.fullmatch(r"[0-9a-f]{40}", answer):
        raise _unreadable("fast-import")
    return CommitId(answer)


def compose_import(onto: CommitId, drafts: Sequence[Draft], *, ref: str) -> bytes:
    """The orders for `git fast-import`. Pure."""
    parts: list[bytes] = []
    for number, draft in enumerate(drafts, 1):
        author, committer = draft.people
        parts.append(b"commit %s\nmark :%d\nauthor %s\ncommitter %s\n" % (ref.encode(), number, author, committer))
        parts.append(_data(draft.message))
        if number == 1:
            parts.append(b"from %s\n" % onto.encode())
        # What goes is told first: a file may make place for a folder of its name.
        for path, content in sorted(draft.files, key=lambda row: row[1] is not None):
            name = quote_path(path)
            if content is None:
                parts.append(b"D %s\n" % name)
            elif isinstance(content[1], str):
                parts.append(b"M %s %s %s\n" % (content[0].encode(), content[1].encode(), name))
            else:
                parts.append(b"M %s inline %s\n" % (content[0].encode(), name))
                parts.append(_data(content[1]))
        parts.append(b"\n")
    parts.append(b"get-mark :%d\ndone\n" % len(drafts))
    return b"".join(parts)


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def quote_path(path: str) -> bytes:
    """A path as fast-import reads it whatever it holds: in quotes, with C escapes."""
    escaped = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'


def to_map(files: Iterable[TreeFile]) -> Mapping[str, tuple[str, str]]:
    """Mode and blob by path."""
    return {file.path: (file.mode, file.id) for file in files}


def _unreadable(verb: str) -> RepositoryFault:
    return RepositoryFault(f"git {verb} answered in a form that is not known", hint="memrepo doctor", invariant=verb)
