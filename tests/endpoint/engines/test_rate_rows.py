"""Rate limits that processes on many machines share, in a real PostgreSQL."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools
from lifeboat_endpoint.engines.postgres.rate_rows import PostgresBuckets
from lifeboat_endpoint.server.rates.rates_shared import SharedRates
from lifeboat_vault import errors
from support.endpoint.shared_databases import API, SharedDatabase, database
from support.patience import patience
from support.waiting import until

__all__ = ["database"]

KEY, OTHER = b"k" * 16, b"o" * 16
SECRET = b"s" * 32


@pytest.fixture
def rows(database: SharedDatabase) -> Iterator[PostgresBuckets]:
    database.execute("truncate lifeboat_work.rate")
    with database.pools() as pools:
        yield PostgresBuckets(pools.work)


def test_a_bucket_gives_what_it_has_and_fills_again(database: SharedDatabase, rows: PostgresBuckets) -> None:
    assert rows.take(KEY, 2, 0.001, 3) == (2.0, 1.0)
    given, level = rows.take(KEY, 2, 0.001, 3)
    assert given == 1.0 and level == pytest.approx(0, abs=0.1)
    assert rows.take(KEY, 2, 0.001, 3)[0] == 0.0
    assert rows.take(OTHER, 5, 0.001, 3) == (3.0, 0.0)
    database.execute("update lifeboat_work.rate set at = at - interval '1500 seconds'")
    assert rows.take(KEY, 2, 0.001, 3)[0] == 1.0
    database.execute("update lifeboat_work.rate set at = at - interval '1 day'")
    assert rows.take(KEY, 9, 0.001, 3) == (3.0, 0.0)


def test_a_clock_that_was_set_back_takes_nothing_away(database: SharedDatabase, rows: PostgresBuckets) -> None:
    rows.take(KEY, 1, 0.001, 3)
    database.execute("update lifeboat_work.rate set at = at + interval '1 hour'")
    assert rows.take(KEY, 1, 0.001, 3) == (1.0, 1.0)


def passed(address: str, many: int) -> int:
    pools = Pools(Database(address, API), connections=4)
    rates = SharedRates(PostgresBuckets(pools.work), lambda: SECRET, 0.001, 640.0)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: rates.take("token", time.monotonic()), range(many)))
    pools.close()
    return sum(1 for wait in found if not wait)


def test_processes_together_let_no_more_pass_than_was_promised(database: SharedDatabase, rows: PostgresBuckets) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        found = pool.starmap_async(passed, [(database.address, 400)] * 4).get(patience(120))
    assert 640 <= sum(found) <= 640 + 4 * (640 / 64 + 1 + 4)


def test_the_role_that_serves_sees_no_bucket_but_the_one_it_names(
    database: SharedDatabase, rows: PostgresBuckets
) -> None:
    rows.take(KEY, 1, 1, 3)
    assert database.execute("select count(*) from lifeboat_work.rate", API) == [(0,)]
    assert database.execute("update lifeboat_work.rate set level = 9 returning key", API) == []
    assert database.execute("delete from lifeboat_work.rate returning key", API) == []
    with database.connect(API) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("select set_config('lifeboat.rate', %s, false)", (KEY.hex(),))
        connection.execute("update lifeboat_work.rate set key = %s", (OTHER,))


def test_buckets_that_were_full_long_ago_go(
    database: SharedDatabase, rows: PostgresBuckets, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows.take(OTHER, 1, 1, 3)
    database.execute("update lifeboat_work.rate set at = at - interval '2 hours'")
    monkeypatch.setattr("lifeboat_endpoint.engines.postgres.rate_rows._SWEPT_EVERY", 0.0)
    rows.take(KEY, 1, 1, 3)
    assert database.execute("select key from lifeboat_work.rate") == [(KEY,)]


def test_a_row_that_another_holds_is_waited_for_a_moment(database: SharedDatabase, rows: PostgresBuckets) -> None:
    rows.take(KEY, 1, 1, 3)
    with database.connect() as holder, holder.transaction():
        holder.execute("select 1 from lifeboat_work.rate for update")
        with pytest.raises(errors.VaultBusy):
            rows.take(KEY, 1, 1, 3)
    assert rows.take(KEY, 1, 1, 3)[0] == 1.0


def test_a_database_that_is_gone_leaves_each_process_to_itself(database: SharedDatabase) -> None:
    with database.pools() as pools:
        rates = SharedRates(PostgresBuckets(pools.work), lambda: SECRET, 1.0, 20.0)
        database.server.stop()
        try:
            assert sum(1 for _ in range(50) if not rates.take("token", 1.0)) == 20
        finally:
            database.server.start()
        now = 100.0

        def is_shared_again() -> bool:
            nonlocal now
            rates.take("token", now)
            now += 2
            return bool(database.execute("select 1 from lifeboat_work.rate"))

        until(is_shared_again, "a bucket in the database")
