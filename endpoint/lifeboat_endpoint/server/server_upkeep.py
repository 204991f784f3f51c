"""Periodic maintenance by a running server, in a thread: whichever of its processes comes first does what is due."""

from __future__ import annotations

import threading

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance.periodic_maintenance import run_due
from lifeboat_endpoint.server.server_log import LOGGER, describe_error

_SECONDS = 60.0


class ServerUpkeep:
    """Checks a minute after the start, and every minute, whether maintenance is due."""

    def __init__(self, endpoint: Endpoint, *, seconds: float = _SECONDS) -> None:
        self._endpoint = endpoint
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, patience: float = 5.0) -> None:
        """Begin no further round. A running round is abandoned after `patience` seconds: each of its steps is a
        transaction."""
        self._stopped.set()
        self._thread.join(patience)

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._round()
            except Exception as error:
                LOGGER.error("maintenance failed: %s", describe_error(error))
        self._endpoint.close_thread()

    def _round(self) -> None:
        for done in run_due(self._endpoint, self._endpoint.clock.now()):
            for _ in done.problems:
                LOGGER.error("maintenance found a problem: tenant=%s needs `lifeboat endpoint verify`", done.tenant.id)
