"""Laws of changing settings files: what is put in comes out again byte by byte, and nothing else moves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import tomlkit
from hypothesis import example, given
from hypothesis import strategies as st

from memrepo.errors import InvalidInput
from memrepo.installs.json_text import append_item, find_node, parse_json, remove_value, set_member
from memrepo.installs.toml_text import parse_toml, remove_table, set_table

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = "settings.json"
SERVER = {"command": "memrepo", "args": ["mcp"], "env": {"MEMREPO_HOME": "/home/me/.memrepo"}}
_GAPS = [
    "",
    " ",
    "\n",
    "\n  ",
    "\r\n",
    "\t",
    "// note, with {}\n",
    "/* a: [1, */",
    " /* x */ ",
    "\n  // y\n  ",
]
_KEYS = ["a", "mcpServers", "hooks", "PreToolUse", "http://x", "ä", 'q"', ""]
_keys = st.sampled_from(["one", "two", "three"])
_scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "//", "/*", "x,y", "}", "é"]))
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "//"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A settings file as hands write it: any layout, comments, commas after the last value."""

    def gap() -> str:
        return draw(st.sampled_from(_GAPS))

    def show(value: Any) -> str:
        if isinstance(value, dict):
            parts = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{show(one)}{gap()}" for key, one in value.items()]
        elif isinstance(value, list):
            parts = [f"{gap()}{show(one)}{gap()}" for one in value]
        else:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        has_comma = draw(st.booleans())
        comma = f",{gap()}" if parts and has_comma else ""
        inner = ",".join(parts) + comma if parts else gap()
        return f"{{{inner}}}" if isinstance(value, dict) else f"[{inner}]"

    whole = draw(st.dictionaries(st.sampled_from(_KEYS), _values, max_size=4))
    for key in ("mcpServers", "hooks"):  # those must be objects to be changed
        if key in whole and not isinstance(whole[key], dict):
            whole[key] = draw(st.dictionaries(st.sampled_from(["a", "b"]), _scalars, max_size=2))
    return f"{gap()}{show(whole)}{gap()}"


@st.composite
def plain_documents(draw: st.DrawFn) -> str:
    """What programs write: with one indent throughout, or none."""
    whole = draw(st.dictionaries(st.sampled_from(["a", "mcpServers", "hooks"]), st.dictionaries(_keys, _scalars)))
    text = json.dumps(whole, indent=draw(st.sampled_from([None, 2, 4, "\t"])))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))) + draw(st.sampled_from(["", "\n"]))


@given(st.one_of(documents(), plain_documents()))
@example("{}")
@example("{\n}")
@example('{"u": "http://x"}')
@example('{"a": 1, // c\n}')
@example('{"a": 1 // c\n}')
@example('{ // c\n  "a": 1 }')
@example('{"mcpServers": {}}')
def test_what_is_put_in_comes_out_byte_by_byte(text: str) -> None:
    edited = set_member(text, ("mcpServers", "memrepo"), SERVER, file=FILE)
    assert remove_value(edited.text, ("mcpServers", "memrepo"), made=edited.made, file=FILE) == text


@given(st.one_of(documents(), plain_documents()))
def test_an_item_that_is_added_comes_out_byte_by_byte(text: str) -> None:
    edited = append_item(text, ("hooks", "SessionStart"), {"hooks": [SERVER]}, file=FILE)
    place = find_node(parse_json(edited.text, file=FILE), ("hooks", "SessionStart"))
    assert place is not None
    last = len(place.children) - 1
    assert remove_value(edited.text, ("hooks", "SessionStart", last), made=edited.made, file=FILE) == text


@given(documents())
def test_a_change_holds_the_old_values_and_no_byte_of_them_is_gone(text: str) -> None:
    edited = set_member(text, ("mcpServers", "memrepo"), SERVER, file=FILE).text
    before, after = parse_json(text, file=FILE).value, parse_json(edited, file=FILE).value
    assert after["mcpServers"].pop("memrepo") == SERVER
    assert {**before, "mcpServers": before.get("mcpServers", {})} == after
    rest = iter(edited)
    assert all(letter in rest for letter in text), "the old text is no longer in the new one, letter by letter"


@given(documents())
def test_two_changes_come_out_in_either_order(text: str) -> None:
    first = set_member(text, ("mcpServers", "memrepo"), SERVER, file=FILE)
    second = append_item(first.text, ("hooks", "Stop"), 1, file=FILE)
    without_second = remove_value(second.text, ("hooks", "Stop", 0), made=second.made, file=FILE)
    assert without_second == first.text
    without_first = remove_value(second.text, ("mcpServers", "memrepo"), made=first.made, file=FILE)
    rest = remove_value(without_first, ("hooks", "Stop", 0), made=second.made, file=FILE)
    assert parse_json(rest, file=FILE).value == parse_json(text, file=FILE).value


