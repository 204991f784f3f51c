"""The client of commands: plain sockets, one request at a time, and no slow imports."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles
from lifeboat_core.errors import NotAllowed, NotRunning, ServiceError
from lifeboat_daemon.control import client_conversation, json_rpc, peer_user, socket_address
from lifeboat_daemon.control.client_conversation import ClientConversation
from lifeboat_daemon.control.control_methods import ControlMethod, HelloAnswer
from lifeboat_daemon.control.socket_address import Address, UnixAddress

if TYPE_CHECKING:
    from lifeboat_core.home.lifeboat_home import Home

R = TypeVar("R")
Tell = Callable[[JsonObject], None]
_PIECE = 64 * 1024
_TURN = 0.01
"""Seconds."""


class DaemonClient:
    """A connection to the daemon of a home, for use in one thread at a time. `hello` is the daemon's first answer."""

    def __init__(self, connection: socket.socket, where: Address) -> None:
        self._socket = connection
        self._where = where
        self._talk = ClientConversation()
        self._subscribed = False
        self.hello: HelloAnswer

    @classmethod
    def connect(cls, home: Home, files: FileOperations, timeout: float = 2.0, *, app: str = "lifeboat") -> DaemonClient:
        """Connect and send hello, both within `timeout` seconds; `app` names the program. Raises NotRunning,
        ServiceError.DOES_NOT_ANSWER, OtherRelease, NotAllowed, ServiceError."""
        where = socket_address.find_address(home, files)
        deadline = time.monotonic() + timeout
        client = cls(open_socket(where, timeout), where)
        try:
            said = client._ask("hello", client_conversation.make_hello_parameters(where, app), deadline)
            client.hello = client_conversation.read_hello(where, said)
        except BaseException:
            client.close()
            raise
        return client

    def call(self, method: str, /, **parameters: object) -> JsonObject:
        """Call a method by name and wait for its answer without a time limit. Raises the error that the method failed
        with; ServiceError.DOES_NOT_ANSWER when the daemon ends before it answers."""
        return self._ask(method, parameters, None)

    def ask(self, method: ControlMethod[R], /, tell: Tell | None = None, **parameters: object) -> R:
        """Call a method and decode its answer. Events that arrive before it are passed to `tell`. Raises what `call`
        raises; ServiceError.DOES_NOT_ANSWER when the method's time limit is reached; OtherRelease for an answer of
        another shape."""
        if tell is not None:
            self.subscribe()
        deadline = None if method.patience is None else time.monotonic() + method.patience
        return method.result(self._ask(method.name, parameters, deadline, tell))

    def subscribe(self) -> None:
        """Ask the daemon to send events to this client from now on."""
        if not self._subscribed:
            self._ask(json_rpc.SUBSCRIBE, {}, None)
            self._subscribed = True

    def events(self) -> Iterator[JsonObject]:
        """Yield events from now on until the connection ends. The last one is `goodbye` or `lost` if the daemon had
        time to send it."""
        self.subscribe()
        while True:
            while self._talk.events:
                yield self._talk.events.popleft()
            if not self._receive(None):
                return

    def close(self) -> None:
        """Close the connection; `events` in another thread ends too. Work that was requested continues."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def __enter__(self) -> DaemonClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: str, parameters: JsonObject, deadline: float | None, tell: Tell | None = None) -> JsonObject:
        number, line = self._talk.request(method, parameters)
        self._send(line, deadline)
        while number not in self._talk.outcomes:
            there = self._receive(deadline)
            while tell is not None and self._talk.events:
                tell(self._talk.events.popleft())
            if not there and number not in self._talk.outcomes:
                raise self._talk.refusal or ServiceError.DOES_NOT_ANSWER(
                    "the daemon closed the connection before it answered"
                )
        outcome = self._talk.outcomes.pop(number)
        if isinstance(outcome, LifeboatError):
            raise outcome
        return outcome

    def _send(self, line: bytes, deadline: float | None) -> None:
        """Send data. A daemon that closed the connection may have sent the reason: that is read instead of reporting
        the failed send."""
        try:
            self._socket.settimeout(_rest(deadline))
            self._socket.sendall(line)
        except TimeoutError:
            raise _silent(self._where) from None
        except OSError:
            return

    def _receive(self, deadline: float | None) -> bool:
        """Read what has arrived. Return False at the end of the connection."""
        try:
            self._socket.settimeout(_rest(deadline))
            data = self._socket.recv(_PIECE)
        except TimeoutError:
            raise _silent(self._where) from None
        except OSError:
            return False
        self._talk.take(data)
        return bool(data)


def connect_if_running(home: Home, files: FileOperations | None = None, timeout: float = 2.0) -> DaemonClient | None:
    """Return a client of the daemon that serves a home, or None when no daemon runs. Otherwise raises what
    `DaemonClient.connect` raises."""
    try:
        return DaemonClient.connect(home, files or SystemFiles(), timeout)
    except NotRunning:
        return None


def open_socket(where: Address, timeout: float) -> socket.socket:
    """Return a connected socket. Raises NotRunning, NotAllowed, ServiceError.DOES_NOT_ANSWER."""
    unix = isinstance(where, UnixAddress)
    connection = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        if isinstance(where, UnixAddress):
            _connect_in_turn(connection, where.path, timeout)
        else:
            connection.connect(("127.0.0.1", where.port))
        if unix:
            _check_server(connection)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        connection.close()
        raise explain_connect_error(where, error) from None
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_in_turn(connection: socket.socket, path: str, timeout: float) -> None:
    """Retry while the queue of a Unix socket is full: it refuses a connection instead of letting it wait. Raises
    OSError, and BlockingIOError when the queue is still full after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            connection.connect(path)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_TURN)


def _check_server(connection: socket.socket) -> None:
    """Check that the listening process belongs to this user, because the socket may lie in a shared temporary
    directory. Raises NotAllowed or OSError."""
    user = peer_user.read_peer_user(connection)
    if user is not None and user != os.geteuid():
        raise NotAllowed("the process that listens on the daemon's socket belongs to another user")


def explain_connect_error(where: Address, error: OSError) -> LifeboatError:
    """Convert an error of the system into the error that explains why there is no connection."""
    if isinstance(error, (FileNotFoundError, ConnectionRefusedError)):
        return NotRunning(f"no process listens on {where}")
    if isinstance(error, PermissionError):
        return NotAllowed(f"your user has no permission to open {where}")
    if isinstance(error, (TimeoutError, BlockingIOError)) or error.errno == errno.EAGAIN:
        return _silent(where)
    return ServiceError.DOES_NOT_ANSWER(f"{where}: {error.strerror or error}")


def _silent(where: Address) -> LifeboatError:
    return ServiceError.DOES_NOT_ANSWER(f"the daemon at {where} did not answer in time")


def _rest(deadline: float | None) -> float | None:
    """Return the seconds that are left. Raises TimeoutError when none are."""
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
