"""Every change of the disk and every git call of a write fails once, or is the last thing the process did.

Each case: the act runs on a fresh copy of one prepared folder with the fault in it; then a fresh process writes
another fact. What the act answered must be true of the folder, what it left must be all of it or nothing, and the
folder must be sound and tidy.
"""

from __future__ import annotations

import errno
import shutil
import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.kit.faulty_git import FAILING, KILLING, FaultyGit, GitFault
from tests.kit.faulty_os import FaultyOs
from tests.kit.forked import Child
from tests.kit.memory import BILLING, USER, Memory, StoreFile, make_memory
from tests.kit.repos import assert_sound, porcelain

from memrepo.errors import MemrepoError
from memrepo.files import folder as folder_module
from memrepo.files.folder import TEMPORARY_NAME
from memrepo.format.document import WORKSPACE_ENTRY
from memrepo.journal import JOURNAL_NAME
from memrepo.lock import LOCK_NAME
from memrepo.model import (
    Candidate,
    Kind,
    Ref,
    RepoPath,
    Scope,
    Workspace,
    WriteResult,
    WriteStatus,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# What changes something on disk; opening and closing are covered where they are made (test_atomic_faults.py).
STEPS = frozenset(("write", "fsync", "mkdir", "unlink", "replace", "rename", "link"))
NEEDS_SPACE = frozenset(("write", "mkdir", "link"))
LOCK_STEPS, GATE_CALLS = 3, 2  # the same in every act, so they fail in the first one only
ANOTHER = "Another fact, from a process that came later"
BILLING_FILE = "workspaces/billing-service.md"

Files = dict[str, bytes]


class Answer(StrEnum):
    """What an act said about itself."""

    DONE = "done"
    KEPT = "kept"
    FAILED = "failed"


@dataclass(frozen=True)
class Act:
    """A write, and the folder it is made on. `loses_nothing`: if it fails, its fact is kept and never an error."""

    name: str
    prepare: Callable[[Memory], object]
    run: Callable[[Memory], object]
    loses_nothing: bool = False


def _ref(memory: Memory, path: str, text: str) -> Ref:
    return Ref(RepoPath(path), next(entry.line for entry in memory.entries(path) if entry.text == text))


def _say_three(memory: Memory) -> None:
    for text in ("Lives in Berlin", "Prefers tabs", "Speaks German"):
        memory.say(text)


def _remember_many(memory: Memory) -> tuple[WriteResult, ...]:
    facts = [
        Candidate("Prefers tabs"),
        Candidate("Answer in English", pin=True),
        Candidate("Uses PostgreSQL 16", kind=Kind.DECISION, scope=Scope.WORKSPACE, workspace=BILLING),
        Candidate("Uses Rust", kind=Kind.DECISION, scope=Scope.WORKSPACE, workspace=Workspace("w2", "Engine")),
    ]
    return memory.service.remember_many(facts, USER)


def _edit_by_hand(memory: Memory) -> None:
    _say_three(memory)
    memory.write("me.md", memory.read("me.md").replace("Lives in Berlin", "Lives in Hamburg"))
    memory.write("notes/plan.md", "# Plan\n- By hand\n")
    (memory.root / "inbox.md").unlink()


def _let_two_wait(memory: Memory) -> None:
    memory.write("photo.png", b"\x89PNG")
    assert memory.say("Waited first").status is WriteStatus.KEPT
    assert memory.learn("Waited second").status is WriteStatus.KEPT
    (memory.root / "photo.png").unlink()


def _write_a_workspace(memory: Memory) -> None:
    memory.learn("Uses PostgreSQL 16")
    memory.say("Prefers tabs")


def _undo_the_first_fact_of_a_workspace(memory: Memory) -> object:
    return memory.history.undo("HEAD~1", USER)


ACTS = (
    Act("remember", _say_three, lambda memory: memory.say("Likes tea"), loses_nothing=True),
    Act("remember-many", lambda _: None, _remember_many, loses_nothing=True),
    Act("hand-edits", _edit_by_hand, lambda memory: memory.say("Likes tea"), loses_nothing=True),
    Act("replay", _let_two_wait, lambda memory: memory.say("Likes tea"), loses_nothing=True),
    Act("forget", _say_three, lambda memory: memory.service.forget(_ref(memory, "me.md", "Prefers tabs"), USER)),
    Act("edit", _say_three, lambda memory: memory.service.edit(_ref(memory, "me.md", "Prefers tabs"), "No tabs", USER)),
    Act("pin", _say_three, lambda memory: memory.service.pin(_ref(memory, "me.md", "Prefers tabs"), USER)),
    Act("clear-workspace", _write_a_workspace, lambda memory: memory.service.clear_workspace("ws-billing", USER)),
    Act("undo", _write_a_workspace, _undo_the_first_fact_of_a_workspace),
)
every_act = pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)


