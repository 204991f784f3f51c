"""Supply bytes that a vault lacks: large artifacts (ALF §3.1.9, tier 3), which travel separately from states, and bytes
that its storage lost.

Only the leaf, which the digest of a state covers, commits to bytes. SHA-256, size and salt of a state without the bytes
are covered by nothing and may be invented by anyone who may push. So they decide nothing here, and are written again
when matching bytes arrive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import SALT_BYTES, BodyAbsent, Leaf
from lifeboat_vault.bodies.body_objects import ObjectReader, ObjectWriter
from lifeboat_vault.bodies.vault_redactions import VaultRedactions
from lifeboat_vault.errors import DraftInvalid, VaultDamaged
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import ColumnSealer
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore, Row


class ArtifactBodies:
    """Bytes of one vault, by leaf; clients of earlier releases use SHA-256 (hex)."""

    def __init__(
        self,
        metadata: MetadataStore,
        blobs: BlobStore,
        columns: ColumnSealer,
        clock: Clock,
        known: Callable[[], VaultRedactions],
    ) -> None:
        """Take the stores. `known` returns the redactions of the vault."""
        self._metadata = metadata
        self._blobs = blobs
        self._columns = columns
        self._clock = clock
        self._known = known

    # By leaf ----------------------------------------------------------------------------------------------------

    def missing_leaves(self, leaves: Iterable[bytes], *, read: bool = False) -> list[bytes]:
        """Return those that a kept state names and whose bytes the vault lacks; with `read`, also those whose bytes no
        longer match. Purged content is never missing."""
        return [leaf for leaf in dict.fromkeys(leaves) if not self._is_purged(leaf) and self._lacking(leaf, read=read)]

    def fill_leaf(self, leaf: Leaf, body: bytes) -> bool:
        """Store the bytes of a leaf with correct metadata; return False when no kept state has the leaf, or a purge
        removed it. Existing bytes are no error. Raises DraftInvalid for other bytes, VaultFull, VaultBusy."""
        if len(leaf.salt) != SALT_BYTES or not merkle.leaf_holds(leaf, body):
            raise DraftInvalid("the content does not match its signed hash in the sequence that refers to it")
        with self._metadata.transaction():
            if self._is_purged(leaf.digest) or not self._rows(leaf.digest):
                return False
            writer = ObjectWriter(self._metadata, self._blobs, self._columns)
            try:
                self._restore(writer, leaf, body)
            except BaseException:
                writer.discard()
                raise
        return True

    def _restore(self, writer: ObjectWriter, leaf: Leaf, body: bytes) -> None:
        lacking = self._lacking(leaf.digest, read=True)
        sha256 = hashlib.sha256(body).digest()
        for number, *_ in lacking:
            writer.restore(int(number), leaf, sha256, body)
        writer.flush()
        if lacking:
            described = sum(self._is_described_otherwise(row, leaf, sha256, len(body)) for row in lacking)
            details = {"objects": len(lacking), "bytes": len(body), "described_otherwise": described}
            audit_chain.append_row(self._metadata, self._clock.now(), "fill", f"object {lacking[0][0]}", details)

    def _lacking(self, leaf: bytes, *, read: bool) -> list[Row]:
        """Return the objects of a leaf without bytes; with `read`, also those that do not read correctly."""
        return [row for row in self._rows(leaf) if not row[4] or (read and not self._is_whole(row, leaf))]

    def _is_whole(self, row: Row, leaf: bytes) -> bool:
        number, held_salt, held_sha256, size, _ = row
        try:
            body = ObjectReader(self._metadata, self._blobs, self._columns).read(int(number))
            salt, sha256 = self._columns.salt_of(held_salt), self._columns.sha256_of(held_sha256)
        except (BodyAbsent, VaultDamaged):
            return False
        is_described = size == len(body) and sha256 in (None, hashlib.sha256(body).digest())
        return is_described and self._known().every.hold(Leaf(leaf, salt), body)

    def _is_described_otherwise(self, row: Row, leaf: Leaf, sha256: bytes, length: int) -> bool:
        """Return whether the stored salt, SHA-256 or size differ from those of the bytes."""
        try:
            described = self._columns.salt_of(row[1]), self._columns.sha256_of(row[2]), row[3]
        except VaultDamaged:
            return True
        return described != (leaf.salt, sha256, length)

    def _is_purged(self, leaf: bytes) -> bool:
        return self._known().applied.naming(leaf) is not None

    def _rows(self, leaf: bytes) -> list[Row]:
        return list(self._metadata.rows(sql.OBJECTS_OF_LEAF, (leaf,)))

    # By SHA-256 -------------------------------------------------------------------------------------------------

    def missing(self, digests: Iterable[str], *, read: bool = False) -> list[str]:
        """Return those that a kept state names and whose bytes the vault lacks; with `read`, also unreadable ones.
        Names that are wrong are found only by `missing_leaves`."""
        return [digest for digest in dict.fromkeys(digests) if self._lacks(digest, read=read)]

    def has(self, sha256: str) -> bool:
        return self._held(sha256) is not None

    def read(self, sha256: str) -> bytes | None:
        """Return the bytes; None where the vault has none. Raises VaultDamaged."""
        number = self._held(sha256)
        if number is None:
            return None
        body = ObjectReader(self._metadata, self._blobs, self._columns).read(number)
        if hashlib.sha256(body).hexdigest() != sha256:
            raise VaultDamaged(f"the stored object {number} is damaged")
        return body

    def fill(self, sha256: str, body: bytes) -> bool:
        """Store bytes for every leaf with this SHA-256 that commits to them, as `fill_leaf`; False when no kept state
        has it. Raises DraftInvalid when no such leaf commits to them."""
        if hashlib.sha256(body).hexdigest() != sha256:
            raise DraftInvalid("the content does not match its SHA-256 digest")
        named = {Leaf(row[1], self._salt(row[2])) for row in self._named(sha256)}
        fitting = [leaf for leaf in named if merkle.leaf_holds(leaf, body)]
        if named and not fitting:
            raise DraftInvalid("the content does not match its signed hash in the sequence that refers to it")
        return any([self.fill_leaf(leaf, body) for leaf in fitting])

    def _salt(self, held: bytes | None) -> bytes:
        try:
            return self._columns.salt_of(held)
        except VaultDamaged:
            return b""

    def _lacks(self, sha256: str, *, read: bool) -> bool:
        rows = self._named(sha256)
        return any(not row[4] or (read and not self._is_readable(int(row[0]), sha256)) for row in rows)

    def _is_readable(self, number: int, sha256: str) -> bool:
        try:
            body = ObjectReader(self._metadata, self._blobs, self._columns).read(number)
        except (BodyAbsent, VaultDamaged):
            return False
        return hashlib.sha256(body).hexdigest() == sha256

    def _named(self, sha256: str) -> list[Row]:
        return list(self._metadata.rows(sql.OBJECTS_OF_SHA256, (self._columns.sha256(bytes.fromhex(sha256)),)))

    def _held(self, sha256: str) -> int | None:
        row = self._metadata.row(sql.HELD_OBJECT, (self._columns.sha256(bytes.fromhex(sha256)),))
        return None if row is None else int(row[0])
