"""Removal of objects that no row names.

They are left over when a database was restored to an earlier time, or by an upload that ended after its row was swept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import NamedTuple

from lifeboat_endpoint.engines.objects.bucket import Bucket, ListedObject
from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import MetadataStore

AT_ONCE = 1000
"""How many keys are looked up together."""

MOST = 100_000
"""How many objects one run removes; the next run removes the others."""

_FEW = 100
_SHARE = 0.5

Named = Callable[[Sequence[str]], Collection[str]]
"""Return which of these keys are named by rows."""


class BucketSweep(NamedTuple):
    """Result of a sweep: `seen` objects old enough, of which `removed` were removed, with `bytes` in all."""

    seen: int
    removed: int
    bytes: int


def sweep_bucket(
    bucket: Bucket,
    named: Named,
    *,
    prefix: str,
    before: datetime,
    even_most: bool = False,
) -> BucketSweep:
    """Remove objects below `prefix` that were written before a time and that no row names.

    `named` returns which of up to 1,000 keys are named by rows of any tenant. A row exists before its object, so
    objects that are being written stay. An outdated listing does no harm.

    Raises VaultUnusable without removing anything if most objects would be removed, unless `even_most`: then this is
    the wrong database, or it hides its rows.
    """
    seen, loose = 0, list[ListedObject]()
    for batch in _batches(each for each in bucket.list(prefix) if each.modified < before):
        seen += len(batch)
        loose += find_unnamed(batch, named([each.key for each in batch]))
        # The next run finds the others.
        if len(loose) >= MOST:
            break
    if is_suspicious(seen, len(loose)) and not even_most:
        raise errors.VaultUnusable(
            f"{len(loose)} of {seen} objects in the bucket are unknown to the database: either "
            "the bucket belongs to another endpoint, or the database lost rows",
            fix="compare `database` and `objects` in endpoint.json with those of the other processes",
        )
    for each in loose[:MOST]:
        bucket.delete(each.key)
    return BucketSweep(seen, len(loose[:MOST]), sum(each.size for each in loose[:MOST]))


def named_by(rows_of: Callable[[str], MetadataStore]) -> Named:
    """Return a lookup for keys `FOLDER/TENANT/...` that asks the rows of each tenant, since no store shows all
    tenants."""

    def named(keys: Sequence[str]) -> set[str]:
        found = set[str]()
        for tenant, own in groupby(sorted(keys, key=tenant_of), key=tenant_of):
            some = list(own)
            marks = ", ".join("?" * len(some))
            rows = rows_of(tenant).rows(f"select key from blob where tenant = ? and key in ({marks})", (tenant, *some))
            found.update(key for (key,) in rows)
        return found

    return named


def tenant_of(key: str) -> str:
    """Return the tenant of a key `FOLDER/TENANT/...`."""
    return key.split("/")[1]


def find_unnamed(listed: Iterable[ListedObject], named: Collection[str]) -> list[ListedObject]:
    """Return the objects that no row names."""
    return [each for each in listed if each.key not in named]


def is_suspicious(seen: int, loose: int) -> bool:
    """Whether there are so many orphans that the rows are probably those of another endpoint."""
    return loose > _FEW and loose > seen * _SHARE


def _batches(listed: Iterator[ListedObject]) -> Iterator[list[ListedObject]]:
    while batch := list(islice(listed, AT_ONCE)):
        yield batch
