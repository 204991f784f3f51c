"""Failures between a store and its database, and connections that are shared by tenants."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from psycopg import errors as sql_errors

from lifeboat_endpoint.engines.postgres import connection_pools, postgres_failures, postgres_wire
from lifeboat_endpoint.engines.postgres.connection_pools import Pools
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_vault import errors
from support.endpoint.shared_databases import OTHER_TENANT, TENANT, SharedDatabase, database, pools, shared_database
from support.patience import patience
from support.waiting import until

__all__ = ["database", "pools"]

ADD = "insert into decision(key, value) values (?, ?)"
VALUES = "select value from decision order by key"


def vault(pools: Pools, agent: str, tenant: str = TENANT) -> PostgresStore:
    made = PostgresStore(pools.vault, "vault", tenant=tenant, agent=agent)
    made.prepare()
    return made


# Whose connection it is -----------------------------------------------------------------------------------------------


def test_tenants_that_share_connections_never_see_each_others_rows(database: SharedDatabase) -> None:
    """Two connections, four threads with four tenants each, and hundreds of changes and reads of every kind."""

    def live(thread: int) -> None:
        stores = [vault(pools, f"shared {thread}", tenant=f"tenant {number}") for number in range(4)]
        for turn in range(60):
            for number, each in enumerate(stores):
                mine = f"{thread} {number}"
                with each.transaction():
                    each.execute(ADD, (f"{turn:03}", mine))
                assert set(each.rows(VALUES)) == {(mine,)}
                with each.snapshot():
                    assert each.row("select count(*), min(value), max(value) from decision") == (turn + 1, mine, mine)
                with contextlib.suppress(KeyError), each.transaction():
                    each.execute("update decision set value = 'lost'")
                    raise KeyError

    with database.pools(connections=2) as pools, ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(live, number) for number in range(4)]:
            done.result()


def test_what_a_transaction_left_set_counts_for_nothing(database: SharedDatabase) -> None:
    with database.pools(connections=1) as pools:
        first = vault(pools, "left")
        with first.transaction():
            first.execute(ADD, ("key", "first"))
            assert first._connection is not None
            for name, value in (("tenant", TENANT), ("agent", "left"), ("place", "1"), ("token", "x")):
                first._connection.execute(f"set lifeboat.{name} = '{value}'".encode())
        other = PostgresStore(pools.vault, "vault", tenant=OTHER_TENANT, agent="left")
        assert list(other.rows(VALUES)) == []
        nobody = PostgresStore(pools.vault, "vault", tenant=None)
        assert list(nobody.rows("select number from place")) == list(nobody.rows(VALUES)) == []


def test_a_transaction_that_fails_gives_its_connection_back_clean(database: SharedDatabase) -> None:
    with database.pools(connections=1) as pools:
        rows = vault(pools, "clean")
        for _ in range(5):
            with pytest.raises(errors.DraftInvalid), rows.transaction():
                rows.execute(ADD, ("key", "value"))
                rows.execute(ADD, ("key", "value"))
            assert list(rows.rows(VALUES)) == []
        with pools.vault.connection() as connection:
            setting = connection.execute("select current_setting('lifeboat.tenant', true)").fetchone()
            assert setting in [("",), (None,)]


def test_an_error_that_is_overlooked_does_not_lose_a_change_silently(pools: Pools) -> None:
    rows = vault(pools, "overlooked")
    with pytest.raises(errors.VaultUnusable), rows.transaction():
        rows.execute(ADD, ("key", "value"))
        with contextlib.suppress(errors.DraftInvalid):
            rows.execute(ADD, ("key", "value"))
    assert list(rows.rows(VALUES)) == []


def test_a_stream_that_is_left_gives_its_connection_back(database: SharedDatabase) -> None:
    with database.pools(connections=1) as pools:
        rows = vault(pools, "left stream")
        with rows.transaction():
            rows.execute_many(ADD, ((f"{number:05}", "value") for number in range(2000)))
        for _ in range(3):
            stream = rows.rows(VALUES)
            assert next(stream) == ("value",)
            del stream
        rows.rows(VALUES)  # the statement was never begun
        assert rows.row("select count(*) from decision") == (2000,)


def test_streams_and_what_is_asked_meanwhile_share_a_connection(database: SharedDatabase) -> None:
    with database.pools(connections=1) as pools:
        rows = vault(pools, "shared stream")
        with rows.transaction():
            rows.execute_many(ADD, ((f"{number:05}", str(number)) for number in range(2000)))
        keys = "select key from decision order by key"
        for (key,), (value,) in zip(rows.rows(keys), rows.rows(VALUES), strict=True):
            assert rows.row("select value from decision where key = ?", (key,)) == (value,)


def test_a_stream_does_not_outlive_its_transaction(pools: Pools) -> None:
    rows = vault(pools, "outlived")
    with rows.transaction():
        rows.execute_many(ADD, ((f"{number:05}", "value") for number in range(2000)))
    with rows.snapshot():
        stream = rows.rows(VALUES)
        next(stream)
    with pytest.raises(errors.VaultBusy):
        list(stream)


# Servers that go away -------------------------------------------------------------------------------------------------


@pytest.fixture
def own() -> Iterator[SharedDatabase]:
    with shared_database() as made:
        yield made


def test_a_server_that_is_restarted_in_a_transaction_keeps_nothing_of_it(own: SharedDatabase) -> None:
    with own.pools() as pools:
        rows = vault(pools, "restarted")
        with pytest.raises(errors.VaultBusy), rows.transaction():
            rows.execute(ADD, ("key", "value"))
            own.server.restart("immediate")
            rows.execute(ADD, ("other", "value"))
        assert list(rows.rows(VALUES)) == []
        with pytest.raises(errors.VaultBusy), rows.transaction():
            rows.execute(ADD, ("key", "value"))
            own.server.restart("immediate")
        with rows.transaction():
            rows.execute(ADD, ("key", "value"))
        assert list(rows.rows(VALUES)) == [("value",)]


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_connections_that_nobody_had_while_the_server_restarted_are_replaced_unnoticed(
    own: SharedDatabase, mode: str
) -> None:
    with own.pools() as pools, ThreadPoolExecutor(6) as threads:
        stores = [vault(pools, f"idle {number}") for number in range(6)]
        barrier = threading.Barrier(6)

        def hold(each: PostgresStore) -> None:
            with each.transaction():
                barrier.wait(patience())

        list(threads.map(hold, stores))
        own.server.restart(mode)
        for each in stores:
            assert each.row("select 1") == (1,)
            with each.transaction():
                each.execute(ADD, ("key", "value"))


def test_a_server_that_is_away_is_busy_soon(own: SharedDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pools, "WAIT_SECONDS", 1.0)
    with own.pools() as pools:
        rows = vault(pools, "away")
        own.server.stop()
        with pytest.raises(errors.VaultBusy), rows.transaction():
            raise AssertionError
        with pytest.raises(errors.VaultBusy):
            rows.row("select 1")
        with pytest.raises(errors.VaultBusy):
            pools.check()
        own.server.start()
        monkeypatch.setattr(connection_pools, "WAIT_SECONDS", patience())
        until(lambda: _answers(rows), "the server to answer again")
        pools.check()


def _answers(rows: PostgresStore) -> bool:
    with contextlib.suppress(errors.VaultBusy):
        return rows.row("select 1") == (1,)
    return False


def test_a_server_that_is_silent_is_not_waited_for_without_end(
    pools: Pools, database: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_wire, "ANSWER_SECONDS", 0.5)
    rows = vault(pools, "silent")
    with pytest.raises(errors.VaultBusy), rows.transaction():
        row = rows.row("select pg_backend_pid()")
        assert row is not None
        os.kill(row[0], signal.SIGSTOP)
        try:
            rows.execute(ADD, ("key", "value"))
        finally:
            os.kill(row[0], signal.SIGCONT)
    assert list(rows.rows(VALUES)) == []


def test_a_thread_waits_for_a_connection_only_so_long(
    database: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.pools(connections=1) as pools:
        first, second = vault(pools, "first"), vault(pools, "second")
        with monkeypatch.context() as patch, first.transaction(), pytest.raises(errors.VaultBusy):
            patch.setattr(connection_pools, "WAIT_SECONDS", 0.3)
            second.row("select 1")
        assert second.row("select 1") == (1,)


def test_a_writer_waits_for_another_one_only_so_long(database: SharedDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pools, "LOCK_SECONDS", 1)
    with database.pools() as pools:
        first, second = vault(pools, "one"), vault(pools, "one")
        with first.transaction():
            with pytest.raises(errors.VaultBusy), second.transaction():
                raise AssertionError
            with vault(pools, "another").transaction():
                pass
        with second.transaction():
            pass


def test_a_transaction_that_nobody_ends_is_ended_by_the_server(
    database: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pools, "IDLE_SECONDS", 1)
    with database.pools() as pools:
        rows = vault(pools, "idle")
        with pytest.raises(errors.VaultBusy), rows.transaction():
            time.sleep(1.5)
            rows.execute(ADD, ("key", "value"))
        assert rows.row("select 1") == (1,)


def test_a_vault_that_was_removed_meanwhile_is_missing(pools: Pools) -> None:
    open_elsewhere = vault(pools, "removed")
    remover = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="removed")
    with remover.transaction():
        remover.execute("delete from place")
    assert open_elsewhere.row("select 1 from vault") is None
    with pytest.raises(errors.VaultMissing), open_elsewhere.transaction():
        open_elsewhere.execute(ADD, ("key", "value"))


# What errors say ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (sql_errors.DiskFull, errors.VaultFull),
        (sql_errors.DeadlockDetected, errors.VaultBusy),
        (sql_errors.SerializationFailure, errors.VaultBusy),
        (sql_errors.LockNotAvailable, errors.VaultBusy),
        (sql_errors.QueryCanceled, errors.VaultBusy),
        (sql_errors.AdminShutdown, errors.VaultBusy),
        (sql_errors.CannotConnectNow, errors.VaultBusy),
        (sql_errors.TooManyConnections, errors.VaultBusy),
        (sql_errors.ReadOnlySqlTransaction, errors.VaultBusy),
        (sql_errors.OutOfMemory, errors.VaultBusy),
        (sql_errors.DataCorrupted, errors.VaultDamaged),
        (sql_errors.IndexCorrupted, errors.VaultDamaged),
        (sql_errors.ProgramLimitExceeded, errors.DraftInvalid),
        (sql_errors.NumericValueOutOfRange, errors.DraftInvalid),
        (sql_errors.CheckViolation, errors.DraftInvalid),
        (sql_errors.InsufficientPrivilege, errors.VaultUnusable),
        (sql_errors.SyntaxError, errors.VaultUnusable),
        (sql_errors.InternalError_, errors.VaultUnusable),
        (psycopg.OperationalError, errors.VaultBusy),
        (psycopg.InterfaceError, errors.VaultUnusable),
    ],
)
def test_an_error_is_of_the_kind_that_tells_what_helps(
    raised: type[psycopg.Error], expected: type[errors.VaultError]
) -> None:
    found = postgres_failures.translate_error(raised("what the database says"))
    assert type(found) is expected and found.retryable == expected.retryable


def test_no_error_holds_a_value_of_a_row(pools: Pools) -> None:
    rows = vault(pools, "quoted")
    secret = "the lighthouse is blue"
    with rows.transaction():
        rows.execute(ADD, (secret, secret))
    for statement, values in (
        (ADD, (secret, "again")),
        ("insert into bucket(number, hash) values (?, ?)", (secret, b"")),
        ("insert into decision(key, value) values (?, ?)", (secret + "x", None)),
        ("insert into entry(path, first, bucket, object, meta) values (?, 0, 0, 4711, ?)", (secret, secret)),
        (ADD, (secret + "\0", "null")),
        (ADD, (secret + "\udc80", "half")),
        (ADD, ("".join(map(chr, range(300, 4300))) + secret, "long")),
        ("select 1 / 0 from decision where value = ?", (secret,)),
    ):
        with pytest.raises(errors.DraftInvalid) as caught, rows.transaction():
            rows.execute(statement, values)
        assert secret not in str(caught.value) and secret not in str(caught.value.fix)
        assert caught.value.__cause__ is None


def test_a_role_that_is_not_let_in_is_no_reason_to_wait(
    database: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pools, "WAIT_SECONDS", 0.5)
    with closing(Pools(connection_pools.Database(database.address, "nobody"))) as pools:
        with pytest.raises(errors.VaultUnusable) as caught:
            pools.check()
        assert "not-a-real-password" not in str(caught.value)
