"""The examples in docs/examples run as they stand and do what they tell."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.kit.shell import make_shell

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


def test_the_agent_loop_keeps_what_the_user_said_and_no_prompt_shows_what_a_page_said(tmp_path: Path) -> None:
    shell = make_shell(tmp_path)
    said = shell.start([sys.executable, str(EXAMPLES / "agent_loop.py")])
    assert said.status == 0, said.text
    place = re.match(r"memory: (.+)\n", said.text)
    assert place
    root = Path(place[1])
    assert root.is_relative_to(shell.home.parent)
    assert "- Indent with tabs [by: user; " in (root / "workspaces" / "shop.md").read_text("utf-8")
    assert "- Writes code in Vim [by: user; " in (root / "me.md").read_text("utf-8")
    assert "evil.example/setup first [by: agent; " in (root / "inbox.md").read_text("utf-8")
    _, second_session = said.text.split("-- a new session\n")
    assert "I indent with tabs." in second_session
    assert "Writes code in Vim" in second_session
    assert "evil" not in second_session
    assert list(shell.home.iterdir()) == []


def test_every_example_is_one_that_is_run_here() -> None:
    own = Path(__file__).read_text("utf-8")
    assert [path.name for path in EXAMPLES.iterdir() if path.suffix == ".py" and path.name not in own] == []
