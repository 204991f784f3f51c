"""Choice of the server to write to, among those that an address names: PostgreSQL itself, and the primary.

Each new connection asks its server who it is. Every promotion increases the timeline, so a former primary that comes
back and accepts writes beside the promoted one has a lower timeline. A process that has seen the higher one never
writes to the other again.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lifeboat_endpoint.engines.postgres import postgres_failures
from lifeboat_endpoint.engines.postgres.libraries import psycopg
from lifeboat_endpoint.engines.postgres.postgres_wire import PostgresConnection
from lifeboat_vault import errors
from lifeboat_vault.store.timed_operations import TimedOperation

ANSWER_SECONDS = 5.0
LOOK_EVERY = 5.0
"""Seconds after which a new connection asks all servers again, instead of stopping at the first one."""
LOOK_SECONDS = 2
"""How long to wait for another server when one was found already."""
SLOW_SECONDS = 1.0
SLOW_FOR = 60.0
"""Seconds for which a server that did not answer within `SLOW_SECONDS` is asked last, and only if no other one
answers."""

_LOG = logging.getLogger("lifeboat.endpoint")
_VARIABLES = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT"}
_PROCESS = "select pg_backend_pid()"
_WHO = """select pg_backend_pid(),
    case when pg_is_in_recovery() then null else pg_walfile_name(pg_current_wal_lsn()) end,
    (select system_identifier::text from pg_control_system())"""
"""The name of the current WAL segment begins with the timeline. The last checkpoint may not have the new timeline
yet."""
_TIMELINE_DIGITS = 8


class IdentifiedServer(NamedTuple):
    """A connection and the identity of its server. `system` identifies the database cluster, also after a promotion; it
    is "" if the server does not tell."""

    connection: PostgresConnection
    system: str
    timeline: int


class PostgresServers:
    """The servers of one address as this process has seen them. For many threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._newest: dict[str, int] = {}
        self._looked_at = float("-inf")
        self._slow_until: dict[tuple[str, ...], float] = {}
        self._said: set[str] = set()

    def connect(self, make: Callable[..., PostgresConnection], parameters: Mapping[str, Any]) -> IdentifiedServer:
        """Connect to the first server that was not replaced, or to the newest one when it is time to ask all of them.

        `make` connects to one server, in autocommit. Raises psycopg.Error if no server accepts the connection,
        EndpointSettings for a pooler, ServerReplaced if only a replaced server answers.
        """
        with TimedOperation("database", "connect", postgres_failures.find_error_code):
            return self._found(make, sorted(each_of(parameters), key=self._is_slow))

    def _found(self, make: Callable[..., PostgresConnection], each: list[dict[str, Any]]) -> IdentifiedServer:
        looks = len(each) > 1 and self._is_time()
        best: IdentifiedServer | None = None
        failed: list[Exception] = []
        try:
            for one in each:
                # One server is found. Ask the others only periodically, and never a slow one.
                if best is not None and (not looks or self._is_slow(one)):
                    break
                limit = {} if best is None else {"connect_timeout": LOOK_SECONDS}
                began = time.monotonic()
                try:
                    best = self._better(best, identify_server(make, {**one, **limit}))
                except (psycopg.Error, errors.ServerReplaced) as error:
                    failed.append(error)
                    self._note_slow(one, time.monotonic() - began)
        except BaseException:
            if best is not None:
                best.connection.close()
            raise
        if best is None:
            raise _worst(failed)
        return best

    def is_behind(self, answer: IdentifiedServer) -> bool:
        """Whether a server with a higher timeline of the same system was seen."""
        return 0 < answer.timeline < self._newest.get(answer.system, 0)

    def _is_time(self) -> bool:
        with self._guard:
            now = time.monotonic()
            if now - self._looked_at < LOOK_EVERY:
                return False
            self._looked_at = now
            return True

    def _is_slow(self, one: Mapping[str, Any]) -> bool:
        return time.monotonic() < self._slow_until.get(_place(one), 0.0)

    def _note_slow(self, one: Mapping[str, Any], seconds: float) -> None:
        if seconds > SLOW_SECONDS:
            self._slow_until[_place(one)] = time.monotonic() + SLOW_FOR

    def _better(self, best: IdentifiedServer | None, found: IdentifiedServer) -> IdentifiedServer:
        """Return the better of two servers and close the connection to the other. Raises ServerReplaced if no better
        one is known."""
        newest = self._noted(found)
        if self.is_behind(found):
            behind = self._left(found, newest)
            if best is None:
                raise behind
            return best
        if best is None:
            return found
        if found.system == best.system and found.timeline > best.timeline:
            self._left(best, found.timeline)
            return found
        found.connection.close()
        return best

    def _left(self, found: IdentifiedServer, newest: int) -> errors.ServerReplaced:
        """Close the connection to a server that was replaced, log it once, and return the error."""
        where = found.connection.info.host
        found.connection.close()
        said = (
            f"the database at {where} has the old timeline {found.timeline}; a server with timeline "
            f"{newest} was promoted in its place"
        )
        with self._guard:
            known = said in self._said
            self._said.add(said)
        if not known:
            _LOG.warning("skipped: %s", said)
        return errors.ServerReplaced(said)

    def _noted(self, found: IdentifiedServer) -> int:
        """Return the highest timeline that was seen of this system, including this one."""
        with self._guard:
            newest = max(found.timeline, self._newest.get(found.system, 0))
            self._newest[found.system] = newest
            return newest


