"""Three versions of a whole folder become one, and local commits are made anew on top of the remote's. Pure.

Files are merged by `format.merge`; here stands what holds between files: a fact that one side forgot and the other
moved is forgotten, one that both moved stands in one place, a file that one side deleted and the other changed is for
a person to decide. The merge of the three versions decides what the folder holds in the end; the commits that are made
anew lead there.
Source: memory sync design (seed 2) §1, §5.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from memrepo.errors import MergeConflict
from memrepo.format.document import WORKSPACE_ENTRY, Document, remove_lines
from memrepo.format.entries import content_hash
from memrepo.format.merge import merge_files, read_version
from memrepo.git.trees import EXECUTABLE, REGULAR, Draft
from memrepo.model import INBOX_FILE, MEMORY_FILE, ContentHash
from memrepo.sync.arrivals import is_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memrepo.git.trees import FileEdit, RawCommit

Blob = tuple[str, str]
"""Mode and id."""
Tree = Mapping[str, Blob]

Places = Mapping[ContentHash, Collection[str]]
"""In which files each entry stands."""

LISTS = frozenset({".gitignore", ".gitattributes"})
"""Files of git that are lists of lines, as memory is."""

_NAMING = content_hash(WORKSPACE_ENTRY)
_KNOWN_VERSIONS = 256
_NOTHING: Mapping[ContentHash, str] = {}
SUBJECT_CHARS = 60
"""So much of an entry stands in a commit's subject."""
_TRAILER = re.compile(rb"(?:Task|Origin|Dream): ")


class Take(StrEnum):
    """Whose word counts where the two sides cannot both stand."""

    HERE = "here"
    THERE = "there"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Clash:
    """A path for which a person must decide, and why."""

    path: str
    why: str


@dataclass(slots=True)
class Contents:
    """Bytes by blob id: those of the object database, and those that a merge made."""

    known: dict[str, bytes]
    made: dict[str, bytes] = field(default_factory=dict)

    def get(self, blob: Blob | None) -> bytes:
        if blob is None:
            return b""
        made = self.made.get(blob[1])
        return self.known[blob[1]] if made is None else made

    def add(self, mode: str, data: bytes) -> Blob:
        """Names new bytes as git would."""
        name = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        if name not in self.known:
            self.made[name] = data
        return mode, name


