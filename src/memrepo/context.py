"""The `<cowork_memory_repo>` block of a memory root, as its files are now.

Owns which files belong into it, and when what was read of them still holds. Whether a task may see it is decided by
`policy.injection`, what of a file is shown by `policy.block`. Invariants: nothing of `inbox.md`; a change of a file is
in the next block, committed or not; the same bytes give the same block, in every process.

Cheap on purpose: no git, no store, no index. What was read is kept as long as the file's stamp and the head of its repo
prove that it still holds; a stamp so young that a change might hide in it proves nothing.
Source: memory repo design (seed 1) §6.1, §14.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memrepo.errors import MemrepoError
from memrepo.files.atomic import read_file, read_internal
from memrepo.format.document import Document, find_workspace_id
from memrepo.model import FILE_LIMIT_BYTES, MEMORY_FILE, WORKSPACES_FOLDER, RepoPath
from memrepo.policy.block import BlockFile, render_block
from memrepo.settings import TEAM_REPOS_MOST
from memrepo.workspaces import find_workspace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from memrepo.model import ContextBlock

MEMORY_BUDGET_TOKENS = 500
WORKSPACE_BUDGET_TOKENS = 300
TEAM_BUDGET_TOKENS = 300

_SETTLED_AFTER_NS = 2_000_000_000  # longer than the tick of any file system (FAT: two seconds)
_CACHE_LIMIT = 64
_REF_LINE = re.compile(rb"ref: (refs/[\w./-]+)\s*")
_HEAD_LIMIT_BYTES = 4096

Stamp = tuple[int, int, int, int]


class TeamMemory(NamedTuple):
    """A team's repo whose `MEMORY.md` belongs into the block: its name and its root."""

    name: str
    root: Path


class _Source(NamedTuple):
    """A file that belongs into the block."""

    root: Path
    path: RepoPath
    budget_tokens: int
    is_workspace: bool = False
    team: str | None = None


class _Seen(NamedTuple):
    """A file as it was read: `data` is its beginning in whole lines, None when it is absent or `why` it is not read."""

    stamp: Stamp | None
    is_settled: bool
    digest: str
    data: bytes | None
    is_cut: bool = False
    why: str = ""


