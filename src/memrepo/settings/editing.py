"""Changing one setting in the text of `settings.toml`: comments, order and everything else stay as they are.

The new text is read back before it is given out: it must hold exactly the old values and the one change, and no fault
that the old text had not. So a file with faults can be mended key by key, and never gets worse.
"""

from __future__ import annotations

import copy
import re
import shlex
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import tomlkit
from tomlkit.items import AoT

from memrepo.errors import NotFound, SettingsError
from memrepo.settings import (
    TABLE_LISTS,
    TEAM_REPOS,
    UNTRUSTED_TOOLS,
    WORKSPACES,
    describe_settings,
    make_settings_error,
    make_team_table,
    make_unknown_key,
    read_toml,
    split_workspace_key,
)
from memrepo.settings.lines import find_line, index_lines
from memrepo.settings.schema import MISSING, find_faults, name_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableMapping

    from memrepo.settings import TeamRepo
    from memrepo.settings.schema import Fault

_BYTE_ORDER_MARK = "\ufeff"
_YES_NO = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_HEAD_COMMENT = re.compile(r"(?:[ \t]*#[^\n]*\n)+(?=[ \t]*\n)")


def set_setting(text: str, key: str, value: object, *, file: str) -> str:
    """See `memrepo.settings.set_setting`."""
    raw = read_toml(text, file=file)
    ids = _list_ids(raw)
    if not _is_setting(key, ids):
        raise make_unknown_key(key, ids)
    is_of_workspace = split_workspace_key(key, ids)[0] is not None
    if is_of_workspace and not _has_tables(raw):
        raise make_settings_error([fault for fault in find_faults(raw, text) if fault[0].startswith(WORKSPACES)], file)
    typed = _read_value(key, value, ids, file)
    after = _with_value(raw, key, typed, ids)
    edit = _Text(text)
    if is_of_workspace:
        edited = _set_in_workspace(edit.text, key, typed, ids)
    else:
        edited = _set_at_top(edit.text, key, typed, after)
    return _proven(edit.restore(edited), expected=after, before=(raw, text), key=key, file=file)


def unset_setting(text: str, key: str, *, file: str) -> str:
    """See `memrepo.settings.unset_setting`."""
    raw = read_toml(text, file=file)
    ids = _list_ids(raw)
    place = _find_place(raw, key, ids)
    if place is None:
        if _is_setting(key, ids) and split_workspace_key(key, ids)[0] in (None, *ids):
            return text
        raise make_unknown_key(key, ids)
    after = _without(raw, key, ids)
    edit = _Text(text)
    document = tomlkit.parse(edit.text)
    _remove(cast("MutableMapping[str, Any]", document), key, ids)
    return _proven(edit.restore(tomlkit.dumps(document)), expected=after, before=(raw, text), key=key, file=file)


def add_team_repo(text: str, team: TeamRepo, *, file: str) -> str:
    """The text with one more team repo at its end. Errors: as `set_setting`."""
    raw = read_toml(text, file=file)
    tables = raw.get(TEAM_REPOS, [])
    if not isinstance(tables, list):
        raise make_settings_error([fault for fault in find_faults(raw, text) if fault[0] == TEAM_REPOS], file)
    table = make_team_table(team)
    edit = _Text(text)
    edited = _append_table(edit.text, TEAM_REPOS, table)
    expected = {**raw, TEAM_REPOS: [*tables, table]}
    return _proven(edit.restore(edited), expected=expected, before=(raw, text), key=TEAM_REPOS, file=file)


def remove_team_repo(text: str, name: str, *, file: str) -> str:
    """The text without one team repo. Errors: NotFound; as `set_setting`."""
    raw = read_toml(text, file=file)
    tables = raw.get(TEAM_REPOS)
    found = tables if isinstance(tables, list) else []
    names = [one.get("name") if isinstance(one, dict) else None for one in found]
    if name not in names:
        raise NotFound(f"there is no team repo {name!r}", hint="memrepo team list", what="team repo", name=name)
    edit = _Text(text)
    document = tomlkit.parse(edit.text)
    after = _copy(raw)
    for mapping in (after, cast("dict[str, Any]", document)):
        del mapping[TEAM_REPOS][names.index(name)]
        if not mapping[TEAM_REPOS]:
            del mapping[TEAM_REPOS]
    # No key is named: old faults of the rest of the list do not keep this one from being taken out.
    return _proven(edit.restore(tomlkit.dumps(document)), expected=after, before=(raw, text), key="", file=file)


