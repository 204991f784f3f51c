"""The user's key: 32 random bytes from which an X25519 pair (wraps the agents' keys) and an Ed25519 pair (certifies
devices) are derived, each by BLAKE2b keyed with those bytes over its own context.

Python's `bytes` cannot be wiped, so a secret stays in memory until the process ends. Commands that need the user's key
therefore run in short-lived processes with core dumps disabled (see `hardening`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import nacl.public
import nacl.signing

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.recovery import bip39_words

PUBLIC_BYTES = 32
_PERSON = b"lifeboat-user"
_BOX_CONTEXT = b"lifeboat user key 1: x25519, wraps agents' keys"
_SIGN_CONTEXT = b"lifeboat user key 1: ed25519, certifies devices"
_ID_PERSON = b"lifeboat-key-id"
_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class UserPublic:
    """The public halves of a user's key: `box` (X25519) and `sign` (Ed25519), 32 bytes each. `key_id` is derived from
    both."""

    box: bytes
    sign: bytes

    @property
    def key_id(self) -> str:
        """Return the id: 32 hexadecimal digits."""
        digest = hashlib.blake2b(self.box + self.sign, digest_size=_ID_BYTES, person=_ID_PERSON)
        return digest.hexdigest()

    def to_json(self) -> JsonObject:
        return {"key_id": self.key_id, "box": to_base64(self.box), "sign": to_base64(self.sign)}

    @classmethod
    def from_json(cls, document: Any) -> UserPublic:
        """Decode the public halves. Raises ValueError for the wrong shape, or an id that does not match."""
        if not isinstance(document, dict):
            raise ValueError("the public key of a user must be a JSON object")
        box, sign = (from_base64(document.get(half), PUBLIC_BYTES) for half in ("box", "sign"))
        public = cls(box, sign)
        if document.get("key_id") != public.key_id:
            raise ValueError("the stated key id does not match the key")
        return public


class UserKey:
    """A user's key, including the secret. `repr` shows nothing of it."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != bip39_words.SECRET_BYTES:
            raise ValueError(f"a key must have {bip39_words.SECRET_BYTES} bytes")
        self._secret = bytes(secret)

    @classmethod
    def generate(cls) -> UserKey:
        return cls(os.urandom(bip39_words.SECRET_BYTES))

    @classmethod
    def from_words(cls, text: str | Iterable[str]) -> UserKey:
        """Return the key of 24 words. Raises BadWords."""
        return cls(bip39_words.from_words(text))

    def words(self) -> list[str]:
        """Return the 24 words that encode this key."""
        return bip39_words.to_words(self._secret)

    @property
    def secret(self) -> bytes:
        """Return the 32 secret bytes for a store."""
        return self._secret

    @property
    def box_secret(self) -> bytes:
        """Return the secret half of `public.box`, 32 bytes."""
        return self._derive(_BOX_CONTEXT)

    @property
    def public(self) -> UserPublic:
        return UserPublic(bytes(self._box().public_key), bytes(self._sign().verify_key))

    @property
    def key_id(self) -> str:
        return self.public.key_id

    def sign(self, message: bytes) -> bytes:
        """Return an Ed25519 signature, 64 bytes. The caller prepends a context to the message."""
        return self._sign().sign(message).signature

    def open_box(self, sealed: bytes) -> bytes:
        """Open what was sealed to `public.box`. Raises nacl.exceptions.CryptoError."""
        return nacl.public.SealedBox(self._box()).decrypt(sealed)

    def _box(self) -> nacl.public.PrivateKey:
        return nacl.public.PrivateKey(self.box_secret)

    def _sign(self) -> nacl.signing.SigningKey:
        return nacl.signing.SigningKey(self._derive(_SIGN_CONTEXT))

    def _derive(self, context: bytes) -> bytes:
        return hashlib.blake2b(context, key=self._secret, digest_size=32, person=_PERSON).digest()

    def __repr__(self) -> str:
        return f"UserKey({self.key_id})"
