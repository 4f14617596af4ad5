"""Which file belongs to which workspace, read from the files themselves.

The map survives renames because each workspace file names its workspace in one entry; no other record of it exists.
Source: memory repo design (seed 1) §3, "Workspace files".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.errors import MemrepoError
from memrepo.files.atomic import read_file
from memrepo.files.paths import list_markdown
from memrepo.format.document import WORKSPACE_ENTRY, Document, find_workspace_id
from memrepo.format.slug import choose_slug, slugify
from memrepo.model import WORKSPACE_INDEX_FILE, WORKSPACES_FOLDER, Fact, RepoPath, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NAMING_LINE = re.compile(rf"{WORKSPACE_ENTRY}[^\r\n]*".encode(), re.IGNORECASE)
_PREFIX = f"{WORKSPACES_FOLDER}/"


class WorkspaceFiles:
    """The map of one memory root, read when first asked and again when a file no longer says what it said."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, RepoPath] = {}

    def find(self, workspace_id: str) -> RepoPath | None:
        """The file that names this workspace, or None."""
        known = self._files.get(workspace_id)
        if known is not None and self._names(known) == workspace_id:
            return known
        self._files = {}
        for path in self.list_paths():
            named = self._names(path)
            if named is not None:
                self._files.setdefault(named, path)
        return self._files.get(workspace_id)

    def choose(self, workspace: Workspace, *, also_taken: Iterable[RepoPath] = ()) -> RepoPath:
        """The file of a workspace: its own, else an unnamed one of its slug, else a new name that is free.

        `also_taken` are paths that other workspaces get in the same write and that no disk shows yet.
        """
        if found := self.find(workspace.id):
            return found
        slug = slugify(workspace.name)
        same_slug = RepoPath(f"{_PREFIX}{slug}.md")
        paths, planned = self.list_paths(), tuple(also_taken)
        if (
            same_slug in paths
            and same_slug not in planned
            and same_slug != WORKSPACE_INDEX_FILE
            and self._names(same_slug) is None
        ):
            return same_slug
        # Names that differ only by case are one file on some disks.
        taken = {
            path.removeprefix(_PREFIX).removesuffix(".md").casefold()
            for path in (*paths, *planned, WORKSPACE_INDEX_FILE)
        }
        return RepoPath(f"{_PREFIX}{choose_slug(workspace.name, taken)}.md")

    def list_paths(self) -> list[RepoPath]:
        """The files that may be a workspace's, sorted."""
        return [path for path in list_markdown(self._root) if path.startswith(_PREFIX) and path.count("/") == 1]

    def _names(self, path: RepoPath) -> str | None:
        data = read_file(self._root, path).data
        return None if data is None else find_workspace_id(Document.parse(data))


def find_workspace_file(root: Path, workspace_id: str) -> RepoPath | None:
    """The file that names one workspace, for a reader that asks once: a file without such a line is not parsed.

    A file that cannot be read names none. Errors: DiskFault when a folder cannot be listed. Changes: nothing.
    """
    is_escaped = any(sign in workspace_id for sign in ";[]")
    wanted = b"" if is_escaped else workspace_id.encode("utf-8", "surrogatepass")
    for path in WorkspaceFiles(root).list_paths():
        try:
            data = read_file(root, path).data
        except MemrepoError:
            continue
        if data is None or not any(wanted in line for line in _NAMING_LINE.findall(data)):
            continue
        if find_workspace_id(Document.parse(data)) == workspace_id:
            return path
    return None


def naming_fact(workspace: Workspace) -> Fact:
    """The entry by which a workspace file names its workspace."""
    return Fact(WORKSPACE_ENTRY, (("by", "user"), ("workspace", workspace.id)))
