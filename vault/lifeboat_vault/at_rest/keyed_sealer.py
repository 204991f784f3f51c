"""A `Sealer` with a data key: XChaCha20-Poly1305 under separate keys for each agent (ALF §8.5.3).

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
from typing import NamedTuple, Self

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt as _decrypt,
)
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_encrypt as _encrypt,
)
from nacl.exceptions import CryptoError

from lifeboat_vault.at_rest.sealer import HEADER_BYTES, KEY_ID_BYTES, NONCE_BYTES, VERSION, key_id_of
from lifeboat_vault.errors import OtherDataKey, VaultDamaged

KEY_BYTES = 32
_PAD = 32
_MOST_KINDS = 64


class SealingKeys(NamedTuple):
    """Keys derived from a data key for one agent, 32 bytes each."""

    content: bytes
    tokens: bytes
    nonces: bytes

    def __repr__(self) -> str:
        return "SealingKeys()"


def sealing_keys(key: bytes | bytearray, *, tenant: str, agent: str, key_id: str) -> SealingKeys:
    """Derive the keys of an agent. `key` is the data key (32 bytes), `key_id` its id (12 hexadecimal characters)."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a data key must have {KEY_BYTES} bytes")
    owner = _joined(tenant, agent, key_id)

    def derived(use: bytes) -> bytes:
        return hashlib.blake2b(owner, key=key, digest_size=KEY_BYTES, person=b"lifeboat " + use).digest()

    return SealingKeys(derived(b"content"), derived(b"tokens"), derived(b"nonces"))


class KeyedSealer:
    """Seals for one agent of one tenant (`agent` "": for the tenant as a whole).

    `lend` returns the agent's keys derived from the data key `key_id`. It is called before every use and its result is
    not kept. It raises KeyRevoked when the key was revoked, KeySourceAway when the source cannot be asked.
    """

    def __init__(self, lend: Callable[[], SealingKeys], *, key_id: str, tenant: str, agent: str = "") -> None:
        self._id = key_id
        self._header = VERSION + bytes.fromhex(key_id)
        self._owner = _joined(tenant, agent, key_id)
        self._lend = lend
        self._bound: dict[str, bytes] = {}

    @classmethod
    def of(cls, key: bytes, *, key_id: str, tenant: str, agent: str = "") -> Self:
        """Return a sealer with a fixed data key that cannot be revoked."""
        keys = sealing_keys(key, tenant=tenant, agent=agent, key_id=key_id)
        return cls(lambda: keys, key_id=key_id, tenant=tenant, agent=agent)

    @property
    def key_id(self) -> str:
        return self._id

    def seal(self, kind: str, data: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return self._header + nonce + _encrypt(data, self._binding(kind), nonce, self._lend().content)

    def open(self, kind: str, sealed: bytes) -> bytes:
        """Open sealed bytes. Raises OtherDataKey, also when this sealer's key was destroyed since, VaultDamaged,
        KeyRevoked."""
        self._check_header(kind, sealed)
        return self._opened(kind, sealed, self._lend().content)

    def token(self, kind: str, text: str) -> str:
        keys, binding, padded = self._lend(), self._binding(kind), _padded(text.encode())
        nonce = hashlib.blake2b(binding + padded, key=keys.nonces, digest_size=NONCE_BYTES).digest()
        sealed = self._header + nonce + _encrypt(padded, binding, nonce, keys.tokens)
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def text(self, kind: str, token: str) -> str:
        """Open a token. Raises OtherDataKey, VaultDamaged, KeyRevoked."""
        try:
            sealed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except (binascii.Error, ValueError):
            raise _damaged(kind) from None
        self._check_header(kind, sealed)
        return _unpadded(self._opened(kind, sealed, self._lend().tokens)).decode()

    def _check_header(self, kind: str, sealed: bytes) -> None:
        """Check the header before asking for the key, to tell content sealed with another key from content that nothing
        opens any more."""
        if not sealed.startswith(self._header):
            raise self._not_ours(kind, sealed)

    def _opened(self, kind: str, sealed: bytes, key: bytes) -> bytes:
        try:
            nonce = sealed[HEADER_BYTES : HEADER_BYTES + NONCE_BYTES]
            return _decrypt(sealed[HEADER_BYTES + NONCE_BYTES :], self._binding(kind), nonce, key)
        except (CryptoError, ValueError, TypeError):
            raise _damaged(kind) from None

    def _not_ours(self, kind: str, sealed: bytes) -> VaultDamaged:
        found = key_id_of(sealed)
        if not found:
            return _damaged(kind)
        return OtherDataKey(f"the {kind} is encrypted with the data key {found}, not with {self._id}", key_id=found)

    def _binding(self, kind: str) -> bytes:
        """Return the associated data; cached, because a few kinds have thousands of values."""
        found = self._bound.get(kind)
        if found is None:
            found = self._owner + _joined(kind)
            if len(self._bound) < _MOST_KINDS:
                self._bound[kind] = found
        return found


def new_key_id() -> str:
    return os.urandom(KEY_ID_BYTES).hex()


def _joined(*parts: str) -> bytes:
    """Join parts with their lengths, so that no two lists of parts give the same bytes."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in (each.encode() for each in parts))


def _padded(text: bytes) -> bytes:
    return text + b"\x80" + bytes(-(len(text) + 1) % _PAD)


def _unpadded(padded: bytes) -> bytes:
    return padded.rstrip(b"\x00")[:-1]


def _damaged(kind: str) -> VaultDamaged:
    return VaultDamaged(f"an encrypted {kind} is damaged, or belongs to another vault")
