"""Why a tool call is denied: by the command that it runs, the paths that it names, and what else it is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.policy.tool_calls import ToolVerb
from memrepo.surfaces.hooks import decide
from memrepo.surfaces.hooks.surroundings import MEMORY_FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.policy.tool_calls import ToolCall
    from memrepo.surfaces.hooks.message import HookMessage
    from memrepo.surfaces.hooks.surroundings import Guarded, HookSurroundings


def find_objection(
    call: ToolCall, message: HookMessage, surroundings: HookSurroundings, *, readable: frozenset[Guarded]
) -> str | None:
    """Why a call may not be made when only these roots may be read, None when nothing speaks against it."""
    if call.verb is ToolVerb.AGENT:
        return None
    if decide.changes_unnamed_files(call):
        texts = tuple(decide.iter_argument_texts(call.arguments))
        return decide.UNDECIDED if decide.names_any(texts, surroundings.guarded_folders, surroundings.home) else None
    commands = [call.command] if call.command else []
    if not call.is_known:
        commands = list(decide.iter_commands(call.arguments))
    folder = find_shell_folder(call, message.folder)
    whys = (_find_in_command(command, folder, surroundings, readable=readable) for command in commands)
    why = next((why for why in whys if why is not None), None)
    if why is None and (call.paths or call.verb is ToolVerb.SEARCH):
        why = _find_in_paths(call, message, surroundings, readable=readable)
    if why is None and not call.is_known:
        why = _find_in_texts(call, commands, surroundings)
    return why


def _find_in_command(
    command: str, folder: Path | None, surroundings: HookSurroundings, *, readable: frozenset[Guarded]
) -> str | None:
    from memrepo.policy.own_commands import find_own_command
    from memrepo.policy.shell_commands import OFF, find_memory_touch

    why = find_own_command(command, is_readable=surroundings.guarded[0] in readable)
    if why is not None:
        return why
    home = surroundings.home
    for one in surroundings.guarded:
        named = _add_real(one.folders)
        why = find_memory_touch(command, roots=named, home=home, folder=folder, is_readable=one in readable)
        if why is not None:
            return why.replace(MEMORY_FOLDER, one.name)
    closed = _add_real(surroundings.closed)
    why = find_memory_touch(command, roots=closed, home=home, folder=folder, is_readable=True)
    if why is None and find_memory_touch(command, roots=closed, home=home, folder=folder, is_readable=False) == OFF:
        why = OFF
    return None if why is None else decide.CLOSED


def _add_real(folders: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys((*folders, *(Path(one).resolve() for one in folders))))


def _find_in_paths(
    call: ToolCall, message: HookMessage, surroundings: HookSurroundings, *, readable: frozenset[Guarded]
) -> str | None:
    from memrepo.files.reach import resolve_reach
    from memrepo.policy.access import GuardedRoot, decide_access

    folders, closed = surroundings.guarded_folders, surroundings.closed
    guarded_closed = [GuardedRoot(folder, is_readable=False) for folder in closed]
    base = message.folder or surroundings.home
    operation = decide.find_operation(call)
    for path in call.paths or (str(base),):
        places = resolve_reach(path, base=base, home=surroundings.home, roots=(*folders, *closed))
        for one in surroundings.guarded:
            roots = [GuardedRoot(root, one in readable, one.name, is_team=bool(one.team)) for root in one.folders]
            why = decide.find_objection(call, decide_access(places, operation, roots=roots))
            if why is not None:
                return why.replace(MEMORY_FOLDER, one.name)
        if not decide_access(places, operation, roots=guarded_closed).is_allowed:
            return decide.CLOSED
    return None


def _find_in_texts(call: ToolCall, commands: Sequence[str], surroundings: HookSurroundings) -> str | None:
    """What an unknown tool may be told in other words than a path or a command that was judged."""
    judged = {*call.paths, *commands}
    home, folders = surroundings.home, (*surroundings.guarded_folders, *surroundings.closed)
    if decide.names_any(tuple(decide.iter_programs(call.arguments)), folders, home):
        return decide.UNDECIDED
    others = [text for text in decide.iter_argument_texts(call.arguments) if text not in judged]
    return decide.UNDECIDED if decide.writes_any(others, folders, home) else None


def find_shell_folder(call: ToolCall, folder: Path | None) -> Path | None:
    """Where a command starts: some tools take a folder of their own."""
    for name in ("workdir", "cwd", "working_directory", "dir_path", "directory"):
        value = call.arguments.get(name)
        if isinstance(value, str) and value:
            return Path(value) if folder is None else folder / value
    return folder
