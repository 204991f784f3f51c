"""The server of the control socket."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import socket
from collections.abc import Mapping

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import BadRequest, NotAllowed, OtherRelease, ServiceError
from lifeboat_core.home.context import Context
from lifeboat_core.system_refusals import convert_system_error
from lifeboat_daemon.control import json_rpc, peer_user, socket_address
from lifeboat_daemon.control.client_connection import (
    ClientConnection,
    ConnectionHub,
    ConnectionLimits,
    Handler,
    ServerLog,
)
from lifeboat_daemon.control.control_methods import HelloAnswer
from lifeboat_daemon.control.listeners import Listener, LoopbackListener, UnixListener
from lifeboat_daemon.control.socket_address import LoopbackAddress

__all__ = ["ConnectionLimits", "ControlServer", "Handler", "ServerLog"]

_BACKLOG = 128


class NullServerLog:
    """Discards the reports of a server."""

    def event(self, kind: str, /, level: str = "info", **fields: object) -> None:
        """Discard the event."""

    def exception(self, kind: str, error: BaseException, /, level: str = "error", **fields: object) -> None:
        """Discard the error."""


class ControlServer:
    """Answers clients of the same user with `handlers`. All methods are called in the thread of the event loop.

    The server answers `hello` and `subscribe` itself. A handler takes the parameters and returns the result, both JSON
    objects. A LifeboatError that it raises is sent to the client; any other error is logged and sent without its text.
    """

    def __init__(
        self,
        context: Context,
        release: str,
        handlers: Mapping[str, Handler],
        *,
        report: ServerLog | None = None,
        loopback: bool = os.name == "nt",
        limits: ConnectionLimits | None = None,
    ) -> None:
        self._context = context
        self._release = release
        self._started_at = context.now()
        self._loopback = loopback
        self._listener: Listener | None = None
        self._server: asyncio.Server | None = None
        self._desk = ConnectionHub(
            handlers, self._admit, self._greet, report or NullServerLog(), limits or ConnectionLimits()
        )

    @property
    def address(self) -> str:
        """The address for people: a path, or host and port. Empty while the server does not listen."""
        return "" if self._listener is None else str(self._listener.address)

    @property
    def clients(self) -> int:
        """The number of connected programs."""
        return len(self._desk.connections)

    async def start(self) -> None:
        """Start listening. The caller holds the daemon's lock. Raises ServiceError.ALREADY_RUNNING, NotAllowed,
        ServiceError, SystemRefused; in that case nothing listens."""
        self._desk.is_closing = False
        try:
            self._listener = self._bind()
            self._server = await self._serve(self._listener.socket)
            socket_address.write_address_note(self._context.home, self._context.files, self._listener.address)
        except OSError as error:
            self._close_door()
            raise convert_system_error(error) from error
        except LifeboatError:
            self._close_door()
            raise

    def _bind(self) -> Listener:
        context = self._context
        if self._loopback:
            return LoopbackListener.bind()
        return UnixListener.bind(
            socket_address.choose_address(context.home, context.files, context.environment), context.files
        )

    async def _serve(self, bound: socket.socket) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        make = functools.partial(ClientConnection, self._desk)
        if self._loopback:
            return await loop.create_server(make, sock=bound, backlog=_BACKLOG)
        return await loop.create_unix_server(make, sock=bound, backlog=_BACKLOG)

    async def check(self) -> None:
        """Listen again if the files by which clients find the server were removed; existing connections stay. The
        daemon calls this on every tick. Raises what `start` raises, and tries again on the next call."""
        if self._desk.is_closing or self._can_be_found() or not self._context.home.exists():
            return  # If the home is gone, clients cannot find the socket, and no part of another home is created.
        self._close_door()
        await self.start()

    def _can_be_found(self) -> bool:
        home, files, listener = self._context.home, self._context.files, self._listener
        return (
            listener is not None
            and listener.is_there(files)
            and socket_address.is_address_noted(home, files, listener.address)
        )

    def publish(self, event: JsonObject) -> None:
        """Send an event to all subscribers. It does nothing without subscribers, never blocks and never raises: an
        event that cannot be encoded is a bug and only logged."""
        subscribers = [each for each in self._desk.connections if each.subscribed]
        if not subscribers:
            return
        try:
            line = json_rpc.encode_event(event)
        except (TypeError, ValueError, ServiceError) as error:
            self._desk.report.exception("control.event", error)
            return
        for each in subscribers:
            each.tell(line)

    async def stop(self) -> None:
        """Stop accepting clients, finish the requests, send the last event and close.

        May be called twice. A handler must not call it directly, because its own answer would be lost.
        """
        self._desk.is_closing = True
        self._close_door()
        await self._finish_requests()
        for each in list(self._desk.connections):
            each.leave(json_rpc.encode_event(json_rpc.GOODBYE) if each.subscribed else b"")
        if self._desk.connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._desk.alone.wait(), self._desk.limits.stop)
        for each in list(self._desk.connections):
            each.abort()

    def _close_door(self) -> None:
        listener, server = self._listener, self._server
        self._listener = self._server = None
        if server is not None:
            server.close()
        if listener is not None:
            listener.socket.close()
            with contextlib.suppress(OSError):  # The file is stale then; the next daemon removes it.
                listener.remove(self._context.files)
                socket_address.remove_address_note(self._context.home, self._context.files)

    async def _finish_requests(self) -> None:
        """Give running requests a moment to finish, then cancel them, except a request that may have called `stop`."""
        own = asyncio.current_task()
        if tasks := [each for each in self._desk.tasks if each is not own]:
            _, late = await asyncio.wait(tasks, timeout=self._desk.limits.stop)
            for each in late:
                each.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    # Access control -----------------------------------------------------------------------------------------------

    def _admit(self, connection: socket.socket) -> None:
        """Check the user of the connecting process. Raises NotAllowed for another user."""
        if self._loopback:
            return  # The user is unknown, so the client has to know the token.
        user = peer_user.read_peer_user(connection)
        if user is not None and user != os.geteuid():
            raise NotAllowed(
                f"the daemon serves the user with id {os.geteuid()}, but the request is from the user with id {user}",
                fix="",
            )

    def _greet(self, parameters: JsonObject) -> JsonObject:
        """Answer `hello`. Raises NotAllowed, BadRequest, OtherRelease; ServiceError.DOES_NOT_ANSWER once the server
        stops."""
        if self._listener is None:
            raise ServiceError.DOES_NOT_ANSWER("the daemon is stopping")
        proof = {}
        where = self._listener.address
        if isinstance(where, LoopbackAddress):
            if not where.is_token(parameters.get("token")):
                raise NotAllowed("the token of the request is missing, or is not the token in control.json", fix="")
            proof = {"reply": where.reply}
        client_protocol = parameters.get("protocol")
        if not isinstance(client_protocol, int) or not isinstance(parameters.get("app"), str):
            raise BadRequest('the request hello needs "protocol" (a number) and "app" (a string)')
        if client_protocol != json_rpc.PROTOCOL:
            raise OtherRelease(
                f"the daemon is of release {self._release} and uses protocol {json_rpc.PROTOCOL}; the "
                f"client uses protocol {client_protocol}"
            )
        home = str(self._context.home.folder)
        hello = HelloAnswer(json_rpc.PROTOCOL, self._release, os.getpid(), home, self._started_at)
        return {**hello.to_json(), **proof}
