"""Where files are trusted: in the workspace, in memory, and where a host keeps its own instructions. Pure."""

from __future__ import annotations

import posixpath
from pathlib import PurePath, PurePosixPath

from memrepo.policy import untrusted_rows as rows

OUTSIDE = "file outside the workspace"


class TrustedPlaces:
    """Where files are trusted. Paths are taken as they are written: the disk is not asked."""

    def __init__(
        self,
        host: str,
        workspace: PurePath | None,
        home: PurePath | None,
        trusted: tuple[PurePath, ...],
        start: PurePath | None,
    ) -> None:
        self.start = "/" if start is None else str(start)
        self.home = None if home is None else str(home)
        own = [] if home is None else [home / row.folder for row in rows.OWN_FOLDERS if row.host in {"", host}]
        known = [*trusted, *own, *([] if workspace is None else [workspace])]
        self._inside = [PurePosixPath(posixpath.normpath(str(folder))) for folder in known]

    def resolve(self, path: str, start: str) -> str:
        """The absolute path that a word means in a folder."""
        for prefix in ("~", "$HOME"):
            if self.home is not None and (path == prefix or path.startswith(prefix + "/")):
                path = self.home + path[len(prefix) :]
        return posixpath.normpath(posixpath.join(start, path))

    def is_outside(self, path: str, start: str) -> bool:
        """Whether a path, read in a folder, leads to a file that nobody vouched for."""
        place = PurePosixPath(self.resolve(path.removeprefix("file://"), start))
        return not any(place.is_relative_to(folder) for folder in self._inside)
