"""A host's tool call as a `ToolCall`: by a table where the tool is known, by its name and arguments where it is not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from memrepo.policy.tool_calls import ToolCall, ToolVerb, find_memory_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PATHS_LIMIT = 200
_PATH_LIMIT_CHARS = 4096
_PATH_KEYS = _words(
    "path paths file files file_path filepath filename absolute_path notebook_path dir dir_path dirpath directory "
    "folder root uri source destination src dst old_path new_path target target_file from to cwd"
)
_READING = _words("read view cat open get show load")
_LISTING = _words("list ls glob tree stat info")
_SEARCHING = _words("search grep find")
_DELETING = _words("delete remove rm trash unlink")
_MOVING = _words("move rename mv")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_WILD = re.compile(r"[*?\[{]")
_PATCHED = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)


class ToolRow(NamedTuple):
    """What a known tool does, and the arguments that hold paths. `pattern` is a glob below the first of them."""

    verb: ToolVerb
    keys: tuple[str, ...] = ()
    pattern: str = ""


def make_call(
    host: str, name: str, arguments: Mapping[str, Any], rows: Mapping[str, ToolRow], *, has_body: bool = False
) -> ToolCall:
    """The call of a tool. An unknown one gets every argument that may be a path."""
    memory_tool = find_memory_tool(name)
    if memory_tool is not None:
        return ToolCall(host, name, ToolVerb.MCP, arguments=arguments, memory_tool=memory_tool, has_body=has_body)
    row = rows.get(name)
    if row is None:
        paths = tuple(dict.fromkeys(_iter_likely_paths(arguments)))
        verb = _guess_verb(name, paths)
        return ToolCall(host, name, verb, paths, arguments=arguments, has_body=has_body, is_known=False)
    if row.verb is ToolVerb.SHELL:
        command = find_command(arguments, *row.keys)
        patched = tuple(path for _, path in _PATCHED.findall(command))  # a patch may be given to a shell, too
        return ToolCall(host, name, row.verb, patched, command=command, arguments=arguments, has_body=has_body)
    paths = tuple(path for key in row.keys for path in _iter_texts(arguments.get(key)))
    pattern = arguments.get(row.pattern) if row.pattern else None
    if isinstance(pattern, str) and ("/" in pattern or pattern.startswith(("~", "."))):
        fixed = pattern[: found.start()] if (found := _WILD.search(pattern)) else pattern
        base = "" if pattern.startswith(("/", "~")) or not paths else paths[0].rstrip("/") + "/"
        paths = (*paths, base + fixed)
    return ToolCall(host, name, row.verb, paths, arguments=arguments, has_body=has_body)


def make_patch_call(host: str, name: str, patch: str, arguments: Mapping[str, Any]) -> ToolCall:
    """The call of a tool that takes a patch in the form `*** Update File: PATH`."""
    kinds, paths = [], []
    for kind, path in _PATCHED.findall(patch):
        kinds.append(kind)
        paths.append(path)
    verb = ToolVerb.DELETE if "Delete File" in kinds else ToolVerb.RENAME if "Move to" in kinds else ToolVerb.WRITE
    return ToolCall(host, name, verb, tuple(paths), arguments=arguments)


def find_command(arguments: Mapping[str, Any], *keys: str) -> str:
    """The command of a shell tool: text, or a list of words; "" when there is none under `command`, `cmd` or `keys`."""
    value = next((arguments[key] for key in (*keys, "command", "cmd") if key in arguments), None)
    if isinstance(value, list):
        import shlex

        return shlex.join([word for word in value if isinstance(word, str)])
    return value if isinstance(value, str) else ""


def _read_address(text: str) -> str:
    """A path, also when it is written as a `file:` address (RFC 8089)."""
    if text[:5].casefold() != "file:":
        return text
    from urllib.parse import unquote

    rest = text[5:]
    if rest.startswith("//"):
        rest = "/" + rest[2:].partition("/")[2]
    return unquote(rest)


def _iter_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield _read_address(value)
    elif isinstance(value, list):
        for one in value[:_PATHS_LIMIT]:
            yield from _iter_texts(one)
    elif isinstance(value, dict):
        yield from _iter_likely_paths(value)


def _iter_likely_paths(arguments: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Texts that look like a path, or stand under a name for one."""
    count = 0
    for key, value in arguments.items():
        if depth < 4 and isinstance(value, dict):
            yield from _iter_likely_paths(value, depth + 1)
            continue
        for one in value[:_PATHS_LIMIT] if isinstance(value, list) else (value,):
            if depth < 4 and isinstance(one, dict):
                yield from _iter_likely_paths(one, depth + 1)
            elif isinstance(one, str) and 0 < len(one) <= _PATH_LIMIT_CHARS and "\n" not in one:
                is_path = one.startswith(("/", "~", "file://")) or (key.lower() in _PATH_KEYS and "://" not in one)
                if is_path and count < _PATHS_LIMIT:
                    count += 1
                    yield _read_address(one)


def _guess_verb(name: str, paths: tuple[str, ...]) -> ToolVerb:
    words = {word.lower() for word in _WORD.findall(name)}
    if not paths:
        return ToolVerb.MCP if name.lower().startswith("mcp") else ToolVerb.OTHER
    for verbs, verb in (
        (_DELETING, ToolVerb.DELETE),
        (_MOVING, ToolVerb.RENAME),
        (_LISTING, ToolVerb.LIST),
        (_SEARCHING, ToolVerb.SEARCH),
        (_READING, ToolVerb.READ),
    ):
        if words & verbs and not words & {"write", "edit", "create", "update", "replace", "set", "put", "save"}:
            return verb
    return ToolVerb.MCP if name.lower().startswith("mcp") else ToolVerb.OTHER
