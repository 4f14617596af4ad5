"""The settings page: every setting with its rule, its value and what changes it. It needs no memory folder.

A form names the digest of the text that the page was made from; a file that changed meanwhile is not written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memrepo.errors import ChangedOnDisk, InvalidInput, SettingsError
from memrepo.files.atomic import digest_bytes
from memrepo.profiles import find_default_root, find_settings_file
from memrepo.settings import (
    WORKSPACES,
    Settings,
    describe_settings,
    get_setting,
    parse_settings,
    unset_setting,
)
from memrepo.settings_file import read_settings_text
from memrepo.surfaces.hub.acts import Told
from memrepo.surfaces.present import escape_control
from memrepo.surfaces.settings_saving import change_setting, save_settings

if TYPE_CHECKING:
    from pathlib import Path

    from memrepo.model import Locations
    from memrepo.settings import SettingRow
    from memrepo.surfaces.hub.acts import Form

_ID_FIELD = "id"
_CHOICES = {
    "true or false": ("true", "false"),
    '"normal", "strict" or "disabled"': ("normal", "strict", "disabled"),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """Whose settings: where they are, and what they mean when they say nothing."""

    name: str
    locations: Locations
    home: Path

    @property
    def file(self) -> Path:
        """The settings file, whether it is there or not."""
        return find_settings_file(self.locations, self.name)


def show_place(place: Path, home: Path) -> str:
    """A path as a person writes it: with ~ for the home folder."""
    is_below = place.is_relative_to(home) and place != home
    return escape_control(f"~/{place.relative_to(home).as_posix()}" if is_below else str(place))


def show_settings(profile: Profile) -> dict[str, Any]:
    """The values of the page. Errors: DiskFault; faults of the file are values."""
    text, current = "", Settings()
    faults: list[tuple[str, int | None, str]] = []
    try:
        text = read_settings_text(profile.file)
        current = parse_settings(text, file=str(profile.file))
    except SettingsError as error:
        found = error.facts.get("faults")
        faults = list(found) if isinstance(found, tuple | list) else []
    set_keys = _find_set_keys(text) if not faults else frozenset()
    rows = [row for row in describe_settings() if ".ID." not in row.key and row.key != WORKSPACES]
    fields = [row for row in describe_settings() if ".ID." in row.key]
    return {
        "file": show_place(profile.file, profile.home),
        "seen": digest_bytes(text.encode()),
        "faults": faults,
        "rows": [_describe(row, row.key, current, set_keys) for row in rows],
        "workspaces": [
            {
                "id": one.id,
                "name": one.name,
                "rows": [
                    _describe(row, row.key.replace(".ID.", f".{one.id}."), current, set_keys)
                    for row in fields
                    if not row.key.endswith(f".{_ID_FIELD}")
                ],
            }
            for one in current.workspaces
        ],
        "default_root": str(find_default_root(profile.locations, profile.home, profile.name)),
    }


def change_settings(profile: Profile, form: Form) -> Told:
    """Sets or unsets one setting. Errors: SettingsError, PathRefused, NotFound, ChangedOnDisk, DiskFault.

    Changes: the settings file.
    """
    file, key = profile.file, form.get("key").strip()
    before = read_settings_text(file)
    if form.get("seen") != digest_bytes(before.encode()):
        raise ChangedOnDisk("the settings were changed elsewhere meanwhile", hint="look at them again", path=str(file))
    if form.get("act") == "unset":
        after = unset_setting(before, key, file=str(file))
    elif form.get("act") == "add":
        key = f"{WORKSPACES}.{form.get('id').strip()}.root"
        after = change_setting(before, key, form.get("root").strip(), file=str(file))
    elif form.get("act") == "set":
        after = change_setting(before, key, _read_value(key, form), file=str(file))
    else:
        raise InvalidInput("the form says neither set nor unset", key="act")
    if after == before:
        return Told(f"{escape_control(key)} is as it was.", is_done=False)
    save_settings(
        file, before=before, after=after, locations=profile.locations, home=profile.home, profile=profile.name
    )
    return Told(f"{escape_control(key)} is {'no longer set' if form.get('act') == 'unset' else 'saved'}.")


def _read_value(key: str, form: Form) -> object:
    value = form.get("value").replace("\r\n", "\n").strip()
    row = next((row for row in describe_settings() if row.key == key), None)
    if row is not None and row.type == "list of text":
        return [line.strip() for line in value.split("\n") if line.strip()]
    return value


def _describe(row: SettingRow, key: str, current: Settings, set_keys: frozenset[str]) -> dict[str, Any]:
    value = get_setting(current, key)
    lines = "\n".join(str(one) for one in value) if isinstance(value, list) else ""
    plain = json.dumps(value) if isinstance(value, bool) else str(value or "")
    return {
        "key": key,
        "field": key.rpartition(".")[2],
        "id": "setting-" + "".join(letter if letter.isalnum() else f"-{ord(letter):x}-" for letter in key),
        "rule": row.rule,
        "type": row.type,
        "default": row.default,
        "placeholder": row.example.strip('"'),
        "value": lines if row.type == "list of text" else plain,
        "is_list": row.type == "list of text",
        "choices": _CHOICES.get(row.type, ()),
        "is_set": key in set_keys,
    }


def _find_set_keys(text: str) -> frozenset[str]:
    import tomllib

    raw = tomllib.loads(text.removeprefix("\ufeff"))
    keys = {key for key in raw if key != WORKSPACES}
    for table in raw.get(WORKSPACES, ()):
        keys |= {f"{WORKSPACES}.{table[_ID_FIELD]}.{field}" for field in table}
    return frozenset(keys)
