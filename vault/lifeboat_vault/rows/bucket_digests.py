"""Maintain the head's digest bucket by bucket, so that a commit re-hashes only what it touched.

In a sealed vault 32 hashes share a row: a hash beside its leaf would confirm a guess of path and meta, and a thousand
sealed values would cost more than the content of a commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import LEAF_BYTES
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import BUCKETS, META, ColumnSealer
from lifeboat_vault.rows.sequence_rows import json_of
from lifeboat_vault.store.store_protocols import MetadataStore

Item = tuple[int, bytes, bytes]
"""(bucket, key, item hash)"""

_MANY = 96
_GROUP = 32


def write_empty_buckets(metadata: MetadataStore, columns: ColumnSealer) -> None:
    """Write the buckets of an empty vault."""
    write_buckets(metadata, columns, merkle.empty_buckets())


def write_buckets(metadata: MetadataStore, columns: ColumnSealer, hashes: list[bytes]) -> None:
    """Write these hashes into an empty table."""
    if columns.is_plain:
        metadata.execute_many(sql.ADD_BUCKET, enumerate(hashes))
        return
    groups = range(merkle.BUCKETS // _GROUP)
    metadata.execute_many(sql.ADD_BUCKET, [(group, _sealed(columns, hashes, group)) for group in groups])


def update_buckets(
    metadata: MetadataStore, columns: ColumnSealer, touched: set[int], known: list[bytes] | None = None
) -> list[bytes]:
    """Re-hash the touched buckets from the live rows and return all hashes. `known` are those of the previous state."""
    hashes = stored_buckets(metadata, columns) if known is None else list(known)
    fresh = _hash_buckets(_live_items(metadata, columns, touched), touched)
    for number, value in fresh.items():
        hashes[number] = value
    if columns.is_plain:
        rows = [(value, number) for number, value in fresh.items()]
    else:
        rows = [(_sealed(columns, hashes, group), group) for group in sorted({number // _GROUP for number in fresh})]
    metadata.execute_many(sql.SET_BUCKET, rows)
    return hashes


def _sealed(columns: ColumnSealer, hashes: list[bytes], group: int) -> bytes:
    return columns.sealer.seal(f"{BUCKETS} {group}", b"".join(hashes[group * _GROUP : (group + 1) * _GROUP]))


def stored_buckets(metadata: MetadataStore, columns: ColumnSealer) -> list[bytes]:
    """Return the stored hashes of all buckets. Raises VaultDamaged."""
    held = [value for (value,) in metadata.rows(sql.BUCKETS)]
    if columns.is_plain:
        if len(held) != merkle.BUCKETS:
            raise VaultDamaged(
                f"the vault must contain {merkle.BUCKETS} intermediate hashes of its newest state, "
                f"but contains {len(held)}"
            )
        return held
    opened = b"".join(columns.sealer.open(f"{BUCKETS} {group}", value) for group, value in enumerate(held))
    if len(opened) != merkle.BUCKETS * LEAF_BYTES:
        raise VaultDamaged(
            f"the vault must contain {merkle.BUCKETS} intermediate hashes of its newest state, but "
            f"contains {len(opened) // LEAF_BYTES}"
        )
    return [opened[start : start + LEAF_BYTES] for start in range(0, len(opened), LEAF_BYTES)]


def still_of(known: list[bytes] | None, digest: bytes | None) -> list[bytes] | None:
    """Return the hashes known from an earlier commit if they give this digest, that is, if no other process has written
    since; then they need not be read."""
    return known if known is not None and digest is not None and merkle.merkle_root(known) == digest else None


def live_buckets(metadata: MetadataStore, columns: ColumnSealer) -> list[bytes]:
    """Compute all buckets from the live rows."""
    every = set(range(merkle.BUCKETS))
    hashes = _hash_buckets(_live_items(metadata, columns, every), every)
    return [hashes[number] for number in range(merkle.BUCKETS)]


def _hash_buckets(items: Iterator[Item], touched: set[int]) -> dict[int, bytes]:
    grouped: dict[int, list[tuple[bytes, bytes]]] = {number: [] for number in touched}
    for bucket, key, item in items:
        if bucket in grouped:
            grouped[bucket].append((key, item))
    return {number: merkle.bucket_hash(group) for number, group in grouped.items()}


def _live_items(metadata: MetadataStore, columns: ColumnSealer, touched: set[int]) -> Iterator[Item]:
    """Yield live items of the touched buckets. Beyond some number of buckets, one scan is cheaper than many lookups."""
    if len(touched) > _MANY:
        yield from _entries(metadata, columns, sql.LIVE_ENTRIES, ())
        yield from _records(metadata, columns, sql.LIVE_RECORDS, ())
        return
    places = tuple(columns.entry_bucket(bucket) for bucket in touched)
    yield from _entries(metadata, columns, sql.live_entries_in(len(places)), places)
    yield from _records(metadata, columns, sql.live_records_in(len(touched)), tuple(touched))


def _entries(
    metadata: MetadataStore, columns: ColumnSealer, statement: str, parameters: tuple[int, ...]
) -> Iterator[Item]:
    for held, path, meta, leaf in metadata.rows(statement, parameters):
        opened = path if columns.is_plain else columns.path_of(path)
        value = json_of(meta if columns.is_plain else columns.text_of(META, meta))
        yield columns.entry_bucket_of(held), merkle.entry_key(opened), merkle.entry_hash(opened, value, leaf)


def _records(
    metadata: MetadataStore, columns: ColumnSealer, statement: str, parameters: tuple[int, ...]
) -> Iterator[Item]:
    for bucket, record_id, held, position, leaf in metadata.rows(statement, parameters):
        partition = held if columns.is_plain else columns.partition_of(held)
        yield bucket, merkle.record_key(record_id), merkle.record_hash(record_id, partition, position, leaf)
