"""Where memrepo keeps what is not memory itself: one folder each for config, data and cache. Makes none of them."""

from __future__ import annotations

from pathlib import Path

from memrepo.model import Locations

_APP = "memrepo"


def find_locations(memrepo_home: Path | None) -> Locations:
    """The three folders: below `memrepo_home` if it is given, else where this system keeps such things.

    Changes: nothing, the folders may not be there.
    """
    if memrepo_home is not None:
        return Locations(config=memrepo_home / "config", data=memrepo_home / "data", cache=memrepo_home / "cache")
    from platformdirs import PlatformDirs

    folders = PlatformDirs(_APP, appauthor=False)
    return Locations(
        config=Path(folders.user_config_dir), data=Path(folders.user_data_dir), cache=Path(folders.user_cache_dir)
    )
