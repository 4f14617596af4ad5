"""The entries of a memory root as its files hold them now, and nothing else: no lock, no git, no store.

Light on purpose: what only lists (`memrepo ls`) loads this and not the writer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.files.atomic import read_file
from memrepo.files.paths import list_markdown
from memrepo.format.document import Document
from memrepo.format.entries import content_hash
from memrepo.model import ContentHash, Entry, Ref, RepoPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class LocatedEntry:
    """An entry and where it stands."""

    ref: Ref
    entry: Entry
    hash: ContentHash


def iter_entries(
    root: Path, paths: Iterable[RepoPath] | None = None, *, team: str | None = None
) -> Iterator[LocatedEntry]:
    """Streams the entries of these files, or of all; a file that is absent has none. `team` names the root's team.

    Errors: PathRefused, TooLarge, DiskFault. Changes: nothing.
    """
    for path in list_markdown(root) if paths is None else paths:
        data = read_file(root, path).data
        if data is None:
            continue
        for entry in Document.parse(data).entries:
            yield LocatedEntry(Ref(path, entry.line, team), entry, content_hash(entry.text))
