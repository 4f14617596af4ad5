"""One run of a hook: a host's JSON on stdin, its answer on stdout, exit status 0 whatever happens.

The only place of the hooks that catches every exception. A failure of ours is an empty answer and a line in the log;
but when a tool is about to run and its call names the memory folder, the answer is a denial: nothing decided means no.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from memrepo.surfaces.hooks.codecs import HOSTS, load_codec
from memrepo.surfaces.hooks.message import HookAnswer, HookEvent, HookMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

    from memrepo.surfaces.hooks.arguments import HookArguments
    from memrepo.surfaces.hooks.surroundings import HookSurroundings

INPUT_LIMIT_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_DENYING = HookEvent.BEFORE_TOOL
_WATCHED = frozenset({HookEvent.BEFORE_TOOL, HookEvent.AFTER_TOOL, HookEvent.SUB_AGENT_START, HookEvent.SUB_AGENT_STOP})


class NotAnEvent(ValueError):
    """What came on stdin is no JSON object, or more than a hook reads."""


def run(arguments: HookArguments) -> int:
    """Runs one hook; always 0. Changes: the session ledger, stdout, and at a failure the log."""
    surroundings, answer = None, None
    try:
        surroundings = _make_surroundings(arguments)
        answer = _answer(arguments, surroundings)
    except Exception as error:  # noqa: BLE001 - the surface's entry point: an agent must not break on us
        _log(arguments, surroundings, error)
    if answer:
        import json

        _write(json.dumps(answer, ensure_ascii=True))
    return 0


def run_and_leave(arguments: HookArguments) -> NoReturn:
    """Runs one hook and ends the process at once: taking the interpreter apart costs more than many a hook."""
    gc.disable()
    status = run(arguments)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)  # stdout is flushed, and everything else was written without a buffer


def _answer(arguments: HookArguments, surroundings: HookSurroundings) -> Mapping[str, Any] | None:
    if arguments.host not in HOSTS or arguments.event not in set(HookEvent):
        sys.stderr.write(f"memrepo hook: give one of {', '.join(HOSTS)}, and one of {', '.join(HookEvent)}\n")
        return None
    return answer_event(arguments, surroundings, lambda: _read_all(sys.stdin.buffer))


def answer_event(
    arguments: HookArguments, surroundings: HookSurroundings, read: Callable[[], bytes]
) -> Mapping[str, Any] | None:
    """The answer to one event of a known host, in its own form; None when there is nothing to say.

    Changes: the session ledger, and at a failure the log.
    """
    event, codec = HookEvent(arguments.event), load_codec(arguments.host)
    message = HookMessage(arguments.host, event, "")
    data = b""
    try:
        data = read()
        document = _parse(data)
        message = codec.read(event, document)
        from memrepo.surfaces.hooks.act import act

        answer = act(message, surroundings, can_rewrite=codec.can_rewrite)
    except Exception as error:  # noqa: BLE001 - decided without what failed
        _log(arguments, surroundings, error)
        _leave_doubt(arguments, message, data, surroundings)
        answer = _decide_blindly(data, event, surroundings)
    return codec.write(message, answer)


def _leave_doubt(arguments: HookArguments, message: HookMessage, data: bytes, surroundings: HookSurroundings) -> None:
    """Says of the session that something in it was not looked at: it may have been an untrusted read."""
    if message.event not in _WATCHED:
        return
    from memrepo.surfaces.hooks import decide

    for session_id in (message.session_id,) if message.session_id else decide.find_session_ids(data):
        try:
            surroundings.ledger.add_doubt(message.host, session_id)
        except Exception as error:  # noqa: BLE001 - as above; the other sessions are still told
            _log(arguments, surroundings, error)


def _decide_blindly(data: bytes, event: HookEvent, surroundings: HookSurroundings) -> HookAnswer:
    """A denial when a call could not be looked at and its text names the memory folder, or is too long to know."""
    if event is not _DENYING:
        return HookAnswer()
    from memrepo.surfaces.hooks import decide

    if len(data) > INPUT_LIMIT_BYTES:
        return HookAnswer(denial=decide.make_denial(decide.TOO_LARGE))
    text = decide.read_escapes(data.replace(b"\0", b"").decode("utf-8", "replace"))
    if not decide.names_any((text,), (*surroundings.guarded_folders, *surroundings.closed), surroundings.home):
        return HookAnswer()
    return HookAnswer(denial=decide.make_denial(decide.UNDECIDED))


def _parse(data: bytes) -> dict[str, Any]:
    import json

    if len(data) > INPUT_LIMIT_BYTES:
        raise NotAnEvent("too large")
    try:
        document = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise NotAnEvent("not JSON") from error
    if not isinstance(document, dict):
        raise NotAnEvent("no object")
    return document


def _read_all(stream: BinaryIO) -> bytes:
    """Everything, so that the host can write all of it; of what is too large the beginning and the end are kept.

    Hosts name the session at one of them.
    """
    kept = stream.read(INPUT_LIMIT_BYTES + 1)
    if len(kept) <= INPUT_LIMIT_BYTES:
        return kept
    end = b""
    while chunk := stream.read(_CHUNK_BYTES):
        end = (end + chunk)[-_CHUNK_BYTES:]
    return kept + end


def _make_surroundings(arguments: HookArguments) -> HookSurroundings:
    import datetime as dt

    from memrepo.errors import InvalidInput
    from memrepo.locations import find_locations
    from memrepo.profiles import DEFAULT_PROFILE, check_profile
    from memrepo.surfaces.environment import read_environment
    from memrepo.surfaces.hooks.surroundings import HookSurroundings

    environment = read_environment()
    path = None if not arguments.path else Path(os.path.abspath(Path(arguments.path).expanduser()))  # noqa: PTH100
    surroundings = HookSurroundings(
        locations=find_locations(environment.memrepo_home),
        home=environment.home,
        profile=DEFAULT_PROFILE,
        path=path,
        clock=lambda: dt.datetime.now().astimezone(),
    )
    try:
        surroundings.profile = check_profile(arguments.profile)
    except InvalidInput as error:  # a hook that was set up badly still guards the usual memory
        _log(arguments, surroundings, error)
    return surroundings


def _log(arguments: HookArguments, surroundings: HookSurroundings | None, error: Exception) -> None:
    if surroundings is None:
        return
    from memrepo.surfaces.hooks.log import write_log

    known = (arguments.host if arguments.host in HOSTS else "?", arguments.event[:20] or "?")
    write_log(surroundings.locations.data, known, error)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):  # the host is gone
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
