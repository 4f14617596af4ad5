"""Sandbox profiles say exactly which folders are hidden, whatever their names, or are refused."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memrepo.errors import PathRefused
from memrepo.guard import (
    GuardedFolders,
    find_true_path,
    make_bubblewrap_arguments,
    make_bubblewrap_command,
    make_claude_code_settings,
    make_codex_profile,
    make_seatbelt_command,
    make_seatbelt_profile,
    plan_guard,
)
from memrepo.model import Locations

HOME = Path("/home/me")
ROOT = HOME / "CoWork Memory"
PLACES = Locations(HOME / ".config/memrepo", HOME / ".local/share/memrepo", HOME / ".cache/memrepo")
ODD_NAMES = [
    "CoWork Memory",
    'the "best" memory',
    "back\\slash",
    "it's mine",
    "(paren) [bracket] {brace}",
    "star*and?mark",
    "; rm -rf $HOME `id`",
    "--dev-bind",
    "# not a comment",
    "Gedächtnis 記憶 🧠",
]
HARMLESS_NAMES = [name for name in ODD_NAMES if not set(name) & set("*?[]\\")]


def plan(root: Path = ROOT, places: Locations = PLACES, store_file: Path | None = None) -> GuardedFolders:
    return plan_guard(root, places, store_file=store_file, home=HOME)


def read_scheme(text: str) -> list[Any]:
    """The expressions of a profile: lists of words and strings, a string as `("text",)`."""
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+', text)
    stack: list[list[Any]] = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        elif token.startswith('"'):
            stack[-1].append((re.sub(r"\\(.)", r"\1", token[1:-1]),))
        else:
            stack[-1].append(token)
    assert len(stack) == 1, "brackets do not match"
    return stack[0]


def test_the_memory_and_all_that_holds_its_texts_are_hidden_and_the_settings_cannot_be_written() -> None:
    folders = plan(store_file=PLACES.data / "profiles/default/private.sqlite3")
    assert folders.hidden == (ROOT, PLACES.data, PLACES.cache)
    assert folders.read_only == (PLACES.config,)


def test_the_folders_of_team_repos_are_hidden_too() -> None:
    folders = plan_guard(ROOT, PLACES, store_file=None, home=HOME, teams=[HOME / "team/core"])
    assert HOME / "team/core" in folders.hidden
    assert HOME / "team" in folders.pinned


def test_a_private_store_elsewhere_is_hidden_with_its_folder_where_its_log_appears() -> None:
    assert Path("/srv/me/store") in plan(store_file=Path("/srv/me/store/private.sqlite3")).hidden


def test_a_folder_inside_a_hidden_one_is_named_once() -> None:
    root = PLACES.data / "profiles/work/memory-repo"
    assert plan(root).hidden == (PLACES.data, PLACES.cache)


def test_folders_above_are_pinned_outermost_first_and_the_home_folder_and_what_is_above_it_never() -> None:
    pinned = plan(HOME / "notes" / "memory").pinned
    assert HOME / "notes" in pinned
    assert pinned.index(HOME / ".local") < pinned.index(HOME / ".local/share")
    assert not {HOME, HOME.parent, Path("/")} & set(pinned)


@pytest.mark.parametrize("folder", ["/", "/home", "/home/me"])
def test_a_folder_that_holds_the_home_folder_is_refused(folder: str) -> None:
    with pytest.raises(PathRefused) as refused:
        plan(store_file=Path(folder) / "private.sqlite3")
    assert refused.value.facts["rule"] == "guard-holds-home"


@pytest.mark.parametrize("name", ["two\nlines", "tab\there", "escape\x1b[0m", "separator\u2028", "bytes\udcff"])
def test_a_name_that_a_profile_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(PathRefused) as refused:
        plan(HOME / name)
    assert refused.value.facts["rule"] == "guard-name"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_seatbelt_profile_denies_exactly_these_folders_whatever_their_names(name: str) -> None:
    folders = plan(HOME / "x" / name)
    version, default, hidden, *rest = read_scheme(make_seatbelt_profile(folders))
    assert (version, default) == (["version", "1"], ["allow", "default"])
    denied = [["subpath", (str(folder),)] for folder in folders.hidden]
    assert hidden == ["deny", "file-read*", "file-write*", *denied]
    assert ["deny", "file-write*", ["subpath", (str(PLACES.config),)]] in rest
    assert ["deny", "file-write-unlink", ["literal", (str(HOME / "x"),)]] in rest
    assert len(rest) == len(folders.read_only) + len(folders.pinned)


def test_a_seatbelt_command_follows_the_end_of_options() -> None:
    argv = make_seatbelt_command(plan(), ["-f", "x"])
    assert argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert argv[3:] == ("--", "-f", "x")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_bubblewrap_covers_each_hidden_folder_after_everything_else_is_bound(name: str) -> None:
    folders = plan(HOME / "x" / name)
    arguments = make_bubblewrap_arguments(folders, has_terminal=False)
    assert shlex.split(shlex.join(arguments)) == list(arguments)
    covers = [arguments[at + 1] for at, option in enumerate(arguments) if option == "--tmpfs"]
    assert covers == [str(folder) for folder in folders.hidden]
    binds = [at for at, option in enumerate(arguments) if "bind" in option and arguments[at - 1] != "--tmpfs"]
    first_cover = arguments.index("--tmpfs")
    assert arguments.index("--dev-bind") < first_cover
    assert all(at < first_cover for at in binds if arguments[at] in {"--dev-bind-try", "--ro-bind-try"})


def test_bubblewrap_takes_privileges_and_the_sight_of_other_processes_away() -> None:
    arguments = make_bubblewrap_arguments(plan(), has_terminal=True)
    assert {"--unshare-user", "--unshare-pid", "--cap-drop"} <= set(arguments)
    assert arguments[arguments.index("--proc") + 1] == "/proc"


def test_only_a_command_without_a_terminal_gets_a_session_of_its_own() -> None:
    assert "--new-session" in make_bubblewrap_arguments(plan(), has_terminal=False)
    assert "--new-session" not in make_bubblewrap_arguments(plan(), has_terminal=True)


def test_a_command_that_looks_like_options_is_no_option_of_bubblewrap() -> None:
    argv = make_bubblewrap_command("/usr/bin/bwrap", plan(), ["--bind", "/"], has_terminal=False)
    assert argv[-3:] == ("--", "--bind", "/")


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_claude_code_rules_cover_the_folder_whatever_its_name(name: str) -> None:
    root = HOME / name
    settings: Any = json.loads(json.dumps(make_claude_code_settings(plan(root))))
    rules = settings["permissions"]["deny"]
    for tool, rule in zip(("Read", "Edit"), rules, strict=False):
        named = re.fullmatch(r"(\w+)\(/(/[^()]*)\)", rule)  # no bracket inside, `//` in front
        assert named
        assert named[1] == tool
        assert fnmatch.fnmatchcase(f"{root}/me.md", named[2])
    assert settings["sandbox"]["filesystem"]["denyRead"] == [str(folder) for folder in plan(root).hidden]
    assert str(PLACES.config) in settings["sandbox"]["filesystem"]["denyWrite"]
    assert str(PLACES.config) not in settings["sandbox"]["filesystem"]["denyRead"]


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_a_codex_profile_denies_exactly_these_folders(name: str) -> None:
    profile = tomllib.loads(make_codex_profile(plan(HOME / name)))
    mine = profile["permissions"][profile["default_permissions"]]
    assert mine["extends"] == ":workspace"
    assert mine["filesystem"] == {
        str(HOME / name): "deny",
        str(PLACES.data): "deny",
        str(PLACES.cache): "deny",
        str(PLACES.config): "read",
    }


@pytest.mark.parametrize("make", [make_claude_code_settings, make_codex_profile])
@pytest.mark.parametrize("name", sorted(set(ODD_NAMES) - set(HARMLESS_NAMES)))
def test_a_name_that_a_host_would_read_as_a_pattern_is_refused(make: Any, name: str) -> None:
    with pytest.raises(PathRefused) as refused:
        make(plan(HOME / name))
    assert refused.value.facts["rule"] == "guard-pattern"


def test_a_hidden_place_is_one_in_or_below_a_hidden_folder() -> None:
    folders = plan()
    assert folders.is_hidden(ROOT)
    assert folders.is_hidden(ROOT / ".git" / "objects")
    assert not folders.is_hidden(HOME / "CoWork Memory 2")


def test_a_true_path_follows_links_also_where_the_end_is_missing(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert find_true_path(tmp_path / "link" / "missing" / "x") == (tmp_path / "real" / "missing" / "x").resolve()
