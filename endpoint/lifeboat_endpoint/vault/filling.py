"""Bytes that a vault lacks: large artifacts (ALF §3.1.9, tier 3), which travel apart from the states that name them,
and what the place where it lies has lost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from lifeboat_alf import merkle
from lifeboat_alf.seams.clock import Clock
from lifeboat_alf.state import BodyAbsent, Leaf
from lifeboat_endpoint.errors import DraftInvalid, VaultDamaged
from lifeboat_endpoint.store.protocols import BlobStore, MetadataStore, Row
from lifeboat_endpoint.vault import audit
from lifeboat_endpoint.vault import statements as sql
from lifeboat_endpoint.vault.columns import Columns
from lifeboat_endpoint.vault.objects import Objects, ObjectWriter


class Artifacts:
    """Of one vault. An artifact is known by the SHA-256 (hex) of its bytes."""

    def __init__(self, metadata: MetadataStore, blobs: BlobStore, columns: Columns, clock: Clock) -> None:
        self._metadata = metadata
        self._blobs = blobs
        self._columns = columns
        self._clock = clock

    def missing(self, digests: Iterable[str], *, read: bool = False) -> list[str]:
        """Return those whose bytes some kept state names and the vault has not; with `read`, also those whose bytes it
        cannot read any more."""
        return [digest for digest in dict.fromkeys(digests) if self._lacks(digest, read=read)]

    def has(self, sha256: str) -> bool:
        return self._held(sha256) is not None

    def read(self, sha256: str) -> bytes | None:
        """None where the vault has no such bytes. Raises VaultDamaged."""
        number = self._held(sha256)
        if number is None:
            return None
        body = Objects(self._metadata, self._blobs, self._columns).read(number)
        if hashlib.sha256(body).hexdigest() != sha256:
            raise VaultDamaged(f"the object {number} is not what it was")
        return body

    def fill(self, sha256: str, body: bytes) -> bool:
        """Keep the bytes of what states name without having them, or with bytes that cannot be read; False when none
        names them. Bytes that are here already are no error. Raises DraftInvalid when they are not what was named,
        VaultFull, VaultBusy."""
        if hashlib.sha256(body).hexdigest() != sha256:
            raise DraftInvalid("the bytes have another SHA-256")
        with self._metadata.transaction():
            writer = ObjectWriter(self._metadata, self._blobs, self._columns)
            try:
                filled = self._fill(writer, [*self._absent(sha256), *self._unreadable(sha256)], body)
            except BaseException:
                writer.discard()
                raise
        return filled > 0 or self.has(sha256)

    def _fill(self, writer: ObjectWriter, absent: list[Row], body: bytes) -> int:
        for number, leaf, salt, size in absent:
            if size != len(body) or not merkle.leaf_holds(Leaf(leaf, self._columns.salt_of(salt)), body):
                raise DraftInvalid("the bytes are not what the state that names them commits to")
            writer.heal(number, body)
        writer.flush()
        if absent:
            details = {"objects": len(absent), "bytes": len(body)}
            audit.append(self._metadata, self._clock.now(), "fill", f"object {absent[0][0]}", details)
        return len(absent)

    def _lacks(self, sha256: str, *, read: bool) -> bool:
        return bool(list(self._absent(sha256)) or (read and self._unreadable(sha256)))

    def _unreadable(self, sha256: str) -> list[Row]:
        """Return the objects whose bytes were kept and are not what they were, or rest on such bytes."""
        rows = self._metadata.rows(sql.KEPT_OBJECTS, (self._columns.sha256(bytes.fromhex(sha256)),))
        return [row for row in list(rows) if not self._is_readable(int(row[0]), sha256)]

    def _is_readable(self, number: int, sha256: str) -> bool:
        try:
            body = Objects(self._metadata, self._blobs, self._columns).read(number)
        except (BodyAbsent, VaultDamaged):
            return False
        return hashlib.sha256(body).hexdigest() == sha256

    def _absent(self, sha256: str) -> Iterable[Row]:
        return self._metadata.rows(sql.ABSENT_OBJECTS, (self._columns.sha256(bytes.fromhex(sha256)),))

    def _held(self, sha256: str) -> int | None:
        row = self._metadata.row(sql.HELD_OBJECT, (self._columns.sha256(bytes.fromhex(sha256)),))
        return None if row is None else int(row[0])
