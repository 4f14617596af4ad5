"""The rules of `settings.toml`: a mapping comes in, all its faults come out, each with key and line. Pure.

Types and names are checked by the schema library; what holds between settings is checked here, on whatever parts of the
mapping have the right type. No value is repeated in a fault: one may be a password that was put in the wrong place.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from memrepo.settings import TEAM_REPOS, TEAM_REPOS_MOST, WORKSPACES, describe_settings
from memrepo.settings.lines import Steps, find_line, find_similar, index_lines
from memrepo.settings.remote_url import check_remote_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memrepo.settings import SettingRow

Fault = tuple[str, int | None, str]
"""The key, its line (from 1) if it was found, and what is wrong."""

MISSING = "is missing"
STORE_PREFIX = "sqlite:///"
_ID_LIMIT_CHARS = 64
_ESCAPED = re.compile("%(?:3B|5B|5D)", re.IGNORECASE)
_NAME_LIMIT_CHARS = 120
_TEAM_NAME = re.compile(r"\w(?:[\w .-]*\w)?")  # as in a ref, `team:<name>:<path>#L<n>`
_TEAM_NAME_LIMIT_CHARS = 60
_TEAM_FIELDS = {
    "name": 'text, for example "core"',
    "path": 'text, for example "/home/me/team/core"',
    "workspace_ids": 'list of text, for example ["billing"]',
}
_MODEL = re.compile(r"(?:openai|llm|command):\S.{0,400}")
_ENDPOINT = re.compile(r"https?://[^\s/@?#]+(?:/[^\s@?#]*)?")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,60}")


def check_folder(value: str) -> str:
    """A path as settings hold it. Errors: ValueError."""
    if not value.strip():
        raise ValueError("must not be empty; take it out to use the default")
    if not value.isprintable():
        raise ValueError("holds a control or invisible character")
    if value.startswith("~"):
        raise ValueError("must be an absolute path; ~ is not expanded here")
    if not PurePath(value).is_absolute():
        raise ValueError("must be an absolute path")
    if ".." in PurePath(value).parts:
        raise ValueError("must not hold ..")
    return value


def check_store_url(value: str) -> str:
    """A store's URL. Errors: ValueError."""
    if not value.startswith(STORE_PREFIX):
        raise ValueError(f"must be {STORE_PREFIX} and the absolute path of a file")
    path = value.removeprefix(STORE_PREFIX)
    try:
        check_folder(path)
    except ValueError as error:
        raise ValueError(f"its path {error}") from error
    if path.endswith("/"):
        raise ValueError("must name a file, not a folder")
    return value


def check_workspace_id(value: str) -> str:
    """An id as the entries of a memory folder can hold it (docs/format.md). Errors: ValueError."""
    if not value or len(value) > _ID_LIMIT_CHARS:
        raise ValueError(f"must be 1 to {_ID_LIMIT_CHARS} characters")
    if not value.isprintable() or any(char.isspace() or char in ";[]" for char in value):
        raise ValueError("must not hold white space, ;, [, ] or an invisible character")
    if _ESCAPED.search(value):  # an entry would be read back with another id, and its file be taken for another's
        raise ValueError("must not hold %3B, %5B or %5D: entries write ;, [ and ] that way")
    return value


def check_tool_pattern(value: str) -> str:
    """A pattern of tools' names. Errors: ValueError."""
    if not value or value != value.strip() or not value.isprintable() or len(value) > _NAME_LIMIT_CHARS:
        raise ValueError(f"must be 1 to {_NAME_LIMIT_CHARS} visible characters, without spaces at its ends")
    return value


def check_workspace_name(value: str) -> str:
    """What a workspace may be called. Errors: ValueError."""
    if not value or value != value.strip() or not value.isprintable() or len(value) > _NAME_LIMIT_CHARS:
        raise ValueError(f"must be 1 to {_NAME_LIMIT_CHARS} visible characters, without spaces at its ends")
    return value


