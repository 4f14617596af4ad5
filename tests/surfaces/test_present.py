"""Errors and results in words and in JSON: the numbers, the hints, and nothing that a terminal would act on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.errors import (
    ApprovalNeeded,
    ChangedOnDisk,
    InvalidInput,
    LockBusy,
    MemrepoError,
    NotFound,
    SettingsError,
    TooLarge,
)
from memrepo.model import CommitId, Reason, Ref, RepoPath, WriteAction, WriteResult, WriteStatus
from memrepo.surfaces import present

REF = Ref(RepoPath("me.md"), 3)


def skipped(reason: Reason, **more: str) -> WriteResult:
    return WriteResult(WriteStatus.SKIPPED, reason=reason, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "exit_status", "http_status"),
    [
        (NotFound("x"), 2, 404),
        (InvalidInput("x"), 2, 400),
        (TooLarge("x"), 3, 413),
        (ApprovalNeeded("x"), 3, 403),
        (ChangedOnDisk("x"), 4, 409),
        (LockBusy("x"), 5, 503),
        (ValueError("x"), 70, 500),
    ],
)
def test_an_error_has_the_numbers_of_its_nearest_family(error: Exception, exit_status: int, http_status: int) -> None:
    numbers = present.get_numbers(error)
    assert (numbers.exit_status, numbers.http_status) == (exit_status, http_status)


def test_an_error_is_told_with_its_hint_on_a_line_of_its_own() -> None:
    error = NotFound("there is no file x.md", hint="see the files: memrepo ls", what="file", name="x.md")
    assert present.format_error(error) == "memrepo: error: there is no file x.md\nhint: see the files: memrepo ls"


def test_an_error_with_many_faults_tells_each_of_them() -> None:
    error = SettingsError("2 faults", faults=(("path", 3, "not absolute"), ("privacy", None, "no such value")))
    assert present.format_error(error).splitlines()[1:] == ["  line 3: path: not absolute", "  privacy: no such value"]


def test_a_limit_says_where_to_write_instead() -> None:
    error = TooLarge("too large", limit=1, actual=2, unit="bytes", where_instead="lessons.md")
    assert "write instead to: lessons.md" in present.format_error(error)


def test_the_json_of_an_error_holds_its_facts_as_plain_values() -> None:
    error = ChangedOnDisk("x", hint="y", path=RepoPath("me.md"), expected=None, actual=("a", REF))
    told = json.loads(json.dumps(present.describe_error(error)))
    assert told == {
        "code": "changed-on-disk",
        "message": "x",
        "hint": "y",
        "exit_status": 4,
        "facts": {"path": "me.md", "expected": None, "actual": ["a", "repo:me.md#L3"]},
    }


@pytest.mark.parametrize(
    "error", [NotFound("a \x1b[2J b", hint="\u202e"), InvalidInput("x", faults=(("\x07", "\x9b"),))]
)
def test_no_error_lets_a_control_character_reach_the_terminal(error: MemrepoError) -> None:
    assert present.format_error(error).replace("\n", "").isprintable()


def test_a_written_fact_tells_its_ref_what_was_redacted_and_any_note() -> None:
    result = WriteResult(
        WriteStatus.WRITTEN,
        action=WriteAction.INSERTED,
        ref=REF,
        redactions=("aws-key",),
        detail="waiting in the inbox",
    )
    assert present.format_result(result).splitlines() == [
        "remembered repo:me.md#L3",
        "note: waiting in the inbox",
        "redacted: aws-key",
    ]


def test_a_kept_fact_says_whether_it_will_come_to_the_folder() -> None:
    private = WriteResult(WriteStatus.KEPT, reason=Reason.PRIVATE, detail="marked private", kept_id=1)
    waiting = WriteResult(WriteStatus.KEPT, reason=Reason.DIRTY, detail="a merge is under way", kept_id=2)
    assert present.format_result(private) == "kept in the private store only: marked private"
    assert (
        present.format_result(waiting) == "kept in the private store until the folder can take it: a merge is under way"
    )


def test_a_fact_turned_away_says_why_and_where_instead() -> None:
    told = present.format_result(skipped(Reason.TOO_LARGE, detail="600 characters", where_instead="a file of yours"))
    assert told == "not written (too_large): 600 characters\nwrite instead to: a file of yours"


def test_only_a_fact_that_was_turned_away_makes_the_exit_status_three() -> None:
    done = WriteResult(WriteStatus.WRITTEN, action=WriteAction.REINFORCED, ref=REF)
    kept = WriteResult(WriteStatus.KEPT, reason=Reason.BUSY)
    assert present.get_exit_status([done, kept]) == 0
    assert present.get_exit_status([done, skipped(Reason.EMPTY)]) == 3


def test_the_json_of_a_result_names_path_line_and_commit() -> None:
    told = present.describe_result(
        WriteResult(WriteStatus.WRITTEN, action=WriteAction.INSERTED, ref=REF, commit=CommitId("0" * 40))
    )
    assert (told["ref"], told["path"], told["line"], told["commit"]) == ("repo:me.md#L3", "me.md", 3, "0" * 40)


@given(st.text())
def test_escaped_text_is_one_line_without_control_characters_and_escaping_again_changes_nothing(text: str) -> None:
    escaped = present.escape_control(text)
    assert not any((ord(letter) < 0x20 and letter != "\t") or 0x7F <= ord(letter) < 0xA0 for letter in escaped)
    assert "\u202e" not in escaped
    assert present.escape_control(escaped) == escaped
    escaped.encode()


@pytest.mark.parametrize("text", ["naïve café", "日本語のメモ", "שלום", "👨‍👩‍👧", "क्‍ष", "a\tb"])
def test_what_people_write_is_not_escaped(text: str) -> None:
    assert present.escape_control(text) == text


def test_lines_stay_lines_and_a_lone_carriage_return_is_escaped() -> None:
    assert present.escape_lines("a\r\nb\rc\n") == "a\nb\\x0dc\n"
