"""MemoryRepoService: the only door through which a memory repo changes.

It joins the floors below: a candidate is accepted or turned away and planned (`planning`), written under the lock
(`writer`); what the repo cannot take is kept in the private store (`keeping`) and replayed later. It holds no rule of
its own about text, privacy or files. Nothing that it answered `written` or `kept` to is lost.
Source: memory repo design (seed 1) §5.1, §5.2.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from memrepo.errors import (
    Busy,
    ChangedOnDisk,
    DiskFault,
    InvalidInput,
    MemrepoError,
    NotFound,
    ReadOnly,
    Refused,
    TooLarge,
    UserError,
    WorkTreeBlocked,
)
from memrepo.files.atomic import read_file
from memrepo.files.paths import list_markdown
from memrepo.format.document import find_workspace_id
from memrepo.format.entries import content_hash
from memrepo.keeping import Keeper, StoreSource, replay_context
from memrepo.model import (
    INBOX_FILE,
    LESSONS_FILE,
    MARKDOWN_FILES_LIMIT,
    ME_FILE,
    MEMORY_FILE,
    Author,
    Candidate,
    ContentHash,
    Entry,
    EntryFilter,
    Fact,
    Kind,
    Message,
    Reason,
    Ref,
    RepoPath,
    Scope,
    TaskContext,
    Trailers,
    Workspace,
    WriteAction,
    WriteResult,
    WriteStatus,
)
from memrepo.planning.curation import Move, plan_edit, plan_forget, plan_forget_where, plan_move, require_user
from memrepo.planning.draft import Draft, Planned
from memrepo.planning.file_draft import FileDraft, too_long
from memrepo.planning.intake import Accepted, accept, screen_text
from memrepo.planning.swarms import plan_remove_of_task
from memrepo.policy.writing import Destination, choose_file
from memrepo.workspaces import WorkspaceFiles, naming_fact

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memrepo.files.atomic import FileSnapshot
    from memrepo.store import PendingWrite
    from memrepo.writer import Applied, Writer, WriteSession

T = TypeVar("T")
Named = tuple[Ref, ContentHash | None]
"""An entry by its ref, and the hash that it must carry when one is given."""

SUBJECT_CHARS = 60
STOP_WAIT_S = 3.0
_ATTEMPTS = 4
_FIXED_FILES = {
    Destination.MEMORY: MEMORY_FILE,
    Destination.ME: ME_FILE,
    Destination.LESSONS: LESSONS_FILE,
    Destination.INBOX: INBOX_FILE,
}
_REPO_DESTINATIONS = frozenset({*_FIXED_FILES, Destination.WORKSPACE})


class MemoryRepoService:
    """Writes and lists the entries of one memory root. Safe to share between threads; one a process is enough."""

    def __init__(
        self,
        writer: Writer,
        *,
        store: StoreSource,
        clock: Callable[[], dt.datetime],
        is_enabled: bool = True,
        purge_derived: Callable[[], object] = lambda: None,
    ) -> None:
        """`purge_derived` empties what was derived from the files (the search index); called after a forgetting."""
        self.root = writer.root
        self._writer = writer
        self._keeper = Keeper(writer.root, store)
        self._clock = clock
        self._is_enabled = is_enabled
        self._purge_derived = purge_derived
        self._workspaces = WorkspaceFiles(writer.root)
        self._idle = threading.Condition()
        self._in_flight = 0
        self._is_closed = False

    # Writing facts

    def remember(self, candidate: Candidate, task: TaskContext) -> WriteResult:
        """Writes one fact, or says why not. Changes: at most one file and its index link, in one commit."""
        return self.remember_many((candidate,), task)[0]

    def remember_many(
        self, candidates: Sequence[Candidate], task: TaskContext, *, keeps_pending: bool = True
    ) -> tuple[WriteResult, ...]:
        """Writes many facts in one commit; one result per candidate, in order.

        `keeps_pending` False is for a caller who can come again: what the repo cannot take now is an error, and nothing
        waits in the private store.
        Errors: InvalidInput before anything is written; any other error only when a fact could be kept neither in the
        repo nor in the private store, and then nothing of it was accepted.
        """
        today = self._clock().date()
        decided = [accept(candidate, task, today=today, is_enabled=self._is_enabled) for candidate in candidates]
        results: dict[int, WriteResult] = {}
        for_repo: dict[int, Accepted] = {}
        for index, outcome in enumerate(decided):
            if isinstance(outcome, WriteResult):
                results[index] = outcome
            elif outcome.route.destination in _REPO_DESTINATIONS:
                for_repo[index] = outcome
            else:
                results[index] = self._keeper.keep_private(outcome, task)
        if for_repo:
            write = self._write_or_keep if keeps_pending else self._write_facts
            written = write(tuple(for_repo.values()), task)
            results.update(zip(for_repo, written, strict=True))
            for accepted, result in zip(for_repo.values(), written, strict=True):
                if accepted.candidate.kind is Kind.CORRECTION and result.action is WriteAction.REINFORCED:
                    self._keeper.note_repeated(task)
        return tuple(results[index] for index in range(len(decided)))

    def _write_or_keep(self, facts: tuple[Accepted, ...], task: TaskContext) -> list[WriteResult]:
        try:
            return self._write_facts(facts, task)
        except Busy as error:
            return [self._keeper.keep_pending(fact, task, Reason.BUSY, error) for fact in facts]
        except WorkTreeBlocked as error:
            return [self._keeper.keep_pending(fact, task, Reason.DIRTY, error) for fact in facts]
        except MemrepoError as error:
            return [self._keeper.keep_pending(fact, task, Reason.UNAVAILABLE, error) for fact in facts]

    def _write_facts(self, facts: tuple[Accepted, ...], task: TaskContext) -> list[WriteResult]:
        planned, applied = self._change(
            lambda draft: self._plan_facts(draft, facts), lambda _: _remember_message(facts, task)
        )
        return [_with_commit(plan.result(), applied) for plan in planned]

    def _plan_facts(self, draft: Draft, facts: tuple[Accepted, ...]) -> list[Planned]:
        paths: dict[str, RepoPath] = {}
        return [self._plan_fact(draft, accepted, paths) for accepted in facts]

    def _plan_fact(self, draft: Draft, accepted: Accepted, paths: dict[str, RepoPath]) -> Planned:
        """Plans one fact; `paths` remembers the workspace files chosen in this write, which no disk shows yet."""
        fact, route = accepted.fact, accepted.route
        workspace = accepted.candidate.workspace
        if refusal := too_long(fact.text):
            return Planned.refused(fact, refusal)
        path = self._choose_path(route.destination, workspace, paths)
        also_known_in: tuple[RepoPath, ...] = ()
        if route.destination is Destination.INBOX:
            natural = self._choose_path(route.natural, workspace, paths)
            also_known_in = (natural,) if draft.exists(natural) else ()
        title = workspace.name if workspace and route.destination is Destination.WORKSPACE else None
        file = draft.file(path, title=title)
        if file.is_new and not file.added and (refusal := self._too_many_files(draft)):
            return Planned.refused(fact, refusal)
        if workspace and route.destination is Destination.WORKSPACE:
            try:
                self._name_workspace(file, workspace)
            except TooLarge as refusal:
                return Planned.refused(fact, refusal)
        return draft.remember(fact, path, also_known_in=also_known_in)

    @staticmethod
    def _name_workspace(file: FileDraft, workspace: Workspace) -> None:
        naming = naming_fact(workspace)
        if find_workspace_id(file.document) is None and file.holds(content_hash(naming.text)) is None:
            file.add(naming)

    def _choose_path(
        self, destination: Destination, workspace: Workspace | None, paths: dict[str, RepoPath]
    ) -> RepoPath:
        if destination is not Destination.WORKSPACE:
            return _FIXED_FILES[destination]
        if workspace is None:
            raise InvalidInput("a workspace fact needs a workspace", hint="name it: --workspace DIR", key="workspace")
        if workspace.id not in paths:
            paths[workspace.id] = self._workspaces.choose(workspace, also_taken=paths.values())
        return paths[workspace.id]

    def _replay_pending(self, session: WriteSession) -> None:
        """Writes what waited, oldest first, each as its own commit; what is still refused keeps waiting."""
        for waiting in self._keeper.iter_pending():
            if waiting.key in session.find_replayed():  # whoever wrote it was killed before the store knew
                self._settle(session, waiting)
                continue
            if not self._keeper.begin_replay(waiting.id):
                return
            try:
                self._replay(session, waiting)
            except (UserError, Refused, DiskFault) as error:  # one fact that cannot be written holds up no other
                self._keeper.record_failure(waiting.id, error.message)

    def _replay(self, session: WriteSession, waiting: PendingWrite) -> None:
        task = replay_context(waiting.task, waiting.by)
        accepted = accept(waiting.candidate, task, today=self._clock().date())
        if isinstance(accepted, WriteResult):
            self._keeper.record_failure(waiting.id, accepted.detail)
            return
        if accepted.route.destination not in _REPO_DESTINATIONS:  # the rules changed since
            self._keeper.keep_private(accepted, task)
            self._settle(session, waiting)
            return
        draft = Draft(session.read)
        (planned,) = self._plan_facts(draft, (accepted,))
        result = planned.result()
        is_done = result.status is WriteStatus.WRITTEN or result.reason is Reason.OUTRANKED
        message = _remember_message((accepted,), task)
        applied = session.apply(draft.changes(), message, replays=waiting.key if is_done else "")
        if is_done:
            self._settle(session, waiting)
        else:
            self._keeper.record_failure(waiting.id, result.detail)
        if applied.deferred is not None:
            raise applied.deferred

    def _settle(self, session: WriteSession, waiting: PendingWrite) -> None:
        if self._keeper.settle(waiting.id):
            session.end_replay(waiting.key)

    def _too_many_files(self, draft: Draft) -> TooLarge | None:
        count = len(list_markdown(self.root)) + draft.new_file_count
        if count <= MARKDOWN_FILES_LIMIT:
            return None
        return TooLarge(
            f"the folder has {count - 1} Markdown files; it holds at most {MARKDOWN_FILES_LIMIT}",
            hint="merge or remove some files first",
            rule="file-count",
            limit=MARKDOWN_FILES_LIMIT,
            actual=count,
            unit="files",
            where_instead="an existing file: a global fact goes to me.md or lessons.md",
        )

    # Changing entries that stand

    def forget(
        self, ref: Ref, task: TaskContext, *, expect_hash: ContentHash | None = None, is_approved: bool = False
    ) -> WriteResult:
        """Removes one entry. Changes: its line, in a commit; the history keeps the text until it is compacted.

        Errors: NotFound, StaleRef, ApprovalNeeded, and those of `Writer.hold`.
        """
        return self.forget_many(((ref, expect_hash),), task, is_approved=is_approved)[0]

    def forget_many(
        self, named: Sequence[Named], task: TaskContext, *, is_approved: bool = False
    ) -> tuple[WriteResult, ...]:
        """Removes several entries in one commit, or none of them; each is found where it stood before the write.

        Errors: those of `forget`. Changes: as `forget`.
        """

        def plan(draft: Draft) -> list[Entry]:
            return [
                plan_forget(draft, ref, task, expect_hash=expect_hash, is_approved=is_approved)
                for ref, expect_hash in named
            ]

        gone, applied = self._change(
            plan, lambda gone: _message_of_many("Forget", [entry.text for entry in gone], task)
        )
        if gone:
            self._purge_derived()
        return tuple(
            _with_commit(
                WriteResult(
                    WriteStatus.WRITTEN,
                    action=WriteAction.REMOVED,
                    ref=Ref(ref.path, entry.line),
                    hash=content_hash(entry.text),
                ),
                applied,
            )
            for (ref, _), entry in zip(named, gone, strict=True)
        )

    def edit(self, ref: Ref, text: str, task: TaskContext, *, expect_hash: ContentHash | None = None) -> WriteResult:
        """Replaces the text of one entry and keeps its metadata; a text that the screen turns away is skipped.

        Errors: NotFound, StaleRef, ApprovalNeeded, TooLarge, InvalidInput, and those of `Writer.hold`.
        """
        screened = screen_text(text)
        if isinstance(screened, WriteResult):
            return screened
        clean, kinds = screened
        planned, applied = self._change(
            lambda draft: plan_edit(draft, ref, clean, task, expect_hash=expect_hash, redactions=kinds),
            lambda _: _message(f"Edit: {shorten(clean)}", task),
        )
        return _with_commit(planned.result(), applied)

    def pin(self, ref: Ref, task: TaskContext, *, expect_hash: ContentHash | None = None) -> WriteResult:
        """Moves an entry to MEMORY.md, which every session reads; it becomes the user's word."""
        return self.pin_many(((ref, expect_hash),), task)[0]

    def pin_many(self, named: Sequence[Named], task: TaskContext) -> tuple[WriteResult, ...]:
        """Pins several entries in one commit; what MEMORY.md has no room for stays where it is, and its result says so.

        Errors: NotFound, StaleRef, Refused for an agent, and those of `Writer.hold`.
        """
        moves = [Move(ref, MEMORY_FILE, expect_hash=expect_hash, confirms=True) for ref, expect_hash in named]
        return self._move_many(moves, task, "Pin")

    def move(
        self, ref: Ref, target: RepoPath, task: TaskContext, *, expect_hash: ContentHash | None = None
    ) -> WriteResult:
        """Moves an entry to another Markdown file of the repo, made and linked when it is new."""
        if not target.lower().endswith(".md"):
            raise InvalidInput(f"{target} is no Markdown file", hint=f"name it {target}.md", file=target)
        move = Move(ref, target, expect_hash=expect_hash, confirms=target == MEMORY_FILE)
        return self._move_many((move,), task, "Move")[0]

    def keep(
        self,
        ref: Ref,
        task: TaskContext,
        *,
        expect_hash: ContentHash | None = None,
        workspaces: Iterable[Workspace] = (),
    ) -> WriteResult:
        """Moves a reviewed inbox entry to the file of its kind and workspace; it becomes the user's word.

        `workspaces` are those the settings know, for an entry whose workspace has no file yet.
        """
        return self.keep_many(((ref, expect_hash),), task, workspaces=workspaces)[0]

    def keep_many(
        self, named: Sequence[Named], task: TaskContext, *, workspaces: Iterable[Workspace] = ()
    ) -> tuple[WriteResult, ...]:
        """Keeps several inbox entries in one commit; what its file has no room for stays, and its result says so.

        Errors: NotFound, StaleRef, Refused for an agent, and those of `Writer.hold`.
        """
        known = {workspace.id: workspace for workspace in workspaces}
        paths: dict[str, RepoPath] = {}
        draft = Draft(self._read)
        return self._move_many(
            [self._choose_keep(draft, ref, expect_hash, known, paths) for ref, expect_hash in named], task, "Keep"
        )

    def _choose_keep(
        self,
        draft: Draft,
        ref: Ref,
        expect_hash: ContentHash | None,
        known: dict[str, Workspace],
        paths: dict[str, RepoPath],
    ) -> Move:
        _, entry = draft.get(ref, expect_hash)
        workspace_id = entry.value("workspace")
        workspace = (known.get(workspace_id) or Workspace(workspace_id, workspace_id)) if workspace_id else None
        destination = choose_file(_kind_of(entry), Scope.WORKSPACE if workspace else Scope.GLOBAL)
        target = self._choose_path(destination, workspace, paths)
        return Move(ref, target, expect_hash=content_hash(entry.text), confirms=True, workspace=workspace)

    def forget_where(self, wanted: EntryFilter, task: TaskContext) -> tuple[Ref, ...]:
        """Removes every entry that the filter means, in one commit; returns where they stood.

        Errors: InvalidInput for an empty filter, ApprovalNeeded, and those of `Writer.hold`.
        """
        gone, _ = self._change(
            lambda draft: plan_forget_where(draft, list_markdown(self.root), wanted, task),
            lambda gone: _forgetting(gone, task),
        )
        if gone:
            self._purge_derived()
        return tuple(gone)

    def purge_task(self, task_id: str, task: TaskContext) -> tuple[Ref, ...]:
        """Removes the agent's lines that a task wrote, and the swarms of which it is the root; lines that the user said
        in it stay (seed 1 §7.2). Returns where the entries stood. Errors: as `forget_where`; Refused for an agent's
        call that would remove a swarm.
        """

        def plan(draft: Draft) -> tuple[Ref, ...]:
            paths = list_markdown(self.root)
            notes = plan_remove_of_task(draft, paths, task_id, task)
            others = [path for path in paths if not draft.file(path).is_deleted]
            return (*plan_forget_where(draft, others, EntryFilter(by=Author.AGENT, task=task_id), task), *notes)

        gone, _ = self._change(plan, lambda gone: _forgetting(gone, task))
        if gone:
            self._purge_derived()
        return gone

    def clear_workspace(self, workspace_id: str, task: TaskContext) -> RepoPath:
        """Removes a workspace's file and its links; the history keeps the text until it is compacted.

        Errors: NotFound, Refused for an agent, and those of `Writer.hold`.
        """
        require_user(task, "clear a workspace")

        def plan(draft: Draft) -> RepoPath:
            path = self._workspaces.find(workspace_id)
            if path is None:
                raise NotFound(
                    f"no file names workspace {workspace_id}",
                    hint="see: memrepo ls",
                    what="workspace",
                    name=workspace_id,
                )
            draft.file(path).is_deleted = True
            draft.unlink(path)
            return path

        path, _ = self._change(plan, lambda path: _message(f"Clear workspace {path}", task))
        self._purge_derived()
        return path

    def clear_global(self, task: TaskContext) -> tuple[RepoPath, ...]:
        """Empties me.md, lessons.md, inbox.md and the entries of MEMORY.md (seed 1 §7.2); workspace files stay.

        Errors: Refused for an agent, and those of `Writer.hold`.
        """
        require_user(task, "clear global memories")

        def plan(draft: Draft) -> tuple[RepoPath, ...]:
            for path in (ME_FILE, LESSONS_FILE, INBOX_FILE):
                draft.file(path).is_emptied = True
            memory = draft.file(MEMORY_FILE)
            for entry in memory.document.entries:
                memory.remove(entry.line)
            return (MEMORY_FILE, ME_FILE, LESSONS_FILE, INBOX_FILE)

        paths, _ = self._change(plan, lambda _: _message("Clear global memories", task))
        self._purge_derived()
        return paths

    def apply_plan(self, plan: Callable[[Draft], T], message: Callable[[T], Message]) -> tuple[T, Applied]:
        """Applies what a plan of the floors above made of the files, under the lock and in one commit.

        `plan` is called anew when a file was edited in between. Errors: those of the plan and of `Writer.hold`;
        TooLarge for more files than the folder holds. Changes: the files of the plan.
        """

        def plan_within_limits(draft: Draft) -> T:
            planned = plan(draft)
            if draft.new_file_count and (refusal := self._too_many_files(draft)):
                raise refusal
            return planned

        return self._change(plan_within_limits, message)

    # Living

    def replay_pending(self) -> int:
        """Writes what waits in the private store, as any write does first; returns how many no longer wait.

        Errors: those of `Writer.hold`.
        """
        with self._in_progress():
            before = self._keeper.count_pending()
            with self._writer.hold() as session:
                self._replay_pending(session)
            return before - self._keeper.count_pending()

    def close(self, *, timeout_s: float = STOP_WAIT_S) -> bool:
        """Takes no new write and waits for those in progress; False when one did not end in time.

        What such a write leaves is finished by the next writer (`Writer.hold`).
        """
        with self._idle:
            self._is_closed = True
            return self._idle.wait_for(lambda: self._in_flight == 0, timeout_s)

    def _move_many(self, moves: Sequence[Move], task: TaskContext, verb: str) -> tuple[WriteResult, ...]:
        """Moves entries in one commit; what finds no room stays, and its result says so."""

        def plan(draft: Draft) -> list[Planned]:
            return [self._plan_move(draft, move, task) for move in moves]

        planned, applied = self._change(
            plan, lambda planned: _message_of_many(verb, [one.fact.text for one in planned if one.is_placed], task)
        )
        results = [_with_commit(one.result(), applied) for one in planned]
        return tuple(
            replace(result, action=WriteAction.MOVED) if result.action is WriteAction.INSERTED else result
            for result in results
        )

    def _plan_move(self, draft: Draft, move: Move, task: TaskContext) -> Planned:
        _, entry = draft.get(move.ref, move.expect_hash)
        fact = Fact(entry.text, entry.meta)
        if refusal := too_long(entry.text):
            return Planned.refused(fact, refusal)
        file = draft.file(move.target, title=move.workspace.name if move.workspace else None)
        if file.is_new and not file.added and (refusal := self._too_many_files(draft)):
            raise refusal
        if move.workspace:
            self._name_workspace(file, move.workspace)
        return plan_move(draft, move, task)

    def _change(self, plan: Callable[[Draft], T], message: Callable[[T], Message]) -> tuple[T, Applied]:
        """Plans and applies one write under the lock; plans anew when a file was edited in between."""
        with self._in_progress():
            for _ in range(_ATTEMPTS - 1):
                try:
                    return self._change_once(plan, message)
                except ChangedOnDisk:  # an editor saved between our read and our write
                    continue
            return self._change_once(plan, message)

    def _change_once(self, plan: Callable[[Draft], T], message: Callable[[T], Message]) -> tuple[T, Applied]:
        with self._writer.hold() as session:
            self._replay_pending(session)
            draft = Draft(session.read)
            planned = plan(draft)
            return planned, session.apply(draft.changes(), message(planned))

    @contextmanager
    def _in_progress(self) -> Iterator[None]:
        with self._idle:
            if self._is_closed:
                raise ReadOnly("this memory repo was closed", action="write", target=str(self.root))
            self._in_flight += 1
        try:
            yield
        finally:
            with self._idle:
                self._in_flight -= 1
                self._idle.notify_all()

    def _read(self, path: RepoPath) -> FileSnapshot:
        return read_file(self.root, path)


