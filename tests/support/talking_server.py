"""An HTTP server on this machine that records requests and gives prepared answers."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A received request."""

    method: str
    path: str
    headers: Message
    body: bytes


Reply = Callable[[BaseHTTPRequestHandler], None]
"""A prepared answer. The handler's `question` is the request; other requests may run at the same time."""


def status(code: int, body: bytes = b"", **headers: str) -> Reply:
    """Return a plain answer."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


@dataclass
class TalkingServer:
    """`replies` are given in turn, the last one repeatedly. `over` is set when the test has ended."""

    address: str = ""
    asked: list[Asked] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=lambda: [status(200)])
    over: threading.Event = field(default_factory=threading.Event)
    sent: int = 0
    while_stalling: Callable[[], None] = lambda: None
    """Called repeatedly by a reply that keeps its client waiting."""

    @property
    def paths(self) -> list[str]:
        return [each.path for each in self.asked]

    def byte_by_byte(self, handler: BaseHTTPRequestHandler) -> None:
        """Send an answer that never ends, one byte at a time, until the client leaves."""
        handler.send_response(200)
        handler.end_headers()
        while not self.over.wait(0.02):
            self.while_stalling()
            handler.wfile.write(b".")
            handler.wfile.flush()

    def header_by_header(self, handler: BaseHTTPRequestHandler) -> None:
        """Send an answer whose first line never ends."""
        handler.wfile.write(b"HTTP/1.1 200 O")
        while not self.over.wait(0.02):
            self.while_stalling()
            handler.wfile.write(b"K")
            handler.wfile.flush()

    def without_end(self, handler: BaseHTTPRequestHandler) -> None:
        """Send an answer that is as long as the client reads. `sent` counts its bytes."""
        handler.send_response(200)
        handler.end_headers()
        while not self.over.is_set():
            handler.wfile.write(bytes(1 << 16))
            self.sent += 1 << 16

    def silent(self, handler: BaseHTTPRequestHandler) -> None:
        while not self.over.wait(0.05):
            self.while_stalling()


@contextmanager
def talking_server(tls: ssl.SSLContext | None = None) -> Iterator[TalkingServer]:
    """Run a server on a free port of 127.0.0.1 until the end of the block, with HTTPS if `tls` is set."""
    made = TalkingServer()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.question = Asked(self.command, self.path, self.headers, body)
            made.asked.append(self.question)
            reply = made.replies.pop(0) if len(made.replies) > 1 else made.replies[0]
            try:
                reply(self)
            except OSError:  # the client has disconnected
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

        def log_message(self, format: str, *arguments: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    made.address = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
