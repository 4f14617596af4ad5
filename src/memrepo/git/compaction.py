"""Replacing history with one commit of the current files, and searching what is left for texts that must be gone.

Owns the verbs behind "Compact history" (seed 1 §7.2). Refuses to know which texts those are, and whether a remote has
the old history too. The caller holds the write lock and has a clean work tree.

Order (reference last, then clean-up): the new commit is an object before the branch names it, and the branch moves
only from the commit that was read. A crash before that changes nothing; a crash after it leaves the new history and
old objects, and running it again finishes. `git checkout --orphan` would pass through a state without a branch and
would rewrite the index; `commit-tree` on HEAD's own tree touches neither index nor files.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import Conflict, DiskFault, RepositoryFault
from memrepo.git.commits import compose_message
from memrepo.git.process import iter_git_output
from memrepo.model import CommitId

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memrepo.git.client import GitClient
    from memrepo.model import Trailers

LONG_TIMEOUT_S = 600.0
# git's own default for gc.auto (git-gc(1)); packing that many takes about a second.
LOOSE_LIMIT = 6_700

# Refs that are memrepo's own drafts, or that git keeps only to hold old history.
_DOOMED_PREFIXES = ("refs/heads/dream/", "refs/original/", "refs/replace/", "refs/bisect/", "refs/rewritten/")
_STASH = "refs/stash"
_DREAM_BRANCH = "dream/"

# Files and folders below .git that name old commits or hold old texts once the work that needed them is over.
_LEFTOVERS = (
    "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG",
    "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_HEAD", "COMMIT_EDITMSG", "EDIT_DESCRIPTION",
    "TAG_EDITMSG", "NOTES_EDITMSG", "gc.log", "rr-cache", "lost-found",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What a compaction did. `kept_refs` and `kept_worktrees` may still hold old history: the caller must say so."""

    commit: CommitId
    replaced: CommitId
    removed_refs: tuple[str, ...]
    removed_leftovers: tuple[str, ...]
    kept_refs: tuple[str, ...]
    kept_worktrees: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GitObject:
    """One object of the database, reachable or not."""

    id: str
    kind: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FoundText:
    """A text that is still there: the index of the needle, and where (`blob <id>`, `commit <id>`, a path in .git)."""

    needle: int
    where: str


def compact(
    client: GitClient,
    branch: str,
    subject: str,
    trailers: Trailers,
    *,
    at: dt.datetime | None = None,
    doomed_refs: Sequence[str] = (),
) -> CompactReport:
    """Replaces the history of `branch` with one commit of its files, and drops what kept the old one alive.

    `doomed_refs` are whole names (`refs/remotes/cowork-sync/main`) that go as well; dream branches, stashes and git's
    own keepsakes always go, with the worktrees of dream branches. Works on a branch that HEAD is on.

    Changes: the branch, refs, reflogs, worktree records, left-over files of .git, every object. Files and the list of
    tracked paths stay.
    Errors: Conflict when HEAD is elsewhere or the branch moved meanwhile; GitFailed; GitTimeout after 10 minutes.
    """
    old = client.head()
    if old is None or client.current_branch() != branch:
        raise Conflict(f"HEAD is not on {branch}, or has no commit: there is nothing to compact", hint="memrepo doctor")
    message = compose_message(subject, trailers)
    new = CommitId(
        client.run("commit-tree", f"{old}^{{tree}}", "-F", "-", stdin=message, at=at).stdout.decode().strip()
    )
    client.run("update-ref", f"refs/heads/{branch}", new, old)
    kept_worktrees = _remove_worktrees(client)
    removed_refs = _remove_refs(client, doomed_refs)
    # Resolved conflicts stay in the index with all three texts, and gc keeps what the index names.
    client.run("update-index", "--clear-resolve-undo")
    leftovers = _remove_leftovers(client.root / ".git")
    drop_unreachable(client)
    own = f"refs/heads/{branch}"
    kept_refs = tuple(name for name, commit in client.refs() if name != own and commit != new)
    return CompactReport(new, old, removed_refs, leftovers, kept_refs, kept_worktrees)


