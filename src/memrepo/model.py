"""The values that every floor shares: frozen, without behaviour that needs a file, a clock or git.

Words are those of `docs/glossary.md`. A string that passed a check has a type of its own (`RepoPath`, `ContentHash`).
Imports nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NewType, Self, TypedDict

if TYPE_CHECKING:
    import datetime as dt
    from pathlib import Path

RepoPath = NewType("RepoPath", str)
"""A path inside the memory root, checked: relative, `/` between parts, no `..`, no `.git`, no reserved name."""

ContentHash = NewType("ContentHash", str)
"""64 hex digits: SHA-256 of an entry's normalized text (docs/format.md)."""

CommitId = NewType("CommitId", str)
"""40 hex digits."""

MEMORY_FILE = RepoPath("MEMORY.md")
ME_FILE = RepoPath("me.md")
LESSONS_FILE = RepoPath("lessons.md")
INBOX_FILE = RepoPath("inbox.md")
WORKSPACES_FOLDER = "workspaces"
WORKSPACE_INDEX_FILE = RepoPath("workspaces/index.md")
SWARMS_FOLDER = "swarms"
"""What a swarm's members note for each other (docs/swarms.md): in no index, block or dream, and linked from nowhere."""

# Limits of seed 1 section 3.
MEMORY_FILE_LIMIT_BYTES = 4 * 1024
FILE_LIMIT_BYTES = 64 * 1024
ENTRY_LIMIT_CHARS = 500
MARKDOWN_FILES_LIMIT = 2_000


class Kind(StrEnum):
    """What sort of fact an entry is. `error` and `note` exist in the archive only."""

    PREFERENCE = "preference"
    IDENTITY = "identity"
    RULE = "rule"
    PROJECT_FACT = "project_fact"
    DECISION = "decision"
    COMMITMENT = "commitment"
    CORRECTION = "correction"
    INSIGHT = "insight"
    OUTCOME = "outcome"
    ERROR = "error"
    NOTE = "note"


class Scope(StrEnum):
    """Where a fact holds."""

    GLOBAL = "global"
    WORKSPACE = "workspace"
    CONTACT = "contact"
    TASK = "task"


ARCHIVE_KINDS = frozenset({Kind.OUTCOME, Kind.ERROR, Kind.NOTE})
"""Kinds that tell what happened in a task; they go to the archive, never to the repo."""


class Author(StrEnum):
    """The `by` key. A line without it is the user's."""

    USER = "user"
    AGENT = "agent"


class Origin(StrEnum):
    """The `Origin:` trailer of a commit."""

    AGENT_TOOL = "agent_tool"
    MEMORY_HUB = "memory_hub"
    EXPORT = "export"
    HAND_EDIT = "hand_edit"
    DREAM = "dream"
    IMPORT = "import"
    CLI = "cli"
    SWARM = "swarm"


class Actor(StrEnum):
    """Who performs the call: the user's own hand (command line, Hub) or an agent."""

    USER = "user"
    AGENT = "agent"


class Taint(StrEnum):
    """Whether the task has read untrusted content. `unknown` counts as tainted."""

    CLEAN = "clean"
    TAINTED = "tainted"
    UNKNOWN = "unknown"


class Privacy(StrEnum):
    """A workspace's memory privacy."""

    NORMAL = "normal"
    STRICT = "strict"
    DISABLED = "disabled"


class Gateway(StrEnum):
    """Where the task's messages come from; only `private` ones see personal memory."""

    PRIVATE = "private"
    GROUP = "group"
    PUBLIC = "public"


class Role(StrEnum):
    """What the task is to the user: the main agent, a sub-agent or a verifier."""

    MAIN = "main"
    SUB_AGENT = "sub_agent"
    VERIFIER = "verifier"


@dataclass(frozen=True, slots=True)
class Ref:
    """Names an entry: `repo:<path>#L<n>`, or `team:<name>:<path>#L<n>`. Lines count from 1."""

    path: RepoPath
    line: int
    team: str | None = None

    def __str__(self) -> str:
        lane = "repo" if self.team is None else f"team:{self.team}"
        return f"{lane}:{self.path}#L{self.line}"


class Shelf(StrEnum):
    """A table of the private store that a person may look at."""

    MEMORY = "memory"
    ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class StoredRef:
    """Names a row of the private store: `memory:<number>` or `archive:<number>`."""

    shelf: Shelf
    id: int

    def __str__(self) -> str:
        return f"{self.shelf}:{self.id}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One bullet on one line, as a file holds it.

    `text` is without bullet and metadata; `meta` keeps every pair in file order, unknown keys included; `line` counts
    from 1; `indent` is the white space before the bullet; `section` is the nearest heading above ("" before the first).
    """

    text: str
    meta: tuple[tuple[str, str], ...] = ()
    line: int = 0
    bullet: str = "-"
    indent: str = ""
    section: str = ""

    def value(self, key: str) -> str | None:
        """The value of a metadata key, or None. The last one wins when a hand wrote a key twice."""
        return next((value for name, value in reversed(self.meta) if name == key), None)

    @property
    def by(self) -> Author:
        """Who said it. Anything but `agent` counts as the user's (docs/format.md)."""
        return Author.AGENT if self.value("by") == Author.AGENT else Author.USER


