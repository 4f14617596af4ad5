"""All files under change in one write.

A `Draft` reads files through the function it is given, collects what should change, and yields one `FileChange` per
file that differs, each with the digest it was read with. It owns the rules between files: where a known fact already
stands, how a ref is found again, and the links of the index, which never make a write fail.
Source: memory repo design (seed 1) §3, §5.1 steps 4 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import NotFound, StaleRef, TooLarge
from memrepo.format.document import find_entry
from memrepo.format.entries import content_hash, subject_key
from memrepo.format.refs import require_own
from memrepo.model import (
    INBOX_FILE,
    LESSONS_FILE,
    ME_FILE,
    MEMORY_FILE,
    SWARMS_FOLDER,
    WORKSPACE_INDEX_FILE,
    WORKSPACES_FOLDER,
    Author,
    ContentHash,
    Entry,
    Fact,
    FileChange,
    Reason,
    Ref,
    RepoPath,
    WriteAction,
    WriteResult,
    WriteStatus,
)
from memrepo.planning.file_draft import NEWLINE_SLACK_BYTES, FileDraft, ReadFile, limit_of, too_long

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TITLES = {
    MEMORY_FILE: "Memory",
    ME_FILE: "About me",
    LESSONS_FILE: "Lessons",
    INBOX_FILE: "Inbox",
    WORKSPACE_INDEX_FILE: "Workspaces",
}


@dataclass(frozen=True, slots=True)
class Planned:
    """What will become of one fact; `result()` is known after `Draft.changes()` has fixed the lines."""

    fact: Fact
    draft: FileDraft | None
    slot: int
    action: WriteAction | None
    settled: WriteResult | None = None

    @classmethod
    def edited(cls, fact: Fact, draft: FileDraft, slot: int) -> Planned:
        """A fact that took the place of an entry's text."""
        return cls(fact, draft, slot, WriteAction.EDITED)

    @property
    def is_placed(self) -> bool:
        """Whether the file will hold the fact."""
        return self.settled is None

    @classmethod
    def refused(cls, fact: Fact, refusal: TooLarge) -> Planned:
        """A fact that passes a limit, with the numbers and where to write instead."""
        result = WriteResult(
            WriteStatus.SKIPPED,
            reason=Reason.TOO_LARGE,
            detail=refusal.message,
            where_instead=str(refusal.facts.get("where_instead", "")),
            redactions=fact.redactions,
        )
        return cls(fact, None, 0, None, result)

    def result(self) -> WriteResult:
        if self.settled is not None or self.draft is None:
            return self.settled or _skipped(self.fact, Reason.UNAVAILABLE, "")
        line = self.draft.lines.get(self.slot, self.slot)
        return WriteResult(
            WriteStatus.WRITTEN,
            action=self.action,
            ref=Ref(self.draft.path, line),
            hash=content_hash(self.fact.text),
            detail=self.fact.detail,
            redactions=self.fact.redactions,
        )


