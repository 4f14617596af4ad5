"""settings.toml: what it may hold, all that is wrong with it at once, and changing it without losing a byte."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.errors import NotFound, SettingsError
from memrepo.model import Privacy, Workspace
from memrepo.settings import (
    Settings,
    describe_settings,
    fingerprint_settings,
    get_setting,
    parse_settings,
    set_setting,
    unset_setting,
)
from memrepo.settings.lines import Steps, index_lines

FILE = "/config/settings.toml"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
FULL = """\
# My settings

enabled = true      # keep this
path = "/home/me/notes"

# the one at work
[[workspaces]]
id = "billing"
name = "Billing Service"
root = "/home/me/src/billing"
privacy = "strict"

[[workspaces]]
id = "site"
root = "/home/me/src/web-site"
memory = false
"""


def parse(text: str) -> Settings:
    return parse_settings(text, file=FILE)


def faults_of(text: str) -> list[tuple[str, int | None, str]]:
    with pytest.raises(SettingsError) as caught:
        parse(text)
    found = caught.value.facts["faults"]
    assert isinstance(found, tuple)
    return list(found)


def fault_of(text: str) -> tuple[str, int | None, str]:
    (fault,) = faults_of(text)
    return fault


# --- reading


@pytest.mark.parametrize("text", ["", "\n# nothing set\n", "\ufeff"])
def test_an_empty_file_means_the_defaults(text: str) -> None:
    assert parse(text) == Settings(enabled=True, path=None, store_url=None, workspaces=())


def test_every_setting_is_read() -> None:
    assert parse('store_url = "sqlite:////data/store.db"\n' + FULL) == Settings(
        enabled=True,
        path=Path("/home/me/notes"),
        store_url="sqlite:////data/store.db",
        workspaces=(
            Workspace("billing", "Billing Service", Path("/home/me/src/billing"), True, Privacy.STRICT),
            Workspace("site", "web-site", Path("/home/me/src/web-site"), False, Privacy.NORMAL),
        ),
    )


def test_a_workspace_without_name_and_root_is_called_by_its_id() -> None:
    assert parse('[[workspaces]]\nid = "w1"').workspaces == (Workspace("w1", "w1"),)


def test_windows_newlines_and_a_byte_order_mark_are_read() -> None:
    assert parse("\ufeff" + FULL.replace("\n", "\r\n")) == parse(FULL)


def test_the_schema_library_is_loaded_neither_for_the_defaults_nor_for_a_text_known_to_be_good() -> None:
    script = (
        "import sys; from memrepo.settings import Settings, parse_settings, get_setting\n"
        f"parse_settings('', file='f'); parse_settings({FULL!r}, file='f', is_known_good=True)\n"
        "get_setting(Settings(), 'path')\n"
        "print(sorted({'pydantic', 'tomlkit', 'sqlalchemy', 'platformdirs'} & set(sys.modules)))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_not_even_the_toml_reader_is_loaded_for_an_empty_text() -> None:
    script = (
        "import sys; from memrepo.settings import parse_settings\n"
        "parse_settings('\\ufeff \\r\\n', file='f'); print('tomllib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_a_text_known_to_be_good_gives_the_same_settings() -> None:
    assert parse_settings(FULL, file=FILE, is_known_good=True) == parse(FULL)


@pytest.mark.parametrize(
    "text",
    [
        "path = 3",
        "enabled = 'no'",
        "enabeld = true",
        "workspaces = 7",
        "workspaces = [1]",
        "[[workspaces]]\nname = 'x'",
        "[[workspaces]]\nid = 'x'\nprivacy = 'secret'",
    ],
)
def test_a_text_wrongly_said_to_be_good_is_refused_when_no_settings_can_be_made_of_it(text: str) -> None:
    with pytest.raises(SettingsError):
        parse_settings(text, file=FILE, is_known_good=True)


def test_a_fingerprint_is_of_one_text_only() -> None:
    assert fingerprint_settings(FULL) == fingerprint_settings(FULL)
    assert fingerprint_settings(FULL) != fingerprint_settings(FULL + "\n")
    assert re.fullmatch("[0-9a-f]{64}", fingerprint_settings("\ud800"))


# --- what is wrong


def test_all_faults_are_told_at_once_with_key_and_line() -> None:
    text = """\