@dataclass
class Bench:
    """One folder, put back as the act was prepared before each case."""

    case: Path
    template: Path
    untouched: Files
    done: Files
    os_calls: list[str]
    git_calls: list[str]

    def iter_steps(self, act: Act) -> Iterator[int]:
        """The numbers of the disk steps whose failure can matter."""
        first = 1 if act is ACTS[0] else LOCK_STEPS + 1
        for number in range(first, len(self.os_calls) + 1):
            # After a rename the temporary is gone, and its removal fails anyway.
            if self.os_calls[number - 2 : number] != ["replace", "unlink"]:
                yield number

    def iter_git_calls(self, act: Act) -> Iterator[int]:
        """The numbers of the git calls whose failure can matter."""
        yield from range(1 if act is ACTS[0] else GATE_CALLS + 1, len(self.git_calls) + 1)

    def start(self) -> Memory:
        """A process on a fresh copy, at the same path: what waits in the store is kept by path."""
        if self.case.exists():
            shutil.rmtree(self.case)
        shutil.copytree(self.template, self.case)
        return open_memory(self.case)


def open_memory(case: Path) -> Memory:
    return Memory(case / "memory", StoreFile(case / "data" / "store.db"))


def files_of(memory: Memory) -> Files:
    """The Markdown files, without the one line that the later process writes."""
    found = {}
    for path in sorted(memory.root.rglob("*.md")):
        lines = path.read_bytes().splitlines(keepends=True)
        found[str(path.relative_to(memory.root))] = b"".join(line for line in lines if ANOTHER.encode() not in line)
    return found


def run_later(memory: Memory) -> Files:
    """A fresh process writes another fact; returns the files then."""
    later = memory.reopen_after_its_end()
    result = later.say(ANOTHER, kind=Kind.RULE)
    assert (result.status, result.detail) == (WriteStatus.WRITTEN, "")
    return files_of(later)


def assert_tidy(memory: Memory, *, has_temporary: bool = False) -> None:
    assert_sound(memory.root)
    assert porcelain(memory.root) == []
    left = [path.name for path in memory.root.rglob("*") if TEMPORARY_NAME.fullmatch(path.name)]
    assert has_temporary or not left
    assert not (memory.root / ".git" / JOURNAL_NAME).exists()
    assert not (memory.root / ".git" / LOCK_NAME).exists()
    assert not (memory.root / ".git" / "index.lock").exists()
    assert memory.waiting() == 0
    facts = [text for text in memory.all_texts() if text != WORKSPACE_ENTRY]
    assert len(facts) == len(set(facts))


