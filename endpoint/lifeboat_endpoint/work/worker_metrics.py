"""Metrics of a worker for Prometheus, without names of tenants or agents."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lifeboat_endpoint.server.server_metrics import OperationMetrics
from lifeboat_endpoint.work.endpoint_queue import EndpointQueue, JobCount
from lifeboat_vault.errors import CannotServe, PortTaken, ServerMissing, VaultError
from lifeboat_vault.store import timed_operations

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0, 7200.0)
_KEPT = 5.0
"""Seconds for which the counts of the queue are cached."""


class WorkerMetrics:
    """Metrics of this worker and of the queue. Raises ServerMissing."""

    def __init__(self, queue: EndpointQueue) -> None:
        client = _library()
        self._client = client
        client.disable_created_metrics()  # the creation times of series are not needed, and would double their number
        self._registry = client.CollectorRegistry()
        self._jobs = client.Counter(
            "lifeboat_jobs", "Number of jobs that this worker finished.", ("kind", "result"), registry=self._registry
        )
        self._seconds = client.Histogram(
            "lifeboat_job_seconds",
            "Run time of jobs, in seconds.",
            ("kind",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._registry.register(_QueueDepth(queue.counts))
        timed_operations.set_operation_listener(OperationMetrics(self._registry))

    def ended(self, kind: str, result: str, seconds: float) -> None:
        self._jobs.labels(kind, result).inc()
        self._seconds.labels(kind).observe(seconds)

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Serve the metrics until the returned function is called. Raises PortTaken, CannotServe."""
        try:
            server, thread = self._client.start_http_server(port, host, registry=self._registry)
        except OSError as error:
            refused = PortTaken if error.errno == errno.EADDRINUSE else CannotServe
            raise refused(f"metrics cannot be served on {host}:{port}: {error.strerror or error}") from None

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join(5.0)

        return stop

    def text(self) -> bytes:
        data: bytes = self._client.generate_latest(self._registry)
        return data


class _QueueDepth:
    """Collects the counts of the queue on demand. They are left out if the database does not answer."""

    def __init__(self, counts: Callable[[], list[JobCount]]) -> None:
        self._counts = counts
        self._lock = threading.Lock()
        self._known: list[JobCount] = []
        self._until = 0.0

    def collect(self) -> Iterator[Metric]:
        family = import_module("prometheus_client.core").GaugeMetricFamily
        jobs = family("lifeboat_queue_jobs", "Number of jobs in the queue.", labels=("kind", "state"))
        oldest = family(
            "lifeboat_queue_oldest_seconds", "Waiting time of the oldest due job, in seconds.", labels=("kind",)
        )
        for count in self._asked():
            jobs.add_metric((count.kind, count.state), count.jobs)
            if count.state == "waiting":
                oldest.add_metric((count.kind,), count.oldest)
        yield jobs
        yield oldest

    def describe(self) -> list[Any]:
        """Return nothing, so that registering does not query the database."""
        return []

    def _asked(self) -> list[JobCount]:
        with self._lock:
            if time.monotonic() >= self._until:
                try:
                    self._known = self._counts()
                except VaultError:
                    self._known = []
                self._until = time.monotonic() + _KEPT
            return self._known


def _library() -> Any:
    try:
        return import_module("prometheus_client")
    except ModuleNotFoundError:
        raise ServerMissing("the package prometheus_client is not installed") from None
