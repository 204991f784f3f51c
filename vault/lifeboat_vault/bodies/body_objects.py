"""Store bodies as objects: a salted leaf, and bytes that are plain, compressed, a patch on another object, or in a
file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable
from typing import Any, NamedTuple

from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import SALT_BYTES, BodyAbsent, Leaf
from lifeboat_vault import errors
from lifeboat_vault.bodies import body_encoding
from lifeboat_vault.bodies.body_encoding import Encoded
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import UNSEALED, ColumnSealer
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore

LARGEST_PLAIN_LINE = 8 << 10
DEEPEST_CHAIN = 16


class StoredObject(NamedTuple):
    """An object's row. `data` or `file` holds the encoded bytes, neither when they are missing."""

    number: int
    coding: str
    data: bytes | None
    file: str | None
    base: int | None
    size: int


class ObjectReader:
    """Reads bodies. Memory: the requested body and, for patches, one more."""

    def __init__(self, metadata: MetadataStore, blobs: BlobStore, columns: ColumnSealer = UNSEALED) -> None:
        self._metadata = metadata
        self._blobs = blobs
        self.columns = columns
        self._sealed = not columns.is_plain

    def read(self, number: int) -> bytes:
        """Return the bytes of an object. Raises BodyAbsent, VaultDamaged."""
        return self._unfolded(self._chain(number))

    def whole(self, stored: StoredObject) -> bytes:
        """Decode a stored object, including what it is a patch on. Raises BodyAbsent, VaultDamaged."""
        return self._unfolded([stored] if stored.base is None else [stored, *self._chain(stored.base)])

    def _chain(self, number: int) -> list[StoredObject]:
        """Return an object and what it is a patch on, one after the other. Raises VaultDamaged."""
        rows = self._metadata.rows(sql.OBJECT_CHAIN, (number, DEEPEST_CHAIN + 1))
        chain = [StoredObject(*row) for row in rows]
        if not chain or chain[-1].base is not None:
            missing = chain[-1].base if chain else number
            too_long = len(chain) > DEEPEST_CHAIN + 1
            raise errors.VaultDamaged(
                f"the stored object {number} depends on too many other objects"
                if too_long
                else f"the stored object {missing} is missing"
            )
        return chain

    def _unfolded(self, chain: list[StoredObject]) -> bytes:
        body: bytes | None = None
        for each in reversed(chain):
            body = self.decode(each, body)
        assert body is not None
        return body

    def stored(self, number: int) -> StoredObject:
        """Return an object's row. Raises VaultDamaged."""
        row = self._metadata.row(sql.OBJECT, (number,))
        if row is None:
            raise errors.VaultDamaged(f"the stored object {number} is missing")
        return StoredObject(number, *row)

    def decode(self, stored: StoredObject, base: bytes | None = None) -> bytes:
        """Decode one stored object, given the bytes of its base. Raises BodyAbsent, VaultDamaged."""
        held = stored.data if stored.file is None else self._blobs.read(stored.file)
        if held is None:
            raise BodyAbsent(f"object {stored.number}")
        if self._sealed:
            held = self.columns.body_of(held)
        if stored.coding == body_encoding.PLAIN and len(held) == stored.size:
            return held  # shortcut for nearly every record line
        try:
            return body_encoding.decode_body(Encoded(stored.coding, held), stored.size, base)
        except body_encoding.CodingError as error:
            raise errors.VaultDamaged(f"the stored object {stored.number} cannot be decoded: {error}") from error