def drop_unreachable(client: GitClient) -> None:
    """Removes every object that no ref needs, and what reflogs remember. Changes: reflogs, objects, no ref, no file."""
    client.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all", timeout_s=LONG_TIMEOUT_S)
    client.run("gc", "--prune=now", "--quiet", timeout_s=LONG_TIMEOUT_S)


def _remove_worktrees(client: GitClient) -> tuple[str, ...]:
    """Forgets worktrees whose folder is gone, removes those of dream branches, returns the others."""
    client.run("worktree", "prune", "--expire=now")
    kept: list[str] = []
    for folder, branch in client.worktrees():
        if branch is not None and branch.startswith(_DREAM_BRANCH):
            client.run("worktree", "remove", "--force", "--force", folder)
        else:
            kept.append(folder)
    return tuple(kept)


def _remove_refs(client: GitClient, doomed_refs: Sequence[str]) -> tuple[str, ...]:
    doomed = tuple(
        (name, value)
        for name, value in client.refs()
        if name == _STASH or name.startswith(_DOOMED_PREFIXES) or name in doomed_refs
    )
    if doomed:
        orders = b"".join(b"delete " + os.fsencode(name) + b"\0" + value.encode() + b"\0" for name, value in doomed)
        client.run("update-ref", "--no-deref", "--stdin", "-z", stdin=orders)
    return tuple(name for name, _ in doomed)


def _remove_leftovers(git_folder: Path) -> tuple[str, ...]:
    removed = []
    for name in _LEFTOVERS:
        path = git_folder / name
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise DiskFault(
                f"{path} cannot be removed: {error.strerror}",
                hint="memrepo compact",
                invariant="git-folder",
                path=str(path),
            ) from error
        removed.append(name)
    return tuple(removed)


def iter_objects(client: GitClient) -> Iterator[GitObject]:
    """All objects of the database, also those that nothing names any more. Changes: nothing."""
    client.check()
    rest = b""
    for piece in iter_git_output(
        client.root,
        ("cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch-check"),
        timeout_s=LONG_TIMEOUT_S,
    ):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            object_id, kind, size = line.decode("ascii").split(" ")
            yield GitObject(object_id, kind, int(size))


def needs_packing(root: Path) -> bool:
    """Whether loose objects have piled up, by git's own measure: one of 256 folders is counted. Starts no process."""
    try:
        sample = sum(1 for _ in os.scandir(root / ".git" / "objects" / "17"))
    except OSError:
        return False
    return sample * 256 > LOOSE_LIMIT


def pack(client: GitClient) -> None:
    """Packs loose objects, as git does after commits by itself; memrepo turns that off, so that no write waits for it.

    Changes: the form of the object database, never what it holds. Errors: GitFailed, GitTimeout.
    """
    client.run("gc", "--quiet", timeout_s=LONG_TIMEOUT_S)


def find_unreachable(client: GitClient) -> tuple[str, ...]:
    """The ids of objects that no ref needs: what a compaction should have left none of. Changes: nothing."""
    listed = client.run("rev-list", "--objects", "--no-object-names", "--all", timeout_s=LONG_TIMEOUT_S).stdout
    needed = set(listed.decode("ascii").split())
    return tuple(found.id for found in iter_objects(client) if found.id not in needed)


def iter_removed_lines(client: GitClient) -> Iterator[bytes]:
    """The lines that any commit of any branch, stash or reflog took out of a file. Changes: nothing."""
    client.check()
    arguments = ("log", "--all", "--reflog", "--patch", "--unified=0", "--format=", "--no-color", "--no-ext-diff",
                 "--no-textconv", "--no-renames", "--diff-merges=first-parent", "--")  # fmt: skip
    rest = b""
    for piece in iter_git_output(client.root, arguments, timeout_s=LONG_TIMEOUT_S):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"-") and not line.startswith(b"--- "):
                yield line[1:]