def identify_server(make: Callable[..., PostgresConnection], parameters: Mapping[str, Any]) -> IdentifiedServer:
    """Connect to one server and ask for its identity. Raises psycopg.Error, EndpointSettings for a pooler."""
    try:
        connection = make(**parameters)
    except psycopg.Error as error:
        if postgres_failures.is_of_pooler(error):
            raise postgres_failures.make_pooler_error() from None
        raise
    try:
        connection.patience = ANSWER_SECONDS
        process, segment, system = _said(connection)
        connection.patience = None
        # A pooler reports another process than the one that answers.
        if process != connection.info.backend_pid:
            raise postgres_failures.make_pooler_error()
    except BaseException:
        connection.close()
        raise
    return IdentifiedServer(connection, system or "", int(segment[:_TIMELINE_DIGITS], 16) if segment else 0)


def _said(connection: PostgresConnection) -> tuple[int, str | None, str | None]:
    """Return process, WAL segment and system. Hosted services that forbid the question have neither segment nor
    system."""
    try:
        row = connection.execute(_WHO).fetchone()
    except psycopg.Error as error:
        if postgres_failures.is_lost(error):
            raise
        row = (*(connection.execute(_PROCESS).fetchone() or (0,)), None, None)
    return row if row is not None else (0, None, None)


def each_of(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the connection parameters of each server that is named, in the order in which they are asked.

    Lists of different lengths are left as they are, so that libpq refuses them.
    """
    said = {name: str(parameters.get(name) or os.environ.get(variable) or "") for name, variable in _VARIABLES.items()}
    lists = {name: text.split(",") for name, text in said.items() if text}
    count = max((len(lists.get(name, [])) for name in ("host", "hostaddr")), default=0)
    if len(lists.get("port", [])) == 1:
        lists["port"] *= count
    if count < 2 or any(len(values) != count for values in lists.values()):
        return [dict(parameters)]
    each = [{**parameters, **{name: values[at] for name, values in lists.items()}} for at in range(count)]
    if parameters.get("load_balance_hosts") == "random":
        random.shuffle(each)
    return each


def _place(one: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(one.get(name)) for name in _VARIABLES)


def _worst(failed: list[Exception]) -> Exception:
    """Choose the error to report: a replaced primary, which needs an administrator, then one worth a retry, then any
    other."""
    replaced = [each for each in failed if isinstance(each, errors.ServerReplaced)]
    waiting = [
        each for each in failed if isinstance(each, psycopg.Error) and postgres_failures.translate_error(each).retryable
    ]
    return (replaced or waiting or failed)[-1]