class _Text:
    """A text in the one form that the editor library keeps, and back: no byte order mark, newlines as `\\n`."""

    def __init__(self, text: str) -> None:
        self._mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
        body = text.removeprefix(_BYTE_ORDER_MARK)
        self._is_crlf = "\n" in body and body.count("\n") == body.count("\r\n")
        self.text = body.replace("\r\n", "\n") if self._is_crlf else body

    def restore(self, text: str) -> str:
        return self._mark + (text.replace("\n", "\r\n") if self._is_crlf else text)


def _list_ids(raw: Mapping[str, Any]) -> list[str]:
    tables = raw.get(WORKSPACES)
    if not isinstance(tables, list):
        return []
    return [name_table(table, number) for number, table in enumerate(tables, 1)]


def _has_tables(raw: Mapping[str, Any]) -> bool:
    tables = raw.get(WORKSPACES, [])
    return isinstance(tables, list) and all(isinstance(table, dict) for table in tables)


def _is_setting(key: str, ids: list[str]) -> bool:
    workspace_id, field = split_workspace_key(key, ids)
    if workspace_id is None or field is None:
        return workspace_id is None and any(row.key == key for row in describe_settings())
    return any(row.key == f"{WORKSPACES}.ID.{field}" for row in describe_settings())


def _read_value(key: str, value: object, ids: list[str], file: str) -> object:
    """The value as the setting's type; what cannot be read as it is left to the rules to refuse."""
    if not isinstance(value, str):
        return value
    _, field = split_workspace_key(key, ids)
    if (field or key) in {"enabled", "memory", "remote_confirmed_private", "dream"}:
        return _YES_NO.get(value.strip().casefold(), value)
    if key == UNTRUSTED_TOOLS and not value.lstrip().startswith("["):
        return [value]
    if key in {UNTRUSTED_TOOLS, *TABLE_LISTS}:
        read = read_toml(f"{key} = {value}", file=file)
        if len(read) > 1:
            raise make_settings_error([(key, None, "more than one value was given")], file)
        return read[key]
    return value


def _find_place(raw: Mapping[str, Any], key: str, ids: list[str]) -> tuple[str | int, ...] | None:
    """Where a key stands in the mapping; None when it is not there."""
    if key in raw:
        return (key,)
    for number, one in enumerate(ids):  # a field that is no setting may hold dots
        rest = key.removeprefix(f"{WORKSPACES}.{one}.")
        if rest != key and isinstance(raw[WORKSPACES][number], dict) and rest in raw[WORKSPACES][number]:
            return WORKSPACES, number, rest
    workspace_id, field = split_workspace_key(key, ids)
    if workspace_id not in ids:
        return None
    return (WORKSPACES, ids.index(workspace_id)) if field is None else None


def _with_value(raw: Mapping[str, Any], key: str, value: object, ids: list[str]) -> dict[str, Any]:
    after = _copy(raw)
    workspace_id, field = split_workspace_key(key, ids)
    if workspace_id is None or field is None:
        after[key] = value
    elif workspace_id in ids:
        after[WORKSPACES][ids.index(workspace_id)][field] = value
    else:
        after.setdefault(WORKSPACES, []).append({"id": workspace_id, field: value})
    return after


def _without(raw: Mapping[str, Any], key: str, ids: list[str]) -> dict[str, Any]:
    after = _copy(raw)
    _remove(after, key, ids)
    return after


def _remove(mapping: MutableMapping[str, Any], key: str, ids: list[str]) -> None:
    place = _find_place(mapping, key, ids)
    assert place is not None  # noqa: S101 - asked before
    inner: Any = mapping
    for step in place[:-1]:
        inner = inner[step]
    del inner[place[-1]]
    if len(place) > 1 and not mapping[WORKSPACES]:
        del mapping[WORKSPACES]


