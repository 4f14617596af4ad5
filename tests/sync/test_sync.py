"""Sync of real folders with a real bare repository; only the wire between them is a stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.machines import Machines, clone, push_by_hand
from tests.kit.memory import USER
from tests.kit.remotes import list_remote_objects, remote_file, remote_subjects
from tests.kit.repos import assert_sound, commit_files, head_of, message_of, porcelain, raw_git

from memrepo.errors import (
    ArrivalRefused,
    GitMissing,
    HistoryReplaced,
    MergeConflict,
    Refused,
    RemoteFailed,
    SideEmptied,
)
from memrepo.model import Kind, Ref, RepoPath
from memrepo.sync.engine import Sync
from memrepo.sync.merging import Take
from memrepo.sync_state import STATE_NAME, read_state

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.machines import Machine


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    made = Machines(tmp_path)
    made.network.put_in(monkeypatch)
    return made


def forget(machine: Machine, text: str, path: str = "me.md") -> None:
    entry = next(entry for entry in machine.entries(path) if entry.text == text)
    machine.service.forget(Ref(RepoPath(path), entry.line), USER)


def test_the_first_sync_sends_everything_and_the_second_does_nothing(machines: Machines) -> None:
    here = machines.make("here")
    here.say("Prefers tabs")
    report = here.run()
    assert (report.pulled, report.pushed, report.paths) == (0, 2, ())
    assert head_of(machines.bare) == here.head
    again = here.run()
    assert (again.pulled, again.pushed) == (0, 0)
    assert here.sync.status().ahead == here.sync.status().behind == 0


def test_what_one_machine_learns_the_other_knows(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    here.run()
    report = there.run()
    assert (report.pulled, report.pushed, report.paths) == (1, 0, ("me.md",))
    assert there.texts("me.md") == ["Prefers tabs"]
    assert there.head == here.head
    assert porcelain(there.root) == []


def test_two_folders_that_began_apart_become_one_and_lose_nothing(machines: Machines) -> None:
    here, there = machines.make("here"), machines.make("there")
    here.say("Prefers tabs")
    there.say("Lives in Bern")
    there.learn("Uses Postgres")
    machines.settle(here, there)
    for machine in (here, there):
        assert sorted(machine.texts("me.md")) == ["Lives in Bern", "Prefers tabs"]
        assert machine.texts("workspaces/billing-service.md")[-1] == "Uses Postgres"
        assert_sound(machine.root)
    assert here.head == there.head == head_of(machines.bare)


def test_local_commits_are_made_anew_with_their_author_date_and_trailers(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    there.say("Lives in Bern")
    there.run()
    here.learn("Uses Postgres")
    before = raw_git(here.root, "log", "-1", "--format=%an %ae %ad %cn %cd")
    message = message_of(here.root)
    here.say("Prefers tabs")
    report = here.run()
    assert (report.pulled, report.pushed) == (1, 2)
    assert here.subjects()[:3] == ["Remember preference: Prefers tabs", message.partition("\n")[0], there.subjects()[0]]
    assert raw_git(here.root, "log", "-1", "--format=%an %ae %ad %cn %cd", "HEAD~1") == before
    assert message_of(here.root, "HEAD~1") == message
    assert "Task: t1" in message
    assert len(raw_git(here.root, "rev-list", "--merges", "HEAD")) == 0


def test_a_forgotten_fact_never_comes_back(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    here.say("Lives in Bern")
    machines.settle(here, there)
    forget(here, "Prefers tabs")
    there.say("Speaks German")
    machines.settle(here, there)
    assert here.texts("me.md") == there.texts("me.md") == ["Lives in Bern", "Speaks German"]


def test_a_fact_that_one_machine_forgot_and_the_other_moved_is_forgotten(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    machines.settle(here, there)
    forget(here, "Prefers tabs")
    there.service.pin(Ref(RepoPath("me.md"), there.entries("me.md")[0].line), USER)
    machines.settle(there, here)
    assert here.all_texts() == there.all_texts() == []


def test_a_fact_that_both_machines_moved_stands_once(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    machines.settle(here, there)
    here.service.move(Ref(RepoPath("me.md"), here.entries("me.md")[0].line), RepoPath("lessons.md"), USER)
    there.service.pin(Ref(RepoPath("me.md"), there.entries("me.md")[0].line), USER)
    machines.settle(here, there)
    assert here.texts("MEMORY.md") == there.texts("MEMORY.md") == ["Prefers tabs"]
    assert here.all_texts() == there.all_texts() == ["Prefers tabs"]


def test_hand_edits_are_committed_first_and_travel(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.write("notes/trip.md", "# Trip\n\n- By train\n")
    here.run()
    there.run()
    assert there.texts("notes/trip.md") == ["By train"]
    assert "Hand edits" in there.subjects()


def test_a_file_deleted_on_one_side_and_changed_on_the_other_pauses_and_changes_nothing(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.write("notes/trip.md", "# Trip\n\n- By train\n")
    machines.settle(here, there)
    (here.root / "notes/trip.md").unlink()
    here.run()
    there.write("notes/trip.md", "# Trip\n\n- By train\n- On Monday\n")
    with pytest.raises(MergeConflict, match=r"trip\.md was deleted there and changed here") as paused:
        there.run()
    assert paused.value.facts["paths"] == ("notes/trip.md",)
    assert "--take here" in paused.value.hint
    assert there.texts("notes/trip.md") == ["By train", "On Monday"]
    pause = read_state(there.root / ".git").pause
    assert pause is not None
    assert (pause.code, pause.paths) == ("merge-conflict", ("notes/trip.md",))
    assert there.sync.run_quietly() is None
    there.say("Still writes")
    there.run(take=Take.HERE)
    assert read_state(there.root / ".git").pause is None
    here.run()
    assert here.texts("notes/trip.md") == ["By train", "On Monday"]
    assert here.texts("me.md") == ["Still writes"]


@pytest.mark.parametrize(
    ("take", "left"), [(Take.HERE, []), (Take.THERE, ["By train", "On Monday"]), (Take.BOTH, ["By train", "On Monday"])]
)
def test_the_person_says_which_side_counts(machines: Machines, take: Take, left: list[str]) -> None:
    here, there = machines.make_many("here", "there")
    here.write("notes/trip.md", "# Trip\n\n- By train\n")
    machines.settle(here, there)
    there.write("notes/trip.md", "# Trip\n\n- By train\n- On Monday\n")
    there.run()
    (here.root / "notes/trip.md").unlink()
    with pytest.raises(MergeConflict, match="deleted here and changed there"):
        here.run()
    here.run(take=take)
    there.run()
    assert here.texts("notes/trip.md") == there.texts("notes/trip.md") == left


def test_settling_it_by_hand_is_enough(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.write("notes/trip.md", "# Trip\n\n- By train\n")
    machines.settle(here, there)
    there.write("notes/trip.md", "# Trip\n\n- By train\n- On Monday\n")
    there.run()
    (here.root / "notes/trip.md").unlink()
    with pytest.raises(MergeConflict):
        here.run()
    here.write("notes/trip.md", "# Trip\n\n- By train\n- On Monday\n")
    here.run()
    assert here.texts("notes/trip.md") == ["By train", "On Monday"]


def test_a_file_that_only_lost_lines_does_not_stop_its_deletion(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.write("notes/trip.md", "# Trip\n\n- By train\n- On Monday\n")
    machines.settle(here, there)
    there.write("notes/trip.md", "# Trip\n\n- By train\n")
    there.run()
    (here.root / "notes/trip.md").unlink()
    machines.settle(here, there)
    assert not (there.root / "notes/trip.md").exists()


def test_a_remote_that_lost_its_branch_is_an_accident_until_somebody_says_otherwise(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    raw_git(machines.bare, "update-ref", "-d", "refs/heads/main")
    with pytest.raises(SideEmptied, match="lost its branch"):
        here.run()
    assert remote_subjects(machines.bare) == []
    here.run(take=Take.HERE)
    there.run()
    assert here.head == there.head == head_of(machines.bare)


def test_a_remote_that_lost_all_entries_is_an_accident_too(machines: Machines, tmp_path: Path) -> None:
    here, there = machines.make_many("here", "there")
    for number in range(12):
        here.say(f"Fact number {number}")
    machines.settle(here, there)
    place = clone(machines.bare, tmp_path / "web")
    (place / "me.md").write_text("# Me\n")
    push_by_hand(machines.bare, place)
    with pytest.raises(SideEmptied, match="the remote suddenly lost all 12 entries"):
        here.run()
    assert len(here.texts("me.md")) == 12
    here.run(take=Take.HERE)
    assert len(here.texts("me.md")) == 12
    assert remote_file(machines.bare, "me.md").count("Fact number") == 12
    there.run()
    assert len(there.texts("me.md")) == 12


def test_an_emptied_remote_may_be_meant(machines: Machines, tmp_path: Path) -> None:
    (here,) = machines.make_many("here")
    for number in range(12):
        here.say(f"Fact number {number}")
    here.run()
    place = clone(machines.bare, tmp_path / "web")
    (place / "me.md").write_text("# Me\n")
    push_by_hand(machines.bare, place)
    with pytest.raises(SideEmptied):
        here.run()
    here.run(take=Take.THERE)
    assert here.texts("me.md") == []


def test_a_folder_that_a_hand_emptied_is_not_sent(machines: Machines) -> None:
    (here,) = machines.make_many("here")
    for number in range(12):
        here.say(f"Fact number {number}")
    here.run()
    here.write("me.md", "# Me\n")
    with pytest.raises(SideEmptied, match="this folder suddenly lost"):
        here.run()
    assert "Fact number" in remote_file(machines.bare, "me.md")
    here.run(take=Take.HERE)
    assert "Fact number" not in remote_file(machines.bare, "me.md")


def test_a_folder_that_a_command_emptied_is_sent_and_asked_about_where_it_arrives(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    for number in range(12):
        here.say(f"Fact number {number}")
    machines.settle(here, there)
    here.service.clear_global(USER)
    here.run()
    with pytest.raises(SideEmptied, match="the remote suddenly lost"):
        there.run()
    there.run(take=Take.THERE)
    assert there.all_texts() == []


# Compaction


def test_a_compaction_replaces_the_remotes_history_and_the_other_machine_follows(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers a very secret thing")
    machines.settle(here, there)
    there.say("Lives in Bern")
    there.run()
    here.run()
    forget(here, "Prefers a very secret thing")
    result = here.history.compact(USER)
    assert result.is_proven
    assert b"very secret thing" in list_remote_objects(machines.bare)
    there.say("Speaks German")
    report = here.run()
    assert report.replaced_there
    assert b"very secret thing" not in list_remote_objects(here.root)
    assert machines.network.calls[-2:] == ["ls-remote", "push"]
    raw_git(machines.bare, "gc", "--prune=now", "--quiet")
    assert b"very secret thing" not in list_remote_objects(machines.bare)
    assert there.run().replaced_here
    here.run()
    assert here.texts("me.md") == there.texts("me.md") == ["Lives in Bern", "Speaks German"]
    assert here.head == there.head == head_of(machines.bare)
    assert remote_subjects(machines.bare) == ["Remember preference: Speaks German", "Compact history"]
    raw_git(machines.bare, "gc", "--prune=now", "--quiet")
    assert b"very secret thing" not in list_remote_objects(machines.bare)


def test_a_compaction_meets_a_remote_that_went_on(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers a very secret thing")
    machines.settle(here, there)
    there.say("Lives in Bern")
    there.run()
    forget(here, "Prefers a very secret thing")
    assert here.history.compact(USER).is_proven
    here.run()
    for place in (machines.bare, here.root):
        raw_git(place, "gc", "--prune=now", "--quiet")
        assert b"very secret thing" not in list_remote_objects(place)
    assert remote_subjects(machines.bare) == ["Remember preference: Lives in Bern", "Compact history"]
    there.run()
    assert here.texts("me.md") == there.texts("me.md") == ["Lives in Bern"]
    assert here.head == there.head


def test_a_commit_made_anew_brings_no_forgotten_text_into_a_compacted_history(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers a very secret thing")
    machines.settle(here, there)
    there.service.move(Ref(RepoPath("me.md"), there.entries("me.md")[0].line), RepoPath("lessons.md"), USER)
    there.say("Lives in Bern")
    forget(here, "Prefers a very secret thing")
    here.history.compact(USER)
    machines.settle(here, there)
    assert here.all_texts() == there.all_texts() == ["Lives in Bern"]
    raw_git(machines.bare, "gc", "--prune=now", "--quiet")
    assert b"very secret thing" not in list_remote_objects(machines.bare)
    subjects = remote_subjects(machines.bare)
    assert (subjects[0], subjects[-1]) == ("Remember preference: Lives in Bern", "Compact history")


def test_a_compaction_that_meets_a_commit_about_a_forgotten_text_takes_the_rest_of_it(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers a very secret thing")
    machines.settle(here, there)
    there.service.move(Ref(RepoPath("me.md"), there.entries("me.md")[0].line), RepoPath("lessons.md"), USER)
    there.say("Lives in Bern")
    there.run()
    forget(here, "Prefers a very secret thing")
    here.history.compact(USER)
    machines.settle(here, there)
    assert here.all_texts() == there.all_texts() == ["Lives in Bern"]
    raw_git(machines.bare, "gc", "--prune=now", "--quiet")
    assert b"very secret thing" not in list_remote_objects(machines.bare)


def test_two_machines_compact_at_once_and_neither_brings_back_what_the_other_forgot(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers a very secret thing")
    here.say("Has another secret here")
    here.say("Lives in Bern")
    machines.settle(here, there)
    forget(here, "Prefers a very secret thing")
    here.say("New here")
    forget(there, "Has another secret here")
    there.say("New there")
    here.history.compact(USER)
    there.history.compact(USER)
    machines.settle(here, there)
    assert sorted(here.texts("me.md")) == sorted(there.texts("me.md")) == ["Lives in Bern", "New here", "New there"]
    assert here.head == there.head == head_of(machines.bare)
    raw_git(machines.bare, "gc", "--prune=now", "--quiet")
    assert b"secret" not in list_remote_objects(machines.bare)


def test_two_compactions_before_a_sync_add_up(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("First secret thing")
    here.say("Second secret thing")
    machines.settle(here, there)
    forget(here, "First secret thing")
    here.history.compact(USER)
    forget(here, "Second secret thing")
    here.history.compact(USER)
    there.say("Lives in Bern")
    there.history.compact(USER)
    machines.settle(there, here)
    assert here.texts("me.md") == there.texts("me.md") == ["Lives in Bern"]


def test_histories_that_share_nothing_are_a_question(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    machines.settle(here, there)
    raw_git(here.root, "checkout", "--quiet", "--orphan", "new")
    raw_git(here.root, "commit", "--quiet", "-m", "By hand")
    raw_git(here.root, "branch", "-M", "new", "main")
    there.say("Lives in Bern")
    there.run()
    with pytest.raises(HistoryReplaced):
        here.run()
    here.run(take=Take.BOTH)
    there.run()
    assert sorted(here.texts("me.md")) == sorted(there.texts("me.md")) == ["Lives in Bern", "Prefers tabs"]


# What arrives


def _plant_link(place: Path) -> None:
    (place / "link.md").symlink_to("/etc/passwd")


def _plant_attributes(place: Path) -> None:
    (place / ".gitattributes").write_text("*.md filter=evil\n")


def _plant_bytes(place: Path) -> None:
    (place / "bad.md").write_bytes(b"- \xff\xfe\n")


def _plant_case(place: Path) -> None:
    (place / "Me.md").write_text("# Me\n")


def _plant_many(place: Path) -> None:
    for number in range(2_001):
        (place / f"f{number}.md").write_text("")


def _plant_large(place: Path) -> None:
    (place / "large.bin").write_bytes(b"\0" * (9 << 20))


def _plant_nothing(place: Path) -> None:
    (place / "MEMORY.md").unlink()


def _plant_submodule(place: Path) -> None:
    raw_git(place, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")


PLANTS = [
    (_plant_link, "link.md is a symbolic link"),
    (_plant_attributes, "no rule allows this attribute"),
    (_plant_bytes, "bad.md is not UTF-8"),
    (_plant_case, "differs from"),
    (_plant_many, "Markdown files"),
    (_plant_large, "large.bin has 9,437,184 bytes"),
    (_plant_nothing, "holds no MEMORY.md"),
    (_plant_submodule, "sub is a submodule"),
]


@pytest.mark.parametrize(("plant", "why"), PLANTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_hostile_remote_changes_nothing_here_and_is_named(
    machines: Machines, tmp_path: Path, plant: object, why: str
) -> None:
    (here,) = machines.make_many("here")
    here.say("Prefers tabs")
    here.run()
    place = clone(machines.bare, tmp_path / "hostile")
    assert callable(plant)
    plant(place)
    raw_git(place, "add", "--all", "--force") if plant is not _plant_submodule else None
    raw_git(place, "commit", "--quiet", "-m", "Evil")
    raw_git(place, "push", "--quiet", str(machines.bare), "HEAD:refs/heads/main")
    before = {path: path.read_bytes() for path in here.root.rglob("*.md")}
    head = here.head
    with pytest.raises(ArrivalRefused, match="the remote has what is not taken") as refused:
        here.run()
    assert why in str(refused.value)
    assert here.head == head
    assert {path: path.read_bytes() for path in here.root.rglob("*.md")} == before
    pause = read_state(here.root / ".git").pause
    assert pause is not None
    assert why in pause.message
    assert here.say("Still writes").commit is not None


def test_a_tree_with_a_git_folder_in_it_is_refused(machines: Machines, tmp_path: Path) -> None:
    (here,) = machines.make_many("here")
    blob = raw_git(machines.bare, "hash-object", "-w", "--stdin", stdin=b"[core]\n").decode().strip()
    inner = raw_git(machines.bare, "mktree", stdin=f"100644 blob {blob}\tconfig\n".encode()).decode().strip()
    listed = raw_git(machines.bare, "ls-tree", "main") + f"040000 tree {inner}\t.GIT\n".encode()
    tree = raw_git(machines.bare, "mktree", stdin=listed).decode().strip()
    commit = raw_git(machines.bare, "commit-tree", tree, "-p", "main", "-m", "x").decode().strip()
    raw_git(machines.bare, "update-ref", "refs/heads/main", commit)
    with pytest.raises(ArrivalRefused, match="folder of git"):
        here.run()


def test_what_other_machines_would_refuse_is_not_sent(machines: Machines) -> None:
    (here,) = machines.make_many("here")
    here.write("notes.md", b"- caf\xe9\n")
    with pytest.raises(ArrivalRefused, match=r"this folder would send what is not taken: notes\.md is not UTF-8"):
        here.run()
    here.write("notes.md", "- café\n")
    here.run()
    assert "café" in remote_file(machines.bare, "notes.md")


# Other programs


def test_a_clone_merged_by_plain_git_syncs_on(machines: Machines, tmp_path: Path) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    here.run()
    there.say("Lives in Bern")
    raw_git(there.root, "fetch", "--quiet", str(machines.bare), "main")
    raw_git(there.root, "merge", "--quiet", "--no-edit", "FETCH_HEAD")
    there.run()
    here.say("Speaks German")
    machines.settle(here, there)
    assert (
        sorted(here.texts("me.md"))
        == sorted(there.texts("me.md"))
        == ["Lives in Bern", "Prefers tabs", "Speaks German"]
    )
    assert here.head == there.head


def test_a_clone_rebased_by_another_program_syncs_on(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    here.run()
    there.say("Lives in Bern")
    raw_git(there.root, "fetch", "--quiet", str(machines.bare), "+main:refs/remotes/cowork-sync/main")
    raw_git(there.root, "rebase", "--quiet", "refs/remotes/cowork-sync/main")
    there.run()
    here.run()
    assert sorted(here.texts("me.md")) == sorted(there.texts("me.md")) == ["Lives in Bern", "Prefers tabs"]
    assert here.head == there.head


def test_commits_made_by_hand_with_their_own_author_travel(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    commit_files(here.root, {"tools/run.sh": "#!/bin/sh\n"}, "Add a tool")
    (here.root / "tools/run.sh").chmod(0o755)
    commit_files(here.root, {}, "Make it run")
    there.say("Lives in Bern")
    machines.settle(there, here)
    there.run()
    assert (there.root / "tools/run.sh").stat().st_mode & 0o111
    assert porcelain(there.root) == []
    assert raw_git(there.root, "log", "--format=%an", "-1", "--", "tools/run.sh").decode().strip() == "A Hand"
    assert there.say("Writes on").commit is not None


# On and off


def test_nothing_leaves_until_both_are_set(machines: Machines) -> None:
    here = machines.make("here")
    for url, confirmed in ((None, True), (here.url, False)):
        sync = Sync(here.writer, url=url, is_confirmed=confirmed, clock=here.sync._clock)
        with pytest.raises(Refused, match="sync is off") as refused:
            sync.run()
        assert "memrepo sync set" in refused.value.hint
        assert sync.run_quietly() is None
        assert not sync.status().is_on
    assert machines.network.calls == []
    assert not (here.root / ".git" / STATE_NAME).exists()


def test_without_git_there_is_nothing_to_sync(tmp_path: Path) -> None:
    from tests.kit.memory import make_memory

    memory = make_memory(tmp_path, has_git=False)
    with pytest.raises(GitMissing):
        Sync(memory.writer, url="git@x:y", is_confirmed=True, clock=lambda: None).run()  # type: ignore[arg-type, return-value]


def test_a_dead_line_is_told_remembered_and_gone_with_the_next_success(machines: Machines) -> None:
    (here,) = machines.make_many("here")
    here.say("Prefers tabs")
    machines.network.cut = lambda *_: "before"
    with pytest.raises(RemoteFailed, match="does not answer"):
        here.run()
    failure = read_state(here.root / ".git").failure
    assert failure is not None
    assert (failure.code, failure.since) == ("remote-failed", "2026-10-06T08:00:00+00:00")
    machines.network.cut = lambda *_: ""
    here.run()
    assert read_state(here.root / ".git").failure is None


def test_a_push_whose_answer_was_lost_is_seen_by_the_next_run(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    machines.network.cut = lambda verb, _: "after" if verb == "push" else ""
    with pytest.raises(RemoteFailed):
        here.run()
    machines.network.cut = lambda *_: ""
    there.run()
    report = here.run()
    assert (report.pulled, report.pushed) == (0, 0)
    assert here.head == there.head


def test_a_remote_that_moves_meanwhile_is_one_more_round(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.say("Prefers tabs")
    there.say("Lives in Bern")

    def move(verb: str, _: int) -> str:
        if verb == "push":
            machines.network.cut = lambda *_: ""
            there.run()
        return ""

    machines.network.cut = move
    report = here.run()
    assert (report.pulled, report.pushed) == (1, 1)
    there.run()
    assert here.head == there.head


def test_pulling_alone_sends_nothing(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    there.say("Lives in Bern")
    there.run()
    here.say("Prefers tabs")
    report = here.run(pushes=False)
    assert (report.pulled, report.pushed) == (1, 0)
    status = here.sync.status()
    assert (status.ahead, status.behind) == (1, 0)
    assert status.url == "example.org:me/memory.git"
    assert "Prefers tabs" not in remote_file(machines.bare, "me.md")


def test_sync_is_forgotten_whole(machines: Machines) -> None:
    (here,) = machines.make_many("here")
    here.sync.forget_remote()
    assert not (here.root / ".git" / STATE_NAME).exists()
    assert b"cowork-sync" not in (here.root / ".git" / "config").read_bytes()
    assert b"cowork-sync" not in raw_git(here.root, "for-each-ref")


def test_the_kind_of_a_fact_and_its_workspace_travel(machines: Machines) -> None:
    here, there = machines.make_many("here", "there")
    here.learn("Uses Postgres", kind=Kind.DECISION)
    here.run()
    there.run()
    there.learn("Deploys on Friday")
    machines.settle(there, here)
    path = "workspaces/billing-service.md"
    assert here.texts(path) == there.texts(path) == ["CoWork workspace", "Uses Postgres", "Deploys on Friday"]
