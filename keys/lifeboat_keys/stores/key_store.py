"""What every store of the user's key can do."""

from __future__ import annotations

from typing import Protocol

from lifeboat_keys.errors import KeysError
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.store_kinds import StoreKind


class KeyStore(Protocol):
    """One place for keys. A key that was kept is never deleted, and no other takes its place."""

    @property
    def kind(self) -> StoreKind: ...

    @property
    def description(self) -> str:
        """Return which store this is, for people: "unprotected file"."""

    def problem(self) -> KeysError | None:
        """Why a key cannot be kept or read here now, None when it can."""

    def find(self) -> UserKey | None:
        """The key that lies here already when nobody knows its id yet. Only stores with one place for it have one.
        Raises KeysError."""

    def read(self, key_id: str) -> UserKey:
        """The key with this id, checked. Raises NoKey (or what is derived from it), OtherKey, KeyDamaged."""

    def keep(self, key: UserKey) -> None:
        """Keep a key and read it back; one that is kept already stays. Raises KeyExists when its place is taken by
        another, KeysError when it cannot be kept."""
