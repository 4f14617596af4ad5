"""ls, show, log, diff, undo, compact, clear, and the rules that hold for every command."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from memrepo.app import MemoryRepo
from memrepo.surfaces.cli.table import COMMANDS, root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.program import HereProgram


def iter_names() -> Iterator[tuple[str, ...]]:
    context = click.Context(root)
    for name in COMMANDS:
        command = root.get_command(context, name)
        yield (name,)
        if isinstance(command, click.Group):
            yield from ((name, below) for below in command.commands)


@pytest.mark.parametrize("names", [(), *iter_names()], ids=" ".join)
def test_every_command_has_help_that_opens_nothing(memrepo: HereProgram, names: tuple[str, ...]) -> None:
    told = memrepo(*names, "--help")
    assert told.status == 0
    assert told.out.startswith(f"Usage: {' '.join(('memrepo', *names))} ")
    assert list(memrepo.home.iterdir()) == []


@pytest.mark.parametrize("arguments", [("ls",), ("show", "me"), ("log",), ("diff",), ("inbox",), ("forget", "x y z")])
def test_without_a_folder_nothing_is_made_and_init_is_named(memrepo: HereProgram, arguments: tuple[str, ...]) -> None:
    told = memrepo(*arguments)
    assert told.status == 2
    assert told.err.endswith("hint: to make one: memrepo init\n")
    assert list(memrepo.home.iterdir()) == []


def test_init_makes_the_folder_once_and_takes_it_over_after_that(memrepo: HereProgram) -> None:
    assert memrepo("init").out == f"made {memrepo.root}\n"
    before = {path: path.read_bytes() for path in memrepo.root.iterdir() if path.is_file()}
    assert memrepo("init").out == f"already a memory repo: {memrepo.root}\n"
    assert before == {path: path.read_bytes() for path in memrepo.root.iterdir() if path.is_file()}
    assert {"MEMORY.md", "me.md", "lessons.md", "inbox.md"} <= {path.name for path in before}


def test_a_folder_with_other_files_is_refused_and_left_as_it_was(memrepo: HereProgram) -> None:
    memrepo.root.mkdir()
    (memrepo.root / "thesis.doc").write_bytes(b"x")
    told = memrepo("init", "--json")
    assert told.status == 2
    assert told.document["error"]["facts"]["rule"] == "not-empty"
    assert [path.name for path in memrepo.root.iterdir()] == ["thesis.doc"]


def test_the_global_options_stand_before_or_after_the_command(memrepo: HereProgram) -> None:
    place = str(memrepo.home / "other")
    assert memrepo("--path", place, "remember", "Drinks tea").status == 0
    expected = memrepo("--json", "--path", place, "ls").document
    assert expected["root"] == place
    assert memrepo("ls", "--json", "--path", place).document == expected
    assert memrepo("--json", "ls", "--path", place).document == expected
    assert (
        memrepo("inbox", "--json", "list", "--path", place).document
        == memrepo("inbox", "list", "--json", "--path", place).document
    )
    assert not memrepo.root.exists()


def test_a_relative_path_starts_from_the_current_folder(memrepo: HereProgram) -> None:
    assert memrepo("init", "--path", "notes/../other").out == f"made {memrepo.home / 'other'}\n"


def test_each_profile_has_a_folder_of_its_own(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    told = memrepo("remember", "Wears a tie", "--profile", "work", "--json")
    assert told.status == 0
    place = memrepo.home / ".memrepo" / "data" / "profiles" / "work" / "memory-repo"
    assert "Wears a tie" in (place / "me.md").read_text("utf-8")
    assert "Wears a tie" not in (memrepo.root / "me.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 65, "-x"])
def test_a_profile_cannot_name_a_place(memrepo: HereProgram, name: str) -> None:
    assert memrepo(f"--profile={name}", "init").status == 2
    assert list(memrepo.home.iterdir()) == []


def test_an_error_is_the_one_document_on_stdout_with_json(memrepo: HereProgram) -> None:
    for arguments in (("ls", "--json"), ("--json", "ls"), ("ls", "--bogus", "--json"), ("--json", "nosuch")):
        told = memrepo(*arguments)
        assert told.err == ""
        error = told.document["error"]
        assert (told.status, error["exit_status"]) == (2, 2)
        assert error["hint"]
        assert set(error) == {"code", "message", "hint", "exit_status", "facts"}


def read_documented_fields() -> dict[str, set[str]]:
    """The fields of each command's document, as docs/cli.md lists them."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text("utf-8")
    table = page[page.index("| command | fields |") :].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    fields = {}
    for names, told in rows:
        outer = re.sub(r"\([^)]*\)", "", told)
        for name in re.findall(r"`([^`]+)`", names):
            fields[name] = set(re.findall(r"`(\w+)`", outer))
    return fields


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("init", ("init",)),
        ("remember", ("remember", "Likes jazz")),
        ("remember --each-line", ("remember", "Likes jazz", "--each-line")),
        ("ls", ("ls",)),
        ("ls FILE", ("ls", "me")),
        ("inbox", ("inbox",)),
        ("show FILE", ("show", "me")),
        ("show COMMIT", ("show", "HEAD")),
        ("inbox keep", ("inbox", "keep", "--all")),
        ("inbox discard", ("inbox", "discard", "--all")),
        ("forget", ("forget", "Drinks tea")),
        ("log", ("log",)),
        ("diff", ("diff",)),
        ("undo", ("undo", "HEAD")),
        ("compact", ("compact", "--yes")),
        ("clear", ("clear", "global", "--yes")),
        ("doctor", ("doctor",)),
    ],
)
def test_the_document_of_a_command_has_the_fields_that_are_documented(
    memrepo: HereProgram, name: str, arguments: tuple[str, ...]
) -> None:
    memrepo("remember", "Drinks tea")
    assert set(memrepo(*arguments, "--json").document) == read_documented_fields()[name]


