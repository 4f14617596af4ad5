"""The memory branch moves to a commit that was not made from the files: what sync put together, or fetched.

    journal → files → branch → index → journal gone

The journal, `.git/cowork-sync-pending.json`, holds two commit ids and no text: the head that the files were, and the
one that they become. Until the branch has moved, whoever takes the lock next takes the files back; after it, only the
index is left to do. A file that somebody edited in between is left as it is: it is a hand edit, of the old head or of
the new one, and either merges. Works under the write lock, on a clean work tree.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from memrepo.errors import MemrepoError
from memrepo.files.atomic import (
    digest_bytes,
    read_file,
    read_internal,
    remove_file,
    remove_internal,
    remove_stale_temporaries,
    replace_file,
    write_internal,
)
from memrepo.files.paths import check_repo_path
from memrepo.git.trees import EXECUTABLE, FileEdit, compare, is_ancestor, read_objects
from memrepo.model import CommitId

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memrepo.git.client import GitClient
    from memrepo.model import RepoPath

ADVANCE_JOURNAL = "cowork-sync-pending.json"
_VERSION = 1
_COMMIT_ID = re.compile(r"[0-9a-f]{40}")


def advance(git: GitClient, after: CommitId) -> tuple[RepoPath, ...]:
    """Moves branch, files and index from the head to another commit; returns the paths that changed.

    Errors: ChangedOnDisk when a file is not as the head has it, DiskFault, GitFailed; in all of them files and branch
    are as they were, or the journal stays and the next writer takes them back.
    Changes: the files that differ, the branch, the index, the journal.
    """
    before = git.head()
    assert before is not None  # noqa: S101 - a memory repo begins with a commit
    if before == after:
        return ()
    edits = compare(git, before, after)
    contents = _read_contents(git, edits)
    folder = git.root / ".git"
    started: list[FileEdit] = []
    try:
        write_internal(folder, ADVANCE_JOURNAL, _to_json(before, after))
        for edit in _in_order(edits):
            started.append(edit)
            _write(git.root, edit, contents)
        git.run("update-ref", f"refs/heads/{git.memory_branch}", after, before)
    except MemrepoError:
        with suppress(MemrepoError):  # the journal stays then
            if git.head() == before:
                _take_back(git.root, started, contents)
                remove_internal(folder, ADVANCE_JOURNAL)
        raise
    _finish(git)
    return tuple(check_repo_path(edit.path) for edit in edits)


def recover_advance(git: GitClient) -> tuple[RepoPath, ...]:
    """Mends what a killed process left of `advance`; returns the paths that it had to do with, () if there was none.

    Errors: DiskFault, GitFailed. Changes: the files that were written early, or the index; the journal;
    temporary files.
    """
    folder = git.root / ".git"
    data = read_internal(folder, ADVANCE_JOURNAL)
    if data is None:
        return ()
    remove_stale_temporaries(git.root)
    moved = _from_json(data)
    head = git.head()
    if moved is None or head not in moved or not all(is_ancestor(git, commit, commit) for commit in moved):
        remove_internal(folder, ADVANCE_JOURNAL)  # somebody went on from there: what differs is a hand edit
        return ()
    edits = compare(git, *moved)
    if head == moved[1]:
        _finish(git)
    else:
        _take_back(git.root, _in_order(edits), _read_contents(git, edits))
        remove_internal(folder, ADVANCE_JOURNAL)
    return tuple(check_repo_path(edit.path) for edit in edits)


def _finish(git: GitClient) -> None:
    git.run("reset", "--quiet", "--mixed", "--no-recurse-submodules", "HEAD", "--")
    remove_internal(git.root / ".git", ADVANCE_JOURNAL)


def _in_order(edits: Sequence[FileEdit]) -> list[FileEdit]:
    """What goes comes first: a file may make place for a folder of its name."""
    return sorted(edits, key=lambda edit: edit.after is not None)


def _read_contents(git: GitClient, edits: Sequence[FileEdit]) -> dict[str, bytes]:
    return read_objects(git, [side[1] for edit in edits for side in (edit.before, edit.after) if side is not None])


def _write(root: Path, edit: FileEdit, contents: dict[str, bytes]) -> None:
    path = check_repo_path(edit.path)
    expected = None if edit.before is None else digest_bytes(contents[edit.before[1]])
    if edit.after is None:
        remove_file(root, path, expect_digest=expected)
    else:
        mode, blob = edit.after
        replace_file(root, path, contents[blob], expect_digest=expected, is_executable=mode == EXECUTABLE)


def _take_back(root: Path, edits: Sequence[FileEdit], contents: dict[str, bytes]) -> None:
    """Gives files the bytes of the old head where they have those of the new one; an edited file is left alone."""
    for edit in reversed(edits):
        new = None if edit.after is None else digest_bytes(contents[edit.after[1]])
        if read_file(root, check_repo_path(edit.path)).digest == new:
            _write(root, FileEdit(edit.path, edit.after, edit.before), contents)


def _to_json(before: CommitId, after: CommitId) -> bytes:
    return json.dumps({"version": _VERSION, "before": before, "after": after}).encode()


def _from_json(data: bytes) -> tuple[CommitId, CommitId] | None:
    try:
        raw = json.loads(data)
        found = (raw["before"], raw["after"]) if raw["version"] == _VERSION else ()
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if len(found) != 2 or not all(isinstance(one, str) and _COMMIT_ID.fullmatch(one) for one in found):
        return None
    return CommitId(found[0]), CommitId(found[1])
