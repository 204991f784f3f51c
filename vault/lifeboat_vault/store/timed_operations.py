"""Time operations on databases, object stores and key sources for the metrics of a process.

Reports contain no names: only the system, the operation, its duration and its error code.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, NamedTuple, Protocol

from lifeboat_alf.errors import LifeboatError

System = Literal["database", "objects", "key"]


class ConnectionCounts(NamedTuple):
    """Database connections of a process for one kind of work; `waiting` threads wait for one."""

    used: int
    idle: int
    waiting: int


class OperationListener(Protocol):
    """Receiver of reports. Must be thread-safe and fast, and must not raise."""

    def asked(self, system: System, operation: str, seconds: float, error: str) -> None:
        """Receive one operation. `error` is its code, "" on success."""
        ...

    def key_wanted(self) -> None:
        """Receive a request for a data key. The source is asked only when it is not cached."""
        ...


_listeners: list[OperationListener] = []


def set_operation_listener(listener: OperationListener) -> None:
    """Set the listener of this process, replacing the previous one."""
    _listeners[:] = [listener]


def code_of(error: BaseException) -> str:
    return error.code if isinstance(error, LifeboatError) else "other"


class TimedOperation:
    """Context manager that times one operation. A class, because the overhead must stay far below a millisecond."""

    __slots__ = ("_began", "_code_of", "_operation", "_system")

    def __init__(self, system: System, operation: str, code_of: Callable[[BaseException], str] = code_of) -> None:
        self._system: System = system
        self._operation = operation
        self._code_of = code_of

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        for listener in _listeners:
            seconds = time.perf_counter() - self._began
            listener.asked(self._system, self._operation, seconds, "" if error is None else self._code_of(error))


def report_key_wanted() -> None:
    for listener in _listeners:
        listener.key_wanted()
