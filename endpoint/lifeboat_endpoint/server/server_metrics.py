"""Metrics for Prometheus, without names of tenants or agents.

With several processes each writes its metrics to files of a folder (prometheus-client's multiprocess mode), and the
process that is asked adds them up. The library chooses this mode when it is imported first: call `share_metrics`
before.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from lifeboat_vault.store.timed_operations import ConnectionCounts, System

SHARED = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 120.0)
_FAST = (0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 30.0)
_ROOM = 1 << 20
"""Bytes of each file; about 200 are needed for each metric of each route."""


def share_metrics(folder: Path) -> None:
    """Make processes that start later add up their metrics in a folder, beginning with none."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
    for old in folder.glob("*.db"):
        with contextlib.suppress(FileNotFoundError):
            old.unlink()
    os.environ[SHARED] = str(folder)


def forget_process(pid: int) -> None:
    """Remove a killed process from the sums, since it could not do so itself."""
    folder = os.environ.get(SHARED)
    for file in Path(folder).glob(f"gauge_live*_{pid}.db") if folder is not None else ():
        file.unlink(missing_ok=True)


def _make_room() -> None:
    """Create the files of this process in full size.

    The library maps them into memory, so a page that cannot be written on a full disk would end the process. If there
    is no room, the process keeps its metrics to itself.
    """
    folder = os.environ.get(SHARED)
    if folder is None:
        return
    for kind in ("counter", "histogram", *(f"gauge_{mode}" for mode in _MODES)):
        file = Path(folder) / f"{kind}_{os.getpid()}.db"
        try:
            file.write_bytes(bytes(_ROOM))
        except OSError:
            file.unlink(missing_ok=True)
            os.environ.pop(SHARED, None)


