"""Which bytes an install, or its removal, puts in the place of which. Pure: the files come in as bytes.

What the user wrote stays: unknown keys, comments, order, other servers and hooks. An entry that has memrepo's name and
is not memrepo's is not touched without `is_forced`. Installing twice changes nothing the second time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memrepo.errors import Refused
from memrepo.installs.config_file import decode_config
from memrepo.installs.json_text import append_item, find_node, has_value, parse_json, remove_value, set_member
from memrepo.installs.pieces import (
    SERVER_NAME,
    HookEntries,
    OwnFile,
    ServerEntry,
    is_our_handler,
    is_our_server,
)
from memrepo.installs.record import make_digest
from memrepo.installs.toml_text import find_table, parse_toml, remove_table, set_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from memrepo.installs.json_text import Step
    from memrepo.installs.pieces import Piece
    from memrepo.installs.record import RecordedFile

_HOOKS = "hooks"
_NEW_DOCUMENT = "{}\n"
_ENVIRONMENTS = ("env", "environment")
_OUR_VARIABLES = frozenset({"MEMREPO_HOME"})


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One file's bytes before and after; None where there is no file. `made` are the containers put into it."""

    path: Path
    before: bytes | None
    after: bytes | None
    made: tuple[tuple[Step, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """All edits of one act, and what is left for the user to know."""

    edits: tuple[FileEdit, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Work:
    """The files as they become, while a plan is made."""

    present: Mapping[Path, bytes | None]
    now: dict[Path, bytes | None] = field(default_factory=dict)
    made: dict[Path, list[tuple[Step, ...]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def read(self, path: Path) -> bytes | None:
        return self.now.get(path, self.present.get(path))

    def read_text(self, path: Path) -> tuple[str, str]:
        """The byte order mark and the text; what is missing or blank is an empty document in JSON."""
        mark, text = decode_config(self.read(path) or b"", file=str(path))
        return mark, text

    def make_plan(self) -> InstallPlan:
        edits = [
            FileEdit(path, self.present.get(path), data, tuple(self.made.get(path, ())))
            for path, data in self.now.items()
            if data != self.present.get(path)
        ]
        return InstallPlan(tuple(edits), tuple(self.notes))


def list_files(pieces: Iterable[Piece]) -> tuple[Path, ...]:
    """Every file that a plan of these pieces looks at."""
    paths: list[Path] = []
    for piece in pieces:
        paths += [piece.path] if isinstance(piece, OwnFile) else piece.file.candidates
    return tuple(dict.fromkeys(paths))


def plan_install(
    pieces: Sequence[Piece],
    *,
    present: Mapping[Path, bytes | None],
    recorded: Mapping[Path, RecordedFile],
    is_forced: bool = False,
) -> InstallPlan:
    """What to write so that all pieces stand. Errors: Refused (an entry that is not memrepo's), InvalidInput."""
    work = _Work(present)
    for piece in pieces:
        if isinstance(piece, OwnFile):
            _install_own_file(work, piece, recorded.get(piece.path), is_forced=is_forced)
        elif isinstance(piece, ServerEntry):
            _install_server(work, piece, is_forced=is_forced)
        else:
            _install_hooks(work, piece)
    return work.make_plan()


def plan_uninstall(
    pieces: Sequence[Piece],
    *,
    present: Mapping[Path, bytes | None],
    recorded: Mapping[Path, RecordedFile],
    backups: Mapping[Path, bytes | None],
    is_forced: bool = False,
) -> InstallPlan:
    """What to write so that nothing of memrepo stands. Errors: InvalidInput.

    A file that is as memrepo left it gets its old bytes back (`backups`); out of any other one only the entries come.
    """
    work = _Work(present)
    for path, one in recorded.items():
        data = present.get(path)
        if data is None or make_digest(data) != one.after:
            continue
        if one.was_absent:
            work.now[path] = None
        elif backups.get(path) is not None:
            work.now[path] = backups[path]
    restored = frozenset(work.now)
    for piece in pieces:
        if isinstance(piece, OwnFile):
            if piece.path not in restored:
                _remove_own_file(work, piece, is_forced=is_forced)
            continue
        for path in piece.file.candidates:
            if path not in restored and work.read(path) is not None:
                _remove_entries(work, path, piece, recorded.get(path))
    return work.make_plan()


# Files of memrepo's own


def _install_own_file(work: _Work, piece: OwnFile, recorded: RecordedFile | None, *, is_forced: bool) -> None:
    data = work.read(piece.path)
    if data is None or data == piece.data or is_forced:
        work.now[piece.path] = piece.data
        return
    if recorded is not None and recorded.after and make_digest(data) != recorded.after:
        raise _refuse(f"{piece.path} was changed since memrepo wrote it", target=str(piece.path))
    if recorded is None and piece.mark not in data:
        raise _refuse(f"{piece.path} is there and is not memrepo's", target=str(piece.path))
    work.now[piece.path] = piece.data


def _remove_own_file(work: _Work, piece: OwnFile, *, is_forced: bool) -> None:
    data = work.read(piece.path)
    if data is None or (data != piece.data and piece.mark not in data):
        return
    if data == piece.data or is_forced:
        work.now[piece.path] = None
    else:
        work.notes.append(f"{piece.path} is not as memrepo wrote it and was left; to remove it too: --force")


# The MCP server's entry


def _install_server(work: _Work, piece: ServerEntry, *, is_forced: bool) -> None:
    path = piece.file.find(work.present)
    mark, text = work.read_text(path)
    file = str(path)
    if not piece.file.is_toml:
        text = _start_document(text)
    whole = parse_toml(text, file=file) if piece.file.is_toml else parse_json(text, file=file).value
    place = (*_choose_container(whole, piece.containers), SERVER_NAME)
    there = find_table(whole, place)
    if there is not None and not is_our_server(there) and not is_forced:
        raise _refuse(f"{file} has an entry {'.'.join(place)} that does not start memrepo", target=file)
    wanted = _merge_server(there, piece.value) if is_our_server(there) else dict(piece.value)
    if wanted == there:
        return
    if piece.file.is_toml:
        text = set_table(text, place, wanted, file=file)
    else:
        edited = set_member(text, place, wanted, file=file)
        text = edited.text
        work.made.setdefault(path, []).extend(edited.made)
    work.now[path] = (mark + text).encode()


def _start_document(text: str) -> str:
    """A text that holds a JSON value: what is empty, or only comments, gets an empty object at its end."""
    if has_value(text):
        return text
    return text + _NEW_DOCUMENT if not text or text.endswith("\n") else f"{text}\n{_NEW_DOCUMENT}"


def _choose_container(whole: object, containers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    for container in containers[:-1]:
        there = find_table(whole, container) if isinstance(whole, dict) else None
        if isinstance(there, dict) and "type" not in there:  # a server may be called as a container is
            return container
    return containers[-1]


def _merge_server(there: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """memrepo's keys over those that the user added to the entry."""
    merged = {**there, **value}
    for name in _ENVIRONMENTS:
        kept = {key: one for key, one in (there.get(name) or {}).items() if key not in _OUR_VARIABLES}
        variables = kept | dict(value.get(name, {}))
        merged.pop(name, None)
        if variables:
            merged[name] = variables
    return merged


# Hooks


def _install_hooks(work: _Work, piece: HookEntries) -> None:
    path = piece.file.find(work.present)
    file = str(path)
    mark, text = work.read_text(path)
    text = before = _start_document(text)
    for key, value in piece.defaults:
        if find_node(parse_json(text, file=file), (key,)) is None:
            text = set_member(text, (key,), value, file=file).text
    for event, element in piece.elements:
        ours = list(_iter_ours(text, file, event))
        for place in reversed(ours[1:]):
            text = _remove_hook(text, file, place)
        if not ours:
            edited = append_item(text, (_HOOKS, event), element, file=file)
            text = edited.text
            work.made.setdefault(path, []).extend(edited.made)
            continue
        group = ours[0][:3]
        node = find_node(parse_json(text, file=file), group)
        if node is not None and node.value == element:
            continue
        others = node.value.get(_HOOKS, []) if node is not None else []
        if len(others) > 1:  # the user put hooks of their own beside ours
            text = _remove_hook(text, file, ours[0])
            text = append_item(text, (_HOOKS, event), element, file=file).text
        else:
            text = set_member(text, group, element, file=file).text
    known = {event for event, _ in piece.elements}
    text = _remove_hooks(text, file, except_events=known)
    if text != before or work.read(path) is None:
        work.now[path] = (mark + text).encode()


def _iter_ours(text: str, file: str, event: str | None = None) -> Iterator[tuple[Step, ...]]:
    """Where hooks of ours stand: `(hooks, event, n)`, or `(hooks, event, n, hooks, m)` inside a group."""
    hooks = find_node(parse_json(text, file=file), (_HOOKS,))
    whole = hooks.value if hooks is not None and isinstance(hooks.value, dict) else {}
    for name, elements in whole.items():
        if (event is not None and name != event) or not isinstance(elements, list):
            continue
        for number, element in enumerate(elements):
            if is_our_handler(element):
                yield _HOOKS, name, number
            inner = element.get(_HOOKS) if isinstance(element, dict) else None
            for position, handler in enumerate(inner if isinstance(inner, list) else ()):
                if is_our_handler(handler):
                    yield _HOOKS, name, number, _HOOKS, position


def _remove_hooks(
    text: str, file: str, *, except_events: Iterable[str] = (), made: Iterable[tuple[Step, ...]] = ()
) -> str:
    kept = set(except_events)
    while place := next((one for one in _iter_ours(text, file) if one[1] not in kept), None):
        text = _remove_hook(text, file, place, made=made)
    return text


def _remove_hook(text: str, file: str, place: tuple[Step, ...], *, made: Iterable[tuple[Step, ...]] = ()) -> str:
    """Takes one hook out; a group that held nothing else goes with it."""
    group = find_node(parse_json(text, file=file), place[:3])
    is_alone = group is not None and len(group.value.get(_HOOKS, ())) == 1
    return remove_value(text, place[:3] if is_alone else place, made=set(made), file=file)


# Taking entries out


def _remove_entries(work: _Work, path: Path, piece: ServerEntry | HookEntries, recorded: RecordedFile | None) -> None:
    file = str(path)
    mark, text = work.read_text(path)
    if not text.strip():
        return
    before, made = text, recorded.made if recorded is not None else ()
    if isinstance(piece, HookEntries):
        text = _remove_hooks(text, file, made=made)
    elif piece.file.is_toml:
        place = (*piece.containers[-1], SERVER_NAME)
        if is_our_server(find_table(parse_toml(text, file=file), place)):
            text = remove_table(text, place, file=file)
    else:
        for container in piece.containers:
            there = find_node(parse_json(text, file=file), (*container, SERVER_NAME))
            if there is not None and is_our_server(there.value):
                text = remove_value(text, (*container, SERVER_NAME), made=made, file=file)
    if text == before:
        return
    is_ours_alone = recorded is not None and recorded.was_absent and _is_bare(text, piece, file)
    work.now[path] = None if is_ours_alone else (mark + text).encode()


def _is_bare(text: str, piece: ServerEntry | HookEntries, file: str) -> bool:
    """Whether nothing is left but what memrepo puts into a new file."""
    if piece.file.is_toml:
        return not text.strip()
    defaults = dict(piece.defaults) if isinstance(piece, HookEntries) else {}
    return parse_json(text, file=file).value in ({}, defaults) and "//" not in text and "/*" not in text


def _refuse(why: str, *, target: str) -> Refused:
    return Refused(
        f"{why}; nothing was changed",
        hint="look at it; to put memrepo's in its place: --force",
        rule="foreign-entry",
        actor="user",
        action="install",
        target=target,
    )
