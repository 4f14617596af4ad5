"""What is done for one event: the ledger is told, a block is built, a call is stamped or denied.

Cheap things first: a call that has nothing to do with memory costs the reading of the settings and a few looks at the
disk. The memory repo is opened only to build the block and to ask whether a task may read below the root.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memrepo.errors import InvalidInput, MemrepoError
from memrepo.policy.tool_calls import ToolVerb
from memrepo.surfaces.hooks import decide
from memrepo.surfaces.hooks.message import HookAnswer, HookEvent
from memrepo.surfaces.hooks.objections import find_objection, find_shell_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memrepo.sessions import Session, SessionLedger
    from memrepo.surfaces.hooks.message import HookMessage
    from memrepo.surfaces.hooks.surroundings import Guarded, HookSurroundings

_NOTHING = HookAnswer()
_WITHOUT_END = frozenset({"codex", "vscode"})
"""Hosts that never tell the end of a session: old records go when the next one starts."""
_DEAF_SUB_AGENTS = frozenset({"cursor"})
"""Hosts whose event of a starting sub-agent takes no context."""
_SESSION_TAKING = frozenset({ToolVerb.READ, ToolVerb.SEARCH, ToolVerb.SHELL})


def act(message: HookMessage, surroundings: HookSurroundings, *, can_rewrite: bool) -> HookAnswer:
    """Does what an event asks for. Errors: those of the ledger and of reading memory."""
    if not message.session_id:
        return _decide_call(message, surroundings) if message.event is HookEvent.BEFORE_TOOL else _NOTHING
    ledger = surroundings.ledger
    match message.event:
        case HookEvent.SESSION_START:
            return _start(message, surroundings)
        case HookEvent.PROMPT:
            if message.prompt and not message.is_sub_agent and decide.is_typed(message.prompt):
                ledger.add_message(message.host, message.session_id, message.prompt)
        case HookEvent.BEFORE_TOOL:
            return _meet_call(message, surroundings, can_rewrite=can_rewrite)
        case HookEvent.AFTER_TOOL:
            _watch_read(message, surroundings)
        case HookEvent.SUB_AGENT_START | HookEvent.SUB_AGENT_STOP:
            _note_sub_agent(message, ledger)
            if message.event is HookEvent.SUB_AGENT_START:
                return _show_swarm(message, surroundings)
        case HookEvent.SESSION_END:
            ledger.end(message.host, message.session_id)
            ledger.prune()
    return _NOTHING


def _start(message: HookMessage, surroundings: HookSurroundings) -> HookAnswer:
    from memrepo.sessions import Caller, make_key

    ledger = surroundings.ledger
    is_own_session = message.parent_id is not None or not message.is_sub_agent or message.agent_id == message.session_id
    if is_own_session:
        parent = None if message.parent_id is None else make_key(message.host, message.parent_id)
        ledger.start(
            message.host, message.session_id, folder=message.folder, parent=parent, is_resumed=message.is_resumed
        )
        if message.host in _WITHOUT_END:
            ledger.prune()
    if message.is_sub_agent:
        _note_sub_agent(message, ledger)
        return _show_swarm(message, surroundings)
    session = ledger.find(message.host, message.session_id)
    caller = None if session is None else Caller(session)
    with surroundings.open_repo() as repo:
        task = repo.make_task(caller, workspace_folder=message.folder)
        if not repo.decide_injection(task).is_allowed:
            return _NOTHING
        if repo.is_missing:
            return HookAnswer(context=decide.MISSING)
        swarm = repo.swarms.block(repo.make_member(caller), task).text if surroundings.swarms else ""
        return HookAnswer(context="\n\n".join(filter(None, (repo.context(task).text, swarm))))


def _show_swarm(message: HookMessage, surroundings: HookSurroundings) -> HookAnswer:
    """What a sub-agent is shown: nothing of memory, and of notes those of its own swarm."""
    if not surroundings.swarms or message.host in _DEAF_SUB_AGENTS:
        return _NOTHING
    session = _find_session(message, surroundings)
    if session is None:
        return _NOTHING
    from memrepo.sessions import Caller

    caller = Caller(session, message.agent_id)
    with surroundings.open_repo() as repo:
        task = repo.make_task(caller, workspace_folder=message.folder)
        return HookAnswer(context=repo.swarms.block(repo.make_member(caller), task).text)


def _note_sub_agent(message: HookMessage, ledger: SessionLedger) -> None:
    if message.agent_id is None or message.agent_id == message.session_id:
        return
    ledger.add_sub_agent(message.host, message.session_id, message.agent_id)
    if message.host == "cursor" and message.event is HookEvent.SUB_AGENT_START:
        # Its calls may come under its own id: then they are a sub-agent's, and share the taint.
        from memrepo.sessions import make_key

        parent = make_key(message.host, message.session_id)
        ledger.start(message.host, message.agent_id, folder=message.folder, parent=parent)


# Calls


def _meet_call(message: HookMessage, surroundings: HookSurroundings, *, can_rewrite: bool) -> HookAnswer:
    call = message.call
    if call is None:
        return _NOTHING
    if call.memory_tool is not None:
        return _stamp(message, call.memory_tool, call.arguments, surroundings.ledger, can_rewrite=can_rewrite)
    answer = _decide_call(message, surroundings)
    if not answer.denial:
        # A call that fails has no event of its own in some hosts, and may have shown what it read.
        _watch_read(message, surroundings)
    return answer


def _stamp(
    message: HookMessage, tool: str, arguments: Mapping[str, Any], ledger: SessionLedger, *, can_rewrite: bool
) -> HookAnswer:
    """Says whose call it is. What the agent put in the stamp's place is replaced."""
    from memrepo.sessions.stamps import STAMP_ARGUMENT

    if not can_rewrite:
        ledger.leave_ticket(message.host, message.session_id, tool, arguments, agent_id=message.agent_id)
        return _NOTHING
    stamp = ledger.make_stamp(message.host, message.session_id, tool, arguments, agent_id=message.agent_id)
    return HookAnswer(arguments={**arguments, STAMP_ARGUMENT: stamp})


