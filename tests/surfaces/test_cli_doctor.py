"""doctor: verdicts, remedies and the exit status; what --fix does, and that looking changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kit.program import HereProgram, Program


def statuses(document: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {check["name"]: check["status"] for check in document["checks"]}


def test_a_healthy_folder_passes_with_exit_zero(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    told = memrepo("doctor")
    assert told.status == 0
    assert told.lines[-1] == "all is well"
    assert set(statuses(memrepo("doctor", "--json").document).values()) <= {"PASS", "SKIP"}


def test_a_missing_folder_fails_with_the_command_that_makes_it(memrepo: HereProgram) -> None:
    told = memrepo("doctor")
    assert told.status == 6
    assert "-> memrepo init" in told.out
    assert not memrepo.root.exists()


def test_a_file_that_stops_the_writer_is_a_warning_with_its_remedy_and_no_failure(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    (memrepo.root / "photo.jpg").write_bytes(b"x")
    told = memrepo("doctor", "--json")
    [check] = [check for check in told.document["checks"] if check["name"] == "Work tree"]
    assert (told.status, check["status"]) == (0, "WARN")
    assert "photo.jpg" in check["detail"]
    assert check["remedy"]


def test_what_waited_in_the_private_store_is_counted_and_written_by_fix(memrepo: HereProgram) -> None:
    memrepo("remember", "Drinks tea")
    (memrepo.root / "photo.jpg").write_bytes(b"x")
    kept = memrepo("remember", "Plays the cello", "--json")
    assert (kept.status, kept.document["status"], kept.document["reason"]) == (0, "kept", "dirty")
    assert statuses(memrepo("doctor", "--json").document)["Pending writes"] == "WARN"
    (memrepo.root / "photo.jpg").unlink()
    assert memrepo("doctor", "--fix").lines[0].startswith("fixed: wrote 1 fact")
    assert "Plays the cello" in memrepo("ls", "me").out


def test_a_folder_made_without_git_gets_its_history_from_fix(program: Program) -> None:
    program("remember", "Drinks tea", PATH=str(program.home))
    assert "doctor --fix" in program("remember", "Likes jazz").err
    told = program("doctor", "--fix", "--json").document
    assert any("history" in fixed for fixed in told["fixed"])
    assert statuses(told)["Git"] == "PASS"
    assert len(program("log").out.splitlines()) == 1
