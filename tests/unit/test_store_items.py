"""Private facts: one active row per text and per subject in a scope, and no lower trust over a higher one."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepo.errors import InvalidInput, NotFound
from memrepo.format.entries import content_hash
from memrepo.model import Author, Candidate, Kind, Origin, Privacy, Scope, Taint, TaskContext, Workspace
from memrepo.store import Item, ItemAction, ItemFilter, ItemResult, ItemStatus, Trust, open_store
from memrepo.store.items import TRUST_RANKS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.store import PrivateStore

BILLING = Workspace("ws-1", "Billing")
STRICT = Workspace("ws-2", "Clinic", privacy=Privacy.STRICT)
SAID = [trust for trust in Trust if trust is not Trust.CURATED]  # nothing here writes curated rows
TASK = TaskContext(task_id="t1", sender_ref="mail:ann", origin=Origin.AGENT_TOOL)


class Clock:
    """A clock in milliseconds that stands still."""

    def __init__(self) -> None:
        self.ms = 1_000

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[PrivateStore]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}", now_ms=clock)
    yield opened
    opened.close()


def keep(
    store: PrivateStore,
    text: str,
    *,
    trust: Trust = Trust.INFERRED,
    subject: str | None = None,
    scope: Scope = Scope.CONTACT,
    workspace: Workspace | None = None,
    private: bool = False,
    pin: bool = False,
    expires_at_ms: int | None = None,
    taint: Taint = Taint.UNKNOWN,
) -> ItemResult:
    is_user = trust in {Trust.USER_STATED, Trust.USER_CONFIRMED}
    return store.items.keep(
        Candidate(
            text,
            kind=Kind.PROJECT_FACT,
            scope=scope,
            subject=subject,
            private=private,
            pin=pin,
            explicit=trust is Trust.AGENT,
            workspace=workspace,
        ),
        TaskContext(task_id="t1", sender_ref="mail:ann", user_confirmed=trust is Trust.USER_CONFIRMED, taint=taint),
        by=Author.USER if is_user else Author.AGENT,
        content_hash=content_hash(text),
        is_third_party=trust is Trust.THIRD_PARTY,
        expires_at_ms=expires_at_ms,
    )


def texts(store: PrivateStore, status: ItemStatus = ItemStatus.ACTIVE) -> list[str]:
    return [item.content for item in store.items.list(status=status)]


def get(store: PrivateStore, item_id: int) -> Item:
    item = store.items.find(item_id)
    assert item is not None
    return item


def test_a_kept_fact_comes_back_with_everything_that_is_known_of_it(store: PrivateStore) -> None:
    candidate = Candidate(
        "Ann's sister lives in Porto",
        kind=Kind.COMMITMENT,
        scope=Scope.WORKSPACE,
        subject="Ann  SISTER",
        source="https://example.org/x",
        added=dt.date(2025, 3, 1),
        private=True,
        pin=True,
        workspace=BILLING,
    )
    result = store.items.keep(
        candidate, TASK, by=Author.USER, content_hash="h" * 64, due_at_ms=5_000, expires_at_ms=9_000
    )
    assert result.action is ItemAction.INSERTED
    assert get(store, result.id) == Item(
        id=result.id,
        content="Ann's sister lives in Porto",
        kind=Kind.COMMITMENT,
        scope=Scope.WORKSPACE,
        scope_ref="ws-1",
        workspace_id="ws-1",
        subject="ann sister",
        trust=Trust.USER_STATED,
        status=ItemStatus.ACTIVE,
        confidence=1.0,
        is_pinned=True,
        privacy="private",
        origin=Origin.AGENT_TOOL,
        source="https://example.org/x",
        added=dt.date(2025, 3, 1),
        task_id="t1",
        content_hash="h" * 64,
        supersedes=None,
        created_at_ms=1_000,
        updated_at_ms=1_000,
        last_used_at_ms=None,
        due_at_ms=5_000,
        expires_at_ms=9_000,
    )


def test_the_same_text_is_reinforced_and_not_kept_twice(store: PrivateStore, clock: Clock) -> None:
    first = keep(store, "Likes tea")
    clock.ms = 2_000
    assert keep(store, "likes  TEA.") == ItemResult(first.id, ItemAction.REINFORCED)
    item = get(store, first.id)
    assert (texts(store), item.created_at_ms, item.updated_at_ms) == (["Likes tea"], 1_000, 2_000)


def test_a_new_value_of_a_subject_supersedes_the_old_one(store: PrivateStore) -> None:
    old = keep(store, "Lives in Porto", subject="home")
    new = keep(store, "Lives in Lisbon", subject="Home")
    assert new.action is ItemAction.REPLACED
    assert (texts(store), texts(store, ItemStatus.SUPERSEDED)) == (["Lives in Lisbon"], ["Lives in Porto"])
    assert get(store, new.id).supersedes == old.id


@pytest.mark.parametrize(("old", "new"), list(itertools.product(SAID, repeat=2)))
def test_lower_trust_never_replaces_higher(store: PrivateStore, old: Trust, new: Trust) -> None:
    first = keep(store, "Lives in Porto", subject="home", trust=old)
    result = keep(store, "Lives in Lisbon", subject="home", trust=new)
    if TRUST_RANKS[new] < TRUST_RANKS[old]:
        assert result == ItemResult(first.id, ItemAction.OUTRANKED)
        assert texts(store) == ["Lives in Porto"]
    else:
        assert result.action is ItemAction.REPLACED
        assert texts(store) == ["Lives in Lisbon"]


def test_the_users_word_ranks_above_the_agents_above_a_third_partys() -> None:
    rank = TRUST_RANKS.__getitem__
    assert rank(Trust.CURATED) == rank(Trust.USER_CONFIRMED) == rank(Trust.USER_STATED) > rank(Trust.AGENT)
    assert rank(Trust.AGENT) > rank(Trust.INFERRED) > rank(Trust.THIRD_PARTY)
    assert set(TRUST_RANKS) == set(Trust)


def test_what_an_agent_writes_after_an_untrusted_read_is_unreviewed_until_the_user_says_it(store: PrivateStore) -> None:
    clean = keep(store, "Likes coffee", trust=Trust.AGENT, taint=Taint.CLEAN)
    told = keep(store, "Likes tea", trust=Trust.AGENT, taint=Taint.TAINTED)
    assert [get(store, one.id).is_unreviewed for one in (clean, told)] == [False, True]
    keep(store, "Likes tea", trust=Trust.AGENT, taint=Taint.CLEAN)
    assert get(store, told.id).is_unreviewed
    keep(store, "Likes tea", trust=Trust.USER_STATED)
    assert not get(store, told.id).is_unreviewed


def test_an_untrusted_read_replaces_no_value_that_was_learned_without_one(store: PrivateStore) -> None:
    first = keep(store, "Lives in Porto", subject="home", trust=Trust.INFERRED, taint=Taint.CLEAN)
    told = keep(store, "Lives in Evil", subject="home", trust=Trust.AGENT, taint=Taint.TAINTED)
    assert told == ItemResult(first.id, ItemAction.OUTRANKED)
    keep(store, "Was in Rome", subject="trip", trust=Trust.AGENT, taint=Taint.TAINTED)
    assert keep(store, "Was in Oslo", subject="trip", taint=Taint.CLEAN).action is ItemAction.REPLACED


def test_a_fact_that_the_user_repeats_becomes_the_users_and_never_the_agents_again(store: PrivateStore) -> None:
    item_id = keep(store, "Likes tea").id
    keep(store, "Likes tea", trust=Trust.USER_STATED)
    keep(store, "Likes tea", trust=Trust.AGENT)
    assert get(store, item_id).trust is Trust.USER_STATED


def test_an_old_text_said_again_under_a_subject_takes_the_place_of_its_value(store: PrivateStore) -> None:
    tabs = keep(store, "Uses tabs")
    keep(store, "Uses spaces", subject="indent")
    assert keep(store, "Uses tabs", subject="indent") == ItemResult(tabs.id, ItemAction.REPLACED)
    assert [(item.content, item.subject) for item in store.items.list()] == [("Uses tabs", "indent")]


def test_an_agent_cannot_take_the_subject_of_a_users_fact_by_repeating_an_old_text(store: PrivateStore) -> None:
    keep(store, "Uses tabs")
    spaces = keep(store, "Uses spaces", subject="indent", trust=Trust.USER_STATED)
    assert keep(store, "Uses tabs", subject="indent") == ItemResult(spaces.id, ItemAction.OUTRANKED)
    assert texts(store) == ["Uses tabs", "Uses spaces"]


def test_the_same_subject_in_another_scope_is_another_fact(store: PrivateStore) -> None:
    keep(store, "Lives in Porto", subject="home", scope=Scope.CONTACT)
    keep(store, "Lives in Lisbon", subject="home", scope=Scope.TASK)
    keep(store, "Lives in Rome", subject="home", scope=Scope.WORKSPACE, workspace=BILLING)
    keep(store, "Lives in Bern", subject="home", scope=Scope.WORKSPACE, workspace=Workspace("ws-9", "Other"))
    assert len(texts(store)) == 4
    assert [item.scope_ref for item in store.items.list()] == ["mail:ann", "t1", "ws-1", "ws-9"]


def test_what_a_third_party_says_stays_with_that_contact(store: PrivateStore) -> None:
    item = get(store, keep(store, "Send the money to me", scope=Scope.GLOBAL, trust=Trust.THIRD_PARTY).id)
    assert (item.scope, item.scope_ref, item.trust, item.privacy) == (
        Scope.CONTACT,
        "mail:ann",
        Trust.THIRD_PARTY,
        "private",
    )


def test_what_is_learned_in_a_strict_workspace_holds_there_only(store: PrivateStore) -> None:
    item = get(store, keep(store, "Has a rare disease", scope=Scope.GLOBAL, workspace=STRICT).id)
    assert (item.scope, item.scope_ref, item.privacy) == (Scope.WORKSPACE, "ws-2", "strict")


def test_saying_a_private_fact_again_does_not_make_it_less_private(store: PrivateStore) -> None:
    item_id = keep(store, "Likes tea", private=True).id
    keep(store, "Likes tea")
    assert get(store, item_id).privacy == "private"


def test_an_expired_fact_is_not_listed_and_outranks_nothing(store: PrivateStore, clock: Clock) -> None:
    keep(store, "Is on holiday", subject="status", trust=Trust.USER_STATED, expires_at_ms=2_000)
    assert texts(store) == ["Is on holiday"]
    clock.ms = 2_000
    assert texts(store) == []
    assert keep(store, "Is back", subject="status").action is ItemAction.INSERTED
    assert texts(store) == ["Is back"]


def test_the_next_write_removes_what_has_expired(store: PrivateStore, clock: Clock) -> None:
    gone = keep(store, "Is on holiday", trust=Trust.USER_STATED, expires_at_ms=2_000)
    keep(store, "Likes tea")
    clock.ms = 2_000
    assert store.items.find(gone.id) is not None
    keep(store, "Likes coffee")
    assert store.items.find(gone.id) is None
    assert texts(store) == ["Likes tea", "Likes coffee"]


def test_purging_removes_what_has_expired_and_it_may_be_said_again(store: PrivateStore, clock: Clock) -> None:
    keep(store, "Is on holiday", expires_at_ms=2_000)
    keep(store, "Is away", expires_at_ms=2_001)
    assert store.items.purge_expired() == 0
    clock.ms = 2_000
    assert store.items.purge_expired() == 1
    assert texts(store) == ["Is away"]
    assert store.search_file(["Is on holiday"]) == ()
    assert keep(store, "Is on holiday").action is ItemAction.INSERTED


def test_a_lasting_fact_does_not_expire_by_being_said_again(store: PrivateStore, clock: Clock) -> None:
    keep(store, "Likes tea")
    keep(store, "Likes tea", expires_at_ms=2_000)
    clock.ms = 3_000
    assert texts(store) == ["Likes tea"]


def test_the_list_is_filtered_by_what_is_given(store: PrivateStore) -> None:
    keep(store, "Likes GRÜNER Tee", subject="tea", scope=Scope.CONTACT)
    keep(store, "Likes Assam", scope=Scope.WORKSPACE, workspace=BILLING)

    def found(wanted: ItemFilter) -> list[str]:
        return [item.content for item in store.items.list(wanted)]

    assert found(ItemFilter(contains="grüner")) == ["Likes GRÜNER Tee"]
    assert found(ItemFilter(scope=Scope.WORKSPACE, scope_ref="ws-1")) == ["Likes Assam"]
    assert found(ItemFilter(subject=" TEA ")) == ["Likes GRÜNER Tee"]
    assert found(ItemFilter(content_hash=content_hash("likes assam"))) == ["Likes Assam"]
    assert found(ItemFilter(task_id="t1", kind=Kind.PROJECT_FACT)) == ["Likes GRÜNER Tee", "Likes Assam"]
    assert found(ItemFilter(task_id="t2")) == []
    assert [item.content for item in store.items.list(limit=1)] == ["Likes GRÜNER Tee"]


def test_forgetting_removes_the_row_and_its_number_is_never_given_again(store: PrivateStore) -> None:
    item_id = keep(store, "Likes tea").id
    assert store.items.forget(item_id)
    assert store.items.find(item_id) is None
    assert not store.items.forget(item_id)
    assert keep(store, "Likes coffee").id > item_id


@pytest.mark.parametrize("trust", [Trust.AGENT, Trust.INFERRED, Trust.THIRD_PARTY])
def test_a_forgotten_fact_comes_back_only_by_the_users_word(store: PrivateStore, trust: Trust) -> None:
    assert store.items.forget(keep(store, "Likes tea", trust=trust, subject="drink").id)
    again = keep(store, "likes  TEA.", trust=trust, subject="drink")
    assert again == ItemResult(0, ItemAction.FORGOTTEN)
    assert texts(store) == []
    assert keep(store, "Likes tea", trust=Trust.USER_STATED).action is ItemAction.INSERTED
    assert keep(store, "Likes tea", trust=trust).action is ItemAction.REINFORCED


def test_what_was_forgotten_after_the_users_word_stays_forgotten_too(store: PrivateStore) -> None:
    for _ in range(2):
        item = keep(store, "Likes tea", trust=Trust.USER_STATED)
        assert store.items.forget(item.id)
    assert keep(store, "Likes tea").action is ItemAction.FORGOTTEN


def test_forgetting_holds_where_the_fact_held_and_nowhere_else(store: PrivateStore) -> None:
    store.items.forget(keep(store, "Prefers mail", scope=Scope.CONTACT).id)
    assert keep(store, "Prefers mail", scope=Scope.TASK).action is ItemAction.INSERTED
    assert keep(store, "Prefers mail", scope=Scope.CONTACT).action is ItemAction.FORGOTTEN


def test_forgetting_takes_the_values_along_that_the_fact_replaced(store: PrivateStore) -> None:
    keep(store, "Lives in Berlin", subject="home")
    keep(store, "Lives in Lisbon", subject="home")
    last = keep(store, "Lives in Porto", subject="home")
    assert store.items.forget(last.id)
    assert texts(store, ItemStatus.SUPERSEDED) == []
    assert store.search_file(["Lives in"]) == ()
    assert keep(store, "Lives in Berlin", subject="home").action is ItemAction.FORGOTTEN


def test_a_purged_text_stays_forgotten(store: PrivateStore) -> None:
    keep(store, "Likes tea")
    assert store.purge_texts(["likes tea!"]).rows == 1
    assert keep(store, "Likes tea").action is ItemAction.FORGOTTEN


def commit_to(store: PrivateStore, text: str, due_at_ms: int | None = None, kind: Kind = Kind.COMMITMENT) -> int:
    candidate = Candidate(text, kind=kind)
    text_hash = content_hash(text)
    return store.items.keep(candidate, TASK, by=Author.USER, content_hash=text_hash, due_at_ms=due_at_ms).id


def test_commitments_are_listed_by_their_day_and_those_that_were_met_last(store: PrivateStore, clock: Clock) -> None:
    for text, due in (("No day", None), ("Later", 9_000), ("Sooner", 8_000), ("Met first", 1), ("Met last", 2)):
        commit_to(store, text, due)
    commit_to(store, "No commitment", 1, Kind.PROJECT_FACT)
    for text in ("Met first", "Met last"):
        clock.ms += 1
        store.items.finish(next(item.id for item in store.items.list() if item.content == text))
    assert [item.content for item in store.items.list_commitments()] == ["Sooner", "Later", "No day"]
    everything = [item.content for item in store.items.list_commitments(with_done=True)]
    assert everything == ["Sooner", "Later", "No day", "Met last", "Met first"]


def test_a_commitment_is_met_once_and_may_be_made_again(store: PrivateStore, clock: Clock) -> None:
    first = commit_to(store, "Send the report")
    done = store.items.finish(first)
    clock.ms += 1
    assert store.items.finish(first) == done
    assert (done.status, done.done_at_ms) == (ItemStatus.DONE, 1_000)
    assert commit_to(store, "Send the report") != first
    assert texts(store) == ["Send the report"]


def test_only_a_commitment_can_be_met(store: PrivateStore) -> None:
    fact = commit_to(store, "Likes tea", kind=Kind.PREFERENCE)
    replaced = keep(store, "Lives in Berlin", subject="home")
    keep(store, "Lives in Lisbon", subject="home")
    for item_id in (fact, replaced.id, 99):
        with pytest.raises(NotFound, match=f"memory:{item_id} names no commitment"):
            store.items.finish(item_id)
    assert get(store, fact).status is ItemStatus.ACTIVE


def test_forgetting_by_filter_takes_superseded_rows_along(store: PrivateStore) -> None:
    keep(store, "Lives in Porto", subject="home")
    keep(store, "Lives in Lisbon", subject="home")
    keep(store, "Likes tea")
    assert store.items.forget_where(ItemFilter(subject="home")) == 2
    assert texts(store) == ["Likes tea"]
    assert texts(store, ItemStatus.SUPERSEDED) == []


def test_forgetting_by_an_empty_filter_is_refused(store: PrivateStore) -> None:
    keep(store, "Likes tea")
    with pytest.raises(InvalidInput, match="every private fact"):
        store.items.forget_where(ItemFilter())
    assert texts(store) == ["Likes tea"]


def test_a_text_that_is_no_unicode_is_refused_without_being_shown(store: PrivateStore) -> None:
    with pytest.raises(InvalidInput) as caught:
        keep(store, "likes \udcff tea")
    assert "tea" not in str(caught.value)
    assert texts(store) == []


FACTS = st.tuples(
    st.sampled_from(["Uses tabs", "uses TABS.", "Uses spaces", "Likes tea"]),
    st.sampled_from([None, "indent", "drink"]),
    st.sampled_from([Trust.THIRD_PARTY, Trust.INFERRED, Trust.AGENT, Trust.USER_STATED]),
    st.sampled_from([Scope.CONTACT, Scope.TASK]),
)


@settings(max_examples=25)  # each writes to disk
@given(st.lists(FACTS, max_size=12))
def test_whatever_is_said_one_row_is_active_per_text_and_subject_and_none_yields_to_lower_trust(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str | None, Trust, Scope]]
) -> None:
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('s') / 'store.db'}", now_ms=lambda: 1)
    try:
        for text, subject, trust, scope in said:
            before = store.items.list()
            keep(store, text, subject=subject, trust=trust, scope=scope)
            active = store.items.list()
            by_text = [(item.scope, item.content_hash) for item in active]
            by_subject = [(item.scope, item.subject) for item in active if item.subject]
            assert len(by_text) == len(set(by_text))
            assert len(by_subject) == len(set(by_subject))
            remaining = {item.id: item for item in active}
            for item in before:
                if TRUST_RANKS[item.trust] > TRUST_RANKS[trust]:
                    assert (remaining[item.id].content, remaining[item.id].trust) == (item.content, item.trust)
    finally:
        store.close()
