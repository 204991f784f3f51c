"""One client's connection, seen from the daemon.

    GREETING --hello--> OPEN --end of input, or an invalid line--> DRAINING --all is answered--> LEAVING

Each stage changes to LEAVING immediately when the client has to go. LEAVING ends within `ConnectionLimits.leave`.

The daemon never waits for a client: unread data lies in an outbox of limited size. Nothing is polled: an open
connection without traffic has no timer.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import BadRequest, Cancelled, ServiceError
from lifeboat_core.texts.human_text import count_text
from lifeboat_daemon.control import json_rpc
from lifeboat_daemon.control.client_outbox import ClientOutbox
from lifeboat_daemon.control.json_rpc import RpcRequest, UnusableRequest
from lifeboat_daemon.control.line_splitter import LineSplitter

Handler = Callable[[JsonObject], Awaitable[JsonObject]]


class ServerLog(Protocol):
    """Receives what the server reports, such as the `EventLog` of the service. Fields are numbers and words of the
    program."""

    def event(self, kind: str, /, level: str = ..., **fields: object) -> None: ...

    def exception(self, kind: str, error: BaseException, /, level: str = ..., **fields: object) -> None: ...


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of connections. `hello`, `leave` and `stop` are seconds: for saying hello; for reading the last lines; for
    work in progress when the server ends, and then again for reading.

    `at_work`: concurrent requests of one connection; further ones wait unread. `events` and `event_bytes`: what may
    wait for a subscriber.
    """

    connections: int = 64
    hello: float = 5.0
    leave: float = 10.0
    stop: float = 1.0
    at_work: int = 32
    events: int = 1000
    event_bytes: int = 1024 * 1024


