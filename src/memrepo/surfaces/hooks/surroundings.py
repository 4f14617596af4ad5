"""One profile as a hook sees it: its ledger, its settings, and the places that it guards."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memrepo.errors import MemrepoError
from memrepo.model import SWARMS_FOLDER
from memrepo.profiles import find_closed_places, find_default_root, find_sessions_folder, find_settings_file

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from memrepo.app import MemoryRepo
    from memrepo.model import Locations
    from memrepo.sessions import SessionLedger
    from memrepo.settings import Settings, TeamRepo

MEMORY_FOLDER = "the memory folder"


class Guarded(NamedTuple):
    """One root of memory, or the folders that may be it: what reasons call it, and the team that it is of."""

    folders: tuple[Path, ...]
    name: str
    team: TeamRepo | None = None


class HookSurroundings:
    """One profile as a hook sees it. `path` is the memory folder of the command line, if one was given."""

    def __init__(
        self, *, locations: Locations, home: Path, profile: str, path: Path | None, clock: Callable[[], dt.datetime]
    ) -> None:
        self.locations = locations
        self.home = home
        self.profile = profile
        self.path = path
        self.clock = clock

    @cached_property
    def ledger(self) -> SessionLedger:
        from memrepo.sessions import SessionLedger

        return SessionLedger(find_sessions_folder(self.locations, self.profile), clock=self.clock)

    @cached_property
    def settings(self) -> Settings | None:
        """The settings; None when they cannot be read: nothing of memory is open then."""
        from memrepo.settings_file import read_settings

        try:
            return read_settings(find_settings_file(self.locations, self.profile), cache=self.locations.cache)
        except MemrepoError:
            return None

    @cached_property
    def roots(self) -> tuple[Path, ...]:
        """Where the memory folder is; all places that it may be when the settings cannot be read."""
        usual = find_default_root(self.locations, self.home, self.profile)
        if self.path is not None:
            return (self.path,)
        if self.settings is not None:
            return (self.settings.path or usual,)
        return (usual, *_find_written_path(find_settings_file(self.locations, self.profile)))

    @cached_property
    def guarded(self) -> tuple[Guarded, ...]:
        """The roots of memory: the user's own, then those of teams, whatever state their folders are in."""
        teams = () if self.settings is None else self.settings.team_repos
        theirs = (Guarded((team.path,), f"the team repo {team.name}", team) for team in teams)
        return (Guarded(self.roots, MEMORY_FOLDER), *theirs)

    @cached_property
    def guarded_folders(self) -> tuple[Path, ...]:
        """The folders of all roots of memory."""
        return tuple(folder for one in self.guarded for folder in one.folders)

    @cached_property
    def closed(self) -> tuple[Path, ...]:
        """Where memrepo keeps what is not memory (settings, sessions, the private store, indexes, notes of swarms): for
        no tool."""
        return (*find_closed_places(self.locations, self.profile, self.roots), *self.swarms)

    @cached_property
    def swarms(self) -> tuple[Path, ...]:
        """The folders of swarms that are there."""
        return tuple(place for root in self.roots if (place := root / SWARMS_FOLDER).is_dir())

    def open_repo(self) -> MemoryRepo:
        """The memory repo, to read from."""
        from memrepo.app import MemoryRepo

        return MemoryRepo.open(
            locations=self.locations,
            home=self.home,
            profile=self.profile,
            path=self.path,
            read_only=True,
            create=False,
            may_be_missing=True,
            clock=self.clock,
        )


def _find_written_path(settings_file: Path) -> tuple[Path, ...]:
    """The folders of memory that faulty settings name, teams' too, as far as they can be made out."""
    import re

    try:
        text = settings_file.read_text("utf-8", errors="replace")
    except OSError:
        return ()
    found = re.findall(r"""(?:^|[{,])\s*path\s*=\s*["'](/[^"'\n]+)["']""", text, re.MULTILINE)
    return tuple(Path(one) for one in found)
