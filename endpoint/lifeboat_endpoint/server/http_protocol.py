"""HTTP/1.1 on one connection: uvicorn's protocol over llhttp, with time limits for what a client sends.

llhttp accepts neither a bare LF, nor folded headers, nor a length beside chunks. uvicorn itself waits without limit for
the rest of a request head, and for the rest of a body that was answered early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from lifeboat_endpoint.server.connections import SCOPE_KEY, ConnectionBounds, OpenConnection

_LARGEST_HEAD = 64 << 10


class HttpProtocol(HttpToolsProtocol):
    """One connection. `lost` is called when it has ended."""

    def __init__(
        self,
        config: Config,
        state: ServerState,
        bounds: ConnectionBounds,
        connection: OpenConnection,
        lost: Callable[[OpenConnection], None],
    ) -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self._bounds = bounds
        self._connection = connection
        self._lost = lost
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = False
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._connection.close = transport.abort
        self._connection.is_closing = transport.is_closing
        self._limit(self._bounds.head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit(None)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)
        self._lost(self._connection)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        was_in_head = self._in_head
        # llhttp skips empty lines before a request, also those that end with a bare LF.
        if data.startswith(b"\n") and not was_in_head and (self.cycle is None or self.cycle.response_complete):
            self.send_400_response("Invalid HTTP request received.")
            return
        super().data_received(data)
        if was_in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _LARGEST_HEAD:
                self.send_400_response("The header of the request is too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[SCOPE_KEY] = self._connection
        self._in_head, self._head_bytes = True, 0
        self._limit(self._bounds.head)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._limit(None)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if self.cycle.response_complete:
            self._limit(self._bounds.idle)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:  # no pipelined request follows
            self._unset_keepalive_if_required()
            self._limit(self._bounds.head if self._in_head else self._bounds.idle)
        if self.cycle.response_complete and self.cycle.more_body and not self.transport.is_closing():
            # Answered before the body was read, such as "too large". The client gets a moment to take the answer.
            self._limit(self._bounds.closing)

    def _limit(self, seconds: float | None) -> None:
        """End the connection after so many seconds, unless another limit replaces this one. With None there is no
        limit."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self.transport.abort)
