"""Memory as resources: the block, and every Markdown file as agents may see it. Blocking, no protocol.

A resource is read without a session, so it is read for a task of which nothing is known. What such a task may see is
decided as for every other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from memrepo.errors import NotFound
from memrepo.model import INBOX_FILE, RepoPath
from memrepo.policy.injection import WHY, InjectionReason
from memrepo.surfaces.mcp.calls import NO_MEMORY_YET, UNREVIEWED, CallContext
from memrepo.surfaces.opened import find_stamps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memrepo.app import MemoryRepo
    from memrepo.surfaces.mcp.calls import Standing
    from memrepo.surfaces.opened import Stamps

CONTEXT_URI = "memrepo://context"
FILES_URI = "memrepo://files/"
FILES_TEMPLATE = FILES_URI + "{+path}"
TEXT_TYPE = "text/plain"
MARKDOWN_TYPE = "text/markdown"
_PAGE_FILES = 500


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of one resource."""

    uri: str
    text: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class FilesPage:
    """Some of the files, and where the next page starts; "" when there is none."""

    paths: tuple[RepoPath, ...]
    next_start: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What tells whether resources changed: the files with their stamps, and the version of the block."""

    stamps: Stamps
    block_version: str


def make_uri(path: RepoPath) -> str:
    """The URI of a file."""
    return FILES_URI + quote(path, safe="/")


def read_resource(repo: MemoryRepo, uri: str, standing: Standing) -> Shown:
    """The text behind a URI. Errors: NotFound, Refused where memory is off, PathRefused. Changes: a count."""
    if uri == CONTEXT_URI:
        return Shown(uri, read_block(repo, standing), TEXT_TYPE)
    if not uri.startswith(FILES_URI):
        raise NotFound("there is no such resource", hint=f"see resources/list, or {FILES_TEMPLATE}", what="resource")
    from memrepo.files.paths import check_repo_path

    path = check_repo_path(unquote(uri.removeprefix(FILES_URI), errors="surrogateescape"))
    task = CallContext(standing).make_task(repo)
    repo.require_memory(task)
    if repo.is_missing or not path.lower().endswith(".md"):
        raise NotFound(f"there is no file {path}", what="file", name=str(path))
    shown = repo.read_shown_file(path, task)
    text = f"({UNREVIEWED})\n\n{shown.text}" if shown.unreviewed else shown.text
    return Shown(uri, text, MARKDOWN_TYPE)


def read_block(repo: MemoryRepo, standing: Standing) -> str:
    """The block of the server's project, or in one line why there is none. Changes: nothing."""
    task = CallContext(standing).make_task(repo)
    if repo.is_missing:
        return f"({NO_MEMORY_YET})"
    block = repo.context(task)
    if block.reason:
        return f"({WHY[InjectionReason(block.reason)]})"
    return block.text or "(memory has nothing to show yet)"


def list_files(repo: MemoryRepo, standing: Standing, start: str) -> FilesPage:
    """The files after `start`, by name; none where memory is off or not there. Changes: nothing."""
    task = CallContext(standing).make_task(repo)
    if repo.is_missing or not repo.decide_injection(task).is_allowed:
        return FilesPage((), "")
    after = [path for path in repo.list_shown_files(task) if path > start]
    page = tuple(after[:_PAGE_FILES])
    return FilesPage(page, page[-1] if len(after) > len(page) else "")


def survey(repo: MemoryRepo, standing: Standing) -> Survey:
    """Looks at the stamps of all files, opens those of the block only if they changed. Changes: nothing."""
    task = CallContext(standing).make_task(repo)
    if repo.is_missing or not repo.decide_injection(task).is_allowed:
        return Survey({}, "")
    return Survey(find_stamps(repo, repo.list_shown_files(task)), repo.context(task).version)


def find_changed(before: Survey, after: Survey) -> tuple[str, ...]:
    """The URIs whose text may differ between two surveys. Pure."""
    changed = [
        make_uri(path)
        for path in sorted(before.stamps.keys() | after.stamps.keys())
        if before.stamps.get(path) != after.stamps.get(path)
    ]
    return (*([CONTEXT_URI] if before.block_version != after.block_version else []), *changed)


def describe_file(path: RepoPath) -> str:
    """What a list says about a file."""
    return _DESCRIPTIONS.get(path, "A file of the user's memory.")


_DESCRIPTIONS: Mapping[RepoPath, str] = {
    RepoPath("MEMORY.md"): "What the user keeps in view in every session, and links to the other files.",
    RepoPath("me.md"): "Who the user is and how they like things.",
    RepoPath("lessons.md"): "What holds in every project.",
    INBOX_FILE: UNREVIEWED,
}
