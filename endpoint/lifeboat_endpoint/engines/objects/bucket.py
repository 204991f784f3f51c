"""The interface of an object store. Keys are relative to the prefix of its address."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

MARKER = "lifeboat-endpoint.json"
"""Name of the object that says which endpoint a place belongs to (`place_owner`)."""

TRIAL = "lifeboat-trial"
"""Name of an object that is written only to be deleted."""

LARGEST = 256 << 20
"""Most bytes to read of an object of unknown size."""


class ListedObject(NamedTuple):
    """An object in a listing. `size` in bytes."""

    key: str
    size: int
    modified: datetime


class Bucket(Protocol):
    """Objects below the prefix of an address, for many threads.

    Every method raises VaultBusy if the store does not answer in time or reports that it is overloaded or broken, and
    VaultUnusable if it refuses access or is not the intended store.
    """

    def put(self, key: str, data: bytes) -> None:
        """Write an object and read it back, replacing any object with this key. Raises VaultFull.

        If the store returns other bytes, the object is removed again if possible and VaultBusy is raised. After any
        error the object may or may not exist.
        """

    def get(self, key: str, most: int = LARGEST) -> bytes:
        """Return the bytes of an object. Raises VaultDamaged if it is missing or larger than `most` bytes."""

    def delete(self, key: str) -> None:
        """Delete an object. Deleting a missing one is not an error."""

    def list(self, prefix: str) -> Iterator[ListedObject]:
        """Yield every object below a folder, in no order.

        A listing may be outdated: it may miss objects that were just written and name objects that were just deleted.
        """

    def keeps_versions(self) -> bool | None:
        """Return whether deleted objects stay as older versions, or None if the store does not tell.

        Writes and deletes a small object.
        """

    def check(self) -> None:
        """Check that the store answers and grants access."""
