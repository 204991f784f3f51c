"""Unwrap the passphrase stanza of an age file and wrap it again with little work.

The library allows as much work as its machine can do in some seconds at that moment, so a file written on an idle
machine is refused on a busy one. The limit here is a fixed number, the same on each machine.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets

from nacl.bindings import crypto_aead_chacha20poly1305_ietf_decrypt, crypto_aead_chacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from lifeboat_keys.errors import AgeError

MOST_WORK = 22
"""Maximum work factor (log2 N), as in the reference program: 4 GiB of memory. Programs write 18 to 20."""
_LEAST_WORK = 1
_LABEL = b"age-encryption.org/v1/scrypt"
_HEADER = re.compile(
    rb"age-encryption\.org/v1\n-> scrypt (?P<salt>[A-Za-z0-9+/]{22}) (?P<work>[1-9][0-9]{0,2})\n"
    rb"(?P<body>[A-Za-z0-9+/]{43})\n--- (?P<mac>[A-Za-z0-9+/]{43})\n"
)
_NO_NONCE = bytes(12)
_BLOCK = 8


def rewrap_with_little_work(sealed: bytes, passphrase: str) -> bytes:
    """Return a file that opens with the same passphrase and almost no work. A file of another shape is returned
    unchanged.

    Raises AgeError.EXCESSIVE_WORK, AgeError.WRONG_PASSPHRASE, and AgeError.CHANGED for a changed header.
    """
    found = _HEADER.match(sealed)
    if found is None:
        return sealed
    work, salt = int(found["work"]), _decoded(found["salt"])
    if work > MOST_WORK:
        raise AgeError.EXCESSIVE_WORK(
            f"the file requires 2^{work} rounds of key derivation; the limit is 2^{MOST_WORK}"
        )
    try:
        wrapped = _decoded(found["body"])
        file_key = crypto_aead_chacha20poly1305_ietf_decrypt(
            wrapped, None, _NO_NONCE, _wrapping_key(passphrase, salt, work)
        )
    except CryptoError:
        raise AgeError.WRONG_PASSPHRASE("the file was encrypted with another passphrase") from None
    signed = found[0][: found.start("mac") - 1]
    if not hmac.compare_digest(_mac(file_key, signed), _decoded(found["mac"])):
        raise AgeError.CHANGED("the encryption header of the file was changed")
    return _header(file_key, passphrase) + sealed[found.end() :]


def _header(file_key: bytes, passphrase: str) -> bytes:
    salt = secrets.token_bytes(16)
    key = _wrapping_key(passphrase, salt, _LEAST_WORK)
    body = crypto_aead_chacha20poly1305_ietf_encrypt(file_key, None, _NO_NONCE, key)
    stanza = b"-> scrypt %b %d\n%b\n" % (_encoded(salt), _LEAST_WORK, _encoded(body))
    signed = b"age-encryption.org/v1\n" + stanza + b"---"
    return signed + b" " + _encoded(_mac(file_key, signed)) + b"\n"


def _wrapping_key(passphrase: str, salt: bytes, work: int) -> bytes:
    rounds = 1 << work
    memory = 128 * _BLOCK * (rounds + 2) + (1 << 20)
    try:
        return hashlib.scrypt(passphrase.encode(), salt=_LABEL + salt, n=rounds, r=_BLOCK, p=1, maxmem=memory, dklen=32)
    except (MemoryError, ValueError) as error:
        raise AgeError.EXCESSIVE_WORK(f"opening the file needs {memory >> 20} MiB of free memory") from error


def _mac(file_key: bytes, signed: bytes) -> bytes:
    """Return the header's HMAC under HKDF-SHA256(file key, no salt, "header")."""
    extracted = hmac.digest(bytes(32), file_key, "sha256")
    return hmac.digest(hmac.digest(extracted, b"header\x01", "sha256"), signed, "sha256")


def _encoded(data: bytes) -> bytes:
    return base64.b64encode(data).rstrip(b"=")


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise AgeError.CHANGED("the encryption header of the file was changed") from None
