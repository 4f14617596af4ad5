"""Who may forget what: an agent what its own task wrote, anything else with the user's yes.

The yes comes at once where the user can be asked, else later: a request waits in the private store, a granted one is
used up by exactly the act it was asked for. Whoever asks may raise instead of answering; nothing has changed then.
Source: memory repo design (seed 1) §5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from memrepo.errors import ApprovalNeeded
from memrepo.files.atomic import read_file
from memrepo.format.entries import content_hash
from memrepo.model import Ref
from memrepo.planning.draft import Draft
from memrepo.policy.sanitizing import reveal_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from memrepo.model import ContentHash, TaskContext, WriteResult
    from memrepo.service import MemoryRepoService
    from memrepo.store import PrivateStore

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
    known = store.find()
    if known is not None:
        known.approvals.expire(before_ms=known.now_ms() - EXPIRE_AFTER_MS)
        if known.approvals.take_granted(KIND, str(place), **act):
            return forget(is_approved=True)
    answer = ask(f"Forget “{reveal_text(entry.text)}” ({place})? Your agent asks for it.")
    if answer is None:
        return ForgetOutcome(
            ForgetStatus.WAITING, place, approval_id=store.get().approvals.request(KIND, str(place), **act)
        )
    return forget(is_approved=True) if answer else ForgetOutcome(ForgetStatus.DENIED, place)
