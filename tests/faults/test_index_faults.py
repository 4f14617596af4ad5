"""A cache that is lost, damaged, denied or old, and files that cannot be read: answers stay, and say what happened."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from tests.kit.forked import Child
from tests.kit.mounts import read_only, small_disk
from tests.kit.recalling import ask, bytes_below, cache_files, codes, put, put_in_place, scan, seen, spoil, texts

from memrepo.errors import Busy
from memrepo.files.paths import scan_markdown
from memrepo.index.cache_folder import index_folder, locked
from memrepo.index.engine import open_engine
from memrepo.index.freshness import SEARCH_LIMIT_BYTES, Surveyor
from memrepo.index.repo_index import Progress, RepoIndex

if TYPE_CHECKING:
    from memrepo.index.repo_index import Answer

pytest.importorskip("tantivy")

FAR_AHEAD_NS = 10**19  # to this clock every stamp is old
DAMAGE = ("empty", "short", "flipped", "zeroed", "garbage", "gone")
QUERY = "kayak tour"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for number in range(6):
        lines = [f"Entry {number} {line} kayak {'tour' * (line % 2)} note" for line in range(20)]
        put(root, f"topics/t{number}.md", lines)
    return root


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def open_small(root: Path, cache: Path | None) -> RepoIndex:
    """An index that is written on every change."""
    return RepoIndex(root, cache, in_memory_limit_bytes=0)


def ask_once(root: Path, cache: Path) -> Answer:
    with open_small(root, cache) as index:
        return ask(index, QUERY)


def read_names(cache: Path) -> list[str]:
    return [place.name for place in cache_files(cache)]


# The cache


def test_the_cache_holds_an_index_that_only_its_owner_can_enter(root: Path, cache: Path) -> None:
    assert seen(ask_once(root, cache)) == scan(root, QUERY)
    folder = index_folder(cache, root)
    assert "meta.json" in read_names(cache)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_small_memory_needs_no_index_and_does_not_load_what_one_needs(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with RepoIndex(root, cache) as index:
        answer = ask(index, QUERY)
    assert seen(answer) == scan(root, QUERY)
    assert answer.warnings == ()
    assert not cache.exists()


@pytest.mark.parametrize("how", DAMAGE)
def test_damage_to_any_file_of_the_cache_changes_no_answer(root: Path, cache: Path, how: str) -> None:
    truth = scan(root, QUERY)
    ask_once(root, cache)
    for position in range(len(cache_files(cache))):
        place = cache_files(cache)[position]
        spoil(place, how)
        answer = ask_once(root, cache)
        assert seen(answer) == truth, place.name
        assert answer.warnings == (), place.name
        with open_small(root, cache) as index:
            assert index.status().state == "ready", place.name


@pytest.mark.parametrize("suffix", [".term", ".idx", ".pos", ".fieldnorm", ".fast", ".store", ".json"])
def test_a_flipped_byte_is_noticed_wherever_it_is(root: Path, cache: Path, suffix: str) -> None:
    truth = scan(root, QUERY)
    for step in range(12):
        ask_once(root, cache)
        place = next(place for place in cache_files(cache) if place.suffix == suffix)
        whole = place.read_bytes()
        at = step * (len(whole) - 1) // 11
        put_in_place(place, whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        assert seen(ask_once(root, cache)) == truth, at


def test_damage_under_an_open_index_is_noticed_at_the_next_question(root: Path, cache: Path) -> None:
    with open_small(root, cache) as index:
        truth = seen(ask(index, QUERY))
        for how in DAMAGE:
            for place in [place for place in cache_files(cache) if place.suffix in (".store", ".idx", ".json")]:
                if place.exists():
                    spoil(place, how)
                assert seen(ask(index, QUERY)) == truth, (how, place.name)


@pytest.mark.parametrize("suffix", [".store", ".idx", ".term", ".fieldnorm"])
def test_bytes_that_change_inside_a_file_in_use_are_noticed(root: Path, cache: Path, suffix: str) -> None:
    with open_small(root, cache) as index:
        truth = seen(ask(index, QUERY))
        place = next(place for place in cache_files(cache) if place.suffix == suffix)
        data, before = place.read_bytes(), place.stat().st_ctime_ns
        descriptor = os.open(place, os.O_WRONLY)
        while place.stat().st_ctime_ns == before:
            os.pwrite(descriptor, bytes(byte ^ 0xFF for byte in data), 0)
        os.close(descriptor)
        assert seen(ask(index, QUERY)) == truth


def test_an_index_of_another_version_is_not_read(root: Path, cache: Path) -> None:
    with RepoIndex(root, cache, in_memory_limit_bytes=0, redaction="rules 1") as index:
        ask(index, QUERY)
    before = {place.parent for place in cache_files(cache) if place.name == "meta.json"}
    with RepoIndex(root, cache, in_memory_limit_bytes=0, redaction="rules 2") as index:
        assert index.status().state == "missing"
        assert seen(ask(index, QUERY)) == scan(root, QUERY)
    after = {place.parent for place in cache_files(cache) if place.name == "meta.json"}
    assert len(before) == 1
    assert len(after) == 2


def test_two_roots_share_no_index(root: Path, cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    put(other, "me.md", ["kayak of another"])
    ask_once(root, cache)
    assert texts(ask_once(other, cache)) == ["kayak of another"]
    with open_small(other, cache) as index:
        index.purge()
    with open_small(root, cache) as index:
        assert index.status().state == "ready"


def test_without_tantivy_the_files_are_read(root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = scan(root, QUERY)
    monkeypatch.setitem(sys.modules, "tantivy", None)
    answer = ask_once(root, cache)
    assert seen(answer) == truth
    assert codes(answer) == {"index-no-engine"}


def test_a_cache_folder_that_is_a_file_changes_no_answer(root: Path, cache: Path) -> None:
    cache.write_text("not a folder")
    answer = ask_once(root, cache)
    assert seen(answer) == scan(root, QUERY)
    assert codes(answer) == {"index-denied"}


def test_a_read_only_cache_serves_what_it_holds_and_the_rest_is_read(root: Path, cache: Path) -> None:
    ask_once(root, cache)
    with read_only(cache):
        put(root, "topics/new.md", ["tour tour tour"])
        answer = ask_once(root, cache)
        assert seen(answer) == scan(root, QUERY)
        assert len(answer.found) == 10
        assert codes(answer) <= {"index-denied"}


def test_a_full_disk_changes_no_answer(root: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kb=16) as disk:
        answer = ask_once(root, disk / "cache")
        assert seen(answer) == scan(root, QUERY)
        assert codes(answer) == {"index-denied"}


def test_while_another_process_writes_the_files_are_read(root: Path, cache: Path) -> None:
    with locked(index_folder(cache, root)):
        answer = ask_once(root, cache)
        assert seen(answer) == scan(root, QUERY)
        assert codes(answer) == {"index-busy"}
    assert ask_once(root, cache).warnings == ()


def test_busy_is_forgotten_when_the_other_is_done(root: Path, cache: Path) -> None:
    with open_small(root, cache) as index:
        ask(index, QUERY)
        put(root, "topics/new.md", ["kayak new"])
        with locked(index_folder(cache, root)):
            assert codes(ask(index, QUERY)) == {"index-busy"}
        assert codes(ask(index, QUERY)) == set()
        assert index.status().state == "ready"


def test_rebuilding_and_purging_wait_for_the_writer_and_then_give_up(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memrepo.index.repo_index._LOCK_WAIT_S", 0.0)
    with open_small(root, cache) as index:
        ask(index, QUERY)
        with locked(index_folder(cache, root)):
            with pytest.raises(Busy):
                index.rebuild()
            with pytest.raises(Busy):
                index.purge()


def test_what_an_unfinished_removal_left_is_removed_by_the_next_writer(root: Path, cache: Path) -> None:
    folder = index_folder(cache, root)
    grave = folder / "removed-0123456789abcdef"
    grave.mkdir(parents=True)
    (grave / "x.store").write_bytes(b"old words")
    ask_once(root, cache)
    assert not grave.exists()


# Forgetting


def test_purging_leaves_no_word_in_the_cache(root: Path, cache: Path) -> None:
    put(root, "me.md", ["Zyzzyva is the safe word"])
    with open_small(root, cache) as index:
        assert texts(ask(index, "zyzzyva")) == ["Zyzzyva is the safe word"]
        assert b"zyzzyva" in bytes_below(cache)
        put(root, "me.md", ["Nothing here"])
        removed = index.purge()
        assert removed > 0
        assert b"zyzzyva" not in bytes_below(cache)
        assert b"kayak" not in bytes_below(cache)
        assert read_names(cache) == ["lock"]
        assert texts(ask(index, "zyzzyva")) == []
        assert b"zyzzyva" not in bytes_below(cache)
    with open_small(root, cache) as index:
        assert seen(ask(index, QUERY)) == scan(root, QUERY)


def test_an_open_index_of_another_process_does_not_bring_a_purged_word_back(root: Path, cache: Path) -> None:
    put(root, "me.md", ["Zyzzyva is the safe word"])
    with open_small(root, cache) as other, open_small(root, cache) as index:
        assert texts(ask(other, "zyzzyva")) == ["Zyzzyva is the safe word"]
        (root / "me.md").unlink()
        index.purge()
        assert texts(ask(other, "zyzzyva")) == []
        assert seen(ask(other, QUERY)) == scan(root, QUERY)
        assert b"zyzzyva" not in bytes_below(cache)


def test_purging_what_is_not_there_is_nothing(root: Path, cache: Path) -> None:
    with open_small(root, cache) as index:
        assert index.purge() == 0
    assert not cache.exists()


# Status and rebuilding


def test_status_counts_what_is_indexed_and_what_changed_since(root: Path, cache: Path) -> None:
    with RepoIndex(root, cache, in_memory_limit_bytes=10_000) as index:
        assert index.status().state == "missing"
        steps: list[Progress] = []
        status = index.rebuild(progress=steps.append)
        assert (status.state, status.files, status.lines) == ("ready", 6, 120)
        assert (status.indexed_files, status.indexed_lines, status.changed_files) == (6, 120, 0)
        assert status.size_bytes > 0
        assert steps[-1] == Progress(6, 6, 120)
        put(root, "me.md", ["one", "two"])
        (root / "topics/t0.md").unlink()
        status = index.status()
        assert (status.state, status.files, status.lines, status.changed_files) == ("behind", 6, 102, 2)
    with RepoIndex(root, None) as index:
        assert index.status().state == "off"


def test_a_checksum_is_where_tantivy_writes_it(root: Path, cache: Path) -> None:
    ask_once(root, cache)
    (meta,) = [place for place in cache_files(cache) if place.name == "meta.json"]
    assert json.loads(meta.read_bytes())["segments"]
    assert sum(record.line_count for record in open_engine(meta.parent).records.values()) == 120


# Files


def test_a_line_that_is_gone_is_never_an_answer(root: Path, cache: Path) -> None:
    with open_small(root, cache) as index:
        put(root, "me.md", ["kayak tour tomorrow"])
        assert texts(ask(index, "tomorrow")) == ["kayak tour tomorrow"]
        put(root, "me.md", ["kayak tour is over "])  # as long as before, a moment later
        assert texts(ask(index, "tomorrow")) == []
        (root / "me.md").unlink()
        assert texts(ask(index, "over")) == []


def put_unlike(root: Path, path: str, lines: list[str]) -> None:
    """Writes in place until the change time is another, and puts the old modification time back."""
    place = root / path
    before = place.stat()
    while place.stat().st_ctime_ns == before.st_ctime_ns:
        put(root, path, lines)
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_edit_that_hides_its_time_and_size_is_seen(root: Path, cache: Path) -> None:
    put(root, "me.md", ["kayak aaaa"])
    with RepoIndex(root, cache, in_memory_limit_bytes=0, clock=lambda: FAR_AHEAD_NS) as index:
        assert texts(ask(index, "aaaa")) == ["kayak aaaa"]
        put_unlike(root, "me.md", ["kayak bbbb"])
        assert texts(ask(index, "bbbb")) == ["kayak bbbb"]


def test_an_edit_in_the_same_tick_is_seen_where_no_stamp_tells(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.lstat

    def lstat(place: str) -> object:
        look = real(place)
        fields = {name: getattr(look, name) for name in ("st_mode", "st_size", "st_ino", "st_mtime_ns")}
        return SimpleNamespace(**fields, st_ctime_ns=look.st_mtime_ns)

    monkeypatch.setattr("memrepo.index.freshness.os.lstat", lstat)
    now_ns = (root / "topics/t0.md").stat().st_mtime_ns
    put(root, "me.md", ["kayak aaaa"])
    os.utime(root / "me.md", ns=(now_ns, now_ns))
    with RepoIndex(root, cache, in_memory_limit_bytes=0, clock=lambda: now_ns + 1_000_000) as index:
        assert texts(ask(index, "aaaa")) == ["kayak aaaa"]
        put(root, "me.md", ["kayak bbbb"])
        os.utime(root / "me.md", ns=(now_ns, now_ns))
        assert texts(ask(index, "bbbb")) == ["kayak bbbb"]


def test_files_once_young_are_settled_in_the_index_when_they_are_old(root: Path, cache: Path) -> None:
    for number in range(80):
        put(root, f"many/m{number}.md", [f"kayak {number}"])
    with open_small(root, cache) as index:
        ask(index, QUERY)
        young = [record for record in index._engine.records.values() if not record.is_settled]  # type: ignore[union-attr]
    assert len(young) == 86
    with RepoIndex(root, cache, clock=lambda: time.time_ns() + 10_000_000_000) as index:
        assert seen(ask(index, QUERY)) == scan(root, QUERY)
        records = index._engine.records.values()  # type: ignore[union-attr]
    assert all(record.is_settled for record in records)
    with open_small(root, cache) as index:
        assert seen(ask(index, QUERY)) == scan(root, QUERY)
        assert index.status().indexed_lines == 200


def test_what_is_not_a_readable_file_is_passed_over_by_name(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = scan(root, QUERY)
    os.mkfifo(root / "pipe.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "outside").symlink_to("/etc")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(root)  # the path of a socket is short
        listener.bind("socket.md")
    with (root / "huge.md").open("wb") as huge:
        huge.truncate(1 << 30)
    (root / "CON.md").write_text("- kayak\n")
    (root / "clone" / ".git").mkdir(parents=True)
    (root / "clone" / "a.md").write_text("- kayak\n")
    answer = ask_once(root, cache)
    assert seen(answer) == truth
    assert {(warning.code, warning.where) for warning in answer.warnings} == {
        ("not-a-file", "pipe.md"),
        ("not-a-file", "socket.md"),
        ("symlink", "loop.md"),
        ("symlink", "outside"),
        ("too-large", "huge.md"),
        ("odd-name", "CON.md"),
        ("nested-repository", "clone"),
    }


def test_a_device_is_not_opened(root: Path, cache: Path) -> None:
    try:
        os.mknod(root / "zero.md", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root can make a device")
    assert codes(ask_once(root, cache)) == {"not-a-file"}


def test_a_file_that_is_not_utf8_is_searched_with_a_warning(root: Path, cache: Path) -> None:
    (root / "latin.md").write_bytes("- kayak à la carte\n- plain kayak carte\n".encode("latin-1"))
    with open_small(root, cache) as index:
        for _ in range(2):
            answer = ask(index, "carte")
            assert codes(answer) == {"not-utf-8"}
            assert len(answer.found) == 2
        assert index.status().indexed_files == 6


def test_a_file_or_folder_without_permission_is_passed_over() -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        top.chmod(0o755)
        put(top, "root/me.md", ["kayak"])
        put(top, "root/shut.md", ["kayak shut"])
        put(top, "root/closed/a.md", ["kayak closed"])
        (top / "root/shut.md").chmod(0)
        (top / "root/closed").chmod(0)

        def search() -> int:
            if os.geteuid() == 0:
                os.setuid(65534)  # root may read everything
            answer = ask(RepoIndex(top / "root", None), "kayak")
            assert texts(answer) == ["kayak"]
            found = {(warning.code, warning.where) for warning in answer.warnings}
            assert found == {("unreadable", "shut.md"), ("unreadable", "closed")}
            return 0

        code = Child(search).wait()
        (top / "root/closed").chmod(0o700)
    assert code == 0


def test_a_folder_that_cannot_be_listed_is_passed_over(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def scandir(place: str) -> object:
        if str(place).endswith("topics/"):
            raise PermissionError(13, "Permission denied")
        return real(place)

    put(root, "me.md", ["kayak"])
    monkeypatch.setattr("memrepo.index.freshness.os.scandir", scandir)
    answer = ask_once(root, cache)
    assert texts(answer) == ["kayak"]
    assert {(warning.code, warning.where) for warning in answer.warnings} == {("unreadable", "topics")}


def test_a_swarms_notes_are_not_personal_memory(root: Path, cache: Path) -> None:
    put(root, "swarms/goal/findings.md", ["kayak found by a peer"])
    assert "kayak found by a peer" not in texts(ask_once(root, cache))


def test_the_searched_files_are_the_markdown_files_of_the_root(root: Path) -> None:
    put(root, "a b/ünïcode.md", ["x"])
    put(root, "UPPER.MD", ["x"])
    put(root, ".hidden/a.md", ["x"])
    put(root, "deep/er/and/deeper.md", ["x"])
    (root / "notes.txt").write_text("- x\n")
    (root / "bad:name.md").write_text("- x\n")
    (root / "decomposed-u\u0308.md").write_text("- x\n")
    (root / "link.md").symlink_to("UPPER.MD")
    listed = scan_markdown(root)
    survey = Surveyor(root).survey()
    assert tuple(sorted(survey.stamps)) == listed.paths
    assert len(survey.warnings) == len(listed.skipped)


def test_a_new_file_in_an_old_folder_is_seen_at_once(root: Path, cache: Path) -> None:
    with RepoIndex(root, cache, clock=lambda: FAR_AHEAD_NS) as index:
        ask(index, QUERY)
        put(root, "topics/fresh.md", ["kayak fresh"])
        put(root, "brand/new/folder.md", ["kayak brand"])
        assert texts(ask(index, "fresh brand")) == ["kayak brand", "kayak fresh"]


def test_the_size_limit_is_a_limit_of_bytes(root: Path) -> None:
    with (root / "edge.md").open("wb") as edge:
        edge.truncate(SEARCH_LIMIT_BYTES)
    assert "edge.md" in Surveyor(root).survey().stamps
    with (root / "edge.md").open("ab") as edge:
        edge.write(b"x")
    assert "edge.md" not in Surveyor(root).survey().stamps


def test_a_root_that_others_fill_is_searched_up_to_a_bound_and_the_rest_is_named(root: Path, cache: Path) -> None:
    for name in ("MEMORY.md", "b.md", "c.md"):
        put(root, name, ["walrus " + "x" * 100])
    most = 2 * (root / "b.md").stat().st_size
    with RepoIndex(root, cache, most_bytes=most) as index:
        answer = ask(index, "walrus")
        assert {found.path for found in answer.found} == {"MEMORY.md", "b.md"}
        assert [(notice.code, notice.where) for notice in answer.warnings] == [("too-many-bytes", "c.md")]
    with RepoIndex(root, cache, most_bytes=None) as index:
        assert len(ask(index, "walrus").found) == 3
