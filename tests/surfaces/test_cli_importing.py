"""memrepo import: what a person types, what the inbox holds after it, and what the program says was left."""

from __future__ import annotations

import json
import os
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.kit.memory import BILLING
from tests.kit.repos import head_of, message_of, porcelain, raw_git

from memrepo import MemoryRepo, find_locations
from memrepo.importers.formats import Format
from memrepo.surfaces.cli.importing import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.program import HereProgram, Program

NOTES = """# Me

- I live in Lisbon
- Prefers trains to planes
- [ ] call the dentist
- The CI token is ghp_abcdefghijklmnopqrstuvwxyz0123456789
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "me.md").write_text(NOTES, "utf-8")
    return folder


def read(memrepo: HereProgram, name: str) -> str:
    return (memrepo.root / name).read_text("utf-8")


def test_facts_come_to_the_inbox_in_one_commit_and_the_source_stays_as_it_is(memrepo: HereProgram, notes: Path) -> None:
    told = memrepo("import", "notes")
    assert told.status == 0
    assert told.lines == [
        "notes: read 1 file (to say otherwise: --format)",
        "brought 3 facts to the inbox",
        "redacted in 1 fact: github-token",
        "left: to-do (1)",
    ]
    inbox = read(memrepo, "inbox.md")
    assert "- I live in Lisbon [by: agent; kind: identity; source: import; added: " in inbox
    assert "ghp_" not in inbox
    assert message_of(memrepo.root) == "Remember 3 facts\n\nOrigin: import"
    assert int(raw_git(memrepo.root, "rev-list", "--count", "HEAD")) == 2
    assert porcelain(memrepo.root) == []
    assert (notes / "me.md").read_text("utf-8") == NOTES


def test_a_second_run_adds_nothing_not_even_after_the_facts_were_kept(memrepo: HereProgram, notes: Path) -> None:
    memrepo("import", "notes")
    head = head_of(memrepo.root)
    assert "left: known already (3)" in memrepo("import", "notes").lines
    assert head_of(memrepo.root) == head
    kept = memrepo("inbox", "keep", "--source", "import", "--yes")
    assert (kept.status, len(kept.lines)) == (0, 3)
    head = head_of(memrepo.root)
    assert memrepo("import", "notes", "--json").document["written"] == 0
    assert head_of(memrepo.root) == head


def test_a_dry_run_shows_every_fact_and_makes_nothing(memrepo: HereProgram, notes: Path) -> None:
    document = memrepo("import", "notes", "--dry-run", "--json").document
    assert [(fact["text"], fact["place"], fact["redactions"]) for fact in document["facts"]] == [
        ("I live in Lisbon", "me.md:3", []),
        ("Prefers trains to planes", "me.md:4", []),
        ("The CI token is [REDACTED github-token]", "me.md:6", ["github-token"]),
    ]
    assert document["skipped"] == [{"why": "to-do", "count": 1, "places": ["me.md:5"]}]
    assert (document["format"], document["guessed"], document["dry_run"]) == ("notes", True, True)
    assert memrepo("import", "notes", "--dry-run").lines[1:3] == [
        "would bring 3 facts to the inbox",
        "identity\tme.md:3\tI live in Lisbon",
    ]
    assert not memrepo.root.exists()


def test_the_document_names_where_each_fact_stands_now(memrepo: HereProgram, notes: Path) -> None:
    document = memrepo("import", "notes", "--json").document
    assert [fact["ref"] for fact in document["facts"]] == [f"repo:inbox.md#L{line}" for line in (3, 4, 5)]
    assert document["commit"] == head_of(memrepo.root)
    assert memrepo("show", document["facts"][0]["ref"]).lines[0] == "I live in Lisbon"


def test_no_agent_is_shown_what_was_imported_until_the_user_keeps_it(memrepo: HereProgram, notes: Path) -> None:
    memrepo("import", "notes")
    assert "Lisbon" not in memrepo("context").out
    memrepo("inbox", "pin", "--contains", "lisbon", "--yes")
    assert "Lisbon" in memrepo("context").out
    assert "- I live in Lisbon [by: user;" in read(memrepo, "MEMORY.md")


def test_another_memory_repo_comes_with_its_workspaces(memrepo: HereProgram, tmp_path: Path) -> None:
    with MemoryRepo.open(
        locations=find_locations(tmp_path / "other-home"), home=tmp_path, path=tmp_path / "other"
    ) as other:
        from memrepo import Kind, Scope, TaskContext

        user = TaskContext.for_user(workspace=BILLING)
        other.remember("Prefers tabs", user)
        other.remember("Deploys go through staging", user, kind=Kind.RULE, scope=Scope.WORKSPACE)
    told = memrepo("import", "other")
    assert told.lines[0] == "memory-repo: read 5 files (to say otherwise: --format)"
    assert "brought 2 facts to the inbox" in told.lines
    assert "- Deploys go through staging [by: agent; kind: rule; workspace: ws-billing; source: import;" in read(
        memrepo, "inbox.md"
    )
    memrepo("inbox", "keep", "--source", "import", "--yes")
    assert "- Deploys go through staging [by: user; kind: rule; source: import;" in read(
        memrepo, "workspaces/ws-billing.md"
    )


def test_what_a_project_says_belongs_to_it_when_the_user_says_so(memrepo: HereProgram, tmp_path: Path) -> None:
    project = tmp_path / "billing"
    project.mkdir()
    (project / "CLAUDE.md").write_text("- Run the tests with nox\n", "utf-8")
    document = memrepo("import", "billing", "--workspace", "billing", "--json").document
    (fact,) = document["facts"]
    assert fact["kind"] == "rule"
    assert fact["workspace"].startswith("ws-")
    memrepo("inbox", "keep", "--all", "--yes")
    assert "Run the tests with nox" in memrepo("context", "--workspace", "billing").out
    assert "Run the tests with nox" not in memrepo("context").out


def test_an_export_of_chatgpt_is_read_out_of_its_archive(memrepo: HereProgram, tmp_path: Path) -> None:
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["I live in Lisbon. Hello!"]}}
    conversation = {"title": "x", "create_time": 1_735_689_600, "mapping": {"a": {"message": message}}}
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([conversation]))
    assert memrepo("import", "export.zip").status == 0
    assert "- I live in Lisbon. [by: agent; kind: identity; source: import; added: 2025-01-01]" in read(
        memrepo, "inbox.md"
    )


def test_a_full_inbox_takes_what_fits_and_the_rest_comes_after_the_review(memrepo: HereProgram, notes: Path) -> None:
    for name in ("a", "b"):
        lines = [f"- Fact {name}{at} {'word ' * 80}\n" for at in range(100)]
        (notes / f"{name}.md").write_text("".join(lines), "utf-8")
    told = memrepo("import", "notes")
    assert told.status == 3
    assert any(line.startswith("left: no room left in the inbox (") for line in told.lines)
    assert told.err.endswith("the rest comes when there is room: decide, then run the import again\n")
    memrepo("inbox", "discard", "--contains", "Fact a", "--yes")
    (notes / "a.md").unlink()
    assert memrepo("import", "notes").status == 0
    assert read(memrepo, "inbox.md").count("- Fact b") == 100


def test_while_memory_is_off_or_the_folder_is_blocked_nothing_is_written_and_nothing_waits(
    memrepo: HereProgram, notes: Path
) -> None:
    memrepo("init")
    (memrepo.root / "foreign.txt").touch()
    told = memrepo("import", "notes")
    assert (told.status, "files that are not Markdown" in told.err) == (6, True)
    (memrepo.root / "foreign.txt").unlink()
    memrepo("settings", "set", "enabled", "false")
    told = memrepo("import", "notes", "--json")
    assert (told.status, told.document["error"]["facts"]["rule"]) == (3, "enabled")
    memrepo("settings", "set", "enabled", "true")
    memrepo("remember", "Plays chess")
    assert "Lisbon" not in read(memrepo, "inbox.md")


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("nothing", 2, "there is nothing at"),
        ("/dev/zero", 2, "is a device"),
        ("pipe", 2, "is a named pipe"),
        ("link", 2, "symbolic link"),
        ("photo.jpg", 2, "nothing in it looks like"),
        ("large.json", 3, "500,000,000 bytes"),
        ("CoWork Memory", 2, "is in the memory folder"),
        ("", 2, "the path is empty"),
    ],
)
def test_a_source_that_cannot_be_imported_is_refused_with_the_reason(
    memrepo: HereProgram, notes: Path, tmp_path: Path, source: str, status: int, words: str
) -> None:
    memrepo("init")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(notes)
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")
    (tmp_path / "large.json").touch()
    os.truncate(tmp_path / "large.json", 500_000_000)
    told = memrepo("import", source, "--format", "mem0") if source == "large.json" else memrepo("import", source)
    assert (told.status, words in told.err) == (status, True), told.err
    assert read(memrepo, "inbox.md") == "# Inbox\n"


def test_odd_names_and_texts_reach_the_terminal_escaped(memrepo: HereProgram, notes: Path) -> None:
    (notes / "odd\x1b[31m.md").write_text("- Plays \x1b]0;title\x07chess \u202eback\n", "utf-8")
    told = memrepo("import", "notes", "--dry-run")
    assert told.status == 0
    assert "\x1b" not in told.out
    assert "\u202e" not in told.out


def test_the_program_takes_the_same_formats_as_the_library() -> None:
    assert list(FORMATS.choices) == list(Format)


def test_the_library_imports_in_one_call(tmp_path: Path, notes: Path) -> None:
    with MemoryRepo.open(locations=find_locations(tmp_path / "own"), home=tmp_path) as repo:
        report = repo.import_from(notes, format_name="notes")
        assert [offer.place for offer, _ in report.written] == ["me.md:3", "me.md:4", "me.md:6"]
        assert [str(found.ref) for found in repo.iter_entries()] == [f"repo:inbox.md#L{line}" for line in (3, 4, 5)]


def test_a_real_process_that_is_told_nothing_else_imports(program: Program) -> None:
    (program.home / "notes.txt").write_text("- I live in Lisbon\n", "utf-8")
    told = program("import", "notes.txt")
    assert (told.status, told.out.splitlines()[1]) == (0, "brought 1 fact to the inbox")
