"""Places in a real object store for tests, with the rows of bodies in a SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lifeboat_endpoint.engines.objects import blobs, store_address
from lifeboat_endpoint.engines.objects.blobs import ObjectBlobs
from lifeboat_endpoint.engines.objects.bucket import Bucket
from lifeboat_endpoint.engines.objects.obstore_bucket import ObstoreBucket
from lifeboat_endpoint.engines.objects.store_address import RequestTimeouts
from lifeboat_vault.store.sqlite_store import SqliteStore
from support.patience import factor
from support.scale import swift_server

_SLOWER = factor()
QUICK = RequestTimeouts(2.0 * _SLOWER, 1.5 * _SLOWER, 4.0 * _SLOWER, retries=2, retrying=3.0 * _SLOWER)
"""Seconds: what is to fail fails soon."""

TENANT, SCOPE = "tenant-1", "agent-1"


def opened(
    url: str,
    *,
    through: str | None = None,
    waits: RequestTimeouts | None = None,
    options: Mapping[str, str] | None = None,
) -> ObstoreBucket:
    """Return a place in the shared Swift; `through` is the address of a proxy in front of it."""
    all_options = {**swift_server.shared().options(through), **(options or {})}
    return store_address.open_store(store_address.check_store_address(url, all_options), waits)


def rows(folder: Path) -> SqliteStore:
    store = SqliteStore(folder / "bodies.db", create=True, tables=blobs.TABLES)
    store.prepare()
    return store


def bodies(bucket: Bucket, folder: Path, *, tenant: str = TENANT, scope: str = SCOPE) -> ObjectBlobs:
    return ObjectBlobs(bucket, rows(folder), tenant=tenant, scope=scope, prefix="bodies")


def keys(bucket: Bucket) -> list[str]:
    """Return the stored keys, by a listing that is up to date."""
    return sorted(each.key for each in bucket.list("bodies"))
