"""What the benchmarks of a shared endpoint stand on: a cluster that counts, copies of agents, the least of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks import pushing, shared_agents, shared_engine, shared_rows, small_objects
from benchmarks.shared_engine import Cluster

from lifeboat_endpoint.engines.objects.store_address import check_store_address, open_store
from lifeboat_vault import errors
from support import postgres_server


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if postgres_server.programs() is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with shared_engine.cluster() as found:
        yield found


def test_the_least_of_a_store_keeps_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in small_objects.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with small_objects.objects() as address:
        bucket = open_store(check_store_address(small_objects.URL, {"endpoint": address, "region": "us-east-1"}))
        bucket.put("a/b", b"body")
        assert bucket.get("a/b") == b"body"
        assert [(one.key, one.size) for one in bucket.list("a")] == [("a/b", 4)]
        bucket.check()
        bucket.delete("a/b")
        with pytest.raises(errors.VaultDamaged):
            bucket.get("a/b")


def test_what_a_database_did_is_counted_for_each(cluster: Cluster) -> None:
    cluster.create("bench")
    with cluster.connected("bench") as connection:
        connection.execute("create table note(text text)")
        connection.execute("insert into note values ('there is a page')")
        connection.execute("checkpoint")
        before = cluster.counts("bench")
        for _ in range(10):
            connection.execute("insert into note values ('x')")
    found = cluster.counts("bench").since(before, 10)
    assert found.commits == 1
    assert found.wal > 0 and found.pages >= 1
    assert found.whole == 0.1  # the first one writes the page whole
    asked = [
        calls
        for calls, _, _, text in cluster.costliest("bench", 100)
        if text.startswith("insert into note values ($1)")
    ]
    assert asked == [11]


def test_copies_of_an_agent_have_as_many_rows_as_it_has(cluster: Cluster, tmp_path: Path) -> None:
    made = pushing.made(tmp_path / "bundles", 1, 1)
    with small_objects.objects() as objects:
        place = shared_rows.Shared.prepare(tmp_path / "shared", cluster, objects, "bench")
        with place.served(1) as server:
            pushing.register(server, made)
        one = shared_agents.bytes_of(cluster, "bench")
        shared_agents.multiply(cluster, "bench", made[0].agent_id, 0, 25)
    every = shared_agents.bytes_of(cluster, "bench")
    assert one["place"][0] == 1 and one["bucket"][0] == 32
    assert {name: rows for name, (rows, _) in every.items() if name != "blob"} == {
        name: 26 * rows for name, (rows, _) in one.items() if name != "blob"
    }
    assert every["blob"][0] == 25
