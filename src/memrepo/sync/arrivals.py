"""What may come from the remote, or go there: a judgement over the list of a commit's files. Pure.

Whoever can write to the remote can put anything into a commit. Nothing of it is checked out before this says yes, so no
link, no submodule, no attribute that names a program and no path that another system would take for `.git` ever
reaches a folder. The same is asked of what this machine would send: what others would refuse stays here.
Source: memory sync design (seed 2) §4; git-ls-tree(1) for modes.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import PathRefused
from memrepo.files.atomic import READ_LIMIT_BYTES
from memrepo.files.paths import check_repo_path
from memrepo.git.audit import audit_attributes
from memrepo.git.trees import EXECUTABLE, REGULAR
from memrepo.model import MARKDOWN_FILES_LIMIT, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memrepo.git.trees import TreeFile

FILES_LIMIT = 10_000
MARKDOWN_LIMIT_BYTES = 1024 * 1024
"""A file of memory holds at most 64 KB when memrepo writes it; a hand may have gone further."""
OTHER_LIMIT_BYTES = READ_LIMIT_BYTES
TOTAL_LIMIT_BYTES = 200 * 1024 * 1024
FAULTS_LIMIT = 20

_MODES = {"120000": "is a symbolic link", "160000": "is a submodule", "040000": "is a folder"}
_REFUSED_NAMES = {".gitmodules": "would make git fetch from places that a commit names"}
_ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True, slots=True)
class Fault:
    """One file, or "" for the whole, and the rule that it breaks."""

    path: str
    rule: str
    why: str


def judge_list(files: Sequence[TreeFile]) -> tuple[Fault, ...]:
    """What is wrong with the list of a commit's files, at most 20 faults; no content is looked at."""
    faults = [*_judge_counts(files)]
    if not faults:  # else there may be no end to them
        for file in files:
            if fault := _judge_file(file):
                faults.append(fault)
            if len(faults) >= FAULTS_LIMIT:
                break
        faults += _find_collisions(file.path for file in files)
    return tuple(faults[:FAULTS_LIMIT])


def needs_look(path: str) -> bool:
    """Whether the content of a file is judged too."""
    return is_markdown(path) or _name_of(path) == _ATTRIBUTES


def judge_contents(contents: Mapping[str, bytes]) -> tuple[Fault, ...]:
    """What is wrong with the contents of files, by path; those of paths that `needs_look` names."""
    faults: list[Fault] = []
    for path, data in contents.items():
        if _name_of(path) == _ATTRIBUTES and (found := audit_attributes(data)):
            faults.append(Fault(path, "attributes", f"{found[0].key}: {found[0].why}"))
        elif is_markdown(path):
            try:
                data.decode("utf-8")
            except UnicodeDecodeError as error:
                line = data[: error.start].count(b"\n") + 1
                faults.append(Fault(path, "utf-8", f"is not UTF-8 (line {line})"))
    return tuple(faults[:FAULTS_LIMIT])


def is_markdown(path: str) -> bool:
    """Whether a path names a file of memory."""
    return path[-3:].lower() == ".md"


def _judge_counts(files: Sequence[TreeFile]) -> Iterable[Fault]:
    count, markdown = len(files), sum(1 for file in files if is_markdown(file.path))
    size = sum(file.size_bytes for file in files)
    if count > FILES_LIMIT:
        yield Fault("", "file-count", f"holds {count:,} files; at most {FILES_LIMIT:,} are taken")
    elif markdown > MARKDOWN_FILES_LIMIT:
        yield Fault("", "file-count", f"holds {markdown:,} Markdown files; at most {MARKDOWN_FILES_LIMIT:,} are taken")
    elif size > TOTAL_LIMIT_BYTES:
        yield Fault("", "total-size", f"holds {size:,} bytes; at most {TOTAL_LIMIT_BYTES:,} are taken")
    elif not any(file.path == MEMORY_FILE and file.kind == "blob" for file in files):
        yield Fault("", "no-memory", f"holds no {MEMORY_FILE}, so it is no memory folder")


def _judge_file(file: TreeFile) -> Fault | None:
    try:
        check_repo_path(file.path)
    except PathRefused as error:
        return Fault(file.path, str(error.facts.get("rule")), error.message.rpartition("refused: ")[2])
    if file.mode not in (REGULAR, EXECUTABLE) or file.kind != "blob":
        return Fault(file.path, "mode", _MODES.get(file.mode, f"has the unknown mode {file.mode}"))
    if why := _REFUSED_NAMES.get(_name_of(file.path)):
        return Fault(file.path, "name", why)
    limit = MARKDOWN_LIMIT_BYTES if is_markdown(file.path) else OTHER_LIMIT_BYTES
    if file.size_bytes > limit:
        return Fault(file.path, "file-size", f"has {file.size_bytes:,} bytes; at most {limit:,} are taken")
    return None


def _find_collisions(paths: Iterable[str]) -> Iterable[Fault]:
    """Paths, or folders above them, that another system would take for one: they differ in case alone."""
    known: dict[str, str] = {}
    files: set[str] = set()
    for path in paths:
        parts = path.split("/")
        if path in files:
            yield Fault(path, "collision", "stands there twice")
        files.add(path)
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            folded = unicodedata.normalize("NFKC", part).casefold()
            if known.setdefault(folded, part) != part:
                yield Fault(
                    path, "collision", f"differs from {known[folded]} only in capitals or in the form of its letters"
                )
                break
    for path in sorted(files):
        parts = path.split("/")
        if any("/".join(parts[:depth]) in files for depth in range(1, len(parts))):
            yield Fault(path, "collision", "stands below a file")


def _name_of(path: str) -> str:
    return path.rpartition("/")[2].casefold()