def test_a_command_that_is_nearly_one_is_guessed(memrepo: HereProgram) -> None:
    assert "did you mean remember?" in memrepo("rember").err


def test_files_are_listed_with_the_number_of_their_entries(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    memrepo("remember", "Plays the cello")
    assert memrepo("ls").lines == [
        "MEMORY.md\t0 entries",
        "inbox.md\t0 entries",
        "lessons.md\t0 entries",
        "me.md\t2 entries",
    ]
    assert memrepo("ls", "me").lines == ["repo:me.md#L3\tuser\tDrinks tea", "repo:me.md#L4\tuser\tPlays the cello"]


@pytest.mark.parametrize("name", ["nothing", "../me", ".git/config", "/etc/passwd"])
def test_a_file_that_is_not_there_or_not_ours_is_not_listed(memrepo: HereProgram, name: str) -> None:
    memrepo("init")
    assert memrepo("ls", name).status == 2
    assert memrepo("show", name).status == 2


def test_an_entry_is_shown_with_all_that_its_line_says(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea", "--subject", "drink", "--source", "https://example.org/a")
    told = memrepo("show", "repo:me.md#L3")
    assert told.lines[0] == "Drinks tea"
    assert {"by: user", "subject: drink", "source: https://example.org/a", "ref: repo:me.md#L3"} <= set(told.lines)


def test_control_characters_of_a_hand_made_file_are_escaped_wherever_they_are_shown(memrepo: HereProgram) -> None:
    memrepo("init")
    (memrepo.root / "me.md").write_bytes(b"# Me\n\n- evil \x1b]0;title\x07 \xe2\x80\xae text \xff\n")
    for arguments in (("ls", "me"), ("show", "me"), ("show", "repo:me.md#L3"), ("diff",), ("ls", "me", "--json")):
        told = memrepo(*arguments)
        assert told.status == 0
        assert "evil" in told.out or arguments == ("diff",)
        assert told.out.replace("\n", "").replace("\t", "").isprintable()


def test_a_commit_is_shown_and_undone(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    memrepo("remember", "Plays the cello")
    first = memrepo("log", "--json").document["commits"][1]
    assert first["subject"] == "Remember preference: Drinks tea"
    shown = memrepo("show", first["id"])
    assert "origin: cli" in shown.lines
    assert any(line.startswith("+- Drinks tea") for line in shown.lines)
    assert memrepo("undo", first["id"]).out == f"undid {first['id'][:10]} Remember preference: Drinks tea\n"
    assert [entry["text"] for entry in memrepo("ls", "me", "--json").document["entries"]] == ["Plays the cello"]


def test_the_log_is_as_long_as_asked_and_of_one_file(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    memrepo("remember", "Restart the queue", "--kind", "insight")
    assert [line.split("\t")[3] for line in memrepo("log", "-n", "1").lines] == ["Remember insight: Restart the queue"]
    of_file = [line.split("\t")[3] for line in memrepo("log", "me").lines]
    assert of_file == ["Remember preference: Drinks tea", "Create memory"]
    assert memrepo("log", "-n", "0").status == 2


def test_hand_edits_show_in_diff_until_a_write_takes_them_in(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    assert (memrepo("diff").out, memrepo("diff").err) == ("", "no unsaved edits\n")
    with (memrepo.root / "me.md").open("a") as file:
        file.write("- Plays the cello\n")
    assert "+- Plays the cello" in memrepo("diff").lines
    memrepo("remember", "Likes jazz")
    assert [commit["origin"] for commit in memrepo("log", "--json").document["commits"]][:2] == ["cli", "hand_edit"]


def test_compacting_asks_first_and_leaves_one_commit_without_the_forgotten_text(memrepo: HereProgram) -> None:
    memrepo("remember", "Has a secret plan")
    memrepo("remember", "Drinks tea")
    memrepo("forget", "Has a secret plan")
    assert memrepo("compact").status == 3
    told = memrepo("compact", "--yes", "--json")
    assert (told.status, told.document["proven"]) == (0, True)
    assert len(memrepo("log").lines) == 1


def test_a_tag_that_keeps_old_history_is_named_and_makes_compacting_exit_six(memrepo: HereProgram) -> None:
    memrepo("remember", "Has a secret plan")
    memrepo("forget", "Has a secret plan")
    subprocess.run(["git", "-C", memrepo.root, "tag", "old"], check=True)
    told = memrepo("compact", "--yes")
    assert told.status == 6
    assert "keeps old history: refs/tags/old" in told.lines
    assert memrepo("compact", "--yes", "--json").document["proven"] is False


def test_clearing_a_workspace_removes_its_file_and_its_history(memrepo: HereProgram) -> None:
    (memrepo.home / "code").mkdir()
    memrepo("remember", "Builds with make", "--workspace", "code")
    memrepo("remember", "Drinks tea")
    assert memrepo("clear", "workspace", "code").status == 3
    told = memrepo("clear", "workspace", "code", "--yes", "--json")
    assert (told.status, told.document["cleared"]) == (0, ["workspaces/code.md"])
    assert told.document["compaction"]["proven"] is True
    assert (memrepo.home / "code").is_dir()
    assert [entry["text"] for entry in memrepo("ls", "me", "--json").document["entries"]] == ["Drinks tea"]


def test_clearing_global_memory_can_keep_the_history(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    assert memrepo("clear", "global", "--keep-history", "--yes").status == 0
    assert memrepo("ls", "me", "--json").document["entries"] == []
    assert any("Drinks tea" in line for line in memrepo("log").lines)


def test_the_terminal_is_asked_and_no_is_no(memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    memrepo("remember", "Drinks tea")
    monkeypatch.setattr("memrepo.surfaces.environment._is_terminal", lambda stream: stream is not None)
    told = memrepo("compact", stdin=b"n\n")
    assert told.status == 3
    assert "[y/N]" in told.err
    assert "nothing was changed" in told.err
    assert memrepo("forget", "--contains", "tea", stdin=b"y\n").status == 0


def test_a_bug_leaves_a_report_without_a_word_of_memory(memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object, **__: object) -> None:
        secret_local = "Drinks tea"
        raise KeyError(secret_local)

    monkeypatch.setattr(MemoryRepo, "open", explode)
    told = memrepo("remember", "Drinks tea", "--json")
    assert told.status == 70
    error = told.document["error"]
    assert error["code"] == "bug"
    [report] = (memrepo.home / ".memrepo" / "data" / "reports").iterdir()
    assert error["facts"]["report"] == str(report)
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    text = report.read_text("utf-8")
    assert "KeyError" in text
    assert "explode" in text
    assert "tea" not in text + told.out + told.err


def test_a_bug_is_told_though_its_report_cannot_be_written(
    memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(MemoryRepo, "open", explode)
    (memrepo.home / ".memrepo").write_bytes(b"in the way")
    told = memrepo("ls")
    assert told.status == 70
    assert "this is a bug" in told.err


def test_ctrl_c_ends_with_130(memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryRepo, "open", interrupt)
    assert memrepo("ls").status == 130


def test_a_folder_of_the_home_that_is_not_absolute_is_named(
    memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMREPO_HOME", "relative")
    told = memrepo("ls")
    assert told.status == 2
    assert "MEMREPO_HOME" in told.err


def test_a_current_folder_that_is_gone_stops_only_what_needs_it(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    gone = memrepo.home / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert memrepo("ls").status == 0
    assert memrepo("ls", "--path", "here").status == 2
