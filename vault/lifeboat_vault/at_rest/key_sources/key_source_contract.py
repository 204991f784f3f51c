"""The interface of key sources, which protect an endpoint's data keys (ALF §8.5.3: any source will do).

One file per kind and an entry point in the group `lifeboat.key_sources`: the name is the scheme of the specification
(`file:/etc/lifeboat/endpoint.key`), the object a `KeySourceKind`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class KeySource(Protocol):
    """A key outside the data that wraps and unwraps small secrets. Thread-safe; every call is bounded in time.

    Revocation takes effect at once: a source may cache a refusal for some seconds, never what it unwrapped.
    """

    @property
    def spec(self) -> str:
        """Return the specification: `<kind>:<where>`."""
        ...

    @property
    def cache_seconds(self) -> float:
        """Return how long unwrapped keys may stay in memory before the source is asked again."""
        ...

    def wrap(self, secret: bytes) -> bytes:
        """Encrypt and authenticate a secret; the result differs every time. Raises KeyRevoked, KeySourceAway,
        KeySourceRefused."""
        ...

    def unwrap(self, wrapped: bytes) -> bytes:
        """Decrypt a wrapped secret.

        Raises KeyRevoked when the source does not give the key or has another one, KeySourceAway when it does not
        answer, KeySourceRefused for an invalid request, VaultDamaged when the wrapped bytes were changed.
        """
        ...


class KeySourceKind(Protocol):
    """The object that an entry point names."""

    def open(self, where: str, *, outside: Path) -> KeySource:
        """Return the source that `where` names, without reading its key. `outside` is the folder of the data, where no
        key may be. Fast, because it is called whenever a key is needed. Raises KeySourceRefused."""
        ...

    def make(self, where: str, *, outside: Path) -> None:
        """Make a new key when there is none. A kind that makes none checks that there is a usable one. Raises
        KeySourceRefused, KeySourceAway."""
        ...
