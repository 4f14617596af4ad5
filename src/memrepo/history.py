"""What the repo remembers of itself: log, diff, undo, and the one way to make it forget.

Undo takes one commit back line by line, as a new commit. Compaction replaces the history with one commit of the current
files and then proves it: every object left is one that a current file needs, and no forgotten text stands in the object
database, in the rest of `.git` or in the private store. Source: memory repo design (seed 1) §7.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import GitMissing, InvalidInput, Refused, TooLarge
from memrepo.files.atomic import remove_stale_temporaries
from memrepo.files.paths import check_repo_path, list_markdown
from memrepo.format.document import Document, add_link
from memrepo.format.entries import content_hash, parse_bullet
from memrepo.git.compaction import (
    CompactReport,
    compact,
    find_unreachable,
    iter_removed_lines,
    search_git_folder,
    search_objects,
)
from memrepo.git.network import OWN_REFS, TRACKING, find_ref
from memrepo.git.trees import compare, is_ancestor, list_commits, read_objects
from memrepo.journal import list_damaged_journals
from memrepo.model import (
    MEMORY_FILE,
    WORKSPACE_INDEX_FILE,
    CommitId,
    FileChange,
    Message,
    RepoPath,
    TaskContext,
    Trailers,
)
from memrepo.planning.curation import require_user
from memrepo.planning.file_draft import limit_of
from memrepo.planning.undo import undo_change
from memrepo.sync_state import Replaced, note_replaced, read_state

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Sequence

    from memrepo.files.atomic import FileSnapshot
    from memrepo.git.client import GitClient
    from memrepo.git.commits import Commit, PathChange
    from memrepo.keeping import StoreSource
    from memrepo.writer import Applied, Writer, WriteSession

# More forgotten texts than these are covered by the proof that no old object is left, not searched for one by one.
NEEDLES_LIMIT = 5_000
# A shorter text ("main", "Git") stands in git's own files too; that no old object is left covers it.
NEEDLE_MINIMUM_CHARS = 8


@dataclass(frozen=True, slots=True)
class Finding:
    """A forgotten text that is still somewhere: which one, by its number in the search, and where."""

    number: int
    where: str


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What a compaction did and what was proven after it.

    `texts` are how many forgotten texts were searched for; `findings` are the places that still hold one, `in_files`
    those that are current files of the user (an entry that contains the old words); `unreachable` are objects that no
    ref needs. The proof holds when `findings` and `unreachable` are empty and nothing in `kept` holds old history.
    """

    commit: CommitId
    commits_before: int
    texts: int
    checked: tuple[str, ...]
    findings: tuple[Finding, ...]
    in_files: tuple[Finding, ...]
    unreachable: tuple[str, ...]
    kept: tuple[str, ...]

    @property
    def is_proven(self) -> bool:
        """Whether nothing but current files holds a forgotten text."""
        return not (self.findings or self.unreachable or self.kept)


