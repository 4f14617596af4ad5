"""Whether a tool call reads text that nobody vouched for. Pure: the call in, a label or None out.

Untrusted are: the web, other people's mail, chat, channels and trackers, HTTP answers that are not empty, other agents,
files outside the workspace, and every tool that the user lists. The rows are data (`untrusted_rows.py`). A tool of an
unknown server is not: the user lists it (setting `untrusted_tools`).

Limits: a link inside the workspace that leads out of it, what a script does when it runs, and a shell variable are not
seen here. A file that the workspace holds is trusted, wherever it came from.
Source: memory repo design (seed 1) §7.3, §14.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING

from memrepo.policy import untrusted_rows as rows
from memrepo.policy.tool_calls import ToolVerb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memrepo.policy.tool_calls import ToolCall

OUTSIDE = "file outside the workspace"
_ADDRESS = "://"
_OWN_SERVERS = frozenset({"memrepo", "plugin:memrepo:memrepo"})
_RESOURCE_TOOLS = frozenset(
    {
        *("ReadMcpResourceTool", "ListMcpResourcesTool"),
        *("read_mcp_resource", "list_mcp_resources", "list_mcp_resource_templates"),
    }
)
_NO_WORD = re.compile(r"[^a-z0-9]+")
_CUT = re.compile(r"[;&|\n(){}`]|\$\(|<<<?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_QUOTES = "'\"\\"


def find_untrusted_read(
    call: ToolCall,
    *,
    workspace_folder: PurePath | None,
    listed: Sequence[str] | None,
    home: PurePath | None = None,
    trusted_folders: Sequence[PurePath] = (),
    current_folder: PurePath | None = None,
) -> str | None:
    """The label of the untrusted text that a call reads, None when it reads none: the tool's name, never content.

    Without a `workspace_folder` every file is outside. `trusted_folders` hold memory. `listed` are the user's patterns,
    where `*` stands for anything; None when they cannot be read, and then any tool that is not the host's may be one of
    them. Relative paths start in `current_folder`, else in the workspace.
    """
    if call.memory_tool is not None:
        return None
    if listed is None and call.verb in {ToolVerb.MCP, ToolVerb.OTHER}:
        return call.name
    if any(matches_name(pattern.casefold(), call.name.casefold()) for pattern in listed or ()):
        return call.name
    if _reads_own_resource(call):
        return None
    row = _find_tool_row(call)
    if row is not None:
        return call.name if call.has_body or not row.only_with_body else None
    if call.verb is ToolVerb.FETCH:
        return call.name
    places = _Places(call.host, workspace_folder, home, tuple(trusted_folders), current_folder or workspace_folder)
    if call.verb in {ToolVerb.READ, ToolVerb.SEARCH}:
        if any(_ADDRESS in path and not path.startswith("file://") for path in call.paths):
            return call.name
        return OUTSIDE if any(places.is_outside(path, places.start) for path in call.paths) else None
    if call.verb is ToolVerb.SHELL and call.command:
        return _find_in_shell(call.command, places)
    return None


def matches_name(pattern: str, name: str) -> bool:
    """Whether a name is of a pattern in which `*` stands for anything, in time that grows with the name."""
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *middle, last = rest
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _find_tool_row(call: ToolCall) -> rows.ToolRow | None:
    name = _NO_WORD.sub("_", call.name.lower()).strip("_")
    for row in rows.TOOLS:
        if row.host in {"", call.host} and matches_name(row.pattern, name):
            return row
    return None


def _reads_own_resource(call: ToolCall) -> bool:
    """A host's own tool that shows what our server offers; a tool of another server may take any word as `server`."""
    return call.name in _RESOURCE_TOOLS and call.arguments.get("server") in _OWN_SERVERS


class _Places:
    """Where files are trusted. Paths are taken as they are written: the disk is not asked."""

    def __init__(
        self,
        host: str,
        workspace: PurePath | None,
        home: PurePath | None,
        trusted: tuple[PurePath, ...],
        start: PurePath | None,
    ) -> None:
        self.start = "/" if start is None else str(start)
        self._home = None if home is None else str(home)
        own = [] if home is None else [home / row.folder for row in rows.OWN_FOLDERS if row.host in {"", host}]
        known = [*trusted, *own, *([] if workspace is None else [workspace])]
        self._inside = [PurePosixPath(posixpath.normpath(str(folder))) for folder in known]

    def resolve(self, path: str, start: str) -> str:
        for prefix in ("~", "$HOME"):
            if self._home is not None and (path == prefix or path.startswith(prefix + "/")):
                path = self._home + path[len(prefix) :]
        return posixpath.normpath(posixpath.join(start, path))

    def is_outside(self, path: str, start: str) -> bool:
        place = PurePosixPath(self.resolve(path.removeprefix("file://"), start))
        return not any(place.is_relative_to(folder) for folder in self._inside)


