"""Store for the private file named by LIFEBOAT_KEY_FILE, with the 24 words or a key document."""

from __future__ import annotations

import contextlib
from pathlib import Path

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_keys.errors import KeyDamaged, KeysError, NoKey, OtherKey
from lifeboat_keys.home import key_file_documents
from lifeboat_keys.home.key_files import FILE_MODE, read_private
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.key_environment import KEY_FILE
from lifeboat_keys.stores.key_texts import key_from
from lifeboat_keys.stores.store_kinds import StoreKind

_AGAIN = "run the same command again; it will use the existing key"
_UNSET = f"set {KEY_FILE} to the path of the file with your key"


class KeyFileStore:
    """Store of one key. `path` is None when the variable is not set."""

    kind = StoreKind.KEY_FILE
    description = f"in the file that {KEY_FILE} names"

    def __init__(self, path: Path | None, files: FileOperations) -> None:
        self._path = path
        self._files = files

    def problem(self) -> LifeboatError | None:
        return None if self._path else NoKey(f"the variable {KEY_FILE} is not set", fix=_UNSET)

    def find(self) -> UserKey | None:
        path = self._named()
        data = read_private(self._files, path)
        return None if data is None else key_from(data, str(path))

    def read(self, key_id: str) -> UserKey:
        key = self.find()
        if key is None:
            raise NoKey(f"the file {self._path}, given in {KEY_FILE}, does not exist", fix=_UNSET)
        if key.key_id != key_id:
            raise OtherKey(f"{self._path} contains the key {key.key_id}, but this home has the key {key_id}")
        return key

    def keep(self, key: UserKey) -> None:
        present = self.find()
        if present is None:
            self._write(self._named(), key)
        elif present.key_id != key.key_id:
            message = f"{self._path} contains the key {present.key_id}, and a key file can contain only one key"
            raise KeysError.EXISTS(message, fix="lifeboat keys init --store passphrase")

    def _write(self, path: Path, key: UserKey) -> None:
        """Create the file exclusively: another home may write its key there at the same time, and they share no
        lock."""
        try:
            self._files.write_new(
                path, json_codec.encode_pretty(key_file_documents.of_user_key(key)) + b"\n", mode=FILE_MODE
            )
            self._files.sync_folder(path.parent)
        except FileExistsError:
            raise KeysError.EXISTS(f"another program has just created {path}", fix=_AGAIN) from None
        except OSError as error:
            with contextlib.suppress(OSError):
                self._files.remove(path)
            raise KeysError(f"{path} could not be written: {error.strerror or error}") from None
        written = self.find()
        if written is None or written.key_id != key.key_id:
            raise KeyDamaged(f"{path} was written, but contains something else when read again")

    def _named(self) -> Path:
        if self._path is None:
            raise NoKey(f"the variable {KEY_FILE} is not set", fix=_UNSET)
        return self._path
