"""`settings.toml` on disk: read as text, replaced as a whole, never left half written.

What the text means is the business of `settings`. A text that passed its rules is remembered by its fingerprint in the
cache folder, so that the next process need not load the schema to read it again; losing the cache costs only that.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.errors import DiskFault, PathRefused, SettingsError
from memrepo.files.atomic import digest_bytes, replace_file, write_internal
from memrepo.files.folder import NEW_FOLDER_MODE, disk_faults
from memrepo.model import RepoPath
from memrepo.settings import fingerprint_settings, parse_settings

if TYPE_CHECKING:
    from memrepo.settings import Settings

_MARK_NAME = "settings-{name}.checked"


def read_settings(file: Path, *, cache: Path) -> Settings:
    """Reads the settings; those of a file that is absent are the defaults.

    Errors: SettingsError with all faults, DiskFault. Changes: the mark of a text that passed, in the cache folder.
    """
    text = read_settings_text(file)
    if not text.strip():
        return parse_settings("", file=str(file))
    mark, fingerprint = _find_mark(file, cache), fingerprint_settings(text)
    is_known_good = _read_mark(mark) == fingerprint
    settings = parse_settings(text, file=str(file), is_known_good=is_known_good)
    if not is_known_good:
        _write_mark(mark, fingerprint)
    return settings


def read_settings_text(file: Path) -> str:
    """The text of a settings file, "" when there is none. Errors: SettingsError when it is not UTF-8, DiskFault."""
    with disk_faults("read", str(file)):
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            return ""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError(
            f"{file} is not UTF-8 (line {line})",
            hint=f"save it as UTF-8 in an editor: {file}",
            file=str(file),
            faults=(("", line, "not UTF-8"),),
        ) from error


def write_settings_text(file: Path, text: str, *, before: str) -> None:
    """Puts a text in the place of the one that was read; a link to the file stays one.

    Errors: ChangedOnDisk when the file no longer holds `before`, DiskFault. Changes: the file (0600 when it is new),
    missing folders above it.
    """
    place = Path(os.path.realpath(file))
    with disk_faults("write", str(file)):
        place.parent.mkdir(mode=NEW_FOLDER_MODE, parents=True, exist_ok=True)
        expect_digest = digest_bytes(before.encode()) if place.exists() else None
    replace_file(place.parent, RepoPath(place.name), text.encode(), expect_digest=expect_digest)


def _find_mark(file: Path, cache: Path) -> Path:
    return cache / _MARK_NAME.format(name=digest_bytes(os.fsencode(file))[:12])


def _read_mark(mark: Path) -> str | None:
    try:
        return mark.read_text("ascii")
    except (OSError, ValueError):
        return None


def _write_mark(mark: Path, fingerprint: str) -> None:
    with contextlib.suppress(OSError, DiskFault, PathRefused):  # a cache: what cannot be kept is found out again
        mark.parent.mkdir(mode=NEW_FOLDER_MODE, parents=True, exist_ok=True)
        write_internal(mark.parent, mark.name, fingerprint.encode())
