"""Where a profile keeps its things: its settings, its private store and, unless told otherwise, its memory.

The profile `default` is the one of a person alone: its memory is in plain sight in the home folder. Every other profile
has its own settings and its own memory below the data folder, so that no two share a word. Pure: paths in, paths out.
Source: memory repo design (seed 1) §2.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memrepo.model import Locations

DEFAULT_PROFILE = "default"
DEFAULT_FOLDER = "CoWork Memory"
SETTINGS_NAME = "settings.toml"
STORE_NAME = "private.sqlite3"
SESSIONS_NAME = "sessions"
_PROFILES_FOLDER = "profiles"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_profile(name: str) -> str:
    """Returns the name of a profile. Errors: InvalidInput for what could name a place elsewhere."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "a profile's name has letters, digits, '.', '_' and '-', at most 64, and starts with a letter or digit",
            hint="for example: --profile work",
            key="--profile",
            value=name,
        )
    return name


def find_profile_folder(locations: Locations, profile: str) -> Path:
    """The folder of what memrepo keeps for one profile outside the repo."""
    return locations.data / _PROFILES_FOLDER / profile


def find_default_root(locations: Locations, home: Path, profile: str) -> Path:
    """Where a profile's memory is unless the settings or the caller say otherwise."""
    if profile == DEFAULT_PROFILE:
        return home / DEFAULT_FOLDER
    return find_profile_folder(locations, profile) / "memory-repo"


def find_settings_file(locations: Locations, profile: str) -> Path:
    """The settings of a profile; the default one's stand alone in the config folder."""
    own = locations.config if profile == DEFAULT_PROFILE else locations.config / _PROFILES_FOLDER / profile
    return own / SETTINGS_NAME


def make_store_url(locations: Locations, profile: str) -> str:
    """The place of a profile's private store when the settings name none."""
    return f"sqlite:///{find_profile_folder(locations, profile) / STORE_NAME}"


def find_sessions_folder(locations: Locations, profile: str) -> Path:
    """Where a profile keeps what is known of its agents' sessions; the default one's stand alone in the data folder."""
    own = locations.data if profile == DEFAULT_PROFILE else find_profile_folder(locations, profile)
    return own / SESSIONS_NAME


def find_closed_places(locations: Locations, profile: str, roots: Sequence[Path]) -> tuple[Path, ...]:
    """What no agent's tools touch: the three folders, or what of a profile is in one that also holds a memory root."""
    own = find_profile_folder(locations, profile)
    parts = (find_sessions_folder(locations, profile), own / STORE_NAME, locations.data / SESSIONS_NAME)
    found: list[Path] = []
    for folder in (locations.config, locations.data, locations.cache):
        holds_memory = any(root.is_relative_to(folder) for root in roots)
        found += [one for one in parts if one.is_relative_to(folder)] if holds_memory else [folder]
    return tuple(dict.fromkeys(found))
