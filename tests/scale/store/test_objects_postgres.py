"""Bodies as objects, named by rows in PostgreSQL: both real."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lifeboat_endpoint.engines.objects.blobs import ObjectBlobs
from lifeboat_endpoint.engines.objects.bucket import Bucket
from lifeboat_endpoint.engines.objects.bucket_sweep import named_by, sweep_bucket
from lifeboat_endpoint.engines.postgres.connection_pools import Pools
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_vault import errors
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.bodies import body_objects
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore
from lifeboat_vault.testing.store_conformance import StoreConformance
from support.endpoint.object_places import keys, opened
from support.endpoint.sealed import new_sealer
from support.endpoint.shared_databases import OTHER_TENANT, TENANT, database, pools
from support.scale import swift_server

__all__ = ["database", "pools"]


@pytest.fixture
def bucket() -> Bucket:
    return opened(swift_server.shared().url())


def bodies(pools: Pools, bucket: Bucket, scope: str, tenant: str = TENANT) -> ObjectBlobs:
    rows = PostgresStore(pools.bodies, "bodies", tenant=tenant)
    return ObjectBlobs(bucket, rows, tenant=tenant, scope=scope, prefix=f"bodies/{tenant}")


class TestSealedPostgresAndObjects(StoreConformance):
    leaves_remains = True
    key = new_sealer()

    @pytest.fixture(autouse=True)
    def _connected(self, pools: Pools) -> None:
        self.pools = pools

    def open_stores(self, folder: Path) -> tuple[MetadataStore, BlobStore]:
        agent = str(folder)
        rows = PostgresStore(self.pools.vault, "vault", tenant=TENANT, agent=agent)
        return rows, bodies(self.pools, opened(swift_server.shared().url(folder.name)), agent)

    def files(self, folder: Path) -> list[Path]:
        """Those of the objects: of rows sealed remains are left, which end with their key."""
        return [folder, swift_server.shared().folder]

    def sealer(self) -> Sealer:
        return self.key


def test_the_row_stays_when_the_transaction_around_it_does_not(pools: Pools, bucket: Bucket) -> None:
    vault = PostgresStore(pools.vault, "vault", tenant=TENANT, agent="agent-1")
    vault.prepare()
    store = bodies(pools, bucket, "agent-1")
    with pytest.raises(KeyboardInterrupt), vault.transaction():
        store.put("0a", b"body")
        raise KeyboardInterrupt
    assert list(store.names()) == ["0a"] and len(keys(bucket)) == 1
    assert body_objects.remove_orphans(vault, store) == 1
    assert list(store.names()) == keys(bucket) == []


def test_another_tenant_reads_and_removes_nothing(pools: Pools, bucket: Bucket) -> None:
    store = bodies(pools, bucket, "")
    store.put("0b", b"body")
    rows = PostgresStore(pools.bodies, "bodies", tenant=OTHER_TENANT)
    for other in (
        bodies(pools, bucket, "", OTHER_TENANT),
        ObjectBlobs(bucket, rows, tenant=TENANT, scope="", prefix=f"bodies/{TENANT}"),
    ):
        other.remove("0b")
        assert list(other.names()) == []
        with pytest.raises(errors.VaultDamaged):
            other.read("0b")
    with pytest.raises(errors.VaultUnusable):
        ObjectBlobs(bucket, rows, tenant=TENANT, scope="", prefix=f"bodies/{TENANT}").put("0c", b"body")
    assert store.read("0b") == b"body" and len(keys(bucket)) == 1


def test_the_sweep_of_a_bucket_asks_for_each_tenant_alone(pools: Pools, bucket: Bucket) -> None:
    """No role sees the rows of all tenants at once."""
    tenants = (TENANT, OTHER_TENANT)
    for tenant in tenants:
        bodies(pools, bucket, "agent-2", tenant).put("0d", b"body")
        bucket.put(f"bodies/{tenant}/00/loose", b"loose")
    bucket.put("bodies/nobody/00/loose", b"loose")
    named = named_by(lambda tenant: PostgresStore(pools.bodies, "bodies", tenant=tenant))
    done = sweep_bucket(bucket, named, prefix="bodies", before=datetime.now(UTC) + timedelta(days=1))
    assert (done.seen, done.removed) == (5, 3) and len(keys(bucket)) == 2
    assert [bodies(pools, bucket, "agent-2", tenant).read("0d") for tenant in tenants] == [b"body", b"body"]
