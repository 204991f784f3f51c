"""Read and write `lifeboat/leaves.bin`: the salts of a state's items, in item order, without keys.

One row per item, first a flag byte:

    0   16 bytes salt                    the leaf follows from salt and bytes
    1   32 bytes leaf                    the salt was destroyed
    2   16 bytes salt, 32 bytes leaf     the bytes are not in this file (tier 3)

Leaves of items whose bytes are in the file are never written: they are computed from the bytes, so that a changed byte
cannot hide behind a stored leaf.
"""

from __future__ import annotations

from array import array

from lifeboat_alf.archive.archive_layout import LEAVES
from lifeboat_alf.errors import BadDocument
from lifeboat_alf.states.agent_state import LEAF_BYTES, SALT_BYTES, Leaf

_LENGTHS = {0: SALT_BYTES, 1: LEAF_BYTES, 2: SALT_BYTES + LEAF_BYTES}


def pack_leaf_row(leaf: Leaf, *, absent: bool = False) -> bytes:
    """Return the row of one item; `absent` when its bytes are not in the file."""
    if not leaf.salt:
        return b"\x01" + leaf.digest
    return b"\x02" + leaf.salt + leaf.digest if absent else b"\x00" + leaf.salt


class LeafRows:
    """All rows of a file. `rows[i]` is (salt, leaf digest); each is b"" where the row has none."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = array("Q")
        position, end = 0, len(data)
        while position < end:
            self._starts.append(position)
            length = _LENGTHS.get(data[position])
            if length is None or position + 1 + length > end:
                raise BadDocument(f"row {len(self._starts)} in the list of hashes is not valid", entry=LEAVES)
            position += 1 + length

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> tuple[bytes, bytes]:
        start = self._starts[number]
        flag, start = self._data[start], start + 1
        if flag == 0:
            return self._data[start : start + SALT_BYTES], b""
        if flag == 1:
            return b"", self._data[start : start + LEAF_BYTES]
        middle = start + SALT_BYTES
        return self._data[start:middle], self._data[middle : middle + LEAF_BYTES]
