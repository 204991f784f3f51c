"""Copies of bodies under their names. The target store reads back and compares what it wrote."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection

from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import BlobStore


def copy_bodies(names: Collection[str], read: Callable[[str], bytes], target: BlobStore) -> int:
    """Make the target hold exactly these bodies, whatever an earlier attempt left; return their bytes.

    At most one body is in memory, as often as the target needs it.
    """
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
    """Whether the target holds exactly these bodies."""
    return set(target.names()) == set(names) and all(_holds(target, name, read(name)) for name in names)


def _holds(target: BlobStore, name: str, data: bytes) -> bool:
    """Return whether the target has this body; False also for one that was written partly or never."""
    try:
        found = target.read(name)
    except errors.VaultDamaged:
        return False
    return hashlib.sha256(found).digest() == hashlib.sha256(data).digest()
