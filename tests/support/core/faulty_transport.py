"""What can go wrong between this machine and an endpoint: a proxy for plain HTTP on this machine that loses, doubles,
delays, cuts, holds back and makes up what passes through it; and the same around an object in this process."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

from lifeboat_core.remotes.endpoint.endpoint_calls import EndpointCalls
from lifeboat_vault.errors import RemoteBusy, RemoteUnreachable
from lifeboat_vault.remote.remote_contract import RemoteBundle
from support.core.skipped_silence import PACE, skip_silence
from support.patience import patience


class Kind(StrEnum):
    LOSE_REQUEST = "lose the request"
    LOSE_ANSWER = "lose the answer"
    TWICE = "deliver twice"
    DELAY = "deliver late, but in time"
    STALL = "answer when nobody waits any more"
    EARLIER = "deliver just before the next one, whose sender gave up on this one"
    LATER = "deliver just after the next one, whose sender gave up on this one"
    CUT_REQUEST = "cut the request"
    CUT_ANSWER = "cut the answer"
    BUSY = "answer 503"
    TRICKLE = "let the answer trickle"
    STALE = "answer with an older head"
    UNKNOWN = "answer with a head that nobody wrote"


MADE_UP = frozenset((Kind.STALE, Kind.UNKNOWN))
"""Not faults of transport alone: whoever answers like that says something that is not so."""
HARMLESS = frozenset((Kind.TWICE, Kind.DELAY, Kind.TRICKLE))
"""Nobody notices."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`at`: where something is cut, as a share of its bytes."""

    kind: Kind
    at: float = 0.5

    def __str__(self) -> str:
        return f"{self.kind} at {self.at}" if "CUT" in self.kind.name else self.kind


FAULTS = (
    *(Fault(kind) for kind in Kind if not kind.name.startswith("CUT")),
    *(Fault(kind, at) for kind in (Kind.CUT_REQUEST, Kind.CUT_ANSWER) for at in (0.0, 0.02, 0.5, 0.98)),
)

Plan = Callable[[int, str, str], Fault | None]
"""(number of the call since `begin`, from 0; method; path) -> what goes wrong with it"""


def no_fault(number: int, method: str, path: str) -> Fault | None:
    return None


def once(fault: Fault, nth: int) -> Plan:
    """With the nth call alone: whoever tries again gets through."""
    return lambda number, method, path: fault if number == nth else None