def check_team_name(value: str) -> str:
    """What a team may be called: it stands in refs and in prompts. Errors: ValueError."""
    if not _TEAM_NAME.fullmatch(value) or not value.isprintable() or len(value) > _TEAM_NAME_LIMIT_CHARS:
        raise ValueError(
            f"must be 1 to {_TEAM_NAME_LIMIT_CHARS} letters, digits, '_', '-', '.' and inner spaces, "
            "a letter or digit at both ends"
        )
    return value


def check_model(value: str) -> str:
    """The model of dreams. Errors: ValueError."""
    if not _MODEL.fullmatch(value) or not value.isprintable():
        raise ValueError("must be openai:NAME, llm:NAME or command:PROGRAM ARGUMENTS")
    return value


def check_endpoint(value: str) -> str:
    """The address of a model. Errors: ValueError."""
    if not _ENDPOINT.fullmatch(value) or not value.isprintable():
        raise ValueError("must be an http or https address, without a user name, a query or a fragment")
    return value


def check_variable(value: str) -> str:
    """The name of an environment variable, which no key is. Errors: ValueError."""
    if not _VARIABLE.fullmatch(value):
        raise ValueError("must be the name of a variable in capitals, never the key itself")
    return value


Folder = Annotated[str, AfterValidator(check_folder)]


class WorkspaceTable(BaseModel):
    """One table of `workspaces`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: Annotated[str, AfterValidator(check_workspace_id)]
    name: Annotated[str, AfterValidator(check_workspace_name)] | None = None
    root: Folder | None = None
    memory: bool = True
    privacy: Literal["normal", "strict", "disabled"] = "normal"


class TeamTable(BaseModel):
    """One table of `team_repos`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: Annotated[str, AfterValidator(check_team_name)]
    path: Folder
    workspace_ids: list[Annotated[str, AfterValidator(check_workspace_id)]] = []


class SettingsTable(BaseModel):
    """The whole file."""

    model_config = ConfigDict(strict=True, extra="forbid")

    enabled: bool = True
    path: Folder | None = None
    store_url: Annotated[str, AfterValidator(check_store_url)] | None = None
    remote_url: Annotated[str, AfterValidator(check_remote_url)] | None = None
    remote_confirmed_private: bool = False
    untrusted_tools: list[Annotated[str, AfterValidator(check_tool_pattern)]] = []
    dream: bool = False
    dream_model: Annotated[str, AfterValidator(check_model)] | None = None
    dream_url: Annotated[str, AfterValidator(check_endpoint)] | None = None
    dream_key_variable: Annotated[str, AfterValidator(check_variable)] | None = None
    workspaces: list[WorkspaceTable] = []
    team_repos: list[TeamTable] = []


def find_faults(raw: Mapping[str, Any], text: str = "") -> tuple[Fault, ...]:
    """All faults of a mapping, in the order of the text it was read from."""
    found = [*_iter_schema_faults(raw), *_iter_cross_faults(raw)]
    lines = index_lines(text) if found else {}
    faults = [(_show(steps, raw), find_line(lines, steps), _name_field(steps, raw, why)) for steps, why in found]
    return tuple(sorted(dict.fromkeys(faults), key=lambda fault: fault[1] or 0))


def name_table(table: object, number: int) -> str:
    """What a table of the list is called in keys: its id, if it has one that can be shown, else its number from 1."""
    table_id = table.get("id") if isinstance(table, dict) else None
    return table_id if isinstance(table_id, str) and table_id and table_id.isprintable() else str(number)


def _iter_schema_faults(raw: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    try:
        SettingsTable.model_validate(raw)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_input=False):
            steps = tuple(one["loc"])
            yield steps, _explain(one["type"], one["msg"], steps)


def _explain(kind: str, message: str, steps: Steps) -> str:
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind == "missing":
        return MISSING
    if kind == "extra_forbidden":
        tables: dict[str | int, type[BaseModel]] = {WORKSPACES: WorkspaceTable, TEAM_REPOS: TeamTable}
        model = tables[steps[0]] if len(steps) > 1 else SettingsTable
        similar = find_similar(str(steps[-1]), model.model_fields)
        return "is no setting" + (f"; did you mean {similar}?" if similar else f": {', '.join(model.model_fields)}")
    if steps[0] == TEAM_REPOS and len(steps) > 1:
        field = str(steps[2]) if len(steps) > 2 else ""
        return f"must be {_TEAM_FIELDS.get(field, 'a table with name and path')}"
    wanted = _find_row(steps)
    if wanted is None:  # a table of the list itself
        return 'must be a table, for example [[workspaces]] with id = "billing" below it'
    return f"must be {wanted.type}, for example {wanted.example}"