def shorten(text: str) -> str:
    """The first 60 characters of a text, as commit subjects carry it."""
    return text[:SUBJECT_CHARS].rstrip()


def _remember_message(facts: tuple[Accepted, ...], task: TaskContext) -> Message:
    if len(facts) > 1:
        return _message(f"Remember {len(facts)} facts", task)
    return _message(f"Remember {facts[0].candidate.kind}: {shorten(facts[0].fact.text)}", task)


def _message_of_many(verb: str, texts: Sequence[str], task: TaskContext) -> Message:
    return _message(f"{verb}: {shorten(texts[0])}" if len(texts) == 1 else f"{verb} {len(texts)} entries", task)


def _forgetting(gone: Sequence[Ref], task: TaskContext) -> Message:
    return _message(f"Forget {len(gone)} {'entry' if len(gone) == 1 else 'entries'}", task)


def _message(subject: str, task: TaskContext) -> Message:
    return Message(subject, Trailers(task.origin, task.task_id))


def _with_commit(result: WriteResult, applied: Applied) -> WriteResult:
    if result.status is not WriteStatus.WRITTEN:
        return result
    if applied.deferred is None:
        return replace(result, commit=applied.commit)
    waiting = f"written, but not yet in the history ({applied.deferred.message}); the next write commits it"
    return replace(result, detail=f"{result.detail}; {waiting}" if result.detail else waiting)


def _kind_of(entry: Entry) -> Kind | None:
    value = entry.value("kind")
    return Kind(value) if value in set(Kind) else None
