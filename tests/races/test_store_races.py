"""Real processes on one store: none fails to open it, none loses a fact, and a rule holds whoever comes second."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.kit.forked import Child, Gate, gates

from memrepo.format.entries import content_hash
from memrepo.model import Author, Candidate, Reason, Scope, TaskContext
from memrepo.store import open_store, schema

if TYPE_CHECKING:
    from pathlib import Path

    import sqlalchemy as sa

    from memrepo.store import PrivateStore

ROOT = "/r"


def open_at(path: Path) -> PrivateStore:
    return open_store(f"sqlite:///{path}", now_ms=lambda: 1, busy_wait_s=60)


def add(store: PrivateStore, text: str) -> int:
    return store.pending.add(Candidate(text), TaskContext(), root=ROOT, by=Author.USER, reason=Reason.BUSY, detail="")


def keep(store: PrivateStore, text: str, *, subject: str | None = None, by: Author = Author.AGENT) -> None:
    candidate = Candidate(text, scope=Scope.CONTACT, subject=subject)
    store.items.keep(candidate, TaskContext(sender_ref="ann"), by=by, content_hash=content_hash(text))


@pytest.mark.parametrize("attempt", range(5))
def test_many_processes_open_a_new_store_at_once_and_each_keeps_its_facts(tmp_path: Path, attempt: int) -> None:
    path = tmp_path / f"{attempt}" / "store.db"
    with gates(1) as (start,):

        def work(number: int) -> None:
            start.wait()
            with closing(open_at(path)) as store:
                for fact in range(10):
                    add(store, f"fact {number}.{fact}")

        workers = [Child(lambda number=number: work(number)) for number in range(6)]  # type: ignore[misc]
        start.open_for(len(workers))
        assert [worker.wait() for worker in workers] == [0] * len(workers)
    with closing(open_at(path)) as store:
        kept = [write.candidate.text for write in store.pending.list(ROOT)]
        assert sorted(kept) == sorted(f"fact {number}.{fact}" for number in range(6) for fact in range(10))
        for number in range(6):
            own = [text for text in kept if text.startswith(f"fact {number}.")]
            assert own == sorted(own)  # each in its order
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT number FROM schema_steps").fetchall() == [(1,), (2,)]


def test_a_step_that_two_processes_want_to_run_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    open_at(path).close()

    def open_with(step_is_running: Gate, go: Gate) -> None:
        def count(connection: sa.Connection) -> None:
            connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS counted (x INTEGER)")
            connection.exec_driver_sql("INSERT INTO counted VALUES (1)")
            step_is_running.open_for()
            go.wait()

        monkeypatch.setattr("memrepo.store.opening.STEPS", (*schema.STEPS, count))
        open_at(path).close()

    with gates(2) as (step_is_running, go):
        first = Child(lambda: open_with(step_is_running, go))
        step_is_running.wait()
        # The second finds the old version, and waits for the lock that the first holds.
        second = Child(lambda: open_with(step_is_running, go))
        go.open_for(2)
        assert [first.wait(), second.wait()] == [0, 0]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM counted").fetchone() == (1,)
        assert connection.execute("SELECT number FROM schema_steps ORDER BY 1").fetchall() == [(1,), (2,), (3,)]


def test_the_same_fact_from_many_processes_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_at(path).close()
    with gates(1) as (start,):

        def work(by: Author) -> None:
            with closing(open_at(path)) as store:
                start.wait()
                add(store, "Likes tea")
                keep(store, "Likes tea")
                keep(store, f"Drinks as {by} said", subject="drink", by=by)

        workers = [Child(lambda by=by: work(by)) for by in (Author.AGENT, Author.USER) * 3]  # type: ignore[misc]
        start.open_for(len(workers))
        assert [worker.wait() for worker in workers] == [0] * len(workers)
    with closing(open_at(path)) as store:
        assert store.pending.count(ROOT) == 1
        # Whoever came last, the user's word stands.
        assert sorted(item.content for item in store.items.list()) == ["Drinks as user said", "Likes tea"]


def test_a_grant_is_taken_by_one_of_many(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    act = {"content_hash": "h", "task_id": "t"}
    with closing(open_at(path)) as store:
        store.approvals.grant(store.approvals.request("memory_delete", "repo:me.md#L1", **act))
    with gates(1) as (start,):

        def take() -> int:
            with closing(open_at(path)) as store:
                start.wait()
                return 11 if store.approvals.take_granted("memory_delete", "repo:me.md#L1", **act) else 12

        takers = [Child(take) for _ in range(4)]
        start.open_for(len(takers))
        assert sorted(taker.wait() for taker in takers) == [11, 12, 12, 12]


def test_a_reader_sees_one_state_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(open_at(path)) as store:
        add(store, "fact 1")
        with store.reading() as connection:
            count = "SELECT count(*) FROM pending"
            assert connection.exec_driver_sql(count).scalar() == 1

            def write() -> None:
                with closing(open_at(path)) as other:
                    add(other, "fact 2")

            # A fork would share this connection; the child opens its own and never uses ours.
            assert Child(write).wait() == 0
            assert connection.exec_driver_sql(count).scalar() == 1
        assert store.pending.count(ROOT) == 2
