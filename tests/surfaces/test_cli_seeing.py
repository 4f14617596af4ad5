"""context, read and grep: what agents see, at the command line."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.kit.program import make_environment

if TYPE_CHECKING:
    from tests.kit.program import HereProgram

KEY = "AKIA" + "QX7MZL2NPRT5VWYB"


@pytest.fixture
def memrepo(memrepo: HereProgram) -> HereProgram:
    memrepo("remember", "Prefers short answers", "--pin")
    return memrepo


def test_context_shows_the_block_and_its_parts(memrepo: HereProgram) -> None:
    (memrepo.home / "billing" / ".git").mkdir(parents=True)
    memrepo("remember", "CI runs on Buildkite", "--workspace", "billing")
    told = memrepo("context", "--workspace", "billing")
    assert told.status == 0
    assert told.lines[0] == "<cowork_memory_repo>"
    assert "- CI runs on Buildkite" in told.lines
    document = memrepo("context", "--workspace", "billing", "--json").document
    assert document["text"] == told.out.rstrip("\n")
    assert document["refs"] == ["repo:MEMORY.md#L3", "repo:workspaces/billing.md#L4"]
    assert document["reason"] == ""
    less = memrepo("context", "--exclude", document["hashes"][0], "--json").document
    assert less["hashes"] == []
    assert less["version"] != document["version"]


def test_where_memory_is_off_nothing_is_printed_and_the_reason_is_told(memrepo: HereProgram) -> None:
    memrepo("settings", "set", "enabled", "false")
    told = memrepo("context")
    assert (told.status, told.out) == (0, "")
    assert told.err == "memrepo: note: memory is switched off in the settings (enabled = false)\n"
    assert memrepo("context", "--json").document["reason"] == "disabled"
    assert memrepo("grep", "short").status == 0  # a person may always look


def test_a_file_that_is_passed_over_is_told_on_stderr(memrepo: HereProgram) -> None:
    (memrepo.root / "MEMORY.md").write_bytes(b"- x\n" * 3_000_000)
    told = memrepo("context")
    assert (told.status, told.out) == (0, "")
    assert "MEMORY.md was passed over" in told.err


def test_read_and_grep_show_what_agents_see(memrepo: HereProgram) -> None:
    (memrepo.root / "me.md").write_text(f"# Me\n- Key {KEY} <b> [by: agent]\n- \x1b[31mRed\n")
    told = memrepo("read", "repo:me.md#L2")
    assert told.lines == [
        "repo:me.md#L2\tagent",
        "# Me",
        "- Key [REDACTED aws-access-key] &lt;b&gt; (agent)",
        "- [31mRed",
    ]
    assert memrepo("read", "repo:me.md#L2", "--json").document["text"] == "Key [REDACTED aws-access-key] &lt;b&gt;"
    assert memrepo("grep", "Key").lines == ["repo:me.md#L2\tagent\tKey [REDACTED aws-access-key] &lt;b&gt;"]
    assert memrepo("grep", KEY).out == ""
    assert memrepo("grep", "-iE", "^prefers (long|short)", "--json").document["lines"][0]["ref"] == "repo:MEMORY.md#L3"
    assert memrepo("grep", "-E", "(a").status == 2
    assert memrepo("read", "repo:me.md#L1").status == 2
    assert memrepo("read", "me.md").status == 2


def test_grep_says_that_there_is_more(memrepo: HereProgram) -> None:
    (memrepo.root / "me.md").write_text("- needle\n" * 5)
    told = memrepo("grep", "needle", "-n", "2")
    assert len(told.lines) == 2
    assert told.err == "memrepo: note: there are more; these are the first 2\n"


def test_context_loads_neither_git_nor_store_nor_schema_nor_index(memrepo: HereProgram) -> None:
    heavy = ["sqlalchemy", "pydantic", "subprocess", "tomlkit", "memrepo.git", "memrepo.index", "memrepo.service"]
    code = (
        "import sys\nfrom memrepo.surfaces.cli.entry import run\n"
        f"assert run(['context', '--workspace', '.']) == 0\nprint([name for name in {heavy!r} if name in sys.modules])"
    )
    (memrepo.home / "p").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=memrepo.home / "p",
        env=make_environment(memrepo.home),
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