def _find_in_shell(command: str, places: _Places) -> str | None:
    start = places.start
    for segment in _CUT.split(command.replace("${HOME}", "$HOME")):
        words = _skip_to_program(segment.split())
        if not words:
            continue
        program = _name_program(words[0])
        if program == "cd" and len(words) > 1:
            start = places.resolve(words[1].strip(_QUOTES), start)
            continue
        found = program if program in rows.INTERPRETERS and _ADDRESS in command else None
        if program in rows.WRAPPERS and not found:  # what it starts may stand anywhere
            found = next((name for word in words[1:] if (name := _name_program(word)) in _ALWAYS), None)
        while words and (program := _name_program(words[0])) in rows.WRAPPERS:
            words = _skip_options(words[1:])
        found = found or (_find_program(words, command) if words else None)
        if found:
            return f"shell: {found}"
        read = _iter_read_paths(program, words[1:], is_away=places.is_outside(start, start))
        if any(places.is_outside(path, start) for path in read):
            return OUTSIDE
    return "shell: /dev/tcp" if "/dev/tcp/" in command else None


_ALWAYS = frozenset(row.program for row in rows.PROGRAMS if not row.words)


def _find_program(words: Sequence[str], command: str) -> str | None:
    """The name of the program that these words start, when it reads untrusted text."""
    program = _name_program(words[0])
    if program in _ALWAYS:
        return program
    if program in rows.INTERPRETERS and _ADDRESS in command:
        return program
    said = tuple(_iter_plain_words(program, words[1:]))
    for row in rows.PROGRAMS:
        if row.program == program and row.words and said[: len(row.words)] == row.words:
            return " ".join((program, *row.words))
    if program == "git" and said[:1] in {("fetch",), ("pull",)} and any(map(_is_foreign_remote, said[1:])):
        return f"git {said[0]}"
    if program == "rsync" and any(":" in word for word in said):
        return program
    return None


def _is_foreign_remote(word: str) -> bool:
    """A remote that is not one of the workspace's own names, or somebody's pull request."""
    return _ADDRESS in word or "@" in word or "pull/" in word or "merge-requests/" in word


def _skip_to_program(words: Sequence[str]) -> list[str]:
    kept = list(words)
    while kept and (kept[0] in rows.KEYWORDS or _ASSIGNMENT.match(kept[0])):
        del kept[0]
    return kept


def _skip_options(words: Sequence[str]) -> list[str]:
    """What a wrapper starts: the first word that is no option, number or assignment."""
    kept = list(words)
    while kept and (kept[0].startswith("-") or kept[0][:1].isdigit() or _ASSIGNMENT.match(kept[0])):
        del kept[0]
    return kept


def _name_program(word: str) -> str:
    return word.strip(_QUOTES).rpartition("/")[2].lower().removesuffix(".exe")


def _iter_plain_words(program: str, words: Sequence[str]) -> Iterator[str]:
    """The words that are neither options nor their values, without quotes."""
    with_value = rows.OPTIONS_WITH_VALUE.get(program, frozenset())
    is_value = False
    for word in words:
        if is_value or word.startswith("-"):
            is_value = not is_value and word in with_value
        else:
            yield word.strip(_QUOTES)


def _iter_read_paths(program: str, words: Sequence[str], *, is_away: bool) -> Iterator[str]:
    """What may be files that a program shows; in a folder of the workspace only those that lead out of it."""
    for word in words:
        if program not in rows.READERS and (program not in rows.PATTERN_READERS or word[:1] in _QUOTES):
            continue
        path = word.strip(_QUOTES + "<>")
        is_elsewhere = path.startswith(("/", "~", "$HOME")) or ".." in path.split("/")
        if (is_elsewhere or (is_away and path and not path.startswith("-"))) and not path.startswith(
            ("/dev/", "/proc/")
        ):
            yield path
