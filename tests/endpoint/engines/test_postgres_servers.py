"""Of several servers the newest that accepts writes is used, even if the former primary came back beside it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_endpoint.engines.postgres import connection_pools, postgres_schema, server_choice
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_endpoint.engines.postgres.server_choice import each_of
from lifeboat_vault import errors
from lifeboat_vault.store import timed_operations
from support.endpoint.shared_databases import API, SharedDatabase, shared_database
from support.postgres_server import PostgresServer, standby_of
from support.short_folders import short_folder


@dataclass(frozen=True)
class Pair:
    """A primary and a standby, which `database` names in this order."""

    first: PostgresServer
    second: PostgresServer
    name: str

    @property
    def database(self) -> Database:
        return self.at(self.first, self.second)

    def at(self, *places: PostgresServer) -> Database:
        hosts = ",".join(str(each.folder) for each in places)
        return Database(f"postgresql:///{self.name}?host={hosts}&passfile={self.first.folder}/passfile", API)

    @contextmanager
    def pools(self) -> Iterator[Pools]:
        with closing(Pools(self.database, connections=2)) as made:
            yield made


def timeline_of(pools: Pools) -> int:
    """Return the timeline of the server to which the pools write: 1 of the first, 2 of the promoted one."""
    row = PostgresStore(pools.control, "control", tenant=None).row("select pg_walfile_name(pg_current_wal_lsn())")
    assert row is not None
    return int(str(row[0])[:8], 16)


def _connect_anew(pools: Pools) -> None:
    with pools.lone():
        pass


@pytest.fixture(scope="module")
def database() -> Iterator[SharedDatabase]:
    with shared_database() as made:
        yield made


@pytest.fixture
def pair(database: SharedDatabase) -> Iterator[Pair]:
    """Both servers, with the first one up and primary, whatever a test left."""
    with standby_of(database.server) as standby:
        yield Pair(database.server, standby, database.name)
    if not (database.server.folder / "data" / "postmaster.pid").exists():
        database.server.start()


class Heard:
    """Records what the metrics are told about connections."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def asked(self, system: str, operation: str, seconds: float, error: str) -> None:
        if operation == "connect":
            self.errors.append(error)

    def key_wanted(self) -> None:
        """Not counted here."""


def test_a_standby_is_passed_over_and_is_no_error(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_operations, "_listeners", [heard := Heard()])
    with closing(Pools(pair.at(pair.second, pair.first), connections=2)) as pools:
        assert timeline_of(pools) == 1
    assert heard.errors == [""]


def test_a_process_follows_a_promotion(pair: Pair) -> None:
    with pair.pools() as pools:
        assert timeline_of(pools) == 1
        pair.first.stop("immediate")
        pair.second.promote()
        postgres_schema.check_schema(pools)
        assert timeline_of(pools) == 2


