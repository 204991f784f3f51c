"""A process that serves requests: it accepts a limited number of connections, speaks TLS 1.3 and HTTP/1.1, and passes
requests to the application until it is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from typing import Any

from starlette.applications import Starlette
from uvicorn.config import Config
from uvicorn.server import ServerState

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_endpoint.server import server_log
from lifeboat_endpoint.server.connections import ConnectionBounds, OpenConnection, OpenConnections
from lifeboat_endpoint.server.http_protocol import HttpProtocol

if sys.platform != "win32":
    import uvloop

_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_SHED = 16
_PAUSE = 0.1
_TICK = 1.0
_TOLD_EVERY = 60.0
_ENDLESS = float(1 << 30)
_TLS_END = 5.0
"""Seconds that a client has to confirm the end of TLS."""


@dataclass(frozen=True, slots=True)
class ServingSetup:
    """What a process needs to serve: the listening socket, the limits of connections, and the certificate.

    `probe` is its end of the connection over which the first process asks its /livez. `finish` is how many seconds
    requests may take after the signal to end.
    """

    listener: socket.socket
    probe: socket.socket
    bounds: ConnectionBounds
    finish: float
    certificate: str | None = None
    key: str | None = None


def serve_until_terminated(application: Starlette, setup: ServingSetup) -> None:
    """Serve until SIGTERM. Ctrl-C reaches all processes of a terminal, so SIGINT is ignored and the first process
    passes it on."""
    # Its lines contain messages of errors, which may hold secrets; this package logs failures itself
    logging.getLogger("uvicorn.error").disabled = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(HttpServer(application, setup).run())


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop, that of uvloop if it exists: a TLS connection of asyncio itself takes 256 KiB even while it
    is idle."""
    if sys.platform == "win32":
        return asyncio.SelectorEventLoop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


class HttpServer:
    """Accepts, counts and ends the connections of one process."""

    def __init__(self, application: Starlette, setup: ServingSetup) -> None:
        self._application = application
        self._setup = setup
        self._open = OpenConnections(setup.bounds)
        self._state = ServerState()
        self._starting: set[asyncio.Task[None]] = set()
        self._told_at = float("-inf")
        self._told = (0, 0)
        self._config = Config(
            application,
            loop="none",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        self._config.load()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_note_exception)
        ending = asyncio.Event()
        with contextlib.suppress(NotImplementedError):  # Windows ends processes without a signal
            loop.add_signal_handler(signal.SIGTERM, ending.set)
        tls = _tls(self._setup)
        async with self._application.router.lifespan_context(self._application):
            self._tick(loop)
            await self._answer_probes(loop)
            accepting = loop.create_task(self.accept(loop, tls))
            async with _ended_with(accepting):
                await ending.wait()
            await self._finish()

    async def _answer_probes(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer the first process over its socket pair, which no limit counts."""
        unbounded = ConnectionBounds(head=_ENDLESS, idle=_ENDLESS)
        probe = OpenConnection("", lambda: None, is_probe=True)
        make = partial(HttpProtocol, self._config, self._state, unbounded, probe, lambda _: None)
        await loop.connect_accepted_socket(make, self._setup.probe)

    # Connections ------------------------------------------------------------------------------------------------

    async def accept(self, loop: asyncio.AbstractEventLoop, tls: ssl.SSLContext | None) -> None:
        listener = self._setup.listener
        listener.setblocking(False)
        while True:
            try:
                client, address = await loop.sock_accept(listener)
            except OSError as error:
                if error.errno in _NO_DESCRIPTORS:
                    self._open.shed(_SHED)
                    self._tell_of_bounds()
                    await asyncio.sleep(_PAUSE)
                continue  # the client left before it was accepted
            self._take(loop, client, str(address[0]), tls)

    def _take(
        self, loop: asyncio.AbstractEventLoop, client: socket.socket, address: str, tls: ssl.SSLContext | None
    ) -> None:
        connection = self._open.admit(address, partial(_cut, client))
        if connection is None:
            client.close()
            return
        task = loop.create_task(self._begin(loop, client, connection, tls))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _begin(
        self,
        loop: asyncio.AbstractEventLoop,
        client: socket.socket,
        connection: OpenConnection,
        tls: ssl.SSLContext | None,
    ) -> None:
        bounds = self._setup.bounds
        make = partial(HttpProtocol, self._config, self._state, bounds, connection, self._open.remove)
        times: JsonObject = {}
        if tls is not None:
            times = {"ssl": tls, "ssl_handshake_timeout": bounds.handshake, "ssl_shutdown_timeout": _TLS_END}
        try:
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.connect_accepted_socket(make, client, **times)
        except (OSError, TimeoutError, ssl.SSLError, asyncio.CancelledError):
            # No TLS, no handshake in time, or evicted meanwhile.
            self._open.remove(connection)
            _cut(client)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._state.default_headers = [(b"date", formatdate(time.time(), usegmt=True).encode())]
        self._open.close_stuck(time.monotonic())
        self._tell_of_bounds()
        loop.call_later(_TICK, self._tick, loop)

    def _tell_of_bounds(self) -> None:
        """Log once a minute that connections were closed or refused, with counts and no address."""
        found, now = (self._open.evicted, self._open.refused), time.monotonic()
        if found == self._told or now - self._told_at < _TOLD_EVERY:
            return
        evicted, refused = found[0] - self._told[0], found[1] - self._told[1]
        self._told, self._told_at = found, now
        server_log.LOGGER.warning(
            "the limit of connections is reached: %d connections are open, %d without a valid token were "
            "closed to accept others, %d were refused",
            len(self._open),
            evicted,
            refused,
        )

    # The end ----------------------------------------------------------------------------------------------------

    async def _finish(self) -> None:
        """Close idle connections, and give running requests time to finish."""
        self._setup.listener.close()
        for task in list(self._starting):
            task.cancel()
        for connection in list(self._state.connections):
            connection.shutdown()
        deadline = time.monotonic() + self._setup.finish
        while self._state.tasks and time.monotonic() < deadline:
            await asyncio.wait(list(self._state.tasks), timeout=deadline - time.monotonic())
        if self._state.tasks:
            server_log.LOGGER.warning(
                "%d requests were cancelled because they did not end in time", len(self._state.tasks)
            )
        for task in list(self._state.tasks):
            task.cancel()
        sent = time.monotonic() + min(1.0, self._setup.finish)
        while len(self._open) and time.monotonic() < sent:  # wait until the last bytes of responses are sent
            await asyncio.sleep(0.01)
        for each in self._open:
            each.close()


def _cut(client: socket.socket) -> None:
    """End a connection that has no transport yet. The owner of the socket notices the end and closes it."""
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)


@contextlib.asynccontextmanager
async def _ended_with(task: asyncio.Task[None]) -> AsyncIterator[None]:
    """Cancel the task at the end."""
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _tls(setup: ServingSetup) -> ssl.SSLContext | None:
    if setup.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(setup.certificate, setup.key)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _note_exception(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log class and place of an exception, not its message, which may hold secrets. Errors that clients cause are not
    logged."""
    error = context.get("exception")
    if isinstance(error, (OSError, ssl.SSLError)):
        return
    server_log.LOGGER.error("event loop: %s", "no exception" if error is None else server_log.describe_error(error))
