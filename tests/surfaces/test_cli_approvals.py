"""`memrepo approvals`: an agent's wish to forget, answered by the user later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memrepo.approvals import ForgetStatus
from memrepo.errors import NotFound, StaleRef
from memrepo.model import Taint, TaskContext

if TYPE_CHECKING:
    from tests.kit.program import HereProgram

    from memrepo.app import MemoryRepo

USER = TaskContext.for_user()
AGENT = TaskContext(task_id="s-1", taint=Taint.CLEAN)


@pytest.fixture
def waiting(memrepo: HereProgram) -> HereProgram:
    """A memory with a fact of the user's that an agent asked to forget."""
    memrepo("remember", "Drinks tea")
    memrepo("remember", "Prefers tabs over spaces")
    with open_repo(memrepo) as repo:
        assert ask(repo, "repo:me.md#L4") is ForgetStatus.WAITING
    return memrepo


def open_repo(memrepo: HereProgram) -> MemoryRepo:
    from memrepo.app import MemoryRepo
    from memrepo.locations import find_locations

    return MemoryRepo.open(locations=find_locations(memrepo.home / ".memrepo"), home=memrepo.home)


def ask(repo: MemoryRepo, ref: str, task: TaskContext = AGENT) -> ForgetStatus:
    return repo.request_forget(ref, task).status


def read(memrepo: HereProgram) -> str:
    return (memrepo.root / "me.md").read_text("utf-8")


def test_nothing_waits_at_first(memrepo: HereProgram) -> None:
    memrepo("init")
    assert memrepo("approvals").out == "no agent waits for an answer\n"
    assert memrepo("approvals", "--json").document == {"requests": []}


def test_a_request_is_listed_with_its_entry(waiting: HereProgram) -> None:
    told = waiting("approvals")
    assert told.out == "1\trepo:me.md#L4\tPrefers tabs over spaces\n"
    (request,) = waiting("approvals", "list", "--json").document["requests"]
    assert (request["id"], request["act"], request["task"]) == (1, "memory_delete", "s-1")
    assert request["entry"]["text"] == "Prefers tabs over spaces"


def test_a_grant_forgets_at_once_and_is_used_up(waiting: HereProgram) -> None:
    told = waiting("approvals", "grant", "1")
    assert told.status == 0
    assert told.out == "granted 1 request\n"
    assert "tabs" not in read(waiting)
    assert "Drinks tea" in read(waiting)
    assert waiting("log", "-n", "1", "--json").document["commits"][0]["origin"] == "cli"
    assert waiting("approvals").out == "no agent waits for an answer\n"
    waiting("remember", "Prefers tabs over spaces")
    with open_repo(waiting) as repo:
        assert ask(repo, "repo:me.md#L4") is ForgetStatus.WAITING


def test_a_no_is_final_for_the_task_that_asked_and_for_no_other(waiting: HereProgram) -> None:
    assert waiting("approvals", "deny", "1").out == "denied 1 request\n"
    assert "tabs" in read(waiting)
    with open_repo(waiting) as repo:
        assert ask(repo, "repo:me.md#L4") is ForgetStatus.DENIED
        assert ask(repo, "repo:me.md#L4", TaskContext(task_id="s-2")) is ForgetStatus.WAITING


def test_a_request_finds_its_entry_where_it_stands_now(waiting: HereProgram) -> None:
    waiting("forget", "Drinks tea")
    assert waiting("approvals").out == "1\trepo:me.md#L3\tPrefers tabs over spaces\n"
    assert waiting("approvals", "grant", "1").status == 0
    assert "tabs" not in read(waiting)


def test_a_grant_covers_no_entry_that_changed_since(waiting: HereProgram) -> None:
    waiting("edit", "repo:me.md#L4", "Prefers tabs, and means it")
    assert "it has changed since" in waiting("approvals").out
    assert waiting("approvals", "--json").document["requests"][0]["entry"] is None
    told = waiting("approvals", "grant", "1")
    assert told.status == 4
    assert "memrepo approvals deny 1" in told.err
    assert "means it" in read(waiting)
    assert waiting("approvals", "deny", "1").status == 0


def test_an_unknown_request_is_an_error(waiting: HereProgram) -> None:
    told = waiting("approvals", "grant", "7")
    assert told.status == 2
    assert "there is no open request 7" in told.err
    assert waiting("approvals", "deny", "0").status == 2
    assert "tabs" in read(waiting)


def test_those_before_an_error_are_granted_and_told(waiting: HereProgram) -> None:
    told = waiting("approvals", "grant", "1", "7")
    assert told.status == 2
    assert "request 1: forgot repo:me.md#L4" in told.err
    assert "tabs" not in read(waiting)


def test_an_entry_says_what_it_says_without_its_control_characters(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    (memrepo.root / "me.md").write_text("# Me\n- Ring the bell \x1b[31m\x07\n", "utf-8")
    with open_repo(memrepo) as repo:
        ask(repo, "repo:me.md#L2")
    assert "\x1b" not in memrepo("approvals").out


def test_the_library_lists_grants_and_denies(waiting: HereProgram) -> None:
    with open_repo(waiting) as repo:
        (request,) = repo.list_requests()
        outcome = repo.grant_request(request.id, USER)
        assert (outcome.status, str(outcome.ref)) == (ForgetStatus.REMOVED, "repo:me.md#L4")
        with pytest.raises(NotFound):
            repo.deny_request(request.id)
        ref = repo.remember("Hums while working", USER).ref
        assert ref is not None
        ask(repo, str(ref))
        repo.edit(ref, "Sings while working", USER)
        (request,) = repo.list_requests()
        with pytest.raises(StaleRef):
            repo.grant_request(request.id, USER)
