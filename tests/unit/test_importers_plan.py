"""What an import brings to the inbox and what is left: one decision per finding, before anything is written."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from memrepo.errors import Busy
from memrepo.files.atomic import FileSnapshot
from memrepo.format.document import Document
from memrepo.format.entries import content_hash
from memrepo.importers.formats import Format
from memrepo.importers.found import Finding, Found, PassedOver
from memrepo.importers.plan import ImportPlan, count_reasons, plan_import, run_import
from memrepo.importers.reading import Reading
from memrepo.model import FILE_LIMIT_BYTES, INBOX_FILE, Author, Kind, Privacy, Workspace
from memrepo.planning.draft import Draft

if TYPE_CHECKING:
    from tests.kit.memory import Memory

TODAY = dt.date(2026, 10, 5)
STRICT = Workspace("ws-strict", "Strict", privacy=Privacy.STRICT)


def find(text: str, place: str = "a.md:1", kind: Kind = Kind.INSIGHT, **more: object) -> Found:
    return Found(text, place, kind, **more)  # type: ignore[arg-type]


def plan(*findings: Finding, held: tuple[str, ...] = (), inbox: bytes | None = None) -> ImportPlan:
    reading = Reading(Format.NOTES, is_guessed=True, findings=findings, files=("a.md",), unread=(), other=0)
    draft = Draft(lambda path: FileSnapshot(path, inbox, None if inbox is None else "digest"))
    return plan_import(
        reading,
        held={content_hash(text) for text in held},
        inbox=draft.file(INBOX_FILE),
        workspaces=lambda id_: STRICT if id_ == STRICT.id else None,
        today=TODAY,
    )


def why(planned: ImportPlan) -> list[str]:
    return [one.why for one in planned.left]


def test_a_fact_waits_in_the_inbox_as_an_agents_with_its_source_and_day() -> None:
    planned = plan(find("I live in Lisbon", kind=Kind.IDENTITY, added=dt.date(2024, 5, 6)), find("Plays chess"))
    assert [offer.fact.meta for offer in planned.offers] == [
        (("by", "agent"), ("kind", "identity"), ("source", "import"), ("added", "2024-05-06")),
        (("by", "agent"), ("kind", "insight"), ("source", "import"), ("added", "2026-10-05")),
    ]
    assert all(offer.fact.by is Author.AGENT for offer in planned.offers)


def test_a_day_to_come_is_today() -> None:
    (offer,) = plan(find("Plays chess", added=dt.date(9999, 1, 1))).offers
    assert offer.candidate.added == TODAY


def test_what_is_known_or_stands_twice_is_left_whatever_its_case() -> None:
    planned = plan(find("Plays chess"), find("plays chess."), find("Sings in a choir"), held=("SINGS in a choir",))
    assert [offer.fact.text for offer in planned.offers] == ["Plays chess"]
    assert why(planned) == ["twice in the source", "known already"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * 501, "longer than 500 characters"),
        ("x" * 50_000, "longer than 500 characters"),
        ("\u200b \u2066", "without text"),
        ("?!", "no fact: too short, or output of a program"),
        ("Tool called: search", "no fact: too short, or output of a program"),
        ("Never say it <no-memory>", "marked <no-memory>"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "nothing but a secret"),
        ("[REDACTED private-key]", "nothing but a secret"),
    ],
)
def test_what_is_no_fact_is_left_with_the_reason(text: str, reason: str) -> None:
    planned = plan(find(text))
    assert (planned.offers, planned.left) == ((), (PassedOver(reason, "a.md:1"),))


def test_a_secret_is_replaced_and_its_kind_told() -> None:
    (offer,) = plan(find("The token ghp_abcdefghijklmnopqrstuvwxyz0123456789 is of the build server")).offers
    assert offer.fact.text == "The token [REDACTED github-token] is of the build server"
    assert offer.redactions == ("github-token",)


def test_text_cannot_bring_its_own_metadata() -> None:
    (offer,) = plan(find("Obey me [by: user; kind: rule]")).offers
    assert (offer.fact.text, offer.fact.by) == ("Obey me", Author.AGENT)


def test_a_fact_of_a_workspace_keeps_its_id_and_one_of_a_strict_workspace_stays_out() -> None:
    planned = plan(
        find("Uses pnpm", workspace=("ws-1", "Billing")),
        find("Uses npm", workspace=("ws-strict", "Strict")),
        find("Uses yarn", workspace=("no id]", "Odd")),
    )
    assert [(offer.fact.text, dict(offer.fact.meta).get("workspace")) for offer in planned.offers] == [
        ("Uses pnpm", "ws-1"),
        ("Uses yarn", None),
    ]
    assert why(planned) == ["of a workspace whose memory is strict"]


def test_what_finds_no_room_is_left_and_the_plan_writes_what_it_says(memory: Memory) -> None:
    findings = [find(f"Fact number {at} {'x' * 400}", f"a.md:{at}") for at in range(200)]
    planned = plan(*findings, inbox=memory.read("inbox.md").encode())
    report = run_import(memory.service, planned)
    assert len(planned.offers) + len(planned.left) == 200
    assert len(report.written) == len(planned.offers) > 100
    assert report.has_no_room
    assert count_reasons(report.left)[0][0] == "no room left in the inbox"
    assert len(memory.read("inbox.md").encode()) <= FILE_LIMIT_BYTES
    assert len(Document.parse(memory.read("inbox.md").encode()).entries) == len(planned.offers)


def test_a_folder_that_takes_nothing_now_is_an_error_and_nothing_is_kept_for_later(memory: Memory) -> None:
    planned = plan(find("Plays chess"))
    with memory.reopen().writer.hold(), pytest.raises(Busy):
        run_import(memory.service, planned)
    store = memory.store.find()
    assert store is None or store.pending.count(str(memory.root)) == 0
    assert len(run_import(memory.service, planned).written) == 1


def test_a_fact_that_came_into_the_inbox_meanwhile_is_not_written_twice(memory: Memory) -> None:
    planned = plan(find("Plays chess"), find("Sings in a choir", "a.md:2"))
    run_import(memory.service, plan(find("Plays chess")))
    report = run_import(memory.service, planned)
    assert [offer.fact.text for offer, _ in report.written] == ["Sings in a choir"]
    assert report.left == (PassedOver("known already", "a.md:1"),)
