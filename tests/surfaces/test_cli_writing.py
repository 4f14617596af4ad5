"""remember, edit, pin, move, forget, inbox, purge-task: what a person types, what the files say after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kit.program import HereProgram


def read(memrepo: HereProgram, name: str) -> str:
    return (memrepo.root / name).read_text("utf-8")


def test_the_first_fact_makes_the_folder_and_names_its_ref(memrepo: HereProgram) -> None:
    told = memrepo("remember", "Prefers tabs over spaces")
    assert (told.status, told.out) == (0, "remembered repo:me.md#L3\n")
    assert "- Prefers tabs over spaces [by: user; kind: preference; added: " in read(memrepo, "me.md")


def test_a_wrong_request_makes_no_folder(memrepo: HereProgram) -> None:
    assert memrepo("remember", "Uses ruff", "--workspace", "nowhere").status == 2
    assert memrepo("remember", "Uses ruff", "--taint", "clean").status == 2
    assert memrepo("remember", "Uses ruff", "--kind", "rumour").status == 2
    assert not memrepo.root.exists()


def test_a_fact_in_a_workspace_is_a_project_fact_of_the_project_around_the_folder(memrepo: HereProgram) -> None:
    deep = memrepo.home / "code" / "billing" / "src"
    deep.mkdir(parents=True)
    (memrepo.home / "code" / "billing" / ".git").mkdir()
    assert memrepo("remember", "CI runs on Buildkite", "--workspace", "code/billing/src").status == 0
    assert "CI runs on Buildkite [by: user; kind: project_fact" in read(memrepo, "workspaces/billing.md")


def test_scope_workspace_alone_means_the_current_folder(memrepo: HereProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    (memrepo.home / "code").mkdir()
    monkeypatch.chdir(memrepo.home / "code")
    assert memrepo("remember", "Builds with make", "--scope", "workspace").status == 0
    assert "Builds with make" in read(memrepo, "workspaces/code.md")


def test_workspace_with_scope_global_stays_global(memrepo: HereProgram) -> None:
    (memrepo.home / "code").mkdir()
    told = memrepo("remember", "Drinks tea", "--workspace", "code", "--scope", "global")
    assert told.out == "remembered repo:me.md#L3\n"


def test_a_workspace_is_found_again_by_its_id(memrepo: HereProgram) -> None:
    (memrepo.home / "code").mkdir()
    memrepo("remember", "Builds with make", "--workspace", "code")
    entries = memrepo("ls", "workspaces/code", "--json").document["entries"]
    workspace_id = entries[0]["meta"]["workspace"]
    (memrepo.home / "code").rmdir()
    assert memrepo("remember", "Tests with pytest", "--workspace", workspace_id).status == 0
    assert "Tests with pytest" in read(memrepo, "workspaces/code.md")


def test_a_pinned_fact_stands_in_memory_md(memrepo: HereProgram) -> None:
    assert memrepo("remember", "Answer in English", "--pin").out == "remembered repo:MEMORY.md#L3\n"


def test_the_same_fact_again_is_known_and_no_failure(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    told = memrepo("remember", "drinks  tea.")
    assert (told.status, told.out) == (0, "already known repo:me.md#L3\n")


def test_a_fact_of_the_same_subject_replaces(memrepo: HereProgram) -> None:
    memrepo("remember", "Lives in Lisbon", "--subject", "home")
    assert memrepo("remember", "Lives in Porto", "--subject", "home").out == "replaced repo:me.md#L3\n"
    assert "Lisbon" not in read(memrepo, "me.md")


def test_a_fact_that_is_turned_away_says_why_on_stderr_and_exits_three(memrepo: HereProgram) -> None:
    told = memrepo("remember", "x" * 501)
    assert (told.status, told.out) == (3, "")
    assert "not written (too_large)" in told.err


def test_a_fact_that_is_turned_away_is_one_document_with_json(memrepo: HereProgram) -> None:
    told = memrepo("remember", "ok", "--json")
    assert told.status == 3
    assert (told.document["status"], told.document["reason"], told.err) == ("skipped", "low_salience", "")


def test_a_kept_fact_is_no_failure_and_says_where_it_is(memrepo: HereProgram) -> None:
    told = memrepo("remember", "Salary talk on Friday", "--private")
    assert told.status == 0
    assert told.out.startswith("kept in the private store only, as memory:1: ")
    assert "Salary" not in "".join(path.read_text("utf-8") for path in memrepo.root.glob("*.md"))


def test_a_secret_is_redacted_and_the_result_says_which_kind(memrepo: HereProgram) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    told = memrepo("remember", f"The deploy token is {secret}")
    assert told.status == 0
    assert "redacted: " in told.out
    assert secret not in told.out + told.err + read(memrepo, "me.md")


def test_an_agents_fact_waits_in_the_inbox_until_its_session_is_known_to_be_clean(memrepo: HereProgram) -> None:
    unknown = memrepo("remember", "The API is slow", "--by", "agent", "--task", "4f2a")
    clean = memrepo("remember", "The API is versioned", "--by", "agent", "--task", "4f2a", "--taint", "clean")
    assert unknown.lines[0] == "remembered repo:inbox.md#L3"
    assert clean.lines[0] == "remembered repo:me.md#L3"
    assert "[by: agent; kind: preference; source: cowork://tasks/4f2a" in read(memrepo, "me.md")


def test_one_fact_is_read_from_standard_input(memrepo: HereProgram) -> None:
    assert memrepo("remember", "-", stdin="\ufeffTrinkt gern Kaffee – schwarz\n".encode()).status == 0
    assert "- Trinkt gern Kaffee – schwarz [" in read(memrepo, "me.md")


def test_each_line_of_standard_input_is_a_fact_and_all_are_one_commit(memrepo: HereProgram) -> None:
    memrepo("init")
    told = memrepo("remember", "--each-line", stdin=b"Drinks tea\r\n\r\nPlays the cello\nok\n")
    assert told.status == 3
    assert told.lines[0] == "3 lines: 2 written, 0 kept, 1 skipped"
    assert told.lines[1].startswith("line 3: not written (low_salience)")
    assert len(memrepo("log", "--json").document["commits"]) == 2


def test_standard_input_that_is_no_utf8_is_refused_with_its_line(memrepo: HereProgram) -> None:
    told = memrepo("remember", "-", "--each-line", stdin=b"good line\nbad \xff line\n")
    assert told.status == 2
    assert "not UTF-8 (line 2)" in told.err
    assert not memrepo.root.exists()


def test_an_entry_is_edited_in_its_place(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea", "--kind", "identity")
    assert memrepo("edit", "repo:me.md#L3", "Drinks coffee").out == "edited repo:me.md#L3\n"
    assert "- Drinks coffee [by: user; kind: identity" in read(memrepo, "me.md")


def test_with_its_hash_an_entry_is_found_though_its_line_has_moved(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    memrepo("remember", "Plays the cello")
    cello = memrepo("ls", "me", "--json").document["entries"][1]
    memrepo("forget", "repo:me.md#L3")
    assert memrepo("edit", cello["ref"], "Plays the viola", "--hash", cello["hash"]).status == 0
    assert "Plays the viola" in read(memrepo, "me.md")


def test_with_the_hash_of_another_text_nothing_is_written(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    told = memrepo("edit", "repo:me.md#L3", "Drinks coffee", "--hash", "0" * 64)
    assert told.status == 2
    assert "Drinks tea" in read(memrepo, "me.md")


def test_pin_and_move_carry_an_entry_to_its_file(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    assert memrepo("pin", "repo:me.md#L3").out.startswith("moved to repo:MEMORY.md#L")
    assert memrepo("move", "repo:MEMORY.md#L3", "habits").out == "moved to repo:habits.md#L3: Drinks tea\n"
    assert "[[habits]]" in read(memrepo, "MEMORY.md")


def test_an_entry_is_forgotten_by_its_text_whatever_its_case(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    told = memrepo("forget", "drinks TEA")
    assert (told.status, told.out) == (0, "forgot repo:me.md#L3: Drinks tea\n")
    assert "memrepo compact" in told.err


def test_a_text_that_two_entries_say_is_listed_and_nothing_is_forgotten(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    memrepo("remember", "Drinks tea", "--kind", "insight")
    told = memrepo("forget", "Drinks tea")
    assert told.status == 2
    assert "repo:lessons.md#L3" in told.err
    assert "repo:me.md#L3" in told.err
    assert "Drinks tea" in read(memrepo, "me.md")


def test_several_refs_are_forgotten_as_they_were_listed(memrepo: HereProgram) -> None:
    for text in ("one fact", "two facts", "three facts", "four facts"):
        memrepo("remember", text)
    told = memrepo("forget", "repo:me.md#L3", "repo:me.md#L5", "--yes")
    assert told.status == 0
    assert [line.split(": ")[-1] for line in told.lines] == ["one fact", "three facts"]
    assert [entry["text"] for entry in memrepo("ls", "me", "--json").document["entries"]] == ["two facts", "four facts"]


def test_of_twins_exactly_those_that_were_named_are_forgotten(memrepo: HereProgram) -> None:
    memrepo("init")
    twins = "".join(f"- the same words [number: {number}]\n" for number in (1, 2, 3))
    (memrepo.root / "me.md").write_text(f"# Me\n\n{twins}", "utf-8")
    assert memrepo("forget", "repo:me.md#L3", "repo:me.md#L4", "--yes").status == 0
    assert read(memrepo, "me.md") == "# Me\n\n- the same words [number: 3]\n"


def test_conditions_show_what_they_mean_and_ask_before_anything_is_removed(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    memrepo("remember", "Plays the cello")
    asked = memrepo("forget", "--contains", "TEA")
    assert asked.status == 3
    assert "repo:me.md#L3\tuser\tDrinks tea" in asked.err
    assert "--yes" in asked.err
    assert memrepo("forget", "--contains", "TEA", "--yes").out == "forgot 1 entry\n"
    assert [entry["text"] for entry in memrepo("ls", "me", "--json").document["entries"]] == ["Plays the cello"]


def test_conditions_that_fit_nothing_change_nothing(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    told = memrepo("forget", "--by", "agent", "--before", "2026-01-01", "--yes", "--json")
    assert (told.status, told.document) == (0, {"removed": [], "count": 0})


@pytest.mark.parametrize(
    "arguments",
    [
        ("forget",),
        ("forget", "repo:me.md#L3", "--contains", "x"),
        ("forget", "some text", "--hash", "0" * 64),
        ("forget", "--before", "yesterday"),
        ("forget", "several", "words"),
        ("forget", "repo:me.md"),
        ("inbox", "keep"),
        ("inbox", "keep", "repo:inbox.md#L3", "--all"),
        ("edit", "repo:me.md#L3"),
        ("remember",),
        ("remember", "two", "words"),
        ("clear",),
    ],
)
def test_a_command_line_that_is_not_understood_exits_two_with_a_hint(
    memrepo: HereProgram, arguments: tuple[str, ...]
) -> None:
    memrepo("remember", "Drinks tea")
    told = memrepo(*arguments)
    if arguments == ("clear",):
        assert told.out.startswith("Usage: memrepo clear")
        return
    assert told.status == 2
    assert told.err.startswith("memrepo: error: ")
    assert "\nhint: " in told.err


def test_a_teams_entry_is_never_written(memrepo: HereProgram) -> None:
    memrepo("init")
    assert memrepo("forget", "team:core:me.md#L3").status == 3


def test_a_reviewed_entry_is_kept_in_its_own_file(memrepo: HereProgram) -> None:
    memrepo("remember", "The API is slow", "--by", "agent", "--kind", "insight")
    memrepo("remember", "Likes jazz", "--by", "agent")
    assert memrepo("inbox").lines == ["repo:inbox.md#L3\tagent\tThe API is slow", "repo:inbox.md#L4\tagent\tLikes jazz"]
    told = memrepo("inbox", "keep", "repo:inbox.md#L3", "repo:inbox.md#L4")
    assert told.lines == ["moved to repo:lessons.md#L3: The API is slow", "moved to repo:me.md#L3: Likes jazz"]
    assert memrepo("inbox").out == "the inbox is empty\n"
    assert "- Likes jazz [by: user; " in read(memrepo, "me.md")


def test_the_whole_inbox_is_discarded_only_after_a_yes(memrepo: HereProgram) -> None:
    memrepo("remember", "The API is slow", "--by", "agent")
    memrepo("remember", "Likes jazz", "--by", "agent")
    assert memrepo("inbox", "discard", "--all").status == 3
    assert memrepo("inbox", "discard", "--all", "--yes").out == "discarded 2 entries\n"


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        (("inbox", "keep"), "Keep 3 entries"),
        (("inbox", "pin"), "Pin 3 entries"),
        (("inbox", "discard"), "Forget 3 entries"),
        (("forget",), "Forget 3 entries"),
    ],
)
def test_many_entries_are_decided_about_in_one_commit(
    memrepo: HereProgram, arguments: tuple[str, ...], subject: str
) -> None:
    for fact in ("Likes jazz", "Likes tea", "Likes rain"):
        memrepo("remember", fact, "--by", "agent")
    before = len(memrepo("log", "-n", "50", "--json").document["commits"])
    refs = [f"repo:inbox.md#L{line}" for line in (5, 3, 4)]
    assert memrepo(*arguments, *refs, *(["--yes"] if arguments == ("forget",) else [])).status == 0
    commits = memrepo("log", "-n", "50", "--json").document["commits"]
    assert len(commits) == before + 1
    assert commits[0]["subject"] == subject
    assert memrepo("inbox").out == "the inbox is empty\n"


def test_entries_that_say_the_same_are_kept_once_and_none_stays(memrepo: HereProgram) -> None:
    memrepo("remember", "Likes jazz", "--by", "agent")
    place = memrepo.root / "inbox.md"
    place.write_text(place.read_text("utf-8") + "- likes jazz. [by: agent]\n", "utf-8")
    assert memrepo("inbox", "keep", "--all", "--yes").status == 0
    assert read(memrepo, "me.md").lower().count("likes jazz") == 1
    assert memrepo("inbox").out == "the inbox is empty\n"


def test_what_memory_md_has_no_room_for_stays_in_the_inbox(memrepo: HereProgram) -> None:
    for letter in "abcdefghijkl":
        memrepo("remember", letter * 400, "--by", "agent")
    told = memrepo("inbox", "pin", "--all", "--yes", "--json")
    assert told.status == 3
    results = told.document["results"]
    assert {result["status"] for result in results} == {"written", "skipped"}
    left = memrepo("inbox", "--json").document["entries"]
    assert len(left) == len([result for result in results if result["status"] == "skipped"])
    assert len(read(memrepo, "MEMORY.md").encode()) <= 4096


def test_entries_of_one_source_are_meant_by_it(memrepo: HereProgram) -> None:
    memrepo("remember", "Likes jazz", "--by", "agent", "--source", "import")
    memrepo("remember", "Likes tea", "--by", "agent")
    assert memrepo("inbox", "discard", "--source", "import", "--yes").out == "discarded 1 entry\n"
    assert memrepo("inbox").lines == ["repo:inbox.md#L3\tagent\tLikes tea"]


def test_an_entry_outside_the_inbox_is_not_kept_from_it(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    assert memrepo("inbox", "discard", "repo:me.md#L3").status == 2
    assert "Drinks tea" in read(memrepo, "me.md")


def test_purging_a_task_leaves_what_the_user_said_in_it(memrepo: HereProgram) -> None:
    memrepo("remember", "The API is slow", "--by", "agent", "--task", "4f2a")
    memrepo("remember", "Likes jazz", "--task", "4f2a")
    assert memrepo("purge-task", "4f2a", "--yes").out == "forgot 1 entry\n"
    assert "Likes jazz" in read(memrepo, "me.md")
