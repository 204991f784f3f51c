"""A job queue on a real PostgreSQL, with its real tables and roles, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from lifeboat_endpoint.engines.postgres.connection_pools import Pools
from lifeboat_endpoint.work.endpoint_queue import EndpointQueue, JobRow
from support.endpoint.shared_databases import API, WORKER, SharedDatabase, shared_database

KINDS = ("look_after", "apply_purge", "verify", "sweep")
LEASE = timedelta(seconds=60)
__all__ = ["API", "KINDS", "LEASE", "WORKER", "QueueServer", "only", "queue", "queue_server", "server"]


@dataclass
class QueueServer:
    """A PostgreSQL with the tables of the queue."""

    database: SharedDatabase
    _pools: list[Pools] = field(default_factory=list)

    def queue(self, role: str = WORKER, **options: Any) -> EndpointQueue:
        return EndpointQueue(self.pools(role).work, **options)

    def pools(self, role: str = WORKER) -> Pools:
        made = Pools(self.database.database(role), connections=8)
        self._pools.append(made)
        return made

    def pass_time(self, seconds: float) -> None:
        """Let time pass for everything in the queue."""
        columns = ("due_at", "turn", "again_at", "changed_at", "added_at")
        changes = ", ".join(f"{column} = {column} - interval '{seconds} seconds'" for column in columns)
        self.database.execute(f"update lifeboat_work.job set {changes}")
        self.database.execute(f"update lifeboat_work.latest set ended_at = ended_at - interval '{seconds} seconds'")

    def empty(self) -> None:
        self.database.execute("truncate lifeboat_work.job, lifeboat_work.latest restart identity")

    def close_pools(self) -> None:
        while self._pools:
            self._pools.pop().close()


@contextmanager
def queue_server() -> Iterator[QueueServer]:
    with shared_database() as database:
        made = QueueServer(database)
        try:
            yield made
        finally:
            made.close_pools()


@pytest.fixture(scope="module")
def server() -> Iterator[QueueServer]:
    with queue_server() as made:
        yield made


@pytest.fixture
def queue(server: QueueServer) -> Iterator[EndpointQueue]:
    """An empty queue without randomness."""
    server.empty()
    yield server.queue(chance=lambda: 0.5)
    server.close_pools()


def only(rows: list[JobRow]) -> JobRow:
    (row,) = rows
    return row
