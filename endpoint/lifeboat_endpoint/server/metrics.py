"""Figures for Prometheus, without names of tenants or agents.

With several processes each writes its figures into files of a folder (prometheus-client's multiprocess mode), and
whichever is asked adds them up. The library decides at its first import whether it does so: `share` comes before.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

SHARED = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 120.0)
_ROOM = 1 << 20
"""Bytes; some 200 are needed for each figure of each route."""


def share(folder: Path) -> None:
    """Have all processes that are started from now on add up their figures in a folder, beginning with nothing."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
    for old in folder.glob("*.db"):
        with contextlib.suppress(FileNotFoundError):
            old.unlink()
    os.environ[SHARED] = str(folder)


def _make_room() -> None:
    """The files of this process, in their full size and with nothing in them. The library maps them into memory: on a
    disk without room a page that was never written would end the process. Where there is none it keeps its figures
    for itself."""
    folder = os.environ.get(SHARED)
    if folder is None:
        return
    for kind in ("counter", "histogram"):
        file = Path(folder) / f"{kind}_{os.getpid()}.db"
        try:
            file.write_bytes(bytes(_ROOM))
        except OSError:
            file.unlink(missing_ok=True)
            os.environ.pop(SHARED, None)


class Metrics:
    """The figures of this process."""

    def __init__(self) -> None:
        _make_room()
        from prometheus_client import CollectorRegistry, Counter, Histogram

        self._registry = CollectorRegistry()
        self._requests = Counter(
            "lifeboat_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "lifeboat_request_seconds",
            "From the first byte of a request to the last of its answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._received = Counter("lifeboat_received_bytes", "Bytes of bodies received.", registry=self._registry)
        self._sent = Counter("lifeboat_sent_bytes", "Bytes of bodies sent.", registry=self._registry)
        self._purges = Counter("lifeboat_purges", "Purges that were sent.", ("state",), registry=self._registry)

    def request(self, method: str, route: str, status: int, seconds: float, received: int, sent: int) -> None:
        """Count an answer. `route` is the route's path with its parameters' names, never their values."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)
        self._received.inc(received)
        self._sent.inc(sent)

    def purge(self, *, applied: bool) -> None:
        """Count a purge that was sent: it was applied, or waits."""
        self._purges.labels("applied" if applied else "waits").inc()

    def text(self) -> tuple[bytes, str]:
        """All figures, of all processes, and their media type."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

        if SHARED not in os.environ:
            return generate_latest(self._registry), CONTENT_TYPE_LATEST
        from prometheus_client.multiprocess import MultiProcessCollector

        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together), CONTENT_TYPE_LATEST
