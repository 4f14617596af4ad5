"""What a sync does, decided from how two histories stand to each other; and what holds between files of a merge."""

from __future__ import annotations

import pytest

from memrepo.errors import HistoryReplaced, SideEmptied
from memrepo.format.entries import content_hash
from memrepo.git.trees import FileEdit, RawCommit
from memrepo.model import CommitId
from memrepo.sync.merging import Clash, Contents, Merger, Take, find_bans
from memrepo.sync.plan import Plan, Relation, Step, choose
from memrepo.sync_state import Replaced

HERE, THERE, HELD, START, SINCE = (CommitId(letter * 40) for letter in "abcde")


@pytest.mark.parametrize(
    ("relation", "plan"),
    [
        (Relation(HERE, None), Plan(Step.KEEP)),
        (Relation(HERE, HERE, is_there_in_here=True, is_here_in_there=True), Plan(Step.KEEP, base=HERE)),
        (Relation(HERE, THERE, is_there_in_here=True, start=THERE), Plan(Step.KEEP, base=THERE)),
        (Relation(HERE, THERE, is_here_in_there=True, start=HERE), Plan(Step.TAKE, base=HERE)),
        (
            Relation(HERE, THERE, HELD, is_held_in_here=True, is_held_in_there=True, start=START),
            Plan(Step.TAKE, base=START),
        ),
        (
            Relation(HERE, THERE, HELD, is_held_in_here=True, start=START),
            Plan(Step.TAKE, base=HELD, is_history_replaced=True),
        ),
        (Relation(HERE, THERE), Plan(Step.TAKE)),
        (Relation(HERE, HELD, HELD, Replaced(HELD)), Plan(Step.KEEP, base=HELD, lease=HELD)),
        (
            Relation(HERE, THERE, HELD, Replaced(HELD), is_held_in_there=True),
            Plan(Step.TAKE_UNDER, base=HELD, lease=THERE, is_history_replaced=True),
        ),
        (
            Relation(HERE, THERE, HELD, Replaced(HELD), since=SINCE),
            Plan(Step.TAKE_UNDER, base=SINCE, lease=THERE, is_base_lost=True),
        ),
        # Pushed already, by a run that was killed before it knew.
        (Relation(HERE, THERE, HELD, Replaced(HELD), is_there_in_here=True, start=THERE), Plan(Step.KEEP, base=THERE)),
        # Put back to an older commit, from a backup: what it lost is sent again.
        (
            Relation(HERE, THERE, HELD, is_there_in_here=True, is_held_in_here=True, start=THERE),
            Plan(Step.KEEP, base=THERE),
        ),
    ],
)
def test_how_the_histories_stand_decides_what_is_done(relation: Relation, plan: Plan) -> None:
    assert choose(relation) == plan


def test_only_a_lease_ever_replaces_what_the_remote_has() -> None:
    """A push that does not follow needs a compaction here, or the word of a person."""
    relation = Relation(HERE, THERE, HELD)
    with pytest.raises(HistoryReplaced):
        choose(relation)
    assert choose(relation, Take.HERE) == Plan(Step.KEEP, base=THERE, lease=THERE)
    assert choose(relation, Take.THERE) == Plan(Step.TAKE, base=HERE, takes_all=True)
    assert choose(relation, Take.BOTH) == Plan(Step.TAKE)


def test_a_branch_that_is_gone_is_an_accident_until_the_person_says_otherwise() -> None:
    with pytest.raises(SideEmptied):
        choose(Relation(HERE, None, HELD))
    assert choose(Relation(HERE, None, HELD), Take.HERE) == Plan(Step.KEEP)


X = content_hash("x")