@dataclass(frozen=True, slots=True)
class Workspace:
    """One project folder and its memory settings. `root` is absolute, or None when only the id is known."""

    id: str
    name: str
    root: Path | None = None
    memory_enabled: bool = True
    privacy: Privacy = Privacy.NORMAL


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The task that a call is made for. `TaskContext()` is an agent of which nothing is known: tainted, no quotes.

    `user_messages` are the recorded words of the user in this task (quotes are looked up there); `sender_is_owner` is
    False for a message from a third party on a channel; `sender_ref` names that contact.
    """

    task_id: str | None = None
    actor: Actor = Actor.AGENT
    origin: Origin = Origin.AGENT_TOOL
    workspace: Workspace | None = None
    gateway: Gateway = Gateway.PRIVATE
    role: Role = Role.MAIN
    taint: Taint = Taint.UNKNOWN
    user_messages: tuple[str, ...] = ()
    no_memory: bool = False
    retains_memory: bool = True
    sender_is_owner: bool = True
    sender_ref: str | None = None
    user_confirmed: bool = False

    @classmethod
    def for_user(cls, *, workspace: Workspace | None = None, origin: Origin = Origin.CLI) -> Self:
        """The task of the user's own hand: what is written is their word. Never for what an agent decided to write."""
        return cls(actor=Actor.USER, origin=origin, taint=Taint.CLEAN, workspace=workspace)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact offered for writing, before any check.

    `claims_user` says that the caller holds it to be the user's own statement; `quote` is the proof. `explicit` marks
    an act that the user asked for, `False` an inferred write. `added` defaults to the day of writing. `due` is the day
    of a commitment, `expires` the last day on which a private fact counts.
    """

    text: str
    kind: Kind = Kind.PREFERENCE
    scope: Scope = Scope.GLOBAL
    subject: str | None = None
    pin: bool = False
    source: str | None = None
    added: dt.date | None = None
    claims_user: bool = False
    quote: str | None = None
    explicit: bool = False
    private: bool = False
    workspace: Workspace | None = None
    due: dt.date | None = None
    expires: dt.date | None = None


class CandidateFields(TypedDict, total=False):
    """The fields of a Candidate but its text, as keyword arguments."""

    kind: Kind
    scope: Scope
    subject: str | None
    pin: bool
    source: str | None
    added: dt.date | None
    claims_user: bool
    quote: str | None
    explicit: bool
    private: bool
    workspace: Workspace | None
    due: dt.date | None
    expires: dt.date | None


@dataclass(frozen=True, slots=True)
class Fact:
    """An accepted entry on its way to a file: clean text, its metadata pairs and what was redacted from it."""

    text: str
    meta: tuple[tuple[str, str], ...]
    redactions: tuple[str, ...] = ()
    detail: str = ""

    @property
    def by(self) -> Author:
        """Whose word it is."""
        return Entry(self.text, self.meta).by

    @property
    def subject(self) -> str | None:
        """What the fact is the value of, or None."""
        return Entry(self.text, self.meta).value("subject")


class WriteStatus(StrEnum):
    """What became of a write."""

    WRITTEN = "written"
    SKIPPED = "skipped"
    KEPT = "kept"


class WriteAction(StrEnum):
    """How a written fact changed its file."""

    INSERTED = "inserted"
    REPLACED = "replaced"
    REINFORCED = "reinforced"
    REMOVED = "removed"
    EDITED = "edited"
    MOVED = "moved"


class Reason(StrEnum):
    """Why a write was skipped, or kept in the private store."""

    EMPTY = "empty"
    LOW_SALIENCE = "low_salience"
    SECRET_ONLY = "secret_only"  # noqa: S105 - a reason's name, not a secret
    NO_MEMORY = "no_memory"
    MEMORY_DISABLED = "memory_disabled"
    PRIVATE = "private"
    OUTRANKED = "outranked"
    FORGOTTEN = "forgotten"
    TOO_LARGE = "too_large"
    UNAVAILABLE = "unavailable"
    BUSY = "busy"
    DIRTY = "dirty"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did. `status` says which of the other fields speak.

    written: `action`, `ref`, `hash` and `path`; skipped: `reason` and `detail`; kept: `reason`, `detail`, `kept_id`
    (its number in the private store) and, unless it only waits there, `kept_ref` to call it by. `redactions` are the
    kinds of secret that were replaced, never the secrets.
    """

    status: WriteStatus
    action: WriteAction | None = None
    ref: Ref | None = None
    hash: ContentHash | None = None
    reason: Reason | None = None
    detail: str = ""
    kept_id: int | None = None
    redactions: tuple[str, ...] = ()
    where_instead: str = ""
    commit: CommitId | None = None
    kept_ref: StoredRef | None = None

    @property
    def path(self) -> RepoPath | None:
        """The file that holds the entry."""
        return self.ref.path if self.ref else None


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """What of memory stands in a prompt. `text` is "" when there is nothing to say; `tokens` is an estimate.

    `refs` and `hashes` name the entries shown, in their order. `version` differs when text or refs do. `reason` says
    why memory is off for the task, "" when it is on; `warnings` are files that were left out, each `(file, why)`.
    """

    text: str = ""
    refs: tuple[Ref, ...] = ()
    hashes: tuple[ContentHash, ...] = ()
    tokens: int = 0
    version: str = ""
    reason: str = ""
    warnings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Locations:
    """The three folders outside the repo."""

    config: Path
    data: Path
    cache: Path


@dataclass(frozen=True, slots=True)
class FileChange:
    """One planned write: the file must still have digest `before` (None: must be absent); `data` None removes it."""

    path: RepoPath
    before: str | None
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Trailers:
    """The trailers of one commit. `dream` names the dream that it applies."""

    origin: Origin
    task: str | None = None
    dream: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """What a commit says: one subject line and its trailers."""

    subject: str
    trailers: Trailers


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries an act on many means; every field that is given must hold. An empty filter matches nothing.

    `contains` is looked for without regard to case; `added_before` is exclusive; `task` is the id in its source,
    `source` the whole of it.
    """

    contains: str | None = None
    by: Author | None = None
    kind: Kind | None = None
    subject: str | None = None
    task: str | None = None
    path: RepoPath | None = None
    added_before: dt.date | None = None
    source: str | None = None
