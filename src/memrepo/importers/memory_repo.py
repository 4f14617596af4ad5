"""Another memory repo: its entries with their kind, day and workspace. Pure.

Whose word a line was there does not count here: it waits in the inbox all the same. Its subject stays behind, because
a subject replaces other lines. Source: memory repo design (seed 1) §3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.format.document import WORKSPACE_ENTRY, find_workspace_id
from memrepo.importers.found import Found, PassedOver, guess_kind, read_date, read_kind
from memrepo.importers.statements import parse_document
from memrepo.model import LESSONS_FILE, ME_FILE, SWARMS_FOLDER, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memrepo.importers.found import Finding, SourceFile

_KIND_OF_FILE = {ME_FILE: Kind.PREFERENCE, LESSONS_FILE: Kind.INSIGHT}


def is_wanted(name: str) -> bool:
    """Whether a file of the source is read. What its swarms noted for each other is no memory."""
    return name.lower().endswith(".md") and not name.startswith(f"{SWARMS_FOLDER}/")


def parse(file: SourceFile) -> Iterator[Finding]:
    """Streams the entries of a file."""
    document = parse_document(file)
    own = find_workspace_id(document)
    name = document.title or file.name.rpartition("/")[2].removesuffix(".md")
    for entry in document.entries:
        place = f"{file.name}:{entry.line}"
        if entry.text.casefold() == WORKSPACE_ENTRY.casefold():
            yield PassedOver("name of a workspace", place)
            continue
        workspace_id = entry.value("workspace") or own
        workspace = (workspace_id, name if workspace_id == own else workspace_id) if workspace_id else None
        kind = read_kind(entry.value("kind")) or _guess(file.name, entry.text, has_workspace=workspace is not None)
        yield Found(entry.text, place, kind, read_date(entry.value("added")), workspace)


def _guess(name: str, text: str, *, has_workspace: bool) -> Kind:
    if has_workspace:
        return Kind.PROJECT_FACT
    return next((kind for path, kind in _KIND_OF_FILE.items() if path == name), None) or guess_kind(text)
