"""The head's digest, kept up to date bucket by bucket, so that a commit re-hashes only what it touched."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf import merkle
from lifeboat_endpoint.store.protocols import MetadataStore
from lifeboat_endpoint.vault import statements as sql
from lifeboat_endpoint.vault.rows import json_of

Item = tuple[int, bytes, bytes]
"""(bucket, key, item hash)"""

_MANY = 96


def prepare(metadata: MetadataStore) -> None:
    """The buckets of an empty vault."""
    metadata.execute_many(sql.ADD_BUCKET, enumerate(merkle.empty_buckets()))


def update(metadata: MetadataStore, touched: set[int]) -> bytes:
    """Re-hash the touched buckets from the live rows; the state digest."""
    hashes = stored_buckets(metadata)
    fresh = _hash_buckets(_live_items(metadata, touched), touched)
    metadata.execute_many(sql.SET_BUCKET, [(value, number) for number, value in fresh.items()])
    for number, value in fresh.items():
        hashes[number] = value
    return merkle.root(hashes)


def stored_buckets(metadata: MetadataStore) -> list[bytes]:
    return [value for (value,) in metadata.rows(sql.BUCKETS)]


def live_buckets(metadata: MetadataStore) -> list[bytes]:
    """All buckets computed from the live rows."""
    every = set(range(merkle.BUCKETS))
    hashes = _hash_buckets(_live_items(metadata, every), every)
    return [hashes[number] for number in range(merkle.BUCKETS)]


def _hash_buckets(items: Iterator[Item], touched: set[int]) -> dict[int, bytes]:
    grouped: dict[int, list[tuple[bytes, bytes]]] = {number: [] for number in touched}
    for bucket, key, item in items:
        if bucket in grouped:
            grouped[bucket].append((key, item))
    return {number: merkle.bucket_hash(group) for number, group in grouped.items()}


def _live_items(metadata: MetadataStore, touched: set[int]) -> Iterator[Item]:
    """Live items of the touched buckets; when they are many, one walk over everything is cheaper than many look-ups."""
    if len(touched) > _MANY:
        yield from _items(metadata, sql.LIVE_ENTRIES, sql.LIVE_RECORDS, ())
        return
    for bucket in touched:
        yield from _items(metadata, sql.LIVE_ENTRIES_IN, sql.LIVE_RECORDS_IN, (bucket,))


def _items(metadata: MetadataStore, entries: str, records: str, parameters: tuple[int, ...]) -> Iterator[Item]:
    for bucket, path, meta, leaf in metadata.rows(entries, parameters):
        yield bucket, merkle.entry_key(path), merkle.entry_hash(path, json_of(meta), leaf)
    for bucket, record_id, partition, position, leaf in metadata.rows(records, parameters):
        yield bucket, merkle.record_key(record_id), merkle.record_hash(record_id, partition, position, leaf)
