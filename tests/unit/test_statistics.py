"""Numbers per week, from rows: no file, no clock."""

from __future__ import annotations

import datetime as dt

import pytest

from memrepo import attribution, statistics
from memrepo.git.line_changes import CommitLines, LineChange, parse_patch
from memrepo.keeping import REPEATED
from memrepo.sessions import Session
from memrepo.statistics import TaskSeen, Week, compute_weeks, find_tasks
from memrepo.store.records import Event

MONDAY = dt.datetime(2026, 11, 30, 0, 30, tzinfo=dt.UTC)
NOW = MONDAY + dt.timedelta(days=9)  # Wednesday of the week after


def commit(
    *lines: tuple[str, str],
    at: dt.datetime = MONDAY,
    subject: str = "Remember 1 facts",
    origin: str | None = "agent_tool",
    task: str | None = None,
) -> CommitLines:
    """A commit; each line is a path and `+` or `-` with the text."""
    changes = tuple(LineChange(path, is_added=text[0] == "+", text=text[1:]) for path, text in lines)
    return CommitLines(f"c{at.timestamp()}", at, subject, origin, task, changes)


def compute(
    *commits: CommitLines,
    tasks: dict[str, TaskSeen] | None = None,
    events: tuple[Event, ...] = (),
    count: int = 2,
    now: dt.datetime = NOW,
) -> tuple[Week, ...]:
    return compute_weeks(commits, tasks or {}, events, now=now, count=count, find_sizes=lambda _: [("me.md", 10)])


def test_facts_are_counted_per_ten_tasks_by_whose_word_they_are() -> None:
    week, this = compute(
        commit(("me.md", "+- One [by: user]"), ("me.md", "+- Two [by: agent]"), ("inbox.md", "+- Three [by: agent]")),
        commit(("me.md", "+- Four [by: user]"), origin="cli"),
        tasks={str(number): TaskSeen(MONDAY, has_read=number == 0) for number in range(4)},
    )
    assert dict(week.facts) == {"user": 2, "agent": 1, "inbox": 1}
    assert week.facts_per_10_tasks == {"user": 5.0, "agent": 2.5, "inbox": 2.5}
    assert (week.tasks, week.read_share) == (4, 0.25)
    assert (this.tasks, this.read_share) == (0, None)
    assert this.facts_per_10_tasks == {"user": None, "agent": None, "inbox": None}


@pytest.mark.parametrize(
    "other",
    [
        commit(("me.md", "+- One [by: user]"), origin="export"),
        commit(("me.md", "+- One"), subject="Hand edits", origin="hand_edit"),
        commit(("me.md", "+- One"), subject="Dream 2026-11-30: 1 changes", origin="dream"),
        commit(("me.md", "-- One"), ("lessons.md", "+- One"), subject="Move: One", origin="cli"),
        commit(("swarms/x/findings.md", "+- One [by: agent]"), origin="swarm"),
        commit(("notes.txt", "+- One"), origin="cli"),
        commit(("me.md", "-- Two"), ("me.md", "+- One"), subject="Edit: One", origin="cli"),
        commit(("workspaces/a.md", "+- CoWork workspace [by: user; workspace: w]")),
        commit(("me.md", "+## Heading"), ("me.md", "+- [[me]]")),
    ],
)
def test_what_nobody_remembered_is_no_fact(other: CommitLines) -> None:
    assert sum(compute(other)[0].facts.values()) == 0


def test_new_entries_are_counted_by_their_origin_and_moved_ones_are_not_new() -> None:
    week = compute(
        commit(("me.md", "+- One"), subject="Hand edits", origin="hand_edit"),
        commit(("me.md", "+- Two"), ("me.md", "+- Three"), origin="import"),
        commit(("me.md", "-- Two [by: agent]"), ("lessons.md", "+- Two [by: user]"), subject="Move: Two", origin="cli"),
        commit(("me.md", "+- Four"), origin=None),
    )[0]
    assert {name: number for name, number in week.origins.items() if number} == {
        "hand_edit": 1,
        "import": 2,
        "unknown": 1,
    }


def test_what_left_the_inbox_was_promoted_or_discarded_and_what_was_edited_stayed() -> None:
    week = compute(
        commit(("inbox.md", "-- One [by: agent]"), ("me.md", "+- One [by: user]"), subject="Keep: One", origin="cli"),
        commit(("inbox.md", "-- Two"), ("inbox.md", "-- Three"), subject="Forget 2 entries", origin="cli"),
        commit(("inbox.md", "-- Four"), ("inbox.md", "+- Five"), subject="Edit: Five", origin="cli"),
        commit(("inbox.md", "-- Six"), ("inbox.md", "+- Six [by: user]"), subject="Hand edits", origin="hand_edit"),
    )[0]
    assert (week.promoted, week.discarded) == (1, 2)


@pytest.mark.parametrize(
    ("earlier", "later", "is_repeated"),
    [
        ("Prefers tabs over spaces", "Prefers tabs over spaces, always", True),
        ("Prefers tabs over spaces", "prefers tabs over spaces!", True),
        ("コミットは小さくまとめる", "コミットは小さくまとめる。", True),
        ("Prefers tabs over spaces", "Deploys happen on Tuesdays", False),
        ("ok", "no", False),
    ],
)
def test_a_correction_that_says_what_was_saved_before_counts_as_repeated(
    earlier: str, later: str, is_repeated: bool
) -> None:
    long_ago = commit(("me.md", f"+- {earlier}"), at=MONDAY - dt.timedelta(days=400))
    gone = commit(("me.md", f"-- {earlier}"), at=MONDAY - dt.timedelta(days=300), subject="Forget: it")
    week = compute(long_ago, gone, commit(("me.md", f"+- {later} [by: user; kind: correction]")))[0]
    assert (week.corrections, week.repeated) == (1, int(is_repeated))


