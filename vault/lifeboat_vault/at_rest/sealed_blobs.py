"""A `BlobStore` with sealed bodies. The name is bound to each, so that no two can be exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.store.store_protocols import BlobStore


class SealedBlobs:
    """Seals and opens the bodies of `blobs`. `size` counts stored bytes."""

    def __init__(self, blobs: BlobStore, sealer: Sealer) -> None:
        self._blobs = blobs
        self._sealer = sealer

    @property
    def inline(self) -> int:
        return self._blobs.inline

    def put(self, name: str, data: bytes) -> None:
        self._blobs.put(name, self._sealer.seal(_kind(name), data))

    def flush(self) -> None:
        self._blobs.flush()

    def read(self, name: str) -> bytes:
        """Return a body. Raises VaultDamaged for a missing or changed one, or one stored under another name."""
        return self._sealer.open(_kind(name), self._blobs.read(name))

    def names(self) -> Iterator[str]:
        return self._blobs.names()

    def remove(self, name: str) -> None:
        self._blobs.remove(name)

    def size(self) -> int:
        return self._blobs.size()

    def copy_to(self, folder: Path) -> None:
        """Copy the bodies, still sealed."""
        self._blobs.copy_to(folder)


def _kind(name: str) -> str:
    return f"blob {name}"
