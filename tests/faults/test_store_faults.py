"""What can be wrong with a store: each is named with its file and the way out, and never written over."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kit.forked import Child, gates

from memrepo.errors import StoreFault
from memrepo.format.entries import content_hash
from memrepo.model import Author, Candidate, Kind, Reason, Scope, TaskContext
from memrepo.store import check_store, open_store, salvage_store, set_store_aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memrepo.store import PrivateStore

ROOT = "/r"
PAGE = 4096
SET_ASIDE = "memrepo doctor --fix sets the file aside (it is kept) and starts a new one"


def open_at(path: Path, *, busy_wait_s: float = 0) -> PrivateStore:
    return open_store(f"sqlite:///{path}", now_ms=lambda: 1, busy_wait_s=busy_wait_s)


def add(store: PrivateStore, text: str) -> int:
    return store.pending.add(Candidate(text), TaskContext(), root=ROOT, by=Author.USER, reason=Reason.BUSY, detail="")


def waiting(store: PrivateStore) -> list[str]:
    return [write.candidate.text for write in store.pending.list(ROOT)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def filled(path: Path) -> Path:
    """A closed store with 200 waiting facts, several pages of them, and two private facts."""
    with closing(open_at(path)) as store:
        for number in range(200):
            add(store, f"fact {number} " + "x" * 200)
        for text in ("Likes tea", "Likes coffee"):
            candidate = Candidate(text, scope=Scope.CONTACT, subject=text)
            store.items.keep(candidate, TaskContext(), by=Author.USER, content_hash=content_hash(text))
        store.archive.add(
            Candidate("Deploy done", kind=Kind.OUTCOME), TaskContext(), by=Author.AGENT, content_hash=content_hash("x")
        )
    return path


def fault_of(path: Path) -> StoreFault:
    with pytest.raises(StoreFault) as caught:
        open_at(path).close()
    assert caught.value.facts["path"] == str(path)
    assert str(path) in caught.value.message
    return caught.value


# --- damaged files


def overwrite_start(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * 64)


def overwrite_all(path: Path) -> None:
    path.write_bytes(hashlib.sha256(b"encrypted").digest() * 1_000)


def overwrite_first_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (PAGE - 100))


def become_text(path: Path) -> None:
    path.write_text("dear diary\n" * 1_000)


@pytest.mark.parametrize(
    ("damage", "why", "invariant"),
    [
        (overwrite_start, "the file is no SQLite database: damaged, encrypted or something else", "store-no-database"),
        (overwrite_all, "the file is no SQLite database: damaged, encrypted or something else", "store-no-database"),
        (become_text, "the file is no SQLite database: damaged, encrypted or something else", "store-no-database"),
        (overwrite_first_page, "the database file is damaged", "store-damaged"),
    ],
)
def test_a_damaged_store_is_named_and_left_as_it_is(
    filled: Path, damage: Callable[[Path], None], why: str, invariant: str
) -> None:
    damage(filled)
    before = filled.read_bytes()
    fault = fault_of(filled)
    assert fault.message == f"the private store {filled}: {why}"
    assert (fault.hint, fault.facts["invariant"]) == (SET_ASIDE, invariant)
    assert filled.read_bytes() == before
    health = check_store(filled)
    assert (health.is_whole, health.is_damaged) == (False, True)
    assert why in health.why
    assert filled.read_bytes() == before


def test_damage_in_the_middle_is_found_by_the_check_and_named_by_the_call_that_meets_it(filled: Path) -> None:
    damage_pages(filled, range(8, 12))
    assert check_store(filled).is_damaged
    with closing(open_at(filled)) as store, pytest.raises(StoreFault, match="the database file is damaged"):
        store.pending.list(ROOT)


def damage_pages(path: Path, pages: range) -> None:
    with path.open("r+b") as file:
        for page in pages:
            file.seek(page * PAGE)
            file.write(b"\xff" * PAGE)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_log_whose_file_is_gone_or_empty_is_not_thrown_away(path: Path, is_gone: bool) -> None:
    """SQLite would delete it, and with it facts that were accepted."""
    with gates(2) as (written, never):

        def write() -> None:
            add(open_at(path), "accepted")
            written.open_for()
            never.wait()

        writer = Child(write)
        written.wait()
        writer.kill()
    log = Path(f"{path}-wal")
    assert log.stat().st_size > 0
    path.unlink()
    if not is_gone:
        path.touch()
    assert "its log is not" in fault_of(path).message
    assert b"accepted" in log.read_bytes()
    assert is_gone or check_store(path).is_damaged


def test_another_programs_database_is_not_written_to(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memory_items (id TEXT PRIMARY KEY, content TEXT)")
    before = path.read_bytes()
    fault = fault_of(path)
    assert "it is a database of another program" in fault.message
    assert fault.hint.startswith("choose another file: memrepo settings set store_url")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall()[0] == ("memory_items",)
        assert len(connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()) == 1
    assert len(path.read_bytes()) == len(before)
    health = check_store(path)
    assert (health.is_whole, health.is_damaged) == (False, False)


# --- files that are no files


def test_a_folder_in_its_place_is_named(path: Path) -> None:
    path.mkdir(parents=True)
    assert "a folder is in its place" in fault_of(path).message
    assert "a folder is in its place" in check_store(path).why


def test_a_pipe_in_its_place_is_named_and_not_waited_for(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    assert "it is no regular file" in fault_of(path).message


def test_a_link_that_leads_nowhere_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path.parent / "gone")
    assert "No such file" in fault_of(path).message


def test_a_file_where_a_folder_must_be_is_named(path: Path) -> None:
    path.parent.write_text("not a folder")
    fault = fault_of(path)
    assert "Not a directory" in fault.message or "File exists" in fault.message
    assert fault.hint == "check that the file and its folder are yours to write, then: memrepo doctor"


def test_a_missing_store_is_no_damage(path: Path) -> None:
    health = check_store(path)
    assert (health.is_whole, health.is_damaged, health.why) == (False, False, f"{path}: there is no such file")
    assert not path.parent.exists()


@pytest.mark.parametrize(
    "url", ["postgresql://me:hunter2@db/memory", "sqlite://", "sqlite:///x.db", "sqlite:///:memory:"]
)
def test_a_url_that_is_no_file_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(StoreFault, match="sqlite:/// and its whole path") as caught:
        open_store(url)
    assert "hunter2" not in f"{caught.value.message}{caught.value.hint}{caught.value.facts}"


# --- a disk or a process in the way


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB that the test may fill and make read-only; skipped where it cannot be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no mount program here")
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.decode(errors='replace').strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_refuses_the_fact_and_loses_none_before(small_disk: Path) -> None:
    path = small_disk / "store.db"
    accepted: list[str] = []
    with closing(open_at(path)) as store:
        fault = None
        while fault is None:
            text = f"fact {len(accepted)} " + "x" * 2_000
            try:
                add(store, text)
            except StoreFault as refused:
                fault = refused
            else:
                accepted.append(text)
        assert fault.facts["invariant"] in {"store-disk-full", "store-disk"}
        assert accepted
        assert waiting(store) == accepted
    with closing(open_at(path)) as store:
        assert waiting(store) == accepted


def test_a_read_only_disk_is_named(small_disk: Path) -> None:
    path = small_disk / "store.db"
    with closing(open_at(path)) as store:
        add(store, "accepted")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    fault = fault_of(path)
    assert fault.facts["invariant"] in {"store-read-only", "store-unreachable"}
    assert fault.hint == "check that the file and its folder are yours to write, then: memrepo doctor"
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with closing(open_at(path)) as store:
        assert waiting(store) == ["accepted"]


def test_a_folder_without_write_permission_is_named(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("permission bits do not bind root; the read-only disk stands for it")
    path.parent.mkdir(mode=0o500)
    assert "Permission denied" in fault_of(path).message


def test_the_systems_limit_on_file_size_is_named_and_loses_nothing(path: Path) -> None:
    with closing(open_at(path)) as store:
        add(store, "accepted")

    def write_under_limit() -> int:
        limit = path.stat().st_size + PAGE
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with suppress(ValueError):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            add(open_at(path), "x" * 200_000)
        except StoreFault as fault:
            return 7 if fault.facts["invariant"] in {"store-disk", "store-disk-full"} else 8
        return 9

    assert Child(write_under_limit).wait() == 7
    with closing(open_at(path)) as store:
        assert waiting(store) == ["accepted"]


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_store_that_another_process_holds_is_busy_and_not_damaged(filled: Path, lock: str) -> None:
    with closing(open_at(filled)) as store, closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute(lock)
        with pytest.raises(StoreFault) as caught:
            add(store, "second")
        assert caught.value.message == f"the private store {filled}: another process holds it"
        assert caught.value.facts["invariant"] == "store-busy"
        other.execute("ROLLBACK")
        add(store, "second")
        assert waiting(store)[-1] == "second"


def test_an_error_shows_no_value_of_a_row(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute("DROP TABLE pending")
    with closing(open_at(filled)) as store, pytest.raises(StoreFault) as caught:
        add(store, "very private fact")
    shown = f"{caught.value!r}{caught.value.message}{caught.value.hint}{caught.value.facts}"
    assert "private fact" not in shown
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


# --- killed


def test_what_was_accepted_before_a_kill_is_there_and_what_was_under_way_is_not(path: Path) -> None:
    with gates(2) as (half_way, never):

        def write() -> None:
            store = open_at(path)
            add(store, "accepted")
            with store.writing() as connection:
                connection.exec_driver_sql("UPDATE pending SET last_error = 'half'")
                half_way.open_for()
                never.wait()

        writer = Child(write)
        half_way.wait()
        writer.kill()
    with closing(open_at(path)) as store:
        assert [(write.candidate.text, write.last_error) for write in store.pending.list(ROOT)] == [("accepted", "")]


# --- the way out


def test_a_damaged_store_is_set_aside_whole_and_a_new_one_takes_its_place(filled: Path) -> None:
    overwrite_start(filled)
    Path(f"{filled}-wal").write_bytes(b"log")
    damaged = filled.read_bytes()
    aside = set_store_aside(filled, "20261005T120000Z")
    assert aside == filled.with_name("store.db.damaged-20261005T120000Z")
    assert aside.read_bytes() == damaged
    assert Path(f"{aside}-wal").read_bytes() == b"log"
    assert [file.name for file in sorted(filled.parent.iterdir())] == [aside.name, f"{aside.name}-wal"]
    with closing(open_at(filled)) as store:
        assert waiting(store) == []


def test_setting_aside_never_overwrites_what_was_set_aside_before(filled: Path) -> None:
    for number, name in ((1, "store.db.damaged-x"), (2, "store.db.damaged-x-2"), (3, "store.db.damaged-x-3")):
        filled.write_bytes(b"%d" % number)
        assert set_store_aside(filled, "x").name == name
    assert [file.read_bytes() for file in sorted(filled.parent.glob("*damaged*"))] == [b"1", b"2", b"3"]


def test_a_killed_setting_aside_loses_no_log(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(f"{filled}-wal").write_bytes(b"log")
    rename = Path.rename

    def fail_at_the_file(self: Path, target: str) -> Path:
        if self == filled:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_at_the_file)
    with pytest.raises(StoreFault, match="renaming it"):
        set_store_aside(filled, "x")
    monkeypatch.undo()
    assert set_store_aside(filled, "x").name == "store.db.damaged-x-2"
    assert Path(f"{filled}.damaged-x-wal").read_bytes() == b"log"


def test_all_that_a_damaged_store_still_yields_is_saved_into_the_new_one(filled: Path) -> None:
    damage_pages(filled, range(20, 24))
    with closing(open_at(filled)) as store, pytest.raises(StoreFault):
        store.pending.list(ROOT)
    aside = set_store_aside(filled, "x")
    before = aside.read_bytes()
    with closing(open_at(filled)) as store:
        saved = salvage_store(aside, store)
        texts = waiting(store)
        assert saved == {"memory_items": 2, "archive": 1, "pending": len(texts), "tombstones": 0}
        assert [item.content for item in store.items.list()] == ["Likes tea", "Likes coffee"]
        assert 100 < len(texts) < 200
        assert texts[0].startswith("fact 0 ")
        assert texts[-1].startswith("fact 199 ")  # from behind the damage too
        assert add(store, "new") > store.pending.list(ROOT)[-2].id
        assert salvage_store(aside, store) == {"memory_items": 0, "archive": 0, "pending": 0, "tombstones": 0}
    assert aside.read_bytes() == before
    assert check_store(filled).is_whole
    assert list(filled.parent.glob(".*")) == []  # no copy of it is left


def test_facts_in_the_log_of_a_damaged_store_are_saved_too(path: Path) -> None:
    with gates(2) as (written, never):

        def write() -> None:
            store = open_at(path)
            for number in range(3):
                add(store, f"fact {number}")
            written.open_for()
            never.wait()

        writer = Child(write)
        written.wait()
        writer.kill()
    aside = set_store_aside(path, "x")
    with closing(open_at(path)) as store:
        assert salvage_store(aside, store)["pending"] == 3
        assert waiting(store) == ["fact 0", "fact 1", "fact 2"]


def test_what_a_damaged_store_says_was_granted_is_not_granted(path: Path) -> None:
    with closing(open_at(path)) as store:
        store.approvals.grant(
            store.approvals.request("memory_delete", "repo:me.md#L1", content_hash=None, task_id=None)
        )
    aside = set_store_aside(path, "x")
    with closing(open_at(path)) as store:
        salvage_store(aside, store)
        assert store.approvals.list() == ()


def test_nothing_is_saved_from_what_is_no_database(filled: Path) -> None:
    become_text(filled)
    aside = set_store_aside(filled, "x")
    with closing(open_at(filled)) as store:
        assert set(salvage_store(aside, store).values()) == {0}


def test_a_row_without_meaning_is_not_saved(path: Path) -> None:
    with closing(open_at(path)) as store:
        add(store, "good")
        add(store, "bad")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE pending SET record = x'ff00' WHERE id = 2")
    aside = set_store_aside(path, "x")
    with closing(open_at(path)) as store:
        assert salvage_store(aside, store)["pending"] == 1
        assert waiting(store) == ["good"]
