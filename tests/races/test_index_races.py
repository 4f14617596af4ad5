"""Several processes on one cache: each sees whole states only, one writes at a time, and none waits for another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.forked import Child, gates, wait_for_index_threads
from tests.kit.recalling import ask, cache_files, put, scan, seen, texts

from memrepo.index import changes as changes_module
from memrepo.index import repo_index as repo_index_module
from memrepo.index.repo_index import RepoIndex

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memrepo.index.freshness import Notice
    from memrepo.index.repo_index import Answer
    from memrepo.model import RepoPath

pytest.importorskip("tantivy")

pytestmark = pytest.mark.usefixtures("alone")

LINES = 12
ROUNDS = 25


@pytest.fixture
def alone() -> None:
    """No native thread of an index that another test closed."""
    wait_for_index_threads()


def open_small(root: Path, cache: Path) -> RepoIndex:
    return RepoIndex(root, cache, in_memory_limit_bytes=0)


def put_whole(root: Path, path: str, lines: list[str]) -> None:
    """Replaces a file in one step, as the writer of memrepo does."""
    put(root, f"{path}.part", lines)
    (root / f"{path}.part").replace(root / path)


def state(number: int) -> list[str]:
    return [f"kayak state{number} line{line}" for line in range(LINES)]


def states_in(answer: Answer) -> list[str]:
    return [text.split()[1] for text in texts(answer)]


def check_whole(answer: Answer) -> None:
    """Each file is there, with all of its lines, and in one state."""
    per_file: dict[str, list[str]] = {}
    for hit in answer.found:
        per_file.setdefault(hit.path, []).append(hit.entry.text.split()[1])
    assert sorted(per_file) == ["a.md", "b.md", "c.md"]
    for states in per_file.values():
        assert len(states) == LINES
        assert len(set(states)) == 1


def test_two_searchers_see_only_whole_states_while_a_third_writes(tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    for name in ("a.md", "b.md", "c.md"):
        put(root, name, state(0))

    with gates(3) as (ready, go, done):

        def search() -> int:
            ready.open_for()
            go.wait()
            try:
                with open_small(root, cache) as index:
                    for _ in range(ROUNDS):
                        check_whole(ask(index, "kayak", limit=100))
            finally:
                done.open_for()
            return 0

        searchers = [Child(search), Child(search)]

        def write() -> int:
            os.set_blocking(done._read, False)
            finished, number = 0, 0
            ready.open_for()
            go.wait()
            with open_small(root, cache) as index:
                while finished < 2 and number < 5_000:
                    number += 1
                    put_whole(root, ("a.md", "b.md", "c.md")[number % 3], state(number))
                    index.refresh()
                    try:
                        finished += len(os.read(done._read, 2))
                    except BlockingIOError:
                        continue
            return 0 if finished == 2 else 1

        writer = Child(write)
        for _ in range(3):
            ready.wait()
        go.open_for(3)
        assert [child.wait() for child in searchers] == [0, 0]
        assert writer.wait() == 0
    with open_small(root, cache) as index:
        assert seen(ask(index, "kayak", limit=100)) == scan(root, "kayak", limit=100)


def test_a_searcher_that_opened_before_a_commit_sees_it_after(tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    put(root, "a.md", state(0))
    with open_small(root, cache) as reader, open_small(root, cache) as writer:
        assert set(states_in(ask(reader, "kayak"))) == {"state0"}
        put_whole(root, "a.md", state(1))
        writer.refresh()
        assert set(states_in(ask(reader, "kayak"))) == {"state1"}
        assert reader.status().state == "ready"


def test_processes_that_start_together_build_one_index(tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    for number in range(30):
        put(root, f"f{number}.md", state(number))
    truth = scan(root, "kayak state7", limit=20)

    with gates(1) as (go,):

        def search() -> int:
            go.wait()
            with open_small(root, cache) as index:
                return 0 if seen(ask(index, "kayak state7", limit=20)) == truth else 1

        children = [Child(search) for _ in range(4)]
        go.open_for(4)
        assert [child.wait() for child in children] == [0, 0, 0, 0]
    assert len([place for place in cache_files(cache) if place.name == "meta.json"]) == 1
    with open_small(root, cache) as index:
        status = index.status()
    assert (status.state, status.indexed_files, status.indexed_lines) == ("ready", 30, 30 * LINES)


def test_a_process_killed_while_it_writes_holds_up_nobody(tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    for number in range(8):
        put(root, f"f{number}.md", state(number))

    with gates(2) as (reached, never):

        def write() -> int:
            def stop(_: object) -> None:
                reached.open_for()
                never.wait()

            try:
                with open_small(root, cache) as index:
                    index.refresh(progress=stop)
            finally:
                reached.open_for()
            return 0

        child = Child(write)
        reached.wait()
        with open_small(root, cache) as index:
            answer = ask(index, "kayak", limit=100)
            assert seen(answer) == scan(root, "kayak", limit=100)
            assert {warning.code for warning in answer.warnings} == {"index-busy"}
        child.kill()
    with open_small(root, cache) as index:
        answer = ask(index, "kayak", limit=100)
        assert seen(answer) == scan(root, "kayak", limit=100)
        assert answer.warnings == ()
        assert index.status().state == "ready"


def test_a_purge_while_another_process_searches_changes_no_answer(tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    for number in range(8):
        put(root, f"f{number}.md", state(number))
    truth = scan(root, "kayak state3", limit=20)
    with gates(1) as (go,):

        def search() -> int:
            go.wait()
            with open_small(root, cache) as index:
                return 0 if all(seen(ask(index, "kayak state3", limit=20)) == truth for _ in range(10)) else 1

        child = Child(search)
        with open_small(root, cache) as other:
            other.refresh()
            go.open_for()
            for _ in range(10):
                other.purge()
        assert child.wait() == 0


def edit_at(module: object, name: str, act: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """Runs `act` right before the next call of a function of a module, once."""
    real = getattr(module, name)
    waiting = [act]

    def hooked(*args: object, **options: object) -> object:
        if waiting:
            waiting.pop()()
        return real(*args, **options)

    patch.setattr(module, name, hooked)


def test_what_an_edit_takes_away_between_looking_and_ranking_is_not_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    put(root, "a.md", state(0))
    put(root, "b.md", state(1))
    with open_small(root, cache) as index:
        ask(index, "kayak")
        other = [f"something else {line}" for line in range(LINES)]
        edit_at(repo_index_module, "rank_lines", lambda: put_whole(root, "a.md", other), monkeypatch)
        assert states_in(ask(index, "kayak", limit=100)) == ["state1"] * LINES


def test_an_answer_does_not_run_after_a_writer_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    names = ("a.md", "b.md", "c.md")
    for name in names:
        put(root, name, state(0))
    with open_small(root, cache) as index:
        ask(index, "kayak")
        index_module: Any = repo_index_module
        read: Callable[[Path, RepoPath], bytes | Notice] = index_module.read_bytes
        rank = index_module.rank_lines
        edits, is_armed = [0], [False]

        def rank_and_arm(*args: Any, **options: Any) -> Any:
            is_armed[0] = True
            return rank(*args, **options)

        def edit_and_read(root: Path, path: RepoPath) -> bytes | Notice:
            if is_armed[0]:
                is_armed[0] = False
                edits[0] += 1
                put_whole(root, path, state(edits[0]))
            return read(root, path)

        # In every attempt the first hit that is to be proven has just changed.
        monkeypatch.setattr(repo_index_module, "rank_lines", rank_and_arm)
        monkeypatch.setattr(repo_index_module, "read_bytes", edit_and_read)
        answer = ask(index, "kayak", limit=100)
    assert edits[0] == len(names)
    for name in names:
        held = {hit.entry.text.split()[1] for hit in answer.found if hit.path == name}
        assert len(held) == 1
    assert len(answer.found) == LINES * len(names)


def test_a_file_removed_between_ranking_and_showing_is_not_in_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    put(root, "a.md", state(0))
    put(root, "b.md", state(5))
    with open_small(root, cache) as index:
        ask(index, "kayak")
        edit_at(repo_index_module, "parse_bullet", (root / "b.md").unlink, monkeypatch)
        assert set(states_in(ask(index, "kayak", limit=100))) == {"state0"}


def test_an_edit_while_a_file_is_being_read_is_seen_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    put(root, "a.md", state(0))
    with RepoIndex(root, None) as index:
        edit_at(changes_module, "read_bytes", lambda: put_whole(root, "a.md", state(1)), monkeypatch)
        assert set(states_in(ask(index, "kayak", limit=100))) == {"state1"}
        edit_at(changes_module, "read_lines", lambda: put_whole(root, "a.md", state(2)), monkeypatch)
        put_whole(root, "a.md", state(3))
        ask(index, "kayak")
        assert set(states_in(ask(index, "kayak", limit=100))) == {"state2"}
