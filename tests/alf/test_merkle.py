"""The state digest equals an independent computation from its description: signatures made today must stay valid for
ever."""

from __future__ import annotations

import hashlib
import json

import pytest

from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import Leaf

ITEMS = [(f"raw/openclaw/note-{number}.md", {"mtime_ns": str(number)}) for number in range(3000)]
"""More than the number of buckets, so that every bucket and the order within one count."""


def leaf_of(path: str) -> bytes:
    return hashlib.sha256(b"a salt" + path.encode()).digest()


def digest_by_the_description(items: list[tuple[str, dict[str, str]]]) -> bytes:
    """Return SHA-256 over 1,024 buckets, chosen by the first two bytes of the key's digest."""
    buckets: list[list[tuple[bytes, bytes]]] = [[] for _ in range(1024)]
    for path, meta in items:
        key, covered = f"e:{path}".encode(), json.dumps(meta, separators=(",", ":"), sort_keys=True).encode()
        item = hashlib.sha256(
            len(key).to_bytes(4, "big") + len(covered).to_bytes(4, "big") + key + covered + leaf_of(path)
        ).digest()
        first, second = hashlib.sha256(key).digest()[:2]
        buckets[(first * 256 + second) % 1024].append((key, item))
    hashes = [hashlib.sha256(b"".join(item for _, item in sorted(bucket))).digest() for bucket in buckets]
    return hashlib.sha256(b"lifeboat state 1\n" + b"".join(hashes)).digest()


@pytest.mark.parametrize("count", [0, 1, 2, 3000])
def test_the_digest_is_what_its_description_says(count: int) -> None:
    items = [(merkle.entry_key(path), merkle.entry_hash(path, meta, leaf_of(path))) for path, meta in ITEMS[:count]]
    assert merkle.digest_of_items(reversed(items)) == digest_by_the_description(ITEMS[:count])


def test_a_record_is_covered_with_its_place() -> None:
    key, place, leaf = b"r:0190", b"memory/partitions/2026-Q4.jsonl\n7", leaf_of("record")
    covered = len(key).to_bytes(4, "big") + len(place).to_bytes(4, "big") + key + place + leaf
    found = merkle.record_hash("0190", "memory/partitions/2026-Q4.jsonl", 7, leaf)
    assert (merkle.record_key("0190"), found) == (key, hashlib.sha256(covered).digest())


def test_a_leaf_holds_only_the_bytes_that_it_was_made_of() -> None:
    leaf = merkle.new_leaf(b"body")
    assert merkle.leaf_holds(leaf, b"body") and not merkle.leaf_holds(leaf, b"Body")
    assert not merkle.leaf_holds(Leaf(hashlib.sha256(b"body").digest(), b""), b"body")
