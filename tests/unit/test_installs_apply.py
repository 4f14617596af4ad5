"""Writing an install: proven before, whole after, undone also when it stopped half way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memrepo.errors import ChangedOnDisk, DiskFault, Refused
from memrepo.installs.apply import InstallStore, find_target, read_present
from memrepo.installs.pieces import InstallScope
from memrepo.installs.plan import FileEdit, InstallPlan, plan_uninstall

if TYPE_CHECKING:
    from pathlib import Path


def make_store(tmp_path: Path) -> InstallStore:
    return InstallStore(tmp_path / "data", host="codex", scope=InstallScope.USER, folder=tmp_path)


def undo(store: InstallStore) -> None:
    recorded = store.read()
    plan = plan_uninstall((), present=read_present(recorded), recorded=recorded, backups=store.read_backups(recorded))
    store.apply(plan, is_install=False)


def test_a_file_that_changed_since_it_was_read_stops_the_whole_plan(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    second.write_bytes(b"theirs")
    plan = InstallPlan((FileEdit(first, None, b"new"), FileEdit(second, b"old", b"new")))
    with pytest.raises(ChangedOnDisk) as caught:
        make_store(tmp_path).apply(plan, is_install=True)
    assert caught.value.facts["path"] == str(second)
    assert not first.exists()
    assert second.read_bytes() == b"theirs"


def test_a_file_that_came_into_being_meanwhile_stops_it_too(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    place.write_bytes(b"theirs")
    with pytest.raises(ChangedOnDisk):
        make_store(tmp_path).apply(InstallPlan((FileEdit(place, None, b"new"),)), is_install=True)
    assert place.read_bytes() == b"theirs"


def test_an_install_that_stopped_half_way_is_undone_by_its_record(tmp_path: Path) -> None:
    changed, made, blocked = tmp_path / "a.json", tmp_path / "x" / "y" / "b.json", tmp_path / "file" / "c.json"
    changed.write_bytes(b"old")
    (tmp_path / "file").write_bytes(b"not a folder")
    edits = (FileEdit(changed, b"old", b"new"), FileEdit(made, None, b"new"), FileEdit(blocked, None, b"new"))
    store = make_store(tmp_path)
    with pytest.raises(DiskFault):
        store.apply(InstallPlan(edits), is_install=True)
    assert (changed.read_bytes(), made.read_bytes()) == (b"new", b"new")
    undo(store)
    assert changed.read_bytes() == b"old"
    assert not (tmp_path / "x").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "data", "file"]


def test_a_folder_that_holds_something_else_by_now_stays(tmp_path: Path) -> None:
    made = tmp_path / "x" / "b.json"
    store = make_store(tmp_path)
    store.apply(InstallPlan((FileEdit(made, None, b"new"),)), is_install=True)
    (tmp_path / "x" / "theirs").write_bytes(b"")
    undo(store)
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["theirs"]


def test_a_backup_that_is_damaged_is_not_put_back(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    place.write_bytes(b"old")
    store = make_store(tmp_path)
    backup = store.apply(InstallPlan((FileEdit(place, b"old", b"new"),)), is_install=True)[place]
    backup.write_bytes(b"damaged")
    assert store.read_backups(store.read()) == {place: None}
    undo(store)
    assert place.read_bytes() == b"new"


def test_a_read_only_file_is_told_before_anything_is_written(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    second.write_bytes(b"old")
    second.chmod(0o400)
    plan = InstallPlan((FileEdit(first, None, b"new"), FileEdit(second, b"old", b"new")))
    with pytest.raises(Refused) as caught:
        make_store(tmp_path).apply(plan, is_install=True)
    assert caught.value.facts["rule"] == "read-only-file"
    assert not first.exists()


def test_a_link_is_followed_to_its_end_and_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    large, link = tmp_path / "large.json", tmp_path / "link.json"
    link.symlink_to(large)
    assert find_target(link) == large
    assert find_target(large) is None
    with large.open("wb") as stream:
        os.truncate(stream.fileno(), 9 * 1024 * 1024)
    with pytest.raises(DiskFault, match="too large"):
        read_present([link])
