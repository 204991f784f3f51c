"""Connections to PostgreSQL, over a local socket or over TLS with a verified name only, in one pool per kind of
table."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, LiteralString

from lifeboat_endpoint.engines.postgres import postgres_failures
from lifeboat_endpoint.engines.postgres.libraries import psycopg, psycopg_pool
from lifeboat_endpoint.engines.postgres.postgres_wire import PostgresConnection as PostgresConnection
from lifeboat_endpoint.engines.postgres.server_choice import IdentifiedServer, PostgresServers
from lifeboat_endpoint.engines.postgres.value_encoding import make_adapters
from lifeboat_vault import errors
from lifeboat_vault.store.timed_operations import ConnectionCounts

Pool = psycopg_pool.ConnectionPool[PostgresConnection]

_ALLOWED = {
    *("host", "hostaddr", "port", "dbname", "user", "passfile", "connect_timeout", "application_name"),
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "target_session_attrs"),
    "load_balance_hosts",
}
"""Parameters that an address may set. The program sets all others."""
_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
_SAFE_FIX = (
    "use a local socket (postgresql:///lifeboat?host=/run/postgresql), or add sslmode=verify-full and "
    "sslrootcert=FILE (or sslrootcert=system)"
)
_SECRET_FIX = (
    "store the password in a file that only its user can read (passfile=FILE or ~/.pgpass), or use sslcert and sslkey"
)

CONNECT_SECONDS = 5
LOCK_SECONDS = 10
STATEMENT_SECONDS = 300
IDLE_SECONDS = 300
"""How long a transaction may stay open without a statement, so that a hanging process does not keep a lock for ever."""
SILENCE_SECONDS = 15
"""How long a connection may be silent, or leave data unacknowledged, before it counts as broken."""
PATIENCE_SECONDS = 20.0
"""How long to wait for a short statement (trying a lock, a rate limit, a job).

