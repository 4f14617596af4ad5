"""The rules of tidying, and how changes are planned on files that may have changed since."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import pytest

from memrepo.dream.classify import classify
from memrepo.dream.operations import OPERATIONS_LIMIT, Change, Line, Op
from memrepo.dream.planning import plan_changes
from memrepo.dream.tidy import tidy
from memrepo.files.atomic import digest_bytes
from memrepo.format.entries import content_hash
from memrepo.model import RepoPath
from memrepo.planning.draft import Draft

TODAY = dt.date(2026, 10, 5)
WORKSPACE = "# B\n\n- CoWork workspace [by: user; workspace: b]\n"


def propose(**files: str) -> list[tuple[str, str, str]]:
    """What is proposed for files (`me`, `workspaces__b`): the operation, the last line named, and the mode."""
    named = {name.replace("__", "/") + ".md": text for name, text in files.items()}
    index = "".join(f"- [[{path.removesuffix('.md')}]]\n" for path in named if path not in {"MEMORY.md", "inbox.md"})
    named.setdefault("MEMORY.md", f"# Memory\n\n## Index\n\n{index}")
    pairs = [(RepoPath(path), text.encode()) for path, text in named.items()]
    changes = classify(tidy(pairs), paths={path for path, _ in pairs}, talks=())
    return [(str(one.op), one.lines[-1].text if one.lines else one.file, one.mode) for one in changes]


def test_the_same_text_is_kept_once_and_the_users_line_is_kept() -> None:
    text = "- Uses tabs [by: agent]\n- uses TABS.\n- Uses tabs [by: agent]\n"
    assert propose(me=text) == [("remove", "Uses tabs", "auto")] * 2
    assert propose(me="- Uses tabs\n", lessons="- Uses tabs\n") == [("remove", "Uses tabs", "review")]


def test_the_same_value_of_two_subjects_is_no_duplicate() -> None:
    lines = "".join(f"- team cedar [by: agent; subject: on call {name}]\n" for name in ("ledger", "search"))
    assert propose(me=lines) == []


def test_the_same_fact_in_two_workspaces_is_no_duplicate() -> None:
    line = "- Uses tabs [by: agent]\n"
    assert propose(workspaces__a=line, workspaces__b=line, me=line) == []
    assert propose(workspaces__a=line + line) == [("remove", "Uses tabs", "auto")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Uses pnpm for node projects", "uses pnpm in node project."),
        ("Deploys go out on Friday mornings", "Deploys go out on Friday mornings by hand"),
    ],
)
def test_two_lines_that_say_one_thing_become_the_longer(one: str, other: str) -> None:
    assert propose(me=f"- {one} [by: agent]\n- {other} [by: agent]\n") == [("merge", other, "auto")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Billing calls the ledger service", "The ledger service calls billing"),
        ("Deploys go out on Friday mornings", "Deploys do not go out on Friday mornings"),
        ("The nightly backup of the billing db goes to staging", "The nightly backup of the billing db goes to prod"),
        ("Keeps logs for 30 days here", "Keeps logs for 90 days here"),
        ("Keeps logs for days here", "Keeps logs for 90 days here"),
        ("Uses npm", "Uses pnpm"),
        ("Uses docker compose locally [subject: a]", "Uses docker compose locally today [subject: b]"),
    ],
)
def test_lines_that_differ_in_what_they_say_are_left(one: str, other: str) -> None:
    lines = "".join(
        f"- {text.replace(' [', ' [by: agent; ') if '[' in text else text + ' [by: agent]'}\n" for text in (one, other)
    )
    assert propose(me=lines) == []


def test_an_agents_line_goes_where_the_user_says_the_same() -> None:
    text = "- Uses pnpm for all node projects [by: agent]\n- Uses pnpm for node projects\n"
    assert propose(me=text) == [("remove", "Uses pnpm for all node projects", "auto")]


def test_one_value_per_subject_the_users_else_the_newest() -> None:
    agents = "".join(
        f"- {editor} [by: agent; subject: {subject}; added: 2026-0{month}-01]\n"
        for month, (editor, subject) in enumerate((("vim", "Editor"), ("helix", "editor")), start=1)
    )
    assert propose(me=agents) == [("remove", "vim", "auto")]
    assert propose(me="- emacs [subject: editor]\n" + agents) == [
        ("remove", "vim", "auto"),
        ("remove", "helix", "auto"),
    ]
    assert propose(me="- emacs [subject: editor]\n- nano [subject: editor]\n") == [("remove", "emacs", "review")]


def test_a_fact_of_a_workspace_goes_to_its_file() -> None:
    line = "- Uses postgres [by: agent; workspace: b]\n"
    assert propose(me=line, workspaces__b=WORKSPACE) == [("move", "Uses postgres", "auto")]
    assert propose(me=line) == []
    assert propose(inbox=line, workspaces__b=WORKSPACE) == []


def test_of_the_inbox_only_what_stands_elsewhere_is_discarded() -> None:
    twice = "- known [by: agent]\n- new one [by: agent]\n- new one [by: agent]\n"
    assert propose(me="- known\n", inbox=twice) == [("discard", "known", "auto")]


def test_dead_and_missing_links_wait_for_the_user() -> None:
    memory = "# Memory\n\n## Index\n\n- [[me]]\n- [[gone]]\n- [[query.sql]]\n- [[swarms/x]]\n"
    found = propose(MEMORY=memory, me="- a fact\n", notes__trip="- another fact\n")
    assert found == [("unlink", "gone.md", "review"), ("link", "notes/trip.md", "review")]


def test_no_more_than_forty_changes_and_each_line_once() -> None:
    text = "".join(f"- Fact number {n} [by: agent; subject: s]\n" * 2 for n in range(60))
    pairs = [(RepoPath("me.md"), text.encode())]
    changes = tidy(pairs)
    lines = [line for change in changes for line in change.lines]
    assert len(changes) == OPERATIONS_LIMIT
    assert len(set(lines)) == len(lines)
    assert [change.number for change in changes] == list(range(1, OPERATIONS_LIMIT + 1))


# Planning


@dataclass
class Read:
    data: bytes | None

    @property
    def digest(self) -> str | None:
        return None if self.data is None else digest_bytes(self.data)


class Desk:
    """Files in memory, and what they are after changes."""

    def __init__(self, **files: str) -> None:
        self.files = {f"{name}.md": text.encode() for name, text in files.items()}

    def plan(self, *changes: Change) -> list[tuple[str, str]]:
        draft = Draft(lambda path: Read(self.files.get(path)))
        planned = plan_changes(draft, changes, today=TODAY)
        for change in draft.changes():
            self.files[change.path] = change.data or b""
        return [(change.state, change.why) for change in planned]

    def __getitem__(self, name: str) -> list[str]:
        return [line for line in self.files[f"{name}.md"].decode().split("\n") if line.startswith("-")]


def line(text: str, number: int, path: str = "me.md", by: str = "agent") -> Line:
    return Line(path=path, line=number, hash=content_hash(text), text=text, by=by, meta="elsewhere")


def change(op: Op, *lines: Line, **fields: str) -> Change:
    return Change(number=1, op=op, lines=lines, **fields)  # type: ignore[arg-type]


def test_each_operation_changes_its_lines_and_no_other() -> None:
    desk = Desk(
        me="- a one [by: agent]\n- b two [by: agent; kind: rule; x: y]\n- c three [by: agent]\n- d four\n",
        lessons="- e five\n",
        inbox="- f six [by: agent; kind: rule; workspace: w]\n- g seven [by: agent]\n",
    )
    states = desk.plan(
        change(Op.REMOVE, line("a one", 1)),
        change(Op.UPDATE, line("b two", 2), text="b two again"),
        change(Op.MOVE, line("c three", 3), file="lessons.md"),
        change(Op.PROMOTE, line("f six", 1, "inbox.md")),
        change(Op.DISCARD, line("g seven", 2, "inbox.md")),
        change(Op.ADD, text="h eight", file="me.md", kind="rule", source="cowork://tasks/s1"),
    )
    assert states == [("applied", "")] * 6
    assert desk["me"] == [
        "- b two again [by: agent; kind: rule; x: y]",
        "- d four",
        "- h eight [by: agent; kind: rule; source: cowork://tasks/s1; added: 2026-10-05]",
    ]
    assert desk["lessons"] == ["- e five", "- c three [by: agent]", "- f six [by: user; kind: rule; workspace: w]"]
    assert desk["inbox"] == []


def test_merged_lines_leave_one_that_is_the_users_when_one_was() -> None:
    desk = Desk(me="- a one [by: agent; subject: s]\n- b two\n- c three\n")
    merged = change(Op.MERGE, line("a one", 1), line("b two", 2, by="user"), text="b two")
    assert desk.plan(merged) == [("applied", "")]
    assert desk["me"] == ["- b two [by: user; subject: s]", "- c three"]


def test_a_line_that_moved_is_found_and_one_that_changed_is_stale() -> None:
    desk = Desk(me="- new above\n- a one [by: agent]\n- was agent's\n- twice [by: agent]\n- twice [by: agent]\n")
    states = desk.plan(
        change(Op.REMOVE, line("a one", 1)),
        change(Op.REMOVE, line("gone", 2)),
        change(Op.REMOVE, line("was agent's", 3)),
        change(Op.REMOVE, line("twice", 9)),
        change(Op.REMOVE, line("x", 1, "gone.md")),
    )
    assert [state for state, _ in states] == ["applied", "stale", "stale", "stale", "stale"]
    assert desk["me"] == ["- new above", "- was agent's", "- twice [by: agent]", "- twice [by: agent]"]


def test_of_two_lines_of_one_text_the_one_that_was_seen_is_found() -> None:
    text = "- Uses tabs [by: user; added: 2026-01-01]\n- Uses tabs\n- Uses tabs\n"
    seen = next(one for one in tidy([(RepoPath("me.md"), text.encode())]) if one.lines and one.lines[0].line == 3)
    desk = Desk(me="- new above\n- Uses tabs\n- Uses tabs [by: user; added: 2026-01-01]\n")
    assert desk.plan(seen) == [("applied", "")]
    assert desk["me"] == ["- new above", "- Uses tabs [by: user; added: 2026-01-01]"]


def test_a_change_without_room_or_sense_holds_up_no_other() -> None:
    desk = Desk(
        MEMORY="- " + "x" * 4_090 + "\n", me="- a one [by: agent]\n- b two [subject: s]\n- c three [by: agent]\n"
    )
    states = desk.plan(
        change(Op.MOVE, line("a one", 1), file="MEMORY.md"),
        change(Op.UPDATE, line("c three", 3), text="B two."),
        change(Op.ADD, text="another value", file="me.md", subject="s"),
        change(Op.ADD, text="d four", file="me.md"),
    )
    assert [state for state, _ in states] == ["dropped", "dropped", "dropped", "applied"]
    assert "already" in states[1][1]
    assert "the user's own line" in states[2][1]
    assert [one.partition(" [")[0] for one in desk["me"]] == ["- a one", "- b two", "- c three", "- d four"]


def test_links_are_put_in_and_taken_out() -> None:
    desk = Desk(MEMORY="# Memory\n\n## Index\n\n- [[me]]\n- [[gone]]\n", me="- a\n", notes="- b\n")
    desk.plan(change(Op.UNLINK, file="gone.md"), change(Op.LINK, file="notes.md"))
    assert desk["MEMORY"] == ["- [[me]]", "- [[notes]]"]
