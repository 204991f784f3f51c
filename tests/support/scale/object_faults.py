"""A proxy in front of an S3 or WebDAV server that fails, stalls, lies, damages content, and lists late."""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree

from support.patience import patience

_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
_XML = "http://s3.amazonaws.com/doc/2006-03-01/"


class Asked(NamedTuple):
    """A received request. `key` is the object's key with its prefix, "" for the bucket; `headers` have lower-case
    names."""

    method: str
    path: str
    key: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def is_listing(self) -> bool:
        return self.method == "GET" and not self.key


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


Fault = Callable[["Handler", Asked], "Answer | None"]
"""A fault in place of a request or its answer. None: the answer was given already, or there is none."""


@dataclass
class Planned:
    """A fault for `left` requests that `concerns` matches."""

    fault: Fault
    concerns: Callable[[Asked], bool]
    left: int


@dataclass
class ObjectFaults:
    """`address` replaces that of the server. `plan` adds faults; `asked` lists all requests."""

    address: str
    behind: tuple[str, int]
    asked: list[Asked] = field(default_factory=list)
    late_since: float = float("inf")
    """Time on the monotonic clock after which changes are missing from listings."""
    over: threading.Event = field(default_factory=threading.Event)
    outwaited: int = 0
    """Number of requests whose client waited until the end of a stall. A client that gives up is not counted."""
    _planned: list[Planned] = field(default_factory=list)
    _written: list[tuple[float, str, int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(
        self, fault: Fault, *, methods: Sequence[str] = (), key: str = "", times: int = 1 << 30, skip: int = 0
    ) -> None:
        """Add a fault for these methods (default: all) and keys that contain this text, `times` times after `skip`
        requests."""

        def concerns(asked: Asked) -> bool:
            return (not methods or asked.method in methods) and key in asked.key

        if skip:
            self._planned.append(Planned(hand_on, concerns, skip))
        self._planned.append(Planned(fault, concerns, times))

    def heal(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._planned.clear()
            self.late_since = float("inf")

    def fault_for(self, asked: Asked) -> Fault:
        with self._lock:
            self.asked.append(asked)
            for each in self._planned:
                if each.left > 0 and each.concerns(asked):
                    each.left -= 1
                    return each.fault
        return hand_on

    def note(self, asked: Asked) -> None:
        """Record what was written and deleted, for late listings."""
        if asked.method in ("PUT", "DELETE", "POST") and asked.key:
            size = len(asked.body) if asked.method == "PUT" else -1
            with self._lock:
                self._written.append((time.monotonic(), asked.key, size))

    def as_before(self, listing: bytes) -> bytes:
        """Return a listing without what was written after `late_since`, and with what was deleted after it."""
        since = self.late_since
        with self._lock:
            recent = {key: size for moment, key, size in self._written if moment >= since}
            older = {key: size for moment, key, size in self._written if moment < since}
        ElementTree.register_namespace("", _XML)
        root = ElementTree.fromstring(listing)
        found = root.findall(f"{{{_XML}}}Contents")
        for each in found:
            if each.findtext(f"{{{_XML}}}Key") in recent.keys() - older.keys():
                root.remove(each)
        listed = {each.findtext(f"{{{_XML}}}Key") for each in found}
        for key in recent.keys() - listed:
            if recent[key] < 0 <= older.get(key, -1):
                _add(root, key, older[key])
        return b'<?xml version="1.0" encoding="UTF-8"?>' + ElementTree.tostring(root)


def _add(root: ElementTree.Element, key: str, size: int) -> None:
    item = ElementTree.SubElement(root, f"{{{_XML}}}Contents")
    digest = hashlib.md5(key.encode()).hexdigest()
    fields = {"Key": key, "LastModified": "2026-01-01T00:00:00.000Z", "ETag": f'"{digest}"', "Size": str(size)}
    for name, text in fields.items():
        ElementTree.SubElement(item, f"{{{_XML}}}{name}").text = text


# Faults ---------------------------------------------------------------------------------------------------------------


def hand_on(handler: Handler, asked: Asked) -> Answer | None:
    """Pass the request on without a fault."""
    return handler.behind(asked)


def status(code: int, word: str = "InternalError") -> Fault:
    """Return a fault that answers in place of the store, which does nothing."""
    body = f"<?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>{word}</Code><Message>no</Message></Error>".encode()
    if code == 204:  # there is no body: its bytes would be read as the next answer
        return lambda handler, asked: Answer(code, [], b"")
    return lambda handler, asked: Answer(code, [("Content-Type", "application/xml")], body)


def done_but(fault: Fault) -> Fault:
    """Return a fault that happens after the store has carried out the request."""

    def after(handler: Handler, asked: Asked) -> Answer | None:
        handler.behind(asked)
        return fault(handler, asked)

    return after


def reset(handler: Handler, asked: Asked) -> None:
    """Break the connection."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    with suppress(OSError):
        handler.connection.close()


def stall(handler: Handler, asked: Asked) -> None:
    """Never answer, and keep the connection open."""
    if not handler.faults.over.wait(patience()):
        handler.faults.outwaited += 1
    handler.close_connection = True


def slow(seconds: float) -> Fault:
    """Return a fault that delays the answer."""

    def wait(handler: Handler, asked: Asked) -> Answer | None:
        handler.faults.over.wait(seconds)
        return handler.behind(asked)

    return wait


def trickle(handler: Handler, asked: Asked) -> None:
    """Send the body byte by byte, and never completely."""
    answer = handler.behind(asked)
    handler.begin(answer, len(answer.body))
    for place in range(len(answer.body)):
        if handler.faults.over.wait(0.1):
            break
        handler.wfile.write(answer.body[place : place + 1])
    else:
        handler.faults.outwaited += 1
    handler.close_connection = True


def truncate(handler: Handler, asked: Asked) -> None:
    """Send half of the body, and close the connection."""
    answer = handler.behind(asked)
    handler.begin(answer, len(answer.body))
    handler.wfile.write(answer.body[: len(answer.body) // 2])
    handler.close_connection = True


def boast(handler: Handler, asked: Asked) -> None:
    """Announce more bytes than any machine has memory."""
    answer = handler.behind(asked)
    handler.begin(answer, 1 << 43)
    handler.wfile.write(answer.body)
    handler.close_connection = True


def shorten(handler: Handler, asked: Asked) -> Answer:
    """Send half of the body as if it were complete."""
    answer = handler.behind(asked)
    return answer._replace(body=answer.body[: len(answer.body) // 2])


def flip(handler: Handler, asked: Asked) -> Answer:
    """Flip one bit of the body."""
    answer = handler.behind(asked)
    middle = len(answer.body) // 2
    body = answer.body[:middle] + bytes([answer.body[middle] ^ 1]) + answer.body[middle + 1 :] if answer.body else b""
    return answer._replace(body=body)


def forget(handler: Handler, asked: Asked) -> Answer:
    """Answer a write with 200 without storing anything."""
    return Answer(200, [("ETag", f'"{hashlib.md5(asked.body).hexdigest()}"')], b"")


# The proxy ------------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = patience()
    faults: ObjectFaults

    def _serve(self) -> None:
        asked = self._asked()
        if len(asked.body) < int(asked.headers.get("content-length", "0")):
            self._hand_on_half(asked)
            return
        answer = self.faults.fault_for(asked)(self, asked)
        if answer is not None:
            self.begin(answer, len(answer.body))
            if asked.method != "HEAD":
                self.wfile.write(answer.body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_PROPFIND = do_MKCOL = do_MOVE = _serve

    def _asked(self) -> Asked:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        _, _, key = unquote(parts.path).lstrip("/").partition("/")
        return Asked(self.command, self.path, key, parse_qs(parts.query, keep_blank_values=True), headers, body)

    def _hand_on_half(self, asked: Asked) -> None:
        """Pass on what arrived of an interrupted request, and end the connection."""
        self.close_connection = True
        with closing(http.client.HTTPConnection(*self.faults.behind, timeout=patience())) as connection:
            self._begin_behind(connection, asked)

    def _begin_behind(self, connection: http.client.HTTPConnection, asked: Asked) -> None:
        connection.putrequest(asked.method, asked.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() != "connection":
                connection.putheader(name, value)
        connection.endheaders(asked.body)

    def behind(self, asked: Asked) -> Answer:
        """Return the answer of the server."""
        connection = http.client.HTTPConnection(*self.faults.behind, timeout=patience())
        try:
            self._begin_behind(connection, asked)
            got = connection.getresponse()
            answer = Answer(got.status, [pair for pair in got.getheaders() if pair[0].lower() not in _HOP], got.read())
            if asked.method == "HEAD":
                answer.headers.append(("Content-Length", got.getheader("Content-Length", "0")))
        finally:
            connection.close()
        self.faults.note(asked)
        if asked.is_listing and answer.status == 200 and self.faults.late_since < time.monotonic():
            return answer._replace(body=self.faults.as_before(answer.body))
        return answer

    def begin(self, answer: Answer, length: int) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of clients that were disconnected by a fault."""


@contextmanager
def in_front_of(address: str, *, tls: ssl.SSLContext | None = None) -> Iterator[ObjectFaults]:
    """Run a proxy on a free port of 127.0.0.1, with HTTPS if `tls` is set, for clients of any process."""
    where = urlsplit(address)
    assert where.hostname is not None and where.port is not None
    server = _Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    scheme = "https" if tls else "http"
    faults = ObjectFaults(f"{scheme}://127.0.0.1:{server.server_address[1]}", (where.hostname, where.port))
    server.RequestHandlerClass = type("Bound", (Handler,), {"faults": faults})
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield faults
    finally:
        faults.over.set()
        server.shutdown()
        thread.join(patience())
        server.server_close()
