"""A write journal that cannot be understood stops writing, says which command mends it, and is never thrown away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.kit.memory import USER, Memory
from tests.kit.repos import porcelain

from memrepo.errors import RepositoryFault
from memrepo.journal import JOURNAL_NAME, set_journal_aside
from memrepo.model import Kind, Reason, WriteStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

WHOLE: Mapping[str, object] = {
    "version": 1, "subject": "Remember", "origin": "cli", "task": None, "dream": None,
    "changes": [{"path": "me.md", "before": None, "data": "IyBNZQo="}],
}  # fmt: skip


def change(**values: object) -> dict[str, object]:
    return {**WHOLE, "changes": [{"path": "me.md", "before": None, "data": "IyBNZQo=", **values}]}


DAMAGED = {
    "empty": b"",
    "cut-short": json.dumps(WHOLE).encode()[:60],
    "no-text": b"\xff\xfe\x00",
    "a-list": b"[]",
    "nested-without-end": b"[" * 100_000,
    "another-version": json.dumps({**WHOLE, "version": 99}).encode(),
    "no-changes": json.dumps({key: value for key, value in WHOLE.items() if key != "changes"}).encode(),
    "a-subject-that-is-no-text": json.dumps({**WHOLE, "subject": 5}).encode(),
    "an-unknown-origin": json.dumps({**WHOLE, "origin": "moon"}).encode(),
    "a-path-out-of-the-folder": json.dumps(change(path="../secrets.md")).encode(),
    "a-path-into-git": json.dumps(change(path=".git/config")).encode(),
    "a-path-that-is-no-text": json.dumps(change(path=["me.md"])).encode(),
    "a-digest-that-is-no-text": json.dumps(change(before=7)).encode(),
    "bytes-that-are-none": json.dumps(change(data="!!!")).encode(),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_journal_stops_writing_is_named_and_kept_and_no_fact_is_lost(memory: Memory, data: bytes) -> None:
    memory.say("Prefers tabs")
    journal = memory.root / ".git" / JOURNAL_NAME
    journal.write_bytes(data)
    with pytest.raises(RepositoryFault) as caught, memory.writer.hold():
        pass
    assert caught.value.facts["invariant"] == "journal"
    assert "memrepo doctor --fix" in caught.value.hint
    kept = memory.say("Lives in Berlin")
    assert (kept.status, kept.reason) == (WriteStatus.KEPT, Reason.UNAVAILABLE)
    assert "memrepo doctor --fix" in kept.detail
    assert journal.read_bytes() == data
    assert memory.texts("me.md") == ["Prefers tabs"]

    name = set_journal_aside(memory.root / ".git")
    assert name is not None
    assert (memory.root / ".git" / name).read_bytes() == data
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.texts("me.md") == ["Prefers tabs", "Lives in Berlin"]
    assert porcelain(memory.root) == []


def test_two_damaged_journals_are_both_kept(memory: Memory) -> None:
    names = set()
    for data in (b"one", b"two"):
        (memory.root / ".git" / JOURNAL_NAME).write_bytes(data)
        names.add(set_journal_aside(memory.root / ".git"))
    assert len(names) == 2
    assert set_journal_aside(memory.root / ".git") is None


def test_compaction_proves_nothing_while_a_journal_that_was_set_aside_is_left(memory: Memory) -> None:
    memory.say("Prefers tabs")
    (memory.root / ".git" / JOURNAL_NAME).write_bytes(b'{"changes": "cHJlZmVycyB0YWJz')
    name = set_journal_aside(memory.root / ".git")
    report = memory.history.compact(USER)
    assert not report.is_proven
    assert report.kept == (f".git/{name}",)
    (memory.root / ".git" / str(name)).unlink()
    assert memory.history.compact(USER).is_proven