@pytest.mark.parametrize(
    ("base", "here", "there", "banned"),
    [
        ("a", "a", "a", ""),
        ("a", "b", "", "b"),  # moved here, forgotten there
        ("a", "", "b", "b"),
        ("a", "b", "a", ""),  # moved here alone
        ("a", "b", "c", "c"),  # moved to two places
        ("a", "b", "b", ""),
        ("a", "ab", "", ""),  # said again elsewhere, and not moved
        ("", "b", "c", ""),  # learned twice
        ("a", "i", "c", "i"),  # the inbox comes last
        ("a", "c", "m", "c"),  # and MEMORY.md first
    ],
)
def test_what_happened_to_an_entry_in_other_files(base: str, here: str, there: str, banned: str) -> None:
    names = {"a": "a.md", "b": "b.md", "c": "c.md", "i": "inbox.md", "m": "MEMORY.md"}

    def places(letters: str) -> dict[str, set[str]]:
        return {X: {names[letter] for letter in letters}} if letters else {}

    bans = find_bans(places(base), places(here), places(there))  # type: ignore[arg-type]
    assert set(bans) == {names[letter] for letter in banned}
    assert bans == find_bans(places(base), places(there), places(here))  # type: ignore[arg-type]


def merge(
    base: dict[str, str], ours: dict[str, str], theirs: dict[str, str], take: Take | None = None
) -> tuple[dict[str, str], tuple[Clash, ...]]:
    contents = Contents({})
    trees = [
        {path: contents.add("100644", text.encode()) for path, text in tree.items()} for tree in (base, ours, theirs)
    ]
    merged, clashes = Merger(contents).merge_trees(*trees, take=take)
    return {path: contents.get(blob).decode() for path, blob in merged.items()}, clashes


def test_a_file_that_is_not_markdown_is_a_question_when_both_changed_it() -> None:
    sides = ({"run.sh": "1"}, {"run.sh": "2"}, {"run.sh": "3"})
    assert merge(*sides)[1] == (Clash("run.sh", "run.sh was changed on both sides"),)
    assert merge(*sides, take=Take.HERE) == ({"run.sh": "2"}, ())
    assert merge(*sides, take=Take.THERE) == ({"run.sh": "3"}, ())
    assert merge({"run.sh": "1"}, {"run.sh": "2"}, {"run.sh": "1"}) == ({"run.sh": "2"}, ())


def test_lists_of_git_are_merged_line_by_line() -> None:
    merged, clashes = merge({".gitignore": "a\n"}, {".gitignore": "a\nb\n"}, {".gitignore": "a\nc\n"})
    assert sorted(merged[".gitignore"].split()) == ["a", "b", "c"]
    assert clashes == ()


def test_workspaces_are_named_apart_whatever_happens_to_one_of_them() -> None:
    """The entry that names a workspace has one text in every file; it is no fact that was moved."""
    one, other = (f"- CoWork workspace [by: user; workspace: {name}]\n" for name in ("one", "other"))
    merged, clashes = merge({"one.md": one}, {}, {"one.md": one, "other.md": other})
    assert (merged, clashes) == ({"other.md": other}, ())


def test_commits_made_anew_end_where_the_merge_ends_and_empty_ones_are_left_out() -> None:
    contents = Contents({})
    one, two, three = (contents.add("100644", text) for text in (b"- a\n", b"- a\n- b\n", b"- a\n- c\n"))
    goal = contents.add("100644", b"- a\n- b\n- c\n")
    people = (b"A <a@b> 1 +0000", b"C <c@d> 2 +0000")
    commits = [RawCommit(CommitId(name), people, name.encode()) for name in ("first", "second")]
    edits = [[FileEdit("me.md", one, two)], [FileEdit("me.md", two, two)]]
    own = RawCommit(CommitId(""), people, b"own")
    drafts = Merger(contents).replay(zip(commits, edits, strict=True), {"me.md": three}, {"me.md": goal}, own)
    assert [draft.message for draft in drafts] == [b"first"]
    assert drafts[0].files == (("me.md", ("100644", b"- a\n- b\n- c\n")),)
    assert Merger(contents).replay([], {"me.md": one}, {"me.md": one}, own) == []
    (last,) = Merger(contents).replay([], {"me.md": one}, {}, own)
    assert (last.message, last.files) == (b"own", (("me.md", None),))
