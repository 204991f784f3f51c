"""Where the key comes from that protects an endpoint's data keys (ALF §8.5.3: the layer does not care which source).

One file per kind and an entry point in the group `lifeboat.key_sources`: the name is the scheme of the specification
(`file:/etc/lifeboat/endpoint.key`), the object a `KeySourceKind`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class KeySource(Protocol):
    """A key somewhere else that wraps and unwraps small secrets. Asked again each time: what was taken away is gone."""

    @property
    def spec(self) -> str:
        """As it was named: `<kind>:<where>`."""
        ...

    def wrap(self, secret: bytes) -> bytes:
        """Encrypted and authenticated, different every time. Raises KeyRevoked."""
        ...

    def unwrap(self, wrapped: bytes) -> bytes:
        """Raises KeyRevoked when the source does not give the key, or has another one; VaultDamaged when what was
        wrapped was changed."""
        ...


class KeySourceKind(Protocol):
    """What an entry point names."""

    def open(self, where: str, *, outside: Path) -> KeySource:
        """The source that `where` names. `outside` is the folder of the data, in which no key may lie. Looks at the
        place, not at the key. Raises KeySourceRefused."""
        ...

    def make(self, where: str, *, outside: Path) -> None:
        """Make a new key there when there is none; a kind that makes none does nothing. Raises KeySourceRefused."""
        ...
