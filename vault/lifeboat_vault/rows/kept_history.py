"""Iterate over everything that a vault keeps, each item once, for purges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import META, ColumnSealer
from lifeboat_vault.rows.sequence_rows import json_of
from lifeboat_vault.store.store_protocols import MetadataStore


class HistoryItem(NamedTuple):
    """Bytes that were alive from sequence `first` until before `last` (None: still).

    An entry has `path` and `meta`, a record `record_id` and `partition`. `object` is for `VaultReading.read_object`;
    items may share one. `leaf` is the one in states; without salt its bytes were replaced. `held` False: the bytes are
    missing.
    """

    object: int
    leaf: Leaf
    size: int
    path: str | None
    meta: JsonObject
    record_id: str | None
    partition: str | None
    first: int
    last: int | None
    held: bool = True


class EntrySpan(NamedTuple):
    """One row of a file whose bytes are held, without reading its meta. `is_marked` says whether that contains a
    text."""

    path: str
    object: int
    size: int
    first: int
    last: int | None
    is_marked: bool


class EntryStay(NamedTuple):
    """One version of an entry, from sequence `first` until before `last` (None: still there). `object` is for
    `VaultReading.read_object`."""

    object: int
    meta: JsonObject
    first: int
    last: int | None


def iterate_entry_spans(metadata: MetadataStore, columns: ColumnSealer, mark: str) -> Iterator[EntrySpan]:
    """Yield every row of an entry whose bytes are held, unordered. The database searches the metas, which list all
    memories of a file, where it can read them."""
    if columns.is_plain:
        for path, number, size, first, last, marked in metadata.rows(sql.STAYS_OF_ENTRIES, (mark,)):
            yield EntrySpan(path, number, size, first, last, bool(marked))
        return
    for path, number, size, first, last, meta in metadata.rows(sql.METAS_OF_ENTRIES):
        yield EntrySpan(columns.path_of(path), number, size, first, last, mark in columns.text_of(META, meta))


def iterate_history(metadata: MetadataStore, columns: ColumnSealer) -> Iterator[HistoryItem]:
    """Yield every row of an entry, then every row of a record whose line is held."""
    for path, meta, leaf, salt, size, number, held, first, last in metadata.rows(sql.HISTORY_OF_ENTRIES):
        opened = json_of(columns.text_of(META, meta))
        place = columns.path_of(path), opened, None, None
        yield HistoryItem(number, Leaf(leaf, columns.salt_of(salt)), size, *place, first, last, bool(held))
    for record_id, partition, leaf, salt, size, number, first, last in metadata.rows(sql.HISTORY_OF_RECORDS):
        kept, where = Leaf(leaf, columns.salt_of(salt)), columns.partition_of(partition)
        yield HistoryItem(number, kept, size, None, {}, record_id, where, first, last)
