"""Leaving and coming back when the disk fails at any call, is full, or the process is killed between any two steps."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.faults.test_full_disk import fill
from tests.kit.faulty_os import FaultyOs
from tests.kit.forked import Child
from tests.kit.mounts import small_disk
from tests.kit.moving import USER, Home
from tests.kit.repos import assert_sound, head_of

from memrepo.errors import Conflict, DiskFault, GitFailed, MemrepoError, StoreFault
from memrepo.files import folder as folder_module
from memrepo.journal import JOURNAL_NAME
from memrepo.portable.containers import read_container
from memrepo.portable.package import open_package
from memrepo.writer import WriteSession

if TYPE_CHECKING:
    from pathlib import Path

FORMS = {"folder": "export", "zip": "export.zip", "json": "export.json"}
STEPS = {
    "nothing-done": ("memrepo.creation", "_make_stage"),
    "files-written": ("memrepo.portable.returning", "unbundle"),
    "history-there": ("memrepo.portable.returning", "list_tree_files"),
    "repo-whole": ("memrepo.portable.returning", "_fill_store"),
    "rows-there": ("memrepo.portable.returning", "write_settings_text"),
    "settings-there": ("memrepo.creation", "_put_in_place"),
    "in-place": ("memrepo.creation", "_sync_folder"),
}


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def old(tmp_path: Path) -> Home:
    home = Home(tmp_path / "old")
    home.fill()
    return home


@pytest.fixture
def new(tmp_path: Path) -> Home:
    return Home(tmp_path / "new")


def count_calls(old: Home, target: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    faulty = FaultyOs()
    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "os", faulty)
        old.export(target)
    return len(faulty.calls)


@pytest.mark.parametrize("form", FORMS)
def test_a_disk_that_fails_at_any_call_leaves_no_part_of_an_export(
    old: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    place = tmp_path / "place"
    calls = count_calls(old, tmp_path / f"first-{FORMS[form]}", monkeypatch)
    for number in range(1, calls + 1, 3 if form == "folder" else 1):
        target = place / str(number) / FORMS[form]
        target.parent.mkdir(parents=True)
        with monkeypatch.context() as patch:
            patch.setattr(folder_module, "os", FaultyOs(fail_from=number))
            with suppress(MemrepoError):
                old.export(target)
        assert {path.name for path in target.parent.iterdir()} <= {FORMS[form]}, f"call {number}"
        if target.exists():  # then all of it is there
            open_package(target, read_container(target))


@pytest.mark.parametrize("form", FORMS)
def test_an_export_that_was_killed_at_any_call_is_whole_or_not_there(
    old: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    calls = count_calls(old, tmp_path / f"first-{FORMS[form]}", monkeypatch)
    for number in range(1, calls + 1, max(1, calls // 8)):
        target = tmp_path / str(number) / FORMS[form]
        target.parent.mkdir()

        def act(number: int = number, target: Path = target) -> None:
            FaultyOs(kill_at=number).put_in(folder_module)
            old.export(target)

        assert Child(act).wait() == -signal.SIGKILL
        (old.root / ".git" / "cowork-write.lock").unlink(missing_ok=True)
        if target.exists():
            open_package(target, read_container(target))
    assert_sound(old.root)


def test_an_export_onto_a_full_disk_leaves_nothing_and_says_why(old: Home, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kb=256) as disk:
        filler = fill(disk, leave_bytes=4 * 1024)
        for name in FORMS.values():
            with pytest.raises(DiskFault, match="no space left") as caught:
                old.export(disk / name)
            assert caught.value.hint
            assert [path.name for path in disk.iterdir()] == ["filler"]
        filler.unlink()
        old.export(disk / "export.zip")


def test_a_return_to_a_full_disk_leaves_no_memory_and_is_done_again_once_there_is_space(
    old: Home, tmp_path: Path
) -> None:
    export = old.export(tmp_path / "export.zip")
    with small_disk(tmp_path / "disk", size_kb=1024) as disk:
        new = Home(disk / "home")
        new.folder.mkdir()
        for free_kb in (0, 8, 32, 64, 96, 128, 160, 200):
            filler = fill(disk, leave_bytes=free_kb * 1024)
            with suppress(DiskFault, GitFailed, StoreFault):
                new.come_back(export)
            filler.unlink()
            if new.root.exists():
                break
            assert not list(new.folder.glob(".memrepo-*.tmp"))
        else:
            new.come_back(export)
        assert new.read_files() == old.read_files()
        assert new.read_store() == old.read_store()
        assert_sound(new.root)


@pytest.mark.parametrize("step", STEPS)
def test_a_return_that_was_killed_at_any_step_is_done_again(old: Home, new: Home, tmp_path: Path, step: str) -> None:
    export = old.export(tmp_path / "export.zip")
    module, name = STEPS[step]

    def act() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"{module}.{name}", die)
            new.come_back(export)

    assert Child(act).wait() == -signal.SIGKILL
    if step == "in-place":
        assert new.root.exists()
    else:
        assert not new.root.exists()
        new.come_back(export)
    assert new.read_files() == old.read_files()
    assert new.read_store() == old.read_store()
    assert head_of(new.root) == head_of(old.root)
    assert new.settings_file.read_bytes() == old.settings_file.read_bytes()
    assert_sound(new.root)


@pytest.mark.parametrize("step", [step for step in STEPS if step not in {"nothing-done", "in-place"}])
def test_a_return_that_fails_at_any_step_leaves_no_folder_and_is_done_again(
    old: Home, new: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    export = old.export(tmp_path / "export.zip")

    def fail(*_: object, **__: object) -> None:
        raise DiskFault("the disk fails", invariant="disk", path="x")

    with monkeypatch.context() as patch:
        patch.setattr(".".join(STEPS[step]), fail)
        with pytest.raises(DiskFault):
            new.come_back(export)
    assert not new.root.exists()
    assert [path.name for path in new.folder.iterdir()] in ([], [".memrepo"]), "the folder beside the place is gone"
    new.come_back(export)
    assert new.read_files() == old.read_files()
    assert new.read_store() == old.read_store()


def test_a_write_that_was_cut_off_is_finished_before_it_leaves(old: Home, new: Home, tmp_path: Path) -> None:
    (old.root / "query.sh").unlink()  # or the folder takes no write

    def act() -> None:
        with pytest.MonkeyPatch.context() as patch, old.open() as repo:
            patch.setattr(WriteSession, "_commit", die)
            repo.remember("Cut off", USER)

    assert Child(act).wait() == -signal.SIGKILL
    (old.root / ".git" / "cowork-write.lock").unlink()
    assert (old.root / ".git" / JOURNAL_NAME).exists()
    new.come_back(old.export(tmp_path / "export.zip"))
    assert new.read_files() == old.read_files()
    assert not (old.root / ".git" / JOURNAL_NAME).exists()
    with new.open(read_only=True) as repo:
        texts = [found.entry.text for found in repo.iter_entries()]
    assert texts.count("Waits for the folder") == 1
    assert new.read_store().rows["pending"] == [], "its row waits no more: the folder holds it"
    assert new.read_status() == ""


def test_a_folder_that_changes_while_it_is_read_without_the_lock_is_not_exported(
    old: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.kit.repos import commit_files

    from memrepo.portable import leaving

    def change_too(memory: leaving.Memory) -> object:
        commit_files(old.root, {"me.md": "- Changed meanwhile\n"})
        return read(memory)

    read = leaving._read_files

    def refuse(*_: object, **__: object) -> object:
        raise DiskFault("read-only", invariant="disk", path="x", errno_name="EROFS")

    monkeypatch.setattr("memrepo.lock.WriteLock.hold", refuse)
    old.export(tmp_path / "first.zip")
    monkeypatch.setattr(leaving, "_read_files", change_too)
    with pytest.raises(Conflict):
        old.export(tmp_path / "second.zip")
    assert not (tmp_path / "second.zip").exists()
