"""The client of the dashboard: many concurrent requests, with events in between. Reconnecting is up to the caller."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.errors import ServiceError
from lifeboat_daemon.control import client_conversation, daemon_client, json_rpc, socket_address
from lifeboat_daemon.control.client_conversation import ClientConversation
from lifeboat_daemon.control.control_methods import ControlMethod, HelloAnswer
from lifeboat_daemon.control.socket_address import Address, UnixAddress

if TYPE_CHECKING:
    from lifeboat_core.home.lifeboat_home import Home

R = TypeVar("R")
MOST_EVENTS = 10_000
"""Events that wait for the iterating caller. When there are more, the connection counts as lost, as when the daemon
drops a slow client."""
_PIECE = 64 * 1024
_CLOSING = 1.0
"""Seconds."""


class AsyncDaemonClient:
    """A connection to the daemon of a home, in one event loop. `hello` is the daemon's first answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, where: Address) -> None:
        self._reader, self._writer = reader, writer
        self._where = where
        self._talk = ClientConversation()
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._events: deque[JsonObject] = deque()
        self._news = asyncio.Event()
        self._end: LifeboatError | None = None
        self._subscribed = False
        self._task = asyncio.create_task(self._read())
        self.hello: HelloAnswer

    @classmethod
    async def connect(
        cls, home: Home, files: FileOperations, timeout: float = 2.0, *, app: str = "lifeboat"
    ) -> AsyncDaemonClient:
        """Connect and send hello, both within `timeout` seconds; `app` names the program. Raises NotRunning,
        ServiceError.DOES_NOT_ANSWER, OtherRelease, NotAllowed, ServiceError."""
        where = socket_address.find_address(home, files)
        try:
            async with asyncio.timeout(timeout):
                made = cls(*await _open(where), where)
                await made._introduce(app)
        except TimeoutError:
            raise ServiceError.DOES_NOT_ANSWER(f"the daemon at {where} did not answer in time") from None
        return made

    async def _introduce(self, app: str) -> None:
        try:
            said = await self.call("hello", **client_conversation.make_hello_parameters(self._where, app))
            self.hello = client_conversation.read_hello(self._where, said)
        except BaseException:
            await self.close()
            raise

    @property
    def connected(self) -> bool:
        """Whether the connection is still open."""
        return self._end is None

    async def call(self, method: str, /, **parameters: object) -> JsonObject:
        """Call a method by name and wait for its answer without a time limit. Raises the error that the method failed
        with; ServiceError.DOES_NOT_ANSWER when the daemon ends before it answers. Cancelling ends the wait, not the
        work."""
        if self._end is not None:
            raise self._end
        number, line = self._talk.request(method, parameters)
        future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._writer.write(line)
            return await future
        finally:
            self._waiting.pop(number, None)

    async def ask(self, method: ControlMethod[R], /, **parameters: object) -> R:
        """Call a method and decode its answer. Raises what `call` raises; ServiceError.DOES_NOT_ANSWER when the
        method's time limit is reached; OtherRelease for an answer of another shape."""
        try:
            async with asyncio.timeout(method.patience):
                return method.result(await self.call(method.name, **parameters))
        except TimeoutError:
            raise ServiceError.DOES_NOT_ANSWER(f"the daemon at {self._where} did not answer in time") from None

    async def events(self) -> AsyncIterator[JsonObject]:
        """Yield events from now on until the connection ends. The last one is `goodbye` or `lost` if the daemon had
        time to send it."""
        if not self._subscribed:
            await self.call(json_rpc.SUBSCRIBE)
            self._subscribed = True
        while True:
            while self._events:
                yield self._events.popleft()
            if self._end is not None:
                return
            self._news.clear()
            await self._news.wait()

    async def close(self) -> None:
        """Close the connection. Work that was requested continues."""
        self._task.cancel()
        await asyncio.wait([self._task])
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), _CLOSING)

    async def __aenter__(self) -> AsyncDaemonClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _read(self) -> None:
        """Read until the connection ends, then wake every waiting caller."""
        end: LifeboatError = ServiceError.DOES_NOT_ANSWER("the daemon closed the connection")
        try:
            while data := await self._reader.read(_PIECE):
                self._talk.take(data)
                self._hand_out()
        except OSError as error:
            end = ServiceError.DOES_NOT_ANSWER(f"the connection to the daemon was closed: {error.strerror or error}")
        except ServiceError as error:
            end = error
        finally:
            self._finish(self._talk.refusal or end)

    def _hand_out(self) -> None:
        for number, outcome in self._talk.outcomes.items():
            self._settle(self._waiting.get(number), outcome)
        self._talk.outcomes.clear()
        if self._talk.events:
            self._events.extend(self._talk.events)
            self._talk.events.clear()
            self._news.set()
        if len(self._events) > MOST_EVENTS:
            self._events = deque([json_rpc.LOST])
            raise ServiceError("the program did not read the events of the daemon fast enough")

    def _settle(self, future: asyncio.Future[JsonObject] | None, outcome: JsonObject | LifeboatError) -> None:
        if future is None or future.done():
            return
        if isinstance(outcome, LifeboatError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def _finish(self, end: LifeboatError) -> None:
        self._end = end
        self._writer.close()
        for future in self._waiting.values():
            self._settle(future, end)
        self._news.set()


async def _open(where: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    # A connect succeeds or is refused immediately; asyncio misinterprets a full queue.
    if isinstance(where, UnixAddress):
        return await asyncio.open_unix_connection(sock=daemon_client.open_socket(where, 0.0))
    try:
        return await asyncio.open_connection("127.0.0.1", where.port)
    except OSError as error:
        raise daemon_client.explain_connect_error(where, error) from None
