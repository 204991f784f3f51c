"""Make age files encrypted with a passphrase without a library for age.

The library chooses a work factor that takes this machine a second or more. Files made here need the minimum work, and
come from an independent implementation: https://age-encryption.org/v1
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Iterator

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

WORK_FACTOR = 1
"""Base-2 logarithm of the work of scrypt: the minimum of the format."""
PIECE_SIZE = 64 * 1024
_FILE_KEY, _SALT, _NONCE = bytes(range(16)), bytes(range(16, 32)), bytes(range(32, 48))


def encrypt_with_little_work(content: bytes, passphrase: str, *, work: int = WORK_FACTOR) -> bytes:
    """Return a binary age file that the passphrase opens."""
    salt = b"age-encryption.org/v1/scrypt" + _SALT
    memory = 1 << (work + 11)
    wrapping_key = hashlib.scrypt(
        passphrase.encode(), salt=salt, n=2**work, r=8, p=1, maxmem=max(memory, 1 << 25), dklen=32
    )
    wrapped = ChaCha20Poly1305(wrapping_key).encrypt(bytes(12), _FILE_KEY, None)
    header = b"age-encryption.org/v1\n-> scrypt %s %d\n%s\n---" % (_base64(_SALT), work, _base64(wrapped))
    authentication = hmac.digest(_derived_key(b"header", b""), header, "sha256")
    return b"%s %s\n%s%s" % (header, _base64(authentication), _NONCE, b"".join(_encrypted_pieces(content)))


def _encrypted_pieces(content: bytes) -> Iterator[bytes]:
    cipher = ChaCha20Poly1305(_derived_key(b"payload", _NONCE))
    starts = range(0, len(content) or 1, PIECE_SIZE)
    for number, start in enumerate(starts):
        is_last = number == len(starts) - 1
        yield cipher.encrypt(number.to_bytes(11) + bytes([is_last]), content[start : start + PIECE_SIZE], None)


def _derived_key(purpose: bytes, salt: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt, purpose).derive(_FILE_KEY)


def _base64(data: bytes) -> bytes:
    return b64encode(data).rstrip(b"=")
