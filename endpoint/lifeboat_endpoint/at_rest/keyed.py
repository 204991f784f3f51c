"""A `Sealer` with a data key: XChaCha20-Poly1305 under keys of its own for each agent (ALF §8.5.3).

    sealed = version (1 byte), id of the data key (6), nonce (24), ciphertext with its tag (16 more than the content)

Tenant, agent, kind and the id of the data key are bound as associated data. `seal` takes a random nonce; of a token
the nonce is a keyed digest of kind and text (synthetic, as in SIV), so that equal texts give equal tokens, and the
text is padded, since the lengths of well-known paths would give them away.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Callable

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt as _decrypt,
)
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_encrypt as _encrypt,
)
from nacl.exceptions import CryptoError

from lifeboat_endpoint.at_rest.sealer import HEADER_BYTES, KEY_ID_BYTES, NONCE_BYTES, VERSION, key_id_of
from lifeboat_endpoint.errors import OtherDataKey, VaultDamaged

KEY_BYTES = 32
_PAD = 32
_MOST_KINDS = 64


def always() -> None:
    """A key that nobody can take away."""


class KeyedSealer:
    """Seals for one agent of one tenant (`agent` "": what belongs to the tenant as a whole).

    `key` are the 32 bytes of the data key, `key_id` its id (12 hexadecimal characters). `still_held` is called before
    every use and raises KeyRevoked when the key was taken away.
    """

    def __init__(
        self, key: bytes, *, key_id: str, tenant: str, agent: str = "", still_held: Callable[[], None] = always
    ) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a data key has {KEY_BYTES} bytes")
        self._id = key_id
        self._header = VERSION + bytes.fromhex(key_id)
        self._owner = _joined(tenant, agent, key_id)
        self._still_held = still_held
        self._content = self._derived(key, b"content")
        self._tokens = self._derived(key, b"tokens")
        self._nonces = self._derived(key, b"nonces")
        self._bound: dict[str, bytes] = {}

    def _derived(self, key: bytes, use: bytes) -> bytes:
        return hashlib.blake2b(self._owner, key=key, digest_size=KEY_BYTES, person=b"lifeboat " + use).digest()

    @property
    def key_id(self) -> str:
        return self._id

    def seal(self, kind: str, data: bytes) -> bytes:
        self._still_held()
        nonce = os.urandom(NONCE_BYTES)
        return self._header + nonce + _encrypt(data, self._binding(kind), nonce, self._content)

    def open(self, kind: str, sealed: bytes) -> bytes:
        """Raises OtherDataKey, VaultDamaged, KeyRevoked."""
        return self._opened(kind, sealed, self._content)

    def token(self, kind: str, text: str) -> str:
        self._still_held()
        binding, padded = self._binding(kind), _padded(text.encode())
        nonce = hashlib.blake2b(binding + padded, key=self._nonces, digest_size=NONCE_BYTES).digest()
        sealed = self._header + nonce + _encrypt(padded, binding, nonce, self._tokens)
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def text(self, kind: str, token: str) -> str:
        """Raises OtherDataKey, VaultDamaged, KeyRevoked."""
        try:
            sealed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except (binascii.Error, ValueError):
            raise _damaged(kind) from None
        return _unpadded(self._opened(kind, sealed, self._tokens)).decode()

    def _opened(self, kind: str, sealed: bytes, key: bytes) -> bytes:
        self._still_held()
        if not sealed.startswith(self._header):
            raise self._not_ours(kind, sealed)
        try:
            nonce = sealed[HEADER_BYTES : HEADER_BYTES + NONCE_BYTES]
            return _decrypt(sealed[HEADER_BYTES + NONCE_BYTES :], self._binding(kind), nonce, key)
        except (CryptoError, ValueError, TypeError):
            raise _damaged(kind) from None

    def _not_ours(self, kind: str, sealed: bytes) -> VaultDamaged:
        found = key_id_of(sealed)
        if not found:
            return _damaged(kind)
        return OtherDataKey(f"the {kind} is sealed under the data key {found}, not {self._id}", key_id=found)

    def _binding(self, kind: str) -> bytes:
        """The associated data; kept for the few kinds of which there are thousands of values."""
        found = self._bound.get(kind)
        if found is None:
            found = self._owner + _joined(kind)
            if len(self._bound) < _MOST_KINDS:
                self._bound[kind] = found
        return found


def new_key_id() -> str:
    return os.urandom(KEY_ID_BYTES).hex()


def _joined(*parts: str) -> bytes:
    """Parts with their lengths: no two lists of parts give the same bytes."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in (each.encode() for each in parts))


def _padded(text: bytes) -> bytes:
    return text + b"\x80" + bytes(-(len(text) + 1) % _PAD)


def _unpadded(padded: bytes) -> bytes:
    return padded.rstrip(b"\x00")[:-1]


def _damaged(kind: str) -> VaultDamaged:
    return VaultDamaged(f"a sealed {kind} was changed, or belongs to another vault")
