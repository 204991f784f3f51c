"""A control server in a thread of its own, and clients that can send anything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import selectors
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import socket_address
from lifeboat_daemon.control.control_server import ConnectionLimits, ControlServer, Handler
from lifeboat_daemon.control.daemon_client import DaemonClient
from lifeboat_daemon.control.socket_address import LoopbackAddress
from support.patience import patience

T = TypeVar("T")
Serve = Callable[..., "Served"]


class Reports:
    """Collects what a server reports."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []
        self.errors: list[tuple[str, BaseException, dict[str, object]]] = []

    def event(self, kind: str, /, level: str = "info", **fields: object) -> None:
        self.events.append((kind, fields))

    def exception(self, kind: str, error: BaseException, /, level: str = "error", **fields: object) -> None:
        self.errors.append((kind, error, fields))

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]


class WatchedSelector(selectors.DefaultSelector):
    """Records how long the loop intended to sleep. None means until input arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.sleeps: float | None = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.sleeps = timeout
        found = super().select(timeout)
        self.sleeps = 0.0
        return found


class Served:
    """A running server. `handlers` are `echo`, `wait` (until `release`), and those that a test adds."""

    def __init__(
        self,
        context: Context,
        handlers: Mapping[str, Handler] | None = None,
        *,
        loopback: bool = False,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self.context = context
        self.reports = Reports()
        self.selector = WatchedSelector()
        self.loop = asyncio.SelectorEventLoop(self.selector)
        self.began = threading.Semaphore(0)
        self._open: asyncio.Event
        self._given = dict(handlers or {})
        self._loopback, self._limits = loopback, limits
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _make(self) -> ControlServer:
        self._open = asyncio.Event()
        handlers = {"echo": self._echo, "wait": self._wait, **self._given}
        return ControlServer(
            self.context, "0.1.0", handlers, report=self.reports, loopback=self._loopback, limits=self._limits
        )

    async def _echo(self, parameters: JsonObject) -> JsonObject:
        return parameters

    async def _wait(self, parameters: JsonObject) -> JsonObject:
        self.began.release()
        await self._open.wait()
        return parameters

    def let_go(self) -> None:
        """Let all waiting requests be answered."""
        self.loop.call_soon_threadsafe(self._open.set)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a function in the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(patience())

    def publish(self, *events: JsonObject) -> None:
        async def publish_all() -> None:
            for event in events:
                self.server.publish(event)

        self.do(publish_all())

    def connect(self, timeout: float | None = None) -> DaemonClient:
        return DaemonClient.connect(
            self.context.home, self.context.files, patience() if timeout is None else timeout, app="test"
        )

    def raw(self) -> Raw:
        """Return a connection on which nothing was sent."""
        return Raw.connect(self.context)

    def greeted(self) -> Raw:
        raw = self.raw()
        raw.hello()
        return raw

    def __enter__(self) -> Served:
        self._thread.start()
        self.server = self.do(self._make())
        try:
            self.do(self.server.start())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self.server.stop())
        self._end()

    def _end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(patience())
        self.loop.close()


class Raw:
    """A socket with lines, for messages that our clients never send."""

    def __init__(self, connection: socket.socket, token: str | None = None) -> None:
        self.socket = connection
        self.token = token
        self.socket.settimeout(patience())
        self._rest = b""

    @classmethod
    def connect(cls, context: Context) -> Raw:
        where = socket_address.find_address(context.home, context.files)
        if isinstance(where, LoopbackAddress):
            return cls(socket.create_connection(("127.0.0.1", where.port)), where.token)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(where.path)
        return cls(connection)

    def hello(self, **other: object) -> JsonObject:
        said: JsonObject = {"protocol": 1, "app": "test"}
        if self.token:
            said["token"] = self.token
        return self.ask("hello", said | other, number=0)

    def ask(self, method: str, parameters: object = None, *, number: object = 1) -> JsonObject:
        self.say(method, parameters, number=number)
        return self.hear()

    def say(self, method: str, parameters: object = None, *, number: object = 1) -> None:
        self.send(
            {"jsonrpc": "2.0", "id": number, "method": method, "params": {} if parameters is None else parameters}
        )

    def send(self, message: object) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def end(self) -> None:
        """Send nothing from now on."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def line(self) -> bytes | None:
        """Return the next line, or None at the end."""
        while b"\n" not in self._rest:
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not data:
                assert self._rest == b"", "half a line"
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def hear(self) -> JsonObject:
        line = self.line()
        assert line is not None, "the connection has ended"
        found: JsonObject = json.loads(line)
        assert found["jsonrpc"] == "2.0"
        return found

    def rest(self) -> list[JsonObject]:
        """Return everything until the end."""
        found = []
        while (line := self.line()) is not None:
            found.append(json.loads(line))
        return found

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture
def context(short: Path) -> Context:
    return open_home(short / "home")


@pytest.fixture(params=[False, True], ids=["unix", "loopback"])
def serve(request: pytest.FixtureRequest, context: Context) -> Iterator[Serve]:
    """Start servers with given handlers. They end with the test."""
    with contextlib.ExitStack() as stack:

        def begin(handlers: JsonObject | None = None, **limits: Any) -> Served:
            chosen = ConnectionLimits(**limits) if limits else None
            return stack.enter_context(Served(context, handlers, loopback=request.param, limits=chosen))

        yield begin


def open_home(folder: Path, **environment: str) -> Context:
    return Context.open({"LIFEBOAT_HOME": str(folder), "HOME": str(folder.parent), **environment})


def as_nobody(program: str, *arguments: str) -> str:
    """Return the output of a program that runs as a user without permissions. It imports its modules before it drops
    its own permissions."""
    import subprocess
    import sys

    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can run a program as another user")
    become = "import os\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    imports, _, rest = program.partition("---\n")
    done = subprocess.run(
        [sys.executable, "-c", imports + become + rest, *arguments],
        capture_output=True,
        text=True,
        timeout=patience(),
        cwd="/",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
