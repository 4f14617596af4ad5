"""Imports go down the floors, and each danger has one door. The floors are data: `floors.toml`."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parents[2] / "src" / "memrepo"
HOUSE = tomllib.loads((Path(__file__).parent / "floors.toml").read_text("utf-8"))
FLOOR_OF = {module: number for number, floor in enumerate(HOUSE["floor"]) for module in floor["modules"]}

PROCESS_MODULES = {"subprocess", "multiprocessing", "pty", "_posixsubprocess", "webbrowser"}
PROCESS_CALLS = {"system", "popen", "fork", "forkpty", "startfile"}
PROCESS_CALL_PREFIXES = ("exec", "spawn", "posix_spawn")
ENVIRONMENT_NAMES = {"environ", "environb", "getenv", "getenvb", "putenv"}


@dataclass(frozen=True)
class Module:
    """One source file: `name` is dotted, below memrepo."""

    name: str
    tree: ast.Module

    @property
    def unit(self) -> str:
        return self.name.partition(".")[0]


def read_modules(source: Path = SOURCE) -> list[Module]:
    modules = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts == ("__init__",):
            continue
        name = ".".join(part for part in parts if part != "__init__")
        modules.append(Module(name, ast.parse(path.read_text("utf-8"))))
    return modules


MODULES = read_modules()


def iter_imports(tree: ast.Module) -> Iterator[str]:
    """Every module that is imported, wherever the statement stands; types count too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def iter_imported_units(tree: ast.Module) -> Iterator[str]:
    for name in iter_imports(tree):
        top, _, rest = name.partition(".")
        unit = rest.partition(".")[0]
        if top == "memrepo" and unit in FLOOR_OF:
            yield unit


def find_climbs(module: Module) -> list[str]:
    """The imports that do not go down, as `recall -> sync`."""
    return [
        f"{module.name} -> {unit}"
        for unit in sorted(set(iter_imported_units(module.tree)))
        if unit != module.unit and FLOOR_OF[unit] >= FLOOR_OF[module.unit]
    ]


def find_acts(tree: ast.Module) -> set[str]:
    """What a module does of the things that only some may do."""
    acts = set()
    tops = {name.partition(".")[0] for name in iter_imports(tree)}
    if tops & PROCESS_MODULES:
        acts.add("start a process")
    if "sqlalchemy" in tops or "sqlite3" in tops:
        acts.add("speak SQL")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "print":
            acts.add("print")
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        owner, name = node.value.id, node.attr
        if owner == "sys" and name in {"stdout", "stderr", "__stdout__", "__stderr__"}:
            acts.add("print")
        if owner == "os" and name in ENVIRONMENT_NAMES:
            acts.add("read the environment")
        if owner == "os" and (name in PROCESS_CALLS or name.startswith(PROCESS_CALL_PREFIXES)):
            acts.add("start a process")
    for name in iter_imports(tree):
        if name.partition(".")[0] == "os" and name.rpartition(".")[2] in ENVIRONMENT_NAMES:
            acts.add("read the environment")
    return acts


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_every_module_stands_on_a_floor_and_imports_only_downward(module: Module) -> None:
    assert module.unit in FLOOR_OF, f"{module.unit} stands on no floor: add it to floors.toml"
    climbs = find_climbs(module)
    assert not climbs, f"not downward: {'; '.join(climbs)}"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_each_danger_has_its_own_door(module: Module) -> None:
    for act in find_acts(module.tree):
        doors = HOUSE["only"][act]
        assert any(module.name == door or module.name.startswith(f"{door}.") for door in doors), (
            f"{module.name} may not {act}; only {', '.join(doors)} may"
        )


def test_no_module_has_a_name_that_says_nothing() -> None:
    banned = set(HOUSE["names"]["banned"])
    named = {part for module in MODULES for part in module.name.split(".")}
    assert not named & banned


def test_no_module_is_on_two_floors() -> None:
    listed = [module for floor in HOUSE["floor"] for module in floor["modules"]]
    assert len(listed) == len(set(listed))


def test_an_import_that_climbs_is_named_with_both_ends() -> None:
    climbing = Module("files.paths", ast.parse("def f():\n    from memrepo.service import MemoryRepoService\n"))
    assert find_climbs(climbing) == ["files.paths -> service"]


def test_neighbours_on_one_floor_do_not_import_each_other() -> None:
    assert find_climbs(Module("format.entries", ast.parse("import memrepo.policy.screen"))) == [
        "format.entries -> policy"
    ]
    assert find_climbs(Module("format.entries", ast.parse("from memrepo.format import clean"))) == []


@pytest.mark.parametrize(
    ("source", "act"),
    [
        ("import subprocess", "start a process"),
        ("import webbrowser", "start a process"),
        ("import os\nos.execvp('git', [])", "start a process"),
        ("def f():\n    from sqlalchemy import select", "speak SQL"),
        ("print('x')", "print"),
        ("import sys\nsys.stdout.write('x')", "print"),
        ("import os\nos.environ['HOME']", "read the environment"),
        ("from os import getenv", "read the environment"),
    ],
)
def test_the_look_for_dangers_sees(source: str, act: str) -> None:
    assert find_acts(ast.parse(source)) == {act}
