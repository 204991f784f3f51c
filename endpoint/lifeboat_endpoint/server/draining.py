"""Shutdown of a server without losing requests.

First it reports that it is not ready, so that a load balancer stops sending requests. Some seconds later it accepts
nothing new, and finishes running requests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from lifeboat_endpoint.server.process_supervisor import start_method
from lifeboat_endpoint.server.server_log import LOGGER


class SharedFlag:
    """A flag of the first process for the serving processes.

    It is one byte of shared memory without a lock, since a process that is stopped or killed would keep the lock.
    """

    def __init__(self) -> None:
        self._byte: Any = start_method().RawValue("b", 0)

    def set(self) -> None:
        self._byte.value = 1

    def __call__(self) -> bool:
        return bool(self._byte.value)


class Draining:
    """Delays the end of the server (`end`): the first signal begins a drain of some seconds, a second one ends the
    server immediately. Without seconds the first signal ends it."""

    def __init__(self, end: Callable[[], None], seconds: float, flag: SharedFlag) -> None:
        self._end = end
        self._seconds = seconds
        self._flag = flag
        self._begun = False

    def signalled(self, *_: object) -> None:
        """Handle a signal, without waiting."""
        if self._begun or not self._seconds:
            self._end()
            return
        self._begun = True
        threading.Thread(target=self._run, name="drain", daemon=True).start()

    def _run(self) -> None:
        self._flag.set()
        LOGGER.info("draining: the server reports `not ready` for %g seconds and still answers requests", self._seconds)
        time.sleep(self._seconds)
        LOGGER.info("drained: the server finishes running requests and accepts no new ones")
        self._end()