class MetricFamily(NamedTuple):
    """A metric and the names of its labels.

    No label names a tenant, an agent, a token or an address, so each metric has a few hundred series at most.
    """

    kind: Literal["counter", "gauge", "histogram"]
    name: str
    labels: tuple[str, ...]
    meaning: str
    buckets: tuple[float, ...] = ()
    mode: str = ""

    @property
    def told_as(self) -> str:
        """Its name in the output."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


_SUM, _LEAST = "livesum", "livemin"
_MODES = (_SUM, _LEAST)
"""How gauges of several processes are combined."""
_OWN = (
    MetricFamily("counter", "lifeboat_requests", ("method", "route", "status"), "Requests answered."),
    MetricFamily(
        "histogram",
        "lifeboat_request_seconds",
        ("method", "route"),
        "Time from the first byte of a request to the last byte of its response.",
        _SECONDS,
    ),
    MetricFamily("counter", "lifeboat_received_bytes", (), "Bytes of request bodies received."),
    MetricFamily("counter", "lifeboat_sent_bytes", (), "Bytes of response bodies sent."),
    MetricFamily("counter", "lifeboat_pushes", ("result",), "Number of pushed sequences, by result."),
    MetricFamily("counter", "lifeboat_purges", ("state",), "Purges received."),
    MetricFamily("counter", "lifeboat_refusals", ("limit",), "Number of requests refused by rate limits."),
    MetricFamily(
        "gauge", "lifeboat_database_connections", ("kind", "state"), "Number of connections to the database.", mode=_SUM
    ),
    MetricFamily(
        "gauge",
        "lifeboat_database_waiting",
        ("kind",),
        "Number of threads that wait for a database connection.",
        mode=_SUM,
    ),
    MetricFamily(
        "gauge",
        "lifeboat_ready",
        ("part",),
        "1 if this part of the endpoint responds, otherwise 0.",
        mode=_LEAST,
    ),
)
_OPERATIONS = (
    MetricFamily(
        "histogram",
        "lifeboat_operation_seconds",
        ("system", "operation"),
        "Response time of the database, the object store or a key source.",
        _FAST,
    ),
    MetricFamily(
        "counter",
        "lifeboat_operation_errors",
        ("system", "operation", "error"),
        "Number of error responses from the database, the object store or a key source.",
    ),
    MetricFamily(
        "counter",
        "lifeboat_key_lookups",
        (),
        "Number of data keys that requests needed, from the cache or from a key source.",
    ),
)
FAMILIES = (*_OWN, *_OPERATIONS)
_PUSHED = {200: "known", 201: "taken", 409: "behind", 413: "too_large", 429: "refused", 503: "busy", 507: "full"}


class OperationMetrics:
    """Metrics of databases, object stores and key sources: a `Listener` of `operations`."""

    def __init__(self, registry: Any) -> None:
        self._seconds, self._errors, self._lookups = (_made(family, registry) for family in _OPERATIONS)
        self._known: dict[tuple[str, str], Any] = {}

    def asked(self, system: System, operation: str, seconds: float, error: str) -> None:
        child = self._known.get((system, operation))
        if child is None:
            child = self._known[system, operation] = self._seconds.labels(system, operation)
        child.observe(seconds)
        if error:
            self._errors.labels(system, operation, error).inc()

    def key_wanted(self) -> None:
        self._lookups.inc()


class ServerMetrics:
    """The metrics of this process."""

    def __init__(self) -> None:
        _make_room()
        from prometheus_client import CollectorRegistry

        self._registry = CollectorRegistry()
        self._found = {family.name: _made(family, self._registry) for family in _OWN}
        self.operations = OperationMetrics(self._registry)

    def request(self, method: str, route: str, status: int, seconds: float, received: int, sent: int) -> None:
        """Count a response. `route` is the route's path with its parameters' names, never their values."""
        self._found["lifeboat_requests"].labels(method, route, str(status)).inc()
        self._found["lifeboat_request_seconds"].labels(method, route).observe(seconds)
        self._found["lifeboat_received_bytes"].inc(received)
        self._found["lifeboat_sent_bytes"].inc(sent)

    def push(self, status: int) -> None:
        """Count a push by the status of its response."""
        result = _PUSHED.get(status, "failed" if status >= 500 or status == 499 else "invalid")
        self._found["lifeboat_pushes"].labels(result).inc()

    def purge(self, *, applied: bool) -> None:
        """Count a purge that was sent: it was applied, or waits."""
        self._found["lifeboat_purges"].labels("applied" if applied else "waits").inc()

    def refused(self, limit: Literal["token", "address"]) -> None:
        """Count a request that was refused by a rate limit."""
        self._found["lifeboat_refusals"].labels(limit).inc()

    def connected(self, kind: str, connections: ConnectionCounts) -> None:
        """Set how many connections this process has for a kind of table."""
        state = self._found["lifeboat_database_connections"]
        state.labels(kind, "used").set(connections.used)
        state.labels(kind, "idle").set(connections.idle)
        self._found["lifeboat_database_waiting"].labels(kind).set(connections.waiting)

    def ready(self, part: str, *, is_well: bool) -> None:
        """Set whether a part answers."""
        self._found["lifeboat_ready"].labels(part).set(int(is_well))

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """Return the metrics of all processes and their media type: that of OpenMetrics if it is accepted."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import choose_encoder

        encoder, media_type = choose_encoder(accept)
        if SHARED not in os.environ:
            return encoder(self._registry), media_type
        from prometheus_client.multiprocess import MultiProcessCollector

        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return encoder(together), media_type

    def close(self) -> None:
        """Stop counting what this process has open."""
        if SHARED in os.environ:
            from prometheus_client.multiprocess import mark_process_dead

            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


def _made(family: MetricFamily, registry: Any) -> Any:
    from prometheus_client import Counter, Gauge, Histogram

    if family.kind == "histogram":
        return Histogram(family.name, family.meaning, family.labels, buckets=family.buckets, registry=registry)
    if family.kind == "gauge":
        mode: Any = family.mode
        return Gauge(family.name, family.meaning, family.labels, multiprocess_mode=mode, registry=registry)
    return Counter(family.name, family.meaning, family.labels, registry=registry)
