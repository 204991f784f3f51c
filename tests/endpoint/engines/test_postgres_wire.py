"""A connection limits its prepared statements and never confuses two of them. A silent server is not waited for."""

from __future__ import annotations

import os
import signal

import psycopg
import pytest

from lifeboat_endpoint.engines.postgres import postgres_wire
from lifeboat_endpoint.engines.postgres.connection_pools import Pools
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from support.endpoint.shared_databases import TENANT, database, pools

__all__ = ["database", "pools"]


@pytest.mark.parametrize("most", range(2, 9))
def test_statements_that_go_together_stay_apart_when_the_names_run_out(
    most: int, pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_wire, "_MOST_PREPARED", most)
    rows = PostgresStore(pools.tenant, "tenant", tenant=TENANT)
    for number in range(3 * most):
        assert rows.row(f"select {number}, current_setting('lifeboat.tenant')") == (number, TENANT)


def test_many_statements_of_one_change_stay_apart_when_the_names_run_out(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_wire, "_MOST_PREPARED", 5)
    rows = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="many")
    rows.prepare()
    for count in (1, 7, 12, 3, 15):
        with rows.transaction():
            rows.execute("delete from bucket")
            rows.execute_many("insert into bucket(number, hash) values (?, ?)", [(n, b"%d" % n) for n in range(count)])
        assert list(rows.rows("select number, hash from bucket order by number")) == [
            (n, b"%d" % n) for n in range(count)
        ]


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(pools: Pools) -> None:
    with pytest.raises(psycopg.OperationalError, match="does not respond"), pools.work.connection() as connection:
        pid = connection.info.backend_pid
        connection.patience = 0.5
        os.kill(pid, signal.SIGSTOP)
        try:
            connection.execute("select 1")
        finally:
            os.kill(pid, signal.SIGCONT)