def test_a_former_primary_that_comes_back_gets_nothing(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither from a process that saw the other server, nor from one that starts now."""
    monkeypatch.setattr(server_choice, "LOOK_EVERY", 1000.0)
    with pair.pools() as knows:
        assert timeline_of(knows) == 1
        pair.first.stop("immediate")
        pair.second.promote()
        assert timeline_of(knows) == 2
        pair.first.start()
        knows.control.drain()
        assert timeline_of(knows) == 2
    with pair.pools() as fresh:
        assert timeline_of(fresh) == 2
    told = [each.getMessage() for each in caplog.records if each.name == "lifeboat.endpoint"]
    assert told[0].startswith(
        f"skipped: the database at {pair.first.folder} has the old timeline 1; a server with timeline 2 "
    )
    assert len(told) == 2, "each process says so once"


def test_connections_to_a_former_primary_are_left_when_the_other_one_is_seen(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former primary was never away, so no connection broke."""
    with pair.pools() as pools:
        assert timeline_of(pools) == 1
        with pools.work.connection() as connection:
            assert connection.info.host == str(pair.first.folder)
        pair.second.promote()
        monkeypatch.setattr(server_choice, "LOOK_EVERY", 1000.0)
        _connect_anew(pools)
        assert timeline_of(pools) == 1
        monkeypatch.setattr(server_choice, "LOOK_EVERY", 0.0)
        _connect_anew(pools)
        assert timeline_of(pools) == 2
        with pools.work.connection() as connection:
            assert connection.info.host == str(pair.second.folder)


def test_a_former_primary_alone_is_refused_by_who_saw_the_other_one(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pools, "WAIT_SECONDS", 2.0)
    monkeypatch.setattr(timed_operations, "_listeners", [heard := Heard()])
    with pair.pools() as pools:
        pair.second.promote()
        assert timeline_of(pools) == 2
        pair.second.stop("fast")
        for check in (pools.check, lambda: postgres_schema.check_schema(pools)):
            with pytest.raises(errors.ServerReplaced, match="timeline 1; a server with timeline 2") as caught:
                check()
            assert caught.value.retryable and "pg_rewind" in (caught.value.fix or "")
        assert "server_replaced" in heard.errors
    with pair.pools() as fresh:
        assert timeline_of(fresh) == 1


def test_a_former_primary_that_follows_the_other_one_may_be_promoted_again() -> None:
    with (
        shared_database() as own,
        standby_of(own.server) as standby,
        Pair(own.server, standby, own.name).pools() as pools,
    ):
        assert timeline_of(pools) == 1
        own.server.kill()
        standby.promote()
        assert timeline_of(pools) == 2
        own.server.follow(standby)
        own.server.start()
        standby.kill()
        own.server.promote()
        assert timeline_of(pools) == 3


def test_a_server_that_does_not_tell_its_timeline_is_used(database: SharedDatabase) -> None:
    database.execute("revoke execute on function pg_control_system() from public")
    try:
        with database.pools() as pools:
            pools.check()
            postgres_schema.check_schema(pools)
    finally:
        database.execute("grant execute on function pg_control_system() to public")


def test_a_server_that_lets_wait_in_vain_is_asked_last_and_only_in_need(database: SharedDatabase) -> None:
    """It accepts connections and sends nothing, like a server whose machine hangs."""
    with silent_server() as hangs:
        listening, folder = hangs
        place = Database(
            f"postgresql:///{database.name}?host={folder},{database.server.folder}&connect_timeout=2"
            f"&passfile={database.server.folder}/passfile",
            API,
        )
        with closing(Pools(place, connections=2)) as pools:
            _connect_anew(pools)
            assert _connections(listening) == 1, "it was asked first"
            for _ in range(3):
                _connect_anew(pools)
            assert _connections(listening) == 0, "it was asked again, although another one answers"


def _connections(listening: socket.socket) -> int:
    """Return how many connections were made since the last time."""
    count = 0
    listening.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            listening.accept()[0].close()
            count += 1
    return count


@contextmanager
def silent_server() -> Iterator[tuple[socket.socket, Path]]:
    with short_folder() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/.s.PGSQL.5432")
        listening.listen()
        yield listening, folder


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({}, [{}]),
        ({"host": "/a"}, [{"host": "/a"}]),
        ({"host": "/a,/b"}, [{"host": "/a"}, {"host": "/b"}]),
        ({"host": "/a,/b", "port": "1"}, [{"host": "/a", "port": "1"}, {"host": "/b", "port": "1"}]),
        ({"host": "/a,/b", "port": "1,2"}, [{"host": "/a", "port": "1"}, {"host": "/b", "port": "2"}]),
        (
            {"host": "a,b", "hostaddr": "192.0.2.1,192.0.2.2"},
            [{"host": "a", "hostaddr": "192.0.2.1"}, {"host": "b", "hostaddr": "192.0.2.2"}],
        ),
        ({"host": "/a,/b", "port": "1,2,3"}, [{"host": "/a,/b", "port": "1,2,3"}]),
        ({"host": "/a,"}, [{"host": "/a"}, {"host": ""}]),
    ],
)
def test_an_address_names_these_servers(said: dict[str, str], found: list[dict[str, str]]) -> None:
    assert each_of(said) == found


def test_hosts_of_the_environment_are_asked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "/a,/b")
    assert each_of({"dbname": "lifeboat"}) == [
        {"dbname": "lifeboat", "host": "/a"},
        {"dbname": "lifeboat", "host": "/b"},
    ]


def test_servers_share_what_comes_where_the_address_says_so() -> None:
    said = {"host": "a,b,c", "load_balance_hosts": "random"}
    first = {each_of(said)[0]["host"] for _ in range(200)}
    assert first == {"a", "b", "c"}
