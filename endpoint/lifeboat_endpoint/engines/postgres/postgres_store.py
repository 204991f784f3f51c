"""The rows of one scope (a vault, a tenant, the whole endpoint) in PostgreSQL.

A connection is held only while a transaction, a snapshot or a stream of rows is open. Each transaction sets again whose
rows are visible, in the same round trip that begins it, so settings of an earlier user of the connection have no
effect.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from lifeboat_endpoint.engines.postgres import postgres_failures, scope_size
from lifeboat_endpoint.engines.postgres.connection_pools import WAIT_SECONDS, Pool
from lifeboat_endpoint.engines.postgres.libraries import psycopg
from lifeboat_endpoint.engines.postgres.postgres_wire import PostgresConnection, Result, check_committed, count_changed
from lifeboat_endpoint.engines.postgres.statement_translation import (
    FIRST_FETCH,
    TOGETHER,
    TURN,
    combine_rows,
    is_query,
    limit_statement,
    number_placeholders,
    widen_list,
)
from lifeboat_endpoint.service import tenant_schema
from lifeboat_endpoint.tenancy import control_schema
from lifeboat_vault import errors
from lifeboat_vault.store import vault_schema
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.store_protocols import MetadataStore, Parameters, Row

Kind = Literal["control", "tenant", "vault", "bodies"]

_ENTER = "select lifeboat_control.enter($1, $2, $3, $4, $5)"
_ADD_PLACE = "insert into lifeboat_vault.place default values on conflict do nothing"
_WRITE = "begin"
_READ = "begin read only"
_SNAPSHOT = "begin isolation level repeatable read, read only"
_OTHER_WRITES = -1
_Status = psycopg.pq.TransactionStatus
_NO_PIPELINE = psycopg.pq.PipelineStatus.OFF
_cursor_names = itertools.count()
_SQLITE_TABLES: dict[str, Sequence[str]] = {
    "vault": vault_schema.TABLES,
    "tenant": tenant_schema.TABLES,
    "control": control_schema.TABLES,
}


class PostgresStore:
    """A `MetadataStore` of the scope `kind`, `tenant` and `agent`. Belongs to one thread; the pool serves many."""

    is_read_only = False

    def __init__(
        self, pool: Pool, kind: Kind, *, tenant: str | None, agent: str | None = None, token: str | None = None
    ) -> None:
        """`token` is the id of a token whose row is visible before its tenant is known, in tables of control."""
        self._pool = pool
        self._kind = kind
        self._scope = (tenant or "", agent or "", token or "")
        self._writer = _writer_of(kind, tenant, agent)
        self._connection: PostgresConnection | None = None
        self._has_place = False
        self._reading: PostgresConnection | None = None
        self._streams = 0
        self._long: set[str] = set()

    def __repr__(self) -> str:
        return f"PostgresStore({self._kind})"

    # Transactions -----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Add the row of a vault. The tables exist already (see `postgres_schema`)."""
        if self._kind == "vault":
            with self.transaction():
                self.execute(_ADD_PLACE)

    @contextlib.contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[None]:
        """Run a transaction. VaultBusy from a commit that was not answered leaves its outcome open; a retry finds
        out."""
        if self._connection is not None:
            raise errors.VaultBusy("this connection already has a transaction or a snapshot open")
        connection = self._begun(_WRITE, self._writer, wait)
        self._connection = connection
        try:
            yield
            check_committed(self._sent(connection, "commit"))
        finally:
            self._connection = None
            self._give_back(connection)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._connection is not None:
            yield
            return
        connection = self._connection = self._begun(_SNAPSHOT)
        try:
            yield
        finally:
            self._connection = None
            self._give_back(connection)

    def _begun(self, begin: str, writer: int | None = None, wait: bool = True) -> PostgresConnection:
        """Return a connection with a transaction for this scope."""
        connection = self._taken()
        try:
            _, entered = connection.together([(begin, ()), self._entering(writer, wait)])
            ((place,),) = connection.loaded(entered)
            if place == _OTHER_WRITES:
                raise errors.VaultBusy("another process is writing to the same vault")
            self._has_place = place > 0
            return connection
        except psycopg.Error as error:
            self._give_back(connection)
            raise postgres_failures.translate_error(error) from None
        except BaseException:
            self._give_back(connection)
            raise

    def _entering(self, writer: int | None = None, wait: bool = True) -> tuple[str, Parameters]:
        return _ENTER, (*self._scope, writer, wait)

    def _taken(self) -> PostgresConnection:
        """Take a connection from the pool. Connections that broke while idle are thrown away."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                connection = self._pool.getconn()
            except psycopg.Error as error:
                raise postgres_failures.translate_error(error) from None
            if not connection.is_left or time.monotonic() >= deadline:
                return connection
            connection.close()
            self._pool.putconn(connection)

    def _give_back(self, connection: PostgresConnection) -> None:
        """Return a connection to the pool. Anything uncommitted is rolled back."""
        try:
            status = connection.pgconn.transaction_status
            # An exchange was interrupted, so the state of the connection is unknown.
            if connection.pgconn.pipeline_status != _NO_PIPELINE:
                connection.close()
            elif status in (_Status.INTRANS, _Status.INERROR):
                connection.sent("rollback")
            elif status != _Status.IDLE:
                connection.close()
        except psycopg.Error:
            connection.close()
        except BaseException:
            connection.close()
            raise
        finally:
            self._pool.putconn(connection)

    # Statements -------------------------------------------------------------------------------------------------

    def execute(self, statement: str, parameters: Parameters = ()) -> int:
        return self._written(number_placeholders(statement), parameters)[0]

    def execute_many(self, statement: str, rows: Iterable[Parameters]) -> None:
        if self._connection is None:
            with self.transaction():
                self.execute_many(statement, rows)
            return
        left = iter(rows)
        while chunk := list(itertools.islice(left, TOGETHER)):
            self._sent_together(self._connection, combine_rows(statement, chunk))

    def row(self, statement: str, parameters: Parameters = ()) -> Row | None:
        return next(iter(self._asked(number_placeholders(statement), parameters)), None)

    def rows(self, statement: str, parameters: Parameters = ()) -> Iterator[Row]:
        if not is_query(statement):  # a statement that changes rows and returns them
            return iter(self._written(number_placeholders(statement), parameters)[1])
        statement, parameters = widen_list(statement, parameters)
        # Small results come with the first answer. Remember statements with large ones.
        if statement not in self._long:
            found = self._asked(limit_statement(statement), parameters)
            if len(found) <= FIRST_FETCH:
                return iter(found)
            self._long.add(statement)
        return self._streamed(number_placeholders(statement), parameters)

    def _written(self, statement: str, parameters: Parameters) -> tuple[int, list[Row]]:
        """Return how many rows a statement changed, and the rows that it returned."""
        connection = self._connection
        if connection is None:
            return self._alone(statement, parameters, self._writer)
        result = self._sent(connection, statement, parameters)
        return count_changed(result), connection.loaded(result)

    def _asked(self, statement: str, parameters: Parameters) -> list[Row]:
        connection = self._connection or self._reading
        if connection is None:
            return self._alone(statement, parameters)[1]
        return connection.loaded(self._sent(connection, statement, parameters))

    def _alone(self, statement: str, parameters: Parameters, writer: int | None = None) -> tuple[int, list[Row]]:
        """Run one statement in a separate transaction: statements that are sent together are one transaction."""
        connection = self._taken()
        try:
            _, found = connection.together([self._entering(writer), (statement, parameters)])
            return count_changed(found), connection.loaded(found)
        except psycopg.Error as error:
            raise postgres_failures.translate_error(error) from None
        finally:
            self._give_back(connection)

    def _sent(self, connection: PostgresConnection, statement: str, parameters: Parameters = ()) -> Result:
        try:
            return connection.sent(statement, parameters)
        except psycopg.Error as error:
            raise self._failed(error) from None

    def _sent_together(self, connection: PostgresConnection, statements: list[tuple[str, Parameters]]) -> None:
        try:
            connection.together(statements)
        except psycopg.Error as error:
            raise self._failed(error) from None

    def _failed(self, error: psycopg.Error) -> errors.VaultError:
        # Without a row of the place, policies refuse every write.
        if self._kind == "vault" and not self._has_place and error.sqlstate == postgres_failures.NO_RIGHT:
            return errors.VaultMissing("another process removed the vault of the agent")
        return postgres_failures.translate_error(error)

    def _streamed(self, statement: str, parameters: Parameters) -> Iterator[Row]:
        """Yield rows from a cursor of the server, so that other statements can run in between."""
        name = f"rows_{next(_cursor_names)}"
        with self._stream() as connection:
            self._turn(connection, f"declare {name} no scroll cursor for {statement}", parameters)
            while found := self._turn(connection, f"fetch {TURN} from {name}"):
                yield from found
                if connection not in (self._connection, self._reading):
                    raise errors.VaultBusy("the transaction that reads the rows has ended")
            self._turn(connection, f"close {name}")

    def _turn(self, connection: PostgresConnection, statement: str, parameters: Parameters = ()) -> list[Row]:
        try:
            return connection.loaded(connection.sent_once(statement, parameters))
        except psycopg.Error as error:
            raise postgres_failures.translate_error(error) from None

    @contextlib.contextmanager
    def _stream(self) -> Iterator[PostgresConnection]:
        """Return the open transaction, or one for reading that all streams outside of a transaction share.

        A thread that held one connection for each stream could wait for itself.
        """
        if self._connection is not None:
            yield self._connection
            return
        if self._reading is None:
            self._reading = self._begun(_READ)
        self._streams += 1
        try:
            yield self._reading
        finally:
            self._streams -= 1
            if not self._streams:
                connection, self._reading = self._reading, None
                self._give_back(connection)

    # The whole scope --------------------------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """Report references to missing rows. Damaged pages need checksums and pg_amcheck, with rights that our roles do
        not have."""
        return scope_size.find_scope_problems(self, self._kind)

    def size(self) -> int:
        """Return the bytes of the rows of this scope, without deleted rows that wait for a vacuum."""
        return scope_size.measure_size(self, self._kind)

    def compact(self) -> None:
        """Do nothing: autovacuum gives back the space of deleted rows."""

    def scrub(self, *, wait: bool = True) -> bool:
        """Return True: remains of deleted rows in pages, logs and backups are sealed, and unreadable once their key is
        destroyed."""
        return True

    def copy_to(self, path: Path) -> None:
        """Copy tables and rows to a SQLite file, to move from a shared endpoint back to files."""
        _copy_to_sqlite(self, self._kind, path)

    def close(self) -> None:
        """Do nothing: connections belong to the pool."""


def _writer_of(kind: Kind, tenant: str | None, agent: str | None) -> int | None:
    """Return the number of the lock for writers of this scope, or None if its rows are independent of each other."""
    if kind == "bodies":
        return None
    parts = {"control": (), "tenant": (tenant,), "vault": (tenant, agent)}[kind]
    text = "\0".join((kind, *(part or "" for part in parts)))
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8, person=b"lifeboat writer").digest(), signed=True
    )


def _copy_to_sqlite(metadata: MetadataStore, kind: str, path: Path) -> None:
    """Copy all rows as of one moment. Raises VaultUnusable for tables that have no file of their own."""
    tables = _SQLITE_TABLES.get(kind)
    if tables is None:
        raise errors.VaultUnusable(f"the tables of {kind} cannot be copied to a separate file")
    with contextlib.closing(SqliteStore(path, create=True, tables=tables)) as target, metadata.snapshot():
        target.prepare()
        with target.transaction():
            # An object may name a base that is inserted later.
            target.execute("pragma defer_foreign_keys = on")
            for table in list(target.database.table_names()):
                columns = [column.name for column in target.database.table(table).columns]
                names, marks = ", ".join(columns), ", ".join("?" * len(columns))
                target.execute_many(
                    f"insert into {table}({names}) values ({marks})", metadata.rows(f"select {names} from {table}")
                )
        target.compact()
