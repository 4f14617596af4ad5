"""memrepo export: what a person types, what the folder and the database say after it."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.kit.cowork import add_rows, make_cowork, make_row, read_all
from tests.kit.forked import Child
from tests.kit.memory import BILLING
from tests.kit.repos import head_of, message_of, porcelain, raw_git

from memrepo.app import MemoryRepo
from memrepo.locations import find_locations
from memrepo.model import Candidate, Scope, TaskContext
from memrepo.service import MemoryRepoService
from memrepo.surfaces.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.program import HereProgram

ROWS = [
    make_row("Answers to Sam", kind="identity", subject_key="preferred_name", source="user_confirmed", pinned=1),
    make_row("Prefers bullet points", created_at=1_789_689_600_001),
    make_row(
        "Deploys go through staging",
        kind="rule",
        scope="workspace",
        workspace_id="ws-uuid-1",
        source="curated",
        task_id="t-7",
        created_at=1_789_689_600_002,
    ),
    make_row("Bob asked about invoices", scope="contact", scope_ref="bob", source="third_party"),
    make_row("Takes medicine", privacy="private", source="user_stated"),
    make_row("Send the report by Friday", kind="commitment", source="user_stated"),
]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_cowork(tmp_path / "cowork.db", ROWS)


def read(memrepo: HereProgram, name: str) -> str:
    return (memrepo.root / name).read_text("utf-8")


def count_commits(memrepo: HereProgram) -> int:
    return int(raw_git(memrepo.root, "rev-list", "--count", "HEAD"))


def test_facts_come_into_their_files_one_commit_each_and_the_rest_stays(memrepo: HereProgram, database: Path) -> None:
    before = read_all(database)
    told = memrepo("export", "--from", "cowork.db")
    assert told.status == 0
    assert told.lines[0] == "exported 3 facts, 0 were there already"
    assert sorted(told.lines[1:]) == [
        "stays: commitments (1)",
        "stays: other people's words (1)",
        "stays: private (1)",
    ]
    assert "- Answers to Sam [by: user; kind: identity; subject: preferred_name; added: 2026-09-18]" in read(
        memrepo, "MEMORY.md"
    )
    assert "- Prefers bullet points [by: agent; kind: preference; added: 2026-09-18]" in read(memrepo, "me.md")
    workspace = read(memrepo, "workspaces/billing-service.md")
    assert "- CoWork workspace [by: user; workspace: ws-uuid-1]" in workspace
    assert (
        "- Deploys go through staging [by: user; kind: rule; source: cowork://tasks/t-7; added: 2026-09-18]"
        in workspace
    )
    assert count_commits(memrepo) == 4
    assert message_of(memrepo.root) == ("Remember rule: Deploys go through staging\n\nTask: t-7\nOrigin: export")
    everything = b"".join(path.read_bytes() for path in memrepo.root.rglob("*") if path.is_file())
    for text in (b"invoices", b"medicine", b"report by Friday"):
        assert text not in everything
    assert read_all(database) == before
    assert porcelain(memrepo.root) == []


def test_a_second_run_writes_nothing_and_says_when_it_was_done(memrepo: HereProgram, database: Path) -> None:
    memrepo("export", "--from", "cowork.db")
    head = head_of(memrepo.root)
    add_rows(database, [make_row("Rides a bike")])
    told = memrepo("export", "--from", "cowork.db")
    assert told.status == 0
    assert told.out.startswith("exported already on 20")
    assert head_of(memrepo.root) == head


def test_again_adds_only_what_is_new(memrepo: HereProgram, database: Path) -> None:
    memrepo("export", "--from", "cowork.db")
    add_rows(database, [make_row("Rides a bike")])
    document = memrepo("export", "--from", "cowork.db", "--again", "--json").document
    assert (document["written"], document["known"]) == (1, 3)
    assert count_commits(memrepo) == 5


def test_a_dry_run_tells_everything_and_makes_nothing(memrepo: HereProgram, database: Path) -> None:
    document = memrepo("export", "--from", "cowork.db", "--dry-run", "--json").document
    assert [fact["text"] for fact in document["facts"]] == [
        "Answers to Sam",
        "Prefers bullet points",
        "Deploys go through staging",
    ]
    assert {row["reason"]: row["count"] for row in document["stayed"]} == {
        "third_party": 1,
        "private": 1,
        "commitment": 1,
    }
    assert (document["written"], document["dry_run"]) == (0, True)
    told = memrepo("export", "--from", "cowork.db", "--dry-run")
    assert told.lines[0] == "would write 3 facts, 0 are there already"
    assert "user\tidentity\tpinned\tAnswers to Sam" in told.lines
    assert not memrepo.root.exists()


def test_a_dry_run_of_many_facts_shows_some_and_counts_the_others(memrepo: HereProgram, tmp_path: Path) -> None:
    make_cowork(tmp_path / "c.db", [make_row(f"Fact number {number}") for number in range(23)])
    told = memrepo("export", "--from", "c.db", "--dry-run")
    assert told.out.count("Fact number") == 20
    assert told.lines[-1] == "and 3 more: memrepo export --from FILE --dry-run --json"
    assert len(memrepo("export", "--from", "c.db", "--dry-run", "--json").document["facts"]) == 23


def test_a_dry_run_shows_no_secret_and_no_private_text(memrepo: HereProgram, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    make_cowork(tmp_path / "c.db", [make_row(f"The bot's token is {secret}"), make_row("Ill", privacy="private")])
    for more in ((), ("--json",)):
        told = memrepo("export", "--from", "c.db", "--dry-run", *more)
        assert secret not in told.out
        assert "REDACTED" in told.out
        assert "Ill" not in told.out
    memrepo("export", "--from", "c.db")
    assert "[REDACTED" in read(memrepo, "me.md")


def test_a_registered_workspace_gives_its_name(memrepo: HereProgram, database: Path) -> None:
    table = '[{ id = "ws-uuid-1", name = "Money" }]'
    assert memrepo("settings", "set", "workspaces", table).status == 0
    memrepo("export", "--from", "cowork.db")
    assert "Deploys go through staging" in read(memrepo, "workspaces/money.md")


def test_workspaces_that_the_settings_do_not_know_are_named(memrepo: HereProgram, database: Path) -> None:
    told = memrepo("export", "--from", "cowork.db")
    assert "the settings do not know 1 workspace: Billing Service (ws-uuid-1)\n" in told.err


def test_a_workspace_that_the_folder_names_keeps_its_file(memrepo: HereProgram, database: Path) -> None:
    memrepo("init")
    (memrepo.root / "workspaces").mkdir()
    (memrepo.root / "workspaces" / "old-name.md").write_text(
        "# Old\n\n- CoWork workspace [by: user; workspace: ws-uuid-1]\n", "utf-8"
    )
    memrepo("export", "--from", "cowork.db")
    assert "Deploys go through staging" in read(memrepo, "workspaces/old-name.md")


def test_pinned_facts_beyond_the_room_of_memory_md_stand_where_their_kind_does(
    memrepo: HereProgram, tmp_path: Path
) -> None:
    rows = [
        make_row(f"Rule number {number} " + "about everything " * 20, source="curated", pinned=1, kind="rule")
        for number in range(16)
    ]
    make_cowork(tmp_path / "c.db", rows)
    document = memrepo("export", "--from", "c.db", "--json").document
    assert document["written"] == 16
    assert document["unpinned"] > 0
    assert read(memrepo, "MEMORY.md").count("Rule number") + document["unpinned"] == 16
    assert read(memrepo, "lessons.md").count("Rule number") == document["unpinned"]


def test_an_own_private_store_is_a_source_too(memrepo: HereProgram, tmp_path: Path) -> None:
    memrepo("remember", "Pay the rent", "--kind", "commitment")
    memrepo("remember", "Is moving house", "--private")
    store = next((tmp_path / ".memrepo").rglob("private.sqlite3"))
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE memory_items SET privacy = 'normal' WHERE content = 'Is moving house'")
    document = memrepo("export", "--from", str(store), "--json").document
    assert (document["written"], [row["reason"] for row in document["stayed"]]) == (1, ["commitment"])
    assert "- Is moving house [by: user; kind: preference; added: " in read(memrepo, "me.md")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["--from", "nothing.db"], 2, "not-found"),
        (["--from", "notes.txt"], 6, "source-fault"),
        ([], 2, "usage"),
    ],
)
def test_a_wrong_source_is_named_and_no_folder_is_made(
    memrepo: HereProgram, arguments: list[str], status: int, code: str
) -> None:
    (memrepo.home / "notes.txt").write_text("notes\n" * 1000, "utf-8")
    told = memrepo("export", *arguments, "--json")
    assert (told.status, told.document["error"]["code"]) == (status, code)
    assert told.document["error"]["hint"]
    assert not memrepo.root.exists()


def test_while_memory_is_off_nothing_is_exported_and_the_folder_is_not_marked(
    memrepo: HereProgram, database: Path
) -> None:
    memrepo("settings", "set", "enabled", "false")
    told = memrepo("export", "--from", "cowork.db")
    assert (told.status, "memrepo settings set enabled true" in told.err) == (3, True)
    memrepo("settings", "set", "enabled", "true")
    assert memrepo("export", "--from", "cowork.db").lines[0].startswith("exported 3 facts")


def test_a_folder_that_takes_nothing_stops_the_run_with_its_reason_and_the_next_run_does_the_rest(
    memrepo: HereProgram, database: Path
) -> None:
    memrepo("init")
    (memrepo.root / "photo.jpg").write_bytes(b"\xff\xd8")
    told = memrepo("export", "--from", "cowork.db")
    assert told.status == 6
    assert "doctor --fix --foreign" in told.err
    (memrepo.root / "photo.jpg").unlink()
    assert memrepo("export", "--from", "cowork.db").status == 0
    assert [read(memrepo, name).count(text) for name, text in FACTS] == [1, 1, 1]
    assert memrepo("doctor", "--json").document["healthy"]


FACTS = [
    ("MEMORY.md", "Answers to Sam"),
    ("me.md", "Prefers bullet points"),
    ("workspaces/billing-service.md", "Deploys go through staging"),
]


@pytest.mark.parametrize("is_written", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_run_that_was_killed_at_any_fact_is_run_again_and_every_fact_is_there_once(
    memrepo: HereProgram, database: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_written: bool
) -> None:
    remember, calls = MemoryRepoService.remember, iter(range(1, 10))

    def remember_or_die(self: MemoryRepoService, candidate: Candidate, task: TaskContext) -> object:
        is_last = next(calls) == number
        if is_last and not is_written:
            os._exit(9)
        done = remember(self, candidate, task)
        if is_last:
            os._exit(9)
        return done

    def run_and_die() -> int:
        MemoryRepoService.remember = remember_or_die  # type: ignore[assignment,method-assign]
        return run(["export", "--from", "cowork.db"])

    assert Child(run_and_die).wait() == 9
    assert not (memrepo.root / ".git" / "cowork-export-v1").exists()
    assert memrepo("export", "--from", "cowork.db").status == 0
    assert [read(memrepo, name).count(text) for name, text in FACTS] == [1, 1, 1]
    assert count_commits(memrepo) == 4
    assert (memrepo.root / ".git" / "cowork-export-v1").exists()


def test_a_line_that_was_moved_after_a_cut_off_run_is_not_written_again(memrepo: HereProgram, database: Path) -> None:
    memrepo("export", "--from", "cowork.db")
    memrepo("move", "repo:me.md#L3", "style")
    (memrepo.root / ".git" / "cowork-export-v1").unlink()
    memrepo("export", "--from", "cowork.db")
    assert "Prefers bullet points" not in read(memrepo, "me.md")


def test_a_value_that_the_user_changed_since_is_not_taken_back(memrepo: HereProgram, database: Path) -> None:
    memrepo("export", "--from", "cowork.db")
    memrepo("edit", "repo:MEMORY.md#L3", "Answers to Samantha")
    (memrepo.root / ".git" / "cowork-export-v1").unlink()
    document = memrepo("export", "--from", "cowork.db", "--json").document
    assert "outranked" in [row["reason"] for row in document["stayed"]]
    assert "Answers to Samantha" in read(memrepo, "MEMORY.md")
    assert "Answers to Sam " not in read(memrepo, "MEMORY.md")


@pytest.mark.parametrize("mark", [b"", b"{", b"[]", b'{"at": "x"}', b"\xff"])
def test_a_mark_that_cannot_be_read_is_one_all_the_same(memrepo: HereProgram, database: Path, mark: bytes) -> None:
    memrepo("init")
    (memrepo.root / ".git" / "cowork-export-v1").write_bytes(mark)
    assert memrepo("export", "--from", "cowork.db").out == "exported already; nothing was written\n"


def test_the_mark_has_the_form_that_the_host_reads(memrepo: HereProgram, database: Path) -> None:
    memrepo("export", "--from", "cowork.db")
    place = memrepo.root / ".git" / "cowork-export-v1"
    mark = json.loads(place.read_bytes())
    assert (mark["written"], mark["skipped"], type(mark["at"])) == (3, 0, int)
    assert place.stat().st_mode & 0o077 == 0


def test_the_library_exports_as_the_command_does(tmp_path: Path, database: Path) -> None:
    with MemoryRepo.open(locations=find_locations(tmp_path / "m"), home=tmp_path) as repo:
        repo.remember("Prefers bullet points", TaskContext.for_user())
        repo.remember("Uses make", TaskContext.for_user(workspace=BILLING), scope=Scope.WORKSPACE)
        assert repo.exported_at_ms is None
        heard: list[tuple[int, int]] = []
        report = repo.run_export(repo.plan_export(database), progress=lambda *at: heard.append(at))
        assert (report.written, report.known, heard) == (2, 1, [(1, 2), (2, 2)])
        assert repo.exported_at_ms is not None
