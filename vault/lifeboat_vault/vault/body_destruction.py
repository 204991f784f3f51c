"""Apply redactions to objects: body, salt and content hash are destroyed, the leaf stays.

The rest of a body is stored in the same row, so that every state that had it still has it. Patches are processed from
the newest back, so that each is read while its base is still intact.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent, Leaf
from lifeboat_vault.bodies import body_encoding
from lifeboat_vault.bodies.body_encoding import Encoded
from lifeboat_vault.bodies.body_objects import ObjectReader, ObjectWriter, StoredObject
from lifeboat_vault.bodies.vault_redactions import holds_old
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.retention.thin_sequences import reencode_resting
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import ColumnSealer
from lifeboat_vault.store.store_protocols import MetadataStore

_KEPT = 64 << 20
"""Bytes of bodies to cache while their patches are read."""


class DestroyReport(NamedTuple):
    """Number of objects that lost their bytes, number of those bytes, and number of patches that were encoded again."""

    objects: int = 0
    bytes: int = 0
    reencoded: int = 0


def destroy_bodies(
    metadata: MetadataStore,
    objects: ObjectReader,
    writer: ObjectWriter,
    applied: Redactions,
    leaves: Iterable[bytes],
) -> DestroyReport:
    """Apply the redactions to every object of these leaves, inside the caller's transaction.

    Raises RedactionInvalid for edits that do not fit the bytes of a leaf. Damaged bytes are destroyed without a
    replacement.
    """
    named = _named(metadata, objects.columns, applied, objects, leaves)
    reencoded = reencode_resting(metadata, writer, set(named), despite_damage=True)
    bodies = _BodyCache(objects)
    destroyed = 0
    for number in sorted(named, reverse=True):
        destroyed += _redact(metadata, writer, bodies, applied, named, number)
    writer.flush()
    return DestroyReport(len(named), destroyed, reencoded)


def _named(
    metadata: MetadataStore, columns: ColumnSealer, applied: Redactions, objects: ObjectReader, leaves: Iterable[bytes]
) -> dict[int, Leaf]:
    """Return the objects that are not redacted as required, with their leaves."""
    found = {}
    for leaf in leaves:
        for row in metadata.rows(sql.OBJECTS_OF_LEAF, (leaf,)):
            number, salt, _, _, held = row
            if holds_old(row) or (held and not _is_settled(applied, objects, number, leaf)):
                found[number] = Leaf(leaf, _salt(columns, salt))
    return found


def _salt(columns: ColumnSealer, held: bytes | None) -> bytes:
    """Return the salt; empty where it is damaged, because it is about to be destroyed."""
    try:
        return columns.salt_of(held)
    except VaultDamaged:
        return b""


def _is_settled(applied: Redactions, objects: ObjectReader, number: int, leaf: bytes) -> bool:
    """Return whether an object without salt already has the required bytes."""
    try:
        return applied.hold(Leaf(leaf), objects.read(number))
    except (VaultDamaged, BodyAbsent):
        return False


def _redact(
    metadata: MetadataStore,
    writer: ObjectWriter,
    bodies: _BodyCache,
    applied: Redactions,
    named: dict[int, Leaf],
    number: int,
) -> int:
    """Redact one object; return how many bytes were destroyed."""
    stored = bodies.stored(number)
    old = bodies.read(number)
    new = _what_stands(metadata, applied, number, named[number], old)
    if new is None:
        metadata.execute(
            sql.REDACT, (0 if old is not None else stored.size, None, 0, body_encoding.PLAIN, None, None, number)
        )
    else:
        base = stored.base
        beneath = None if base is None else bodies.read(base)
        if beneath is not None and base in named:
            beneath = _what_stands(metadata, applied, base, named[base], beneath)
        rests_on, depth, encoded = _encoded(base, beneath, stored_depth(metadata, number), new)
        coding, data, file = writer.place_encoded(encoded)
        metadata.execute(sql.REDACT, (len(new), rests_on, depth, coding, file, data, number))
    metadata.execute(sql.DROP_CONTENT_KEY, (number,))
    bodies.forget(number)
    return 0 if old is None else len(old)


def _what_stands(
    metadata: MetadataStore, applied: Redactions, number: int, leaf: Leaf, old: bytes | None
) -> bytes | None:
    """Return the replacement bytes; None for a gone record, and for missing or damaged bytes."""
    if old is None or (leaf.salt and not merkle.leaf_holds(leaf, old)):
        return None
    new = applied.settled(leaf, old)
    if new is not None or metadata.row(sql.IS_RECORD, (number,)):
        return new
    return b""


def _encoded(base: int | None, beneath: bytes | None, depth: int, new: bytes) -> tuple[int | None, int, Encoded]:
    if base is None or not beneath or max(len(beneath), len(new)) > body_encoding.LARGEST_PATCHED:
        return None, 0, body_encoding.encode_body(new)
    encoded = body_encoding.encode_against(beneath, new)
    return (base, depth, encoded) if encoded.coding == body_encoding.PATCH else (None, 0, encoded)


def stored_depth(metadata: MetadataStore, number: int) -> int:
    row = metadata.row(sql.OBJECT_DEPTH, (number,))
    return 0 if row is None else int(row[0])


class _BodyCache:
    """Cache of old bodies, so that each link of a chain of patches is decoded once."""

    def __init__(self, objects: ObjectReader) -> None:
        self._objects = objects
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._size = 0

    def stored(self, number: int) -> StoredObject:
        return self._objects.stored(number)

    def read(self, number: int) -> bytes | None:
        """Return the bytes; None where they are missing or damaged."""
        try:
            return self._read(number)
        except (BodyAbsent, VaultDamaged):
            return None

    def _read(self, number: int) -> bytes:
        if number in self._kept:
            self._kept.move_to_end(number)
            return self._kept[number]
        stored = self.stored(number)
        body = self._objects.decode(stored, None if stored.base is None else self._read(stored.base))
        self._kept[number] = body
        self._size += len(body)
        while self._size > _KEPT and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1])
        return body

    def forget(self, number: int) -> None:
        self._size -= len(self._kept.pop(number, b""))
