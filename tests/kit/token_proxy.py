"""A proxy for clients that cannot send a token: it adds one, and leaves every other header as the client sent it.

Its own name in Host and Origin becomes the server's, a foreign one stays foreign.
"""

from __future__ import annotations

import http.client
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.kit.program import TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.mcp import HttpServer

_OF_ONE_HOP = {"connection", "transfer-encoding", "keep-alive"}


@contextmanager
def start_token_proxy(server: HttpServer) -> Iterator[str]:
    """Serves before the server, and yields the URL. At the end the server is ended first: its streams have no end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            own = f"localhost:{proxy.server_port}"
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            with closing(http.client.HTTPConnection(server.host, timeout=TIMEOUT_S)) as connection:
                self.pass_on(connection, own, body)

        def pass_on(self, connection: http.client.HTTPConnection, own: str, body: bytes) -> None:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _OF_ONE_HOP:
                    connection.putheader(name, value.replace(own, server.host))
            connection.putheader("Authorization", f"Bearer {server.token}")
            connection.endheaders(body)
            with closing(connection.getresponse()) as answer:
                self.answer(answer)

        def answer(self, answer: http.client.HTTPResponse) -> None:
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _OF_ONE_HOP:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            while piece := answer.read1():
                self.wfile.write(piece)
                self.wfile.flush()

        do_GET = do_POST = do_DELETE = forward  # noqa: N815 - the names that the base class looks for

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (OSError, http.client.HTTPException):  # the client is gone, or the server is
                self.close_connection = True

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = False
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{proxy.server_address[1]}/mcp"
    finally:
        server.process.kill()
        server.process.wait(TIMEOUT_S)
        proxy.shutdown()
        thread.join()
        proxy.server_close()
