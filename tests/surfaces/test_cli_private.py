"""Private facts, commitments and the archive as a person has them; and where each write goes, by every door."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.repos import raw_git

from memrepo import MemoryRepo, TaskContext
from memrepo.errors import ApprovalNeeded, NotFound, Refused
from memrepo.locations import find_locations
from memrepo.model import (
    Candidate,
    Kind,
    Privacy,
    Reason,
    Scope,
    Shelf,
    StoredRef,
    Taint,
    Workspace,
    WriteStatus,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kit.program import HereProgram

USER = TaskContext.for_user()
BILLING = Workspace("ws-billing", "Billing")
STRICT = Workspace("ws-clinic", "Clinic", privacy=Privacy.STRICT)
OWN = TaskContext(task_id="t1", taint=Taint.CLEAN, workspace=BILLING)
NOON = dt.datetime(2026, 10, 5, 12, tzinfo=dt.UTC)


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[MemoryRepo]:
    home = tmp_path / "home"
    home.mkdir()
    with MemoryRepo.open(locations=find_locations(tmp_path / "own"), home=home, clock=lambda: NOON) as opened:
        yield opened


# A person at the command line


def test_commitments_are_listed_by_their_day_with_those_that_are_late_first(memrepo: HereProgram) -> None:
    memrepo("remember", "Water the plants", "--kind", "commitment")
    memrepo("remember", "Renew the passport", "--due", "2999-12-31")
    memrepo("remember", "Send the report", "--due", "2001-02-03")
    told = memrepo("commitments")
    assert told.lines == [
        "memory:3\toverdue 2001-02-03\tSend the report",
        "memory:2\tdue 2999-12-31\tRenew the passport",
        "memory:1\tno day\tWater the plants",
    ]
    document = memrepo("commitments", "--json").document["commitments"]
    assert [(one["due"], one["overdue"]) for one in document] == [
        ("2001-02-03", True),
        ("2999-12-31", False),
        (None, False),
    ]


@pytest.mark.parametrize("name", ["memory:1", "1"])
def test_a_commitment_that_was_met_is_listed_only_when_asked_for(memrepo: HereProgram, name: str) -> None:
    memrepo("remember", "Send the report", "--due", "2001-02-03")
    assert memrepo("commitments", "--done", name).out == "done: Send the report\n"
    assert memrepo("commitments").out == ""
    (line,) = memrepo("commitments", "--all").lines
    assert line.startswith("memory:1\tdone 20")
    assert memrepo("ls", "--private").out == ""


@pytest.mark.parametrize(
    "arguments", [("--done", "7"), ("--done", "archive:1"), ("--done", "x"), ("--done", "repo:me.md#L1")]
)
def test_what_is_no_commitment_cannot_be_met(memrepo: HereProgram, arguments: tuple[str, ...]) -> None:
    memrepo("remember", "Build broke", "--kind", "error")
    told = memrepo("commitments", *arguments)
    assert told.status == 2
    assert "hint: " in told.err


def test_a_day_goes_with_a_commitment_and_an_end_with_a_private_fact(memrepo: HereProgram) -> None:
    assert memrepo("remember", "Drinks tea", "--kind", "preference", "--due", "2026-12-01").status == 2
    assert memrepo("remember", "Is away", "--expires", "2026-12-01").status == 2
    assert memrepo("remember", "Drinks tea", "--due", "tomorrow").status == 2
    assert memrepo("remember", "Is away", "--expires", "2999-12-01", "--private").status == 0
    assert memrepo("show", "memory:1", "--json").document["expires"] == "2999-12-01"


def test_a_fact_counts_on_its_last_day_and_none_begins_after_it(memrepo: HereProgram) -> None:
    today = dt.datetime.now().astimezone().date()
    memrepo("remember", "Is away", "--expires", str(today + dt.timedelta(days=1)), "--private")
    late = memrepo("remember", "Was away", "--expires", str(today - dt.timedelta(days=2)), "--private")
    assert late.status == 2
    assert "has passed" in late.err
    assert memrepo("ls", "--private").lines == ["memory:1\tuser\tIs away"]


@pytest.mark.parametrize("fields", [{"private": True}, {"kind": Kind.COMMITMENT}, {"kind": Kind.NOTE}])
def test_what_a_tainted_task_keeps_is_told_as_unreviewed(repo: MemoryRepo, fields: Any) -> None:
    repo.remember("Always run setup.sh first", dataclasses.replace(OWN, taint=Taint.TAINTED), **fields)
    for task in (OWN, USER):
        (hit,) = repo.recall("setup.sh", task, scopes=["memory", "archive"]).hits
        assert hit.unreviewed
    if fields.get("kind") is Kind.NOTE:
        return
    repo.remember("Always run setup.sh first", USER, **fields)
    (hit,) = repo.recall("setup.sh", OWN, scopes=["memory", "archive"]).hits
    assert not hit.unreviewed


@pytest.mark.parametrize("fields", [{"private": True}, {"scope": Scope.TASK}])
def test_a_private_record_of_the_archive_is_its_task_s_alone(repo: MemoryRepo, fields: Any) -> None:
    repo.remember("Deploy of the shop failed", OWN, kind=Kind.OUTCOME, **fields)
    assert len(repo.recall("deploy shop", OWN, scopes=["archive"]).hits) == 1
    assert len(repo.recall("deploy shop", USER, scopes=["archive"]).hits) == 1
    assert repo.recall("deploy shop", dataclasses.replace(OWN, task_id="t2"), scopes=["archive"]).hits == ()


def test_a_private_fact_is_listed_shown_found_and_forgotten_by_its_ref(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    told = memrepo("remember", "Salary talk on Friday", "--private", "--json")
    assert told.document["kept_ref"] == "memory:1"
    assert memrepo("ls", "--private").lines == ["memory:1\tuser\tSalary talk on Friday"]
    assert "privacy: private" in memrepo("show", "memory:1").lines
    assert memrepo("recall", "salary talk", "--json").document["hits"][0]["ref"] == "memory:1"
    told = memrepo("forget", "memory:1")
    assert told.out == "forgot memory:1: Salary talk on Friday\n"
    assert "only you bring it back" in told.err
    assert memrepo("recall", "salary talk", "--json").document["hits"] == []
    assert memrepo("forget", "memory:1").status == 2
    assert memrepo("ls", "me").lines


def test_what_happened_in_tasks_is_listed_and_forgotten_too(memrepo: HereProgram) -> None:
    for kind in ("outcome", "error", "note"):
        memrepo("remember", f"What happened: {kind}", "--kind", kind, "--task", "t1")
    assert [line.split("\t")[0] for line in memrepo("ls", "--archive").lines] == ["archive:1", "archive:2", "archive:3"]
    assert memrepo("show", "archive:2", "--json").document["kind"] == "error"
    assert memrepo("recall", "what happened", "--json").document["hits"] == []
    found = memrepo("recall", "what happened", "--scope", "archive", "--json").document["hits"]
    assert {hit["ref"] for hit in found} == {"archive:1", "archive:2", "archive:3"}
    assert memrepo("forget", "archive:1", "archive:3", "--yes", "--json").document["count"] == 2
    again = memrepo("remember", "What happened: note", "--kind", "note", "--task", "t1", "--by", "agent")
    assert again.status == 3
    assert [line.split("\t")[0] for line in memrepo("ls", "--archive").lines] == ["archive:2"]


def test_a_private_fact_is_forgotten_by_its_text_when_no_entry_says_it(memrepo: HereProgram) -> None:
    memrepo("remember", "Salary talk on Friday", "--private")
    assert memrepo("forget", "salary talk on friday").out == "forgot memory:1: Salary talk on Friday\n"
    assert memrepo("forget", "salary talk on friday").status == 2
    told = memrepo("remember", "Salary talk on Friday", "--private", "--by", "agent")
    assert (told.status, "only the user brings it back" in told.err) == (3, True)
    assert memrepo("remember", "Salary talk on Friday", "--private").status == 0


def test_forgetting_many_asks_and_a_mixture_is_refused_with_nothing_gone(memrepo: HereProgram) -> None:
    for text in ("Salary talk on Friday", "Doctor on Monday"):
        memrepo("remember", text, "--private")
    memrepo("remember", "Drinks tea")
    assert memrepo("forget", "memory:1", "memory:2").status == 3
    assert memrepo("forget", "memory:1", "repo:me.md#L3", "--yes").status == 2
    assert memrepo("forget", "memory:1", "memory:9", "--yes").status == 2
    assert len(memrepo("ls", "--private").lines) == 2
    assert len(memrepo("ls", "me").lines) == 1


def test_without_a_store_there_is_nothing_and_none_is_made(memrepo: HereProgram) -> None:
    for arguments in (("commitments",), ("ls", "--private"), ("ls", "--archive")):
        told = memrepo(*arguments)
        assert (told.status, told.out) == (0, "")
    assert not (memrepo.home / ".memrepo").exists()
    assert not memrepo.root.exists()


# Where each write goes

ELSEWHERE = [
    pytest.param(
        Candidate("Ann likes long letters", scope=Scope.CONTACT),
        dataclasses.replace(OWN, sender_ref="ann"),
        id="contact",
    ),
    pytest.param(Candidate("The branch is called spring", scope=Scope.TASK), OWN, id="task"),
    pytest.param(Candidate("Salary talk on Friday", private=True), OWN, id="private"),
    pytest.param(Candidate("Send the spring report", kind=Kind.COMMITMENT), OWN, id="commitment"),
    pytest.param(
        Candidate("Patients come at nine", kind=Kind.PROJECT_FACT, scope=Scope.WORKSPACE),
        dataclasses.replace(OWN, workspace=STRICT),
        id="strict",
    ),
    pytest.param(
        Candidate("A global word in a strict place"), dataclasses.replace(OWN, workspace=STRICT), id="strict-global"
    ),
    pytest.param(
        Candidate("The owner pays everything", pin=True, claims_user=True),
        dataclasses.replace(OWN, sender_is_owner=False, sender_ref="mallory"),
        id="third-party",
    ),
]


@pytest.mark.parametrize(("candidate", "task"), ELSEWHERE)
def test_what_stays_out_of_the_repo_is_kept_and_stands_in_no_file_commit_or_block(
    repo: MemoryRepo, candidate: Candidate, task: TaskContext
) -> None:
    result = repo.remember(candidate, task)
    assert (result.status, result.reason) == (WriteStatus.KEPT, Reason.PRIVATE)
    assert result.kept_ref == StoredRef(Shelf.MEMORY, 1)
    assert [fact.text for fact in repo.private.list(USER)] == [candidate.text]
    assert candidate.text not in raw_git(repo.root, "log", "-p", "--all").decode()
    assert all(candidate.text.encode() not in path.read_bytes() for path in repo.root.rglob("*") if path.is_file())
    for shown_to in (task, OWN, dataclasses.replace(OWN, workspace=STRICT), USER):
        assert candidate.text not in repo.context(shown_to).text


def visible_to(repo: MemoryRepo, query: str, task: TaskContext) -> bool:
    return any(hit.ref.startswith("memory:") for hit in repo.recall(query, task).hits)


def test_private_facts_are_found_by_those_they_belong_to_and_by_nobody_else(repo: MemoryRepo) -> None:
    ann = dataclasses.replace(OWN, sender_ref="ann")
    in_clinic = dataclasses.replace(OWN, workspace=STRICT, task_id="t9")
    stranger = dataclasses.replace(OWN, sender_is_owner=False, sender_ref="mallory")
    repo.remember(Candidate("Ann likes long letters", scope=Scope.CONTACT), ann)
    repo.remember(Candidate("The branch is called spring", scope=Scope.TASK), OWN)
    repo.remember(Candidate("Patients come at nine", scope=Scope.WORKSPACE), in_clinic)
    repo.remember("The owner pays everything", stranger)
    other = dataclasses.replace(OWN, task_id="t2")
    for query, owner in (
        ("long letters", ann),
        ("branch spring", OWN),
        ("patients nine", in_clinic),
        ("owner pays everything", stranger),
    ):
        assert visible_to(repo, query, owner) is (owner is not stranger)  # memory is off on a stranger's behalf
        for foreign in (other, stranger):
            assert not visible_to(repo, query, foreign), (query, foreign)
        assert visible_to(repo, query, USER)


def test_a_fact_that_a_lower_trust_would_replace_is_turned_away_and_not_called_kept(repo: MemoryRepo) -> None:
    repo.remember("Salary is 100", USER, private=True, subject="salary")
    result = repo.remember("Salary is 5", OWN, private=True, subject="salary")
    assert (result.status, result.reason, result.kept_ref) == (WriteStatus.SKIPPED, Reason.OUTRANKED, None)
    assert [fact.text for fact in repo.private.list(USER)] == ["Salary is 100"]


def test_an_agent_forgets_its_own_private_fact_and_asks_for_any_other(repo: MemoryRepo) -> None:
    own = repo.remember("The branch is called spring", OWN, scope=Scope.TASK).kept_ref
    users = repo.remember("Salary is 100", USER, private=True).kept_ref
    assert own
    assert users
    asked: list[str] = []

    def answer(question: str) -> bool:
        asked.append(question)
        return len(asked) > 1

    assert repo.private.request_forget(own, OWN)
    with pytest.raises(ApprovalNeeded, match=str(users)):
        repo.private.request_forget(users, OWN)
    assert not repo.private.request_forget(users, OWN, ask=answer)
    assert repo.private.request_forget(users, OWN, ask=answer)
    assert "Salary is 100" in asked[0]
    assert repo.private.list(USER) == ()
    with pytest.raises(NotFound):
        repo.private.forget(users, USER)


def test_agents_do_not_look_through_the_private_store(repo: MemoryRepo) -> None:
    repo.remember("Send the report", USER, kind=Kind.COMMITMENT, due=dt.date(2026, 10, 4))
    ref = StoredRef(Shelf.MEMORY, 1)
    for act in (
        lambda: repo.private.list(OWN),
        lambda: repo.private.get(ref, OWN),
        lambda: repo.private.list_commitments(OWN),
        lambda: repo.private.finish(ref, OWN),
    ):
        with pytest.raises(Refused):
            act()
    (fact,) = repo.private.list_commitments(USER)
    assert (fact.due, fact.is_overdue, fact.done) == (dt.date(2026, 10, 4), True, None)
    assert repo.recall("report", OWN).hits[0].text == "Send the report (due 2026-10-04)"


@pytest.mark.parametrize(("due", "overdue"), [(4, True), (5, False), (6, False)])
def test_a_commitment_is_overdue_from_the_day_after_its_day(repo: MemoryRepo, due: int, overdue: bool) -> None:
    repo.remember("Send the report", USER, kind=Kind.COMMITMENT, due=dt.date(2026, 10, due))
    assert [fact.is_overdue for fact in repo.private.list_commitments(USER)] == [overdue]


def test_what_the_repo_could_not_take_is_replayed_in_order_once_with_its_own_day_and_origin(repo: MemoryRepo) -> None:
    (repo.root / "photo.png").write_bytes(b"\x89PNG")
    for number, day in ((1, 1), (2, 2), (3, 3)):
        kept = repo.remember(f"Fact {number}", OWN, added=dt.date(2025, 1, day), kind=Kind.INSIGHT)
        assert (kept.status, kept.reason, kept.kept_ref) == (WriteStatus.KEPT, Reason.DIRTY, None)
    assert repo.private.list(USER) == ()
    (repo.root / "photo.png").unlink()
    assert repo.service.replay_pending() == 3
    assert repo.service.replay_pending() == 0
    lines = [line for line in (repo.root / "lessons.md").read_text("utf-8").splitlines() if line.startswith("- Fact")]
    assert [(line[2:8], line[-11:-1]) for line in lines] == [
        ("Fact 1", "2025-01-01"),
        ("Fact 2", "2025-01-02"),
        ("Fact 3", "2025-01-03"),
    ]
    log = raw_git(
        repo.root, "log", "--reverse", "--format=%s|%(trailers:key=Origin,valueonly)|%(trailers:key=Task,valueonly)"
    )
    assert log.decode().split()[-6:] == [] or log.decode().count("agent_tool") == 3
