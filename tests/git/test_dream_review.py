"""Dreams on a real repo: what is applied at once, what waits on a branch, and how the user settles it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.kit.dreams import SAID, answer, find_alias, make_catalogue
from tests.kit.memory import AGENT, NOON, USER, Memory
from tests.kit.repos import raw_git

from memrepo.dream.classify import classify
from memrepo.dream.operations import parse_answer, resolve
from memrepo.dream.records import (
    DREAMS_FOLDER,
    Record,
    drop_waiting,
    end_cut_off,
    find_record,
    get_record,
    hold_dream_lock,
    list_records,
    make_id,
    save_record,
)
from memrepo.dream.review import Reviews
from memrepo.errors import Conflict, GitMissing, InvalidInput, LockBusy, MergeConflict, NotFound, Refused
from memrepo.git.branches import find_branch
from memrepo.git.client import GitClient

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ME = (
    "# About me\n\n- Prefers tabs over spaces [by: user]\n- Uses pnpm for node projects [by: agent]\n"
    "- Lives in Berlin [by: user]\n- Uses pnpm in node projects [by: agent]\n- Drinks tea [by: user]\n"
    "- Has a dog [by: user]\n- Rides a bike [by: user]\n"
)
INBOX = "# Inbox\n\n- Ledger runs on postgres [by: agent; kind: project_fact]\n- Junk from a page [by: agent]\n"


@pytest.fixture
def desk(memory: Memory) -> Memory:
    memory.write("me.md", ME)
    memory.write("inbox.md", INBOX)
    raw_git(memory.root, "add", "me.md", "inbox.md")
    raw_git(memory.root, "commit", "--quiet", "-m", "Hand edits")
    return memory


def reviews(memory: Memory) -> Reviews:
    return Reviews(memory.writer, memory.history, clock=lambda: NOON)


def dream(memory: Memory, *operations: Mapping[str, object], record_id: str = "2026-10-05") -> Record:
    """One dream whose model answered with these operations; their lines are named by the beginning of their text."""
    files = {path: memory.read(path) for path in ("MEMORY.md", "me.md", "inbox.md") if (memory.root / path).exists()}
    catalogue = make_catalogue(files)
    named = []
    for operation in operations:
        lines = [find_alias(catalogue, text) for text in operation.get("at", ())]  # type: ignore[attr-defined]
        named.append({**{key: value for key, value in operation.items() if key != "at"}, "lines": lines})
    resolved = resolve(parse_answer(answer(*named)), catalogue)
    changes = classify(resolved.changes, paths=catalogue.paths, talks=(SAID,))
    return reviews(memory).apply(Record(id=record_id, at=NOON, changes=changes))


AUTO = ({"op": "merge", "at": ["Uses pnpm for", "Uses pnpm in"], "text": "Uses pnpm for node projects"},)
REVIEW = (
    {"op": "update", "at": ["Lives in"], "text": "Lives in Hamburg"},
    {"op": "promote", "at": ["Ledger runs"]},
    {"op": "remove", "at": ["Rides a"]},
)


def tree(memory: Memory) -> dict[str, bytes]:
    return {str(path.relative_to(memory.root)): path.read_bytes() for path in memory.root.rglob("*.md")}


def branches(memory: Memory) -> list[str]:
    return [name for name, _ in GitClient(memory.root).branches()]


def test_agents_lines_change_at_once_in_one_commit_and_undo_gives_every_byte_back(desk: Memory) -> None:
    before = tree(desk)
    record = dream(desk, *AUTO, {"op": "discard", "at": ["Junk"]})
    assert desk.texts("me.md")[1:3] == ["Uses pnpm for node projects", "Lives in Berlin"]
    assert desk.texts("inbox.md") == ["Ledger runs on postgres"]
    assert desk.subjects()[0] == "Dream 2026-10-05: 2 changes"
    assert "Origin: dream\nDream: 2026-10-05" in raw_git(desk.root, "log", "-1", "--format=%B").decode()
    assert (record.status, branches(desk)) == ("done", ["main"])
    reviews(desk).undo("2026-10-05", USER)
    assert tree(desk) == before
    with pytest.raises(InvalidInput):
        reviews(desk).undo("2026-10-05", USER)


def test_what_waits_is_one_commit_on_a_branch_and_nothing_in_the_folder(desk: Memory) -> None:
    before = tree(desk)
    record = dream(desk, *REVIEW)
    assert tree(desk) == before
    assert raw_git(desk.root, "status", "--porcelain") == b""
    assert (record.status, branches(desk)) == ("waiting", ["dream/2026-10-05", "main"])
    assert raw_git(desk.root, "rev-list", "--count", "main..dream/2026-10-05") == b"1\n"
    diff = reviews(desk).diff("2026-10-05").decode()
    assert "-- Lives in Berlin [by: user]\n+- Lives in Hamburg [by: user]" in diff
    assert "+- Ledger runs on postgres [by: user; kind: project_fact]" in diff


def test_accepting_merges_what_waits_beside_what_was_applied(desk: Memory) -> None:
    dream(desk, *AUTO, *REVIEW)
    desk.say("Speaks German")
    record = reviews(desk).accept("2026-10-05", USER)
    texts = desk.texts("me.md")
    assert {"Lives in Hamburg", "Ledger runs on postgres", "Speaks German"} <= set(texts)
    assert "Rides a bike" not in texts
    assert desk.subjects()[0] == "Dream 2026-10-05: accept 3 changes"
    assert len(raw_git(desk.root, "log", "-1", "--format=%P").split()) == 2
    assert (record.status, record.waiting, branches(desk)) == ("done", (), ["main"])
    assert raw_git(desk.root, "status", "--porcelain") == b""


def test_an_accepted_dream_is_undone_whole_and_to_the_byte(desk: Memory) -> None:
    before = tree(desk)
    dream(desk, *AUTO, *REVIEW)
    reviews(desk).accept("2026-10-05", USER)
    reviews(desk).undo("2026-10-05", USER)
    assert tree(desk) == before


def test_some_changes_are_accepted_and_the_rest_waits_on_what_memory_is_then(desk: Memory) -> None:
    dream(desk, *REVIEW)
    record = reviews(desk).accept("2026-10-05", USER, numbers=[2])
    assert [change.state for change in record.changes] == ["open", "applied", "open"]
    assert "Lives in Berlin" in desk.texts("me.md")
    assert "Ledger runs on postgres" in desk.texts("me.md")
    assert branches(desk) == ["dream/2026-10-05", "main"]
    record = reviews(desk).reject("2026-10-05", USER, numbers=[1])
    assert [change.state for change in record.changes] == ["rejected", "applied", "open"]
    record = reviews(desk).accept("2026-10-05", USER)
    assert ("Lives in Berlin" in desk.texts("me.md"), "Rides a bike" in desk.texts("me.md")) == (True, False)
    assert (record.status, branches(desk)) == ("done", ["main"])


def test_rejecting_changes_no_file_and_keeps_no_text(desk: Memory) -> None:
    before = tree(desk)
    dream(desk, *REVIEW)
    record = reviews(desk).reject("2026-10-05", USER)
    assert (tree(desk), branches(desk), record.status) == (before, ["main"], "done")
    kept = desk.read(f".git/{DREAMS_FOLDER}/2026-10-05.json")
    assert "Hamburg" not in kept
    assert "Berlin" not in kept


def test_a_review_of_lines_that_changed_since_is_stale_and_changes_nothing(desk: Memory) -> None:
    dream(desk, *REVIEW)
    desk.write("me.md", desk.read("me.md").replace("Lives in Berlin", "Lives in Bremen"))
    with pytest.raises(MergeConflict) as caught:
        reviews(desk).accept("2026-10-05", USER)
    assert caught.value.facts["paths"] == ("me.md",)
    assert "Lives in Bremen" in desk.texts("me.md")
    assert raw_git(desk.root, "status", "--porcelain") == b""
    assert branches(desk) == ["dream/2026-10-05", "main"]
    record = reviews(desk).accept("2026-10-05", USER, numbers=[2])
    assert [change.state for change in record.changes] == ["stale", "applied", "open"]


def test_union_merging_of_notes_does_not_hide_a_stale_review(desk: Memory) -> None:
    assert "merge=union" in desk.read(".gitattributes")
    dream(desk, {"op": "update", "at": ["Has a dog"], "text": "Has a cat"})
    desk.write("me.md", desk.read("me.md").replace("Has a dog", "Has two dogs"))
    with pytest.raises(MergeConflict):
        reviews(desk).accept("2026-10-05", USER)
    assert "Has two dogs" in desk.texts("me.md")
    assert "Has a cat" not in desk.texts("me.md")


def test_a_branch_that_somebody_else_changed_is_not_merged(desk: Memory) -> None:
    dream(desk, *REVIEW)
    raw_git(desk.root, "branch", "--force", "dream/2026-10-05", "main")
    with pytest.raises(Conflict):
        reviews(desk).accept("2026-10-05", USER)
    raw_git(desk.root, "branch", "-D", "dream/2026-10-05")
    with pytest.raises(NotFound):
        reviews(desk).accept("2026-10-05", USER)
    assert reviews(desk).reject("2026-10-05", USER).status == "done"


def test_only_the_user_settles_a_dream(desk: Memory) -> None:
    dream(desk, *REVIEW)
    for act in (reviews(desk).accept, reviews(desk).reject, reviews(desk).undo):
        with pytest.raises(Refused):
            act("2026-10-05", AGENT)
    with pytest.raises(InvalidInput):
        reviews(desk).accept("2026-10-05", USER, numbers=[7])
    with pytest.raises(NotFound):
        reviews(desk).accept("../../config", USER)


def test_a_hand_edit_between_dreaming_and_applying_wins(desk: Memory) -> None:
    catalogue = make_catalogue({"me.md": desk.read("me.md")})
    alias = find_alias(catalogue, "Uses pnpm in")
    resolved = resolve(parse_answer(answer({"op": "remove", "line": alias})), catalogue)
    changes = classify(resolved.changes, paths=catalogue.paths, talks=())
    desk.write("me.md", desk.read("me.md").replace("Uses pnpm in node projects [by: agent]", "Uses yarn"))
    record = reviews(desk).apply(Record(id="d", at=NOON, changes=changes))
    assert [change.state for change in record.changes] == ["stale"]
    assert "Uses yarn" in desk.texts("me.md")
    assert desk.subjects()[0] == "Hand edits"


def test_what_was_cut_off_waits_for_nobody_and_keeps_no_text(desk: Memory) -> None:
    git_folder = desk.root / ".git"
    record = dream(desk, *AUTO, *REVIEW)
    save_record(git_folder, record.model_copy(update={"status": "running"}))
    assert get_record(git_folder, "2026-10-05").waiting == ()
    end_cut_off(git_folder)
    ended = get_record(git_folder, "2026-10-05")
    assert (ended.status, {change.state for change in ended.changes}) == ("failed", {"applied", "dropped"})
    assert "Hamburg" not in desk.read(f".git/{DREAMS_FOLDER}/2026-10-05.json")
    reviews(desk).undo("2026-10-05", USER)
    assert desk.read("me.md") == ME


def test_undo_finds_a_commit_that_a_crash_kept_out_of_the_record(desk: Memory) -> None:
    before = tree(desk)
    record = dream(desk, *AUTO)
    save_record(desk.root / ".git", record.model_copy(update={"commits": (), "status": "running"}))
    reviews(desk).undo("2026-10-05", USER)
    assert tree(desk) == before


def test_names_that_git_quotes_are_built_as_they_are(desk: Memory) -> None:
    name = "notes/über uns.md"
    desk.write(name, "- Über uns: Zürich [by: user]\n")
    catalogue = make_catalogue({name: desk.read(name)})
    resolved = resolve(parse_answer(answer({"op": "update", "line": "L1", "text": "Über uns: Genf"})), catalogue)
    changes = classify(resolved.changes, paths=catalogue.paths, talks=())
    reviews(desk).apply(Record(id="d", at=NOON, changes=changes))
    reviews(desk).accept("d", USER)
    assert desk.texts(name) == ["Über uns: Genf"]


def test_without_git_nothing_is_dreamt(tmp_path: Path) -> None:
    from tests.kit.memory import make_memory

    memory = make_memory(tmp_path, has_git=False)
    with pytest.raises(GitMissing):
        reviews(memory).apply(Record(id="d", at=NOON))


def test_one_process_dreams_at_a_time(desk: Memory) -> None:
    dream(desk, *REVIEW)
    with hold_dream_lock(desk.root / ".git"), pytest.raises(LockBusy):
        reviews(desk).accept("2026-10-05", USER)
    assert reviews(desk).accept("2026-10-05", USER).status == "done"


def test_records_are_listed_newest_first_and_other_files_are_left_alone(desk: Memory) -> None:
    git_folder = desk.root / ".git"
    desk.write(f".git/{DREAMS_FOLDER}/d1.json", json.dumps({"id": "d1", "status": "applied"}))
    desk.write(f".git/{DREAMS_FOLDER}/bad.json", b"\xff{")
    first = save_record(git_folder, Record(id=make_id(NOON, ()), at=NOON))
    second = save_record(git_folder, Record(id=make_id(NOON, [first]), at=NOON))
    assert [record.id for record in list_records(git_folder)] == ["2026-10-05-2", "2026-10-05"]
    assert make_id(NOON, [first, second]) == "2026-10-05-3"
    assert find_record(git_folder, "d1") is None
    assert desk.read(f".git/{DREAMS_FOLDER}/d1.json") == '{"id": "d1", "status": "applied"}'


def test_what_waits_is_given_up_with_its_texts_before_a_compaction(desk: Memory) -> None:
    dream(desk, *REVIEW)
    assert drop_waiting(desk.root / ".git") == 3
    record = get_record(desk.root / ".git", "2026-10-05")
    assert [change.state for change in record.changes] == ["dropped"] * 3
    result = desk.history.compact(USER, texts=["Lives in Hamburg"])
    assert result.is_proven
    assert find_branch(GitClient(desk.root), "dream/2026-10-05") is None


def test_a_file_that_is_executable_stays_so(desk: Memory) -> None:
    (desk.root / "me.md").chmod(0o755)
    raw_git(desk.root, "commit", "--quiet", "-am", "mode")
    dream(desk, *REVIEW)
    assert "mode" not in reviews(desk).diff("2026-10-05").decode()
    reviews(desk).accept("2026-10-05", USER)
    assert (desk.root / "me.md").stat().st_mode & 0o111
    assert raw_git(desk.root, "status", "--porcelain") == b""


def test_a_commit_that_a_sync_made_anew_is_still_undone(desk: Memory) -> None:
    before = tree(desk)
    record = dream(desk, *AUTO)
    raw_git(desk.root, "commit", "--quiet", "--amend", "--no-edit", "--date=2026-01-01T00:00:00Z")
    assert record.commits != (GitClient(desk.root).head(),)
    reviews(desk).undo("2026-10-05", USER)
    assert tree(desk) == before
