"""Decode and encode secrets as ZeroClaw spells them: `enc2:` (ChaCha20-Poly1305), `enc:` (until February 2026), a
reference, or plain text.

`enc2:` is followed by nonce (12 bytes), ciphertext and tag (16 bytes) in hexadecimal, without associated data. `enc:`
is followed by the text, xored with the repeated key. The key is 32 bytes, in hexadecimal in `.secret_key` beside the
configuration.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from itertools import cycle
from pathlib import Path

from nacl.bindings import (
    crypto_aead_chacha20poly1305_ietf_ABYTES,
    crypto_aead_chacha20poly1305_ietf_decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt,
    crypto_aead_chacha20poly1305_ietf_KEYBYTES,
    crypto_aead_chacha20poly1305_ietf_NPUBBYTES,
)
from nacl.exceptions import CryptoError

from lifeboat_adapters.errors import SecretsError
from lifeboat_adapters.zeroclaw import zeroclaw_paths

PREFIX = "enc2:"
LEGACY_PREFIX = "enc:"
REFERENCE_PREFIX = "op://"
"""The prefix of a reference to a secret in 1Password."""

_NONCE = crypto_aead_chacha20poly1305_ietf_NPUBBYTES
_TAG = crypto_aead_chacha20poly1305_ietf_ABYTES
_KEY = crypto_aead_chacha20poly1305_ietf_KEYBYTES
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")


class UnreadableSecret(SecretsError):
    """An encrypted value cannot be decrypted. A `damaged` value cannot be decrypted with any key, others with their own
    key."""

    code = "unreadable_secret"

    def __init__(self, message: str, *, damaged: bool) -> None:
        super().__init__(message)
        self.damaged = damaged


class BadSecretKey(SecretsError):
    """`.secret_key` exists and does not hold a key."""

    code = "bad_secret_key"


def is_encrypted_secret(value: str) -> bool:
    """Return whether a value can be read with the key only."""
    return value.startswith((PREFIX, LEGACY_PREFIX))


def is_reference(value: str) -> bool:
    """Return whether a value is only a reference to a secret."""
    return value.startswith(REFERENCE_PREFIX)


def decrypt_secret(value: str, key: bytes | None) -> str:
    """Return the value that ZeroClaw reads. References and plain text stay as they are. Raises UnreadableSecret."""
    if not is_encrypted_secret(value):
        return value
    prefix = PREFIX if value.startswith(PREFIX) else LEGACY_PREFIX
    sealed = _bytes_of(value[len(prefix) :])
    if prefix == PREFIX and len(sealed) < _NONCE + _TAG:
        raise UnreadableSecret("an encrypted value is too short: its end is missing", damaged=True)
    if key is None:
        raise UnreadableSecret(
            f"the key file {zeroclaw_paths.SECRET_KEY}, which encrypts this value, does not exist", damaged=False
        )
    return _text(_opened(sealed, key) if prefix == PREFIX else _xored(sealed, key))


def encrypt_secret(value: str, key: bytes, nonce: bytes | None = None) -> str:
    """Encrypt a text as `enc2:`. `nonce` (12 bytes) is random unless it is given."""
    nonce = secrets.token_bytes(_NONCE) if nonce is None else nonce
    sealed = crypto_aead_chacha20poly1305_ietf_encrypt(value.encode("utf-8", "replace"), None, nonce, key)
    return f"{PREFIX}{(nonce + sealed).hex()}"


def new_key() -> bytes:
    """Return a new key, as the bytes of its file."""
    return secrets.token_bytes(_KEY).hex().encode()


def parse_key_file(data: bytes) -> bytes:
    """Parse the bytes of a key file. Raises BadSecretKey."""
    text = data.decode("ascii", "replace").strip()
    if len(text) != 2 * _KEY or _HEX.fullmatch(text) is None:
        raise BadSecretKey(f"{zeroclaw_paths.SECRET_KEY} does not contain a key of {2 * _KEY} hexadecimal digits")
    return bytes.fromhex(text)


def read_key_file(folder: Path) -> bytes | None:
    """Return the bytes of the key file in the folder of the configuration, None when there is none. Links are refused,
    as in ZeroClaw. Raises BadSecretKey, also for a file that cannot be read."""
    path = folder / zeroclaw_paths.SECRET_KEY
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if path.is_symlink():
            raise BadSecretKey(f"{path} is a symbolic link, which ZeroClaw does not follow") from None
        raise BadSecretKey(f"{path} cannot be read: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadSecretKey(f"{path} is not a regular file")
        return os.read(descriptor, 4 * _KEY)
    finally:
        os.close(descriptor)


def read_key(folder: Path) -> bytes | None:
    """Return the key beside a configuration, None when there is none. Raises BadSecretKey."""
    data = read_key_file(folder)
    return None if data is None else parse_key_file(data)


def _bytes_of(text: str) -> bytes:
    if _HEX.fullmatch(text) is None:
        raise UnreadableSecret("an encrypted value is damaged: it is not hexadecimal", damaged=True)
    return bytes.fromhex(text)


def _opened(sealed: bytes, key: bytes) -> bytes:
    try:
        return crypto_aead_chacha20poly1305_ietf_decrypt(sealed[_NONCE:], None, sealed[:_NONCE], key)
    except CryptoError:
        raise UnreadableSecret(
            f"the key file {zeroclaw_paths.SECRET_KEY} cannot decrypt an encrypted value: the value belongs to "
            "another installation, or is damaged",
            damaged=False,
        ) from None


def _xored(data: bytes, key: bytes) -> bytes:
    return bytes(byte ^ other for byte, other in zip(data, cycle(key), strict=False))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableSecret(
            (
                f"an encrypted value was decrypted with the key file {zeroclaw_paths.SECRET_KEY}, but the result "
                "is not text"
            ),
            damaged=False,
        ) from None
