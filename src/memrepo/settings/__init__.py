"""What the user decided about memrepo, as one frozen value, and how it is read from the text of `settings.toml`.

Owns the names, types and defaults of all settings (docs/settings.md). Reads no file and no environment: text comes in,
values and new text go out. All faults of a text are found at once. The schema library is loaded only for a text that
has something in it and is not known to be good; the editor only to change one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memrepo import __version__
from memrepo.errors import NotFound, SettingsError
from memrepo.model import Privacy, Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memrepo.settings.schema import Fault

TEXT_LIMIT_BYTES = 1_000_000
_SHOWN_FAULTS = 20
WORKSPACES = "workspaces"
UNTRUSTED_TOOLS = "untrusted_tools"
TEAM_REPOS = "team_repos"
TABLE_LISTS = frozenset({WORKSPACES, TEAM_REPOS})
"""Settings that are lists of tables."""
TEAM_REPOS_MOST = 3
PLAIN_KEYS = (
    *("enabled", "store_url", "remote_url", "remote_confirmed_private"),
    *("dream", "dream_model", "dream_url", "dream_key_variable"),
)
"""Settings that stand in the file as they are: text, or true or false."""
SettingValue = bool | str | list[str] | list[dict[str, Any]] | dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class TeamRepo:
    """A team's memory repo that is read beside the user's own; one without `workspace_ids` in every workspace."""

    name: str
    path: Path
    workspace_ids: tuple[str, ...] = ()

    def serves(self, workspace_id: str | None) -> bool:
        """Whether it belongs into a task of this workspace."""
        return not self.workspace_ids or workspace_id in self.workspace_ids


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; `Settings()` is what holds without a file. A path or URL of None means the profile's own place."""

    enabled: bool = True
    path: Path | None = None
    store_url: str | None = None
    remote_url: str | None = None
    remote_confirmed_private: bool = False
    untrusted_tools: tuple[str, ...] = ()
    dream: bool = False
    dream_model: str | None = None
    dream_url: str | None = None
    dream_key_variable: str | None = None
    workspaces: tuple[Workspace, ...] = ()
    team_repos: tuple[TeamRepo, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingRow:
    """What is to know of one setting. `default` and `example` are in TOML; `default` is "" when it is to be unset."""

    key: str
    type: str
    default: str
    rule: str
    example: str


_ROWS = (
    SettingRow(
        "enabled",
        "true or false",
        "true",
        "Whether agents have memory at all: false keeps it out of every prompt and refuses their writes. Yours still "
        "work.",
        "false",
    ),
    SettingRow(
        "path",
        "text",
        "",
        "The memory folder: an absolute path. Unset: ~/CoWork Memory for the profile `default`, a folder of its own "
        "for any other.",
        '"/home/me/notes/memory"',
    ),
    SettingRow(
        "store_url",
        "text",
        "",
        "The private store: `sqlite:///` and the absolute path of a file outside the memory folder. Unset: a file in "
        "the data folder.",
        '"sqlite:////home/me/.memrepo/store.db"',
    ),
    SettingRow(
        "remote_url",
        "text",
        "",
        "The private remote that the memory folder is synced with: https://HOST/PATH, ssh://USER@HOST/PATH or "
        "USER@HOST:PATH, without a password. Unset: no sync.",
        '"git@example.org:me/memory.git"',
    ),
    SettingRow(
        "remote_confirmed_private",
        "true or false",
        "false",
        "Your word that the repository at remote_url is private and yours. Nothing is sent or fetched without it.",
        "true",
    ),
    SettingRow(
        "untrusted_tools",
        "list of text",
        "[]",
        "Names of tools that read text of people whom you do not vouch for: an agent that used one writes to the "
        "inbox. `*` stands for anything.",
        '["mcp__crm__*"]',
    ),
    SettingRow(
        "dream",
        "true or false",
        "false",
        "Whether memrepo dreams by itself when `memrepo dream now --if-due` runs. By hand you always may.",
        "true",
    ),
    SettingRow(
        "dream_model",
        "text",
        "",
        "The model that dreams: `openai:NAME` at `dream_url`, `llm:NAME` of the llm library, or `command:PROGRAM "
        "ARGUMENTS`. Unset: dreams tidy by rule, without a model.",
        '"openai:gpt-5-mini"',
    ),
    SettingRow(
        "dream_url",
        "text",
        "",
        "Where an `openai:` model answers: the address of any endpoint of that form, up to and with `/v1`.",
        '"https://api.openai.com/v1"',
    ),
    SettingRow(
        "dream_key_variable",
        "text",
        "",
        "The name of the environment variable that holds the model's key. The key itself is stored nowhere.",
        '"OPENAI_API_KEY"',
    ),
    SettingRow(
        "workspaces",
        "list of tables",
        "[]",
        "The project folders that memrepo knows better than by their path. Two have neither one id nor one root.",
        '[{ id = "billing", root = "/home/me/src/billing" }]',
    ),
    SettingRow(
        TEAM_REPOS,
        "list of tables",
        "[]",
        "Memory repos of your teams, read beside your own and never written: up to three, each with a `name`, an "
        "absolute `path` and, where only some workspaces are to see it, `workspace_ids`.",
        '[{ name = "core", path = "/home/me/team/core" }]',
    ),
    SettingRow(
        "workspaces.ID.id",
        "text",
        "",
        "Names the workspace for good: 1 to 64 characters, no white space, none of `;`, `[`, `]`, `%3B`, `%5B`, `%5D`. "
        "Required.",
        '"billing"',
    ),
    SettingRow(
        "workspaces.ID.name",
        "text",
        "",
        "What it is called: 1 to 120 visible characters. Unset: the name of its root, else its id.",
        '"Billing Service"',
    ),
    SettingRow(
        "workspaces.ID.root",
        "text",
        "",
        "Its folder: an absolute path. Unset: it is only known by its id.",
        '"/home/me/src/billing"',
    ),
    SettingRow(
        "workspaces.ID.memory",
        "true or false",
        "true",
        "Whether memory is on there: false blocks what agents infer, and the prompt block.",
        "false",
    ),
    SettingRow(
        "workspaces.ID.privacy",
        '"normal", "strict" or "disabled"',
        '"normal"',
        "strict: what is learned there stays in the private store. disabled: nothing is inferred there.",
        '"strict"',
    ),
)


def describe_settings() -> tuple[SettingRow, ...]:
    """All settings, in the order in which they are listed; `ID` stands for the id of a workspace."""
    return _ROWS


def parse_settings(text: str, *, file: str, is_known_good: bool = False) -> Settings:
    """Reads the text of a settings file; `file` is what errors call it.

    `is_known_good` says that this very text passed before (see `fingerprint_settings`): the rules are not asked again.
    The values are always those of the text. Errors: SettingsError with all faults, each with its key and line.
    """
    if not text.strip("\ufeff \t\r\n"):
        return Settings()
    raw = read_toml(text, file=file)
    if not raw:
        return Settings()
    if is_known_good:
        try:
            return _make_settings(raw)
        except (TypeError, KeyError, ValueError, AttributeError):
            pass  # it was not: the rules say what is wrong
    from memrepo.settings.schema import find_faults

    if faults := find_faults(raw, text):
        raise make_settings_error(faults, file)
    return _make_settings(raw)


def fingerprint_settings(text: str) -> str:
    """Names a text and the rules it was judged by: to be kept, by whoever may, of a text that passed.

    A wrong one makes at worst a text be taken whose faults were not looked for; it never brings in other values.
    """
    import hashlib

    return hashlib.sha256(f"{__version__}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def get_setting(settings: Settings, key: str) -> SettingValue:
    """The value of a key such as `path`, `workspaces`, `workspaces.ID` or `workspaces.ID.privacy`; None when unset.

    Errors: NotFound, with the key that may be meant.
    """
    if key == "path":
        return None if settings.path is None else str(settings.path)
    if key in PLAIN_KEYS:
        value: SettingValue = getattr(settings, key)
        return value
    if key == UNTRUSTED_TOOLS:
        return list(settings.untrusted_tools)
    if key == WORKSPACES:
        return [_show_workspace(workspace) for workspace in settings.workspaces]
    if key == TEAM_REPOS:
        return [make_team_table(team) for team in settings.team_repos]
    workspace_id, field = split_workspace_key(key, [workspace.id for workspace in settings.workspaces])
    for workspace in settings.workspaces:
        if workspace.id == workspace_id:
            shown = _show_workspace(workspace)
            if field is None or field in shown:
                return shown if field is None else shown[field]
    raise make_unknown_key(key, [workspace.id for workspace in settings.workspaces])


def set_setting(text: str, key: str, value: object, *, file: str) -> str:
    """The text with one setting changed; comments, order and all other bytes stay.

    A value given as text is read as the setting's type. `workspaces.ID.FIELD` also adds a workspace that is not there.
    Errors: SettingsError when the new text has a fault that the old one had not; NotFound for an unknown key.
    """
    from memrepo.settings.editing import set_setting

    return set_setting(text, key, value, file=file)


def unset_setting(text: str, key: str, *, file: str) -> str:
    """The text without one setting (or one unknown key), so that its default counts; the same text if it is not set.

    Errors: SettingsError when the new text has a fault that the old one had not; NotFound for an unknown key.
    """
    from memrepo.settings.editing import unset_setting

    return unset_setting(text, key, file=file)


def make_team_table(team: TeamRepo) -> dict[str, Any]:
    """A team repo as `settings.toml` holds it."""
    limits = {"workspace_ids": list(team.workspace_ids)} if team.workspace_ids else {}
    return {"name": team.name, "path": str(team.path), **limits}


def read_toml(text: str, *, file: str) -> dict[str, Any]:
    """Reads TOML into a mapping. Errors: SettingsError naming the line."""
    import tomllib

    if len(text) > TEXT_LIMIT_BYTES:
        raise make_settings_error([("", None, f"the file is larger than {TEXT_LIMIT_BYTES:,} bytes")], file)
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        from memrepo.settings.lines import split_position

        why, line = split_position(str(error), text)
        raise make_settings_error([("", line, f"not TOML: {why}")], file) from error
    except RecursionError as error:
        raise make_settings_error([("", None, "not TOML: brackets are nested too deeply")], file) from error


def split_workspace_key(key: str, ids: Sequence[str]) -> tuple[str | None, str | None]:
    """Splits `workspaces.ID.FIELD` or `workspaces.ID`; ids may hold dots. (None, None) for any other key."""
    rest = key.removeprefix(f"{WORKSPACES}.")
    if rest == key or not rest:
        return None, None
    if rest in ids:
        return rest, None
    workspace_id, dot, field = rest.rpartition(".")
    return (workspace_id, field) if dot and workspace_id else (rest, None)


def make_unknown_key(key: str, ids: Sequence[str]) -> NotFound:
    """The error for a key that is no setting, with the one that may be meant."""
    from memrepo.settings.lines import find_similar

    known = [row.key for row in _ROWS if ".ID." not in row.key]
    known += [row.key.replace(".ID.", f".{one}.") for one in ids for row in _ROWS if ".ID." in row.key]
    similar = find_similar(key, known)
    hint = f"did you mean {similar}? " if similar else ""
    return NotFound(
        f"there is no setting {key[:80]!r}", hint=f"{hint}see all: memrepo settings list", what="setting", name=key
    )


def make_settings_error(faults: Sequence[Fault], file: str) -> SettingsError:
    """One error for all faults of a file."""
    lines = [
        "  " + ": ".join(part for part in (f"line {line}" if line else "", key, why) if part)
        for key, line, why in faults[:_SHOWN_FAULTS]
    ]
    if len(faults) > _SHOWN_FAULTS:
        lines.append(f"  and {len(faults) - _SHOWN_FAULTS:,} more")
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    hint = f"correct it in an editor: {file}"
    # Taking out an id, which must be there, would only make it worse.
    key = next((key for key, _, _ in faults if key and key.isprintable() and not key.endswith(".id")), None)
    if key is not None:
        import shlex

        hint += f"; or take the key out: memrepo settings unset {shlex.quote(key)}"
    return SettingsError("\n".join([f"{file} has {count}:", *lines]), hint=hint, file=file, faults=tuple(faults))


def _make_settings(raw: Mapping[str, Any]) -> Settings:
    """Turns a mapping that passed the rules into settings."""
    known = {"path", *PLAIN_KEYS, UNTRUSTED_TOOLS, *TABLE_LISTS}
    switches = [raw.get("enabled", True), raw.get("remote_confirmed_private", False), raw.get("dream", False)]
    if set(raw) - known or not all(isinstance(switch, bool) for switch in switches):
        raise ValueError("not a mapping that passed")
    return Settings(
        enabled=raw.get("enabled", True),
        path=Path(raw["path"]) if "path" in raw else None,
        store_url=raw.get("store_url"),
        remote_url=raw.get("remote_url"),
        remote_confirmed_private=switches[1],
        untrusted_tools=_make_texts(raw.get(UNTRUSTED_TOOLS, [])),
        dream=switches[2],
        dream_model=raw.get("dream_model"),
        dream_url=raw.get("dream_url"),
        dream_key_variable=raw.get("dream_key_variable"),
        workspaces=tuple(_make_workspace(table) for table in raw.get(WORKSPACES, ())),
        team_repos=tuple(
            TeamRepo(table["name"], Path(table["path"]), _make_texts(table.get("workspace_ids", [])))
            for table in raw.get(TEAM_REPOS, ())
        ),
    )


def _make_texts(raw: list[Any]) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(one, str) for one in raw):
        raise TypeError("not a list that passed")
    return tuple(raw)


def _make_workspace(raw: Mapping[str, Any]) -> Workspace:
    root = Path(raw["root"]) if "root" in raw else None
    return Workspace(
        id=raw["id"],
        name=raw.get("name") or (root.name if root else "") or raw["id"],
        root=root,
        memory_enabled=raw.get("memory", True),
        privacy=Privacy(raw.get("privacy", Privacy.NORMAL)),
    )


def _show_workspace(workspace: Workspace) -> dict[str, Any]:
    return {
        "id": workspace.id,
        "name": workspace.name,
        "root": None if workspace.root is None else str(workspace.root),
        "memory": workspace.memory_enabled,
        "privacy": str(workspace.privacy),
    }