class ContextBuilder:
    """Builds the block of one memory root, again and again. One object serves one thread."""

    __slots__ = ("_blocks", "_clock", "_files", "_heads", "_missing", "_named", "_root")

    def __init__(self, root: Path, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._root = root
        self._clock = clock
        self._heads: dict[Path, tuple[bytes, ...]] = {}
        self._files: dict[tuple[Path, RepoPath], _Seen] = {}
        self._named: dict[str, tuple[RepoPath, str]] = {}
        self._missing: dict[str, tuple[object, ...]] = {}
        self._blocks: dict[tuple[object, ...], ContextBlock] = {}

    def build(
        self,
        *,
        workspace_id: str | None = None,
        teams: Sequence[TeamMemory] = (),
        exclude_hashes: Collection[str] = (),
    ) -> ContextBlock:
        """Returns the block: `MEMORY.md`, the workspace's file, then up to three teams; "" when there is nothing.

        `exclude_hashes` leaves out entries that the host shows already. A file that cannot be read is left out, with a
        warning. Changes: nothing.
        """
        warnings: list[tuple[str, str]] = []
        sources = self._find_sources(workspace_id, teams[:TEAM_REPOS_MOST], warnings)
        seen = [self._look(source.root, source.path) for source in sources]
        excluded = frozenset(exclude_hashes)
        key = (tuple(sources), excluded, tuple(file.digest for file in seen), tuple(warnings))
        block = self._blocks.get(key)
        if block is None:
            pairs = list(zip(sources, seen, strict=True))
            warnings += [(_name(source), file.why) for source, file in pairs if file.why]
            block = replace(render_block(_show(pairs), excluded=excluded), warnings=tuple(warnings))
            if len(self._blocks) >= _CACHE_LIMIT:
                self._blocks.clear()
            self._blocks[key] = block
        return block

    def _find_sources(
        self, workspace_id: str | None, teams: Sequence[TeamMemory], warnings: list[tuple[str, str]]
    ) -> list[_Source]:
        for root in (self._root, *(team.root for team in teams)):
            self._watch_head(root)
        sources = [_Source(self._root, MEMORY_FILE, MEMORY_BUDGET_TOKENS)]
        if workspace_id:
            try:
                path = self.find_workspace_path(workspace_id)
            except MemrepoError as error:
                path = None
                warnings.append((WORKSPACES_FOLDER, error.message))
            if path is not None:
                sources.append(_Source(self._root, path, WORKSPACE_BUDGET_TOKENS, is_workspace=True))
        sources += [_Source(team.root, MEMORY_FILE, TEAM_BUDGET_TOKENS, team=team.name) for team in teams]
        return sources

    def _watch_head(self, root: Path) -> None:
        """Forgets what was read of a repo whose head moved: its stamps are not trusted then."""
        head = _read_head(root)
        if self._heads.get(root) != head:
            self._heads[root] = head
            self._files = {place: seen for place, seen in self._files.items() if place[0] != root}

    def _look(self, root: Path, path: RepoPath) -> _Seen:
        known = self._files.get((root, path))
        looked_ns = self._clock()
        stamp = _find_stamp(root, path)
        if known is not None and known.is_settled and known.stamp == stamp:
            return known
        seen = _read(root, path, stamp, is_settled=_is_settled(stamp, looked_ns))
        if len(self._files) >= _CACHE_LIMIT:
            self._files.clear()
        self._files[root, path] = seen
        return seen

    def find_workspace_path(self, workspace_id: str) -> RepoPath | None:
        """The workspace's file, or None. Looked for again only when it, or without one the folder, has changed.

        Errors: DiskFault when a folder cannot be listed.
        """
        known = self._named.get(workspace_id)
        if known is not None:
            path, digest = known
            seen = self._look(self._root, path)
            if seen.digest == digest:
                return path
            if seen.data is not None and find_workspace_id(Document.parse(seen.data)) == workspace_id:
                self._named[workspace_id] = (path, seen.digest)
                return path
            del self._named[workspace_id]
        folder = _survey(self._root, self._clock())
        if folder and self._missing.get(workspace_id) == folder:
            return None
        path_found = find_workspace_file(self._root, workspace_id)
        if path_found is None:
            self._missing = {workspace_id: folder}
        else:
            self._named[workspace_id] = (path_found, self._look(self._root, path_found).digest)
        return path_found


def _show(pairs: Sequence[tuple[_Source, _Seen]]) -> list[BlockFile]:
    return [
        BlockFile(source.path, file.data or b"", source.budget_tokens, file.is_cut, source.is_workspace, source.team)
        for source, file in pairs
    ]


def _name(source: _Source) -> str:
    return source.path if source.team is None else f"team:{source.team}:{source.path}"


def _read(root: Path, path: RepoPath, stamp: Stamp | None, *, is_settled: bool) -> _Seen:
    try:
        file = read_file(root, path)
    except MemrepoError as error:
        return _Seen(stamp, is_settled, f"unread: {error.message}", None, why=error.message)
    if file.data is None:
        return _Seen(stamp, is_settled, "", None)
    data = file.data
    if len(data) <= FILE_LIMIT_BYTES:
        return _Seen(stamp, is_settled, file.digest or "", data)
    # Only a hand makes a file that long; its beginning is more than any budget takes.
    end = max(data.rfind(b"\n", 0, FILE_LIMIT_BYTES), data.rfind(b"\r", 0, FILE_LIMIT_BYTES)) + 1
    return _Seen(stamp, is_settled, file.digest or "", data[:end], is_cut=True)


def _find_stamp(root: Path, path: RepoPath) -> Stamp | None:
    try:
        found = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _is_settled(stamp: Stamp | None, looked_ns: int) -> bool:
    """Whether a change after the look would show in the stamp. An absent file shows when it comes."""
    return stamp is None or looked_ns - max(stamp[0], stamp[1]) >= _SETTLED_AFTER_NS


def _survey(root: Path, looked_ns: int) -> tuple[object, ...]:
    """Names and stamps of the folder of workspaces; () when they prove nothing."""
    found: list[tuple[object, ...]] = []
    try:
        with os.scandir(f"{root}/{WORKSPACES_FOLDER}") as listing:
            for place in listing:
                look = place.stat(follow_symlinks=False)
                stamp = (look.st_mtime_ns, look.st_ctime_ns, look.st_size, look.st_ino)
                if not _is_settled(stamp, looked_ns):
                    return ()
                found.append((place.name, *stamp))
    except FileNotFoundError:
        return ("absent",)
    except OSError:
        return ()
    return ("there", *sorted(found, key=str))


def _read_head(root: Path) -> tuple[bytes, ...]:
    """What changes when the repo's head does, from its files; () where there is no history."""
    git_folder = root / ".git"
    try:
        head = read_internal(git_folder, "HEAD", limit_bytes=_HEAD_LIMIT_BYTES)
        if head is None:
            return ()
        ref = _REF_LINE.fullmatch(head)
        if ref is None or b".." in ref[1]:
            return (head,)
        place = git_folder / os.fsdecode(ref[1])
        loose = read_internal(place.parent, place.name, limit_bytes=_HEAD_LIMIT_BYTES)
    except (MemrepoError, ValueError):
        return ()
    if loose is None:
        packed = _find_stamp(git_folder, RepoPath("packed-refs"))
        return (head, repr(packed).encode())
    return (head, loose)
