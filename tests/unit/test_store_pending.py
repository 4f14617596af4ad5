"""What the repo could not take: kept once, in order, and given back as it was accepted."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from memrepo.model import (
    Actor,
    Author,
    Candidate,
    Gateway,
    Kind,
    Origin,
    Privacy,
    Reason,
    Role,
    Scope,
    Taint,
    TaskContext,
    Workspace,
)
from memrepo.store import PendingWrite, open_store
from memrepo.store.records import read_record, write_record
from memrepo.store.schema import pending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memrepo.store import PrivateStore

ROOT = "/home/me/CoWork Memory"
WORKSPACE = Workspace("ws-1", "Billing", Path("/src/billing"), memory_enabled=False, privacy=Privacy.STRICT)
CANDIDATE = Candidate(
    'Says "hi" \\ grüßt 你好',
    scope=Scope.WORKSPACE,
    subject="greeting",
    pin=True,
    source="cowork://tasks/t1",
    added=dt.date(2024, 2, 29),
    workspace=WORKSPACE,
)
TASK = TaskContext(task_id="t1", origin=Origin.DREAM, workspace=WORKSPACE)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PrivateStore]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}", now_ms=lambda: 1_700_000_000_000)
    yield opened
    opened.close()


def add(store: PrivateStore, candidate: Candidate = CANDIDATE, task: TaskContext = TASK, *, root: str = ROOT) -> int:
    return store.pending.add(
        candidate, task, root=root, by=Author.USER, reason=Reason.DIRTY, detail="notes.txt is untracked"
    )


def test_a_waiting_write_comes_back_as_it_was_accepted(store: PrivateStore) -> None:
    waiting = add(store)
    assert store.pending.list(ROOT) == (
        PendingWrite(
            waiting, CANDIDATE, TASK, Author.USER, Reason.DIRTY, "notes.txt is untracked", 1_700_000_000_000, 0, ""
        ),
    )


def test_a_retry_does_not_queue_a_fact_twice(store: PrivateStore) -> None:
    first = add(store)
    assert add(store) == first
    assert add(store, dataclasses.replace(CANDIDATE, text=CANDIDATE.text.replace("Says", "says ") + ".")) == first
    assert store.pending.count(ROOT) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Says bye"},
        {"scope": Scope.GLOBAL},
        {"subject": "farewell"},
        {"pin": False},
        {"workspace": Workspace("ws-2", "Other")},
    ],
)
def test_a_fact_for_another_place_is_another_fact(store: PrivateStore, other: dict[str, Any]) -> None:
    assert add(store) != add(store, dataclasses.replace(CANDIDATE, **other))


def test_writes_are_listed_in_the_order_in_which_they_came(store: PrivateStore) -> None:
    for text in ("c", "a", "b"):
        add(store, Candidate(f"fact {text}"))
    assert [write.candidate.text for write in store.pending.list(ROOT)] == ["fact c", "fact a", "fact b"]


def test_each_memory_folder_has_its_own_queue(store: PrivateStore) -> None:
    add(store)
    other = add(store, root="/elsewhere")
    assert store.pending.count(ROOT) == store.pending.count("/elsewhere") == 1
    store.pending.remove(other)
    assert (store.pending.count(ROOT), store.pending.count("/elsewhere")) == (1, 0)


def test_a_removed_write_does_not_wait_and_its_number_is_never_given_again(store: PrivateStore) -> None:
    first = add(store)
    store.pending.remove(first)
    store.pending.remove(first)
    assert store.pending.list(ROOT) == ()
    assert add(store) > first


def test_failed_replays_are_counted_with_the_last_reason(store: PrivateStore) -> None:
    waiting = add(store)
    store.pending.record_failure(waiting, "still dirty")
    store.pending.record_failure(waiting, "git timed out")
    (write,) = store.pending.list(ROOT)
    assert (write.attempts, write.last_error) == (2, "git timed out")


def test_a_write_that_only_a_newer_memrepo_can_read_goes_on_waiting_and_blocks_no_other(store: PrivateStore) -> None:
    strange = add(store)
    readable = add(store, Candidate("fact"))
    with store.writing() as connection:
        record = json.dumps({**json.loads(write_record(CANDIDATE, TASK)), "version": 99})
        connection.execute(sa.update(pending).where(pending.c.id == strange).values(record=record))
    assert [write.id for write in store.pending.list(ROOT)] == [readable]
    assert store.pending.count(ROOT) == 2


def test_the_users_messages_and_the_quote_are_not_kept(tmp_path: Path, store: PrivateStore) -> None:
    """They may hold secrets: only the fact itself was searched for them."""
    add(
        store,
        dataclasses.replace(CANDIDATE, claims_user=True, quote="my password is hunter2"),
        dataclasses.replace(TASK, user_messages=("my password is hunter2, remember the greeting",)),
    )
    (write,) = store.pending.list(ROOT)
    assert (write.candidate.quote, write.task.user_messages, write.candidate.claims_user) == (None, (), True)
    store.close()
    assert b"hunter2" not in (tmp_path / "store.db").read_bytes()


def test_every_field_of_a_candidate_a_task_and_a_workspace_is_kept_or_left_out_on_purpose() -> None:
    record = json.loads(write_record(CANDIDATE, TASK))
    left_out = {"quote", "user_messages"}

    def fields(kind: type) -> set[str]:
        return {field.name for field in dataclasses.fields(kind)}

    assert set(record["candidate"]) == fields(Candidate) - left_out
    assert set(record["task"]) == fields(TaskContext) - left_out
    assert set(record["candidate"]["workspace"]) == fields(Workspace)


WORKSPACES = st.builds(
    Workspace,
    id=st.text(),
    name=st.text(),
    root=st.none() | st.sampled_from([Path("/a b"), Path("/ü")]),
    memory_enabled=st.booleans(),
    privacy=st.sampled_from(Privacy),
)


@given(
    st.builds(
        Candidate,
        text=st.text(),
        kind=st.sampled_from(Kind),
        scope=st.sampled_from(Scope),
        subject=st.none() | st.text(),
        pin=st.booleans(),
        source=st.none() | st.text(),
        added=st.none() | st.dates(),
        claims_user=st.booleans(),
        explicit=st.booleans(),
        private=st.booleans(),
        workspace=st.none() | WORKSPACES,
    ),
    st.builds(
        TaskContext,
        task_id=st.none() | st.text(),
        actor=st.sampled_from(Actor),
        origin=st.sampled_from(Origin),
        workspace=st.none() | WORKSPACES,
        gateway=st.sampled_from(Gateway),
        role=st.sampled_from(Role),
        taint=st.sampled_from(Taint),
        no_memory=st.booleans(),
        retains_memory=st.booleans(),
        sender_is_owner=st.booleans(),
        sender_ref=st.none() | st.text(),
        user_confirmed=st.booleans(),
    ),
)
def test_a_record_is_read_back_as_it_was_written(candidate: Candidate, task: TaskContext) -> None:
    assert read_record(write_record(candidate, task)) == (candidate, task)
