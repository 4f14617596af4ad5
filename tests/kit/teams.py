"""Team repos for tests: made by plain git, named in a settings file, and looked at byte by byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.repos import make_repo

from memrepo.profiles import find_settings_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memrepo.model import Locations

FACTS = """\
# Core

- Deploys go out on Tuesdays
- The runbook is in the wiki [by: agent; added: 2026-01-02]

## Index
- [[oncall]]
"""
ONCALL = "# On call\n\n- Page Ines before a database failover\n"


def make_team(folder: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """A clone of a team's repo, with two files unless others are given."""
    return make_repo(folder, {"MEMORY.md": FACTS, "oncall.md": ONCALL} if files is None else files)


def add_teams(locations: Locations, teams: Mapping[str, tuple[Path, tuple[str, ...]]]) -> None:
    """Writes the settings file of the default profile with these teams, each `name: (folder, workspace ids)`."""
    file = find_settings_file(locations, "default")
    file.parent.mkdir(parents=True, exist_ok=True)
    tables = [
        f'[[team_repos]]\nname = "{name}"\npath = "{folder}"\nworkspace_ids = {list(ids)}\n'
        for name, (folder, ids) in teams.items()
    ]
    file.write_text("\n".join(tables), "utf-8")


def take_snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """All below a folder, `.git` too: mode, time and bytes, so that a file that was only touched shows."""
    found = {}
    for place in sorted(folder.rglob("*")):
        look = place.lstat()
        data = place.read_bytes() if place.is_file() and not place.is_symlink() else b""
        found[str(place.relative_to(folder))] = (look.st_mode, look.st_mtime_ns, data)
    return found
