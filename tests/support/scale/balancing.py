"""A load balancer for plain HTTP on this machine: each request goes to the next server that reports ready."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from support.patience import patience
from support.waiting import until

_LOOK = 0.1
_OF_A_CONNECTION = frozenset(("connection", "transfer-encoding", "content-length", "host", "keep-alive"))
_Answer = tuple[int, list[tuple[str, str]], bytes]


class Balancer:
    """`upstreams` are addresses; `sent` counts the requests to each. A server that refuses the connection is skipped,
    like one that is not ready: it saw nothing of the request. Any other failure is passed to the client, so that
    nothing is sent twice."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.sent: Counter[str] = Counter()
        self.over = threading.Event()
        self._upstreams: list[str] = []
        self._ready: dict[str, bool] = {}
        self._turn = 0
        self._lock = threading.Lock()

    @property
    def upstreams(self) -> list[str]:
        return list(self._upstreams)

    @upstreams.setter
    def upstreams(self, addresses: list[str]) -> None:
        with self._lock:
            self._upstreams = list(addresses)
            self._ready = dict.fromkeys(addresses, True)

    def look(self) -> None:
        """Ask every server whether it is ready."""
        for address in self.upstreams:
            ready = is_ready(address)
            with self._lock:
                if address in self._ready:
                    self._ready[address] = ready

    def order(self) -> list[str]:
        """Return the servers in the order in which to try them."""
        with self._lock:
            self._turn += 1
            turn = self._turn % max(1, len(self._upstreams))
            turned = [*self._upstreams[turn:], *self._upstreams[:turn]]
            return [each for each in turned if self._ready[each]] or turned

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> _Answer:
        """Send a request. Raises OSError, http.client.HTTPException."""
        refused: Exception | None = None
        for address in self.order():
            connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=patience())
            with contextlib.closing(connection):
                try:
                    connection.connect()
                except OSError as error:
                    refused = error
                    continue
                with self._lock:
                    self.sent[address] += 1
                connection.request(method, path, body or None, headers)
                found = connection.getresponse()
                kept = [(name, value) for name, value in found.getheaders() if name.lower() not in _OF_A_CONNECTION]
                return found.status, kept, found.read()
        raise refused or ConnectionRefusedError("nobody is there")

    def run(self) -> None:
        while not self.over.wait(_LOOK):
            self.look()


def is_ready(address: str) -> bool:
    """Return True if a server reports that it can serve."""
    try:
        with contextlib.closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=patience())) as connection:
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False


def wait_until_ready(address: str) -> None:
    until(lambda: is_ready(address), f"{address} to be ready")


@contextlib.contextmanager
def balancing() -> Iterator[Balancer]:
    """Run a balancer without servers."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_A_CONNECTION}
            try:
                status, kept, data = made.ask(self.command, self.path, headers, body)
            except (OSError, http.client.HTTPException):
                self.close_connection = True  # disconnect, because the result is unknown
                return
            self._reply(status, kept, data)

        def _reply(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

        def log_message(self, format: str, *arguments: Any) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore that the client has disconnected."""

    server = Server(("127.0.0.1", 0), Handler)
    made = Balancer(f"http://127.0.0.1:{server.server_port}")
    threads = [
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True),
        threading.Thread(target=made.run, daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        made.over.set()
        server.shutdown()
        server.server_close()
        for thread in threads:
            thread.join(patience())