def test_two_corrections_of_one_commit_do_not_repeat_each_other_and_other_kinds_never() -> None:
    week = compute(
        commit(("me.md", "+- Use tabs here [kind: correction]"), ("me.md", "+- Use tabs there [kind: correction]")),
        commit(("me.md", "+- Use tabs where [kind: preference]")),
    )[0]
    assert (week.corrections, week.repeated) == (2, 0)


def test_a_correction_that_no_commit_tells_of_is_counted_by_its_event() -> None:
    event = Event(1, int(MONDAY.timestamp() * 1000), REPEATED, 1)
    week = compute(events=(event,))[0]
    assert (week.corrections, week.repeated) == (1, 1)


def test_a_week_starts_on_monday_in_the_zone_of_the_clock() -> None:
    west = dt.timezone(dt.timedelta(hours=-5))  # where MONDAY is still Sunday
    weeks = compute(commit(("me.md", "+- One [by: user]")), count=3, now=NOW.astimezone(west))
    assert [week.start.isoformat() for week in weeks] == ["2026-11-23", "2026-11-30", "2026-12-07"]
    assert [week.facts["user"] for week in weeks] == [1, 0, 0]


def test_sizes_are_those_at_the_end_of_each_week_and_older_weeks_have_none() -> None:
    asked: list[str] = []

    def find_sizes(commit_id: str) -> list[tuple[str, int]]:
        asked.append(commit_id)
        return [("MEMORY.md", 7), ("me.md", 5), ("swarms/x/README.md", 99), ("run.sh", 50)]

    first, second = commit(("me.md", "+- One"), ("me.md", "+- Two")), commit(("me.md", "-- One"), at=NOW)
    weeks = compute_weeks([first, second], {}, (), now=NOW, count=3, find_sizes=find_sizes)
    assert [week.sizes.entries for week in weeks] == [0, 2, 1]
    assert weeks[2].sizes == (2, 1, 12, 7)
    assert asked == [first.id, second.id]


def test_weeks_from_which_the_ledger_may_have_forgotten_say_so() -> None:
    assert [week.is_whole for week in compute(count=6)] == [False, True, True, True, True, True]


def test_tasks_are_what_the_ledger_commits_and_reads_tell_of_each_once() -> None:
    at_ms = int(MONDAY.timestamp() * 1000)
    sessions = [
        Session("k1", "main", "claude-code", first_at_ms=at_ms),
        Session("k2", "child", "claude-code", parent="k1", first_at_ms=at_ms + 1, has_read_memory=True),
        Session("k3", "idle", "codex", first_at_ms=at_ms),
        Session("k4", "loop", "codex", parent="k5", first_at_ms=at_ms),
        Session("k5", "pool", "codex", parent="k4", first_at_ms=at_ms),
    ]
    commits = [
        commit(task="child", at=MONDAY + dt.timedelta(days=1)),
        commit(task="pruned", at=MONDAY),
        commit(task="by-hand", origin="cli"),
    ]
    events = [
        Event(1, at_ms, "read", 3, task_id="reader", detail={"recall": 3}),
        Event(2, at_ms, "read", 3, task_id="idle", detail={"block": 3}),
        Event(3, at_ms, "used", 1, task_id="nobody", detail={"repo": 1}),
        Event(4, at_ms, "read", 1, detail={"grep": 1}),
    ]
    found = find_tasks(sessions, commits, events)
    assert found["main"] == TaskSeen(MONDAY, has_read=True)
    assert found["pruned"] == TaskSeen(MONDAY, has_read=False)
    assert found["reader"].has_read
    assert not found["idle"].has_read
    assert set(found) - {"loop", "pool"} == {"main", "idle", "pruned", "reader"}


def test_no_text_of_a_file_can_pass_for_a_header_of_the_patch() -> None:
    patch = (
        "diff --git a/me.md b/me.md\n--- a/me.md\n+++ b/me.md\t\n@@ -1,2 +1,3 @@ ## Head\n--- a/inbox.md\n-- One\n"
        "+++ b/inbox.md\n+@@ -1 +1 @@\n+- Two\r\n"
        'diff --git "a/n\\303\\251.md" b/x\n--- /dev/null\n+++ "b/n\\303\\251.md"\n@@ -0,0 +1 @@\n+- Three\n'
        "\\ No newline at end of file\n"
    )
    assert [(line.path, line.is_added, line.text) for line in parse_patch(patch)] == [
        ("me.md", False, "-- a/inbox.md"),
        ("me.md", False, "- One"),
        ("me.md", True, "++ b/inbox.md"),
        ("me.md", True, "@@ -1 +1 @@"),
        ("me.md", True, "- Two"),
        ("n\\303\\251.md", True, "- Three"),
    ]


def test_the_names_of_events_are_those_that_are_recorded() -> None:
    assert statistics.READ == attribution.READ
