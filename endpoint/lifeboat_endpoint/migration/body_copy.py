"""Bodies, carried under their names. A store reads back what it wrote and compares it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection

from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import BlobStore


def copy_bodies(names: Collection[str], read: Callable[[str], bytes], target: BlobStore) -> int:
    """Have the target hold these bodies and no others, whatever an earlier attempt left; their bytes. Memory: one of
    them, as often as the target needs it."""
    there, size = set(target.names()), 0
    for name in there.difference(names):
        target.remove(name)
    for name in names:
        data = read(name)
        if name in there and not _holds(target, name, data):
            target.remove(name)
            there.discard(name)
        if name not in there:
            target.put(name, data)
        size += len(data)
    target.flush()
    return size


def has_same_bodies(names: Collection[str], read: Callable[[str], bytes], target: BlobStore) -> bool:
    """Whether the target holds these bodies and no others."""
    return set(target.names()) == set(names) and all(_holds(target, name, read(name)) for name in names)


def _holds(target: BlobStore, name: str, data: bytes) -> bool:
    """False for a row whose body was never written, or not to its end."""
    try:
        found = target.read(name)
    except errors.VaultDamaged:
        return False
    return hashlib.sha256(found).digest() == hashlib.sha256(data).digest()