def _copy(raw: Mapping[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(dict(raw))


def _set_at_top(text: str, key: str, value: object, expected: Mapping[str, Any]) -> str:
    document = tomlkit.parse(text)
    if key not in document and key not in TABLE_LISTS and isinstance(value, str | bool | list):
        # The editor library would put a new key behind the comment that belongs to the first table.
        added = _insert_line(text, f"{key} = {tomlkit.item(value).as_string()}\n", document)
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(added) == expected:
                return added
    document[key] = value
    return tomlkit.dumps(document)


def _insert_line(text: str, line: str, keys: Iterable[str]) -> str:
    """Puts a line below the last key above all tables; without one, below the comment on the whole file, or first."""
    known = index_lines(text)
    last = max((find_line(known, (key,)) or 0 for key in keys if key not in TABLE_LISTS), default=0)
    if last:
        lines = text.split("\n")
        return "\n".join([*lines[:last], line.rstrip("\n"), *(lines[last:] or [""])])
    head = _HEAD_COMMENT.match(text)
    if head:
        return f"{head[0]}\n{line}{text[head.end() :]}"
    return f"{line}\n{text}" if text.strip() else line


def _set_in_workspace(text: str, key: str, value: object, ids: list[str]) -> str:
    workspace_id, field = split_workspace_key(key, ids)
    document = tomlkit.parse(text)
    tables = document.get(WORKSPACES)
    if workspace_id in ids:
        cast("Any", tables)[ids.index(workspace_id)][field] = value
        return tomlkit.dumps(document)
    return _append_table(text, WORKSPACES, {"id": workspace_id, str(field): value})


def _append_table(text: str, key: str, added: Mapping[str, Any]) -> str:
    """Puts a table at the end of a list of tables."""
    document = tomlkit.parse(text)
    tables = document.get(key)
    if tables is not None and not isinstance(tables, AoT):
        inline = tomlkit.inline_table()
        inline.update(added)
        cast("Any", tables).append(inline)
        return tomlkit.dumps(document)
    body = "".join(f"{name} = {tomlkit.item(one).as_string()}\n" for name, one in added.items())
    above = text.rstrip("\n") + "\n\n" if text.strip() else ""
    return f"{above}[[{key}]]\n{body}"


def _refuse_change(faults: Iterable[Fault], key: str, ids: list[str], file: str) -> SettingsError:
    """The error for a change that would make the file worse. No line is named: that text is not on any disk."""
    found = tuple((name, None, why) for name, _, why in faults)
    workspace_id, field = split_workspace_key(key, ids)
    row = next((row for row in describe_settings() if row.key in {key, f"{WORKSPACES}.ID.{field}"}), None)
    example = shlex.quote(row.example.strip('"')) if row else "VALUE"
    hint = f"give another value, for example: memrepo settings set {shlex.quote(key)} {example}"
    if field == "id" and any(why == MISSING for _, _, why in found):
        hint = f"take the whole workspace out: memrepo settings unset {shlex.quote(f'{WORKSPACES}.{workspace_id}')}"
    if key == TEAM_REPOS:
        hint = "see those that are read: memrepo team list"
    lines = [f"  {name}: {why}" for name, _, why in found]
    return SettingsError("\n".join([f"{file} is unchanged:", *lines]), hint=hint, file=file, faults=found)


def _proven(
    text: str, *, expected: Mapping[str, Any], before: tuple[Mapping[str, Any], str], key: str, file: str
) -> str:
    after = read_toml(text, file=file)
    old = {(name, why) for name, _, why in find_faults(*before)}
    new = [fault for fault in find_faults(after, text) if (fault[0], fault[2]) not in old or fault[0] == key]
    if new:
        raise _refuse_change(new, key, _list_ids(before[0]), file)
    if after != expected:
        raise SettingsError(
            f"{file} has a form in which {key} cannot be changed by a command",
            hint=f"change it in an editor: {file}",
            file=file,
            faults=((key, None, "cannot be changed here"),),
        )
    return text
