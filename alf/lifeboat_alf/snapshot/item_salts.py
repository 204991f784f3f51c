"""Provide the salts of an archive's items: from its leaves, or generated for a state that was never signed."""

from __future__ import annotations

import hashlib
import os

from lifeboat_alf.archive.leaf_rows import LeafRows
from lifeboat_alf.states.agent_state import ABSENT_LEAF, SALT_BYTES, Leaf


class ItemSalts:
    """Salts and stored leaves by item number: entries first, then records.

    Without rows, every salt is derived from one random key of this object. So any number of salts costs no memory, and
    two readers of one file share none.
    """

    def __init__(self, rows: LeafRows | None, entries: int) -> None:
        self._rows = rows
        self._entries = entries
        self._key = os.urandom(32)

    def salt(self, number: int) -> bytes:
        """Return the salt of an item; b"" when it was destroyed."""
        if self._rows is not None:
            return self._rows[number][0]
        return hashlib.blake2b(number.to_bytes(8, "big"), key=self._key, digest_size=SALT_BYTES).digest()

    def stored_leaf(self, number: int) -> bytes:
        """Return the stored leaf of an item whose bytes or salt are not in the file, else b""."""
        return self._rows[number][1] if self._rows is not None else b""

    def leaf(self, number: int, body: bytes) -> Leaf:
        """Return the leaf of an item whose bytes are in the file; the stored one where the salt is gone."""
        salt = self.salt(number)
        if not salt:
            return Leaf(self.stored_leaf(number))
        return Leaf(hashlib.sha256(salt + body).digest(), salt)

    def absent(self, number: int) -> Leaf:
        """Return the leaf of an item whose bytes are not in the file."""
        stored = self.stored_leaf(number)
        return Leaf(stored, self.salt(number)) if stored else Leaf(ABSENT_LEAF)

    def record_number(self, index: int) -> int:
        """Return the item number of the record at `index` over all partitions."""
        return self._entries + index
