"""The lines of a client, so that each request gets an answer.

The SDK passes over a line that its JSON reader refuses, and the client waits for nothing. Half a character (a lone
surrogate, as a model leaves it that cut an emoji) is mended; any other line is answered with an error, under its id
when that can be found. Source: JSON-RPC 2.0, section 5.1.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator

    from anyio.abc import ObjectSendStream
    from mcp.shared.message import SessionMessage

_HEAD_CHARS = 4096
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_ID = re.compile(r'"id"\s*:\s*("(?:[^"\\]|\\.){0,256}"|-?[0-9]{1,18}(?![0-9.eE]))')


def mend_surrogates(line: str) -> str:
    """A JSON text in which each half of a surrogate pair that stands alone is U+FFFD."""
    if "\\u" not in line:
        return line
    return _ESCAPES.sub(lambda found: "\\ufffd" if found["lone"] else found[0], line)


def find_id(line: str) -> str | int | None:
    """The id of a request that cannot be read, by what stands at its beginning or its end."""
    ends = [line] if len(line) <= 2 * _HEAD_CHARS else [line[:_HEAD_CHARS], line[-_HEAD_CHARS:]]
    for end in ends:
        found = _ID.search(end)
        if found is not None:
            try:
                said = json.loads(found[1])
            except ValueError:
                continue
            return said if isinstance(said, str | int) else None
    return None


class MessageLines:
    """The lines of a stream, without those that are no message; they are answered here."""

    def __init__(self, lines: AsyncIterable[str]) -> None:
        self._lines = lines
        self._answers: ObjectSendStream[SessionMessage] | None = None

    def answer_to(self, answers: ObjectSendStream[SessionMessage]) -> None:
        """Where answers go: the stream that the server writes to as well."""
        self._answers = answers

    async def __aiter__(self) -> AsyncIterator[str]:
        import mcp_types as types
        from mcp.shared.message import SessionMessage

        async for raw in self._lines:
            line = mend_surrogates(raw)
            try:
                types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError as error:
                if self._answers is not None and line.strip():
                    told = types.ErrorData(code=_find_code(error), message=_explain(error))
                    answer = types.JSONRPCError(jsonrpc="2.0", id=find_id(line), error=told)
                    await self._answers.send(SessionMessage(answer))
                continue
            yield line


def _find_code(error: ValueError) -> int:
    import mcp_types as types

    return types.PARSE_ERROR if "Invalid JSON" in str(error)[:300] else types.INVALID_REQUEST


def _explain(error: ValueError) -> str:
    """What is wrong, without a word of the line."""
    found = re.search(r"Invalid JSON: [a-z ]{1,80}", str(error)[:600])
    return found[0].removesuffix(" at line ") if found else "this is no JSON-RPC message"
