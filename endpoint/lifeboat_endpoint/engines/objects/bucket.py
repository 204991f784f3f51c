"""What is asked of an object store. Keys are relative to the prefix of its address."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

MARKER = "lifeboat-endpoint.json"
"""The object that says whose place this is (`claim`)."""

TRIAL = "lifeboat-trial"
"""An object that is written to be deleted."""

LARGEST = 256 << 20
"""Bytes of an object of which it is not known how large it is."""


class ListedObject(NamedTuple):
    """An object as a listing tells of it. `size` in bytes."""

    key: str
    size: int
    modified: datetime


class Bucket(Protocol):
    """For many threads.

    Every method raises VaultBusy where nobody answers, an answer takes too long or the store says that it is
    overloaded or broken; VaultUnusable where it does not let us in or is not the one that was meant.
    """

    def put(self, key: str, data: bytes) -> None:
        """Write an object whole and read it back. What is there under this key is replaced. Raises VaultFull;
        VaultBusy too where something else came back: then the object is removed again where that can be done. After
        any error it may or may not be there."""
        ...

    def get(self, key: str, most: int = LARGEST) -> bytes:
        """Raises VaultDamaged when it is not there, and for one of more than `most` bytes."""
        ...

    def delete(self, key: str) -> None:
        """One that is gone already is no error."""
        ...

    def list(self, prefix: str) -> Iterator[ListedObject]:
        """Every object below a folder, in no order. A listing may be late: it may miss what was just written and name
        what was just deleted."""
        ...

    def keeps_versions(self) -> bool | None:
        """Whether what is deleted stays as an older version, None where the store does not tell. A small object is
        written and deleted."""
        ...

    def check(self) -> None:
        """Whether it answers and lets us in."""
        ...
