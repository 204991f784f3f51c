"""A bus of a test's own, and services on it that have properties and nothing else."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from jeepney import HeaderFields, MessageType, message_bus, new_error, new_method_return
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from support.patience import patience

Property = tuple[str, Any]
"""The letter of its type, and its value."""


class FakeBus:
    """`properties` by service. A service whose properties are None has the name and never answers."""

    def __init__(self, folder: Path, properties: Mapping[str, Mapping[str, Property] | None]) -> None:
        self._socket = folder / "bus"
        self.address = f"unix:path={self._socket}"
        self._properties = properties
        self._threads: list[threading.Thread] = []
        self._connections: list[DBusConnection] = []

    def __enter__(self) -> FakeBus:
        command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={self.address}"]
        self._bus = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()
        for service, properties in self._properties.items():
            connection = open_dbus_connection(self.address)
            connection.send_and_get_reply(message_bus.RequestName(service))
            self._connections.append(connection)
            if properties is not None:
                thread = threading.Thread(target=_serve, args=(connection, properties), daemon=True)
                thread.start()
                self._threads.append(thread)
        return self

    def _wait(self) -> None:
        """Until the bus can be talked to: its socket is there a little before."""
        deadline = time.monotonic() + patience()
        while True:
            assert time.monotonic() < deadline and self._bus.poll() is None, "the bus does not come up"
            try:
                open_dbus_connection(self.address).close()
                return
            except OSError:
                time.sleep(0.005)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bus.kill()
        self._bus.wait()
        for thread in self._threads:
            thread.join(patience())
        for connection in self._connections:
            connection.close()


def _serve(connection: DBusConnection, properties: Mapping[str, Property]) -> None:
    """Until the bus dies."""
    with contextlib.suppress(Exception):
        for message in _messages(connection):
            if message.header.message_type is not MessageType.method_call:
                continue
            known = properties.get(message.body[1]) if message.header.fields[HeaderFields.member] == "Get" else None
            if known is None:
                connection.send(new_error(message, "com.example.Error.Unknown"))
            else:
                connection.send(new_method_return(message, "v", (known,)))


def _messages(connection: DBusConnection) -> Iterator[Any]:
    while True:
        yield connection.receive()
