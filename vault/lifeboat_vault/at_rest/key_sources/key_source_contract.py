"""Where the key comes from that protects an endpoint's data keys (ALF §8.5.3: the layer does not care which source).

One file per kind and an entry point in the group `lifeboat.key_sources`: the name is the scheme of the specification
(`file:/etc/lifeboat/endpoint.key`), the object a `KeySourceKind`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class KeySource(Protocol):
    """A key somewhere else that wraps and unwraps small secrets. Many threads ask, and each waits for a limited time.
    What was taken away is gone: a source may remember for some seconds that it was refused, never what it was given."""

    @property
    def spec(self) -> str:
        """As it was named: `<kind>:<where>`."""
        ...

    @property
    def cache_seconds(self) -> float:
        """How long what it unwrapped may be kept in memory, before it is asked again."""
        ...

    def wrap(self, secret: bytes) -> bytes:
        """Encrypted and authenticated, different every time. Raises KeyRevoked, KeySourceAway, KeySourceRefused."""
        ...

    def unwrap(self, wrapped: bytes) -> bytes:
        """Raises KeyRevoked when the source does not give the key, or has another one; KeySourceAway when it gives no
        answer, KeySourceRefused when it cannot be asked like that, VaultDamaged when what was wrapped was changed."""
        ...


class KeySourceKind(Protocol):
    """What an entry point names."""

    def open(self, where: str, *, outside: Path) -> KeySource:
        """The source that `where` names. `outside` is the folder of the data, in which no key may lie. Looks at the
        place, not at the key. Quick: called whenever a key is needed. Raises KeySourceRefused."""
        ...

    def make(self, where: str, *, outside: Path) -> None:
        """Make a new key there when there is none; a kind that makes none asks whether there is one that can be used.
        Raises KeySourceRefused, KeySourceAway."""
        ...
