"""A local server that speaks OpenAI's chat completions and answers what a test scripted."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Reply:
    """One answer: a completion with this text, or any status and bytes."""

    text: str = '{"operations": []}'
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 900, "completion_tokens": 30})
    raw: bytes | None = None

    def to_bytes(self) -> bytes:
        if self.raw is not None:
            return self.raw
        message = {"role": "assistant", "content": self.text}
        document: dict[str, Any] = {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}
        if self.usage is not None:
            document["usage"] = self.usage
        return json.dumps(document).encode()


@dataclass
class ChatServer:
    """Answers in turn, the last one again and again; `answer` makes a reply from a request instead."""

    replies: list[Reply]
    answer: Callable[[dict[str, Any]], Reply] | None = None
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def reply_to(self, request: dict[str, Any]) -> Reply:
        if self.answer is not None:
            return self.answer(request)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def serve_chat(*replies: Reply, answer: Callable[[dict[str, Any]], Reply] | None = None) -> Iterator[ChatServer]:
    """Serves on a free port of this machine as long as the block runs."""
    chat = ChatServer(list(replies) or [Reply()], answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            chat.requests.append(json.loads(body))
            chat.headers.append({name.lower(): value for name, value in self.headers.items()})
            chat.paths.append(self.path)
            reply = chat.reply_to(chat.requests[-1])
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            data = reply.to_bytes()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
