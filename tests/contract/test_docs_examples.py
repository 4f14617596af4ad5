"""The examples of README.md and docs/ run as they stand, in an empty home folder, and say what is shown.

A ```console block holds commands behind `$ ` (a line that ends in a backslash goes on in the next) and under each what
it says, on both streams. A ```python block is a program; a ```text block right below it is what it prints. The
examples of a page run in their order. In what is shown, `…` stands for anything within a line, and a line of `…` alone
for any lines. Dates, times and commit ids are any, runs of spaces are one, and the home folder is `/home/me`. An exit
status is shown by a line `(exit status N)`; without it it is 0.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kit.shell import make_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.shell import Said, Shell

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(console|python)\n(.*?)^```\n(?:\s*^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
HOME = "/home/me"
_STATUS = re.compile(r"\(exit status (\d+)\)")
_ANY = (
    (re.compile(r"\b\d{4}-\d{2}-\d{2}\b"), "<date>"),
    (re.compile(r"\b\d{2}:\d{2}(?::\d{2})?\b"), "<time>"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\b"), "<id>"),
    (re.compile(r"[ \t]+"), " "),
)


@dataclass(frozen=True)
class Example:
    """One thing that a page shows: a shell command or a Python program, what it says and how it ends."""

    line: int
    language: str
    source: str
    shown: str
    status: int = 0


def read_examples(page: str) -> Iterator[Example]:
    """The examples of a page, in its order."""
    for block in FENCE.finditer(page):
        line = page.count("\n", 0, block.start()) + 2
        if block[1] == "python":
            yield Example(line, "python", block[2], block[3] or "")
        else:
            yield from read_console(block[2], line)


def read_console(block: str, line: int) -> Iterator[Example]:
    """The commands of a console block."""
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not commands[0].strip(), f"line {line}: a console block begins with a command"
    for part in commands[1:]:
        match = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?", part)
        assert match
        said = part[match.end() :]
        status = _STATUS.search(said)
        yield Example(line, "console", match[1], _STATUS.sub("", said), int(status[1]) if status else 0)
        line += part.count("\n")


def is_as_shown(shown: str, said: str, home: Path) -> bool:
    """Tells whether a program said what a page shows."""
    wanted = _normalize(shown)
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n" for line in wanted
    )
    told = "".join(f"{line}\n" for line in _normalize(said.replace(str(home), HOME)))
    return re.fullmatch(pattern, told) is not None


def _normalize(text: str) -> list[str]:
    for pattern, name in _ANY:
        text = pattern.sub(name, text)
    lines = [line.rstrip() for line in text.rstrip().split("\n")]
    return [] if lines == [""] else lines


def run_example(shell: Shell, example: Example) -> Said:
    """Runs one example."""
    if example.language == "python":
        return shell.start([sys.executable, "-c", example.source])
    return shell.run(example.source)


EXAMPLES = {page: list(read_examples(page.read_text("utf-8"))) for page in PAGES}
PAGES_WITH_EXAMPLES = [page for page in PAGES if EXAMPLES[page]]


@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_the_examples_of_a_page_say_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    shell = make_shell(tmp_path)
    for example in EXAMPLES[page]:
        said = run_example(shell, example)
        where = f"{page.relative_to(CHECKOUT)}:{example.line}: {example.source}"
        assert said.status == example.status, f"{where}\nended with {said.status}:\n{said.text}"
        is_right = is_as_shown(example.shown, said.text, shell.home)
        assert is_right, f"{where}\nsays:\n{said.text}\nand not:\n{example.shown}"


def test_the_readme_shows_the_command_line_the_folder_and_the_library() -> None:
    examples = EXAMPLES[CHECKOUT / "README.md"]
    sources = [example.source for example in examples]
    assert any(source.startswith("memrepo remember ") for source in sources)
    assert any(source.startswith("cat ") for source in sources)
    assert any("from memrepo" in example.source for example in examples if example.language == "python")


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("made /home/me/CoWork Memory", "made /tmp/x/home/CoWork Memory\n"),
        ("- Tea [added: 2026-10-05]", "- Tea [added: 2031-01-02]\n"),
        ("3f2a91c04b  2026-10-05 14:02  cli  Remember", "0123456789\t2031-01-02 09:00\tcli\tRemember\n"),
        ("PASS  Git  git …", "PASS  Git                git 2.39.5\n"),
        ("first\n…\nlast", "first\nsecond\nthird\nlast\n"),
        ("first\n…\nlast", "first\nlast\n"),
        ("", "\n"),
    ],
)
def test_dates_ids_spaces_and_whatever_an_ellipsis_stands_for_may_differ(shown: str, said: str) -> None:
    assert is_as_shown(shown, said, Path("/tmp/x/home"))


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("remembered repo:me.md#L3", "remembered repo:me.md#L4\n"),
        ("forgot", "forgot\nand more\n"),
        ("forgot\nand more", "forgot\n"),
        ("PASS  Git  git …", "PASS  Git  git 2\nPASS  Lock\n"),
        ("first\n…\nlast", "first\nsecond\n"),
        ("", "something\n"),
        ("something", ""),
        ("1 deadbeef", "1 beef\n"),
    ],
)
def test_everything_else_must_be_as_shown(shown: str, said: str) -> None:
    assert not is_as_shown(shown, said, Path("/tmp/x/home"))


def test_a_console_block_is_read_command_by_command() -> None:
    page = "text\n\n```console\n$ one \\\n  --more\nsays this\n$ two\n(exit status 3)\n$ three\n```\n"
    assert list(read_examples(page)) == [
        Example(4, "console", "one \\\n  --more", "says this\n"),
        Example(7, "console", "two", "\n", 3),
        Example(9, "console", "three", ""),
    ]


def test_a_python_block_is_read_with_the_text_below_it() -> None:
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\npass\n```\nwords\n```text\nno output\n```\n"
    assert list(read_examples(page)) == [
        Example(2, "python", "print(1)\n", "1\n"),
        Example(10, "python", "pass\n", ""),
    ]
