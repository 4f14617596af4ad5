"""A model that is a command: the prompt as JSON on its standard input, the answer on its standard output.

The user names it in the settings, so it runs as the user's own program: without a shell, in its own process group, with
a deadline and bounded output. It is given `{"system", "user", "schema"}` and answers with the operations themselves, or
with `{"text", "usage": {"input_tokens", "output_tokens"}}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import threading
from typing import IO, TYPE_CHECKING

from memrepo.dream.models import COMMAND, RESPONSE_LIMIT_BYTES, TIMEOUT_S, Completion, count
from memrepo.errors import ModelFailed

if TYPE_CHECKING:
    from memrepo.dream.prompt import Prompt


class CommandModel:
    """A program and its arguments. What it writes to standard error goes where ours does."""

    def __init__(self, argv: tuple[str, ...], *, timeout_s: float = TIMEOUT_S) -> None:
        self._argv = argv
        self._timeout_s = timeout_s

    @property
    def name(self) -> str:
        return f"{COMMAND}:{os.path.basename(self._argv[0])}"  # noqa: PTH119 - arguments may be private

    def complete(self, prompt: Prompt) -> Completion:
        try:
            child = subprocess.Popen(  # noqa: S603 - the user's own command, as an argument list
                self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise self._failed(f"it cannot be started: {error.strerror}", 0) from None
        is_late = threading.Event()

        def end_late() -> None:
            is_late.set()
            _end(child)

        timer = threading.Timer(self._timeout_s, end_late)
        timer.start()
        try:
            data = _talk(child, prompt.to_json())
            if len(data) > RESPONSE_LIMIT_BYTES:
                _end(child)
            status = child.wait()
        finally:
            timer.cancel()
            _end(child)
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if is_late.is_set():
            raise self._failed(f"it did not end within {self._timeout_s:g} s", status)
        if len(data) > RESPONSE_LIMIT_BYTES:
            raise self._failed(f"it wrote more than {RESPONSE_LIMIT_BYTES:,} bytes", status)
        if status:
            raise self._failed(f"it ended with status {status}", status)
        return _read(data, prompt)

    def _failed(self, why: str, status: int) -> ModelFailed:
        return ModelFailed(
            f"the model {self.name} did not answer: {why}",
            hint=f"try it by hand: {shlex.quote(self._argv[0])}",
            model=self.name,
            status=status,
            attempts=1,
        )


def _talk(child: subprocess.Popen[bytes], told: bytes) -> bytes:
    """Writes the prompt while reading the answer, so that neither pipe fills up; one byte past the limit is enough."""
    assert child.stdin is not None  # noqa: S101 - both are pipes
    assert child.stdout is not None  # noqa: S101
    writer = threading.Thread(target=_write, args=(child.stdin, told))
    writer.start()
    data = child.stdout.read(RESPONSE_LIMIT_BYTES + 1)
    if len(data) > RESPONSE_LIMIT_BYTES:
        _end(child)
    writer.join()
    return data


def _write(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), pipe:  # a command need not read to the end
        pipe.write(data)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends what is left of the command's process group."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


def _read(data: bytes, prompt: Prompt) -> Completion:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        said = json.loads(text)
        if isinstance(said, dict) and isinstance(said.get("text"), str):
            usage = said.get("usage")
            usage = usage if isinstance(usage, dict) else {}
            return count(said["text"], prompt, usage.get("input_tokens"), usage.get("output_tokens"))
    return count(text, prompt, None, None)
