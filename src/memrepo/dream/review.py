"""What a dream changes, what waits for the user, and how the user settles it: the acting side of dreams.

At once: one commit `Dream <date>: <n> changes` through the writer. For review: one commit on the branch `dream/<id>`,
which stands on that. Accepting merges it (`--no-ff`, as text) under the write lock; what conflicts is stale and changes
nothing. Accepting or rejecting some of it builds the branch anew from the rest.
Source: memory repo design (seed 1) §10; sync design (seed 2), "Union merge".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.dream.planning import plan_changes
from memrepo.dream.records import Record, get_record, hold_dream_lock, save_record
from memrepo.errors import ChangedOnDisk, Conflict, GitMissing, InvalidInput, MergeConflict, NotFound
from memrepo.files.atomic import digest_bytes
from memrepo.git.branches import build_branch, drop_branch, find_branch, merge_branch
from memrepo.model import CommitId, FileChange, Message, Origin, RepoPath, TaskContext, Trailers
from memrepo.planning.curation import require_user
from memrepo.planning.draft import Draft
from memrepo.writer import Change as Written

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Sequence

    from memrepo.dream.operations import Change
    from memrepo.git.client import GitClient
    from memrepo.history import History
    from memrepo.writer import Writer

_ATTEMPTS = 4
_LOOKED_AT_COMMITS = 500
_PART = ".part"


@dataclass(frozen=True, slots=True)
class _Blob:
    data: bytes | None

    @property
    def digest(self) -> str | None:
        return None if self.data is None else digest_bytes(self.data)


class Reviews:
    """Applies and settles the dreams of one memory root. Needs git."""

    def __init__(self, writer: Writer, history: History, *, clock: Callable[[], dt.datetime]) -> None:
        self._writer = writer
        self._history = history
        self._clock = clock

    def apply(self, record: Record) -> Record:
        """Applies what may be applied at once, and builds the branch of what waits; returns the record as it is kept.

        The caller holds the dream lock. Errors: those of `Writer.hold`; then the record is kept as it came.
        Changes: at most one commit, one branch, the record.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._apply_once(record)
            except ChangedOnDisk:  # an editor saved between our read and our write
                continue
        return self._apply_once(record)

    def _apply_once(self, record: Record) -> Record:
        git = self._git()
        today = self._clock().date()
        auto = [change for change in record.changes if change.mode == "auto"]
        review = [change for change in record.changes if change.mode == "review"]
        with self._writer.hold() as session:
            draft = Draft(session.read)
            done = plan_changes(draft, auto, today=today)
            writes = draft.changes()
            applied = session.apply(writes, _message(record, sum(one.state == "applied" for one in done)))
            if applied.deferred is not None:
                raise applied.deferred
            record = record.with_changes(done)
            if applied.commit is not None:
                record = record.model_copy(update={"commits": (*record.commits, applied.commit)})
            unfinished = record.model_copy(update={"status": "running"})
            save_record(self._writer.git_folder, unfinished)
            head = _require_head(git)
            record = self._renew(git, record, review, head)
            record = record.model_copy(update={"head": head})
            return save_record(self._writer.git_folder, record)

    def accept(self, record_id: str, task: TaskContext, *, numbers: Collection[int] = ()) -> Record:
        """Merges what waits, or the changes with these numbers; the rest goes on waiting.

        Errors: NotFound; Refused for an agent; InvalidInput when nothing waits or a number does not; MergeConflict when
        it is stale, and then nothing changed; those of `Writer.hold`. Changes: files, a merge commit, the branch.
        """
        require_user(task, "accept a dream")
        with hold_dream_lock(self._writer.git_folder), self._writer.hold():
            git = self._git()
            record = self._get(git, record_id)
            chosen, rest = _choose(record, numbers)
            merge = self._merge(git, record, chosen, _message(record, len(chosen), verb="accept ", task=task))
            settled = [change.model_copy(update={"state": "applied"}) for change in chosen]
            paths = tuple(RepoPath(change.path) for change in git.show(merge))
            record = record.with_changes(settled)
            record = record.model_copy(update={"commits": (*record.commits, merge), "head": merge})
            record = self._renew(git, record, rest, merge)
            record = save_record(self._writer.git_folder, record)
            self._writer.tell(Written(paths, merge))
        return record

    def _merge(self, git: GitClient, record: Record, chosen: Sequence[Change], message: Message) -> CommitId:
        """Merges these changes. Where git's text merge meets a neighbour that is new, each line is looked for itself:
        what was built on lines that changed since is stale, what only stands beside a change is not."""
        is_whole = len(chosen) == len(record.waiting)
        try:
            base = CommitId(record.base)
            branch = record.branch if is_whole else self._build_part(git, record, chosen, base)
            return merge_branch(git, branch, message)
        except MergeConflict as error:
            head = _require_head(git)
            planned, _ = self._plan(git, chosen, head, record)
            if any(change.state != "applied" for change in planned):
                raise _stale(record, planned, error) from None
            return merge_branch(git, self._build_part(git, record, chosen, head), message)
        finally:
            drop_branch(git, record.branch + _PART)

    def reject(self, record_id: str, task: TaskContext, *, numbers: Collection[int] = ()) -> Record:
        """Gives up what waits, or the changes with these numbers. Errors: as `accept`. Changes: branch and record."""
        require_user(task, "reject a dream")
        with hold_dream_lock(self._writer.git_folder):
            git = self._git()
            record = get_record(self._writer.git_folder, record_id)
            chosen, rest = _choose(record, numbers)
            record = record.with_changes([change.model_copy(update={"state": "rejected"}) for change in chosen])
            if rest and find_branch(git, record.branch) is not None:
                record = self._renew(git, record, rest, CommitId(record.base))
            else:
                drop_branch(git, record.branch)
                record = record.model_copy(update={"tip": ""})
            return save_record(self._writer.git_folder, record)

    def undo(self, record_id: str, task: TaskContext) -> Record:
        """Takes back what a dream changed, each of its commits by a new one, the newest first.

        Errors: NotFound; Refused for an agent; InvalidInput when nothing is left; MergeConflict when lines that it
        wrote were changed since. Changes: files, one commit for each commit of the dream.
        """
        require_user(task, "undo a dream")
        with hold_dream_lock(self._writer.git_folder):
            record = get_record(self._writer.git_folder, record_id)
            commits = [commit for commit in reversed(self._find_commits(record)) if commit not in record.undone]
            if not commits:
                raise InvalidInput(
                    f"nothing of dream {record.id} is left to undo",
                    hint="memrepo dream list",
                    key="dream",
                    value=record.id,
                )
            for commit in commits:
                self._history.undo(commit, task)
                record = record.model_copy(update={"undone": (*record.undone, commit)})
                record = save_record(self._writer.git_folder, record)
        return record

    def diff(self, record_id: str) -> bytes:
        """What waits, as a unified diff; what was applied when nothing does. Errors: NotFound. Changes: nothing."""
        git = self._git()
        record = get_record(self._writer.git_folder, record_id)
        tip = find_branch(git, record.branch) if record.waiting else None
        if tip is not None:
            return git.diff(git.get_commit(tip).parents[0], tip)
        return b"".join(self._history.diff(commit) for commit in self._find_commits(record))

    def _find_commits(self, record: Record) -> tuple[str, ...]:
        """The commits of a dream, the oldest first: those that the history has now (a sync makes commits anew, a crash
        keeps them out of the record), else those of the record."""
        logged = self._git().log(limit=_LOOKED_AT_COMMITS)
        merged = {parent for commit in logged for parent in commit.parents[1:]}
        found = [commit.id for commit in reversed(logged) if commit.dream == record.id and commit.id not in merged]
        return tuple(found) or record.commits

    def _get(self, git: GitClient, record_id: str) -> Record:
        """A record whose branch is as we made it. Errors: NotFound, Conflict."""
        record = get_record(self._writer.git_folder, record_id)
        tip = find_branch(git, record.branch)
        if record.waiting and tip is None:
            raise NotFound(
                f"the branch {record.branch} is gone; what it held cannot be accepted any more",
                hint=f"memrepo dream reject {record.id}",
                what="branch",
                name=record.branch,
            )
        if record.waiting and tip != record.tip:
            raise Conflict(
                f"the branch {record.branch} is not as the dream left it; nothing was changed",
                hint=f"look at it with git, then: memrepo dream reject {record.id}",
            )
        return record

    def _renew(self, git: GitClient, record: Record, changes: Sequence[Change], base: CommitId) -> Record:
        """The branch with these changes on `base`; what cannot be there any more is settled, with why."""
        planned, writes = self._plan(git, changes, base, record)
        waiting = [change.model_copy(update={"state": "open"}) for change in planned if change.state == "applied"]
        record = record.with_changes([*(change for change in planned if change.state != "applied"), *waiting])
        if not writes:
            drop_branch(git, record.branch)
            idle = [change.model_copy(update={"state": "dropped", "why": "it changes nothing"}) for change in waiting]
            return record.with_changes(idle).model_copy(update={"base": "", "tip": ""})
        tip = build_branch(
            git, record.branch, base, _as_files(writes), _message(record, len(waiting)), at=self._clock()
        )
        return record.model_copy(update={"base": base, "tip": tip})

    def _build_part(self, git: GitClient, record: Record, changes: Sequence[Change], base: CommitId) -> str:
        """A second branch with only these changes, beside the other so that a crash leaves that as it is."""
        _, writes = self._plan(git, changes, base, record)
        branch = record.branch + _PART
        build_branch(git, branch, base, _as_files(writes), _message(record, len(changes)), at=self._clock())
        return branch

    def _plan(
        self, git: GitClient, changes: Sequence[Change], base: CommitId, record: Record
    ) -> tuple[tuple[Change, ...], tuple[FileChange, ...]]:
        def read(path: RepoPath) -> _Blob:
            try:
                return _Blob(git.read_blob(base, path))
            except NotFound:
                return _Blob(None)

        draft = Draft(read)
        planned = plan_changes(draft, changes, today=record.at.date())
        return planned, draft.changes()

    def _git(self) -> GitClient:
        git = self._writer.git
        if git is None:
            raise GitMissing(
                "git was not found: without a history a dream could not be undone",
                hint="install git, then: memrepo doctor",
                invariant="git",
            )
        return git


