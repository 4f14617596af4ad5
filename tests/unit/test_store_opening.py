"""Opening a store: what is made, for whom, by which steps, and what importing it costs."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from memrepo.errors import StoreFault
from memrepo.model import Author, Candidate, Reason, TaskContext
from memrepo.store import check_store, may_have_pending, open_store, schema
from memrepo.store.schema import DATA_TABLES, steps

DOCS = Path(__file__).resolve().parents[2] / "docs" / "store.md"


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def add(path: Path, text: str = "fact") -> None:
    with closing(open_store(url_of(path))) as store:
        store.pending.add(Candidate(text), TaskContext(), root="/r", by=Author.USER, reason=Reason.BUSY, detail="")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_store_and_the_folders_above_it_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "profiles/work/store.db"
    with closing(open_store(url_of(path))) as store:
        store.events.record("x")
        side_files = sorted(path.parent.iterdir())
        assert [file.name for file in side_files] == ["store.db", "store.db-shm", "store.db-wal"]
        assert {mode(file) for file in side_files} == {0o600}
    assert mode(tmp_path / "profiles") == mode(path.parent) == 0o700


def test_a_store_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    add(path)
    path.chmod(0o644)
    add(path, "second")
    assert mode(path) == 0o600


@pytest.mark.parametrize("name", ["a b.db", "what?mode=ro.db", "50%25#x.db", "ü\"'.db"])
def test_all_that_follows_the_prefix_is_the_path(tmp_path: Path, name: str) -> None:
    add(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 0
    assert check_store(tmp_path / name).is_whole


def test_accepted_facts_are_on_the_disk_when_the_call_returns(tmp_path: Path) -> None:
    with closing(open_store(url_of(tmp_path / "store.db"))) as store, store.reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout", "temp_store")
        }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "foreign_keys": 1,
        "secure_delete": 1,
        "busy_timeout": 5_000,
        "temp_store": 2,  # memory
    }


def test_opening_again_changes_nothing_and_waits_for_no_writer(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    add(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with closing(open_store(url_of(path), busy_wait_s=0)) as store:
            assert store.pending.count("/r") == 1


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    add(path)
    assert check_store(path).is_whole


# --- steps


def read_steps(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT number FROM schema_steps ORDER BY number")]


def table_names(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def add_column(connection: sa.Connection) -> None:
    connection.execute(sa.text("CREATE TABLE extra (x INTEGER)"))


def break_half_way(connection: sa.Connection) -> None:
    connection.execute(sa.text("CREATE TABLE half (x INTEGER)"))
    raise RuntimeError("power cut")


def test_a_step_that_is_missing_is_run_once_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    add(path)
    assert read_steps(path) == [1, 2]
    monkeypatch.setattr("memrepo.store.opening.STEPS", (*schema.STEPS, add_column))
    add(path, "second")
    add(path, "third")
    assert read_steps(path) == [1, 2, 3]
    assert "extra" in table_names(path)


def test_a_step_that_breaks_half_way_leaves_nothing_and_can_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    add(path)
    monkeypatch.setattr("memrepo.store.opening.STEPS", (*schema.STEPS, add_column, break_half_way))
    with pytest.raises(RuntimeError):
        open_store(url_of(path))
    assert read_steps(path) == [1, 2, 3]
    assert "half" not in table_names(path)
    monkeypatch.setattr("memrepo.store.opening.STEPS", (*schema.STEPS, add_column))
    add(path, "second")


def test_a_new_store_whose_first_step_breaks_is_empty_and_can_be_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with monkeypatch.context() as patch:
        patch.setattr("memrepo.store.opening.STEPS", (break_half_way,))
        with pytest.raises(RuntimeError):
            open_store(url_of(path))
    assert table_names(path) == set()
    add(path)


def test_a_store_of_a_newer_memrepo_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    add(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO schema_steps VALUES (7, 0)")
    before = path.read_bytes()
    with pytest.raises(StoreFault) as caught:
        open_store(url_of(path))
    assert caught.value.message == (
        f"the private store {path}: it was made by a newer memrepo (schema 7, this memrepo knows 2)"
    )
    assert caught.value.hint == "upgrade: pip install -U memrepo"
    assert caught.value.facts == {"invariant": "store-newer", "path": str(path)}
    assert path.read_bytes() == before
    health = check_store(path)
    assert (health.is_whole, health.is_damaged) == (False, False)


def read_shown_step(number: int) -> list[str]:
    """The statements of a step as docs/store.md shows them."""
    shown = DOCS.read_text("utf-8").split("```sql\n")[number].partition("```")[0]
    return [" ".join(one.split()) for one in shown.split(";")[:-1]]


def make_step_1(path: Path) -> None:
    """A store as the released step 1 made it, with a row in each table."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in read_shown_step(1):
            connection.execute(statement)
        connection.execute("INSERT INTO schema_steps VALUES (1, 5)")
        connection.execute(
            "INSERT INTO memory_items (scope, kind, content, source, trust, content_hash, created_at, updated_at) "
            "VALUES ('global', 'commitment', 'Send the report', 'cli', 'user_stated', 'h', 7, 7)"
        )
        connection.execute(
            "INSERT INTO archive (kind, content, content_hash, author, at) VALUES ('note', 'It broke', 'h', 'agent', 8)"
        )
        connection.execute(
            "INSERT INTO events (at, name) VALUES (9, 'write')",
        )


