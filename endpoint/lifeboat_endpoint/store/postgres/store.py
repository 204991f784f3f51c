"""The rows of one scope (a vault, a tenant, the whole endpoint) in PostgreSQL.

A connection is held only while a transaction, a snapshot or a stream of rows is open. Whose rows are seen is set for
each transaction anew, in the round trip that begins it: what an earlier user of the connection left counts for nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from lifeboat_endpoint import errors
from lifeboat_endpoint.store.postgres import copying, failures, measuring
from lifeboat_endpoint.store.postgres.connecting import WAIT_SECONDS, Connection, Pool
from lifeboat_endpoint.store.postgres.libraries import psycopg
from lifeboat_endpoint.store.postgres.translating import FIRST_FETCH, TURN, is_query, limited, numbered, repeated
from lifeboat_endpoint.store.protocols import Parameters, Row

Kind = Literal["control", "tenant", "vault", "bodies", "work"]

_ENTER = "select lifeboat_control.enter($1, $2, $3, $4, $5)"
_ADD_PLACE = "insert into lifeboat_vault.place default values on conflict do nothing"
_WRITE = "begin"
_READ = "begin read only"
_SNAPSHOT = "begin isolation level repeatable read, read only"
_TOGETHER = 64
"""How many rows go with one insert of `execute_many`."""
_cursor_names = itertools.count()


class PostgresStore:
    """A `MetadataStore` of what `kind`, `tenant` and `agent` name. Belongs to one thread; the pool serves many."""

    def __init__(
        self, pool: Pool, kind: Kind, *, tenant: str | None, agent: str | None = None, token: str | None = None
    ) -> None:
        """`token`: in tables of control, the id of the one whose row is seen where no tenant is known yet."""
        self._pool = pool
        self._kind = kind
        self._scope = (tenant or "", agent or "", token or "")
        self._writer = _writer_of(kind, tenant, agent)
        self._connection: Connection | None = None
        self._reading: Connection | None = None
        self._streams = 0
        self._long: set[str] = set()

    def __repr__(self) -> str:
        return f"PostgresStore({self._kind})"

    # Transactions -----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """The tables are there (see `migrating`); a vault gets its place."""
        if self._kind == "vault":
            with self.transaction():
                self._run(_ADD_PLACE, ())

    @contextlib.contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[None]:
        """What a commit said that never answered is not known: VaultBusy, and whoever tries again finds out."""
        if self._connection is not None:
            raise errors.VaultBusy("a change or a snapshot is under way in this very place")
        connection = self._begun(_WRITE, self._writer, wait)
        self._connection = connection
        try:
            yield
            self._control(connection, "commit")
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

    def _begun(self, begin: str, writer: int | None = None, wait: bool = True) -> Connection:
        """A connection with a transaction for this scope. One that a restart of the server broke while nobody had it
        is thrown away, and the next one is tried."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            connection = self._taken()
            try:
                with connection.pipeline():
                    connection.execute(begin, prepare=False)
                    entered = self._entered(connection, writer, wait)
                place = entered.fetchone()
            except psycopg.Error as error:
                self._give_back(connection)
                if failures.is_lost(error) and time.monotonic() < deadline:
                    continue
                raise failures.translated(error) from None
            except BaseException:
                self._give_back(connection)
                raise
            if place is not None and place[0] == -1:
                self._give_back(connection)
                raise errors.VaultBusy("another process is writing there")
            return connection

    def _entered(self, connection: Connection, writer: int | None, wait: bool) -> Any:
        return connection.execute(_ENTER, (*self._scope, writer, wait), prepare=True, binary=True)

    def _taken(self) -> Connection:
        try:
            return self._pool.getconn()
        except psycopg.Error as error:
            raise failures.translated(error) from None

    def _give_back(self, connection: Connection) -> None:
        """Whatever was not committed is rolled back."""
        try:
            if not connection.closed and connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("rollback", prepare=False)
        except psycopg.Error:
            connection.close()
        finally:
            self._pool.putconn(connection)

    def _control(self, connection: Connection, statement: str) -> None:
        try:
            connection.execute(statement, prepare=False)
        except psycopg.Error as error:
            raise failures.translated(error) from None

    # Statements -------------------------------------------------------------------------------------------------

    def execute(self, statement: str, parameters: Parameters = ()) -> int:
        if self._connection is None:
            with self.transaction():
                return self.execute(statement, parameters)
        return int(self._run(numbered(statement), parameters).rowcount)

    def execute_many(self, statement: str, rows: Iterable[Parameters]) -> None:
        if self._connection is None:
            with self.transaction():
                self.execute_many(statement, rows)
            return
        connection, left = self._connection, iter(rows)
        together = repeated(statement, _TOGETHER)
        try:
            cursor = connection.cursor()
            while chunk := list(itertools.islice(left, _TOGETHER)):
                if together is not None and len(chunk) == _TOGETHER:
                    cursor.execute(together, list(itertools.chain.from_iterable(chunk)), prepare=True)
                else:
                    cursor.executemany(numbered(statement), chunk)
        except psycopg.Error as error:
            raise failures.translated(error) from None

    def row(self, statement: str, parameters: Parameters = ()) -> Row | None:
        found: Row | None = self._asked(numbered(statement), parameters).fetchone()
        return found

    def rows(self, statement: str, parameters: Parameters = ()) -> Iterator[Row]:
        if not is_query(statement):
            return iter(self._run(numbered(statement), parameters).fetchall())
        if statement not in self._long:
            found = self._asked(limited(statement), parameters).fetchall()
            if len(found) <= FIRST_FETCH:
                return iter(found)
            self._long.add(statement)
        return self._streamed(numbered(statement), parameters)

    def _run(self, statement: str, parameters: Parameters) -> Any:
        """In the open transaction."""
        if self._connection is None:
            with self.transaction():
                return self._run(statement, parameters)
        return self._sent(self._connection, statement, parameters)

    def _asked(self, statement: str, parameters: Parameters) -> Any:
        """In whatever is open; else in a transaction of its own, which is one round trip: what a pipeline holds is one."""
        connection = self._connection or self._reading
        if connection is not None:
            return self._sent(connection, statement, parameters)
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            connection = self._taken()
            try:
                with connection.pipeline():
                    self._entered(connection, None, True)
                    found = connection.execute(statement, parameters, prepare=True, binary=True)
                return found
            except psycopg.Error as error:
                if not failures.is_lost(error) or time.monotonic() >= deadline:
                    raise failures.translated(error) from None
            finally:
                self._give_back(connection)

    def _sent(self, connection: Connection, statement: str, parameters: Parameters) -> Any:
        try:
            return connection.execute(statement, parameters, prepare=True, binary=True)
        except psycopg.Error as error:
            raise failures.translated(error) from None
        except UnicodeEncodeError:
            raise errors.DraftInvalid("a text that is no Unicode") from None

    def _streamed(self, statement: str, parameters: Parameters) -> Iterator[Row]:
        """By a cursor of the server, so that other statements can run meanwhile."""
        name = f"rows_{next(_cursor_names)}"
        with self._stream() as connection:
            self._sent(connection, f"declare {name} no scroll cursor for {statement}", parameters)
            while found := self._sent(connection, f"fetch {TURN} from {name}", ()).fetchall():
                yield from found
                if connection not in (self._connection, self._reading):
                    raise errors.VaultBusy("the transaction whose rows are read has ended")
            self._sent(connection, f"close {name}", ())

    @contextlib.contextmanager
    def _stream(self) -> Iterator[Connection]:
        """The open transaction, or one for reading that all streams outside of it share: a thread that holds one
        connection for each could wait for itself."""
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

    # The whole --------------------------------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """Rows that name what is not there. Damaged pages are found by checksums and pg_amcheck, with rights that no
        role of ours has."""
        return measuring.problems(self, self._kind)

    def size(self) -> int:
        """Bytes of the rows of this scope, without those that a vacuum has still to take away."""
        return measuring.size(self, self._kind)

    def compact(self) -> None:
        """The database gives back the space of deleted rows by itself (autovacuum)."""

    def scrub(self, *, wait: bool = True) -> bool:
        """True: what stays of deleted rows in pages, logs and backups is sealed, and ends with its key."""
        return True

    def copy_to(self, path: Path) -> None:
        """A SQLite file with the same tables and rows: the way back from a shared endpoint."""
        copying.to_sqlite(self, self._kind, path)

    def close(self) -> None:
        """Connections belong to the pool."""


def _writer_of(kind: Kind, tenant: str | None, agent: str | None) -> int | None:
    """The lock of who writes there, 64 bits; None where rows are independent of each other."""
    if kind in ("bodies", "work"):
        return None
    parts = {"control": (), "tenant": (tenant,), "vault": (tenant, agent)}[kind]
    text = "\0".join((kind, *(part or "" for part in parts)))
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8, person=b"lifeboat writer").digest(), signed=True
    )