class ObjectWriter:
    """Writes bodies inside one transaction. `stored` counts the written bytes. `discard` removes the files after a
    failure; the next sweep removes those that it cannot."""

    def __init__(self, metadata: MetadataStore, blobs: BlobStore, columns: ColumnSealer = UNSEALED) -> None:
        self._metadata = metadata
        self._blobs = blobs
        self._columns = columns
        self._objects = ObjectReader(metadata, blobs, columns)
        row = metadata.row(sql.NEXT_OBJECT)
        self._next: int = row[0] if row else 1
        self._files: list[str] = []
        self._flushed = 0
        self.stored = 0

    def put(self, body: bytes, sha256: bytes | None, *, leaf: Leaf | None = None, base: int | None = None) -> int:
        """Store a body, as a patch on `base` where that pays; return the new object's number."""
        leaf = leaf or merkle.new_leaf(body)
        rests_on, depth, encoded = self._encode(body, base)
        return self._add(leaf, sha256, len(body), rests_on, depth, encoded)

    def put_absent(self, leaf: Leaf, sha256: bytes | None, size: int) -> int:
        """Record a body without its bytes."""
        number = self._take_number()
        salt, digest = self._columns.salt(leaf.salt), self._columns.sha256(sha256)
        row = (number, leaf.digest, salt, digest, size, None, 0, body_encoding.PLAIN, None, None)
        self._metadata.execute(sql.ADD_OBJECT, row)
        return number

    def put_lines(self, lines: list[bytes | None], leaves: list[Leaf | None]) -> range:
        """Store many record lines (None for a gone one) and return their numbers. No patches, because records are small
        and read in long streams."""
        first = self._next
        self._metadata.execute_many(sql.ADD_OBJECT, self._line_rows(lines, leaves))
        self._next = first + len(lines)
        return range(first, self._next)

    def _line_rows(self, lines: list[bytes | None], leaves: list[Leaf | None]) -> Iterable[tuple[Any, ...]]:
        salts = os.urandom(SALT_BYTES * len(lines))
        for place, (line, given) in enumerate(zip(lines, leaves, strict=True)):
            salt = salts[place * SALT_BYTES : (place + 1) * SALT_BYTES] if given is None else given.salt
            digest = hashlib.sha256(salt + (line or b"")).digest() if given is None else given.digest
            coding, data, file = (body_encoding.PLAIN, None, None) if line is None else self._place_line(line)
            number = self._next + place
            yield number, digest, self._columns.salt(salt), None, len(line or b""), None, 0, coding, file, data

    def _place_line(self, line: bytes) -> tuple[str, bytes | None, str | None]:
        """Encode a line for storage without compression, because unpacking each line of a long stream would dominate
        reading."""
        if len(line) > LARGEST_PLAIN_LINE:
            return self.place_encoded(body_encoding.encode_body(line))
        held = self._columns.body(line)
        self.stored += len(held)
        return body_encoding.PLAIN, held, None

    def reencode(self, number: int, base: int | None) -> None:
        """Make an object a patch on `base` (None: on nothing) without changing its content. Raises BodyAbsent, and
        VaultDamaged for wrong bytes: encoded again, they could no longer be repaired through their base."""
        body = self._objects.read(number)
        if not self._is_right(number, body):
            raise errors.VaultDamaged(f"the stored object {number} is damaged")
        rests_on, depth, encoded = self._encode(body, base)
        coding, data, file = self.place_encoded(encoded)
        self._metadata.execute(sql.REENCODE, (rests_on, depth, coding, file, data, number))

    def fill(self, number: int, body: bytes) -> None:
        """Add the bytes of an object that lacks them."""
        coding, data, file = self.place_encoded(body_encoding.encode_body(body))
        self._metadata.execute(sql.REENCODE, (None, 0, coding, file, data, number))

    def restore(self, number: int, leaf: Leaf, sha256: bytes | None, body: bytes) -> None:
        """Replace the bytes of an object and their metadata: salt, SHA-256 and size."""
        salt, held = self._columns.salt(leaf.salt), self._columns.sha256(sha256)
        self._metadata.execute(sql.RESTORE_OBJECT, (salt, held, len(body), number))
        self.heal(number, body)

    def heal(self, number: int, body: bytes) -> None:
        """Replace damaged bytes by the right ones. Objects that are patches on it and read correctly now stay correct,
        although they may have been made against the damaged bytes."""
        whole = {each: found for each in self._resting(number) if (found := self._right_body(each)) is not None}
        self.fill(number, body)
        for each, found in whole.items():
            if self._right_body(each) != found:
                self.fill(each, found)

    def _resting(self, number: int) -> list[int]:
        """Return every object that is a patch on this one, the nearest first."""
        found = [number]
        for each in found:
            found += [resting for (resting,) in self._metadata.rows(sql.OBJECTS_ON, (each,))]
        return found[1:]

    def _right_body(self, number: int) -> bytes | None:
        try:
            body = self._objects.read(number)
        except (BodyAbsent, errors.VaultDamaged):
            return None
        return body if self._is_right(number, body) else None

    def _is_right(self, number: int, body: bytes) -> bool:
        """Return whether bytes match an object's leaf. For redacted bytes nothing can tell."""
        row = self._metadata.row(sql.OBJECT_CHECK, (number,))
        if row is None:
            return False
        salt = self._columns.salt_of(row[2])
        return not salt or merkle.leaf_holds(Leaf(row[1], salt), body)

    def flush(self) -> None:
        """Make the files written so far durable."""
        if len(self._files) > self._flushed:
            self._blobs.flush()
            self._flushed = len(self._files)

    def discard(self) -> None:
        for name in self._files:
            with contextlib.suppress(errors.VaultError):
                self._blobs.remove(name)

    def _encode(self, body: bytes, base: int | None) -> tuple[int | None, int, Encoded]:
        if base is None or len(body) > body_encoding.LARGEST_PATCHED:
            return None, 0, body_encoding.encode_body(body)
        depth = self._depth(base)
        old = self._base_body(base) if depth < DEEPEST_CHAIN else None
        if old is None:
            return None, 0, body_encoding.encode_body(body)
        encoded = body_encoding.encode_against(old, body)
        return (base, depth + 1, encoded) if encoded.coding == body_encoding.PATCH else (None, 0, encoded)

    def _depth(self, number: int) -> int:
        row = self._metadata.row(sql.OBJECT_DEPTH, (number,))
        return DEEPEST_CHAIN if row is None else int(row[0])

    def _base_body(self, number: int) -> bytes | None:
        """Return the bytes to make a patch against; None when they are too large, missing or damaged. Damage must not
        prevent new content from being stored."""
        row = self._metadata.row(sql.OBJECT, (number,))
        if row is None or not 0 < row[4] <= body_encoding.LARGEST_PATCHED:
            return None
        return self._right_body(number)

    def _add(self, leaf: Leaf, sha256: bytes | None, size: int, base: int | None, depth: int, encoded: Encoded) -> int:
        number = self._take_number()
        coding, data, file = self.place_encoded(encoded)
        salt, digest = self._columns.salt(leaf.salt), self._columns.sha256(sha256)
        row = (number, leaf.digest, salt, digest, size, base, depth, coding, file, data)
        self._metadata.execute(sql.ADD_OBJECT, row)
        return number

    def _take_number(self) -> int:
        self._next += 1
        return self._next - 1

    def place_encoded(self, encoded: Encoded) -> tuple[str, bytes | None, str | None]:
        """Return (coding, inline bytes, file). Bytes too large for a row are written to a file first."""
        data, file = self.place(self._columns.body(encoded.data), is_large=len(encoded.data) > self._blobs.inline)
        return encoded.coding, data, file

    def place(self, held: bytes, *, is_large: bool) -> tuple[bytes | None, str | None]:
        """Return (inline bytes, file) of a stored body."""
        self.stored += len(held)
        if not is_large:
            return held, None
        name = secrets.token_hex(16)
        self._files.append(name)
        self._blobs.put(name, held)
        return None, name


def find_orphans(metadata: MetadataStore, blobs: BlobStore) -> list[str]:
    """Return body files that no object names: left by failed commits, or by dropped objects."""
    known = {name for (name,) in metadata.rows(sql.FILES)}
    return [name for name in blobs.names() if name not in known]


def remove_orphans(metadata: MetadataStore, blobs: BlobStore, *, wait: bool = True) -> int:
    """Remove orphans and return how many. Body files are written only under the write lock, so none of them is in
    use."""
    if not find_orphans(metadata, blobs):
        return 0
    with metadata.transaction(wait=wait):
        found = find_orphans(metadata, blobs)
        for name in found:
            blobs.remove(name)
    return len(found)