def search_objects(client: GitClient, needles: Sequence[bytes]) -> tuple[FoundText, ...]:
    """Searches the whole object database for texts: files, commit and tag messages, file names; byte for byte.

    Spelling variants (case, normal forms, escapes) are the caller's: each is a needle. Holds one piece of one object
    at a time, whatever its size. Changes: nothing. Errors: RepositoryFault when the database cannot be read whole.
    """
    client.check()
    found: dict[FoundText, None] = {}
    if any(needles):
        output = iter_git_output(
            client.root,
            ("cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch"),
            timeout_s=LONG_TIMEOUT_S,
        )
        for where, window in _iter_object_windows(output, _overlap(needles)):
            _collect(found, needles, where, window)
    return tuple(found)


def search_git_folder(client: GitClient, needles: Sequence[bytes]) -> tuple[FoundText, ...]:
    """Searches the files of `.git` beside the object database: index, reflogs, messages, records, journals.

    Where no file is meant to hold a text, a find is one. Links are not followed. Changes: nothing.
    """
    git_folder = client.root / ".git"
    found: dict[FoundText, None] = {}
    if not any(needles):
        return ()
    overlap = _overlap(needles)
    for folder, names, files in os.walk(git_folder, onerror=_refuse_unreadable):
        if folder == str(git_folder):
            names[:] = [name for name in names if name != "objects"]
        for name in files:
            path = os.path.join(folder, name)  # noqa: PTH118 - walking in strings
            if os.path.islink(path):  # noqa: PTH114
                continue
            where = os.path.relpath(path, client.root)
            try:
                with open(path, "rb") as stream:
                    tail = b""
                    while piece := stream.read(1 << 20):
                        _collect(found, needles, where, tail + piece)
                        tail = (tail + piece)[-overlap:] if overlap else b""
            except OSError as error:
                _refuse_unreadable(error)
    return tuple(found)


def _refuse_unreadable(error: OSError) -> None:
    raise DiskFault(
        f"{error.filename} cannot be read, so nothing is proven: {error.strerror}",
        hint="memrepo doctor",
        invariant="git-folder",
        path=str(error.filename),
    ) from error


def _collect(found: dict[FoundText, None], needles: Sequence[bytes], where: str, window: bytes) -> None:
    for number, needle in enumerate(needles):
        if needle and needle in window:
            found[FoundText(number, where)] = None


def _overlap(needles: Sequence[bytes]) -> int:
    """How many bytes two pieces must share so that no needle falls between them."""
    return max(len(needle) for needle in needles) - 1


def _iter_object_windows(pieces: Iterator[bytes], overlap: int) -> Iterator[tuple[str, bytes]]:
    """Cuts the stream of `cat-file --batch` into `(where, bytes)`; pieces of one object overlap."""
    buffer = b""
    where, left = "", -1  # left: bytes of the object's content still to come, -1 between two objects
    tail = b""
    for piece in pieces:
        buffer += piece
        while buffer:
            if left < 0:
                header, newline, rest = buffer.partition(b"\n")
                if not newline:
                    break
                words = header.decode("ascii", "replace").split(" ")
                if len(words) != 3 or not words[2].isdigit():
                    raise _damaged(header)
                where, left, buffer, tail = f"{words[1]} {words[0]}", int(words[2]), rest, b""
            elif left > 0:
                content, buffer = buffer[:left], buffer[left:]
                left -= len(content)
                window = tail + content
                yield where, window
                tail = window[-overlap:] if overlap else b""
            else:
                buffer, left = buffer[1:], -1  # the newline after the content
    if buffer or left >= 0:
        raise _damaged(buffer)


def _damaged(header: bytes) -> RepositoryFault:
    return RepositoryFault(
        f"the object database cannot be read whole ({header[:60].decode('ascii', 'replace')!r})",
        hint="memrepo doctor",
        invariant="objects",
    )
