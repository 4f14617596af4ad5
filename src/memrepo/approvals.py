"""Who may forget what: an agent what its own task wrote, anything else with the user's yes.

The yes comes at once where the user can be asked, else later: a request waits in the private store until the user
grants it, which does the act, or denies it, which is the answer to that task from then on. A request names a file and
the hash of a text, so it finds an entry that has moved and never covers one that has changed. Whoever asks may raise
instead of answering; nothing has changed then.
Source: memory repo design (seed 1) §5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from memrepo.errors import ApprovalNeeded, NotFound, StaleRef
from memrepo.files.atomic import read_file
from memrepo.files.paths import check_repo_path
from memrepo.format.entries import content_hash
from memrepo.model import Ref
from memrepo.planning.draft import Draft
from memrepo.policy.sanitizing import reveal_text
from memrepo.reading import iter_entries
from memrepo.store import ApprovalStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memrepo.model import ContentHash, TaskContext, WriteResult
    from memrepo.reading import LocatedEntry
    from memrepo.service import MemoryRepoService
    from memrepo.store import Approval, PrivateStore

KIND = "memory_delete"
EXPIRE_AFTER_MS = 7 * 24 * 60 * 60 * 1_000


class StoreSource(Protocol):
    """Opens the private store, or finds it when there is one."""

    def find(self) -> PrivateStore | None: ...
    def get(self) -> PrivateStore: ...


class ForgetStatus(StrEnum):
    """What became of a wish to forget."""

    REMOVED = "removed"
    DENIED = "denied"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class ForgetOutcome:
    """removed: `result`; waiting: `approval_id`, the request that the user has to answer. `ref` is where it stands."""

    status: ForgetStatus
    ref: Ref
    result: WriteResult | None = None
    approval_id: int | None = None


def forget_with_approval(
    service: MemoryRepoService,
    store: StoreSource,
    ref: Ref,
    task: TaskContext,
    *,
    expect_hash: ContentHash | None,
    ask: Callable[[str], bool | None],
) -> ForgetOutcome:
    """Removes one entry when its own task or the user allows it; `ask` gives the user's word, None when it cannot.

    Errors: those of `service.forget`, StoreFault. Changes: one line in a commit, or a request in the private store.
    """
    _, entry = Draft(lambda path: read_file(service.root, path)).get(ref, expect_hash)
    place, text_hash = Ref(ref.path, entry.line), content_hash(entry.text)

    def forget(*, is_approved: bool) -> ForgetOutcome:
        result = service.forget(place, task, expect_hash=text_hash, is_approved=is_approved)
        return ForgetOutcome(ForgetStatus.REMOVED, place, result)

    try:
        return forget(is_approved=False)
    except ApprovalNeeded:
        pass
    act = {"content_hash": text_hash, "task_id": task.task_id}
    target = _make_target(place)
    known = store.find()
    if known is not None:
        known.approvals.expire(before_ms=known.now_ms() - EXPIRE_AFTER_MS)
        if known.approvals.take_granted(KIND, target, **act):
            return forget(is_approved=True)
        if known.approvals.is_denied(KIND, target, **act):
            return ForgetOutcome(ForgetStatus.DENIED, place)
    answer = ask(f"Forget “{reveal_text(entry.text)}” ({place})? Your agent asks for it.")
    if answer is None:
        request_id = store.get().approvals.request(KIND, target, **act)
        return ForgetOutcome(ForgetStatus.WAITING, place, approval_id=request_id)
    return forget(is_approved=True) if answer else ForgetOutcome(ForgetStatus.DENIED, place)


@dataclass(frozen=True, slots=True)
class Request:
    """An open request. `located` is the entry as it stands now, None when its text has changed or it is gone."""

    approval: Approval
    located: LocatedEntry | None

    @property
    def id(self) -> int:
        """The number that the user answers to."""
        return self.approval.id


def list_requests(root: Path, store: StoreSource) -> tuple[Request, ...]:
    """The requests that wait for an answer, oldest first. Errors: StoreFault. Changes: old ones are ended."""
    known = store.find()
    if known is None:
        return ()
    known.approvals.expire(before_ms=known.now_ms() - EXPIRE_AFTER_MS)
    waiting = known.approvals.list(status=ApprovalStatus.PENDING)
    return tuple(Request(approval, _find_entry(root, approval)) for approval in waiting)


def grant(service: MemoryRepoService, store: StoreSource, request_id: int, task: TaskContext) -> ForgetOutcome:
    """The user's yes: the entry is forgotten now, in the user's name.

    Errors: NotFound when no such request is open, StaleRef when the entry is gone or says something else, and those of
    `service.forget`; the request stays open then. Changes: one line in a commit; the request is used up.
    """
    request = _get(service.root, store, request_id)
    if request.located is None:
        path = _find_path(request.approval)
        raise StaleRef(
            f"request {request_id} is about an entry of {path} that has changed since or is gone",
            hint=f"nothing was removed; to close the request: memrepo approvals deny {request_id}",
            ref=request.approval.target,
        )
    located = request.located
    result = service.forget(located.ref, task, expect_hash=located.hash, is_approved=True)
    approvals = store.get().approvals
    if approvals.grant(request_id):
        approval = request.approval
        approvals.take_granted(KIND, approval.target, content_hash=approval.content_hash, task_id=approval.task_id)
    return ForgetOutcome(ForgetStatus.REMOVED, located.ref, result)


def deny(root: Path, store: StoreSource, request_id: int) -> Request:
    """The user's no: the entry stays, and the task that asked is told so. Errors: NotFound. Changes: the request."""
    request = _get(root, store, request_id)
    store.get().approvals.deny(request_id)
    return request


def _get(root: Path, store: StoreSource, request_id: int) -> Request:
    requests: Sequence[Request] = list_requests(root, store)
    for request in requests:
        if request.id == request_id:
            return request
    raise NotFound(
        f"there is no open request {request_id}",
        hint="see the open ones: memrepo approvals",
        what="approval",
        name=str(request_id),
    )


def _make_target(place: Ref) -> str:
    return f"repo:{place.path}"


def _find_path(approval: Approval) -> str:
    return approval.target.removeprefix("repo:")


def _find_entry(root: Path, approval: Approval) -> LocatedEntry | None:
    path = check_repo_path(_find_path(approval))
    return next((found for found in iter_entries(root, [path]) if found.hash == approval.content_hash), None)