path = "notes"
enabeld = true
store_url = "postgresql://me:hunter2@db/memory"

[[workspaces]]
id = "a"
root = "src"
memroy = true

[[workspaces]]
id = "a"
privacy = "srict"

[[workspaces]]
name = ""
"""
    assert [(key, line) for key, line, _ in faults_of(text)] == [
        ("path", 1),
        ("enabeld", 2),
        ("store_url", 3),
        ("workspaces.a.root", 7),
        ("workspaces.a.memroy", 8),
        ("workspaces.a.id", 11),
        ("workspaces.a.privacy", 12),
        ("workspaces.3.id", 14),
        ("workspaces.3.name", 15),
    ]
    with pytest.raises(SettingsError) as caught:
        parse(text)
    assert caught.value.message.startswith(f"{FILE} has 9 faults:\n  line 1: path: must be an absolute path\n")
    assert caught.value.hint == f"correct it in an editor: {FILE}; or take the key out: memrepo settings unset path"
    assert "hunter2" not in f"{caught.value.message}{caught.value.hint}{caught.value.facts}"


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        ("enabeld = true", "enabeld", "is no setting; did you mean enabled?"),
        (
            "qqq = 1",
            "qqq",
            (
                "is no setting: enabled, path, store_url, remote_url, remote_confirmed_private, untrusted_tools, "
                "dream, dream_model, dream_url, dream_key_variable, workspaces"
            ),
        ),
        ("[[workspaces]]\nid = 'a'\nrot = '/x'", "workspaces.a.rot", "is no setting; did you mean root?"),
        ("enabled = 'yes'", "enabled", "must be true or false, for example false"),
        ("enabled = 1", "enabled", "must be true or false, for example false"),
        ("path = true", "path", 'must be text, for example "/home/me/notes/memory"'),
        ("path = ' '", "path", "must not be empty; take it out to use the default"),
        ("path = 'notes'", "path", "must be an absolute path"),
        ("path = '~/notes'", "path", "must be an absolute path; ~ is not expanded here"),
        ("path = '/home/../etc'", "path", "must not hold .."),
        ('path = "/home/\\u202e"', "path", "holds a control or invisible character"),
        ("store_url = 'sqlite://'", "store_url", "must be sqlite:/// and the absolute path of a file"),
        ("store_url = 'sqlite:///x.db'", "store_url", "its path must be an absolute path"),
        ("store_url = 'sqlite:///:memory:'", "store_url", "its path must be an absolute path"),
        ("store_url = 'sqlite:////x/'", "store_url", "must name a file, not a folder"),
        ("untrusted_tools = 'a'", "untrusted_tools", 'must be list of text, for example ["mcp__crm__*"]'),
        ("untrusted_tools = ['a', 7]", "untrusted_tools", "must be list of text"),
        ("untrusted_tools = ['a', ' b']", "untrusted_tools", "must be 1 to 120 visible characters"),
        ("workspaces = 'a'", "workspaces", "must be list of tables"),
        ("workspaces = [3]", "workspaces.1", "must be a table"),
        ("[workspaces]\nid = 'a'", "workspaces", "must be list of tables"),
        ("[[workspaces]]\nroot = '/x'", "workspaces.1.id", "is missing"),
        ("[[workspaces]]\nid = ' a'", "workspaces. a.id", "must not hold white space, ;, [, ]"),
        ("[[workspaces]]\nid = 'a]'", "workspaces.a].id", "must not hold white space, ;, [, ]"),
        ('[[workspaces]]\nid = "a\\u200b"', "workspaces.1.id", "must not hold white space, ;, [, ] or an invisible"),
        ("[[workspaces]]\nid = 'a%3bb'", "workspaces.a%3bb.id", "must not hold %3B, %5B or %5D"),
        ("[[workspaces]]\nid = ''", "workspaces.1.id", "must be 1 to 64 characters"),
        (f"[[workspaces]]\nid = '{'a' * 65}'", f"workspaces.{'a' * 65}.id", "must be 1 to 64 characters"),
        ("[[workspaces]]\nid = 'a'\nname = 7", "workspaces.a.name", 'must be text, for example "Billing Service"'),
        ("[[workspaces]]\nid = 'a'\nprivacy = 'x'", "workspaces.a.privacy", 'must be "normal", "strict" or "disabled"'),
        ("[[workspaces]]\nid = 'a'\nmemory = 'no'", "workspaces.a.memory", "must be true or false"),
        ("[[workspaces]]\nid = 'a'\nroot = 'x'", "workspaces.a.root", "must be an absolute path"),
    ],
)
def test_each_fault_says_what_must_be(text: str, key: str, why: str) -> None:
    found_key, line, found_why = fault_of(text)
    assert found_key == key
    assert found_why.startswith(why)
    assert line == 1 + text.count("\n") or key in {"workspaces.1.id", "workspaces"}


def test_a_text_is_searched_for_lines_once_however_many_faults_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from memrepo.settings import schema

    asked: list[str] = []

    def count(text: str) -> dict[Steps, int]:
        asked.append(text)
        return index_lines(text)

    monkeypatch.setattr(schema, "index_lines", count)
    text = "".join(f"odd{number} = 1\n" for number in range(50))
    assert [line for _, line, _ in faults_of(text)] == list(range(1, 51))
    assert asked == [text]


def test_a_message_names_twenty_faults_and_counts_the_rest() -> None:
    with pytest.raises(SettingsError) as caught:
        parse("".join(f"odd{number} = 1\n" for number in range(1_234)))
    lines = caught.value.message.split("\n")
    assert (len(lines), lines[0], lines[-1]) == (22, f"{FILE} has 1234 faults:", "  and 1,214 more")


@given(st.one_of(st.text(max_size=70), st.text(alphabet="a;[]%35BbDd: ", max_size=8)))
def test_each_id_that_is_accepted_comes_back_from_the_entry_that_names_its_workspace(workspace_id: str) -> None:
    from memrepo.format.document import Document, find_workspace_id
    from memrepo.format.entries import render_entry
    from memrepo.settings.schema import check_workspace_id
    from memrepo.workspaces import naming_fact

    try:
        check_workspace_id(workspace_id)
    except ValueError:
        return
    fact = naming_fact(Workspace(workspace_id, "x"))
    assert find_workspace_id(Document.parse(render_entry(fact.text, fact.meta).encode())) == workspace_id


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("'x; rm y' = 1", "memrepo settings unset 'x; rm y'"),
        ("[[workspaces]]\nroot = '/x'", FILE),
        ("[[workspaces]]\nid = 7", FILE),
        ('"\\u001b[2J" = 1', FILE),
    ],
    ids=["quoted", "missing id", "wrong id", "control"],
)
def test_a_hint_is_safe_to_paste_and_never_says_to_take_out_an_id(text: str, end: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(text)
    assert caught.value.hint.endswith(end)


@pytest.mark.parametrize(
    "text",
    [
        "[[workspaces]]\nid = 7\nprivacy = 'x'",
        "[[workspaces]]\nid = ''\nname = 7",
        "[[workspaces]]\nid = 'a'\n'x.y' = 1",
        "workspaces = [3]",
        "workspaces = 'a'",
        "'a.b' = 1",
        "a.b = 1",
        "[enabled]\nx = 1",
        "[[path]]\nx = 1",
    ],
)
def test_what_a_fault_calls_a_key_is_what_unset_takes(text: str) -> None:
    for key, _, why in faults_of(text):
        if key.endswith(".id"):
            continue
        mended = unset_setting(text, key, file=FILE)
        try:
            parse(mended)
        except SettingsError:
            assert (key, why) not in [(name, reason) for name, _, reason in faults_of(mended)]


def test_two_workspaces_cannot_share_an_id_or_a_root() -> None:
    first = "[[workspaces]]\nid = 'a'\nroot = '/x'\n"
    assert fault_of(first + "[[workspaces]]\nid = 'b'\nroot = '/x/'\n") == (
        "workspaces.b.root",
        6,
        "is that of workspace 1 in the list already",
    )
    assert fault_of(first + "[[workspaces]]\nid = 'a'")[:2] == ("workspaces.a.id", 5)


def test_the_private_store_cannot_be_inside_the_memory_folder() -> None:
    key, line, why = fault_of("path = '/m'\nstore_url = 'sqlite:////m/data/store.db'")
    assert (key, line) == ("store_url", 2)
    assert "outside the memory folder" in why
    parse("path = '/m'\nstore_url = 'sqlite:////mm/store.db'")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("enabled = true\npath = \n", 2, "not TOML: Invalid value"),
        ("path = '/a'\npath = '/b'\n", 2, "not TOML: Cannot overwrite a value"),
        ("a = [" + "[" * 5_000, None, "not TOML: brackets are nested too deeply"),
        ("#" * 1_000_001, None, "the file is larger than 1,000,000 bytes"),
    ],
    ids=["value", "twice", "nested", "large"],
)
def test_what_is_no_toml_is_named_with_its_line(text: str, line: int | None, why: str) -> None:
    assert fault_of(text) == ("", line, why)


@given(st.text(max_size=200))
def test_any_text_is_settings_or_a_settings_error(text: str) -> None:
    try:
        assert isinstance(parse(text), Settings)
    except SettingsError:
        assert faults_of(text)


# --- one value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("enabled", True),
        ("path", "/home/me/notes"),
        ("store_url", None),
        ("workspaces.billing.privacy", "strict"),
        ("workspaces.site.memory", False),
        ("workspaces.site.name", "web-site"),
    ],
)
def test_a_value_is_got_by_its_key(key: str, value: object) -> None:
    assert get_setting(parse(FULL), key) == value


def test_a_workspace_whose_id_has_dots_is_got_whole_and_by_field() -> None:
    settings = parse('[[workspaces]]\nid = "my.app"\nroot = "/x"')
    shown = {"id": "my.app", "name": "x", "root": "/x", "memory": True, "privacy": "normal"}
    assert get_setting(settings, "workspaces.my.app") == shown
    assert get_setting(settings, "workspaces.my.app.root") == "/x"
    assert get_setting(settings, "workspaces") == [shown]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("pth", "path"),
        ("workspaces.biling.root", "workspaces.billing.root"),
        ("zzzzzz", None),
        ("workspaces.", "workspaces"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_is_meant(key: str, meant: str | None) -> None:
    with pytest.raises(NotFound) as getting:
        get_setting(parse(FULL), key)
    with pytest.raises(NotFound) as unsetting:
        unset_setting(FULL, key, file=FILE)
    hint = (f"did you mean {meant}? " if meant else "") + "see all: memrepo settings list"
    assert getting.value.hint == unsetting.value.hint == hint


# --- changing one


def test_a_change_keeps_comments_order_and_every_other_byte() -> None:
    assert set_setting(FULL, "path", "/elsewhere", file=FILE) == FULL.replace("/home/me/notes", "/elsewhere")
    assert set_setting(FULL, "enabled", "off", file=FILE) == FULL.replace("true      # keep", "false      # keep")
    assert set_setting(FULL, "workspaces.site.memory", "yes", file=FILE) == FULL.replace(
        "memory = false", "memory = true"
    )
    assert unset_setting(FULL, "path", file=FILE) == FULL.replace('path = "/home/me/notes"\n', "")


def test_a_new_key_stands_with_the_others_and_not_between_a_comment_and_its_table() -> None:
    text = set_setting(FULL, "store_url", "sqlite:////s/x.db", file=FILE)
    assert text == FULL.replace('notes"\n', 'notes"\nstore_url = "sqlite:////s/x.db"\n')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'path = "/x"\n'),
        ("enabled = true", 'enabled = true\npath = "/x"\n'),
        (
            "# all of it\n\n# one\n[[workspaces]]\nid='a'\n",
            "# all of it\n\npath = \"/x\"\n\n# one\n[[workspaces]]\nid='a'\n",
        ),
        ("# one\n[[workspaces]]\nid='a'\n", "path = \"/x\"\n\n# one\n[[workspaces]]\nid='a'\n"),
        ("\ufeffenabled = true\r\n", '\ufeffenabled = true\r\npath = "/x"\r\n'),
    ],
)
def test_where_a_first_key_is_put(before: str, after: str) -> None:
    assert set_setting(before, "path", "/x", file=FILE) == after


def test_a_workspace_is_added_changed_and_taken_out_by_its_id() -> None:
    text = set_setting(FULL, "workspaces.new.app.root", "/home/me/new", file=FILE)
    assert text == FULL + '\n[[workspaces]]\nid = "new.app"\nroot = "/home/me/new"\n'
    assert unset_setting(text, "workspaces.new.app", file=FILE).rstrip() == FULL.rstrip()
    bare = unset_setting(FULL, "workspaces.billing.privacy", file=FILE)
    assert parse(bare).workspaces[0].privacy is Privacy.NORMAL
    assert parse(unset_setting(FULL, "workspaces", file=FILE)).workspaces == ()


def test_a_list_written_on_one_line_is_changed_in_place() -> None:
    text = 'workspaces = [{id = "a"}] # mine\n'
    added = set_setting(text, "workspaces.b.memory", "no", file=FILE)
    assert [workspace.id for workspace in parse(added).workspaces] == ["a", "b"]
    assert "# mine" in added
    assert parse(unset_setting(text, "workspaces.a", file=FILE)) == Settings()


def test_the_whole_list_can_be_set_in_toml() -> None:
    text = set_setting(FULL, "workspaces", '[{ id = "only", root = "/r" }]', file=FILE)
    assert [workspace.id for workspace in parse(text).workspaces] == ["only"]
    with pytest.raises(SettingsError, match="not TOML"):
        set_setting(FULL, "workspaces", "[{", file=FILE)


@pytest.mark.parametrize(
    ("key", "value"),
    [("path", "notes"), ("enabled", "maybe"), ("workspaces.billing.privacy", "x"), ("workspaces.billing.id", "site")],
)
def test_a_value_that_is_not_valid_changes_nothing(key: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        set_setting(FULL, key, value, file=FILE)
    assert key.rpartition(".")[2] in caught.value.message


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("path", "notes", "give another value, for example: memrepo settings set path /home/me/notes/memory"),
        (
            "workspaces.a b.memory",
            "no",
            "give another value, for example: memrepo settings set 'workspaces.a b.memory' false",
        ),
    ],
)
def test_a_refused_value_is_not_called_a_fault_of_the_file(key: str, value: str, hint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        set_setting(FULL, key, value, file=FILE)
    assert caught.value.message.startswith(f"{FILE} is unchanged:\n  ")
    assert caught.value.hint == hint
    assert [line for _, line, _ in caught.value.facts["faults"]] == [None]  # type: ignore[attr-defined]


def test_an_id_is_not_taken_out_from_under_its_workspace() -> None:
    with pytest.raises(SettingsError, match=r"id: is missing") as caught:
        unset_setting(FULL, "workspaces.site.id", file=FILE)
    assert caught.value.hint == "take the whole workspace out: memrepo settings unset workspaces.site"


@pytest.mark.parametrize("text", ["workspaces = 'a'", "workspaces = [3]", "[workspaces]\nid = 'a'"])
def test_a_workspace_is_not_added_to_what_is_no_list_of_tables(text: str) -> None:
    with pytest.raises(SettingsError, match="must be"):
        set_setting(text, "workspaces.b.root", "/b", file=FILE)
    with pytest.raises(SettingsError, match="must be"):
        set_setting(text, "workspaces.1.id", "b", file=FILE)


def test_a_value_cannot_bring_a_second_setting_with_it() -> None:
    with pytest.raises(SettingsError, match="more than one value"):
        set_setting("", "workspaces", "[]\nenabled = false", file=FILE)


def test_a_file_with_faults_is_mended_key_by_key_and_never_gets_worse() -> None:
    broken = 'enabled = "x"\ntypo = 1\npath = "rel"\n'
    better = set_setting(broken, "path", "/abs", file=FILE)
    better = unset_setting(better, "typo", file=FILE)
    assert [key for key, _, _ in faults_of(better)] == ["enabled"]
    assert parse(set_setting(better, "enabled", "on", file=FILE)) == Settings(path=Path("/abs"))
    with pytest.raises(SettingsError):
        set_setting(broken, "path", "still-rel", file=FILE)


def test_taking_out_what_is_not_set_changes_nothing() -> None:
    assert unset_setting(FULL, "store_url", file=FILE) == FULL
    assert unset_setting(FULL, "workspaces.site.privacy", file=FILE) == FULL


VALUES = st.sampled_from(
    [
        ("enabled", True),
        ("enabled", False),
        ("path", "/a b/ü"),
        ("store_url", 'sqlite:////s/"quoted".db'),
        ("workspaces.billing.name", "Neu [x]; # y"),
        ("workspaces.q-1.root", "/q"),
        ("workspaces.site.memory", True),
    ]
)


@given(st.lists(VALUES, max_size=6), st.booleans())
def test_after_any_changes_each_key_has_its_last_value_and_comments_stand(
    changes: list[tuple[str, Any]], is_crlf: bool
) -> None:
    text = FULL.replace("\n", "\r\n") if is_crlf else FULL
    for key, value in changes:
        text = set_setting(text, key, value, file=FILE)
    settings = parse(text)
    for key, value in dict(changes).items():
        assert get_setting(settings, key) == value
    assert all(comment in text for comment in ("# My settings", "# keep this", "# the one at work"))
    assert ("\r\n" in text) == is_crlf
    assert text.count("\r\n") == (text.count("\n") if is_crlf else 0)


# --- what is said of settings


def test_every_setting_is_described_and_every_example_and_default_is_valid() -> None:
    from memrepo.settings.schema import SettingsTable, WorkspaceTable

    described = [row.key for row in describe_settings()]
    fields = [*SettingsTable.model_fields, *(f"workspaces.ID.{name}" for name in WorkspaceTable.model_fields)]
    assert described == fields
    for row in describe_settings():
        for value in filter(None, (row.example, row.default)):
            field = row.key.removeprefix("workspaces.ID.")
            inside = "[[workspaces]]\n" if field != row.key else ""
            named = "id = 'a'\n" if inside and field != "id" else ""
            parse(f"{inside}{named}{field} = {value}")


def test_the_page_on_settings_describes_each_as_the_program_does() -> None:
    page = DOCS.read_text("utf-8")
    for row in describe_settings():
        section = page.partition(f"### `{row.key}`\n")[2].partition("\n### ")[0]
        assert section, f"{row.key} is not on the page"
        said = " ".join(section.split())
        assert row.rule in said
        assert f"Type: {row.type}." in said
        assert f"Default: {f'`{row.default}`' if row.default else 'unset'}." in said


def test_the_examples_on_the_page_are_valid() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert len(blocks) > len(describe_settings())
    for block in blocks:
        assert tomllib.loads(block)
        parse(block)


def test_a_list_of_tools_is_read_and_changed_with_or_without_brackets() -> None:
    assert parse("untrusted_tools = ['mcp__crm__*', 'x']").untrusted_tools == ("mcp__crm__*", "x")
    one = set_setting(FULL, "untrusted_tools", "mcp__crm__*", file=FILE)
    assert one == FULL.replace('notes"\n', 'notes"\nuntrusted_tools = ["mcp__crm__*"]\n')
    two = set_setting(one, "untrusted_tools", '["a", "b"]', file=FILE)
    assert get_setting(parse(two), "untrusted_tools") == ["a", "b"]
    assert unset_setting(two, "untrusted_tools", file=FILE) == FULL


def test_a_list_of_tools_that_is_no_list_changes_nothing() -> None:
    for value in ("[1]", "[", '["a"]\nenabled = false'):
        with pytest.raises(SettingsError):
            set_setting(FULL, "untrusted_tools", value, file=FILE)
