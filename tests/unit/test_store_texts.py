"""The proof of forgetting: what a table still holds, and that removed texts leave no byte behind."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.format.entries import content_hash
from memrepo.model import Author, Candidate, Kind, Reason, Scope, TaskContext
from memrepo.store import ItemFilter, TextFinding, open_store
from memrepo.store.texts import TextIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.store import PrivateStore

SECRET = 'Grüße an "Zoë" \\ 你好'
TASK = TaskContext(task_id="t1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[PrivateStore]:
    opened = open_store(f"sqlite:///{path}", now_ms=lambda: 1, busy_wait_s=0)
    yield opened
    opened.close()


def raw_bytes(path: Path) -> bytes:
    """All that is on disk of a store. Reading beside SQLite drops its locks: only where nobody else writes."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def holds(path: Path, text: str) -> bool:
    escaped = text.encode("ascii", "backslashreplace")
    data = raw_bytes(path)
    return text.encode() in data or escaped in data


def keep_item(store: PrivateStore, text: str, *, subject: str | None = None) -> int:
    candidate = Candidate(text, scope=Scope.CONTACT, subject=subject)
    return store.items.keep(candidate, TASK, by=Author.USER, content_hash=content_hash(text)).id


def keep_everywhere(store: PrivateStore, text: str) -> None:
    keep_item(store, text)
    store.archive.add(Candidate(text, kind=Kind.NOTE), TASK, by=Author.AGENT, content_hash=content_hash(text))
    store.pending.add(Candidate(text), TASK, root="/r", by=Author.USER, reason=Reason.BUSY, detail="")


def test_a_text_is_found_in_every_table_that_holds_it(store: PrivateStore) -> None:
    keep_everywhere(store, f"Send {SECRET} tomorrow")
    assert store.search_texts(["absent", SECRET]) == (
        TextFinding(1, "archive"),
        TextFinding(1, "memory_items"),
        TextFinding(1, "pending"),
    )


def test_a_text_is_found_in_a_subject_and_a_source_too(store: PrivateStore) -> None:
    keep_item(store, "Lives in Porto", subject="zoë")
    store.pending.add(
        Candidate("fact", source="https://example.org/zoë"),
        TASK,
        root="/r",
        by=Author.USER,
        reason=Reason.BUSY,
        detail="",
    )
    assert store.search_texts(["zoë"]) == (TextFinding(0, "memory_items"), TextFinding(0, "pending"))


def test_the_stores_own_words_are_no_findings(store: PrivateStore) -> None:
    keep_everywhere(store, "Likes tea")
    assert store.search_texts(["agent", "contact", "active", "busy", "text", "candidate", "t1", ""]) == ()


def test_purging_removes_a_fact_everywhere_and_leaves_no_byte_of_it_on_disk(store: PrivateStore, path: Path) -> None:
    keep_everywhere(store, SECRET)
    keep_item(store, "Likes tea")
    assert holds(path, SECRET)
    purged = store.purge_texts([f"  {SECRET}.", "absent"])
    assert (purged.rows, purged.is_erased, purged.why) == (3, True, "")
    assert store.search_texts([SECRET]) == store.search_file([SECRET]) == ()
    assert not holds(path, SECRET)
    assert not holds(path, "你好")
    assert [item.content for item in store.items.list()] == ["Likes tea"]


def test_purging_a_short_text_leaves_the_facts_that_only_contain_it(store: PrivateStore) -> None:
    keep_item(store, "Uses git")
    keep_item(store, "Git is hosted at example.org")
    assert store.purge_texts(["uses git"]).rows == 1
    assert store.purge_texts(["git"]).rows == 0
    assert [item.content for item in store.items.list()] == ["Git is hosted at example.org"]


def test_a_forgotten_item_leaves_no_byte_even_among_rows_that_moved(store: PrivateStore, path: Path) -> None:
    """Pages are split and filled again as rows come and go: copies of a row stay in their unused parts."""
    for number in range(400):
        keep_item(store, f"fact {number} " + "x" * (number * 37 % 300), subject=f"subject {number % 90}")
    doomed = keep_item(store, f"{SECRET} " + "y" * 200)
    store.items.forget_where(ItemFilter(contains="fact 7"))
    store.items.forget(doomed)
    assert not holds(path, SECRET)
    assert not holds(path, "fact 7 ")


def test_what_a_replay_took_out_can_be_erased_too(store: PrivateStore, path: Path) -> None:
    waiting = store.pending.add(Candidate(SECRET), TASK, root="/r", by=Author.USER, reason=Reason.BUSY, detail="")
    store.pending.remove(waiting)
    assert store.search_texts([SECRET]) == ()
    assert store.erase_deleted().is_erased
    assert store.search_file([SECRET]) == ()
    assert not holds(path, "你好")


def test_deleted_bytes_that_are_still_there_are_found(path: Path, store: PrivateStore) -> None:
    keep_item(store, "Likes tea")
    store.close()
    with sqlite3.connect(path) as connection:  # a program that does not overwrite what it deletes
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute("DELETE FROM memory_items")
    connection.close()
    reopened = open_store(f"sqlite:///{path}")
    assert reopened.search_texts(["Likes tea"]) == ()
    assert reopened.search_file(["absent", "Likes tea"]) == (TextFinding(1, "file"),)
    assert reopened.erase_deleted().is_erased
    assert reopened.search_file(["Likes tea"]) == ()
    reopened.close()


def test_erasing_says_when_another_process_is_in_the_way_and_works_later(store: PrivateStore, path: Path) -> None:
    keep_item(store, SECRET)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory_items").fetchone()
    purged = store.purge_texts([SECRET])
    assert (purged.rows, purged.is_erased, purged.why) == (1, False, "another process holds it")
    assert store.search_texts([SECRET]) == ()
    reader.close()
    assert store.erase_deleted().is_erased
    assert not holds(path, SECRET)


@given(
    st.lists(st.text(alphabet="abß ", max_size=6), max_size=60),
    st.lists(st.text(alphabet="abß ", max_size=30), max_size=5),
)
def test_many_texts_are_found_as_one_by_one(texts: list[str], held: list[str]) -> None:
    index = TextIndex(texts)
    for one in held:
        assert index.find(one) == {number for number, text in enumerate(texts) if text and text in one}
