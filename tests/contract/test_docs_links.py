"""What the pages point at is there: files, anchors, tests, modules, make targets, dependencies."""

from __future__ import annotations

import ast
import re
import tomllib
import unicodedata
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = sorted([*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md")])
_FENCED = re.compile(r"^```.*?^```\n?", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^(#{1,6}) +(.+?)(?: +#+)?$", re.MULTILINE)
_TEST_NAME = re.compile(r"`(test_\w+)`")
_OUR_PATH = re.compile(r"`((?:src|tests|docs|benchmarks)/[\w./-]+|\.ci/run)`")


def ids(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@cache
def read_prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCED.sub("", page.read_text("utf-8"))


def find_links(page: Path) -> list[str]:
    """The targets of a page's links that stay inside the repository."""
    targets = _LINK.findall(_CODE.sub("", read_prose(page)))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def make_anchor(heading: str) -> str:
    """The anchor of a heading, as the big git hosts make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    kept = (letter for letter in plain if letter in "-_ " or unicodedata.category(letter)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


@cache
def find_anchors(page: Path) -> set[str]:
    """The anchors of a page; a heading that comes again is counted on."""
    anchors: set[str] = set()
    for _, heading in _HEADING.findall(read_prose(page)):
        anchor = name = make_anchor(heading)
        number = 0
        while name in anchors:
            number += 1
            name = f"{anchor}-{number}"
        anchors.add(name)
    return anchors


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_link_of_a_page_leads_to_a_file_and_an_anchor_that_are_there(page: Path) -> None:
    for target in find_links(page):
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), f"{target}: no such file"
        assert place.is_relative_to(CHECKOUT), f"{target}: outside of the repository"
        if anchor:
            assert anchor in find_anchors(place), f"{target}: no such heading"


@cache
def find_test_names() -> frozenset[str]:
    """The names of all tests of the suite."""
    trees = [ast.parse(path.read_text("utf-8")) for path in (CHECKOUT / "tests").rglob("test_*.py")]
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    missing = set(_TEST_NAME.findall(read_prose(page))) - find_test_names()
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_path_of_the_repository_that_a_page_names_is_there(page: Path) -> None:
    # A decision tells of its time, and may name what has moved since.
    missing = [name for name in _OUR_PATH.findall(read_prose(page)) if not (CHECKOUT / name).exists()]
    assert not missing or page.parent.name == "decisions"


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_make_target_that_a_page_names_is_one(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (CHECKOUT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", page.read_text("utf-8"), re.MULTILINE))
    assert named <= targets


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [CHECKOUT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in find_links(page) if link[0] != "#"]
    assert set(PAGES) <= reached


def test_every_module_stands_in_the_drawing_of_the_house() -> None:
    page = (CHECKOUT / "docs" / "architecture.md").read_text("utf-8")
    source = CHECKOUT / "src" / "memrepo"
    units = {path.stem for path in source.glob("*.py")} | {path.parent.name for path in source.glob("*/__init__.py")}
    missing = [unit for unit in sorted(units) if not unit.startswith("__") and not re.search(rf"\b{unit}\b", page)]
    assert not missing


def test_every_dependency_has_its_reason_written_down() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in project["project"].get("optional-dependencies", {}).values():
        wanted += extra
    page = (CHECKOUT / "docs" / "decisions" / "0002-dependencies.md").read_text("utf-8")
    told = set(re.findall(r"^\| ([\w-]+)(?: \(build\))? \|", page, re.MULTILINE))
    names = {match[0] for one in wanted if (match := re.match(r"[\w-]+", one))} - {"memrepo"}  # its own extra
    assert names <= told, f"without a reason: {names - told}"


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("A write", "a-write"),
        ("PathRefused (`path-refused`)", "pathrefused-path-refused"),
        ("UserError, exit 2", "usererror-exit-2"),
        ("0006: a redo journal", "0006-a-redo-journal"),
        ("Über [uns](x.md)", "über-uns"),
    ],
)
def test_anchors_are_those_of_the_hosts_that_show_the_pages(heading: str, anchor: str) -> None:
    assert make_anchor(heading) == anchor
