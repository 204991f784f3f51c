"""Store keys wrapped with a passphrase: `wrapped/<key id>.json` in the key folder."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_keys.errors import (
    KdfOutOfBounds,
    KeyDamaged,
    KeyLocked,
    KeysError,
    NoKey,
    OtherKey,
    UnknownWrapping,
    WrappedChanged,
)
from lifeboat_keys.home.key_files import KeyFiles
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores import passphrase_wrapping
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_keys.stores.store_kinds import StoreKind

_NONE = "no passphrase was typed, and no environment variable provides one"


class PassphraseStore:
    """Store of passphrase-wrapped keys, one file each."""

    kind = StoreKind.PASSPHRASE
    description = "in a file encrypted with a passphrase"

    def __init__(self, documents: KeyFiles, around: KeyEnvironment, files: FileOperations) -> None:
        self._documents = documents
        self._around = around
        self._files = files

    def problem(self) -> LifeboatError | None:
        return None if self._around.passphrase_is_given else KeysError.NO_PASSPHRASE(_NONE)

    def find(self) -> UserKey | None:
        return None

    def read(self, key_id: str) -> UserKey:
        document = self._document(key_id)
        passphrase = self._around.read_passphrase(self._files)
        if passphrase is None:
            raise KeyLocked("the key is encrypted with a passphrase")
        return _checked(passphrase_wrapping.unwrap_user_key(document, passphrase), key_id)

    def keep(self, key: UserKey) -> None:
        """Store a key. If it is stored with another passphrase, or damaged, it is wrapped again; nothing is lost."""
        passphrase = self._around.read_passphrase(self._files)
        if passphrase is None:
            raise KeysError.NO_PASSPHRASE(_NONE)
        if not self._opens(key, passphrase):
            self._documents.replace(_name(key.key_id), passphrase_wrapping.wrap_user_key(key, passphrase))
            _checked(passphrase_wrapping.unwrap_user_key(self._document(key.key_id), passphrase), key.key_id)

    def _opens(self, key: UserKey, passphrase: str) -> bool:
        try:
            return passphrase_wrapping.unwrap_user_key(self._document(key.key_id), passphrase).key_id == key.key_id
        except (NoKey, WrappedChanged, UnknownWrapping, KdfOutOfBounds, KeyDamaged):
            return False

    def _document(self, key_id: str) -> JsonObject:
        document = self._documents.read(_name(key_id))
        if document is None:
            path = self._documents.folder / _name(key_id)
            raise NoKey(f"{path} does not exist", fix="lifeboat keys recover")
        return document


def _checked(key: UserKey, key_id: str) -> UserKey:
    if key.key_id != key_id:
        raise OtherKey(f"the encrypted key file contains the key {key.key_id}, but this home has the key {key_id}")
    return key


def _name(key_id: str) -> str:
    if not key_id.isalnum():
        raise KeyDamaged("the id of a key must be hexadecimal")
    return f"wrapped/{key_id}.json"