It is longer than a wait for a locked row. It is needed because a server can accept connections and never answer.
"""
WAIT_SECONDS = 5.0
"""How long a thread waits for a connection."""
_KEPT_SECONDS = 300.0
"""How long an unused connection stays open."""
_OLDEST_SECONDS = 1800.0
"""Lifetime of a connection. A new one drops cached plans, and follows a host name that points to another server."""

_SEARCH = {
    "vault": "lifeboat_vault",
    "tenant": "lifeboat_tenant",
    "control": "lifeboat_control",
    "bodies": "lifeboat_tenant",
    "work": "lifeboat_work",
    "lone": "lifeboat_control",
}
"""The schema in which the statements of a kind find their tables."""
_STORES = ("vault", "tenant", "control", "bodies")
_POOLED = (*_STORES, "work")
_PLANS = {"enable_seqscan": "off", "plan_cache_mode": "force_generic_plan", "max_parallel_workers_per_gather": "0"}
"""Planner settings of stores. Each statement reads rows of one tenant by an index and is planned once. A plan that was
made while a table was small would scan all of it when it is large."""


@dataclass(frozen=True)
class Database:
    """An address as libpq writes it (a URL or `key=value`), and the role to connect as, which overrides a user in the
    address."""

    address: str
    role: str


def check_database_address(address: str) -> str:
    """Return the address if it is safe.

    Raises EndpointSettings for an address that is not encrypted, holds a secret or sets a forbidden parameter. The
    message never repeats a value.
    """
    try:
        said = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise errors.EndpointSettings("the connection string of the database cannot be parsed", fix=_SAFE_FIX) from None
    if any(name in said for name in _SECRETS):
        raise errors.EndpointSettings("the connection string of the database contains a password", fix=_SECRET_FIX)
    strange = sorted(set(said) - _ALLOWED)
    if strange:
        raise errors.EndpointSettings(f"the connection string of the database must not contain {', '.join(strange)}")
    if not _is_local(said):
        _check_encrypted(said)
    return address


def find_database_name(address: str) -> str:
    """Return the name of the database of a checked address, "" if it names none."""
    return str(psycopg.conninfo.conninfo_to_dict(check_database_address(address)).get("dbname") or "")


def _is_local(said: dict[str, Any]) -> bool:
    """Return whether every server is reached over a socket of this machine. `@` begins an abstract socket."""
    if said.get("hostaddr") or os.environ.get("PGHOSTADDR"):
        return False
    hosts = str(said.get("host") or os.environ.get("PGHOST") or "/").split(",")
    return all(host.startswith(("/", "@")) for host in hosts)


def _check_encrypted(said: dict[str, Any]) -> None:
    if said.get("sslmode") != "verify-full":
        raise errors.EndpointSettings(
            "the connection to the database leaves this machine, but does not require TLS with a check of "
            "the host name (sslmode=verify-full)",
            fix=_SAFE_FIX,
        )
    if not said.get("sslrootcert") and not os.environ.get("PGSSLROOTCERT"):
        raise errors.EndpointSettings(
            "the connection string of the database does not state a trusted certificate authority", fix=_SAFE_FIX
        )
    if not (said.get("host") or os.environ.get("PGHOST")):
        raise errors.EndpointSettings(
            "the connection string of the database contains no host name that a certificate could match"
        )


def make_connection_parameters(database: Database, kind: str) -> dict[str, Any]:
    """Return the parameters for libpq, for one kind of table.

    `verify-full` is set for every address. It has no effect on a local socket, and no environment variable can weaken
    it.
    """
    said = psycopg.conninfo.conninfo_to_dict(check_database_address(database.address))
    options = {
        **(_PLANS if kind in _STORES else {}),
        # Temporary tables come last: otherwise they could hide the tables of the endpoint.
        "search_path": f"pg_catalog,{_SEARCH[kind]},pg_temp",
        "statement_timeout": f"{STATEMENT_SECONDS}s",
        "lock_timeout": f"{LOCK_SECONDS}s",
        "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
        "timezone": "UTC",
        "row_security": "on",
        # Statements are short and repeated, so compiling them costs more than it saves.
        "jit": "off",
    }
    forced = {
        "user": database.role,
        "sslmode": "verify-full",
        "ssl_min_protocol_version": "TLSv1.3",
        "gssencmode": "disable",
        "client_encoding": "UTF8",
        "keepalives": 1,
        "keepalives_idle": SILENCE_SECONDS,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": SILENCE_SECONDS * 1000,
        "options": " ".join(f"-c {name}={value}" for name, value in options.items()),
    }
    default = {
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "lifeboat",
        # After a failover the old server may be back as a standby, which refuses writes.
        "target_session_attrs": "read-write",
    }
    return {**default, **said, **forced}


class _ServerConnection(PostgresConnection):
    """A connection to one of the servers that an address names."""

    _lifeboat_servers: PostgresServers
    _lifeboat_answer: IdentifiedServer

    @classmethod
    def connect(  # type: ignore[override]
        cls, conninfo: str = "", *, servers: PostgresServers, **options: Any
    ) -> _ServerConnection:
        answer = servers.connect(super().connect, options)
        found = answer.connection
        assert isinstance(found, cls)
        found._lifeboat_servers, found._lifeboat_answer = servers, answer
        return found

    @property
    def is_left(self) -> bool:
        return super().is_left or self._lifeboat_servers.is_behind(self._lifeboat_answer)


def open_connection(database: Database, servers: PostgresServers | None = None) -> PostgresConnection:
    """Open one connection outside of the pools, in autocommit; close it.

    `servers` is what this process knows of the servers. Raises VaultBusy, VaultUnusable, EndpointSettings.
    """
    try:
        connection = _ServerConnection.connect(
            servers=servers or PostgresServers(), **make_connection_parameters(database, "lone"), autocommit=True
        )
        _configure(connection)
    except psycopg.Error as error:
        raise postgres_failures.translate_error(error) from None
    return connection


def _configure(connection: PostgresConnection) -> None:
    if not connection.pgconn.ssl_in_use and not connection.info.host.startswith(("/", "@")):
        connection.close()
        raise psycopg.OperationalError("the connection to the database is not encrypted")


def _configure_pooled(connection: PostgresConnection) -> None:
    _configure(connection)
    connection.patience = PATIENCE_SECONDS


def _check_pooled(connection: PostgresConnection) -> None:
    if connection.is_left:
        connection.close()
        raise psycopg.OperationalError("the database server closed the connection")
    psycopg_pool.ConnectionPool.check_connection(connection)


class Pools:
    """The connections of one process, for many threads.

    Connections are opened on demand and closed when unused. `connections` is the most of each kind. A thread that waits
    longer than `WAIT_SECONDS` for one gets VaultBusy.
    """

    def __init__(self, database: Database, *, connections: int = 32) -> None:
        """Raises EndpointSettings."""
        self.database = database
        check_database_address(database.address)
        self._servers = PostgresServers()
        self._pools = {kind: _pool(database, kind, connections, self._servers) for kind in _POOLED}
        self.vault, self.tenant, self.control, self.bodies, self.work = self._pools.values()

    @contextlib.contextmanager
    def lone(self) -> Iterator[PostgresConnection]:
        """Open a connection outside of the pools, in autocommit: a lock on it lasts exactly as long as the
        connection."""
        with contextlib.closing(open_connection(self.database, self._servers)) as connection:
            connection.patience = PATIENCE_SECONDS
            try:
                yield connection
            except psycopg.Error as error:
                raise postgres_failures.translate_error(error) from None

    def check(self) -> None:
        """Check that the database answers. Raises VaultBusy, VaultUnusable, EndpointSettings."""
        try:
            self.asked("select 1")
        except psycopg.Error as error:
            raise postgres_failures.translate_error(error) from None

    def asked(self, statement: LiteralString) -> tuple[Any, ...] | None:
        """Return the first row of a statement about the endpoint itself.

        Raises psycopg.Error for errors of the statement, and VaultBusy, VaultUnusable or EndpointSettings if there is
        no connection.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        try:
            while True:
                with self.control.connection() as connection:
                    if not connection.is_left or time.monotonic() >= deadline:
                        row: tuple[Any, ...] | None = connection.execute(statement).fetchone()
                        return row
                    connection.close()
        except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests):
            open_connection(self.database, self._servers).close()
            raise errors.VaultBusy("all connections to the database are in use") from None

    def counted(self) -> dict[str, ConnectionCounts]:
        """Return how many connections there are of each kind, for metrics."""
        return {kind: _counted(pool) for kind, pool in self._pools.items()}

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close(timeout=CONNECT_SECONDS)


def _counted(pool: Pool) -> ConnectionCounts:
    found = pool.get_stats()
    idle = found.get("pool_available", 0)
    return ConnectionCounts(max(0, found.get("pool_size", 0) - idle), idle, found.get("requests_waiting", 0))


def _pool(database: Database, kind: str, connections: int, servers: PostgresServers) -> Pool:
    return psycopg_pool.ConnectionPool(
        connection_class=_ServerConnection,
        kwargs={
            **make_connection_parameters(database, kind),
            "servers": servers,
            "autocommit": True,
            "context": None if kind == "work" else make_adapters(),
            "prepare_threshold": None,
        },
        configure=_configure_pooled,
        # Stores detect a connection that broke while it was idle, and take the next. The queue is used rarely, so check
        # it here.
        check=_check_pooled if kind == "work" else None,
        min_size=0,
        max_size=connections,
        max_idle=_KEPT_SECONDS,
        max_lifetime=_OLDEST_SECONDS,
        # Short: the next caller tries again immediately.
        reconnect_timeout=1.0,
        timeout=WAIT_SECONDS,
        num_workers=1,
        name=f"lifeboat {kind}",
        open=True,
    )