@dataclass
class ConnectionHub:
    """State that the connections of one server share. `admit` checks a socket before anything is read, `greet` answers
    `hello`; both raise LifeboatError to refuse a client. `alone` is set while there is no connection. No request is
    started while `is_closing`, which is also true before the server starts."""

    handlers: Mapping[str, Handler]
    admit: Callable[[socket.socket], None]
    greet: Callable[[JsonObject], JsonObject]
    report: ServerLog
    limits: ConnectionLimits
    connections: set[ClientConnection] = field(default_factory=set)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    alone: asyncio.Event = field(default_factory=asyncio.Event)
    is_closing: bool = True

    def enter(self, connection: ClientConnection) -> None:
        self.connections.add(connection)
        self.alone.clear()

    def go(self, connection: ClientConnection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self.alone.set()

    def make_room(self) -> None:
        """When the maximum is reached, drop the oldest connection that has not said hello. Raises
        ServiceError.DOES_NOT_ANSWER when all have."""
        most = self.limits.connections
        leaving, silent = self._at(ConnectionStage.LEAVING), self._at(ConnectionStage.GREETING)
        here = len(self.connections) - len(leaving)
        if len(leaving) >= most:
            leaving[0].abort()
        if here < most:
            return
        if not silent:
            raise ServiceError.DOES_NOT_ANSWER(f"the daemon has reached its limit of {count_text(most, 'connection')}")
        silent[0].leave(b"")

    def _at(self, stage: ConnectionStage) -> list[ClientConnection]:
        """Return the connections at a stage, oldest first."""
        return sorted((each for each in self.connections if each.stage is stage), key=lambda each: each.since)


class ConnectionStage(Enum):
    GREETING = "greeting"
    OPEN = "open"
    DRAINING = "draining"
    LEAVING = "leaving"


class ClientConnection(asyncio.Protocol):
    """One connection; see the module. All methods run in the thread of the event loop."""

    def __init__(self, desk: ConnectionHub) -> None:
        self._desk = desk
        self._loop = asyncio.get_running_loop()
        self.since = self._loop.time()
        self.stage = ConnectionStage.GREETING
        self.subscribed = False
        self._lines = LineSplitter(json_rpc.LARGEST_REQUEST)
        self._unread: deque[bytes] = deque()
        self._at_work = 0
        self._outbox = ClientOutbox(desk.limits.events, desk.limits.event_bytes)
        self._blocked = False
        self._ended = False
        self._last_word = b""
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    # Callbacks of the event loop ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        try:
            self._desk.admit(transport.get_extra_info("socket"))
            self._desk.make_room()
        except LifeboatError as error:
            self._desk.report.event("control.refused", "warning", code=error.code)
            self.leave(json_rpc.encode_rpc_error(None, json_rpc.FAILED, error))
        except OSError:  # The connection has already ended.
            self.stage = ConnectionStage.LEAVING
            transport.abort()
        else:
            self._timer = self._loop.call_later(self._desk.limits.hello, self._waited_long_enough)
        self._desk.enter(self)

    def data_received(self, data: bytes) -> None:
        if self.stage in (ConnectionStage.DRAINING, ConnectionStage.LEAVING):
            return  # Reading goes on, so that the client gets to read its answers.
        self._unread.extend(self._lines.feed(data))
        self._proceed()
        if self._lines.broken:
            self._drain(
                _unusable(
                    json_rpc.INVALID_REQUEST, f"a line of the request has more than {json_rpc.LARGEST_REQUEST} bytes"
                )
            )

    def eof_received(self) -> bool:
        """Handle the end of the client's data. A half-closed connection still receives its pending answers."""
        self._ended = True
        if self.stage is ConnectionStage.LEAVING or self._is_gone():
            self.stage = ConnectionStage.LEAVING
            return False
        cut = self._lines.unfinished and not self._lines.broken
        self._drain(_unusable(json_rpc.PARSE_ERROR, "the last line of the request is incomplete") if cut else b"")
        return True

    def connection_lost(self, error: Exception | None) -> None:
        self.stage = ConnectionStage.LEAVING
        self._unread.clear()
        self._stop_timer()
        self._desk.go(self)

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        while self._outbox and not self._blocked:
            self._transport.write(self._outbox.take())
        self._proceed()

    # Requests -----------------------------------------------------------------------------------------------------

    def _proceed(self) -> None:
        """Start waiting requests as long as the client reads its answers and the limit of concurrent requests is not
        reached."""
        while self._unread and self.stage is not ConnectionStage.LEAVING and not self._is_full():
            self._take(self._unread.popleft())
        if self.stage is ConnectionStage.LEAVING:
            return
        if self.stage is ConnectionStage.DRAINING:
            self._leave_when_done()
        elif self._unread:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _is_full(self) -> bool:
        return self._blocked or self._at_work >= self._desk.limits.at_work

    def _take(self, line: bytes) -> None:
        try:
            request = json_rpc.decode_request(line)
        except UnusableRequest as problem:
            self._refuse(problem.answer)
            return
        if self.stage is ConnectionStage.GREETING:
            self._greet(request)
        elif request.method == json_rpc.SUBSCRIBE:
            self.subscribed = True
            self._answer(request, json_rpc.encode_answer(request.id, {}))
        elif request.method == json_rpc.HELLO:
            self._answer(request, _unusable(json_rpc.INVALID_REQUEST, "the client has already sent hello", request.id))
        elif self._desk.is_closing:
            self._answer(
                request, json_rpc.encode_failure(request.id, ServiceError.DOES_NOT_ANSWER("the daemon is stopping"))
            )
        elif request.method in self._desk.handlers:
            self._begin(request, self._desk.handlers[request.method])
        else:
            text = f"the daemon does not know the method {request.method[:100]!r}"
            self._answer(request, _unusable(json_rpc.METHOD_NOT_FOUND, text, request.id))

    def _refuse(self, line: bytes) -> None:
        """Close the connection of a program that does not begin with a request. It gets no further explanation."""
        if self.stage is ConnectionStage.GREETING:
            self.leave(line)
        else:
            self._send(line)

    def _greet(self, request: RpcRequest) -> None:
        if request.method != json_rpc.HELLO or request.id is None:
            self.leave(
                _unusable(
                    json_rpc.INVALID_REQUEST, "the first request of a client must be hello, with an id", request.id
                )
            )
            return
        try:
            line = json_rpc.encode_answer(request.id, self._desk.greet(request.parameters))
        except LifeboatError as error:
            self._desk.report.event("control.refused", "warning", code=error.code)
            self.leave(json_rpc.encode_failure(request.id, error))
            return
        self._stop_timer()
        self.stage = ConnectionStage.OPEN
        self._send(line)

    def _begin(self, request: RpcRequest, handler: Handler) -> None:
        self._at_work += 1
        task = self._loop.create_task(self._work(request, handler))
        self._desk.tasks.add(task)
        task.add_done_callback(self._desk.tasks.discard)

    async def _work(self, request: RpcRequest, handler: Handler) -> None:
        """Answer one request. If the client has gone, the work is still completed."""
        line = await self._outcome(request, handler)
        self._at_work -= 1
        self._answer(request, line)
        self._proceed()

    async def _outcome(self, request: RpcRequest, handler: Handler) -> bytes:
        try:
            return json_rpc.encode_answer(request.id, await handler(request.parameters))
        except LifeboatError as error:
            return json_rpc.encode_failure(request.id, error)
        except asyncio.CancelledError:
            return json_rpc.encode_failure(request.id, Cancelled("the daemon cancelled the request"))
        except Exception as error:
            self._desk.report.exception("control.error", error, method=request.method)
            mistake = ServiceError(
                f"an internal error occurred in the daemon: {type(error).__name__}", fix="lifeboat doctor"
            )
            return json_rpc.encode_rpc_error(request.id, json_rpc.INTERNAL, mistake)

    def _answer(self, request: RpcRequest, line: bytes) -> None:
        if request.id is not None:
            self._send(line)

    # Sending ------------------------------------------------------------------------------------------------------

    def _send(self, line: bytes) -> None:
        if self.stage is ConnectionStage.LEAVING:
            return
        if self._blocked:
            self._outbox.put_answer(line)
        else:
            self._transport.write(line)

    def tell(self, line: bytes) -> None:
        """Send an event to a subscriber. Drop a subscriber that has too many unread events."""
        if not self.subscribed or self.stage is ConnectionStage.LEAVING:
            return
        if not self._blocked:
            self._transport.write(line)
        elif not self._outbox.put_event(line):
            self._desk.report.event("control.lost", "warning")
            self._outbox.drop_events()
            self.leave(json_rpc.encode_event(json_rpc.LOST))

    # The end ------------------------------------------------------------------------------------------------------

    def _drain(self, last_word: bytes) -> None:
        """Stop accepting requests, answer the pending ones, and end with `last_word`."""
        if self.stage is ConnectionStage.GREETING:
            self.leave(last_word)
        elif self.stage is ConnectionStage.OPEN:
            self.stage = ConnectionStage.DRAINING
            self._last_word = last_word
            self._transport.resume_reading()
            self._leave_when_done()

    def _leave_when_done(self) -> None:
        if not self._unread and not self._at_work:
            self.leave(self._last_word)

    def leave(self, last_word: bytes) -> None:
        """Send what waits and `last_word`, then close. The client has `ConnectionLimits.leave` seconds to read it."""
        if self.stage is ConnectionStage.LEAVING:
            return
        self.stage = ConnectionStage.LEAVING
        self._stop_timer()
        while self._outbox:
            self._transport.write(self._outbox.take())
        self._transport.write(last_word)
        self._timer = self._loop.call_later(self._desk.limits.leave, self.abort)
        if self._ended:
            self._transport.close()
            return
        # On TCP, closing with unread input would discard output that the client has not read yet.
        with contextlib.suppress(OSError):
            self._transport.write_eof()
        self._transport.resume_reading()

    def abort(self) -> None:
        """Close immediately and free the slot before the event loop continues."""
        self.stage = ConnectionStage.LEAVING
        self._desk.go(self)
        self._transport.abort()

    def _waited_long_enough(self) -> None:
        self.leave(_unusable(json_rpc.INVALID_REQUEST, "the client did not send hello in time"))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_gone(self) -> bool:
        """Return whether the client has closed its socket completely. It will read no answer, so its slot is free at
        once."""
        connection = self._transport.get_extra_info("socket")
        if not hasattr(select, "poll") or connection.family != getattr(socket, "AF_UNIX", None):
            return False
        poll = select.poll()
        poll.register(connection.fileno(), 0)
        return any(found & select.POLLHUP for _, found in poll.poll(0))


def _unusable(code: int, text: str, number: json_rpc.Id = None) -> bytes:
    return json_rpc.encode_rpc_error(number, code, BadRequest(text))
