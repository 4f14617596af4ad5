"""memrepo retire and restore: which rows go, what is proven before, and how they come back."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kit.cowork import add_rows, make_cowork, make_row, read_all, read_texts, search
from tests.kit.faulty_os import FaultyOs
from tests.kit.forked import Child, Gate, gates
from tests.kit.repos import head_of

from memrepo import backups, retirement
from memrepo.files import folder as folder_module
from memrepo.store import cowork
from memrepo.surfaces.cli.entry import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.kit.program import HereProgram

FACTS = [
    make_row("Answers to Sam", kind="identity", subject_key="preferred_name", source="user_confirmed", pinned=1),
    make_row("Prefers bullet points"),
    make_row("Deploys through staging", scope="workspace", workspace_id="ws-uuid-1", task_id="t-7", last_used_at=12),
]
OTHERS = [
    make_row("Bob asked about invoices", scope="contact", scope_ref="bob", source="third_party"),
    make_row("Takes medicine", privacy="private", source="user_stated"),
    make_row("Send the report by Friday", kind="commitment", source="user_stated"),
    make_row("Used to live in Porto", status="superseded"),
]
LEFT = sorted(row["content"] for row in OTHERS)
EVERYTHING = sorted(row["content"] for row in [*FACTS, *OTHERS])


@pytest.fixture
def database(tmp_path: Path, memrepo: HereProgram) -> Path:
    """A database whose facts the folder holds."""
    path = make_cowork(tmp_path / "cowork.db", [*FACTS, *OTHERS])
    assert memrepo("export", "--from", "cowork.db").status == 0
    return path


def backup_of(memrepo: HereProgram) -> str:
    told = memrepo("retire", "--from", "cowork.db", "--json")
    assert told.status == 0
    return str(told.document["backup"])


def test_what_the_folder_holds_goes_and_the_rest_stays(memrepo: HereProgram, database: Path) -> None:
    head = head_of(memrepo.root)
    document = memrepo("retire", "--from", "cowork.db", "--json").document
    assert document["retired"] == 3
    assert {row["reason"]: row["count"] for row in document["stayed"]} == {
        "third_party": 1,
        "private": 1,
        "commitment": 1,
        "not_active": 1,
    }
    assert read_texts(database) == LEFT
    assert search(database, "bullet") == []
    assert head_of(memrepo.root) == head


def test_rows_that_a_trigger_would_take_along_stop_a_retirement_and_leave_no_backup(
    memrepo: HereProgram, database: Path
) -> None:
    with closing(sqlite3.connect(database)) as host, host:
        host.execute(
            "CREATE TRIGGER takes AFTER DELETE ON memory_items BEGIN "
            "DELETE FROM memory_items WHERE privacy = 'private'; END"
        )
    told = memrepo("retire", "--from", "cowork.db")
    assert told.status == 6
    assert "other rows of memory_items went too (1)" in told.err
    assert read_texts(database) == EVERYTHING
    assert not list(memrepo.home.rglob("backups/*"))


def test_the_backup_is_for_its_owner_alone_and_cannot_be_read(memrepo: HereProgram, database: Path) -> None:
    place = Path(backup_of(memrepo))
    key = place.parents[1] / "backup.key"
    assert place.is_relative_to(memrepo.home / ".memrepo" / "data")
    assert [path.stat().st_mode & 0o077 for path in (place, key, place.parent)] == [0, 0, 0]
    assert not any(row["content"].encode() in place.read_bytes() for row in FACTS)


def test_rows_come_back_as_they_were_and_only_once(memrepo: HereProgram, database: Path) -> None:
    before = [row[1:] for row in read_all(database)]
    backup = backup_of(memrepo)
    told = memrepo("restore", backup)
    assert (told.status, told.out) == (0, "put back 3 rows, 0 were there\n")
    assert [row[1:] for row in read_all(database)] == before
    assert search(database, "bullet") == ["Prefers bullet points"]
    told = memrepo("restore", backup)
    assert (told.status, told.out) == (0, "put back 0 rows, 3 were there\n")
    assert [row[1:] for row in read_all(database)] == before


def test_a_row_whose_text_is_active_again_is_left_out_and_counted(memrepo: HereProgram, database: Path) -> None:
    backup = backup_of(memrepo)
    add_rows(database, [make_row("Prefers bullet points", id="anew")])
    document = memrepo("restore", backup, "--json").document
    assert (document["restored"], document["present"], document["displaced"]) == (2, 0, 1)
    assert read_texts(database).count("Prefers bullet points") == 1


def test_rows_go_into_another_database_when_it_is_named(memrepo: HereProgram, database: Path) -> None:
    backup = backup_of(memrepo)
    moved = make_cowork(memrepo.home / "moved.db")
    assert memrepo("restore", backup, "--into", "moved.db").status == 0
    assert read_texts(moved) == sorted(row["content"] for row in FACTS)
    assert read_texts(database) == LEFT


def test_a_second_retirement_finds_nothing_and_makes_no_backup(memrepo: HereProgram, database: Path) -> None:
    first = Path(backup_of(memrepo))
    document = memrepo("retire", "--from", "cowork.db", "--json").document
    assert (document["retired"], document["backup"]) == (0, None)
    assert list(first.parent.iterdir()) == [first]


def test_a_dry_run_counts_and_changes_nothing(memrepo: HereProgram, database: Path) -> None:
    before = read_all(database)
    told = memrepo("retire", "--from", "cowork.db", "--dry-run")
    assert told.lines[0] == "would remove 3 rows"
    assert read_all(database) == before
    assert not list((memrepo.home / ".memrepo").rglob("backup*"))


def test_before_an_export_nothing_is_retired(memrepo: HereProgram, tmp_path: Path) -> None:
    path = make_cowork(tmp_path / "cowork.db", FACTS)
    memrepo("remember", "Prefers bullet points")
    for more in ((), ("--dry-run",)):
        told = memrepo("retire", "--from", "cowork.db", "--json", *more)
        error = told.document["error"]
        assert (told.status, error["facts"]["rule"]) == (3, "export-first")
        assert error["hint"] == "memrepo export --from FILE"
    assert len(read_texts(path)) == 3


def test_a_fact_that_was_removed_from_the_folder_stays_in_the_database(memrepo: HereProgram, database: Path) -> None:
    memrepo("forget", "Prefers bullet points")
    assert memrepo("retire", "--from", "cowork.db", "--json").document["retired"] == 2
    assert read_texts(database) == sorted([*LEFT, "Prefers bullet points"])


def test_a_backup_goes_where_it_is_told_and_takes_no_files_place(memrepo: HereProgram, database: Path) -> None:
    (memrepo.home / "taken").write_bytes(b"mine")
    told = memrepo("retire", "--from", "cowork.db", "--backup", "taken")
    assert told.status == 2
    assert (memrepo.home / "taken").read_bytes() == b"mine"
    assert read_texts(database) == EVERYTHING
    assert memrepo("retire", "--from", "cowork.db", "--backup", "mine.backup").status == 0
    assert memrepo("restore", "mine.backup").out == "put back 3 rows, 0 were there\n"


def test_a_backup_never_stands_in_the_memory_folder(memrepo: HereProgram, database: Path) -> None:
    told = memrepo("retire", "--from", "cowork.db", "--backup", str(memrepo.root / "facts.backup"), "--json")
    assert (told.status, told.document["error"]["facts"]["rule"]) == (2, "inside-memory")
    assert not (memrepo.root / "facts.backup").exists()
    assert read_texts(database) == EVERYTHING


def test_rows_are_retired_and_put_back_while_the_host_has_the_database_open(
    memrepo: HereProgram, database: Path
) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as host:
        host.execute("SELECT count(*) FROM memory_items").fetchone()
        backup = backup_of(memrepo)
        assert host.execute("SELECT count(*) FROM memory_items").fetchone() == (4,)
        assert memrepo("restore", backup).status == 0
        assert host.execute("SELECT count(*) FROM memory_items").fetchone() == (7,)


def test_a_database_that_the_host_writes_to_is_busy_and_nothing_is_left_behind(
    memrepo: HereProgram, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cowork.changing.__wrapped__, "__kwdefaults__", {"busy_wait_s": 0})  # type: ignore[attr-defined]

    def hold(ready: Gate, end: Gate) -> None:
        with closing(sqlite3.connect(database, isolation_level=None)) as host:
            host.execute("BEGIN IMMEDIATE")
            ready.open_for()
            end.wait()

    with gates(2) as (ready, end):
        child = Child(lambda: hold(ready, end))
        ready.wait()
        told = memrepo("retire", "--from", "cowork.db", "--json")
        end.open_for()
        child.wait()
    error = told.document["error"]
    assert (told.status, error["code"], bool(error["hint"])) == (5, "source-busy", True)
    assert read_texts(database) == EVERYTHING
    assert not list((memrepo.home / ".memrepo").rglob("*.backup"))


def test_a_backup_that_does_not_open_removes_nothing(
    memrepo: HereProgram, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(place: Path, data: bytes) -> None:
        place.parent.mkdir(parents=True)
        place.write_bytes(data[: len(data) // 2])

    monkeypatch.setattr(retirement, "write_backup", write_half)
    told = memrepo("retire", "--from", "cowork.db", "--json")
    assert (told.status, told.document["error"]["code"]) == (6, "backup-fault")
    assert read_texts(database) == EVERYTHING
    assert not list((memrepo.home / ".memrepo").rglob("*.backup"))


def test_a_disk_that_fails_at_any_step_of_the_backup_removes_nothing(
    memrepo: HereProgram, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 40):
        monkeypatch.setattr(folder_module, "os", FaultyOs(fail_from=number))
        told = memrepo("retire", "--from", "cowork.db", "--json")
        monkeypatch.setattr(folder_module, "os", os)
        if told.status == 0:
            assert number > 5
            assert read_texts(database) == LEFT
            return
        assert told.status == 6, told
        assert read_texts(database) == EVERYTHING
    pytest.fail("every run failed")


def die(*_: object, **__: object) -> None:
    os._exit(9)


def die_after_the_backup() -> None:
    vars(retirement)["_prove"] = die


def die_before_the_rows_go() -> None:
    cowork.SourceChange.remove = die  # type: ignore[method-assign]


def die_before_the_commit() -> None:
    remove = cowork.SourceChange.remove

    def remove_and_die(self: cowork.SourceChange, ids: Sequence[str | int]) -> None:
        remove(self, ids)
        die()

    cowork.SourceChange.remove = remove_and_die  # type: ignore[method-assign]


@pytest.mark.parametrize("prepare", [die_after_the_backup, die_before_the_rows_go, die_before_the_commit])
def test_a_run_that_was_killed_removes_nothing_and_the_next_one_does_it(
    memrepo: HereProgram, database: Path, prepare: Callable[[], None]
) -> None:
    def run_and_die() -> int:
        prepare()
        return run(["retire", "--from", "cowork.db"])

    assert Child(run_and_die).wait() == 9
    assert read_texts(database) == EVERYTHING
    (leftover,) = (memrepo.home / ".memrepo").rglob("*.backup")
    assert memrepo("restore", str(leftover)).out == "put back 0 rows, 3 were there\n"
    assert memrepo("retire", "--from", "cowork.db", "--json").document["retired"] == 3
    assert read_texts(database) == LEFT


def fault_of(memrepo: HereProgram, *arguments: str) -> str:
    told = memrepo(*arguments, "--json")
    assert told.status == 6
    error = told.document["error"]
    assert error["hint"]
    return str(error["facts"]["invariant"])


def test_a_wrong_key_a_lost_one_a_damaged_backup_and_another_file_are_named_and_nothing_is_put_back(
    memrepo: HereProgram, database: Path
) -> None:
    backup = Path(backup_of(memrepo))
    key = backup.parents[1] / backups.KEY_NAME
    right = key.read_bytes()
    key.write_bytes(b"0" * 64 + b"\n")
    assert fault_of(memrepo, "restore", str(backup)) == "backup-other-key"
    key.unlink()
    assert fault_of(memrepo, "restore", str(backup)) == "backup-key"
    (memrepo.home / "copy.key").write_bytes(right)
    (memrepo.home / "damaged").write_bytes(backup.read_bytes()[:-1] + b"\0")
    assert fault_of(memrepo, "restore", "damaged", "--key", "copy.key") == "backup-damaged"
    assert fault_of(memrepo, "restore", "cowork.db", "--key", "copy.key") == "backup-foreign"
    assert read_texts(database) == LEFT
    assert memrepo("restore", str(backup), "--key", "copy.key").out == "put back 3 rows, 0 were there\n"


def test_a_sealed_file_of_something_else_is_no_backup_of_facts(memrepo: HereProgram, database: Path) -> None:
    key = backups.read_key(Path(backup_of(memrepo)).parents[1] / backups.KEY_NAME)
    for name, content in (("a", b"[]"), ("b", b'{"kind": "photos", "columns": ["id"], "rows": []}'), ("c", b"\xff")):
        (memrepo.home / name).write_bytes(backups.seal(content, key))
        assert fault_of(memrepo, "restore", name, "--into", "cowork.db") == "backup-foreign"


def test_a_database_that_is_gone_is_named_at_a_restore(memrepo: HereProgram, database: Path) -> None:
    backup = backup_of(memrepo)
    database.unlink()
    told = memrepo("restore", backup, "--json")
    assert (told.status, told.document["error"]["code"]) == (2, "not-found")
    assert not database.exists()


def test_rows_of_an_own_private_store_retire_too(memrepo: HereProgram, tmp_path: Path) -> None:
    memrepo("remember", "Pay the rent", "--kind", "commitment")
    memrepo("remember", "Is moving house", "--private")
    store = next((tmp_path / ".memrepo").rglob("private.sqlite3"))
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE memory_items SET privacy = 'normal' WHERE content = 'Is moving house'")
    memrepo("export", "--from", str(store))
    backup = memrepo("retire", "--from", str(store), "--json").document["backup"]
    assert read_texts(store) == ["Pay the rent"]
    memrepo("restore", backup)
    assert read_texts(store) == ["Is moving house", "Pay the rent"]
    assert memrepo("doctor", "--json").document["healthy"]