@given(documents(), st.data())
def test_any_value_can_be_taken_out_of_any_layout(text: str, data: st.DataObject) -> None:
    whole = parse_json(text, file=FILE).value
    if whole:
        key = data.draw(st.sampled_from(sorted(whole)))
        left = parse_json(remove_value(text, (key,), file=FILE), file=FILE).value
        assert left == {name: value for name, value in whole.items() if name != key}


def is_standard(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@given(st.text(st.sampled_from('{}[]",:/*\\ \nabtrue012.-e'), max_size=24))
def test_a_text_is_read_as_the_standard_reader_reads_it_or_refused(text: str) -> None:
    try:
        value = parse_json(text, file=FILE).value
    except InvalidInput:
        assert not is_standard(text)
        return
    if is_standard(text):  # and not with comments, or a comma after the last value
        assert value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{\n  'a': 1\n}", 2),
        ('{\n  "a": 1\n  "b": 2\n}', 3),
        ('{"a": 1}\n}', 2),
        ('{\n"a": /* open', 2),
        ('{"a": "\\x"}', 1),
        ("{" * 5, 1),
        ('{"a":' * 200 + "1" + "}" * 200, 1),
        ("NaN", 1),
    ],
)
def test_a_fault_is_told_with_its_line_and_without_the_content(text: str, line: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_json(text, file=FILE)
    assert caught.value.facts["line"] == line
    assert FILE in caught.value.message


@pytest.mark.parametrize("act", [set_member, append_item])
def test_what_has_another_form_is_refused_with_its_place(act: Callable[..., object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        act('{\n  "hooks": 3\n}', ("hooks", "a"), 1, file=FILE)
    assert caught.value.facts["line"] == 2
    assert caught.value.facts["key"] == "hooks"


_TOML = [
    "",
    "model = 'x'\n",
    "# mine\nmodel = 'x' # why\n\n[mcp_servers.other]\ncommand = 'o'\n",
    "[mcp_servers]\n",
    "[a]\nx = 1\n\n\n[b]\n# about b\ny = '''\n[mcp_servers.memrepo]\n'''\n",
    "a = 1\r\n[b]\r\nc = 2\r\n",
]


@pytest.mark.parametrize("text", _TOML)
def test_a_table_that_is_put_in_comes_out_byte_by_byte(text: str) -> None:
    path = ("mcp_servers", "memrepo")
    edited = set_table(text, path, SERVER, file="config.toml")
    assert edited.startswith(text)
    assert parse_toml(edited, file="config.toml")["mcp_servers"]["memrepo"] == SERVER
    has_parent = "mcp_servers" in parse_toml(text, file="config.toml")
    assert remove_table(edited, path, has_made_parents=not has_parent, file="config.toml") == text


@given(st.dictionaries(_keys, st.dictionaries(_keys, st.integers())), st.booleans())
def test_other_tables_keep_their_values(tables: dict[str, dict[str, int]], is_below: bool) -> None:
    text = tomlkit.dumps({"mcp_servers": tables} if is_below else tables)
    edited = set_table(text, ("mcp_servers", "memrepo"), SERVER, file="config.toml")
    again = remove_table(edited, ("mcp_servers", "memrepo"), has_made_parents=not is_below, file="config.toml")
    assert parse_toml(again, file="config.toml") == parse_toml(text, file="config.toml")


def test_an_inline_table_of_servers_takes_one_more() -> None:
    text = 'mcp_servers = { other = { command = "o" } } # mine\n'
    edited = set_table(text, ("mcp_servers", "memrepo"), {"command": "memrepo"}, file="config.toml")
    assert parse_toml(edited, file="config.toml")["mcp_servers"]["other"] == {"command": "o"}
    assert "# mine" in edited


def test_only_what_differs_changes_in_a_table_that_is_there() -> None:
    text = "[mcp_servers.memrepo]\ncommand = 'memrepo' # by hand\nargs = ['old']\n\n[z]\n"
    edited = set_table(text, ("mcp_servers", "memrepo"), {"command": "memrepo", "args": ["mcp"]}, file="config.toml")
    assert "command = 'memrepo' # by hand\n" in edited
    assert edited.endswith("\n\n[z]\n")


def test_what_is_no_toml_is_told_with_its_line() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_toml("a = 1\nb = = 2\n", file="config.toml")
    assert caught.value.facts["line"] == 2
