"""A sync is killed before each of its git calls and each of its steps on the disk; the next run mends and finishes it.

Each case: one prepared folder that went apart from its remote; a child is killed at one step; a later process syncs.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.kit import faulty_git as faulty_git_module
from tests.kit.faulty_git import FaultyGit, GitFault
from tests.kit.faulty_os import FaultyOs
from tests.kit.forked import Child
from tests.kit.machines import Machine, Machines
from tests.kit.memory import USER
from tests.kit.repos import assert_sound, head_of, porcelain, raw_git

from memrepo.advance import ADVANCE_JOURNAL, recover_advance
from memrepo.errors import ChangedOnDisk, DiskFault, GitFailed, MemrepoError
from memrepo.files import folder as folder_module
from memrepo.files.folder import TEMPORARY_NAME
from memrepo.git.client import GitClient
from memrepo.model import CommitId, Ref, RepoPath

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEPS = frozenset(("write", "fsync", "mkdir", "unlink", "replace", "rename", "link", "fchmod"))
DONE = ["Local fact", "Remote fact", "Stays"]


class Bench:
    """The prepared case, and fresh copies of it at one place."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.machines = Machines(folder / "case")
        self.machines.network.put_in(patch)
        here, there = self.machines.make_many("here", "there")
        for text in ("Stays", "Forgotten here", "Forgotten there"):
            here.say(text)
        here.write("notes/old.md", "# Old\n\n- Goes\n")
        self.machines.settle(here, there)
        _forget(there, "Forgotten there")
        there.say("Remote fact")
        there.write("notes/new.md", "# New\n\n- Comes\n")
        (there.root / "notes/old.md").unlink()
        there.run()
        here.say("Local fact")
        _forget(here, "Forgotten here")
        self.folder, self.template = folder / "case", folder / "template"
        shutil.copytree(self.folder, self.template, symlinks=True)

    def start(self) -> Machine:
        shutil.rmtree(self.folder)
        shutil.copytree(self.template, self.folder, symlinks=True)
        made = Machine(self.folder / "here" / "memory", self.machines.make("spare").store)
        shutil.rmtree(self.folder / "spare")
        return made

    def count_git_calls(self) -> int:
        counting = FaultyGit()
        machine = self.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(faulty_git_module, "run_git", self.machines.network)
            counting.put_in(patch)
            machine.run()
        return len(counting.calls)

    def count_steps(self) -> int:
        counting = FaultyOs(counted=STEPS)
        machine = self.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(folder_module, "os", counting)
            machine.run()
        return len(counting.calls)

    def kill(self, machine: Machine, put_in: Callable[[], None]) -> None:
        def die() -> None:
            vars(faulty_git_module)["run_git"] = self.machines.network
            put_in()
            machine.run()

        assert Child(die).wait() == -signal.SIGKILL

    def check(self, machine: Machine) -> None:
        """A later process syncs, and then everything is as if nobody had been killed."""
        later = machine.reopen_machine()
        later.run()
        assert sorted(later.texts("me.md")) == DONE
        assert later.texts("notes/new.md") == ["Comes"]
        assert not (later.root / "notes/old.md").exists()
        assert porcelain(later.root) == []
        assert head_of(later.root) == head_of(self.machines.bare)
        assert_sound(later.root)
        assert_sound(self.machines.bare)
        assert not (later.root / ".git" / ADVANCE_JOURNAL).exists()
        assert not [path for path in later.root.rglob("*") if TEMPORARY_NAME.fullmatch(path.name)]
        assert later.subjects().count("Remember preference: Local fact") == 1
        assert b"refs/cowork-sync/next" not in raw_git(later.root, "for-each-ref")


def _forget(machine: Machine, text: str) -> None:
    entry = next(entry for entry in machine.entries("me.md") if entry.text == text)
    machine.service.forget(Ref(RepoPath("me.md"), entry.line), USER)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


@pytest.mark.parametrize("part", [0, 1])
def test_a_sync_killed_before_any_git_call_is_finished_by_the_next(bench: Bench, part: int) -> None:
    total = bench.count_git_calls()
    assert total > 25
    for number in range(1 + part, total + 1, 2):
        machine = bench.start()
        bench.kill(machine, FaultyGit(at=number, fault=GitFault.KILLED_BEFORE).put_in_this_process)
        bench.check(machine)


@pytest.mark.parametrize("part", [0, 1])
def test_a_sync_killed_at_any_step_of_the_disk_is_finished_by_the_next(bench: Bench, part: int) -> None:
    total = bench.count_steps()
    assert total > 25
    for number in range(1 + part, total + 1, 2):
        machine = bench.start()
        bench.kill(machine, partial(FaultyOs(kill_at=number, counted=STEPS).put_in, folder_module))
        bench.check(machine)


