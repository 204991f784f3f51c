"""A queue of work on a real PostgreSQL, with the roles that it has in earnest, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import postgres_server
import psycopg
from postgres_server import PASSWORD, PostgresServer

from lifeboat_endpoint.store.postgres.connecting import Database, Pools
from lifeboat_endpoint.work.queue import JobRow, Queue

SCHEMA = Path(__file__).parent.parent / "endpoint/lifeboat_endpoint/store/postgres/schema/0002_work.sql"
API, WORKER, OWNER = "lifeboat_api", "lifeboat_worker", "lifeboat_owner"
KINDS = ("look_after", "apply_purge", "verify", "sweep")
LEASE = timedelta(seconds=60)


@dataclass
class QueueServer:
    """A PostgreSQL with the tables of the queue. `address` holds no password: a file does."""

    server: PostgresServer
    address: str
    _pools: list[Pools] = field(default_factory=list)

    def queue(self, role: str = WORKER, **options: Any) -> Queue:
        return Queue(self.pools(role).work, **options)

    def pools(self, role: str = WORKER) -> Pools:
        made = Pools(Database(self.address, role))
        self._pools.append(made)
        return made

    def run(self, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """As whoever may do everything."""
        with psycopg.connect(self.server.address(), autocommit=True) as connection:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    def pass_time(self, seconds: float) -> None:
        """Time goes on for everything in the queue."""
        passed = timedelta(seconds=seconds)
        with psycopg.connect(self.server.address()) as connection:
            for column in ("due_at", "turn", "again_at", "changed_at", "added_at"):
                connection.execute(f"update lifeboat_work.job set {column} = {column} - %s", (passed,))
            connection.execute("update lifeboat_work.latest set ended_at = ended_at - %s", (passed,))

    def empty(self) -> None:
        self.run("truncate lifeboat_work.job, lifeboat_work.latest restart identity")

    def close_pools(self) -> None:
        while self._pools:
            self._pools.pop().close()

    def stop(self, mode: str = "immediate") -> None:
        self._control("stop", "-m", mode)

    def start(self) -> None:
        self._control(
            "start", "-l", f"{self.server.folder}/log", "-o", postgres_server._OPTIONS.format(folder=self.server.folder)
        )

    def _control(self, *arguments: str) -> None:
        found = postgres_server.programs()
        assert found is not None
        postgres_server._run(found / "pg_ctl", "-D", f"{self.server.folder}/data", "-w", "-t", "30", *arguments)


@contextmanager
def queue_server() -> Iterator[QueueServer]:
    with postgres_server.running() as server:
        made = QueueServer(server, _address(server))
        _prepare(made)
        try:
            yield made
        finally:
            made.close_pools()


def _address(server: PostgresServer) -> str:
    passwords = server.folder / "pgpass"
    passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
    passwords.chmod(0o600)
    return f"postgresql:///postgres?host={server.folder}&passfile={passwords}"


def _prepare(made: QueueServer) -> None:
    for role in (OWNER, API, WORKER):
        made.run(f"create role {role} login nosuperuser nobypassrls password '{PASSWORD}'")
    made.run(f"grant create on database postgres to {OWNER}")
    tenant = "nullif(current_setting('lifeboat.tenant', true), '')"
    text = SCHEMA.read_text().replace("{tenant}", tenant).replace("{api}", API).replace("{worker}", WORKER)
    with psycopg.connect(made.server.address()) as connection:
        connection.execute(f"set role {OWNER}")
        connection.execute(text)


def only(rows: list[JobRow]) -> JobRow:
    (row,) = rows
    return row