def _decide_call(message: HookMessage, surroundings: HookSurroundings) -> HookAnswer:
    call = message.call
    if call is None or call.memory_tool is not None:
        return _NOTHING
    everything = frozenset(surroundings.guarded)
    why = find_objection(call, message, surroundings, readable=everything)
    if why is None:  # what the task may read is only asked where it matters: that opens the repo
        why = find_objection(call, message, surroundings, readable=frozenset())
        if why is not None and (readable := _find_readable(message, surroundings)):
            is_all = readable == everything
            why = None if is_all else find_objection(call, message, surroundings, readable=readable)
            if why is None:
                _note_memory_read(message, surroundings)
    return _NOTHING if why is None else HookAnswer(denial=decide.make_denial(why))


def _note_memory_read(message: HookMessage, surroundings: HookSurroundings) -> None:
    """Counts the session among those that read memory, once; a count that fails costs the count, never the read."""
    with suppress(MemrepoError):
        session = _find_session(message, surroundings)
        if session is not None and not session.has_read_memory:
            surroundings.ledger.add_memory_read(message.host, message.session_id)


def _find_readable(message: HookMessage, surroundings: HookSurroundings) -> frozenset[Guarded]:
    """The roots that this task may read: none where its memory layer is off, and teams that serve it. Doubt is no."""
    if message.is_sub_agent or surroundings.settings is None:
        return frozenset()
    from memrepo.sessions import Caller

    try:
        session = _find_session(message, surroundings)
        with surroundings.open_repo() as repo:
            task = repo.make_task(None if session is None else Caller(session), workspace_folder=message.folder)
            is_on = repo.decide_injection(task).is_allowed
    except MemrepoError:
        return frozenset()
    workspace_id = task.workspace.id if task.workspace else None
    return frozenset(
        one for one in surroundings.guarded if is_on and (one.team is None or one.team.serves(workspace_id))
    )


# Untrusted reads


def _watch_read(message: HookMessage, surroundings: HookSurroundings) -> None:
    from memrepo.policy.untrusted import find_untrusted_read

    call = message.call
    if call is None:
        return
    calls = [call]
    if not call.is_known:  # what it is told to run reads as a shell command would
        calls += [replace(call, verb=ToolVerb.SHELL, command=one) for one in decide.iter_commands(call.arguments)]
    session = None
    workspace_folder = message.folder
    if any(one.verb in _SESSION_TAKING for one in calls):
        session = _find_session(message, surroundings)
        workspace_folder = _find_project(session, message, surroundings)
    settings = surroundings.settings
    labels = (
        find_untrusted_read(
            replace(one, paths=tuple(decide.make_absolute(path, message.folder) for path in one.paths)),
            workspace_folder=workspace_folder,
            listed=None if settings is None else settings.untrusted_tools,
            home=surroundings.home,
            trusted_folders=surroundings.roots,
            current_folder=find_shell_folder(call, message.folder),
        )
        for one in calls
    )
    label = next((label for label in labels if label is not None), None)
    if label is None:
        return
    session = session or _find_session(message, surroundings)
    if session is None or label not in session.untrusted_reads:
        surroundings.ledger.add_untrusted_read(message.host, message.session_id, label)


def _find_session(message: HookMessage, surroundings: HookSurroundings) -> Session | None:
    return surroundings.ledger.find(message.host, message.session_id) if message.session_id else None


def _find_project(session: Session | None, message: HookMessage, surroundings: HookSurroundings) -> Path | None:
    """The project that a session began in: going elsewhere later does not make that place trusted."""
    from memrepo.workspace_resolution import resolve_workspace

    folder = (session.folder if session is not None else None) or message.folder
    if folder is None:
        return None
    try:
        workspace = resolve_workspace(
            str(folder),
            known=() if surroundings.settings is None else surroundings.settings.workspaces,
            home=surroundings.home,
            current_folder=folder,
            memory_root=surroundings.roots[0],
        )
    except InvalidInput:  # the home folder or the memory folder: no project
        return None
    return workspace.root