@pytest.fixture
def bench(act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Prepares the act, and runs it once without a fault to know its steps and its end."""
    case, template = tmp_path / "case", tmp_path / "template"
    memory = make_memory(case)
    memory.say("Run the linter", kind=Kind.RULE)  # so that the later fact adds its line to lessons.md and no blank one
    act.prepare(memory)
    memory.store.close()
    shutil.copytree(case, template)
    untouched = run_later(memory)
    memory.store.close()
    made = Bench(case, template, untouched, {}, [], [])
    memory = made.start()
    faulty_os, faulty_git = FaultyOs(counted=STEPS), FaultyGit()
    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "os", faulty_os)
        faulty_git.put_in(patch)
        assert answer_of(act, memory) is Answer.DONE
    made.done = run_later(memory)
    made.os_calls, made.git_calls = faulty_os.calls, faulty_git.calls
    memory.store.close()
    assert made.done != made.untouched
    yield made
    shutil.rmtree(tmp_path)


def answer_of(act: Act, memory: Memory) -> Answer:
    try:
        said = act.run(memory)
    except MemrepoError:
        return Answer.FAILED
    results = said if isinstance(said, tuple) else (said,)
    kept = [result for result in results if isinstance(result, WriteResult) and result.status is WriteStatus.KEPT]
    assert len(kept) in {0, len(results)}
    return Answer.KEPT if kept else Answer.DONE


def check_answer(
    act: Act,
    bench: Bench,
    memory: Memory,
    answer: Answer,
    fault: str,
    *,
    has_temporary: bool = False,
    may_be_finished: bool = False,
) -> None:
    """What it answered is true now, stays true, and the folder is in order."""
    now = files_of(memory)
    if answer is Answer.DONE:
        assert now == bench.done or act.name == "replay", fault
    later = run_later(memory)
    if answer is Answer.FAILED:
        assert not act.loses_nothing, fault
        assert later == bench.untouched or (may_be_finished and later == bench.done), fault
    else:
        assert sorted_lines(later) == sorted_lines(bench.done), (fault, answer)
    assert_tidy(memory, has_temporary=has_temporary)
    memory.store.close()


def sorted_lines(files: Files) -> dict[str, list[bytes]]:
    """A fact that was kept may stand below one that came later."""
    return {name: sorted(data.splitlines()) for name, data in files.items()}


@every_act
def test_a_failing_step_of_the_disk_is_answered_truly_and_leaves_all_or_nothing(
    act: Act, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in bench.iter_steps(act):
        memory = bench.start()
        faulty = FaultyOs(fail_from=number, error=errno.EIO, counted=STEPS)
        with monkeypatch.context() as patch:
            patch.setattr(folder_module, "os", faulty)
            answer = answer_of(act, memory)
        step = faulty.calls[number - 1]
        check_answer(act, bench, memory, answer, f"{number}: {step}", has_temporary=step == "unlink")


@every_act
def test_a_disk_that_is_full_from_some_step_on_is_answered_truly_and_leaves_all_or_nothing(
    act: Act, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = sum(call in NEEDS_SPACE for call in bench.os_calls)
    for number in range(1, count + 1):
        memory = bench.start()
        faulty = FaultyOs(fail_from=number, once=False, error=errno.ENOSPC, counted=NEEDS_SPACE)
        with monkeypatch.context() as patch:
            patch.setattr(folder_module, "os", faulty)
            answer = answer_of(act, memory)
        # What was begun can not be taken back on such a disk; then the next writer finishes it.
        check_answer(act, bench, memory, answer, f"{number}: {faulty.calls[number - 1]}", may_be_finished=True)


@every_act
@pytest.mark.parametrize("fault", FAILING)
def test_a_failing_git_call_is_answered_truly_and_leaves_all_or_nothing(
    act: Act, bench: Bench, fault: GitFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in bench.iter_git_calls(act):
        memory = bench.start()
        with monkeypatch.context() as patch:
            faulty = FaultyGit(at=number, fault=fault)
            faulty.put_in(patch)
            answer = answer_of(act, memory)
        check_answer(act, bench, memory, answer, f"{number}: git {faulty.calls[number - 1]}")


@every_act
def test_a_process_killed_at_any_step_leaves_all_or_nothing_to_the_next(act: Act, bench: Bench) -> None:
    faults: list[Callable[[], None]] = [
        partial(FaultyOs(kill_at=number, counted=STEPS).put_in, folder_module) for number in bench.iter_steps(act)
    ]
    faults += [
        FaultyGit(at=number, fault=fault).put_in_this_process
        for number in bench.iter_git_calls(act)
        for fault in KILLING
    ]
    for number, put_in in enumerate(faults, start=1):
        memory = bench.start()

        def die(memory: Memory = memory, put_in: Callable[[], None] = put_in) -> None:
            put_in()
            act.run(memory)

        assert Child(die).wait() == -signal.SIGKILL, number
        later = run_later(memory)
        assert later in (bench.untouched, bench.done), number
        assert_tidy(memory)
        memory.store.close()


@pytest.mark.parametrize("fault", FAILING)
def test_a_compaction_that_fails_at_any_git_call_is_finished_by_the_next(
    tmp_path: Path, fault: GitFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = make_memory(tmp_path / "case")
    _say_three(memory)
    memory.service.forget(_ref(memory, "me.md", "Prefers tabs"), USER)
    counting = FaultyGit()
    shutil.copytree(tmp_path / "case", tmp_path / "template")
    with monkeypatch.context() as patch:
        counting.put_in(patch)
        assert memory.reopen().history.compact(USER).is_proven
    files = files_of(memory)
    for number in range(GATE_CALLS + 1, len(counting.calls) + 1):
        shutil.rmtree(tmp_path / "case")
        shutil.copytree(tmp_path / "template", tmp_path / "case")
        faulty = FaultyGit(at=number, fault=fault)
        with monkeypatch.context() as patch:
            faulty.put_in(patch)
            with pytest.raises(MemrepoError):
                memory.reopen().history.compact(USER)
        later = memory.reopen_after_its_end()
        assert files_of(later) == files
        result = later.history.compact(USER, texts=["Prefers tabs"])
        assert (result.is_proven, result.findings, later.subjects()) == (True, (), ["Compact history"])
        assert_tidy(later)


def test_a_write_that_git_would_not_commit_is_not_written_again_once_the_user_took_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = make_memory(tmp_path)
    before = memory.read("me.md")
    with monkeypatch.context() as patch:
        FaultyGit(at=4).put_in(patch)
        result = memory.say("Prefers tabs")
    assert (result.status, result.commit) == (WriteStatus.WRITTEN, None)
    assert "not yet in the history" in result.detail
    memory.write("me.md", before)
    memory.reopen().say("Run the linter", kind=Kind.RULE)
    assert memory.all_texts() == ["Run the linter"]


def test_a_line_taken_out_by_hand_after_a_crash_behind_the_commit_stays_out(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    before = memory.read("me.md")

    def die() -> None:
        FaultyGit(at=5, fault=GitFault.KILLED_AFTER).put_in_this_process()
        memory.say("Prefers tabs")

    assert Child(die).wait() == -signal.SIGKILL
    assert memory.texts("me.md") == ["Prefers tabs"]
    memory.write("me.md", before)
    memory.reopen_after_its_end().say("Run the linter", kind=Kind.RULE)
    assert memory.all_texts() == ["Run the linter"]


def test_one_waiting_fact_that_cannot_be_written_holds_up_no_other_write(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    _let_two_wait(memory)
    (memory.root / "me.md").chmod(0o444)
    assert memory.reopen().say("Run the linter", kind=Kind.RULE).status is WriteStatus.WRITTEN
    assert memory.say("Likes tea").status is WriteStatus.KEPT
    assert memory.texts(BILLING_FILE) == [WORKSPACE_ENTRY, "Waited second"]
    (memory.root / "me.md").chmod(0o644)
    memory.say("Lives in Berlin")
    assert memory.texts("me.md") == ["Waited first", "Likes tea", "Lives in Berlin"]
    assert memory.waiting() == 0
    memory.store.close()


def test_a_store_that_another_process_holds_makes_what_waits_go_on_waiting_and_no_write_wait_for_it(
    tmp_path: Path,
) -> None:
    memory = make_memory(tmp_path)
    _let_two_wait(memory)
    memory.store.close()
    with closing(sqlite3.connect(memory.store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        later = Memory(memory.root, StoreFile(memory.store.path, busy_wait_s=0.01))
        said = later.say("Waited first")
        assert said.status is WriteStatus.WRITTEN
        assert said.ref is not None
        later.service.forget(said.ref, USER)
        assert later.say("Run the linter", kind=Kind.RULE).status is WriteStatus.WRITTEN
        assert memory.all_texts() == ["Run the linter"]  # what was forgotten did not come back
        other.execute("ROLLBACK")
        assert later.waiting() == 2
        later.store.close()
    memory.reopen().say("Likes tea")
    assert memory.waiting() == 0
    memory.store.close()


def test_a_temporary_file_of_a_killed_writer_is_not_left_behind_by_the_next(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    memory.write(".git/.memrepo-0123456789abcdef.tmp", "half a journal")
    memory.say("Prefers tabs")
    assert_tidy(memory)
