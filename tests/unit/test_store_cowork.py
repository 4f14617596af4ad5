"""Reading and changing the database of another program: rows as they are, and every fault by its name."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.kit.cowork import SEPTEMBER_MS, add_rows, make_cowork, make_row, read_all, read_texts, search
from tests.kit.forked import Child, Gate, gates
from tests.kit.mounts import read_only

from memrepo.errors import NotFound, RepositoryFault, SourceBusy, SourceFault
from memrepo.store.cowork import changing, read_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_cowork(tmp_path / "cowork.db", [make_row("Prefers tabs"), make_row("Drinks tea")])


def snapshot(folder: Path) -> dict[str, bytes]:
    """The bytes of the files in a folder, without the side files that SQLite makes for any reader."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(("-shm", "-wal"))}


def test_a_row_is_read_with_whose_word_it_is_when_and_where_it_holds(tmp_path: Path) -> None:
    row = make_row(
        "Deploys go through staging",
        source="curated",
        trust=0.85,
        scope="workspace",
        workspace_id="ws-uuid-1",
        subject_key="deploys",
        pinned=1,
        task_id="t-7",
        kind="rule",
    )
    table = read_table(make_cowork(tmp_path / "c.db", [row]))
    (found,) = table.rows
    assert (found.content, found.kind, found.scope, found.workspace_id) == (
        "Deploys go through staging",
        "rule",
        "workspace",
        "ws-uuid-1",
    )
    assert (found.provenance, found.subject, found.is_pinned, found.task_id) == ("curated", "deploys", True, "t-7")
    assert (found.created_at_ms, found.status, found.privacy, found.is_readable) == (
        SEPTEMBER_MS,
        "active",
        "normal",
        True,
    )
    assert table.workspace_names == {"ws-uuid-1": "Billing Service"}


def test_a_subject_that_the_host_made_up_from_the_text_is_none(database: Path) -> None:
    assert [row.subject for row in read_table(database).rows] == [None, None]


def test_rows_come_oldest_first(tmp_path: Path) -> None:
    rows = [make_row("second", created_at=2), make_row("first", created_at=1), make_row("third", created_at=3)]
    assert [row.content for row in read_table(make_cowork(tmp_path / "c.db", rows)).rows] == [
        "first",
        "second",
        "third",
    ]


def test_reading_changes_nothing(database: Path) -> None:
    before = snapshot(database.parent)
    read_table(database)
    assert snapshot(database.parent) == before


def test_a_database_with_an_open_write_transaction_is_read_as_it_was_committed(database: Path) -> None:
    def hold(ready: Gate, end: Gate) -> None:
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE memory_items SET content = 'half-way'")
            ready.open_for()
            end.wait()

    with gates(2) as (ready, end):
        child = Child(lambda: hold(ready, end))
        ready.wait()
        texts = sorted(row.content for row in read_table(database).rows)
        end.open_for()
        assert child.wait() == 0
    assert texts == ["Drinks tea", "Prefers tabs"]


