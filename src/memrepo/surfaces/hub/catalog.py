"""The entries of all files, kept between requests: a file is read again when its stamp changed.

Derived, and never trusted over the files: every act names the hash that the page saw, and the service looks again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import MemrepoError
from memrepo.format.document import WORKSPACE_ENTRY
from memrepo.model import INBOX_FILE, WORKSPACE_INDEX_FILE, Author
from memrepo.store import ApprovalStatus
from memrepo.surfaces.hub.showing import name_file, order_files
from memrepo.surfaces.opened import find_stamps, look
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from pathlib import Path

    from memrepo.app import MemoryRepo
    from memrepo.model import Entry, RepoPath
    from memrepo.reading import LocatedEntry


@dataclass(frozen=True, slots=True)
class HeldFile:
    """One file: what it is called, its entries, each with its text folded for filtering, its first heading.

    The entry that names a workspace is none of them: it holds the file to its workspace and says nothing else. `fault`
    says why a file could not be read.
    """

    path: RepoPath
    title: str
    entries: tuple[LocatedEntry, ...]
    folded: tuple[str, ...]
    first_section: str = ""
    fault: str = ""


class Catalog:
    """One memory root as it was last seen. One thread at a time."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._files: dict[RepoPath, tuple[tuple[int, int, int], HeldFile]] = {}

    @property
    def files(self) -> dict[RepoPath, HeldFile]:
        """All files as they were last seen."""
        return {path: held for path, (_, held) in self._files.items()}

    def look(self, repo: MemoryRepo) -> dict[RepoPath, HeldFile]:
        """All files in the order of the Hub. Changes: nothing."""
        if repo.root != self._root:
            self._root, self._files = repo.root, {}
        stamps = find_stamps(repo, repo.list_files())
        self._files = {
            path: known
            if (known := self._files.get(path)) is not None and known[0] == stamps[path]
            else (stamps[path], _read(repo, path))
            for path in order_files(stamps)
        }
        return self.files


def list_known(files: dict[RepoPath, HeldFile]) -> list[HeldFile]:
    """The files of what is known: without the inbox, and without an index that holds only links."""
    return [
        held
        for path, held in files.items()
        if path != INBOX_FILE and (path != WORKSPACE_INDEX_FILE or held.entries or held.fault)
    ]


def find_state(repo: MemoryRepo, settings_file: Path) -> str:
    """A short text that differs when anything that the Hub shows may have changed. Changes: nothing."""
    store = repo.store.find()
    waiting = [] if store is None else [approval.id for approval in store.approvals.list(status=ApprovalStatus.PENDING)]
    git_folder = repo.root / ".git"
    parts = (
        find_stamps(repo, repo.list_files()),
        look(git_folder / "HEAD"),
        look(git_folder / "logs" / "HEAD"),
        look(settings_file),
    )
    return hashlib.sha256(repr((parts, waiting)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _read(repo: MemoryRepo, path: RepoPath) -> HeldFile:
    try:
        found = tuple(repo.iter_entries([path]))
    except MemrepoError as error:
        return HeldFile(path, name_file(path), (), (), fault=error.message)
    entries = tuple(located for located in found if not _names_workspace(located.entry))
    section = found[0].entry.section if found else ""
    title = escape_control(section) if section and len(entries) < len(found) else name_file(path)
    return HeldFile(path, title, entries, tuple(one.entry.text.casefold() for one in entries), section)


def _names_workspace(entry: Entry) -> bool:
    is_named = entry.text.casefold() == WORKSPACE_ENTRY.casefold() and entry.value("workspace") is not None
    return is_named and entry.by is Author.USER