def _choose(record: Record, numbers: Collection[int]) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """The waiting changes that are meant, and the others. Errors: InvalidInput."""
    known = {change.number for change in record.waiting}
    if not known:
        raise InvalidInput(
            f"nothing of dream {record.id} waits", hint="memrepo dream list", key="dream", value=record.id
        )
    unknown = sorted(set(numbers) - known)
    if unknown:
        raise InvalidInput(
            f"change {unknown[0]} of dream {record.id} does not wait",
            hint=f"memrepo dream show {record.id}",
            key="change",
            value=str(unknown[0]),
        )
    chosen = tuple(change for change in record.waiting if not numbers or change.number in numbers)
    return chosen, tuple(change for change in record.waiting if change not in chosen)


def _stale(record: Record, planned: Sequence[Change], error: MergeConflict) -> MergeConflict:
    gone = ", ".join(str(change.number) for change in planned if change.state != "applied")
    return MergeConflict(
        f"dream {record.id} is stale: {error.message} (change {gone}); nothing was changed",
        hint=f"take the others: memrepo dream accept {record.id} --only N; or none: memrepo dream reject {record.id}",
        paths=error.facts.get("paths", ()),
    )


def _message(record: Record, count: int, *, verb: str = "", task: TaskContext | None = None) -> Message:
    subject = f"Dream {record.at.date().isoformat()}: {verb}{count} {'change' if count == 1 else 'changes'}"
    return Message(subject, Trailers(Origin.DREAM, task.task_id if task else None, dream=record.id))


def _as_files(writes: Sequence[FileChange]) -> dict[str, bytes | None]:
    return {str(write.path): write.data for write in writes}


def _require_head(git: GitClient) -> CommitId:
    head = git.head()
    if head is None:
        raise NotFound("the memory folder has no commit yet", hint="memrepo remember TEXT", what="commit", name="HEAD")
    return head
