"""JSON as people keep it in settings files, changed at one place: every byte that is not part of the change stays.

Reads JSON, and what hosts' settings allow beside it: `//` and `/* */` comments, and a comma after the last value. A
change is an insertion or a removal between two positions of the text; the result is read back, and must hold exactly
the old values and the change. Taking out what was put in gives the first text again, byte by byte.

Pure. The texts come without a byte order mark (`config_file` keeps it).
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Step: TypeAlias = "str | int"

DEPTH_LIMIT = 100
_SPACES = " \t\r\n"
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_USUAL_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a text: where it stands (`start` to `end`), what it means, and what it holds.

    `keys` are None for an array and a plain value; `starts` is where each child begins, its key included.
    """

    start: int
    end: int
    value: Any
    children: tuple[Node, ...] = ()
    starts: tuple[int, ...] = ()
    keys: tuple[str, ...] | None = None

    def find(self, step: Step) -> int | None:
        """The number of the child of that key or position. Of a key that comes twice the last counts, as in hosts."""
        if isinstance(step, int):
            is_there = isinstance(self.value, list) and 0 <= step < len(self.children)
            return step if is_there else None
        found = [number for number, key in enumerate(self.keys or ()) if key == step]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Edited:
    """A changed text, and the containers that the change had to make (as paths from the root)."""

    text: str
    made: tuple[tuple[Step, ...], ...] = ()


def parse_json(text: str, *, file: str) -> Node:
    """Reads a text. Errors: InvalidInput with file and line, never with the content."""
    return _Scanner(text, file).read_document()


def has_value(text: str) -> bool:
    """Whether there is more in a text than white space and comments; a comment without its end counts as more."""
    return _skip(text, 0) < len(text)


def find_node(root: Node, path: Sequence[Step]) -> Node | None:
    """The value at a path, or None."""
    node = root
    for step in path:
        number = node.find(step)
        if number is None:
            return None
        node = node.children[number]
    return node


def set_member(text: str, path: Sequence[Step], value: object, *, file: str) -> Edited:
    """Puts a value at a path, in place of the one that is there. Errors: InvalidInput."""
    root = _read_object(text, file)
    there = find_node(root, path)
    if there is not None:
        style = _Style(text, root)
        lead = _lead(text, there.start)
        shown = style.render(value, lead, is_inline="\n" not in text[there.start : there.end])
        expected = _with_value(root.value, path, value)
        return Edited(_proven(text[: there.start] + shown + text[there.end :], expected, file))
    return _put(text, root, path, value, is_item=False, file=file)


def append_item(text: str, path: Sequence[Step], value: object, *, file: str) -> Edited:
    """Puts a value at the end of the array at a path; an array that is not there is made. Errors: InvalidInput."""
    return _put(text, _read_object(text, file), path, value, is_item=True, file=file)


def remove_value(text: str, path: Sequence[Step], *, made: Collection[tuple[Step, ...]] = (), file: str) -> str:
    """Takes the value at a path out, and then each container above it that is empty and in `made`.

    Errors: InvalidInput.
    """
    while path:
        root = _read_object(text, file)
        parent, number = find_node(root, path[:-1]), None
        if parent is not None:
            number = parent.find(path[-1])
        if parent is None or number is None:
            return text
        expected = _without(root.value, path)
        text = _proven(_cut(text, parent, number), expected, file)
        path = path[:-1]
        above = find_node(_read_object(text, file), path)
        if tuple(path) not in made or above is None or above.children:
            return text
    return text


