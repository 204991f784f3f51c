"""Key source of 32 bytes that this machine can read: the common part of the kinds file, keyring and env."""

from __future__ import annotations

import binascii
import hashlib
import os
from base64 import b64decode
from collections.abc import Callable

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt as _decrypt,
)
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_encrypt as _encrypt,
)
from nacl.exceptions import CryptoError

from lifeboat_vault.errors import KeyRevoked, VaultDamaged

KEY_BYTES = 32
CACHE_SECONDS = 30.0
_NONCE = 24
_MARK = 8


class LocalKey:
    """A `KeySource` whose `read` reads the key each time; None when it is gone."""

    def __init__(self, spec: str, read: Callable[[], bytes | None]) -> None:
        self._spec = spec
        self._read = read

    @property
    def spec(self) -> str:
        return self._spec

    @property
    def cache_seconds(self) -> float:
        return CACHE_SECONDS

    def wrap(self, secret: bytes) -> bytes:
        key, nonce = self._key(), os.urandom(_NONCE)
        return _mark(key) + nonce + _encrypt(secret, _mark(key), nonce, key)

    def unwrap(self, wrapped: bytes) -> bytes:
        key = self._key()
        if not wrapped.startswith(_mark(key)):
            told = f"{self._spec} contains a different key than the one that protects the data"
            raise KeyRevoked(
                told, only_this=True, fix=f"store in {self._spec} the key that the other processes of the endpoint use"
            )
        nonce, sealed = wrapped[_MARK : _MARK + _NONCE], wrapped[_MARK + _NONCE :]
        try:
            return _decrypt(sealed, _mark(key), nonce, key)
        except (CryptoError, ValueError, TypeError):
            raise VaultDamaged(f"a data key that is encrypted with {self._spec} is damaged") from None

    def _key(self) -> bytes:
        key = self._read()
        if key is None:
            raise KeyRevoked(f"{self._spec} contains no key")
        return key


def _mark(key: bytes) -> bytes:
    """Return a mark that identifies a key without revealing it."""
    return hashlib.blake2b(b"", key=key, digest_size=_MARK, person=b"lifeboat mark").digest()


def parse_local_key(text: str) -> bytes | None:
    """Return 32 bytes written as hexadecimal or base64 (also base64url, with or without padding); None for anything
    else."""
    text = text.strip()
    for decode in (bytes.fromhex, _base64):
        try:
            key = decode(text)
        except (binascii.Error, ValueError):
            continue
        if len(key) == KEY_BYTES:
            return key
    return None


def _base64(text: str) -> bytes:
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    return b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