def test_a_write_after_a_killed_sync_goes_through_and_nothing_is_doubled(bench: Bench) -> None:
    counting = FaultyGit()
    machine = bench.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faulty_git_module, "run_git", bench.machines.network)
        counting.put_in(patch)
        machine.run()
    at = counting.calls.index("reset")
    for number in (at, at + 1):  # update-ref, reset: the files are new, the branch is old or new
        machine = bench.start()
        bench.kill(machine, FaultyGit(at=number, fault=GitFault.KILLED_BEFORE).put_in_this_process)
        assert (machine.root / ".git" / ADVANCE_JOURNAL).exists()
        later = machine.reopen_machine()
        assert later.say("Said later").commit is not None
        assert "Hand edits" not in later.subjects()[:3]
        later.run()
        assert sorted(later.texts("me.md")) == sorted([*DONE, "Said later"])
        assert porcelain(later.root) == []


def test_a_file_edited_after_a_killed_sync_keeps_the_edit_and_what_came(bench: Bench) -> None:
    counting = FaultyGit()
    machine = bench.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faulty_git_module, "run_git", bench.machines.network)
        counting.put_in(patch)
        machine.run()
    at = counting.calls.index("reset")
    for number in (at, at + 1):
        machine = bench.start()
        bench.kill(machine, FaultyGit(at=number, fault=GitFault.KILLED_BEFORE).put_in_this_process)
        with (machine.root / "me.md").open("a") as stream:
            stream.write("- Added by hand\n")
        later = machine.reopen_machine()
        later.run()
        assert sorted(later.texts("me.md")) == sorted([*DONE, "Added by hand"])
        assert head_of(later.root) == head_of(bench.machines.bare)


@pytest.mark.parametrize("fault", [GitFault.REFUSED, GitFault.LOST])
def test_a_git_call_that_fails_leaves_a_folder_that_the_next_run_finishes(bench: Bench, fault: GitFault) -> None:
    total = bench.count_git_calls()
    for number in range(1, total + 1, 3):
        machine = bench.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(faulty_git_module, "run_git", bench.machines.network)
            FaultyGit(at=number, fault=fault).put_in(patch)
            with contextlib.suppress(MemrepoError):
                machine.run()
        bench.check(machine)


def test_a_disk_that_refuses_a_file_leaves_all_files_as_they_were(bench: Bench) -> None:
    machine = bench.start()
    before = {path: path.read_bytes() for path in machine.root.rglob("*.md")}
    (machine.root / "me.md").chmod(0o444)
    with pytest.raises(DiskFault):
        machine.run()
    assert {path: path.read_bytes() for path in machine.root.rglob("*.md")} == before
    assert not (machine.root / ".git" / ADVANCE_JOURNAL).exists()
    (machine.root / "me.md").chmod(0o644)
    bench.check(machine)


def test_an_editor_that_saves_meanwhile_wins(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = bench.start()
    real = GitClient.run

    def save_first(self: GitClient, *args: str, **options: object) -> object:
        done = real(self, *args, **options)  # type: ignore[arg-type]
        if args[0] == "fast-import":
            with (machine.root / "me.md").open("a") as stream:
                stream.write("- Added by hand\n")
        return done

    with monkeypatch.context() as patch:
        patch.setattr(GitClient, "run", save_first)
        with pytest.raises(ChangedOnDisk):
            machine.run()
    assert "Added by hand" in machine.texts("me.md")
    machine.run()
    assert sorted(machine.texts("me.md")) == sorted([*DONE, "Added by hand"])


@pytest.mark.parametrize("data", [b"", b"{", b'{"version": 1}', b'{"version": 1, "before": "x", "after": "y"}', b"[]"])
def test_a_damaged_journal_of_a_sync_is_passed_over(bench: Bench, data: bytes) -> None:
    machine = bench.start()
    (machine.root / ".git" / ADVANCE_JOURNAL).write_bytes(data)
    bench.check(machine)


def test_a_journal_whose_commits_are_gone_is_passed_over(bench: Bench) -> None:
    machine = bench.start()
    journal = machine.root / ".git" / ADVANCE_JOURNAL
    journal.write_text(f'{{"version": 1, "before": "{machine.head}", "after": "{"1" * 40}"}}')
    git = machine.writer.git
    assert git is not None
    assert recover_advance(git) == ()
    assert not journal.exists()


def test_an_advance_that_git_refuses_takes_its_files_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = bench.start()
    before = machine.read("me.md")
    real = GitClient.run

    def refuse(self: GitClient, *args: str, **options: object) -> object:
        if args[:2] == ("update-ref", "refs/heads/main"):
            raise GitFailed("made to fail", argv=args, exit_code=1, stderr=())
        return real(self, *args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(GitClient, "run", refuse)
        with pytest.raises(GitFailed):
            machine.run()
    assert machine.read("me.md") == before
    assert porcelain(machine.root) == []
    assert CommitId(machine.head)
    bench.check(machine)
