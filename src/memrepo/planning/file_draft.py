"""One file under change: the rules that hold inside a file, and its new content at the end.

Same text is held once, one subject has one value, limits refuse and never cut.
Source: memory repo design (seed 1) §3, §5.1 step 5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from memrepo.errors import TooLarge
from memrepo.format.document import (
    Document,
    add_link,
    find_continuation,
    find_entry,
    insert_entries,
    new_document,
    remove_lines,
    remove_link,
    replace_lines,
)
from memrepo.format.entries import content_hash, render_entry, subject_key
from memrepo.model import (
    ENTRY_LIMIT_CHARS,
    FILE_LIMIT_BYTES,
    INBOX_FILE,
    MEMORY_FILE,
    MEMORY_FILE_LIMIT_BYTES,
    SWARMS_FOLDER,
    Author,
    ContentHash,
    Fact,
    FileChange,
    RepoPath,
)

# What the newlines around one inserted line can add at most: its own, a blank line and a missing last one, as CRLF.
NEWLINE_SLACK_BYTES = 6


class ReadFile(Protocol):
    """What a draft needs of a file: its bytes (None when absent) and the digest they were read with."""

    @property
    def data(self) -> bytes | None: ...
    @property
    def digest(self) -> str | None: ...


def limit_of(path: RepoPath) -> int:
    """The most bytes that a file may hold."""
    return MEMORY_FILE_LIMIT_BYTES if path == MEMORY_FILE else FILE_LIMIT_BYTES


def where_instead(path: RepoPath) -> str:
    """Where to write when a file is full, as advice for the person or the agent that was refused."""
    if path == MEMORY_FILE:
        return "me.md, lessons.md or the workspace's file (remember it without --pin)"
    if path == INBOX_FILE:
        return "nowhere yet: keep or discard what waits in the inbox first (memrepo inbox list)"
    if path.startswith(f"{SWARMS_FOLDER}/"):
        return "nowhere: the notes of this swarm are full; the user can end it (memrepo swarm end) and start another"
    return "a topic file of its own (memrepo move REF notes/TOPIC.md moves entries there)"


def too_long(text: str) -> TooLarge | None:
    """The refusal for an entry past 500 characters, or None."""
    if len(text) <= ENTRY_LIMIT_CHARS:
        return None
    return TooLarge(
        f"the entry has {len(text)} characters; an entry holds at most {ENTRY_LIMIT_CHARS}",
        hint="say it shorter, or as several facts; longer notes can be a Markdown file of yours in the memory folder",
        rule="entry-length",
        limit=ENTRY_LIMIT_CHARS,
        actual=len(text),
        unit="characters",
        where_instead="several shorter entries, or a note file linked from one entry",
    )


@dataclass(slots=True)
class FileDraft:
    """One file under change. A slot is an existing line's number, or -1, -2, … for added lines until the end."""

    path: RepoPath
    before: str | None
    document: Document
    size_bytes: int
    by_hash: dict[ContentHash, int] = field(default_factory=dict)
    by_subject: dict[str, list[int]] = field(default_factory=dict)
    replaced: dict[int, str] = field(default_factory=dict)
    removed: set[int] = field(default_factory=set)
    reinforced: set[int] = field(default_factory=set)
    added: list[str | None] = field(default_factory=list)
    owners: dict[int, Author] = field(default_factory=dict)
    links_added: list[str] = field(default_factory=list)
    links_removed: list[str] = field(default_factory=list)
    is_deleted: bool = False
    is_emptied: bool = False
    title: str = ""
    lines: dict[int, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: RepoPath, read: ReadFile, *, title: str) -> FileDraft:
        document = new_document(title) if read.data is None else Document.parse(read.data)
        draft = cls(path, read.digest, document, len(document.to_bytes()), title=title)
        for entry in document.entries:
            draft.by_hash.setdefault(content_hash(entry.text), entry.line)
            draft._own(entry.line, entry.value("subject"), entry.by)
        return draft

    @property
    def is_new(self) -> bool:
        return self.before is None

    def holds(self, text_hash: ContentHash) -> int | None:
        """The line (or added slot) that carries that text, or None."""
        return self.by_hash.get(text_hash)

    def add(self, fact: Fact) -> int:
        """Adds a line and returns its slot. Raises TooLarge with the numbers and where to write instead."""
        rendered = render_entry(fact.text, fact.meta)
        self.grow(len(rendered.encode()) + NEWLINE_SLACK_BYTES)
        self.added.append(rendered)
        slot = -len(self.added)
        self.by_hash[content_hash(fact.text)] = slot
        self._own(slot, fact.subject, fact.by)
        return slot

    def replace(self, slot: int, fact: Fact) -> None:
        """Puts a fact in the place of a line; its old text is no longer held."""
        old = self._rendered(slot)
        entry = find_entry(self.document, slot) if slot > 0 else None
        style = {"bullet": entry.bullet, "indent": entry.indent} if entry else {}
        rendered = render_entry(fact.text, fact.meta, **style)
        self.grow(len(rendered.encode()) - len(old.encode("utf-8", "surrogateescape")))
        self._forget_slot(slot)
        if slot > 0:
            self.replaced[slot] = rendered
        else:
            self.added[-slot - 1] = rendered
        self.by_hash[content_hash(fact.text)] = slot
        self._own(slot, fact.subject, fact.by)

    def remove(self, slot: int) -> None:
        """Takes a line out."""
        self.size_bytes -= len(self._rendered(slot).encode("utf-8", "surrogateescape"))
        self._forget_slot(slot)
        if slot > 0:
            self.removed.add(slot)
            self.replaced.pop(slot, None)
        else:
            self.added[-slot - 1] = None

    def forget(self, slot: int) -> None:
        """Takes a standing line out, with the indented text that a hand wrote under it."""
        self.remove(slot)
        self.removed.update(find_continuation(self.document, slot))

    def change(self) -> FileChange | None:
        """The planned write, or None when the file stays as it is. Fills `lines`: slot to final line number."""
        if self.is_deleted:
            return FileChange(self.path, self.before, None) if self.before is not None else None
        if self.is_emptied:
            data = new_document(self.title).to_bytes()
            return None if self.before is None else FileChange(self.path, self.before, data)
        document = replace_lines(self.document, self.replaced)
        document = remove_lines(document, self.removed)
        for link in self.links_removed:
            document = remove_link(document, link)
        kept = [(slot, line) for slot, line in enumerate(self.added, start=1) if line is not None]
        document, numbers = insert_entries(document, [line for _, line in kept])
        for link in self.links_added:
            document = add_link(document, link)
        data = document.to_bytes()
        self.lines = self._final_lines(
            document, {-slot: number for (slot, _), number in zip(kept, numbers, strict=True)}
        )
        if self.before is not None and data == self.document.to_bytes():
            return None
        return FileChange(self.path, self.before, data)

    def _final_lines(self, document: Document, added: dict[int, int]) -> dict[int, int]:
        """Where each line of this write stands at the end; standing ones that may have moved are looked up by text."""
        final = {**dict.fromkeys(self.replaced), **dict.fromkeys(self.reinforced), **added}
        has_moved = bool(self.removed or self.links_added or self.links_removed)
        if not has_moved and (not added or len(final) == len(added)):
            return {slot: slot if line is None else line for slot, line in final.items()}
        places: dict[ContentHash, int] = {}
        for entry in document.entries:
            places.setdefault(content_hash(entry.text), entry.line)
        return {slot: places[held] for held, slot in self.by_hash.items() if slot in final and held in places}

    def _rendered(self, slot: int) -> str:
        if slot < 0:
            return self.added[-slot - 1] or ""
        if slot in self.replaced:
            return self.replaced[slot]
        entry = find_entry(self.document, slot)
        return render_entry(entry.text, entry.meta, bullet=entry.bullet, indent=entry.indent) if entry else ""

    def _own(self, slot: int, subject: str | None, by: Author) -> None:
        self.owners[slot] = by
        if subject:
            self.by_subject.setdefault(subject_key(subject), []).append(slot)

    def _forget_slot(self, slot: int) -> None:
        self.by_hash = {text_hash: held for text_hash, held in self.by_hash.items() if held != slot}
        for slots in self.by_subject.values():
            if slot in slots:
                slots.remove(slot)
        self.owners.pop(slot, None)

    def grow(self, by_bytes: int) -> None:
        """Counts bytes that will be added. Raises TooLarge past the file's limit."""
        limit = limit_of(self.path)
        if by_bytes > 0 and self.size_bytes + by_bytes > limit:
            raise TooLarge(
                f"{self.path} would have {self.size_bytes + by_bytes} bytes; it holds at most {limit}",
                hint="see what it holds with: memrepo ls " + self.path,
                rule="file-size",
                target=str(self.path),
                limit=limit,
                actual=self.size_bytes + by_bytes,
                unit="bytes",
                where_instead=where_instead(self.path),
            )
        self.size_bytes += by_bytes
