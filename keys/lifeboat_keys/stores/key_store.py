"""The interface of every store for the user's key."""

from __future__ import annotations

from typing import Protocol

from lifeboat_alf.errors import LifeboatError
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.store_kinds import StoreKind


class KeyStore(Protocol):
    """A store for keys. A stored key is never deleted or overwritten."""

    @property
    def kind(self) -> StoreKind: ...

    @property
    def description(self) -> str:
        """Return which store this is, for people: "in a file without encryption"."""

    def problem(self) -> LifeboatError | None:
        """Return why a key cannot be stored or read now; None when it can."""

    def find(self) -> UserKey | None:
        """Return the key stored here when its id is not known yet. Only stores with a single place have one. Raises
        KeysError."""

    def read(self, key_id: str) -> UserKey:
        """Return the key with this id, checked. Raises NoKey (or a subclass), OtherKey, KeyDamaged."""

    def keep(self, key: UserKey) -> None:
        """Store a key and read it back. An already stored key stays. Raises KeysError.EXISTS when another key has its
        place, KeysError when it cannot be stored."""
