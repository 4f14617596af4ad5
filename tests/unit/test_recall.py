"""Recall: lanes, scopes, what a task may see, and what of an entry is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.recalling import put

from memrepo.errors import InvalidInput, StoreFault
from memrepo.format.entries import content_hash
from memrepo.index.ranking import Line, LineCorpus, fuse_ranks, pad, rank_lines
from memrepo.index.repo_index import RepoIndex
from memrepo.index.tokens import analyze, analyze_query
from memrepo.model import Actor, Author, Candidate, Kind, Privacy, Scope, TaskContext, Workspace
from memrepo.recall import (
    Detail,
    Lane,
    LaneAnswer,
    RepoLane,
    StoredItem,
    StoredLane,
    make_store_lanes,
    may_see,
    open_index,
    open_repo_lane,
    recall,
)
from memrepo.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from memrepo.index.tokens import Query
    from memrepo.recall import Hit, LaneSource, RecallResult

AGENT = TaskContext(task_id="t1", workspace=Workspace("w1", "Billing"))
USER = TaskContext(actor=Actor.USER)


def ask(text: str, *lanes: LaneSource, task: TaskContext = AGENT, **options: object) -> RecallResult:
    return recall(text, task=task, lanes=lanes, is_memory_on=True, **options)  # type: ignore[arg-type]


def lane_of(root: Path) -> RepoLane:
    return RepoLane(root, open_index(root, None))


def item(number: int, text: str, **options: object) -> StoredItem:
    return StoredItem(number, text, content_hash(text), **options)  # type: ignore[arg-type]


def stored(*items: StoredItem, lane: Lane = Lane.MEMORY) -> StoredLane:
    return StoredLane(lane, lambda: items)


def refs(result: RecallResult) -> list[str]:
    return [hit.ref for hit in result.hits]


# Hits


def test_a_hit_says_where_it_stands_who_said_it_and_why_it_was_found(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_text(
        "# About me\n\n## Tools\n\n- Prefers <b>Vim</b> for Python [by: agent; kind: preference; added: 2026-10-05]\n"
    )
    (hit,) = ask("which editor: vim?", lane_of(tmp_path)).hits
    assert (hit.ref, hit.file, hit.section) == ("repo:me.md#L5", "me.md", "Tools")
    assert hit.text == "Prefers &lt;b&gt;Vim&lt;/b&gt; for Python"
    assert hit.hash == content_hash("Prefers <b>Vim</b> for Python")
    assert (hit.by, hit.kind, hit.added) == (Author.AGENT, "preference", "2026-10-05")
    assert hit.why == ("vim",)
    assert (hit.unreviewed, hit.team, hit.around) == (False, None, "")


def test_a_line_without_an_author_is_the_users(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["Plays chess"])
    assert ask("chess", lane_of(tmp_path)).hits[0].by is Author.USER


def test_inbox_hits_are_marked_unreviewed(tmp_path: Path) -> None:
    put(tmp_path, "inbox.md", ["Plays chess"])
    put(tmp_path, "me.md", ["Chess club on Mondays"])
    assert {hit.file: hit.unreviewed for hit in ask("chess", lane_of(tmp_path)).hits} == {
        "inbox.md": True,
        "me.md": False,
    }


def test_a_secret_is_neither_shown_nor_searchable(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    put(tmp_path, "me.md", [f"The deploy token is {secret}"])
    lane = lane_of(tmp_path)
    (hit,) = ask("deploy token", lane).hits
    assert secret not in repr(hit)
    assert "[REDACTED" in hit.text
    assert ask(secret, lane).hits == ()


def test_the_line_that_names_a_workspace_is_no_hit(tmp_path: Path) -> None:
    put(tmp_path, "workspaces/billing.md", ["CoWork workspace [by: user; workspace: w1]", "Workspace uses Go"])
    assert refs(ask("workspace", lane_of(tmp_path))) == ["repo:workspaces/billing.md#L2"]


def test_full_detail_shows_the_section_around_a_hit_and_no_more(tmp_path: Path) -> None:
    lines = [f"- Filler number {number}" for number in range(200)]
    lines[100] = "- The needle is here [by: agent]"
    (tmp_path / "long.md").write_text("# Long\n" + "\n".join(lines) + "\n## Next\n- Not this\n")
    (hit,) = ask("needle", lane_of(tmp_path), detail=Detail.FULL).hits
    shown = hit.around.split("\n")
    assert len(shown) == 80
    assert "- The needle is here (agent)" in shown
    assert "Not this" not in hit.around
    assert ask("needle", lane_of(tmp_path)).hits[0].around == ""


def test_entries_in_code_and_comments_are_no_hits(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("```\n- secret plan\n```\n<!--\n- secret plan\n-->\n- open plan\n")
    assert refs(ask("plan", lane_of(tmp_path))) == ["repo:a.md#L7"]


# Terms, end to end


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Lives in İstanbul", "istanbul"),
        ("趣味は東京の散歩です", "東京"),
        ("好きな動物は猫", "猫"),
        ("ชอบภาษาไทยมาก", "ภาษาไทย"),
        ("Renamed to memory_repo_tokens", "repo tokens"),
        ("Renamed to memory_repo_tokens", "memory_repo_tokens"),
        ("Look at src/memrepo/model.py first", "model.py"),
        ("Look at src/memrepo/model.py first", "src/memrepo/model.py"),
        ("Needs version 3.11.7", "3.11.7"),
        ("Runs docker-compose at night", "docker compose"),
        ("Enjoys gardening", "gard"),
        ("They went to the lake", "where did they go"),
        ("Met Ana [added: 2023-05-08]", "may 2023"),
        ("Theme: dark [subject: editor colours]", "colours"),
    ],
)
def test_a_fact_is_found_by(tmp_path: Path, text: str, query: str) -> None:
    put(tmp_path, "noise.md", [f"Unrelated line {letter * 3}" for letter in "abcdefghij"])
    put(tmp_path, "me.md", [text])
    assert refs(ask(query, lane_of(tmp_path))) == ["repo:me.md#L1"]


def test_an_entry_is_found_by_the_heading_above_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Deployment\n- Uses port 8080\n# Other\n- Uses port 9090\n")
    assert refs(ask("deployment", lane_of(tmp_path))) == ["repo:a.md#L2"]


def test_a_line_with_only_function_words_in_common_is_no_hit(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["What is the plan", "The cat sat on the mat"])
    assert refs(ask("what does the zyzzyva do", lane_of(tmp_path))) == []


def test_neighbours_of_the_query_that_stand_together_count_for_more(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["group of friends in support", "a support group of friends"])
    assert refs(ask("support group", lane_of(tmp_path)))[0] == "repo:me.md#L2"


# Hostile queries


@pytest.mark.parametrize(
    "query",
    ["", "   ", "?!... ---", "\x00\x1b[31m", "🎉", "شكرا", "AND OR NOT", '"a* ((b:c) [d TO e]^3', "path:me.md",
     "-" * 5_000, "a" * 100_000, "word " * 20_000, "(" * 3_000, "\ud800", "\u202eabc", "%s%n", "'; DROP TABLE x;--"],
)  # fmt: skip
def test_any_query_is_answered_or_named_empty(tmp_path: Path, query: str) -> None:
    put(tmp_path, "me.md", ["Party 🎉 with word", "شكرا جزيلا", "path me md", "AND OR NOT"])
    result = ask(query, lane_of(tmp_path))
    if not analyze(query).words:
        assert {warning.code for warning in result.warnings} == {"query-empty"}
        assert result.hits == ()


def test_operators_are_words(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["alpha", "beta"])
    assert sorted(refs(ask("alpha AND -beta", lane_of(tmp_path)))) == ["repo:me.md#L1", "repo:me.md#L2"]


def test_a_long_query_is_answered_and_says_that_it_was_cut(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["needle"])
    result = ask("needle " * 15_000, lane_of(tmp_path))
    assert refs(result) == ["repo:me.md#L1"]
    assert {warning.code for warning in result.warnings} == {"query-cut"}


@given(st.text(max_size=200))
def test_no_query_fails(text: str) -> None:
    lines = [Line("f", 1, "", "", pad(analyze("a b c").words), pad(()))]
    rank_lines(analyze_query(text), LineCorpus(lines), limit=5)


@pytest.mark.parametrize(("limit", "scopes"), [(0, ["memory"]), (101, ["memory"]), (5, ["everything"])])
def test_a_limit_or_scope_out_of_range_is_refused(limit: int, scopes: list[str]) -> None:
    with pytest.raises(InvalidInput):
        ask("x", limit=limit, scopes=scopes)


# Lanes


class FailingLane:
    lane = Lane.MEMORY

    def search(self, query: Query, task: TaskContext, *, limit: int) -> LaneAnswer:
        raise StoreFault("the store is damaged", hint="memrepo doctor", invariant="store", path="x")

    def read_around(self, hit: Hit) -> str:
        return ""


def test_nothing_is_searched_when_memory_is_off(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["needle"])
    result = recall("needle", task=USER, lanes=[lane_of(tmp_path)], is_memory_on=False)
    assert result.hits == ()
    assert [warning.code for warning in result.warnings] == ["memory-off"]


def test_scopes_choose_the_lanes(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["needle in the repo"])
    team = tmp_path / "team"
    put(team, "MEMORY.md", ["needle of the team"])
    lanes = (
        RepoLane(tmp_path, RepoIndex(tmp_path, None)),
        RepoLane(team, RepoIndex(team, None), team="ops"),
        stored(item(7, "needle in the store")),
        stored(item(9, "needle in the archive", kind="note"), lane=Lane.ARCHIVE),
    )
    (tmp_path / "team" / ".git").mkdir()  # a repo of its own, as a clone is
    assert refs(ask("needle", *lanes)) == ["repo:me.md#L1", "memory:7", "team:ops:MEMORY.md#L1"]
    assert refs(ask("needle", *lanes, scopes=["archive"])) == ["archive:9"]
    assert refs(ask("needle", *lanes, scopes=["repo"])) == ["repo:me.md#L1", "team:ops:MEMORY.md#L1"]
    assert refs(ask("needle", *lanes, scopes=["memory", "archive"]))[-1] == "archive:9"
    assert ask("needle", *lanes, scopes=["team"]).hits[0].team == "ops"


def test_one_fact_in_two_lanes_is_one_hit(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["Likes green tea"])
    assert refs(ask("tea", lane_of(tmp_path), stored(item(1, "likes green  tea.")))) == ["repo:me.md#L1"]


def test_a_lane_that_fails_costs_only_its_own_hits(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["needle"])
    result = ask("needle", FailingLane(), lane_of(tmp_path))
    assert refs(result) == ["repo:me.md#L1"]
    assert [(warning.code, warning.where) for warning in result.warnings] == [("lane-failed", "memory")]


def test_a_lane_that_a_task_may_not_see_is_not_asked(tmp_path: Path) -> None:
    put(tmp_path, "me.md", ["needle"])
    hidden = RepoLane(tmp_path, RepoIndex(tmp_path, None), team="ops", is_visible=lambda task: task.workspace is None)
    assert refs(ask("needle", hidden)) == []
    assert refs(ask("needle", hidden, task=replace(AGENT, workspace=None))) == ["team:ops:me.md#L1"]


def test_what_a_task_may_not_see_does_not_change_how_the_rest_ranks() -> None:
    mine = [item(1, "needle thread"), item(2, "needle"), item(3, "thread")]
    others = [item(10 + n, f"needle {n}", scope=Scope.TASK, scope_ref="other") for n in range(30)]
    assert [(hit.ref, hit.score) for hit in ask("needle thread", stored(*mine)).hits] == [
        (hit.ref, hit.score) for hit in ask("needle thread", stored(*mine, *others)).hits
    ]


@pytest.mark.parametrize(
    ("row", "task", "visible"),
    [
        ({}, AGENT, True),
        ({}, replace(AGENT, sender_is_owner=False, sender_ref="ana"), False),
        ({"scope": Scope.WORKSPACE, "scope_ref": "w1"}, AGENT, True),
        ({"scope": Scope.WORKSPACE, "scope_ref": "w2"}, AGENT, False),
        ({"scope": Scope.WORKSPACE, "scope_ref": "w1"}, replace(AGENT, workspace=None), False),
        ({"scope": Scope.WORKSPACE, "scope_ref": "w1"},
         replace(AGENT, workspace=Workspace("w1", "B", memory_enabled=False)), False),
        ({"scope": Scope.WORKSPACE, "scope_ref": "w1"},
         replace(AGENT, workspace=Workspace("w1", "B", privacy=Privacy.DISABLED)), False),
        ({"scope": Scope.TASK, "scope_ref": "t1"}, AGENT, True),
        ({"scope": Scope.TASK, "scope_ref": "t2"}, AGENT, False),
        ({"scope": Scope.TASK}, replace(AGENT, task_id=None), False),
        ({"scope": Scope.CONTACT, "scope_ref": "ana"}, AGENT, False),
        ({"scope": Scope.CONTACT, "scope_ref": "ana"}, replace(AGENT, sender_ref="ana", sender_is_owner=False), True),
        ({"scope": Scope.CONTACT, "scope_ref": "ana"}, replace(AGENT, sender_ref="bob", sender_is_owner=False), False),
        ({"scope": Scope.CONTACT}, AGENT, False),
        ({"scope": Scope.CONTACT, "scope_ref": "ana"}, USER, True),
        ({"scope": Scope.TASK, "scope_ref": "t9"}, USER, True),
        ({}, replace(USER, sender_is_owner=False), False),
    ],
)  # fmt: skip
def test_who_may_see_a_stored_row(row: dict[str, object], task: TaskContext, visible: bool) -> None:
    assert may_see(item(1, "x", **row), task) is visible


def test_the_private_store_is_searched(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    private = Candidate("Allergic to penicillin", private=True)
    other = Candidate("Penicillin stock is low", scope=Scope.WORKSPACE, private=True)
    elsewhere = replace(AGENT, workspace=Workspace("w2", "Other"))
    store.items.keep(private, AGENT, by=Author.USER, content_hash=content_hash(private.text))
    store.items.keep(other, elsewhere, by=Author.AGENT, content_hash=content_hash(other.text))
    note = Candidate("The penicillin import failed", kind=Kind.ERROR)
    store.archive.add(note, AGENT, by=Author.AGENT, content_hash=content_hash(note.text))
    lanes = make_store_lanes(lambda: store)
    (hit,) = ask("penicillin", *lanes).hits
    assert (hit.ref, hit.text, hit.by) == ("memory:1", "Allergic to penicillin", Author.USER)
    (record,) = ask("penicillin", *lanes, scopes=["archive"]).hits
    assert (record.ref, record.kind) == ("archive:1", "error")
    store.close()


def test_without_a_store_its_lanes_are_empty() -> None:
    assert ask("x", *make_store_lanes(lambda: None)).hits == ()


def test_a_forgotten_row_is_gone_from_the_lane() -> None:
    rows = [item(1, "needle")]
    lane = StoredLane(Lane.MEMORY, lambda: rows)
    assert refs(ask("needle", lane)) == ["memory:1"]
    rows.clear()
    assert refs(ask("needle", lane)) == []


# Ranks


def test_orders_are_joined_by_weighted_rank() -> None:
    joined = fuse_ranks([(1.0, ["a", "b", "c"]), (0.5, ["c", "d"])])
    assert [key for key, _ in joined] == ["c", "a", "b", "d"]
    assert dict(joined)["a"] == 1.0


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6), max_size=4))
def test_joining_keeps_every_key_once(orders: list[list[str]]) -> None:
    joined = [key for key, _ in fuse_ranks([(1.0, order) for order in orders])]
    assert sorted(joined) == sorted({key for order in orders for key in order})


# Meaning


def test_without_the_extra_recall_works_by_words_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "me.md", ["Rides a bicycle to work"])
    monkeypatch.setitem(__import__("sys").modules, "memrepo.index.static_vectors", None)
    lane = open_repo_lane(tmp_path, None)
    result = ask("bicycle", lane)
    assert [hit.why for hit in result.hits] == [("bicycle",)]
    assert result.warnings == ()


def test_with_the_extra_a_fact_in_other_words_is_found(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    pytest.importorskip("tokenizers")
    put(tmp_path, "noise.md", [f"The invoice number {number} was paid on time" for number in range(30)])
    put(tmp_path, "me.md", ["Rides a bicycle to work"])
    lane = open_repo_lane(tmp_path, None)
    if lane._table is None:
        pytest.skip("the wordllama wheel is not installed")
    hit = ask("cycling", lane).hits[0]
    assert hit.file == "me.md"
    assert hit.why == ("similar meaning",)


def test_a_hit_is_not_the_words_of_a_link_in_the_index(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n## Index\n- [[billing]]\n")
    assert refs(ask("billing", lane_of(tmp_path))) == []


def test_a_search_writes_nothing_to_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "me.md", ["needle"])
    before = sorted(root.rglob("*"))
    lane = open_repo_lane(root, tmp_path / "cache", use_meaning=False)
    ask("needle", lane)
    assert sorted(root.rglob("*")) == before
