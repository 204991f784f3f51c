"""Token buckets of `server.rates.rates_shared` in PostgreSQL. Each is a row, changed in one statement by the server's
clock."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from lifeboat_endpoint.engines.postgres import postgres_failures
from lifeboat_endpoint.engines.postgres.libraries import psycopg, psycopg_pool
from lifeboat_vault.errors import VaultBusy

if TYPE_CHECKING:
    from lifeboat_endpoint.engines.postgres.connection_pools import Pool, PostgresConnection

_WAIT = 1.0
"""Seconds to wait for a connection: a rate limit is not worth a longer wait."""
_SILENT = 2.0
"""Seconds to wait for an answer, longer than the server's own limits of the statement."""
_SWEPT_EVERY = 600.0
_SET = """select set_config('lifeboat.rate', %s, true), set_config('lock_timeout', '500ms', true),
    set_config('statement_timeout', '1s', true)"""
_TAKE = """insert into rate as r (key, level, given, at)
    values (%(key)s, %(burst)s - least(%(wanted)s, %(burst)s), least(%(wanted)s, %(burst)s), clock_timestamp())
    on conflict (key) do update set
        given = least(%(wanted)s, floor({now})), level = {now} - least(%(wanted)s, floor({now})),
        at = greatest(r.at, excluded.at)
    returning given, level""".format(
    now="""least(%(burst)s,
        r.level + %(rate)s * greatest(0, extract(epoch from excluded.at - r.at)::double precision))"""
)
_SWEEP = "delete from rate"
"""Delete all rows that the policy `stale` shows."""


class PostgresBuckets:
    """`BucketRows` on a pool of the kind `work`, for many threads. Stale rows are deleted periodically."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._guard = threading.Lock()
        self._swept = time.monotonic()

    def take(self, key: bytes, wanted: float, rate: float, burst: float) -> tuple[float, float]:
        """Raises VaultBusy, VaultUnusable."""
        try:
            with self._pool.connection(timeout=_WAIT) as connection:
                before, connection.patience = connection.patience, _SILENT
                taken = _take(connection, key, wanted, rate, burst)
                connection.patience = before
                if self._is_time():
                    connection.execute(_SWEEP)
                return taken
        except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests):
            raise VaultBusy("all connections to the database are in use") from None
        except psycopg.Error as error:
            raise postgres_failures.translate_error(error) from None

    def _is_time(self) -> bool:
        with self._guard:
            now = time.monotonic()
            if now - self._swept < _SWEPT_EVERY:
                return False
            self._swept = now
            return True


def _take(connection: PostgresConnection, key: bytes, wanted: float, rate: float, burst: float) -> tuple[float, float]:
    """Take tokens in one round trip."""
    asked = {"key": key, "wanted": float(wanted), "rate": float(rate), "burst": float(burst)}
    with connection.pipeline(), connection.transaction():
        connection.execute(_SET, (key.hex(),))
        cursor = connection.execute(_TAKE, asked)
    ((given, level),) = cursor.fetchall()
    return float(given), float(level)