def test_what_stands_in_the_log_of_a_running_host_is_read_too(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as host:
        host.execute("PRAGMA wal_autocheckpoint=0")
        host.execute("UPDATE memory_items SET content = 'Drinks coffee' WHERE content = 'Drinks tea'")
        assert sorted(row.content for row in read_table(database).rows) == ["Drinks coffee", "Prefers tabs"]


def test_a_database_in_a_folder_that_cannot_be_written_is_read(database: Path) -> None:
    with read_only(database.parent):
        assert len(read_table(database).rows) == 2


def test_bytes_that_are_no_utf_8_and_text_that_is_none_are_told_and_not_guessed(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE memory_items SET content = CAST(x'ff41' AS TEXT) WHERE content = 'Prefers tabs'")
        connection.execute("UPDATE memory_items SET content = x'0041' WHERE content = 'Drinks tea'")
    assert [row.is_readable for row in read_table(database).rows] == [False, False]


def test_strange_values_in_other_columns_are_read_as_nothing(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "UPDATE memory_items SET created_at = 'yesterday', source_ref = '[[[', task_id = x'07', pinned = 'yes'"
        )
    row = read_table(database).rows[0]
    assert (row.created_at_ms, row.link, row.task_id, row.is_pinned) == (None, None, None, False)


@pytest.mark.parametrize("name", ["nothing.db", "folder"])
def test_what_is_not_there_is_not_found_and_not_made(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotFound, match=name):
        read_table(tmp_path / name)
    assert not (tmp_path / "nothing.db").exists()


def fault_of(path: Path) -> SourceFault:
    with pytest.raises(SourceFault) as caught:
        read_table(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert caught.value.facts["path"] == str(path)
    return caught.value


@pytest.mark.parametrize("data", [b"# Notes\n" * 500, os.urandom(8192)], ids=["text", "encrypted"])
def test_what_is_no_database_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "c.db"
    path.write_bytes(data)
    fault = fault_of(path)
    assert fault.facts["invariant"] == "source-no-database"
    assert path.read_bytes() == data


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    path = make_cowork(tmp_path / "c.db", [make_row(f"Fact {number} " + "x" * 900) for number in range(40)])
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x7f" * (len(data) - 4096)
    path.write_bytes(data)
    assert fault_of(path).facts["invariant"] == "source-damaged"


def test_another_version_is_told_by_the_columns_that_it_lacks(tmp_path: Path) -> None:
    fault = fault_of(make_cowork(tmp_path / "c.db", without=("privacy", "subject_key")))
    assert fault.facts["invariant"] == "source-other-version"
    assert fault.facts["missing"] == ["subject_key", "privacy"]
    assert "subject_key, privacy" in fault.message


def test_a_database_without_the_table_says_so(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE other (id)")
    assert fault_of(path).facts["missing"] == ["memory_items"]


def test_an_empty_file_has_no_table(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    path.touch()
    assert fault_of(path).facts["missing"] == ["memory_items"]


def test_a_database_that_another_holds_for_itself_alone_is_busy(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as host:
        host.execute("PRAGMA journal_mode=DELETE")
        host.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SourceBusy, match="another program holds"):
            read_table(database, busy_wait_s=0)


def test_a_change_waits_for_no_writer_longer_than_it_was_told(database: Path) -> None:
    before = read_all(database)
    with closing(sqlite3.connect(database, isolation_level=None)) as host:
        host.execute("BEGIN IMMEDIATE")
        with pytest.raises(SourceBusy), changing(database, checks_references=False, busy_wait_s=0) as change:
            change.remove([row.id for row in change.read().rows])
        host.execute("ROLLBACK")
    assert read_all(database) == before


def test_rows_are_removed_from_the_table_and_from_the_hosts_search_and_come_back_as_they_were(database: Path) -> None:
    before = read_all(database)
    with changing(database, checks_references=False) as change:
        table = change.read()
        tea = next(row for row in table.rows if row.content == "Drinks tea")
        change.remove([tea.id])
    assert read_texts(database) == ["Prefers tabs"]
    assert search(database, "tea") == []
    for restored, present in ((1, 0), (0, 1)):
        with changing(database, checks_references=True) as change:
            done = change.put_back(table.columns, [tea.values])
        assert (done.restored, done.present, done.displaced) == (restored, present, 0)
        assert [row[1:] for row in read_all(database)] == [row[1:] for row in before]
        assert search(database, "tea") == ["Drinks tea"]


def remove_and_fail(database: Path) -> None:
    with changing(database, checks_references=False) as change:
        change.remove([change.read().rows[0].id])
        raise RepositoryFault("the backup failed")


def test_an_error_inside_takes_every_removal_back(database: Path) -> None:
    before = read_all(database)
    with pytest.raises(SourceFault), changing(database, checks_references=False) as change:
        change.remove([change.read().rows[0].id, "no such row"])
    with pytest.raises(RepositoryFault):
        remove_and_fail(database)
    assert read_all(database) == before


_TAKES_ALONG = {
    "rows of the table": "DELETE FROM memory_items WHERE content = 'Prefers tabs'",
    "values of its rows": "UPDATE memory_items SET content = 'Prefers nothing' WHERE content = 'Prefers tabs'",
    "rows of another table": "DELETE FROM workspaces",
}


@pytest.mark.parametrize("act", _TAKES_ALONG.values(), ids=_TAKES_ALONG)
def test_rows_that_a_trigger_takes_along_are_not_lost(database: Path, act: str) -> None:
    with closing(sqlite3.connect(database)) as host, host:
        host.execute(f"CREATE TRIGGER takes AFTER DELETE ON memory_items BEGIN {act}; END")
    before, workspaces = read_all(database), read_table(database).workspace_names
    with pytest.raises(SourceFault, match="trigger") as caught, changing(database, checks_references=False) as change:
        change.remove([row.id for row in change.read().rows if row.content == "Drinks tea"])
    assert caught.value.facts["invariant"] == "source-trigger"
    assert "nothing was changed" in caught.value.message
    assert read_all(database) == before
    assert read_table(database).workspace_names == workspaces


def test_a_trigger_that_only_notes_removals_is_no_loss(database: Path) -> None:
    with closing(sqlite3.connect(database)) as host, host:
        host.execute("CREATE TABLE removals (id TEXT)")
        host.execute("CREATE TRIGGER n AFTER DELETE ON memory_items BEGIN INSERT INTO removals VALUES (OLD.id); END")
    with changing(database, checks_references=False) as change:
        change.remove([row.id for row in change.read().rows if row.content == "Drinks tea"])
    assert read_texts(database) == ["Prefers tabs"]


def test_a_row_whose_text_is_active_again_keeps_its_place(database: Path) -> None:
    with changing(database, checks_references=False) as change:
        table = change.read()
        change.remove([row.id for row in table.rows])
    add_rows(database, [make_row("Drinks tea", id="another")])
    with changing(database, checks_references=True) as change:
        done = change.put_back(table.columns, [row.values for row in table.rows])
    assert (done.restored, done.present, done.displaced) == (1, 0, 1)
    assert read_texts(database) == ["Drinks tea", "Prefers tabs"]


def test_a_row_whose_workspace_is_gone_is_not_put_back(tmp_path: Path) -> None:
    row = make_row("Uses make", scope="workspace", workspace_id="ws-uuid-1")
    path = make_cowork(tmp_path / "c.db", [row])
    with changing(path, checks_references=False) as change:
        table = change.read()
        change.remove([table.rows[0].id])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM workspaces")
    with changing(path, checks_references=True) as change:
        assert change.put_back(table.columns, [table.rows[0].values]).displaced == 1
    assert read_texts(path) == []


def test_nothing_is_put_into_a_table_that_lost_a_column(database: Path) -> None:
    with (
        pytest.raises(SourceFault, match="gone_since"),
        changing(database, checks_references=True) as change,
    ):
        change.put_back(("id", "gone_since"), [("x", 1)])


def test_nothing_is_written_into_a_damaged_table(tmp_path: Path) -> None:
    path = make_cowork(tmp_path / "c.db", [make_row(f"Fact {number} " + "x" * 900) for number in range(60)])
    data = bytearray(path.read_bytes())
    data[-20 * 4096 :] = b"\x7f" * (20 * 4096)
    path.write_bytes(data)
    with pytest.raises(SourceFault) as caught, changing(path, checks_references=False):
        pytest.fail("a change was begun")
    assert caught.value.facts["invariant"] == "source-damaged"
    assert path.read_bytes() == bytes(data)


@pytest.mark.parametrize(
    "columns",
    [
        {"source": "third_party", "trust": "user_stated"},
        {"source": "third_party", "trust": "inferred"},
        {"source": "user_stated", "trust": "third_party"},
        {"source": "third_party", "trust": 1.0},
    ],
)
def test_a_stranger_s_words_are_a_stranger_s_in_whichever_column_it_says_so(
    tmp_path: Path, columns: dict[str, object]
) -> None:
    path = make_cowork(tmp_path / "cowork.db", [make_row("Allows every transfer", **columns)])
    assert [row.provenance for row in read_table(path).rows] == ["third_party"]


def test_an_end_that_cannot_be_read_makes_no_lasting_fact(tmp_path: Path) -> None:
    path = make_cowork(tmp_path / "cowork.db", [make_row("Is away", expires_at="2020-01-01T00:00:00Z")])
    assert [row.is_readable for row in read_table(path).rows] == [False]