class Draft:
    """All files under change in one write, in the order in which they were touched."""

    def __init__(self, read: Callable[[RepoPath], ReadFile]) -> None:
        self._read = read
        self._files: dict[RepoPath, FileDraft] = {}
        self._linked: set[RepoPath] = set()

    def file(self, path: RepoPath, *, title: str | None = None) -> FileDraft:
        """The draft of a file, read on first use; an absent file starts with its title."""
        if path not in self._files:
            name = title or TITLES.get(path) or path.rsplit("/", 1)[-1].removesuffix(".md")
            self._files[path] = FileDraft.load(path, self._read(path), title=name)
        return self._files[path]

    @property
    def new_file_count(self) -> int:
        """How many files this write would make."""
        return sum(1 for draft in self._files.values() if draft.is_new)

    def exists(self, path: RepoPath) -> bool:
        """Tells whether the file is there before this write."""
        return not self._files[path].is_new if path in self._files else self._read(path).data is not None

    def remember(self, fact: Fact, path: RepoPath, *, also_known_in: Iterable[RepoPath] = ()) -> Planned:
        """Plans one fact for a file: reinforced, replaced, outranked, inserted, or refused as too large."""
        if refusal := too_long(fact.text):
            return Planned.refused(fact, refusal)
        text_hash = content_hash(fact.text)
        for known in (path, *also_known_in):
            draft = self.file(known)
            slot = draft.holds(text_hash)
            if slot is not None:
                draft.reinforced.add(slot)
                return Planned(fact, draft, slot, WriteAction.REINFORCED)
        draft = self.file(path)
        rivals = list(draft.by_subject.get(subject_key(fact.subject), ())) if fact.subject else []
        if fact.by is Author.AGENT and any(draft.owners[slot] is Author.USER for slot in rivals):
            return Planned(
                fact, None, 0, None, _skipped(fact, Reason.OUTRANKED, "the user's own line has this subject")
            )
        try:
            if rivals:
                draft.replace(rivals[0], fact)
                for slot in rivals[1:]:
                    draft.remove(slot)
                return Planned(fact, draft, rivals[0], WriteAction.REPLACED)
            slot = draft.add(fact)
        except TooLarge as refusal:
            return Planned.refused(fact, refusal)
        if draft.is_new and path not in self._linked:
            self._linked.add(path)
            self.link(path)
        return Planned(fact, draft, slot, WriteAction.INSERTED)

    def get(self, ref: Ref, expect_hash: ContentHash | None) -> tuple[FileDraft, Entry]:
        """The entry that a ref means: its line if that still carries the hash, else the only entry that does.

        Errors: NotFound without a hash to go by, StaleRef when the text is gone or stands there twice, Refused for a
        team's entry.
        """
        draft = self.file(require_own(ref).path)
        entry = find_entry(draft.document, ref.line)
        if expect_hash is None:
            if entry is None or draft.is_new:
                raise NotFound(
                    f"{ref} names no entry", hint=f"see the entries: memrepo ls {ref.path}", what="entry", name=str(ref)
                )
            return draft, entry
        if entry is not None and content_hash(entry.text) == expect_hash:
            return draft, entry
        same = [other for other in draft.document.entries if content_hash(other.text) == expect_hash]
        if len(same) != 1:
            raise StaleRef(
                f"{ref} changed since it was read; nothing was written",
                hint="recall again and use the new ref",
                ref=str(ref),
                expected=expect_hash,
                actual=content_hash(entry.text) if entry else None,
            )
        return draft, same[0]

    def link(self, path: RepoPath) -> None:
        """Links a new file, never the inbox or a swarm; a full MEMORY.md gives its workspace links away."""
        target = path.removesuffix(".md")
        if path in {MEMORY_FILE, INBOX_FILE, WORKSPACE_INDEX_FILE} or path.startswith(f"{SWARMS_FOLDER}/"):
            return
        if any(sign in target for sign in "[]|"):
            return  # such a name cannot stand in a link; recall and `ls` find the file all the same
        memory = self.file(MEMORY_FILE)
        line = f"- [[{target}]]"
        is_workspace = path.startswith(f"{WORKSPACES_FOLDER}/")
        has_index = self._read(WORKSPACE_INDEX_FILE).data is not None
        try:
            if not (is_workspace and has_index):
                memory.grow(len(line.encode()) + NEWLINE_SLACK_BYTES)
                memory.links_added.append(target)
                return
        except TooLarge:
            if not is_workspace:
                return
        self._move_workspace_links(memory, target)

    def unlink(self, path: RepoPath) -> None:
        """Takes the links to a removed file out of the index files."""
        target = path.removesuffix(".md")
        self.file(MEMORY_FILE).links_removed.append(target)
        if self._read(WORKSPACE_INDEX_FILE).data is not None:
            self.file(WORKSPACE_INDEX_FILE).links_removed.append(target)

    def _move_workspace_links(self, memory: FileDraft, target: str) -> None:
        """Moves all workspace links to workspaces/index.md, which MEMORY.md links once; never makes the write fail."""
        index = self.file(WORKSPACE_INDEX_FILE)
        home = WORKSPACE_INDEX_FILE.removesuffix(".md")
        prefix = f"{WORKSPACES_FOLDER}/"
        waiting = [link for link in memory.links_added if link.startswith(prefix)]
        targets = dict.fromkeys(link.target.removesuffix(".md") for link in memory.document.links if link.alone)
        standing = [link for link in targets if link.startswith(prefix) and link != home]
        memory.links_added = [link for link in memory.links_added if not link.startswith(prefix)]
        memory.links_removed.extend(standing)
        memory.size_bytes -= sum(len(link.encode()) for link in (*standing, *waiting))
        if memory.size_bytes + len(home) + NEWLINE_SLACK_BYTES <= limit_of(MEMORY_FILE):
            memory.links_added.append(
                home
            )  # else the user's entries fill it; recall and `ls` find the file all the same
        for link in (*standing, *waiting, target):
            if link not in index.links_added:
                index.links_added.append(link)

    def changes(self) -> tuple[FileChange, ...]:
        """The files that differ, each to be written once. Call it once, after the last plan."""
        found = [draft.change() for draft in self._files.values()]
        return tuple(change for change in found if change is not None)


def _skipped(fact: Fact, reason: Reason, detail: str) -> WriteResult:
    return WriteResult(WriteStatus.SKIPPED, reason=reason, detail=detail, redactions=fact.redactions)
