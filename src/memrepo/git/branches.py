"""Branches that hold a proposal: built without a work tree, merged by text, dropped.

Owns the verbs behind reviews. `git fast-import` makes the commit from bytes and moves the branch in one step, so that
no second work tree stands on the disk, nothing is checked out that a crash could leave, and the index is not touched.
The merge is git's own three-way merge in the work tree; the caller holds the write lock and has a clean work tree.
"""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING

from memrepo.errors import MergeConflict, RepositoryFault
from memrepo.git.commits import compose_message
from memrepo.git.hardening import AUTHOR_EMAIL, AUTHOR_NAME, TEXT_MERGE_OVERRIDES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.git.client import GitClient
    from memrepo.model import CommitId, Message


def find_branch(client: GitClient, branch: str) -> CommitId | None:
    """The commit that a branch names, or None. Changes: nothing."""
    return dict(client.branches()).get(branch)


def build_branch(
    client: GitClient,
    branch: str,
    base: CommitId,
    files: Mapping[str, bytes | None],
    message: Message,
    *,
    at: dt.datetime | None = None,
) -> CommitId:
    """Points a branch, new or not, at one new commit: `base` with these files changed; None removes one.

    Changes: objects and that branch; neither files nor index. Errors: GitFailed, and then the branch is as it was.
    """
    text = compose_message(message.subject, message.trailers)
    seconds = int((at or dt.datetime.now(dt.UTC)).timestamp())
    modes = _read_modes(client, base)
    parts = [
        f"commit refs/heads/{branch}\ncommitter {AUTHOR_NAME} <{AUTHOR_EMAIL}> {seconds} +0000\n".encode(),
        b"data %d\n%b\nfrom %b\n" % (len(text), text, base.encode()),
    ]
    for path, data in files.items():
        quoted = b'"' + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
        if data is None:
            parts.append(b"D " + quoted + b"\n")
        else:
            mode = modes.get(os.fsencode(path), b"100644")
            parts.append(b"M " + mode + b" inline " + quoted + b"\ndata %d\n%b\n" % (len(data), data))
    client.run("fast-import", "--quiet", "--force", "--done", stdin=b"".join((*parts, b"done\n")))
    made = find_branch(client, branch)
    if made is None:
        raise RepositoryFault(f"git made no branch {branch}", hint="memrepo doctor", invariant="branch")
    return made


def _read_modes(client: GitClient, commit: CommitId) -> dict[bytes, bytes]:
    """The modes of a commit's files: on some disks every file is executable, and stays so."""
    listed = client.run("ls-tree", "-r", "-z", "--full-tree", commit).stdout
    rows = (record.split(b"\t", 1) for record in listed.split(b"\0") if record)
    return {path: head.split(b" ", 1)[0] for head, path in rows if head.startswith(b"100")}


def merge_branch(client: GitClient, branch: str, message: Message) -> CommitId:
    """Merges a branch with a merge commit, as text even where notes merge by union; returns that commit.

    Changes: files, index, the branch that HEAD is on; on an error of ours, nothing.
    Errors: MergeConflict (lines that the branch changes were changed since), GitFailed.
    """
    text = compose_message(message.subject, message.trailers).decode()
    flags = ("--no-ff", "--no-verify", "--no-gpg-sign", "--no-edit", "--quiet", "--cleanup=verbatim", "-m", text)
    done = client.run("merge", *flags, f"refs/heads/{branch}", ok_codes=(0, 1), extra=TEXT_MERGE_OVERRIDES)
    if done.exit_code:
        listed = client.run("diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff").stdout
        paths = tuple(os.fsdecode(path) for path in listed.split(b"\0") if path)
        client.run("merge", "--abort")
        raise MergeConflict(f"{', '.join(paths)} changed since", paths=paths)
    head = client.head()
    if head is None:
        raise RepositoryFault("a merge was made, but HEAD names no commit", hint="memrepo doctor", invariant="head")
    return head


def drop_branch(client: GitClient, branch: str) -> None:
    """Forgets a branch, if it is there. Changes: the ref and its reflog; its objects go with the next packing."""
    if find_branch(client, branch) is not None:
        client.run("update-ref", "--no-deref", "-d", f"refs/heads/{branch}")