def from_then_on(fault: Fault, nth: int) -> Plan:
    """With every call from the nth one on."""
    return lambda number, method, path: fault if number >= nth else None


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The HTTP client does not wait between two tries, and gives up soon."""
    monkeypatch.setitem(EndpointCalls.__init__.__kwdefaults__, "wait", lambda seconds: None)
    monkeypatch.setitem(EndpointCalls.__init__.__kwdefaults__, "pace", PACE)
    clock = skip_silence(monkeypatch)
    monkeypatch.setattr(Proxy, "stalls", staticmethod(lambda: clock.skip(PACE.silence)))


# Over HTTP --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass
class Proxy:
    """Before a plain endpoint at `upstream`. `wire` is every byte that passed, or that somebody meant to send;
    `called` the calls since `begin`, retries too."""

    upstream: str
    address: str = ""
    plan: Plan = no_fault
    called: list[tuple[str, str]] = field(default_factory=list)
    wire: list[bytes] = field(default_factory=list)
    _held: list[tuple[Kind, Request]] = field(default_factory=list)
    _heads: dict[str, list[bytes]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    over: threading.Event = field(default_factory=threading.Event)
    stalls: ClassVar[Callable[[], None]] = staticmethod(lambda: None)
    """Called again and again while a request is left without an answer."""

    def begin(self, plan: Plan = no_fault) -> None:
        """Count calls from here, and let go wrong what the plan says. What is held back still comes with the next."""
        with self._lock:
            self.plan, self.called = plan, []

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        request = _read(handler)
        with self._lock:
            number = len(self.called)
            self.called.append((request.method, urlsplit(request.path).path))
            self.wire += [request.path.encode(), str(request.headers).encode(), request.body]
            fault = self.plan(number, *self.called[-1])
            held, self._held = self._held, []
        self._deliver([each for kind, each in held if kind is Kind.EARLIER])
        self._handle(handler, request, fault)
        self._deliver([each for kind, each in held if kind is Kind.LATER])

    def _deliver(self, requests: list[Request]) -> None:
        for request in requests:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._ask(request)

    def _handle(self, handler: BaseHTTPRequestHandler, request: Request, fault: Fault | None) -> None:
        kind = None if fault is None else fault.kind
        if kind is Kind.LOSE_REQUEST:
            raise ConnectionAbortedError
        if kind in (Kind.EARLIER, Kind.LATER):
            self._held.append((kind, request))
            raise ConnectionAbortedError
        if kind is Kind.CUT_REQUEST:
            assert fault is not None
            self._cut(request, fault.at)
            raise ConnectionAbortedError
        if kind is Kind.BUSY:
            _reply(handler, Answer(503, (("Retry-After", "1"), ("Content-Type", "text/plain")), b"later\n"))
            return
        if kind is Kind.DELAY:
            time.sleep(0.05)
        answer = self._ask(request)
        if kind is Kind.TWICE:
            answer = self._ask(request)
        if kind is Kind.LOSE_ANSWER:
            raise ConnectionAbortedError
        if kind is Kind.STALL:
            while not self.over.wait(0.05):
                self.stalls()
            raise ConnectionAbortedError
        if kind in MADE_UP:
            answer = self._made_up(request, answer, kind)
        _reply(handler, answer, fault)

    def _ask(self, request: Request) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc, timeout=patience())
        with contextlib.closing(connection):
            connection.request(request.method, request.path, request.body or None, dict(request.headers))
            found = connection.getresponse()
            kept = tuple((name, value) for name, value in found.getheaders() if name.lower() not in _OF_A_CONNECTION)
            answer = Answer(found.status, kept, found.read())
        with self._lock:
            self.wire += [str(kept).encode(), answer.body]
            if _is_agent(request) and answer.status == 200:
                self._heads.setdefault(request.path, []).append(answer.body)
        return answer

    def _cut(self, request: Request, at: float) -> None:
        """Send the beginning of a request, and break off."""
        head = f"{request.method} {request.path} HTTP/1.1\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in request.headers)
        whole = f"{head}Host: endpoint\r\nContent-Length: {len(request.body)}\r\n\r\n".encode() + request.body
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc, timeout=patience())
        with contextlib.closing(connection):
            connection.connect()
            connection.send(whole[: min(int(len(whole) * at), len(whole) - 1)])

    def _made_up(self, request: Request, answer: Answer, kind: Kind) -> Answer:
        """Another head than there is; every other answer as it is."""
        if not _is_agent(request) or answer.status != 200:
            return answer
        if kind is Kind.STALE:
            return Answer(200, answer.headers, self._heads[request.path][0])
        found = json.loads(answer.body)
        if found["head"] is not None:
            found["head"] |= {"sequence": found["head"]["sequence"] + 1, "digest": "5a" * 32, "writer": "somebody"}
        return Answer(200, answer.headers, json.dumps(found).encode())


_OF_A_CONNECTION = frozenset(("connection", "transfer-encoding", "content-length", "host", "keep-alive"))


def _is_agent(request: Request) -> bool:
    return request.method == "GET" and re.fullmatch(r"/agents/[^/]+", request.path) is not None


def _read(handler: BaseHTTPRequestHandler) -> Request:
    body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    kept = tuple((name, value) for name, value in handler.headers.items() if name.lower() not in _OF_A_CONNECTION)
    return Request(handler.command, handler.path, kept, body)


def _reply(handler: BaseHTTPRequestHandler, answer: Answer, fault: Fault | None = None) -> None:
    whole = _encoded(handler, answer)
    if fault is not None and fault.kind is Kind.CUT_ANSWER:
        handler.wfile.write(whole[: min(int(len(whole) * fault.at), len(whole) - 1)])
        raise ConnectionAbortedError
    step = max(1, len(whole) // 20) if fault is not None and fault.kind is Kind.TRICKLE else len(whole)
    for start in range(0, len(whole), step):
        handler.wfile.write(whole[start : start + step])
        if step < len(whole):
            time.sleep(0.002)


def _encoded(handler: BaseHTTPRequestHandler, answer: Answer) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} Answered"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    if answer.status != 204:
        lines.append(f"Content-Length: {len(answer.body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if handler.command == "HEAD" else answer.body)


@contextlib.contextmanager
def proxy(upstream: str) -> Iterator[Proxy]:
    """A proxy before an endpoint with plain HTTP."""
    made = Proxy(upstream)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            try:
                made.pass_on(self)
            except (OSError, http.client.HTTPException):  # by a fault, or because an end of it has gone
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


# Around an object -------------------------------------------------------------------------------------------------


class Faulty:
    """A `Remote`, or the `Files` of a sealed log, whose methods go wrong as `plan` says. What has no meaning without a
    wire (cut, stalled, trickling) is lost before or after it was done."""

    def __init__(self, inner: Any, plan: Plan = no_fault) -> None:
        self._inner = inner
        self._held: list[tuple[Kind, Callable[[], Any]]] = []
        self._heads: list[Any] = []
        self.begin(plan)

    def begin(self, plan: Plan = no_fault) -> None:
        self.plan, self.called = plan, list[str]()

    def around(self, inner: Any) -> Faulty:
        """The same, around another one: calls are counted on."""
        self._inner = inner
        return self

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or name == "close":
            return found
        return lambda *arguments, **options: self._call(name, found, arguments, options)

    def _call(self, name: str, method: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        self.called.append(name)
        fault = self.plan(len(self.called) - 1, name, name)
        held, self._held = self._held, []
        again = _repeatable(method, arguments, options)
        _quietly([each for kind, each in held if kind is Kind.EARLIER])
        try:
            return self._done(name, again, None if fault is None else fault.kind)
        finally:
            _quietly([each for kind, each in held if kind is Kind.LATER])

    def _done(self, name: str, call: Callable[[], Any], kind: Kind | None) -> Any:
        if kind in (Kind.EARLIER, Kind.LATER):
            self._held.append((kind, call))
        if kind in (Kind.EARLIER, Kind.LATER, Kind.LOSE_REQUEST, Kind.CUT_REQUEST):
            raise RemoteUnreachable(f"{name}: {kind}")
        if kind is Kind.BUSY:
            raise RemoteBusy("later", retry_after=1.0)
        found = call()
        if kind is Kind.TWICE and name != "put":  # a file of a log is made once: over HTTP the same bytes are no error
            found = call()
        if kind in (Kind.LOSE_ANSWER, Kind.CUT_ANSWER, Kind.STALL):
            raise RemoteUnreachable(f"{name}: {kind}")
        if name in ("agent", "head"):
            self._heads.append(found)
            return self._heads[0] if kind is Kind.STALE else found
        return found


def _repeatable(method: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Callable[[], Any]:
    """The call with what it is given kept aside, so that it can be made again, and later."""
    kept = [_kept(each) for each in arguments]
    return lambda: method(*(each() for each in kept), **options)


def _kept(value: Any) -> Callable[[], Any]:
    if isinstance(value, RemoteBundle):
        data = value.file.read()
        return lambda: RemoteBundle(value.kind, value.number, value.base, io.BytesIO(data), value.size)
    if hasattr(value, "read"):
        read = value.read()
        return lambda: io.BytesIO(read)
    if hasattr(value, "__next__"):
        items = list(value)
        return lambda: iter(items)
    return lambda: value


def _quietly(calls: list[Callable[[], Any]]) -> None:
    for call in calls:
        with contextlib.suppress(Exception):
            call()