def test_the_page_shows_the_schema_that_step_1_makes() -> None:
    """The step is released: if this fails, add a step and mark with `since` what it brings."""
    dialect = sa.create_engine("sqlite://").dialect
    first = schema.make_tables(1)
    statements = [str(CreateTable(table).compile(dialect=dialect)) for table in first.list_made(1)]
    statements += [
        str(CreateIndex(index).compile(dialect=dialect))
        for table in first.list_made(1)
        for index in sorted(table.indexes, key=lambda index: str(index.name))
    ]
    assert read_shown_step(1) == [" ".join(one.split()) for one in statements]


def test_the_page_shows_what_step_2_changes() -> None:
    dialect = sa.create_engine("sqlite://").dialect
    assert read_shown_step(2) == [" ".join(one.split()) for one in schema.list_changes(2, dialect)]


def test_a_store_of_step_1_keeps_its_rows_and_gets_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    make_step_1(path)
    with closing(open_store(url_of(path), now_ms=lambda: 10)) as store:
        (item,) = store.items.list_commitments()
        assert (item.id, item.content, item.created_at_ms, item.done_at_ms) == (1, "Send the report", 7, None)
        (record,) = store.archive.list()
        assert (record.content, record.subject, record.source, record.origin) == ("It broke", None, None, None)
        assert store.items.finish(item.id).done_at_ms == 10
        assert store.archive.forget(record.id)
    assert read_steps(path) == [1, 2]
    made = tmp_path / "new.db"
    open_store(url_of(made)).close()
    assert read_columns(path) == read_columns(made)


def test_a_store_of_step_1_stays_one_when_step_2_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    make_step_1(path)

    def break_after(connection: sa.Connection) -> None:
        schema.STEPS[1](connection)
        raise RuntimeError("power cut")

    before = read_columns(path)
    with monkeypatch.context() as patch:
        patch.setattr("memrepo.store.opening.STEPS", (schema.STEPS[0], break_after))
        with pytest.raises(RuntimeError):
            open_store(url_of(path))
    assert read_columns(path) == before
    assert read_steps(path) == [1]
    open_store(url_of(path)).close()
    assert read_steps(path) == [1, 2]


def read_columns(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        return {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in sorted(table_names(path))}


def test_the_schema_can_be_said_in_postgresql_too() -> None:
    for table in (steps, *DATA_TABLES):
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
    (index,) = (index for index in schema.memory_items.indexes if index.name == "one_active_subject")
    said = str(CreateIndex(index).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
    assert "WHERE status = 'active' AND subject_key IS NOT NULL" in said


# --- what it costs


def test_a_writer_learns_without_the_database_library_whether_facts_wait(tmp_path: Path) -> None:
    path = tmp_path / "a b" / "store.db"
    assert not may_have_pending(path, "/r")
    assert not path.parent.exists()
    add(path)
    assert may_have_pending(path, "/r")
    assert not may_have_pending(path, "/other")
    with closing(open_store(url_of(path))) as store:
        store.pending.remove(1)
        assert not may_have_pending(path, "/r")
        add(path)
        assert may_have_pending(path, "/r")
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


@pytest.mark.parametrize("content", [b"", b"no database" * 500])
def test_whether_facts_wait_in_a_file_that_is_no_store_counts_as_yes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    assert may_have_pending(path, "/r")
    assert path.read_bytes() == content


def test_importing_the_package_loads_no_database_library() -> None:
    script = (
        "import sys, pathlib, memrepo.store as store\n"
        "print(sorted({'sqlalchemy', 'sqlite3'} & set(sys.modules)))\n"
        "store.may_have_pending(pathlib.Path(sys.executable), '/r')\n"
        "print('sqlalchemy' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]", "False"]
