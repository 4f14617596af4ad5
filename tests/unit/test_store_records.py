"""Approvals, archive and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memrepo.format.entries import content_hash
from memrepo.model import Author, Candidate, Kind, Origin, Scope, TaskContext, Workspace
from memrepo.store import Approval, ApprovalStatus, ArchiveRecord, Event, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.store import PrivateStore

REF = "repo:me.md#L3"
HASH = "a" * 64


class Clock:
    """A clock in milliseconds that goes one on with each look."""

    def __init__(self) -> None:
        self.ms = 0

    def __call__(self) -> int:
        self.ms += 1
        return self.ms


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PrivateStore]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}", now_ms=Clock())
    yield opened
    opened.close()


def ask(store: PrivateStore, *, target: str = REF, content_hash: str = HASH, task_id: str | None = "t1") -> int:
    return store.approvals.request("memory_delete", target, content_hash=content_hash, task_id=task_id)


def take(store: PrivateStore, *, target: str = REF, content_hash: str = HASH, task_id: str | None = "t1") -> bool:
    return store.approvals.take_granted("memory_delete", target, content_hash=content_hash, task_id=task_id)


def statuses(store: PrivateStore) -> list[ApprovalStatus]:
    return [approval.status for approval in store.approvals.list()]


def test_nothing_is_granted_before_the_user_said_yes(store: PrivateStore) -> None:
    first = ask(store)
    assert not take(store)
    (approval,) = store.approvals.list(status=ApprovalStatus.PENDING)
    assert approval == Approval(
        first, "memory_delete", REF, HASH, "t1", ApprovalStatus.PENDING, approval.requested_at_ms
    )


def test_a_grant_is_used_up_by_one_act(store: PrivateStore) -> None:
    assert store.approvals.grant(ask(store))
    assert take(store)
    assert not take(store)
    assert statuses(store) == [ApprovalStatus.USED]


def test_a_grant_covers_exactly_the_act_that_was_asked_for(store: PrivateStore) -> None:
    store.approvals.grant(ask(store))
    assert not take(store, target="repo:me.md#L4")
    assert not take(store, content_hash="b" * 64)
    assert not take(store, task_id="t2")
    assert not take(store, task_id=None)
    assert take(store)


def test_a_request_is_asked_once_until_it_is_answered(store: PrivateStore) -> None:
    first = ask(store)
    assert ask(store) == first
    store.approvals.deny(first)
    assert ask(store) != first
    assert statuses(store) == [ApprovalStatus.DENIED, ApprovalStatus.PENDING]


def test_an_answer_is_final(store: PrivateStore) -> None:
    first = ask(store)
    assert store.approvals.deny(first)
    assert not store.approvals.grant(first)
    assert not take(store)
    assert not store.approvals.grant(999)


def test_an_old_request_expires_and_so_does_an_unused_grant(store: PrivateStore) -> None:
    granted, denied, used = (ask(store, target=f"repo:me.md#L{line}") for line in (1, 2, 5))
    store.approvals.grant(granted)
    store.approvals.deny(denied)
    store.approvals.grant(used)
    assert take(store, target="repo:me.md#L5")
    later = ask(store)
    assert store.approvals.expire(before_ms=store.approvals.list()[-1].requested_at_ms) == 1
    assert not take(store, target="repo:me.md#L1")
    assert statuses(store) == [
        ApprovalStatus.EXPIRED,
        ApprovalStatus.DENIED,
        ApprovalStatus.USED,
        ApprovalStatus.PENDING,
    ]
    assert store.approvals.grant(later)


def archive(store: PrivateStore, text: str, task: TaskContext) -> int:
    candidate = Candidate(text, kind=Kind.OUTCOME, subject="Deploys", source="https://example.org/run/1")
    return store.archive.add(candidate, task, by=Author.AGENT, content_hash=content_hash(text))


def test_the_archive_keeps_what_happened_in_a_task_once(store: PrivateStore) -> None:
    task = TaskContext(task_id="t1", workspace=Workspace("ws-1", "Billing"))
    first = archive(store, "Deploy failed", task)
    assert archive(store, "deploy failed.", task) == first
    second = archive(store, "Deploy failed", TaskContext(task_id="t2"))
    records = store.archive.list()
    assert [record.id for record in records] == [second, first]
    assert records[1] == ArchiveRecord(
        first,
        Kind.OUTCOME,
        "Deploy failed",
        content_hash("Deploy failed"),
        Author.AGENT,
        "ws-1",
        "t1",
        records[1].at_ms,
        "deploys",
        "https://example.org/run/1",
        Origin.AGENT_TOOL,
        Scope.WORKSPACE,
        "ws-1",
        is_tainted=True,
    )
    assert store.archive.find(first) == records[1]
    assert store.archive.forget(first)
    assert not store.archive.forget(first)
    assert [record.id for record in store.archive.list()] == [second]


def test_a_forgotten_record_does_not_come_back_by_its_task(store: PrivateStore) -> None:
    task, other = TaskContext(task_id="t1"), TaskContext(task_id="t2")
    assert store.archive.forget(archive(store, "Deploy failed", task))
    assert archive(store, "deploy failed", task) == 0
    assert archive(store, "Deploy failed", other) > 0
    candidate = Candidate("Deploy failed", kind=Kind.NOTE)
    assert store.archive.add(candidate, task, by=Author.USER, content_hash=content_hash("Deploy failed")) > 0
    assert len(store.archive.list()) == 2


def test_events_are_counted_by_name_and_time(store: PrivateStore) -> None:
    store.events.record("write", origin="cli", task_id="t1", workspace_id="ws-1", detail={"kind": "rule", "bytes": 3})
    store.events.record("write", amount=4)
    store.events.record("recall")
    first, second, _ = store.events.list()
    assert first == Event(1, first.at_ms, "write", 1, "t1", "ws-1", "cli", {"kind": "rule", "bytes": 3})
    assert store.events.count("write") == 5
    assert store.events.count("write", since_ms=second.at_ms) == 4
    assert store.events.count("nothing") == 0
    assert [event.name for event in store.events.list(since_ms=second.at_ms)] == ["write", "recall"]
