"""Store keys in unprotected files: 0600 in the key folder. Anyone who reads a file has the key."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from lifeboat_alf.errors import LifeboatError
from lifeboat_keys.errors import KeyDamaged, NoKey, OtherKey
from lifeboat_keys.home import key_file_documents
from lifeboat_keys.home.key_file_names import USER_KEY
from lifeboat_keys.home.key_files import KeyFiles
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.store_kinds import StoreKind

_FURTHER = "users"


class FileStore:
    """Store in `user.key`, and in `users/<key id>.json` for each further key."""

    kind = StoreKind.FILE
    description = "in a file without encryption"

    def __init__(self, files: KeyFiles) -> None:
        self._files = files

    def problem(self) -> LifeboatError | None:
        return None

    def find(self) -> UserKey | None:
        return self._read(USER_KEY)

    def read(self, key_id: str) -> UserKey:
        key = self._read(_further(key_id)) or self.find()
        if key is None:
            raise NoKey(f"{self._files.folder / USER_KEY} does not exist", fix="lifeboat keys recover")
        if key.key_id != key_id:
            raise OtherKey(f"{USER_KEY} contains the key {key.key_id}, but this home has the key {key_id}")
        return key

    def keep(self, key: UserKey) -> None:
        """Store a key. A damaged file stays as it is; the key is stored beside it."""
        if not self._files.has(USER_KEY):
            self._files.write_once(USER_KEY, key_file_documents.of_user_key(key))
        elif key.key_id not in {one.key_id for one in self.whole().values()}:
            self._files.write_once(_further(key.key_id), key_file_documents.of_user_key(key))

    def whole(self) -> dict[str, UserKey]:
        """Return the readable keys stored here, by file name."""
        found = {}
        for name in self.names():
            with contextlib.suppress(KeyDamaged):
                key = self._read(name)
                if key is not None:
                    found[name] = key
        return found

    def names(self) -> list[str]:
        """Return the files of keys stored here."""
        return [*([USER_KEY] if self._files.has(USER_KEY) else []), *self._files.names(_FURTHER)]

    def remove(self, names: Iterable[str]) -> None:
        """Delete keys that were read back from another store."""
        for name in names:
            self._files.remove(name)

    def _read(self, name: str) -> UserKey | None:
        document = self._files.read(name)
        return None if document is None else key_file_documents.user_key(document, name)


def _further(key_id: str) -> str:
    return f"{_FURTHER}/{key_id}.json"
