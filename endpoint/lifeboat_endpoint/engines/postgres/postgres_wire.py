"""One exchange with the server, through libpq itself.

psycopg's cursors take four times as long for the small statements of a push, and wait for a silent server without
limit.
"""

from __future__ import annotations

import functools
import select
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar, cast

from lifeboat_endpoint.engines.postgres import postgres_failures, value_encoding
from lifeboat_endpoint.engines.postgres.libraries import adapt, psycopg, sql_errors
from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import Parameters, Row
from lifeboat_vault.store.timed_operations import TimedOperation

ANSWER_SECONDS = 330.0
"""How long to wait for an answer, longer than the server lets a statement run."""
_INTERVAL = 0.1
_MOST_PREPARED = 500
_BINARY = psycopg.pq.Format.BINARY
_FAILED = psycopg.pq.ExecStatus.FATAL_ERROR
_SYNC = psycopg.pq.ExecStatus.PIPELINE_SYNC

Result = psycopg.pq.abc.PGresult


Exchange = TypeVar("Exchange", bound=Callable[..., Any])


def _told(operation: str) -> Callable[[Exchange], Exchange]:
    """Measure an exchange for the metrics of this process."""

    def around(exchange: Exchange) -> Exchange:
        @functools.wraps(exchange)
        def exchanged(*arguments: Any) -> Any:
            with TimedOperation("database", operation, postgres_failures.find_error_code):
                return exchange(*arguments)

        return cast(Exchange, exchanged)

    return around


class PostgresConnection(psycopg.Connection[Any]):
    """A connection of a pool. A statement is prepared when it is sent first, under a name that is kept here."""

    _lifeboat_prepared: dict[str, bytes] | None = None
    _lifeboat_rows: psycopg.abc.Transformer | None = None
    patience: float | None = None
    """Seconds to wait for an answer in psycopg's own cursors, None for no limit."""

    def wait(self, gen: Any, interval: float = _INTERVAL, timeout: float | None = None) -> Any:
        limit = self.patience if timeout is None else timeout
        try:
            return super().wait(gen, interval, limit)
        except psycopg.OperationalError as error:
            if timeout is None and type(error).__name__ == "_WaitTimeout":
                self.close()
                raise psycopg.OperationalError("the database server does not respond") from None
            raise

    @property
    def is_left(self) -> bool:
        """Whether the server has closed the connection: there is something to read although nothing was asked."""
        if self.closed:
            return True
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        return bool(poll.poll(0))

    @_told("statement")
    def sent(self, statement: str, parameters: Parameters = ()) -> Result:
        """Send one statement (`$1`) and return its result. Raises psycopg.Error."""
        self._make_room({statement})
        name = self._name_of(statement)
        data, formats = value_encoding.encode_values(parameters)
        self.pgconn.send_query_prepared(name, data, formats, result_format=_BINARY)
        return _only(self._results())

    @_told("statement")
    def sent_once(self, statement: str, parameters: Parameters = ()) -> Result:
        """Send one statement without preparing it."""
        data, formats = value_encoding.encode_values(parameters)
        self.pgconn.send_query_params(statement.encode(), data, param_formats=formats, result_format=_BINARY)
        return _only(self._results())

    @_told("statements together")
    def together(self, statements: Iterable[tuple[str, Parameters]]) -> list[Result]:
        """Send several statements in one round trip and return their results. Outside of a transaction they are one.

        Raises psycopg.Error for the first that failed; later ones did not run.
        """
        sent = list(statements)
        self._make_room({statement for statement, _ in sent})
        named = [
            (self._name_of(statement), *value_encoding.encode_values(parameters)) for statement, parameters in sent
        ]
        pgconn = self.pgconn
        pgconn.enter_pipeline_mode()
        for name, data, formats in named:
            pgconn.send_query_prepared(name, data, formats, result_format=_BINARY)
        pgconn.pipeline_sync()
        results = self._results(count=len(named))
        pgconn.exit_pipeline_mode()
        for result in results:
            _check(result)
        return results

    def loaded(self, result: Result) -> list[Row]:
        """Return the rows of a result."""
        if self._lifeboat_rows is None:
            self._lifeboat_rows = adapt.Transformer(self)
        self._lifeboat_rows.set_pgresult(result)
        rows: list[Row] = self._lifeboat_rows.load_rows(0, result.ntuples, tuple)
        return rows

    def _make_room(self, statements: Collection[str]) -> None:
        """Make room for all statements that are sent together, so that no name is given twice within one exchange."""
        known = self._lifeboat_prepared or {}
        if len(known) + sum(statement not in known for statement in statements) > _MOST_PREPARED:
            self.pgconn.send_query(b"deallocate all")
            _only(self._results())
            known.clear()

    def _name_of(self, statement: str) -> bytes:
        if self._lifeboat_prepared is None:
            self._lifeboat_prepared = {}
        known = self._lifeboat_prepared
        name = known.get(statement)
        if name is not None:
            return name
        name = b"lifeboat_%d" % len(known)
        self.pgconn.send_prepare(name, statement.encode())
        _only(self._results())
        known[statement] = name
        return name

    def _results(self, *, count: int | None = None) -> list[Result]:
        """Return the results: of one statement until the last one, of a pipeline until its end."""
        pgconn = self.pgconn
        found: list[Result] = []
        deadline = time.monotonic() + ANSWER_SECONDS
        while pgconn.flush():
            self._wait(select.POLLIN | select.POLLOUT, deadline)
            pgconn.consume_input()
        while True:
            while pgconn.is_busy():
                self._wait(select.POLLIN, deadline)
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                if count is None:
                    return found
                continue  # the end of one statement of a pipeline
            if result.status == _SYNC:
                return found
            found.append(result)
            if pgconn.status != psycopg.pq.ConnStatus.OK:
                raise sql_errors.error_from_result(result)

    def _wait(self, events: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self.pgconn.socket, events)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            self.close()
            raise psycopg.OperationalError("the database server does not respond")


def _only(results: Sequence[Result]) -> Result:
    for result in results:
        _check(result)
    return results[-1]


def _check(result: Result) -> None:
    if result.status == _FAILED:
        raise sql_errors.error_from_result(result)


def count_changed(result: Result) -> int:
    """Return how many rows a statement changed."""
    return result.command_tuples or 0


def check_committed(result: Result) -> None:
    """Raise VaultUnusable if a commit was a rollback. After a failed statement only the answer to `commit` tells
    this."""
    if result.command_status != b"COMMIT":
        raise errors.VaultUnusable("a statement in the transaction failed, so the database rolled the transaction back")