class Merger:
    """Merges trees whose contents are known; remembers what it read, for as long as it lives and no longer."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self._read = lru_cache(maxsize=_KNOWN_VERSIONS)(read_version)

    def merge_trees(
        self,
        base: Tree,
        ours: Tree,
        theirs: Tree,
        *,
        banned: frozenset[ContentHash] = frozenset(),
        take: Take | None = None,
    ) -> tuple[dict[str, Blob], tuple[Clash, ...]]:
        """The merged tree, and what stands in its way; with `take` nothing does.

        `banned` entries are in no file that the three do not have alike.
        """
        merged: dict[str, Blob] = {}
        clashes: list[Clash] = []
        changed = list_changed(base, ours, theirs)
        differs = set(changed)
        bans = find_bans(*(self._read_entries(tree, changed) for tree in (base, ours, theirs)))
        for path in sorted({*base, *ours, *theirs}):
            here, there = ours.get(path), theirs.get(path)
            try:
                out = bans.get(path, frozenset()) | banned if path in differs and is_markdown(path) else frozenset()
                blob = self._merge_path(path, base.get(path), here, there, out)
            except MergeConflict as error:
                if take is None:
                    clashes.append(Clash(path, error.message))
                blob = here if take is Take.HERE else there if take is Take.THERE else here or there
            if blob is not None:
                merged[path] = blob
        return merged, tuple(clashes)

    def replay(
        self,
        commits: Iterable[tuple[RawCommit, Sequence[FileEdit]]],
        onto: Tree,
        goal: Tree,
        last: RawCommit,
        *,
        gone: Mapping[ContentHash, str] = _NOTHING,
    ) -> list[Draft]:
        """Makes each commit anew on what the ones before it left, and ends at `goal`; what is empty then is left out.

        A change that does not fit is left to the last commit that is made, which brings the tree to the goal; where
        none is, that is `last`. The entries `gone` (hash and text) are in no file and no message of these commits.
        """
        tree = dict(onto)
        made: list[tuple[RawCommit, dict[str, Blob | None]]] = []
        for commit, edits in commits:
            files: dict[str, Blob | None] = {}
            for edit in edits:
                after = self._without(edit.path, self._replay_path(edit, tree.get(edit.path)), gone)
                if after != tree.get(edit.path):
                    files[edit.path] = after
                    _set(tree, edit.path, after)
            if files:
                made.append((commit, files))
        rest = {path: goal.get(path) for path in {**tree, **goal} if tree.get(path) != goal.get(path)}
        if rest:
            commit, files = made.pop() if made else (last, {})
            made.append((commit, {**files, **rest}))
        return [Draft(commit.people, _hide(commit.message, gone), tuple(self._fill(files))) for commit, files in made]

    def count_entries(self, tree: Tree, paths: Iterable[str]) -> int:
        """How many entries these files of a tree hold."""
        return sum(
            1
            for path in paths
            if (blob := tree.get(path)) is not None and is_markdown(path)
            for key in self._read(self.contents.get(blob)).members
            if key.kind == "entry"
        )

    def list_lost(self, before: Tree, after: Tree) -> frozenset[ContentHash]:
        """The entries that files which differ hold before and no such file holds after."""
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        return frozenset(self._read_entries(before, changed)) - frozenset(self._read_entries(after, changed))

    def read_lost(self, before: Tree, after: Tree) -> dict[ContentHash, str]:
        """The same, with their texts."""
        lost = self.list_lost(before, after)
        pieces = (
            (key, piece.entry)
            for path, blob in before.items()
            if blob != after.get(path) and is_markdown(path)
            for key, piece in self._read(self.contents.get(blob)).members.items()
        )
        return {ContentHash(key.name): entry.text for key, entry in pieces if entry is not None and key.name in lost}

    def _fill(self, files: Mapping[str, Blob | None]) -> Iterable[tuple[str, tuple[str, str | bytes] | None]]:
        for path, blob in sorted(files.items()):
            made = None if blob is None else self.contents.made.get(blob[1])
            yield path, blob if blob is None or made is None else (blob[0], made)

    def _merge_path(
        self, path: str, before: Blob | None, here: Blob | None, there: Blob | None, banned: frozenset[ContentHash]
    ) -> Blob | None:
        if not banned:
            if here == there or there == before:
                return here
            if here == before:
                return there
        if here is None or there is None:
            return self._merge_one_sided(path, before, here, there, banned)
        mode = there[0] if before is not None and here[0] == before[0] else here[0]
        if here[1] == there[1] and not banned:
            return mode, here[1]
        if not is_markdown(path) and path.rpartition("/")[2] not in LISTS:
            raise MergeConflict(f"{path} was changed on both sides", paths=(path,))
        sides = (self.contents.get(blob) for blob in (before, here, there))
        return self.contents.add(mode, merge_files(*sides, path=path, banned=banned, read=self._read))

    def _merge_one_sided(
        self, path: str, before: Blob | None, here: Blob | None, there: Blob | None, banned: frozenset[ContentHash]
    ) -> Blob | None:
        """One side has no such file. Deleted, it stays gone unless the other put something new into it."""
        left = here or there
        if left is None or left == before:
            return None
        data = self.contents.get(left) if is_markdown(path) else b""
        if before is None:  # new on one side
            return self.contents.add(left[0], merge_files(b"", data, data, path=path, banned=banned, read=self._read))
        if is_markdown(path) and self._has_only_lost(self.contents.get(before), data):
            return None
        side, other = ("here", "there") if here is None else ("there", "here")
        raise MergeConflict(f"{path} was deleted {side} and changed {other}", paths=(path,))

    def _has_only_lost(self, before: bytes, after: bytes) -> bool:
        """Whether every line of the newer version stands in the older one."""
        old = {piece.lines for piece in self._read(before).pieces}
        return all(piece.lines in old for piece in self._read(after).pieces)

    def _replay_path(self, edit: FileEdit, tree: Blob | None) -> Blob | None:
        if edit.after is not None and edit.after[0] not in (REGULAR, EXECUTABLE):
            return tree
        if tree == edit.before:
            return edit.after
        if edit.after is None or tree is None:
            return tree
        try:
            return self._merge_path(edit.path, edit.before, edit.after, tree, frozenset())
        except MergeConflict:
            return tree

    def _without(self, path: str, blob: Blob | None, gone: Mapping[ContentHash, str]) -> Blob | None:
        """The file without these entries."""
        if not gone or blob is None or not is_markdown(path):
            return blob
        data = self.contents.get(blob)
        if not any(name in gone for _, name in self._read(data).counts):
            return blob
        try:
            return self.contents.add(blob[0], merge_files(b"", data, data, path=path, banned=gone, read=self._read))
        except MergeConflict:
            return None

    def _read_entries(self, tree: Tree, paths: Iterable[str]) -> dict[ContentHash, set[str]]:
        """In which of these files each entry stands; those that name a workspace are no facts and left out."""
        found: dict[ContentHash, set[str]] = {}
        for path in paths:
            blob = tree.get(path)
            if blob is None or not is_markdown(path):
                continue
            for key in self._read(self.contents.get(blob)).members:
                if key.kind == "entry" and key.name != _NAMING:
                    found.setdefault(ContentHash(key.name), set()).add(path)
        return found


def list_changed(base: Tree, ours: Tree, theirs: Tree) -> list[str]:
    """The paths of which the three versions are not all the same."""
    return sorted(
        path for path in {**base, **ours, **theirs} if not base.get(path) == ours.get(path) == theirs.get(path)
    )


def needs_reading(path: str) -> bool:
    """Whether a merge may ask what a file holds; of all others only their names are compared."""
    return is_markdown(path) or path.rpartition("/")[2] in LISTS


def strip_base(data: bytes, added: Collection[ContentHash]) -> bytes:
    """A file as the other side may know it: without entries that are new since, and without links.

    For a base of which no commit is left; links of both sides then stay.
    """
    document = Document.parse(data)
    gone = {entry.line for entry in document.entries if content_hash(entry.text) in added}
    gone |= {link.line for link in document.links if link.alone}
    return remove_lines(document, gone).to_bytes()


def _hide(message: bytes, gone: Mapping[ContentHash, str]) -> bytes:
    """A commit's message without the beginning of an entry that is gone, as subjects carry it."""
    if not any(text[:SUBJECT_CHARS].rstrip().encode("utf-8", "replace") in message for text in gone.values()):
        return message
    _, _, trailers = message.rstrip(b"\n").rpartition(b"\n\n")
    is_kept = all(_TRAILER.match(line) for line in trailers.split(b"\n")) and b"\n\n" in message
    return b"Change memory\n" + (b"\n" + trailers + b"\n" if is_kept else b"")