class _Scanner:
    """Reads a text once, from left to right."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0

    def read_document(self) -> Node:
        self._skip()
        node = self._read(0)
        self._skip()
        if self._at < len(self._text):
            self._fail("there is more after the end")
        return node

    def _read(self, depth: int) -> Node:
        if depth > DEPTH_LIMIT:
            self._fail(f"it is nested more than {DEPTH_LIMIT} deep")
        letter = self._text[self._at : self._at + 1]
        if letter == "{":
            return self._read_container("}", depth)
        if letter == "[":
            return self._read_container("]", depth)
        pattern = _STRING if letter == '"' else _SCALAR
        match = pattern.match(self._text, self._at)
        if match is None:
            self._fail("a value is missing or is not JSON")
        start, self._at = self._at, match.end()
        return Node(start, self._at, self._load(match[0]))

    def _read_container(self, close: str, depth: int) -> Node:
        start = self._at
        self._at += 1
        children: list[Node] = []
        starts: list[int] = []
        keys: list[str] = []
        self._skip()
        while not self._takes(close):
            starts.append(self._at)
            if close == "}":
                keys.append(self._read_key())
            children.append(self._read(depth + 1))
            self._skip()
            if self._takes(","):
                self._skip()
            elif self._text[self._at : self._at + 1] != close:
                self._fail(f"a comma or {close} is missing")
        values = [child.value for child in children]
        if close == "]":
            return Node(start, self._at, values, tuple(children), tuple(starts))
        value = dict(zip(keys, values, strict=True))
        return Node(start, self._at, value, tuple(children), tuple(starts), tuple(keys))

    def _read_key(self) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            self._fail("a key in double quotes is missing")
        key = self._load(match[0])
        self._at = match.end()
        self._skip()
        if not self._takes(":"):
            self._fail("a colon is missing")
        self._skip()
        return str(key)

    def _load(self, token: str) -> object:
        try:
            return json.loads(token)
        except ValueError:
            self._fail("a text has an escape that JSON does not know")

    def _takes(self, letter: str) -> bool:
        if self._text.startswith(letter, self._at):
            self._at += 1
            return True
        return False

    def _skip(self) -> None:
        self._at = _skip(self._text, self._at)
        if self._text.startswith("/*", self._at):
            self._fail("a comment has no end")

    def _fail(self, why: str) -> NoReturn:
        line = self._text.count("\n", 0, self._at) + 1
        raise InvalidInput(
            f"{self._file} cannot be read, line {line}: {why}; nothing was changed",
            hint=f"mend it in an editor: {self._file}",
            file=self._file,
            line=line,
        )


class _Style:
    """How a text is laid out: its newline and its indent."""

    def __init__(self, text: str, root: Node) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.indent = _USUAL_INDENT
        if root.starts and "\n" in text[root.start : root.starts[0]]:
            found = _lead(text, root.starts[0]).removeprefix(_lead(text, root.start))
            self.indent = found or _USUAL_INDENT

    def render(self, value: object, lead: str, *, is_inline: bool) -> str:
        if is_inline:
            return json.dumps(value, ensure_ascii=False)
        shown = json.dumps(value, ensure_ascii=False, indent=self.indent)
        return shown.replace("\n", self.newline + lead)


def _put(text: str, root: Node, path: Sequence[Step], value: object, *, is_item: bool, file: str) -> Edited:
    """Inserts what is missing of a path, and the value at its end."""
    node, depth = root, 0
    for step in path if is_item else path[:-1]:
        number = node.find(step)
        if number is None:
            break
        node, depth = node.children[number], depth + 1
        is_last = depth == len(path)
        if not isinstance(node.value, list if is_last else dict):
            _refuse_form(text, node, path[:depth], "a list" if is_last else "an object", file)
    missing = list(path[depth:])
    made = [tuple(path[: depth + count]) for count in range(1, len(missing) + 1)]
    if not is_item:
        made = made[:-1]
    expected = copy.deepcopy(root.value)
    place = expected
    for step in path[:depth]:
        place = place[step]
    whole: object = [value] if is_item and missing else value
    for key in reversed(missing[1:]):
        whole = {key: whole}
    if missing:
        place[missing[0]] = whole
    else:
        place.append(whole)
    edited = _insert(text, root, node, missing[0] if missing else None, whole)
    return Edited(_proven(edited, expected, file), tuple(made))


def _insert(text: str, root: Node, parent: Node, key: Step | None, value: object) -> str:
    """The text with one more child at the end of a container."""
    style = _Style(text, root)
    outer = _lead(text, parent.start)
    lead = outer + style.indent
    is_inline = bool(parent.children) and "\n" not in text[parent.start : parent.end]
    if parent.starts and _is_first_on_line(text, parent.starts[-1]):
        lead = _lead(text, parent.starts[-1])
    shown = style.render(value, lead, is_inline=is_inline)
    if key is not None:
        shown = f"{json.dumps(key, ensure_ascii=False)}: {shown}"
    gap = " " if is_inline else style.newline + lead
    close = parent.end - 1
    end = close
    while text[end - 1] in _SPACES:
        end -= 1
    if not parent.children:
        if end == parent.start + 1:
            return text[:end] + gap + shown + style.newline + outer + text[end:]
        return text[:end] + gap + shown + text[end:]  # behind a comment
    last = parent.children[-1].end
    if _find_comma(text, last) is not None:
        return f"{text[:end]}{gap}{shown},{text[end:]}"
    end = max(end, last)
    return f"{text[:last]},{text[last:end]}{gap}{shown}{text[end:]}"


def _cut(text: str, parent: Node, number: int) -> str:
    """The text without one child: with the white space before it and one comma, after it or else before it."""
    start, end = parent.starts[number], parent.children[number].end
    floor = parent.children[number - 1].end if number else parent.start + 1
    first = start
    while first > floor and text[first - 1] in _SPACES:
        first -= 1
    comma = _find_comma(text, end)
    before, after = text[:first], text[end:] if comma is None else text[end:comma] + text[comma + 1 :]
    gap = text[floor:first]
    if "//" in gap[gap.rfind("\n") + 1 :] and not after.startswith(("\n", "\r\n")):
        before = text[:start]  # the line break that ends a comment stays
    if comma is None and number:
        before_comma = _find_comma(text, floor)
        assert before_comma is not None  # noqa: S101 - it was parsed
        before = before[:before_comma] + before[before_comma + 1 :]
    elif comma is None and first == floor:
        outer = _lead(text, parent.start)
        for newline in ("\r\n", "\n"):
            if after.startswith(newline + outer) and start != first:
                return before + after[len(newline + outer) :]
    return before + after


def _find_comma(text: str, at: int) -> int | None:
    """Where the comma behind a child stands, with only white space and comments between them."""
    at = _skip(text, at)
    return at if text.startswith(",", at) else None


def _skip(text: str, at: int) -> int:
    """The next position that is neither white space nor comment; where a comment has no end, its start."""
    while at < len(text):
        if text[at] in _SPACES:
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                return at
            at = end + 2
        else:
            return at
    return at


def _lead(text: str, at: int) -> str:
    """The white space that the line of a position begins with."""
    start = text.rfind("\n", 0, at) + 1
    end = start
    while end < at and text[end] in " \t":
        end += 1
    return text[start:end]


def _is_first_on_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t")


def _read_object(text: str, file: str) -> Node:
    root = parse_json(text, file=file)
    if root.keys is None:
        _refuse_form(text, root, (), "an object", file)
    return root


def _refuse_form(text: str, node: Node, path: Sequence[Step], wanted: str, file: str) -> NoReturn:
    line = text.count("\n", 0, node.start) + 1
    name = ".".join(map(str, path)) or "the whole file"
    raise InvalidInput(
        f"{file}, line {line}: {name} is not {wanted}; nothing was changed",
        hint=f"mend it in an editor: {file}",
        file=file,
        line=line,
        key=name,
    )


def _with_value(whole: Any, path: Sequence[Step], value: object) -> Any:
    after = copy.deepcopy(whole)
    place = after
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return after


def _without(whole: Any, path: Sequence[Step]) -> Any:
    after = copy.deepcopy(whole)
    place = after
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return after


def _proven(text: str, expected: object, file: str) -> str:
    if parse_json(text, file=file).value != expected:
        raise InvalidInput(
            f"{file} has a form that cannot be changed by a command; nothing was changed",
            hint=f"change it in an editor: {file}",
            file=file,
        )
    return text
