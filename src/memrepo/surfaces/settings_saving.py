"""Changing settings.toml as every surface does it: only when the folders that it means may be what it says they are."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memrepo.profiles import find_default_root
from memrepo.settings import parse_settings, set_setting, unset_setting
from memrepo.settings_file import read_settings, write_settings_text

if TYPE_CHECKING:
    from pathlib import Path

    from memrepo.model import Locations
    from memrepo.settings import Settings, TeamRepo

REMOTE_URL = "remote_url"
CONFIRMATION = "remote_confirmed_private"


def change_setting(before: str, key: str, value: object, *, file: str) -> str:
    """The text with one setting changed. Errors: those of `set_setting`.

    Another address of the remote takes the user's confirmation away: it was about the one before.
    """
    after = set_setting(before, key, value, file=file)
    return unset_setting(after, CONFIRMATION, file=file) if key == REMOTE_URL and after != before else after


def save_settings(
    file: Path, *, before: str, after: str, locations: Locations, home: Path, profile: str
) -> Settings | None:
    """Writes the new text when the memory folder that it means, and each team repo that is new in it, pass every rule;
    None when the text still has faults.

    Errors: PathRefused, and those of `write_settings_text`. Changes: the file.
    """
    from memrepo.errors import SettingsError
    from memrepo.exchange import check_root

    try:
        new = parse_settings(after, file=str(file))
    except SettingsError:  # it had faults before and has no new one: mending goes key by key
        write_settings_text(file, after, before=before)
        return None
    root = new.path or find_default_root(locations, home, profile)
    if new.team_repos:  # first: an overlap is then told of the team, unless it is the memory folder that is new
        known: tuple[TeamRepo, ...] = ()
        with suppress(SettingsError):
            known = parse_settings(before, file=str(file)).team_repos
        _check_new_teams(known, new, root, locations=locations, home=home)
    check_root(
        root,
        locations=locations,
        home=home,
        workspaces=new.workspaces,
        others=[team.path for team in new.team_repos],
    )
    write_settings_text(file, after, before=before)
    return read_settings(file, cache=locations.cache)


def _check_new_teams(
    known: tuple[TeamRepo, ...], new: Settings, root: Path, *, locations: Locations, home: Path
) -> None:
    """Looks at the folders of team repos that the settings did not have. Errors: PathRefused."""
    from memrepo.git.gate import is_repository
    from memrepo.team import TeamRules, check_team_root

    rules = TeamRules(root, home, locations, new.workspaces)
    for team in new.team_repos:
        if team not in known:
            others = [other.path for other in new.team_repos if other is not team]
            check_team_root(team.path, rules, others=others, is_repository=is_repository)