def _set(tree: dict[str, Blob], path: str, blob: Blob | None) -> None:
    if blob is None:
        tree.pop(path, None)
    else:
        tree[path] = blob


def find_bans(base: Places, ours: Places, theirs: Places) -> dict[str, frozenset[ContentHash]]:
    """Which entries must not be in which file, because of what happened to them in other files.

    An entry is moved when a side has it in a new file and no longer in an old one. Moved here and forgotten there: it
    is forgotten. Moved here and there to different files: it stands in the one that `_rank` puts first.
    """
    bans: dict[str, set[ContentHash]] = {}
    for name, before in base.items():
        here, there = set(ours.get(name, ())), set(theirs.get(name, ()))
        old = set(before)
        new_here, new_there = here - old, there - old
        is_moved_here, is_moved_there = bool(new_here and old - here), bool(new_there and old - there)
        out: set[str] = set()
        if is_moved_here and not there:
            out = new_here
        elif is_moved_there and not here:
            out = new_there
        elif is_moved_here and is_moved_there and new_here != new_there:
            out = (new_here | new_there) - {min(new_here | new_there, key=_rank)}
        for path in out:
            bans.setdefault(path, set()).add(name)
    return {path: frozenset(names) for path, names in bans.items()}


def _rank(path: str) -> tuple[bool, bool, str]:
    """Of two places the one that the user reads most, and the inbox last."""
    return path != MEMORY_FILE, path == INBOX_FILE, path
