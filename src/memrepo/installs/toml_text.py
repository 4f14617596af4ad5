"""TOML as people keep it in settings files, with one table put in or taken out: everything else stays.

A new table goes to the end of the text, where it changes no other line. What is there already is changed by the
editor library, which keeps comments and order. Each result is read back, and must hold exactly the old values and the
change. Pure.
"""

from __future__ import annotations

import copy
import re
import tomllib
from typing import TYPE_CHECKING, Any, NoReturn, cast

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping, Sequence

_HEADER = re.compile(r"^[ \t]*\[")


def parse_toml(text: str, *, file: str) -> dict[str, Any]:
    """Reads a text. Errors: InvalidInput with file and line, never with the content."""
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise InvalidInput(
            f"{file} cannot be read, line {line}: it is not TOML; nothing was changed",
            hint=f"mend it in an editor: {file}",
            file=file,
            line=line,
        ) from None


def find_table(whole: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path of keys, or None."""
    place: Any = whole
    for key in path:
        place = place.get(key) if isinstance(place, dict) else None
    return place


def set_table(text: str, path: Sequence[str], value: Mapping[str, Any], *, file: str) -> str:
    """Puts a table at a path of keys; of one that is there only what differs changes. Errors: InvalidInput."""
    whole = parse_toml(text, file=file)
    expected = copy.deepcopy(whole)
    place = expected
    for key in path[:-1]:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            _refuse(file)
    place[path[-1]] = dict(value)
    if find_table(whole, path) is None:
        added = _append(text, path, value)
        if _means(added, expected):
            return added
    document = _parse_for_edit(text)
    table: Any = document
    for key in path:
        table = table.setdefault(key, {})
    for key in [key for key in table if key not in value]:
        del table[key]
    for key, one in value.items():
        if key not in table or table[key] != one:
            table[key] = one
    return _proven(_dump(document, text), expected, file)


def remove_table(text: str, path: Sequence[str], *, has_made_parents: bool = True, file: str) -> str:
    """Takes the table at a path out, and with `has_made_parents` each one above it that is empty then.

    Errors: InvalidInput.
    """
    whole = parse_toml(text, file=file)
    if find_table(whole, path) is None:
        return text
    expected = copy.deepcopy(whole)
    _remove(expected, path, has_made_parents=has_made_parents)
    for cut in _iter_cuts(text, path):
        if _means(cut, expected):
            return cut
    document = _parse_for_edit(text)
    _remove(cast("MutableMapping[str, Any]", document), path, has_made_parents=has_made_parents)
    return _proven(_dump(document, text), expected, file)


def _append(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    import tomlkit

    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(path)}]"]
    lines += [f"{key} = {tomlkit.item(one).as_string()}" for key, one in value.items() if not isinstance(one, dict)]
    for key, one in value.items():
        if isinstance(one, dict):
            pairs = ", ".join(f"{name} = {tomlkit.item(inner).as_string()}" for name, inner in one.items())
            lines.append(f"{key} = {{ {pairs} }}")
    body = newline.join([*lines, ""])
    if not text:
        return body
    return text + ("" if text.endswith("\n") else newline) + newline + body


def _iter_cuts(text: str, path: Sequence[str]) -> Iterator[str]:
    """The text without the lines of a table and the empty line above it, for each line that looks like its header."""
    lines = text.splitlines(keepends=True)
    name = ".".join(path)
    for start in [number for number, line in enumerate(lines) if line.strip() == f"[{name}]"]:
        end = start + 1
        while end < len(lines) and (not _HEADER.match(lines[end]) or lines[end].strip().startswith(f"[{name}.")):
            end += 1
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1  # what stands above the next table belongs to it
        first = start - 1 if start and not lines[start - 1].strip() else start
        yield "".join(lines[:first] + lines[end:])


def _remove(whole: MutableMapping[str, Any], path: Sequence[str], *, has_made_parents: bool) -> None:
    places = [whole]
    for key in path[:-1]:
        places.append(places[-1][key])
    del places[-1][path[-1]]
    for place, key in reversed(list(zip(places, path[:-1], strict=False))):
        if has_made_parents and not place[key]:
            del place[key]


def _parse_for_edit(text: str) -> Any:
    import tomlkit

    return tomlkit.parse(text.replace("\r\n", "\n"))


def _dump(document: Any, text: str) -> str:
    import tomlkit

    shown = tomlkit.dumps(document)
    return shown.replace("\n", "\r\n") if "\r\n" in text else shown


def _means(text: str, expected: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text.replace("\r\n", "\n")) == expected
    except tomllib.TOMLDecodeError:
        return False


def _proven(text: str, expected: Mapping[str, Any], file: str) -> str:
    if not _means(text, expected):
        _refuse(file)
    return text


def _refuse(file: str) -> NoReturn:
    raise InvalidInput(
        f"{file} has a form that cannot be changed by a command; nothing was changed",
        hint=f"change it in an editor: {file}",
        file=file,
    )
