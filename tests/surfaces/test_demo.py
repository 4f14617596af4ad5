"""`make demo` shows what it says, in a folder of its own that it keeps, and fails when a step does not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.kit.shell import Said, Shell, make_shell

DEMO = Path(__file__).resolve().parents[2] / "docs" / "demo.py"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shell, Said]:
    """One whole run, and the home folder of whoever started it."""
    shell = make_shell(tmp_path_factory.mktemp("demo"))
    return shell, shell.start([sys.executable, str(DEMO)])


def test_the_demo_shows_every_chapter_and_keeps_its_folder(shown: tuple[Shell, Said]) -> None:
    shell, said = shown
    assert said.status == 0, said.text
    place = re.match(r"A folder of the demo's own: (.+)\n", said.text)
    assert place
    root = Path(place[1]) / "CoWork Memory"
    assert root.is_relative_to(shell.home.parent)
    assert "- Prefers tabs over spaces [by: user; " in (root / "me.md").read_text("utf-8")
    for words in ("[REDACTED github-token]", "repo:inbox.md#L3", "Hand edits", "at most 500", "undid ", "none is left"):
        assert words in said.text
    assert said.text.count("\n   checked: ") == 12
    assert f"rm -rf {place[1]}" in said.text


def test_the_demo_touches_no_home_but_its_own(shown: tuple[Shell, Said]) -> None:
    shell, said = shown
    assert said.status == 0
    assert list(shell.home.iterdir()) == []


@pytest.mark.parametrize(
    ("sabotage", "why"),
    [
        ('[ "$1" = undo ] && exit 1', "memrepo undo ended with exit status 1, not 0"),
        ('[ "$1" = init ] && echo hello && exit 0', "memrepo init did not say 'made '"),
        (
            'case "$2" in "The deploy"*) echo "$2" >> "$HOME/CoWork Memory/me.md";; esac',
            "not so: no file and no commit holds the token",
        ),
    ],
    ids=["a command that fails", "a command that says nothing", "a secret that reaches the disk"],
)
def test_the_demo_ends_with_one_at_the_first_step_that_goes_wrong(tmp_path: Path, sabotage: str, why: str) -> None:
    said = make_shell(tmp_path, sabotage).start([sys.executable, str(DEMO)])
    assert said.status == 1
    assert said.text.rstrip().splitlines()[-1] == f"demo failed: {why}"


def test_the_demo_says_which_program_it_misses(tmp_path: Path) -> None:
    shell = make_shell(tmp_path)
    (shell.programs / "memrepo").unlink()
    said = shell.start(["/usr/bin/env", f"PATH={shell.programs}", sys.executable, str(DEMO)])
    why = "memrepo and git not found on PATH; run it with: make demo"
    assert (said.status, said.text) == (1, f"\ndemo failed: {why}\n")


def test_the_demos_made_up_token_stands_nowhere_in_the_repository() -> None:
    text = DEMO.read_text("utf-8")
    assert "ghp_" not in text
