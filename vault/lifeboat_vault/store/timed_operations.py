"""What was asked of a database, an object store or a key source, for whoever counts it: the figures of a process.

What is told holds no names: which of the three it was, what was done, how long it took and which error it ended with.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, NamedTuple, Protocol

from lifeboat_alf.errors import LifeboatError

System = Literal["database", "objects", "key"]


class ConnectionCounts(NamedTuple):
    """Of one process to a database, for one kind of work: `waiting` threads wait for one."""

    used: int
    idle: int
    waiting: int


class OperationListener(Protocol):
    """For many threads. It must not raise, and not take long."""

    def asked(self, system: System, operation: str, seconds: float, error: str) -> None:
        """`error`: a code, "" where all went well."""
        ...

    def key_wanted(self) -> None:
        """A data key is needed; its source is asked only where it is not held."""
        ...


_listeners: list[OperationListener] = []


def set_operation_listener(listener: OperationListener) -> None:
    """From now on a listener hears of everything in this process, in the place of the one before."""
    _listeners[:] = [listener]


def code_of(error: BaseException) -> str:
    return error.code if isinstance(error, LifeboatError) else "other"


class TimedOperation:
    """Around one operation. A class: it surrounds what takes less than a millisecond."""

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
