"""Row-by-row copies and comparisons of tables between two stores with the same tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.store_protocols import MetadataStore, Row


class CopiedTable(NamedTuple):
    """A table to copy. `columns` in the order of the copy; `order` are columns that identify a row.

    The columns in `bodies` may be large: they are compared by hashes that the database computes.
    """

    name: str
    columns: tuple[str, ...]
    order: str
    bodies: tuple[str, ...] = ()


class TableFingerprint(NamedTuple):
    """Count and digest of all rows of a table, in order."""

    rows: int
    digest: bytes


def _table(name: str, columns: str, order: str, bodies: str = "") -> CopiedTable:
    return CopiedTable(name, tuple(columns.split()), order, tuple(bodies.split()))


_AUDIT = _table("audit", "number time kind subject details hash", "number")
OBJECT = _table("object", "id leaf salt sha256 size base depth coding file body", "id", "body")
VAULT = (
    _table("vault", "id agent_id seed epoch schema created_at", "id"),
    OBJECT,
    _table("entry", "path first last bucket object meta", "path, first"),
    _table("record", "id partition position first last bucket object content_key", "id, first"),
    _table("sequence", "n base epoch time raw_time kind writer digest signature label counts bytes", "n"),
    _table("bucket", "number hash", "number"),
    _table("pin", "n reason until", "n, reason"),
    _AUDIT,
    _table("redaction", "id time document waits_until swept", "id"),
    _table("decision", "key value", "key"),
)
"""Each row comes after the rows that it names."""
TENANT = (
    _table("tenant", "id schema created_at", "id"),
    _table("agent", "id vault created_at bytes facts keys", "id"),
    _table("upload", "id agent_id kind base machine created_at expires_at done", "id"),
    _table("part", "upload_id position token size body", "upload_id, position"),
    _table("orphan", "body since", "body"),
    _table("used", "id expires_at", "id"),
    _table("sealed_file", "agent_id name size body written_at", "agent_id, name"),
    _table("sealed_head", "agent_id tag size data written_at", "agent_id", "data"),
    _table("purge_waiting", "agent_id redaction_id applies_at leaves", "agent_id, redaction_id"),
    _table("purge_receipt", "agent_id redaction_id document", "agent_id, redaction_id"),
    _table("erased", "agent_id redaction_id time trial document receipt", "agent_id"),
)
CONTROL = (
    _table("tenant", "id name name_key key_source quota created_at state", "id"),
    _table("token", "id tenant name digest scopes created_at expires_at revoked_at last_used_at", "id"),
)
"""Small tables. The audit is copied as it grows, and notes by their names."""
AUDIT = _AUDIT


def copy_tables(source: MetadataStore, target: MetadataStore, tables: Iterable[CopiedTable]) -> int:
    """Copy all rows into empty tables, in the caller's transaction of the target; return how many.

    Only a few rows are in memory.
    """
    return sum(_copy(source, target, table) for table in tables)


def _copy(source: MetadataStore, target: MetadataStore, table: CopiedTable) -> int:
    counted = _CountedRows(_rows(source, table))
    target.execute_many(build_insert(table), counted)
    return counted.count


def build_insert(table: CopiedTable) -> str:
    return f"insert into {table.name}({', '.join(table.columns)}) values ({', '.join('?' * len(table.columns))})"


def _rows(source: MetadataStore, table: CopiedTable) -> Iterator[Row]:
    """Yield rows. An object may name a base with a larger id, but its base always has a smaller depth."""
    chosen = f"select {', '.join(table.columns)} from {table.name}"
    if table is not OBJECT:
        yield from source.rows(f"{chosen} order by {table.order}")
        return
    for (depth,) in list(source.rows("select distinct depth from object order by depth")):
        yield from source.rows(f"{chosen} where depth = ? order by id", (depth,))


def empty_tables(target: MetadataStore, tables: Iterable[CopiedTable]) -> None:
    """Delete all rows, those that name others first."""
    for table in reversed(tuple(tables)):
        target.execute(f"delete from {table.name}")


def fingerprint_table(store: MetadataStore, table: CopiedTable) -> TableFingerprint:
    chosen = ", ".join(f"sha256({name})" if name in table.bodies else name for name in table.columns)
    digest, count = hashlib.sha256(), 0
    for row in store.rows(f"select {chosen} from {table.name} order by {table.order}"):
        digest.update(msgspec.msgpack.encode(row))
        count += 1
    return TableFingerprint(count, digest.digest())


def find_different_table(source: MetadataStore, target: MetadataStore, tables: Iterable[CopiedTable]) -> str | None:
    """Return the first table that differs, each store read as of one moment, or None."""
    with source.snapshot(), target.snapshot():
        for table in tables:
            if fingerprint_table(source, table) != fingerprint_table(target, table):
                return table.name
    return None


def add_hash_function(store: SqliteStore) -> SqliteStore:
    """Add the function `sha256` to a SQLite store, which PostgreSQL already has."""

    def hashed(data: bytes | None) -> bytes | None:
        return None if data is None else hashlib.sha256(data).digest()

    store.database.register_function(hashed, name="sha256", deterministic=True)
    return store


class _CountedRows(Iterator[Row]):
    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.count = 0

    def __next__(self) -> Row:
        row = next(self._rows)
        self.count += 1
        return row
