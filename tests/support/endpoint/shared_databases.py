"""A database with the tables and roles of a shared endpoint, on a temporary PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import psycopg
import pytest

from lifeboat_endpoint.engines.postgres import postgres_schema
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools
from support.postgres_server import PASSWORD, PostgresServer, running

OWNER, API, WORKER = "lifeboat_owner", "lifeboat_api", "lifeboat_worker"
TENANT = "0190f0a0-0000-7000-8000-00000000000a"
OTHER_TENANT = "0190f0a0-0000-7000-8000-00000000000b"


@dataclass(frozen=True)
class SharedDatabase:
    server: PostgresServer
    name: str

    @property
    def address(self) -> str:
        """Return the address for endpoint.json."""
        return self.server.safe_address(self.name)

    def database(self, role: str = API) -> Database:
        return Database(self.address, role)

    @contextmanager
    def pools(self, role: str = API, connections: int = 8) -> Iterator[Pools]:
        with closing(Pools(self.database(role), connections=connections)) as made:
            yield made

    def connect(self, role: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        """Connect in autocommit, as any role; as the superuser by default."""
        return psycopg.connect(self.address, user=role, autocommit=True)

    def execute(self, statement: str, role: str = "postgres") -> list[tuple[object, ...]]:
        with closing(self.connect(role)) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def with_roles(server: PostgresServer, name: str = "lifeboat") -> SharedDatabase:
    """Make an empty database and the three roles."""
    made = SharedDatabase(server, name)
    as_superuser = SharedDatabase(server, "postgres")
    as_superuser.execute(f'create database "{name}"')
    roles = postgres_schema.roles_sql(OWNER, API, WORKER, name)
    if as_superuser.execute(f"select 1 from pg_roles where rolname = '{OWNER}'"):
        roles = "".join(line for line in roles.splitlines(True) if not line.startswith("create role"))
    made.execute(roles)
    for role in (OWNER, API, WORKER):
        as_superuser.execute(f"alter role {role} password '{PASSWORD}'")
    return made


def prepared(server: PostgresServer, name: str = "lifeboat") -> SharedDatabase:
    """Make a database with its tables."""
    made = with_roles(server, name)
    postgres_schema.prepare_schema(made.database(OWNER), api_role=API, worker_role=WORKER)
    return made


@contextmanager
def shared_database() -> Iterator[SharedDatabase]:
    """A database on a server of its own."""
    with running() as server:
        yield prepared(server)


@pytest.fixture(scope="module")
def database() -> Iterator[SharedDatabase]:
    with shared_database() as made:
        yield made


@pytest.fixture
def pools(database: SharedDatabase) -> Iterator[Pools]:
    with database.pools() as made:
        yield made
