"""`lifeboat/leaves.bin` and `lifeboat/signature.json`: what makes the state digest of a file provable.

One row per item, without keys: entries sorted by path, then records. A row is a flag byte and what follows it:

    0  salt         the leaf follows from salt and bytes
    1  leaf         the salt was destroyed, or the bytes were never held
    2  salt leaf    the bytes exist, but not in this file
    3  (nothing)    deltas only: the leaf of the base's entry
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from lifeboat_alf.errors import BadDocument
from lifeboat_alf.state import LEAF_BYTES, NO_SALT, SALT_BYTES, Leaf, Sequence

JsonObject = dict[str, Any]

SALTED, BARE, WHOLE, UNCHANGED = range(4)
_LENGTHS = {SALTED: SALT_BYTES, BARE: LEAF_BYTES, WHOLE: SALT_BYTES + LEAF_BYTES, UNCHANGED: 0}


def row(leaf: Leaf, *, has_body: bool, base: Leaf | None = None) -> bytes:
    """The row of one item. `has_body`: its bytes lie in the same file; `base`: its leaf in a delta's base."""
    if leaf == base:
        return bytes([UNCHANGED])
    if not leaf.salt:
        return bytes([BARE]) + leaf.digest
    return bytes([SALTED]) + leaf.salt if has_body else bytes([WHOLE]) + leaf.salt + leaf.digest


class Rows:
    """The rows of a file, taken one after the other in the order of its items."""

    def __init__(self, data: bytes, entry: str) -> None:
        self._data, self._entry, self._at = data, entry, 0

    def take(self, body: Callable[[], bytes], base: Leaf | None = None) -> Leaf:
        """The next item's leaf. `body` is called only when the leaf follows from bytes. Raises BadDocument."""
        flag = self._data[self._at : self._at + 1]
        if not flag or flag[0] not in _LENGTHS or (flag[0] == UNCHANGED and base is None):
            raise BadDocument(f"no leaf at byte {self._at}", entry=self._entry)
        fields = self._data[self._at + 1 : self._at + 1 + _LENGTHS[flag[0]]]
        if len(fields) != _LENGTHS[flag[0]]:
            raise BadDocument("the last leaf is cut off", entry=self._entry)
        self._at += 1 + len(fields)
        return _leaf(flag[0], fields, body, base)

    def finish(self) -> None:
        """Raises BadDocument when there are more rows than items."""
        if self._at != len(self._data):
            raise BadDocument(f"{len(self._data) - self._at} bytes belong to no item", entry=self._entry)


def _leaf(flag: int, fields: bytes, body: Callable[[], bytes], base: Leaf | None) -> Leaf:
    if flag == UNCHANGED and base is not None:
        return base
    if flag == SALTED:
        return Leaf(hashlib.sha256(fields + body()).digest(), fields)
    return Leaf(fields, NO_SALT) if flag == BARE else Leaf(fields[SALT_BYTES:], fields[:SALT_BYTES])


def signature_document(sequence: Sequence) -> JsonObject:
    """`lifeboat/signature.json` of a signed sequence."""
    named = {
        "agent": sequence.agent_id,
        "sequence": sequence.number,
        "base": sequence.base,
        "epoch": sequence.epoch,
        "time": sequence.time,
        "digest": sequence.digest.hex(),
    }
    return {"sequence": named, "signature": sequence.signature}


def signed_sequence(document: JsonObject, entry: str) -> Sequence:
    """The sequence that a signature document names. Raises BadDocument; nothing is verified here."""
    try:
        named = document["sequence"]
        digest = bytes.fromhex(named["digest"])
        return Sequence(
            str(named["agent"]),
            int(named["sequence"]),
            None if named["base"] is None else int(named["base"]),
            int(named["epoch"]),
            str(named["time"]),
            digest,
            document["signature"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadDocument(f"not a signed sequence ({error!r})", entry=entry) from None
