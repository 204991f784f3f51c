"""Seal everything in a vault with another sealer, table by table, inside the caller's transaction.

Rows are read in pages by key, never while an open statement iterates over rows that change; bodies are handled one at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_vault.bodies.body_objects import ObjectReader, ObjectWriter
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.rows import bucket_digests
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import DECISION, LABEL, META, REDACTION, SEED, ColumnSealer
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore, Row
from lifeboat_vault.vault.commit_sequence import content_key

_PAGE = 200
_TEXTS = (
    (LABEL, sql.LABELS, sql.SET_LABEL),
    (DECISION, sql.DECISIONS, sql.SET_DECISION),
    (REDACTION, sql.REDACTIONS, sql.SET_REDACTION),
)
"""(kind, statement that reads keys and values, statement that sets the value of a key)"""


class ResealReport(NamedTuple):
    """Number of objects under the new key, and of those that the old key does not open either."""

    objects: int
    damaged: int


def reseal_vault(
    metadata: MetadataStore, blobs: BlobStore, writer: ObjectWriter, old: ColumnSealer, new: ColumnSealer, seed: bytes
) -> ResealReport:
    """Seal all content again. `writer` writes bodies too large for a row to new files and flushes them; after the
    commit the old files are orphans."""
    if new.is_plain:
        add_content_keys(metadata, ObjectReader(metadata, blobs, old), seed)
    elif old.is_plain:
        metadata.execute(sql.DROP_CONTENT_KEYS)
    done = _objects(metadata, blobs, writer, old, new)
    reach_crash_point(CrashPoint.REENCRYPT_BODIES_WRITTEN)
    writer.flush()
    _entries(metadata, old, new)
    _partitions(metadata, old, new)
    for kind, values, change in _TEXTS:
        for key, held in list(metadata.rows(values)):
            metadata.execute(change, (new.text(kind, old.text_of(kind, held)), key))
    hashes = bucket_digests.stored_buckets(metadata, old)
    metadata.execute(sql.DROP_BUCKETS)
    bucket_digests.write_buckets(metadata, new, hashes)
    metadata.execute(sql.SET_SEED, (new.sealer.seal(SEED, seed),))
    return done


# Objects ------------------------------------------------------------------------------------------------------------


def _objects(
    metadata: MetadataStore, blobs: BlobStore, writer: ObjectWriter, old: ColumnSealer, new: ColumnSealer
) -> ResealReport:
    """Seal all bodies again. Damaged ones stay as they are, for a verification to report: they must not prevent a key
    from being given up."""
    done = damaged = 0
    for number, salt, sha256, file, held in _paged(metadata, sql.OBJECTS_AFTER, lambda row: (row[0],), (0,)):
        try:
            data = held if file is None else blobs.read(file)
            body = None if data is None else old.body_of(data)
            opened = old.salt_of(salt), old.sha256_of(sha256)
        except VaultDamaged:
            damaged += 1
            continue
        place = (None, None) if body is None else writer.place(new.body(body), is_large=file is not None)
        metadata.execute(sql.RESEAL_OBJECT, (new.salt(opened[0]), new.sha256(opened[1]), *place, number))
        done += 1
    return ResealReport(done, damaged)


def _paged(
    metadata: MetadataStore, statement: str, place: Callable[[Row], tuple[object, ...]], start: tuple[object, ...]
) -> Iterator[Row]:
    """Yield all rows in key order, one page in memory, so that yielded rows may be changed."""
    after = start
    while page := list(metadata.rows(statement, (*after, _PAGE))):
        yield from page
        after = place(page[-1])


# Entries and records ------------------------------------------------------------------------------------------------


def _entries(metadata: MetadataStore, old: ColumnSealer, new: ColumnSealer) -> None:
    """Seal all entries again, metas first, because the walk is ordered by the stored paths."""
    for path, first, meta in _paged(metadata, sql.METAS_AFTER, lambda row: (row[0], row[0], row[1]), ("", "", -1)):
        metadata.execute(sql.SET_META, (new.text(META, old.text_of(META, meta)), path, first))
    for path, bucket in list(metadata.rows(sql.PATHS)):
        place = new.entry_bucket(old.entry_bucket_of(bucket))
        metadata.execute(sql.SET_PATH, (new.path(old.path_of(path)), place, path))


def _partitions(metadata: MetadataStore, old: ColumnSealer, new: ColumnSealer) -> None:
    for (partition,) in list(metadata.rows(sql.EVERY_PARTITION)):
        metadata.execute(sql.SET_PARTITION, (new.partition(old.partition_of(partition)), partition))


def add_content_keys(metadata: MetadataStore, objects: ObjectReader, seed: bytes) -> None:
    """Add content keys to all live records, inside the caller's transaction."""
    for record_id, first, number in list(metadata.rows(sql.LIVE_OBJECTS_OF_RECORDS)):
        metadata.execute(sql.SET_CONTENT_KEY, (content_key(seed, objects.read(number)), record_id, first))
