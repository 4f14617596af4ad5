"""Which rows become facts, which the folder holds already and which stay: one decision per row, without a disk."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from tests.kit.cowork import SEPTEMBER_MS, make_cowork, make_row

from memrepo.format.entries import content_hash
from memrepo.model import Author, Entry, Kind, Origin, Privacy, Ref, RepoPath, Workspace
from memrepo.planning.export_rows import WHY, ExportPlan, Held, Offer, Stay, judge_row, plan_export, plan_retirement
from memrepo.reading import LocatedEntry
from memrepo.store.cowork import SourceRow, SourceTable, read_table

NOW = dt.datetime(2026, 10, 5, 12, tzinfo=dt.UTC)
SETTINGS = {
    "ws-known": Workspace("ws-known", "Known Project"),
    "ws-strict": Workspace("ws-strict", "Strict Project", privacy=Privacy.STRICT),
    "ws-off": Workspace("ws-off", "Off Project", memory_enabled=False),
}
NAMES = {"ws-uuid-1": "Billing Service", "ws-blank": " \n "}


def row_of(text: str = "Deploys on Fridays", **changed: Any) -> SourceRow:
    row = SourceRow(
        id="r1",
        content=text,
        kind="preference",
        scope="global",
        scope_ref="",
        workspace_id="",
        subject=None,
        provenance="inferred",
        status="active",
        privacy="normal",
        is_pinned=False,
        task_id=None,
        link=None,
        created_at_ms=SEPTEMBER_MS,
        expires_at_ms=None,
        is_readable=True,
        values=(),
    )
    return SourceRow(**{name: getattr(row, name) for name in row.__slots__} | changed)


def judge(text: str = "Deploys on Fridays", **changed: Any) -> Offer | Stay:
    return judge_row(row_of(text, **changed), workspaces=SETTINGS.get, names=NAMES, now=NOW)


def offer_of(text: str = "Deploys on Fridays", **changed: Any) -> Offer:
    judged = judge(text, **changed)
    assert isinstance(judged, Offer)
    return judged


def entry(path: str, text: str, **meta: str) -> LocatedEntry:
    return LocatedEntry(Ref(RepoPath(path), 3), Entry(text, tuple(meta.items()), 3), content_hash(text))


def naming(path: str, workspace_id: str) -> LocatedEntry:
    return entry(path, "CoWork workspace", by="user", workspace=workspace_id)


@pytest.mark.parametrize("provenance", ["user_stated", "user_confirmed", "curated"])
def test_what_the_user_said_or_chose_is_the_users(provenance: str) -> None:
    assert offer_of(provenance=provenance).by is Author.USER


@pytest.mark.parametrize("provenance", ["inferred", "agent", "import", "system", "", "anything"])
def test_everything_else_is_an_agents(provenance: str) -> None:
    offer = offer_of(provenance=provenance)
    assert offer.by is Author.AGENT
    assert offer.fact.meta[0] == ("by", "agent")


def test_day_task_kind_and_subject_come_along() -> None:
    offer = offer_of(kind="identity", subject="home", task_id="t-9")
    assert offer.task.origin is Origin.EXPORT
    assert offer.candidate.kind is Kind.IDENTITY
    assert dict(offer.fact.meta) == {
        "by": "agent",
        "kind": "identity",
        "subject": "home",
        "source": "cowork://tasks/t-9",
        "added": "2026-09-18",
    }


def test_a_link_of_its_own_comes_before_the_task() -> None:
    assert dict(offer_of(task_id="t-9", link="https://example.org/a").fact.meta)["source"] == "https://example.org/a"


@pytest.mark.parametrize("at_ms", [None, 0, -1, 10**17])
def test_a_time_that_is_none_is_the_day_of_the_export(at_ms: int | None) -> None:
    assert offer_of(created_at_ms=at_ms).candidate.added == NOW.date()


def test_only_the_users_own_pinned_facts_stay_pinned() -> None:
    assert offer_of(is_pinned=True, provenance="curated").candidate.pin
    assert not offer_of(is_pinned=True, provenance="inferred").candidate.pin


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"status": "superseded"}, Stay.NOT_ACTIVE),
        ({"status": "deleted", "content": ""}, Stay.NOT_ACTIVE),
        ({"status": "Active"}, Stay.NOT_ACTIVE),
        ({"privacy": "private"}, Stay.PRIVATE),
        ({"privacy": "something new"}, Stay.PRIVATE),
        ({"privacy": ""}, Stay.PRIVATE),
        ({"privacy": "strict"}, Stay.STRICT),
        ({"provenance": "third_party"}, Stay.THIRD_PARTY),
        ({"scope": "contact"}, Stay.CONTACT),
        ({"scope": "task"}, Stay.TASK),
        ({"scope": "planet"}, Stay.UNKNOWN_SCOPE),
        ({"kind": "commitment"}, Stay.COMMITMENT),
        ({"kind": "outcome"}, Stay.ARCHIVE),
        ({"kind": "rumour"}, Stay.UNKNOWN_KIND),
        ({"expires_at_ms": SEPTEMBER_MS}, Stay.EXPIRED),
        ({"is_readable": False}, Stay.UNREADABLE),
        ({"content": "  "}, Stay.EMPTY),
        ({"content": "Tool called: read_file"}, Stay.LOW_SALIENCE),
        ({"content": "<no-memory> lives in Lisbon"}, Stay.NO_MEMORY),
        ({"content": "x" * 501}, Stay.TOO_LARGE),
        ({"scope": "workspace"}, Stay.NO_WORKSPACE),
        ({"scope": "workspace", "workspace_id": "a b;c"}, Stay.NO_WORKSPACE),
        ({"scope": "workspace", "workspace_id": "ws-strict"}, Stay.STRICT),
        ({"scope": "workspace", "workspace_id": "ws-off"}, Stay.MEMORY_DISABLED),
    ],
)
def test_a_row_that_is_no_matter_of_the_folder_stays_and_says_why(changed: dict[str, Any], reason: Stay) -> None:
    assert judge(**changed) is reason


def test_every_reason_has_its_words() -> None:
    assert set(WHY) == set(Stay)


def test_an_explicit_act_counts_in_a_workspace_whose_memory_is_off() -> None:
    assert offer_of(scope="workspace", workspace_id="ws-off", provenance="user_stated").workspace_id == "ws-off"


def test_a_fact_that_expires_later_is_offered() -> None:
    offer_of(expires_at_ms=int(NOW.timestamp() * 1000) + 1)


def test_a_secret_is_in_no_part_of_the_fact() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    offer = offer_of(f"The token of the bot is {secret}")
    assert secret not in repr(offer.fact)
    assert offer.fact.redactions


@pytest.mark.parametrize(
    ("workspace_id", "name"),
    [
        ("ws-known", "Known Project"),
        ("ws-uuid-1", "Billing Service"),
        ("ws-other", "ws-other"),
        ("ws-blank", "ws-blank"),
    ],
)
def test_a_workspace_has_its_name_from_the_settings_else_from_the_host_else_its_id(
    workspace_id: str, name: str
) -> None:
    workspace = offer_of(scope="workspace", workspace_id=workspace_id).candidate.workspace
    assert workspace is not None
    assert (workspace.id, workspace.name) == (workspace_id, name)


def test_a_workspace_that_only_the_scope_names_is_that_one() -> None:
    assert offer_of(scope="workspace", scope_ref="ws-known").workspace_id == "ws-known"


def plan(rows: list[SourceRow], *held: LocatedEntry) -> ExportPlan:
    table = SourceTable(path=Path(), columns=(), rows=tuple(rows), workspace_names=NAMES)
    return plan_export(table, Held(held), workspaces=SETTINGS.get, now=NOW)


def is_known(row: SourceRow, *held: LocatedEntry) -> bool:
    made = plan([row], *held)
    assert len(made.known) + len(made.offers) == 1
    return bool(made.known)


@pytest.mark.parametrize("path", ["me.md", "MEMORY.md", "lessons.md", "notes/work.md"])
def test_a_text_in_a_file_of_no_workspace_is_known_wherever_it_holds(path: str) -> None:
    assert is_known(row_of(), entry(path, "deploys  on fridays."))
    assert is_known(row_of(scope="workspace", workspace_id="ws-known"), entry(path, "Deploys on Fridays"))


def test_a_text_in_a_workspaces_file_is_known_there_only() -> None:
    held = naming("workspaces/known.md", "ws-known"), entry("workspaces/known.md", "Deploys on Fridays")
    assert is_known(row_of(scope="workspace", workspace_id="ws-known"), *held)
    assert not is_known(row_of(scope="workspace", workspace_id="ws-uuid-1"), *held)
    assert not is_known(row_of(), *held)


@pytest.mark.parametrize("path", ["inbox.md", "swarms/goal/findings.md", "workspaces/nobodys.md"])
def test_what_nobody_accepted_is_not_held(path: str) -> None:
    assert not is_known(row_of(), entry(path, "Deploys on Fridays"))


@pytest.mark.parametrize(
    ("meta", "provenance", "stays"),
    [
        ({"by": "user", "added": "2026-09-18"}, "user_stated", True),
        ({"by": "user", "added": "2026-09-30"}, "user_stated", True),
        ({"by": "user"}, "user_stated", True),
        ({"by": "user", "added": "2026-09-17"}, "user_stated", False),
        ({"by": "user", "added": "2026-09-17"}, "inferred", True),
        ({"by": "agent", "added": "2026-09-17"}, "inferred", False),
        ({"by": "agent", "added": "2026-09-18"}, "user_stated", True),
    ],
)
def test_an_older_row_never_replaces_what_the_folder_says_of_its_subject(
    meta: dict[str, str], provenance: str, stays: bool
) -> None:
    made = plan(
        [row_of("Lives in Lisbon", subject="Home", provenance=provenance)],
        entry("me.md", "Lives in Porto", subject="home", **meta),
    )
    assert [left.reason for left in made.left] == ([Stay.OUTRANKED] if stays else [])
    assert len(made.offers) == (not stays)


def test_a_subject_counts_where_it_holds() -> None:
    held = entry("me.md", "Uses tabs", subject="indent", by="user", added="2026-09-30")
    assert plan([row_of("Uses spaces", subject="indent", scope="workspace", workspace_id="ws-known")], held).offers


def test_every_row_of_a_database_is_decided_once(tmp_path: Path) -> None:
    rows = [make_row("One"), make_row("Two", privacy="private"), make_row("Three", status="superseded")]
    table = read_table(make_cowork(tmp_path / "c.db", rows))
    made = plan_export(table, Held([entry("me.md", "One")]), workspaces=lambda _: None, now=NOW)
    assert [offer.row.content for offer in made.known] == ["One"]
    assert sorted((left.row.content, left.reason) for left in made.left) == [
        ("Three", Stay.NOT_ACTIVE),
        ("Two", Stay.PRIVATE),
    ]
    assert not made.offers


def retirement(row: SourceRow, *held: LocatedEntry) -> Stay | None:
    """Why a row stays at a retirement, None when it goes."""
    table = SourceTable(path=Path(), columns=(), rows=(row,), workspace_names={})
    made = plan_retirement(table, Held(held), workspaces=SETTINGS.get, now=NOW)
    assert len(made.retired) + len(made.left) == 1
    return made.left[0].reason if made.left else None


def test_a_row_goes_when_the_folder_holds_its_text_where_it_holds() -> None:
    held = naming("workspaces/known.md", "ws-known"), entry("workspaces/known.md", "Deploys on Fridays")
    assert retirement(row_of(), entry("me.md", "deploys on Fridays.")) is None
    assert retirement(row_of(scope="workspace", workspace_id="ws-known"), *held) is None
    assert retirement(row_of(), *held) is Stay.NOT_HELD
    assert retirement(row_of(scope="workspace", workspace_id="ws-other"), *held) is Stay.NOT_HELD


@pytest.mark.parametrize("path", ["inbox.md", "swarms/goal/findings.md"])
def test_a_row_that_only_waits_in_the_folder_does_not_go(path: str) -> None:
    assert retirement(row_of(), entry(path, "Deploys on Fridays")) is Stay.NOT_HELD


@pytest.mark.parametrize("changed", [{"privacy": "private"}, {"kind": "commitment"}, {"scope": "contact"}])
def test_what_an_export_leaves_a_retirement_leaves_though_the_folder_holds_the_text(changed: dict[str, Any]) -> None:
    assert retirement(row_of(**changed), entry("me.md", "Deploys on Fridays")) is not None


def test_a_row_with_a_secret_stays_when_the_folder_holds_it_without_it() -> None:
    row = row_of("The token of the bot is ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    judged = judge(row.content)
    assert isinstance(judged, Offer)
    assert retirement(row, entry("me.md", judged.fact.text)) is Stay.CHANGED