def _find_row(steps: Steps) -> SettingRow | None:
    key = ".".join("ID" if isinstance(step, int) else step for step in steps).removesuffix(".ID")
    if key == WORKSPACES and len(steps) > 1:
        return None
    return next((row for row in describe_settings() if row.key == key), None)


def _iter_cross_faults(raw: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    """What must hold between settings; values of a wrong type are passed over, they have a fault of their own."""
    tables = raw.get(WORKSPACES)
    seen: dict[tuple[str, str], int] = {}
    for number, table in enumerate(tables if isinstance(tables, list) else ()):
        for field in ("id", "root"):
            value = table.get(field) if isinstance(table, dict) else None
            if not isinstance(value, str):
                continue
            same = str(PurePath(value)) if field == "root" else value
            if (field, same) in seen:
                yield (WORKSPACES, number, field), f"is that of workspace {seen[field, same] + 1} in the list already"
            seen.setdefault((field, same), number)
    yield from _iter_team_faults(raw)
    root, url = raw.get("path"), raw.get("store_url")
    if isinstance(root, str) and isinstance(url, str) and PurePath(root).is_absolute():
        is_inside = PurePath(url.removeprefix(STORE_PREFIX)).is_relative_to(root)
        if is_inside:
            yield ("store_url",), "must be outside the memory folder (path): a store there would block every write"


def _iter_team_faults(raw: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    tables = raw.get(TEAM_REPOS)
    teams = [table if isinstance(table, dict) else {} for table in tables] if isinstance(tables, list) else []
    if len(teams) > TEAM_REPOS_MOST:
        yield (TEAM_REPOS,), f"holds {len(teams)} team repos; at most {TEAM_REPOS_MOST} are read"
    root = raw.get("path")
    for number, table in enumerate(teams):
        if _overlap(table.get("path"), root):
            yield (TEAM_REPOS, number, "path"), "overlaps the memory folder (path)"
    for (first, one), (second, other) in combinations(enumerate(teams), 2):
        name, same = one.get("name"), other.get("name")
        if isinstance(name, str) and isinstance(same, str) and name.casefold() == same.casefold():
            yield (TEAM_REPOS, second, "name"), "is that of another team repo in the list"
        if _overlap(one.get("path"), other.get("path")):
            yield (TEAM_REPOS, second, "path"), f"overlaps that of {_name_team(one, first)}"


def _overlap(one: object, other: object) -> bool:
    """Whether one of two paths is the other, or in it, as they are spelled; the disk is asked later."""
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    first, second = PurePath(one), PurePath(other)
    are_absolute = first.is_absolute() and second.is_absolute()
    return are_absolute and (first.is_relative_to(second) or second.is_relative_to(first))


def _name_field(steps: Steps, raw: Mapping[str, Any], why: str) -> str:
    """What is wrong, with the team repo and its field: they have no keys of their own."""
    if steps[0] != TEAM_REPOS or len(steps) == 1:
        return why
    return " ".join([_name_team(raw[TEAM_REPOS][steps[1]], int(steps[1])) + ":", *map(str, steps[2:3]), why])


def _name_team(table: object, at: int) -> str:
    """What a team repo is called in a fault: its name, if it has one that can be shown, else its number from 1."""
    name = table.get("name") if isinstance(table, dict) else None
    return name if isinstance(name, str) and name.isprintable() and 0 < len(name) <= 80 else f"team repo {at + 1}"


def _show(steps: Steps, raw: Mapping[str, Any]) -> str:
    """The key as `memrepo settings` takes it."""
    if steps[0] != WORKSPACES:
        return str(steps[0])
    return ".".join(step if isinstance(step, str) else name_table(raw[WORKSPACES][step], step + 1) for step in steps)
