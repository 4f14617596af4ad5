"""A whole history as one file (gitformat-bundle(5)), and that file as a history again.

Owns the form of such a file and what may be in one: branches, tags and HEAD, nothing that it presumes to be there
already. It is taken apart here and only its pack is given to git, which checks every object and every name in every
tree of it (`index-pack --strict`): so no protocol is opened, and nothing is checked out. Knows nothing of memory.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import GitFailed
from memrepo.git.compaction import LONG_TIMEOUT_S, iter_objects
from memrepo.git.hardening import Override
from memrepo.git.process import run_git
from memrepo.model import CommitId

if TYPE_CHECKING:
    from memrepo.git.client import GitClient

HEAD = "HEAD"
HEADS = "refs/heads/"
TAGS = "refs/tags/"
_DRAFTS = "refs/heads/dream/"
"""Branches of changes that wait for a review: proposals, no history."""

_SIGNATURE = b"# v2 git bundle\n"
_HEADER_LIMIT_BYTES = 4 * 1024 * 1024
_REF_LINE = re.compile(rb"([0-9a-f]{40}) ([\x21-\x7e\x80-\xff]{1,1000})")
# An object past this is neither unpacked in memory nor tried as a delta (git-config(1)).
_SPARING = (
    Override("core.bigFileThreshold", "16m", "a small pack may hold a huge file"),
    Override("pack.threads", "1", "several huge files at once"),
)


class BundleFault(ValueError):
    """What is wrong with a bundle, in words. For the caller, who knows whose it is."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A history in parts: the commit of each ref, and the pack of all objects. `head` is None before a first commit."""

    refs: dict[str, CommitId]
    pack: memoryview

    @property
    def head(self) -> CommitId | None:
        return self.refs.get(HEAD)


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One path of a commit: its mode as git writes it (`100644`), its kind (`blob`, `commit`) and its size."""

    path: str
    mode: str
    kind: str
    size_bytes: int


def create_bundle(client: GitClient, *, limit_bytes: int) -> bytes:
    """All commits of all branches and tags as one file; drafts of dreams are left out. HEAD must name a commit.

    Errors: GitFailed; GitTimeout after 10 minutes; TooLarge past `limit_bytes`. Changes: nothing.
    """
    client.check()
    current = f"{HEADS}{client.current_branch()}"
    names = [
        name
        for name, _ in client.refs()
        if name.startswith((HEADS, TAGS)) and (name == current or not name.startswith(_DRAFTS))
    ]
    arguments = ("bundle", "create", "--quiet", "-", HEAD, "--stdin")
    given = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    return run_git(
        client.root, arguments, stdin=given or b"\n", timeout_s=LONG_TIMEOUT_S, limit_bytes=limit_bytes
    ).stdout


def parse_bundle(data: bytes) -> Bundle:
    """Takes a bundle apart. Pure. Errors: BundleFault."""
    if not data.startswith(_SIGNATURE):
        raise BundleFault("it is no git bundle of version 2")
    end = data.find(b"\n\n", 0, _HEADER_LIMIT_BYTES)
    if end < 0:
        raise BundleFault("its list of branches has no end")
    refs: dict[str, CommitId] = {}
    for line in data[len(_SIGNATURE) : end].split(b"\n"):
        if line.startswith(b"-"):
            raise BundleFault("it is a part of a history and presumes the rest")
        found = _REF_LINE.fullmatch(line)
        if found is None:
            raise BundleFault("a line of its list of branches is of no known form")
        name = os.fsdecode(found[2])
        if name != HEAD and not name.startswith((HEADS, TAGS)):
            raise BundleFault(f"it names {name!r}, which is neither a branch nor a tag")
        if refs.setdefault(name, CommitId(found[1].decode())) != found[1].decode():
            raise BundleFault(f"it names {name!r} twice")
    if HEAD not in refs:
        raise BundleFault("it does not say where HEAD was")
    _refuse_twins(refs)
    return Bundle(refs, memoryview(data)[end + 2 :])


def _refuse_twins(refs: dict[str, CommitId]) -> None:
    seen: dict[str, str] = {}
    for name in refs:
        if (other := seen.setdefault(name.casefold(), name)) != name:
            raise BundleFault(f"{other!r} and {name!r} differ by case only")


def unbundle(client: GitClient, bundle: Bundle, *, branch: str | None, limit_bytes: int) -> CommitId:
    """Puts a history into a new, empty repo and HEAD on `branch`, or on no branch; returns the commit of HEAD.

    The index is that of HEAD; no file of the work tree is touched. `limit_bytes` is for all objects unpacked.
    Errors: BundleFault when git refuses an object, a name or a ref; GitTimeout. Changes: `.git`.
    """
    head = bundle.refs[HEAD]
    if branch is not None and bundle.refs.get(HEADS + branch) != head:
        raise BundleFault(f"HEAD is not where branch {branch!r} is")
    try:
        client.check()
        # `run` would copy the pack once more.
        run_git(
            client.root,
            ("index-pack", "--stdin", "--strict"),
            stdin=bundle.pack,  # type: ignore[arg-type] # bytes are only sent on
            timeout_s=LONG_TIMEOUT_S,
            extra=_SPARING,
        )
        total_bytes = sum(found.size_bytes for found in iter_objects(client))
        if total_bytes > limit_bytes:
            raise BundleFault(f"unpacked it has {total_bytes:,} bytes, the limit is {limit_bytes:,}")
        orders = b"".join(
            b"create " + os.fsencode(name) + b"\0" + commit.encode() + b"\0"
            for name, commit in bundle.refs.items()
            if name != HEAD
        )
        client.run("update-ref", "--stdin", "-z", stdin=orders)
        if branch is None:
            client.run("update-ref", "--no-deref", HEAD, head)
        else:
            client.run("symbolic-ref", HEAD, HEADS + branch)
        client.run("rev-list", "--objects", "--all", "--quiet", timeout_s=LONG_TIMEOUT_S)
        client.run("read-tree", f"{head}^{{commit}}")
        client.run("update-index", "-q", "--refresh", ok_codes=(0, 1))
    except GitFailed as error:
        said = error.facts.get("stderr")
        lines = said if isinstance(said, tuple) else ()
        if any("No space left" in line or "quota exceeded" in line for line in lines):
            raise  # the disk's refusal, not git's
        raise BundleFault(f"git refuses it: {lines[0] if lines else error.message}") from error
    return head


def list_tree_files(client: GitClient, commit: str) -> tuple[TreeFile, ...]:
    """All paths of a commit. Changes: nothing."""
    listed = client.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit).stdout
    found = []
    for record in listed.split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, kind, _, size = head.split()
            found.append(TreeFile(os.fsdecode(path), mode.decode(), kind.decode(), int(size) if size.isdigit() else 0))
    return tuple(found)


def list_paths(client: GitClient) -> tuple[str, ...]:
    """What git follows and what it could (all but what is ignored), sorted; a repo of its own ends in `/`."""
    listed = client.run("ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
    return tuple(sorted({os.fsdecode(path) for path in listed.split(b"\0") if path}))
