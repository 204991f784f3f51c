"""Which of the servers that an address names is written to: PostgreSQL itself, and none that another one replaced.

Each server is asked once for each connection who it is. Its timeline is one more after every promotion, so a former
primary that comes back and takes writes beside the promoted one has the lower one. A process that has seen the higher
one never writes to the other again.
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
from lifeboat_vault.store.timed_operations import TimedOperation, code_of

ANSWER_SECONDS = 5.0
LOOK_EVERY = 5.0
"""Seconds after which a new connection looks at all servers again, and not only until one is found."""
LOOK_SECONDS = 2
"""How long another server is waited for where one is found already."""
SLOW_SECONDS = 1.0
SLOW_FOR = 60.0
"""Who let somebody wait in vain for longer than the one is asked last for as long as the other, and only in need."""

_LOG = logging.getLogger("lifeboat.endpoint")
_VARIABLES = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT"}
_PROCESS = "select pg_backend_pid()"
_WHO = """select pg_backend_pid(),
    case when pg_is_in_recovery() then null else pg_walfile_name(pg_current_wal_lsn()) end,
    (select system_identifier::text from pg_control_system())"""
"""The name of the segment that is written begins with the timeline, which the last checkpoint may not have yet."""
_TIMELINE_DIGITS = 8


class IdentifiedServer(NamedTuple):
    """Who is at the other end. `system`: which database cluster, also after a promotion, "" where nobody says."""

    connection: PostgresConnection
    system: str
    timeline: int


class PostgresServers:
    """Those of one address, as this process has seen them. For many threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._newest: dict[str, int] = {}
        self._looked_at = float("-inf")
        self._slow_until: dict[tuple[str, ...], float] = {}
        self._said: set[str] = set()

    def connect(self, make: Callable[..., PostgresConnection], parameters: Mapping[str, Any]) -> IdentifiedServer:
        """The connection to the first server that is not behind one that was seen, or to the newest where it is time to
        look at all of them. `make` connects to one, in autocommit.

        Raises psycopg.Error where none lets us in, EndpointSettings for a pooler, ServerReplaced where only such a
        server is there.
        """
        with TimedOperation("database", "connect", _code_of):
            return self._found(make, sorted(each_of(parameters), key=self._is_slow))

    def _found(self, make: Callable[..., PostgresConnection], each: list[dict[str, Any]]) -> IdentifiedServer:
        looks = len(each) > 1 and self._is_time()
        best: IdentifiedServer | None = None
        failed: list[Exception] = []
        try:
            for one in each:
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
        """Whether another server was seen that replaced this one."""
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
        """The connection to the other one is closed. Raises ServerReplaced for one that is behind, with none before."""
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
        """What to say of a server that is behind; the log hears of it once. The connection to it is closed."""
        where = found.connection.info.host
        found.connection.close()
        said = f"the database at {where} has timeline {found.timeline}, and one with {newest} was promoted in its place"
        with self._guard:
            known = said in self._said
            self._said.add(said)
        if not known:
            _LOG.warning("passed over: %s", said)
        return errors.ServerReplaced(said)

    def _noted(self, found: IdentifiedServer) -> int:
        """The newest timeline that was seen, with this one."""
        with self._guard:
            newest = max(found.timeline, self._newest.get(found.system, 0))
            self._newest[found.system] = newest
            return newest


def identify_server(make: Callable[..., PostgresConnection], parameters: Mapping[str, Any]) -> IdentifiedServer:
    """Connect to one server, and ask it who it is. Raises psycopg.Error, EndpointSettings for a pooler."""
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
        if process != connection.info.backend_pid:
            raise postgres_failures.make_pooler_error()
    except BaseException:
        connection.close()
        raise
    return IdentifiedServer(connection, system or "", int(segment[:_TIMELINE_DIGITS], 16) if segment else 0)


def _said(connection: PostgresConnection) -> tuple[int, str | None, str | None]:
    """Where a service does not let anybody ask for timelines, none is known."""
    try:
        row = connection.execute(_WHO).fetchone()
    except psycopg.Error as error:
        if postgres_failures.is_lost(error):
            raise
        row = (*(connection.execute(_PROCESS).fetchone() or (0,)), None, None)
    return row if row is not None else (0, None, None)


def each_of(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What connects to each server that is named, in the order in which they are asked. Lists that do not fit each
    other are left as they are, for libpq to refuse."""
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
    """A former primary, which somebody has to look at, before what is worth waiting for, and before all else."""
    replaced = [each for each in failed if isinstance(each, errors.ServerReplaced)]
    waiting = [
        each for each in failed if isinstance(each, psycopg.Error) and postgres_failures.translate_error(each).retryable
    ]
    return (replaced or waiting or failed)[-1]


def _code_of(error: BaseException) -> str:
    return postgres_failures.translate_error(error).code if isinstance(error, psycopg.Error) else code_of(error)
