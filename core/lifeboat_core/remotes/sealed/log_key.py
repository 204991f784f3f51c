"""The key of one agent's log: it seals the small documents of a log and names its large artifacts.

Every machine of the user that writes there keeps it (0600, beside its remotes), so that it does not need the user's key
for: names of agents and machines, the document of the agent's wrapped keys (it names machines too), and which large
artifacts are there. It opens no bundle. In the head it is wrapped for the user's key: the recovery words restore it.

A large artifact is named by a digest that is keyed with it. So the keeper of the files cannot find out by guessing
which known file a user has, and every machine finds again what another one sent.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec
import nacl.exceptions
import nacl.secret

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_core.remotes.sealed.log_file_names import LARGE
from lifeboat_core.remotes.sealed.log_head import LogHead, WrappedLogKey
from lifeboat_keys.age_format import age_encryption
from lifeboat_keys.pairs.former_keys import FormerKey
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.user_key import UserPublic
from lifeboat_vault.errors import RemoteDamaged

KEY_BYTES = nacl.secret.Aead.KEY_SIZE
_PERSON = b"lifeboat-log"
_FORMER = "former keys"
_CHECK = b"which key is this"


class LogKey:
    """The key of the log of `agent` at `remote`. Nothing of it shows in `repr`."""

    def __init__(self, secret: bytes, remote: str, agent: str) -> None:
        self._secret = secret
        self._place = f"{remote} {agent}"

    @property
    def secret(self) -> bytes:
        return self._secret

    @property
    def check(self) -> str:
        """Identifies the key; 16 hexadecimal digits."""
        return self._keyed(_CHECK, 8)

    def name_of(self, sha256: str) -> str:
        """Return the file name of a large artifact."""
        return f"{LARGE}{self._keyed(f'large {self._place} {sha256}'.encode(), 16)}.age"

    def seal(self, kind: str, data: bytes) -> bytes:
        return bytes(nacl.secret.Aead(self._secret).encrypt(data, self._bound(kind)))

    def open(self, kind: str, sealed: bytes) -> bytes:
        """Raises RemoteDamaged."""
        try:
            return nacl.secret.Aead(self._secret).decrypt(sealed, self._bound(kind))
        except (nacl.exceptions.CryptoError, ValueError):
            raise RemoteDamaged(f"the part `{kind}` of the agent's log was changed") from None

    def wrapped_for(self, user: UserPublic, former: Sequence[FormerKey] = ()) -> WrappedLogKey:
        """Return the key wrapped for the user, with the keys that the user's key replaced. Raises AgeMissing."""
        target = io.BytesIO()
        with age_encryption.encrypt_stream(target, [age_encryption.age_recipient_of(user)]) as stream:
            stream.write(self._secret)
        sealed = self.seal(_FORMER, json_codec.encode_json([one.to_json() for one in former])) if former else b""
        return WrappedLogKey(self.check, user.key_id, to_base64(target.getvalue()), to_base64(sealed))

    def former(self, wrapped: WrappedLogKey) -> list[JsonObject]:
        """Return the documents of the former keys. Raises RemoteDamaged."""
        if not wrapped.former:
            return []
        try:
            return msgspec.json.decode(self.open(_FORMER, from_base64(wrapped.former)), type=list[JsonObject])
        except ValueError:  # errors of msgspec are ValueErrors
            raise RemoteDamaged("the former keys in the index of the log cannot be read") from None

    def _bound(self, kind: str) -> bytes:
        return f"lifeboat log 1 {kind} {self._place}".encode()

    def _keyed(self, data: bytes, size: int) -> str:
        return hashlib.blake2b(data, key=self._secret, digest_size=size, person=_PERSON).hexdigest()

    def __repr__(self) -> str:
        return f"LogKey({self._place})"


class PlainLogKey:
    """The key of a log in plain text: nothing is sealed, and artifacts are named by their content."""

    def name_of(self, sha256: str) -> str:
        return f"{LARGE}{sha256}"

    def seal(self, kind: str, data: bytes) -> bytes:
        return data

    def open(self, kind: str, sealed: bytes) -> bytes:
        return sealed


class LogCipher(Protocol):
    """What a log needs to handle small documents: `LogKey` or `PlainLogKey`."""

    def name_of(self, sha256: str) -> str: ...

    def seal(self, kind: str, data: bytes) -> bytes: ...

    def open(self, kind: str, sealed: bytes) -> bytes: ...


class LogKeys:
    """The log keys that this machine has seen, in `folder`; `identities` opens what is wrapped for the user."""

    def __init__(self, folder: Path, files: FileOperations, identities: Callable[[], list[str]]) -> None:
        self._folder = folder
        self._files = files
        self._identities = identities

    def make(self, remote: str, agent: str) -> LogKey:
        """Make and keep a new key."""
        made = LogKey(os.urandom(KEY_BYTES), remote, agent)
        self._keep(made, remote, agent)
        return made

    def known(self, head: LogHead) -> LogKey | None:
        """Return the key if this machine has it."""
        with suppress(FileNotFoundError, ValueError):
            secret = from_base64(read_all(self._files, self._path(head.remote, head.agent)).decode(), KEY_BYTES)
            found = LogKey(secret, head.remote, head.agent)
            if head.log_key is not None and found.check == head.log_key.check:
                return found
        return None

    def get(self, head: LogHead) -> LogKey:
        """Return the key; if this machine has not seen it, the user's key opens it. Raises RemoteDamaged, and what the
        keys raise."""
        found = self.known(head)
        if found is None:
            found = self._opened(head)
            self._keep(found, head.remote, head.agent)
        return found

    def forget(self, remote: str, agent: str) -> None:
        """Remove the key of a log that does not exist any more."""
        with suppress(FileNotFoundError):
            self._files.remove(self._path(remote, agent))

    def _opened(self, head: LogHead) -> LogKey:
        if head.log_key is None:
            raise RemoteDamaged("the index of a sealed log has no key")
        target = io.BytesIO()
        try:
            sealed = from_base64(head.log_key.age)
            age_encryption.decrypt_file(io.BytesIO(sealed), target, self._identities())
            found = LogKey(target.getvalue(), head.remote, head.agent)
            if len(found.secret) == KEY_BYTES and found.check == head.log_key.check:
                return found
        except ValueError:
            pass
        raise RemoteDamaged("the key of the log is invalid")

    def _keep(self, key: LogKey, remote: str, agent: str) -> None:
        self._files.make_folders(self._folder, 0o700)
        write_atomic(self._files, self._path(remote, agent), to_base64(key.secret).encode())

    def _path(self, remote: str, agent: str) -> Path:
        return self._folder / f"{remote}.{agent}.key"


def find_log_key(get: Callable[[], LogKey]) -> LogKey | None:
    """Return the key, None while the user's key is away: names alone do not justify an error."""
    with suppress(LifeboatError):
        return get()
    return None
