"""Convert values to and from table columns, plain or sealed (see `at_rest.sealer`).

Sealed are bodies, salts, SHA-256s of bytes, paths, partitions, metas, labels, values of decisions, the seed and the
hashes of buckets. Equal paths and partitions have equal tokens, which can be looked up and compared but not sorted;
sorting and filtering happen after opening. In a plain vault each function returns its input, and rows are streamed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property

from lifeboat_alf.common.ids import SEED_BYTES
from lifeboat_alf.states import merkle
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.errors import OtherDataKey, VaultDamaged
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.store.store_protocols import MetadataStore, Row

BODY, SALT, SHA256, META = "body", "salt", "sha256", "meta"
PATH, PARTITION = "path", "partition"
LABEL, DECISION, REDACTION, SEED, BUCKETS = "label", "decision", "redaction", "seed", "buckets"


class ColumnSealer:
    """Applies a vault's sealer column by column. Opening raises VaultDamaged, KeyRevoked."""

    def __init__(self, sealer: Sealer) -> None:
        self.sealer = sealer
        self.is_plain = sealer is PLAIN
        self._partitions: dict[str, str] = {}
        self._partition_tokens: dict[str, str] = {}

    def check(self, metadata: MetadataStore) -> None:
        """Check that the vault still uses this key: it may have been revoked, or another process may have sealed the
        vault under another one, so that lookups by token find nothing. Raises KeyRevoked, OtherDataKey."""
        if self.is_plain:
            return
        row = metadata.row(sql.VAULT)
        if row is None:
            raise VaultDamaged("no vault is stored in the database")
        if len(row[2]) == SEED_BYTES:
            raise OtherDataKey("a data key was given, but the vault is not encrypted any longer")
        self.sealer.open(SEED, bytes(row[2]))

    # Values -----------------------------------------------------------------------------------------------------

    def body(self, data: bytes) -> bytes:
        return data if self.is_plain else self.sealer.seal(BODY, data)

    def body_of(self, held: bytes) -> bytes:
        return held if self.is_plain else self.sealer.open(BODY, held)

    def salt(self, salt: bytes) -> bytes | None:
        """Return the stored salt; None for a leaf without one."""
        if self.is_plain or not salt:
            return salt or None
        return self.sealer.seal(SALT, salt)

    def salt_of(self, held: bytes | None) -> bytes:
        if self.is_plain or not held:
            return held or b""
        return self.sealer.open(SALT, held)

    def sha256(self, digest: bytes | None) -> bytes | None:
        """Return the stored hash, which can be looked up."""
        if self.is_plain or digest is None:
            return digest
        return self.sealer.token(SHA256, digest.hex()).encode()

    def sha256_of(self, held: bytes | None) -> bytes | None:
        if self.is_plain or held is None:
            return held
        return bytes.fromhex(self.sealer.text(SHA256, held.decode("ascii", "replace")))

    def path(self, path: str) -> str:
        return path if self.is_plain else self.sealer.token(PATH, path)

    def path_of(self, held: str) -> str:
        return held if self.is_plain else self.sealer.text(PATH, held)

    def partition(self, partition: str) -> str:
        """Return the stored partition; cached, because there are few and every record has one."""
        if self.is_plain:
            return partition
        found = self._partition_tokens.get(partition)
        if found is None:
            found = self._partition_tokens[partition] = self.sealer.token(PARTITION, partition)
        return found

    def partition_of(self, held: str) -> str:
        if self.is_plain:
            return held
        found = self._partitions.get(held)
        if found is None:
            found = self._partitions[held] = self.sealer.text(PARTITION, held)
        return found

    def text(self, kind: str, text: str) -> str:
        """Seal a meta, label or value; the result differs every time."""
        if self.is_plain:
            return text
        return base64.b64encode(self.sealer.seal(kind, text.encode())).decode()

    def text_of(self, kind: str, held: str) -> str:
        if self.is_plain:
            return held
        try:
            sealed = base64.b64decode(held, validate=True)
        except (binascii.Error, ValueError):
            raise VaultDamaged(f"an encrypted {kind} is damaged") from None
        return self.sealer.open(kind, sealed).decode()

    # Buckets ----------------------------------------------------------------------------------------------------

    def entry_bucket(self, bucket: int) -> int:
        """Return the stored number of an entry's bucket. The bucket itself would confirm a guess of the path."""
        return bucket if self.is_plain else self._entry_buckets[bucket]

    def entry_bucket_of(self, held: int) -> int:
        """Return the bucket; -1 for an invalid number."""
        return held if self.is_plain else self._entry_buckets_back.get(held, -1)

    @cached_property
    def _entry_buckets(self) -> list[int]:
        key = hashlib.sha256(self.sealer.token(BUCKETS, "order of entries").encode()).digest()
        order = sorted(range(merkle.BUCKETS), key=lambda number: hashlib.blake2b(b"%d" % number, key=key).digest())
        places = [0] * merkle.BUCKETS
        for place, number in enumerate(order):
            places[number] = place
        return places

    @cached_property
    def _entry_buckets_back(self) -> dict[int, int]:
        return {place: number for number, place in enumerate(self._entry_buckets)}

    # Rows -------------------------------------------------------------------------------------------------------

    def entries(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Open rows of `vault_statements._ENTRY`: (path, meta, leaf, salt, size, sha256, ...)."""
        return iter(rows) if self.is_plain else map(self._entry, rows)

    def _entry(self, row: Row) -> Row:
        return (self.path_of(row[0]), *self.entry_without_path(row)[1:])

    def entry_without_path(self, row: Row) -> Row:
        """Open a row of an entry whose path is already open."""
        path, meta, leaf, salt, size, sha256, *rest = row
        return (path, self.text_of(META, meta), leaf, self.salt_of(salt), size, self.sha256_of(sha256), *rest)

    def records(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Open rows of `vault_statements._RECORD`: (id, partition, position, leaf, salt, ...)."""
        return iter(rows) if self.is_plain else map(self._record, rows)

    def _record(self, row: Row) -> Row:
        record_id, partition, position, leaf, salt, *rest = row
        return (record_id, self.partition_of(partition), position, leaf, self.salt_of(salt), *rest)

    def entry_items(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Open rows of (path, meta, leaf)."""
        return iter(rows) if self.is_plain else map(self._entry_item, rows)

    def _entry_item(self, row: Row) -> Row:
        path, meta, leaf = row
        return self.path_of(path), self.text_of(META, meta), leaf

    def record_items(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Open rows of (id, partition, position, leaf)."""
        return iter(rows) if self.is_plain else map(self._record_item, rows)

    def _record_item(self, row: Row) -> Row:
        record_id, partition, position, leaf = row
        return record_id, self.partition_of(partition), position, leaf

    def checks(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Open rows of (object, leaf, salt, sha256, size, whether it is held)."""
        return iter(rows) if self.is_plain else map(self._check, rows)

    def _check(self, row: Row) -> Row:
        number, leaf, salt, sha256, size, held = row
        return number, leaf, self.salt_of(salt), self.sha256_of(sha256), size, held


UNSEALED = ColumnSealer(PLAIN)
