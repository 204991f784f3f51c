"""Secrets besides the user's key in the OS keyring: the credentials of remotes."""

from __future__ import annotations

from lifeboat_keys.errors import NoKey
from lifeboat_keys.stores.keyring_store import KeyringStore


class KeyringSecrets:
    """Items of one home, which never change: another secret gets another name. Every method raises NoKey (the keyring
    is locked, away or slow)."""

    def __init__(self, store: KeyringStore) -> None:
        self._store = store

    def keep(self, name: str, secret: str) -> None:
        """Store a secret under an unused name, and read it back."""
        answer = self._store.ask({"do": "keep", **self._store.item(name), "secret": secret})
        if answer["secret"] != secret:
            raise NoKey.KEYRING_AWAY("the OS keyring accepted a secret, but did not store it")

    def read(self, name: str) -> str | None:
        """Return a secret, None if there is none of this name."""
        found = self._store.ask({"do": "read", **self._store.item(name)})["secret"]
        return found if isinstance(found, str) else None

    def remove(self, name: str) -> None:
        """Delete a secret. That there is none is no error."""
        self._store.ask({"do": "remove", **self._store.item(name)})