class History:
    """Reads and rewinds the history of one memory root. Needs git."""

    def __init__(self, writer: Writer, *, store: StoreSource) -> None:
        self._writer = writer
        self._store = store

    def log(
        self, *, limit: int = 20, path: RepoPath | None = None, since: dt.datetime | None = None
    ) -> tuple[Commit, ...]:
        """The newest commits, newest first. Changes: nothing."""
        return self._git().log(limit=limit, path=path, since=since)

    def get(self, revision: str) -> tuple[Commit, tuple[PathChange, ...]]:
        """One commit and the paths that it changed. Errors: NotFound."""
        git = self._git()
        commit = git.get_commit(revision)
        return commit, git.show(commit.id)

    def diff(self, revision: str | None = None, *, path: RepoPath | None = None) -> bytes:
        """What a commit changed, as a unified diff; without one, what is not committed yet. Errors: NotFound."""
        git = self._git()
        if revision is None:
            return git.diff(git.head(), path=path)
        commit = git.get_commit(revision)
        return git.diff(commit.parents[0] if commit.parents else None, commit.id, path=path)

    def undo(self, revision: str, task: TaskContext) -> tuple[Commit, Applied]:
        """Takes one commit back, whatever was written since, as a new commit; returns what was undone.

        Errors: NotFound; Refused for the first commit and for an agent; MergeConflict when a line that it wrote was
        changed again; InvalidInput when nothing of it is left to undo; TooLarge; those of `Writer.hold`.
        """
        require_user(task, "undo")
        git = self._git()
        with self._writer.hold() as session:
            commit = git.get_commit(revision)
            if not commit.parents:
                raise Refused(
                    f"{commit.id[:12]} made the repo; there is nothing before it",
                    hint="memrepo clear global, or remove the folder",
                    rule="first-commit",
                    action="undo",
                )
            changes = self._plan_undo(git, session, commit)
            if not changes:
                raise InvalidInput(
                    f"nothing of {commit.id[:12]} is left to undo", hint="memrepo log", key="commit", value=revision
                )
            message = Message(f"Undo: {commit.subject}"[:72], Trailers(task.origin, task.task_id))
            return commit, session.apply(changes, message)

    def compact(self, task: TaskContext, *, texts: Iterable[str] = ()) -> CompactResult:
        """Replaces the history with one commit of the current files and proves that the rest is gone.

        `texts` are searched for besides the entries that the old history held. Changes: every old commit and object,
        dream branches, stashes, reflogs, left-over files of `.git`; no file of the work tree. Errors: Refused for an
        agent; those of `Writer.hold`.
        """
        require_user(task, "compact history")
        git = self._git()
        with self._writer.hold():
            remove_stale_temporaries(self._writer.root)  # they hold whole files
            needles = self._collect_forgotten(git, texts)
            before = git.count_commits()
            self._note_what_the_remote_has_not_heard(git)
            trailers = Trailers(task.origin, task.task_id)
            report = compact(git, git.memory_branch, "Compact history", trailers, doomed_refs=OWN_REFS)
            return self._prove(git, report, before, needles)

    def _note_what_the_remote_has_not_heard(self, git: GitClient) -> None:
        """Remembers which entries came and went since the remote last heard of this folder: no commit will tell.

        Without it a fact that was forgotten just before a compaction could come back by sync.
        """
        state, here = read_state(self._writer.git_folder), git.head()
        held = state.replaced.held if state.replaced is not None else state.held or find_ref(git, TRACKING)
        if here is None or held is None:
            return
        is_known = is_ancestor(git, held, here)
        since = state.replaced.since if state.replaced is not None else None
        start = held if is_known else since or list_commits(git, here, None)[0]
        edits = [edit for edit in compare(git, start, here) if edit.path.lower().endswith(".md")]
        sides = [[edit.before for edit in edits], [edit.after for edit in edits]]
        contents = read_objects(git, [blob[1] for side in sides for blob in side if blob is not None])
        before, after = (
            {
                content_hash(entry.text)
                for blob in side
                if blob is not None
                for entry in Document.parse(contents[blob[1]]).entries
            }
            for side in sides
        )
        note_replaced(
            self._writer.git_folder,
            Replaced(held, frozenset(after - before), frozenset(before - after)),
            adds=not is_known,
        )

    def _plan_undo(self, git: GitClient, session: WriteSession, commit: Commit) -> tuple[FileChange, ...]:
        reads: dict[RepoPath, FileSnapshot] = {}
        undone: dict[RepoPath, bytes | None] = {}
        made: set[RepoPath] = set()
        for change in git.show(commit.id):
            path = check_repo_path(change.path)
            before = None if change.code == "A" else git.read_blob(commit.parents[0], path)
            after = None if change.code == "D" else git.read_blob(commit.id, path)
            reads[path] = session.read(path)
            undone[path] = undo_change(path, before=before, after=after, current=reads[path].data)
            if change.code == "A" and undone[path] is not None:
                made.add(path)
        for index in {MEMORY_FILE, WORKSPACE_INDEX_FILE} & reads.keys():
            undone[index] = _keep_links(reads[index].data, undone[index], made)
        planned = [
            FileChange(path, reads[path].digest, data) for path, data in undone.items() if data != reads[path].data
        ]
        for write in planned:
            _refuse_too_large(write, reads[write.path])
        # What gains goes first: if a crash and then an edit stop the rest, a moved line stands twice and not nowhere.
        planned.sort(key=lambda write: reads[write.path].size_bytes - len(write.data or b""))
        return tuple(planned)

    def _collect_forgotten(self, git: GitClient, texts: Iterable[str]) -> tuple[str, ...]:
        """The texts that must be gone: those named, and each entry that the history holds and no file does."""
        wanted = dict.fromkeys(text for text in texts if len(text) >= NEEDLE_MINIMUM_CHARS)
        for line in iter_removed_lines(git):
            entry = parse_bullet(line.decode("utf-8", "surrogateescape"))
            if entry is not None and len(entry.text) >= NEEDLE_MINIMUM_CHARS:
                wanted[entry.text] = None
        current: set[str] = set()
        for path in list_markdown(self._writer.root):
            data = self._writer.read(path).data or b""
            current.update(entry.text for entry in Document.parse(data).entries)
        return tuple(text for text in wanted if text not in current)

    def _prove(self, git: GitClient, report: CompactReport, before: int, forgotten: Sequence[str]) -> CompactResult:
        needles = [text.encode("utf-8", "surrogateescape") for text in forgotten[:NEEDLES_LIMIT]]
        current = {object_id: path for path, object_id in git.list_tree(report.commit)}
        found = [Finding(hit.needle, hit.where) for hit in search_objects(git, needles)]
        found += [Finding(hit.needle, hit.where) for hit in search_git_folder(git, needles)]
        in_files = [
            Finding(hit.number, current[object_id])
            for hit in found
            if (object_id := hit.where.removeprefix("blob ")) in current
        ]
        elsewhere = [hit for hit in found if hit.where.removeprefix("blob ") not in current]
        checked = [
            "git objects",
            "refs, reflogs, stashes and worktrees",
            "files of .git",
            "write journal, dream records",
        ]
        store = self._store.find()
        if store is not None:
            elsewhere += [Finding(hit.needle, f"private store: {hit.table}") for hit in store.search_texts(forgotten)]
            checked.append("private store")
        return CompactResult(
            commit=report.commit,
            commits_before=before,
            texts=len(needles),
            checked=tuple(checked),
            findings=tuple(elsewhere),
            in_files=tuple(in_files),
            unreachable=find_unreachable(git),
            kept=(*report.kept_refs, *report.kept_worktrees, *list_damaged_journals(self._writer.git_folder)),
        )

    def _git(self) -> GitClient:
        git = self._writer.git
        if git is None:
            raise GitMissing(
                "git was not found: this memory has no history",
                hint="install git, then: memrepo doctor",
                invariant="git",
            )
        return git


def _keep_links(current: bytes | None, undone: bytes | None, staying: Collection[RepoPath]) -> bytes | None:
    """Puts back the links to files that the undone write made and that stay: they hold later facts."""
    if current is None or undone is None:
        return undone
    document = Document.parse(undone)
    for link in Document.parse(current).links:
        if link.alone and f"{link.target.removesuffix('.md')}.md" in staying:
            document = add_link(document, link.target)
    return document.to_bytes()


def _refuse_too_large(change: FileChange, read: FileSnapshot) -> None:
    limit, size_bytes = limit_of(change.path), len(change.data or b"")
    if size_bytes > limit and size_bytes > read.size_bytes:
        raise TooLarge(
            f"{change.path} would have {size_bytes} bytes; it holds at most {limit}",
            hint=f"make room first; see what it holds with: memrepo ls {change.path}",
            rule="file-size",
            target=str(change.path),
            limit=limit,
            actual=size_bytes,
            unit="bytes",
            where_instead="",
        )
