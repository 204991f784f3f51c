"""Compute the state digest: the root of a two-level Merkle tree over salted leaves.

There are 1,024 buckets by hash of the key, and a capture re-hashes only the buckets it touched. Each item is covered by
its key (path or record id), its meta (for a record: partition and position) and its leaf. The bytes are behind the leaf
only, so a purge can destroy them without changing any digest.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.states.agent_state import ABSENT_LEAF, SALT_BYTES, BodyAbsent, Entry, GoneRecord, Leaf, Record, State

BUCKETS = 1024
_EMPTY_BUCKET = hashlib.sha256(b"").digest()


def new_leaf(body: bytes) -> Leaf:
    """Commit to bytes under a fresh salt."""
    salt = os.urandom(SALT_BYTES)
    return Leaf(hashlib.sha256(salt + body).digest(), salt)


def leaf_holds(leaf: Leaf, body: bytes) -> bool:
    """Return whether a leaf commits to these bytes. Always False without a salt (see `redactions.Redactions.hold`)."""
    return bool(leaf.salt) and hashlib.sha256(leaf.salt + body).digest() == leaf.digest


def entry_key(path: str) -> bytes:
    return b"e:" + path.encode()


def record_key(record_id: str) -> bytes:
    return b"r:" + record_id.encode()


def bucket_of(key: bytes) -> int:
    """Return the number of the bucket that holds an item, below 1,024."""
    return int.from_bytes(hashlib.sha256(key).digest()[:2], "big") % BUCKETS


def entry_hash(path: str, meta: JsonObject, leaf: bytes) -> bytes:
    return _item_hash(entry_key(path), json_codec.encode_canonical(meta), leaf)


def record_hash(record_id: str, partition: str, position: int, leaf: bytes) -> bytes:
    return _item_hash(record_key(record_id), f"{partition}\n{position}".encode(), leaf)


def _item_hash(key: bytes, meta: bytes, leaf: bytes) -> bytes:
    lengths = len(key).to_bytes(4, "big") + len(meta).to_bytes(4, "big")
    return hashlib.sha256(lengths + key + meta + leaf).digest()


def bucket_hash(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Hash one bucket from its (key, item hash) pairs, in any order."""
    return hashlib.sha256(b"".join(item for _, item in sorted(items))).digest()


def merkle_root(buckets: list[bytes]) -> bytes:
    """Return the state digest from all 1,024 bucket hashes."""
    return hashlib.sha256(b"lifeboat state 1\n" + b"".join(buckets)).digest()


def empty_buckets() -> list[bytes]:
    """Return the buckets of a state without items."""
    return [_EMPTY_BUCKET] * BUCKETS


def digest_of_items(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the digest from every (key, item hash) pair of a state."""
    grouped: defaultdict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
    for key, item in items:
        grouped[bucket_of(key)].append((key, item))
    buckets = empty_buckets()
    for number, group in grouped.items():
        buckets[number] = bucket_hash(group)
    return merkle_root(buckets)


def entry_item(entry: Entry) -> tuple[bytes, bytes]:
    return entry_key(entry.path), entry_hash(entry.path, entry.meta, entry.leaf.digest)


def record_item(record: Record | GoneRecord) -> tuple[bytes, bytes]:
    return record_key(record.id), record_hash(record.id, record.partition, record.position, record.leaf.digest)


def state_digest(state: State, *, check_bodies: bool = True) -> bytes:
    """Compute a state's digest. With `check_bodies`, every byte is checked against its leaf first.

    Raises SignatureError naming the first item whose bytes match neither its leaf nor a redaction, or the first record
    that is gone without a redaction. Signatures of redactions are not checked. Bytes that are not held (tier 3 in an
    archive) are covered by their leaf alone.
    """
    known = state.redactions

    def items() -> Iterable[tuple[bytes, bytes]]:
        for entry in state.entries():
            if check_bodies and entry.leaf.digest != ABSENT_LEAF:
                _check_entry(state, entry)
            yield entry_item(entry)
        for record in state.records():
            if check_bodies and not known.hold(record.leaf, record.line):
                raise SignatureError(f"the record {record.id} in {record.partition} differs from the signed record")
            yield record_item(record)
        for gone in state.gone():
            if not known.is_gone(gone.leaf.digest):
                raise SignatureError(f"the record {gone.id} in {gone.partition} is missing, and no purge removed it")
            yield record_item(gone)

    return digest_of_items(items())


def _check_entry(state: State, entry: Entry) -> None:
    try:
        body = state.body(entry.path)
    except BodyAbsent:
        return
    if not state.redactions.hold(entry.leaf, body):
        raise SignatureError(f"{entry.path} differs from the signed content")
