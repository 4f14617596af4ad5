"""`memrepo settings`: reading and changing settings.toml, without losing a comment of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.profiles import find_default_root
from memrepo.settings import (
    WORKSPACES,
    describe_settings,
    get_setting,
    split_workspace_key,
    unset_setting,
)
from memrepo.settings_file import read_settings, read_settings_text
from memrepo.surfaces.cli.options import decode_words
from memrepo.surfaces.cli.table import MemrepoGroup
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.settings import Settings, SettingValue
    from memrepo.surfaces.cli.invocation import Invocation

_NOT_SET = "(not set)"
_PATH = "path"
_ROOT = "root"


@click.group(cls=MemrepoGroup, short_help="Read and change settings.")
def settings() -> None:
    """Read and change settings. Each profile has its own.

    \b
    memrepo settings list
    """


@settings.command("path")
@click.pass_obj
def show_path(invocation: Invocation) -> None:
    """Print where settings.toml is, whether it is there or not.

    \b
    memrepo settings path
    """
    place = invocation.settings_file
    invocation.output.emit({"path": str(place), "exists": place.exists()}, escape_control(str(place)))


@settings.command("list")
@click.pass_obj
def list_settings(invocation: Invocation) -> None:
    """List every setting with its value, those of known workspaces too.

    \b
    memrepo settings list
    """
    current = _read(invocation)
    keys = [row.key for row in describe_settings() if ".ID." not in row.key]
    document = {"file": str(invocation.settings_file), "settings": {key: get_setting(current, key) for key in keys}}
    invocation.output.emit(document, invocation.output.format_rows(list(_iter_rows(current))))


@settings.command("get")
@click.argument("key", callback=decode_words)
@click.pass_obj
def get(invocation: Invocation, key: str) -> None:
    """Print the value of one setting.

    \b
    memrepo settings get path
    """
    current = _read(invocation)
    value = get_setting(current, key)
    if value is None and key == _PATH:
        invocation.output.tell(f"not set; memory is in {escape_control(str(_find_root(invocation, current)))}")
    elif value is None:
        invocation.output.tell("not set")
    invocation.output.emit({"key": key, "value": value}, _format_value(value) if value is not None else ())


@settings.command("set")
@click.argument("key", callback=decode_words)
@click.argument("value", callback=decode_words)
@click.pass_obj
def set_value(invocation: Invocation, key: str, value: str) -> None:
    """Change one setting. The file keeps its comments; a value that is not valid changes nothing.

    \b
    memrepo settings set path ~/notes/memory
    memrepo settings set workspaces.billing.privacy strict
    """
    from memrepo.surfaces.settings_saving import REMOTE_URL, change_setting

    file = invocation.settings_file
    before = read_settings_text(file)
    if key == _PATH or split_workspace_key(key, ())[1] == _ROOT:
        value = str(invocation.find_path(value))
    after = change_setting(before, key, value, file=str(file))
    if key == REMOTE_URL and after != before:
        invocation.output.tell("say that it is private and yours: memrepo settings set remote_confirmed_private true")
    new = save_settings(invocation, before, after)
    kept = value if new is None else get_setting(new, key)
    invocation.output.emit({"key": key, "value": kept}, f"{escape_control(key)} = {_format_value(kept)}")


@settings.command("unset")
@click.argument("key", callback=decode_words)
@click.pass_obj
def unset(invocation: Invocation, key: str) -> None:
    """Take one setting out of the file, so that its default counts again.

    \b
    memrepo settings unset path
    """
    file = invocation.settings_file
    before = read_settings_text(file)
    after = unset_setting(before, key, file=str(file))
    if after != before:
        save_settings(invocation, before, after)
    words = f"{escape_control(key)} {'is no longer set' if after != before else 'was not set'}"
    invocation.output.emit({"key": key, "value": None}, words)


def _read(invocation: Invocation) -> Settings:
    return read_settings(invocation.settings_file, cache=invocation.locations.cache)


def save_settings(invocation: Invocation, before: str, after: str) -> Settings | None:
    """As `settings_saving.save_settings`, for the settings of this run."""
    from memrepo.surfaces.settings_saving import save_settings

    return save_settings(
        invocation.settings_file,
        before=before,
        after=after,
        locations=invocation.locations,
        home=invocation.environment.home,
        profile=invocation.options.profile,
    )


def _find_root(invocation: Invocation, current: Settings) -> Path:
    if current.path is not None:
        return current.path
    return find_default_root(invocation.locations, invocation.environment.home, invocation.options.profile)


def _iter_rows(current: Settings) -> Iterator[tuple[str, str]]:
    for row in describe_settings():
        if ".ID." in row.key:
            continue
        value = get_setting(current, row.key)
        if row.key != WORKSPACES:
            yield row.key, _NOT_SET if value is None else _format_value(value)
    for workspace in current.workspaces:
        fields = get_setting(current, f"workspaces.{workspace.id}")
        for field, value in fields.items() if isinstance(fields, dict) else ():
            yield f"workspaces.{workspace.id}.{field}", _NOT_SET if value is None else _format_value(value)


def _format_value(value: SettingValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return escape_control(value)
    import json

    return escape_control(json.dumps(value, ensure_ascii=False))
