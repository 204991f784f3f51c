"""Wrap a key with a passphrase: argon2id, then XChaCha20-Poly1305 with the header as associated data.

    {"kind", "version", "key_id", "kdf": "argon2id", "operations", "memory": bytes, "salt": base64,
     "cipher": "xchacha20-poly1305", "nonce": base64, "sealed": base64, "digest": hex SHA-256 of the rest}

The digest tells a changed file from a wrong passphrase. The associated data protects against an attacker who also
replaces the digest. The work that the header asks for is checked against bounds before anything is derived.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from typing import Any

import nacl.exceptions
import nacl.pwhash
import nacl.secret

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.errors import KdfOutOfBounds, KeysError, NoKey, UnknownWrapping, WrappedChanged
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.words_in_texts import holds_recovery_words

KIND = "lifeboat wrapped key"
VERSION = 1
KDF = "argon2id"
CIPHER = "xchacha20-poly1305"
OPERATIONS, MEMORY = 3, 256 << 20
"""Parameters for new keys: about half a second."""
MIN_OPERATIONS, MAX_OPERATIONS = 1, 10
MIN_MEMORY, MAX_MEMORY = 64 << 20, 1 << 30
PASSPHRASE_LENGTH = 8
"""Minimum characters of a passphrase to wrap with."""
_SALT_BYTES = nacl.pwhash.argon2id.SALTBYTES
_NONCE_BYTES = nacl.secret.Aead.NONCE_SIZE


def wrap_user_key(
    key: UserKey, passphrase: str, *, operations: int | None = None, memory: int | None = None
) -> JsonObject:
    """Return the document of a wrapped key; `memory` in bytes. Raises KeysError.NO_PASSPHRASE for a short or non-text
    passphrase, KeysError.WORDS_AS_PASSPHRASE, KeysError when there is not enough memory."""
    if len(passphrase) < PASSPHRASE_LENGTH:
        raise KeysError.NO_PASSPHRASE(f"the passphrase has fewer than {PASSPHRASE_LENGTH} characters")
    if holds_recovery_words(passphrase):
        raise KeysError.WORDS_AS_PASSPHRASE("the passphrase contains recovery words; nothing was encrypted with it")
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    header: JsonObject = {
        "kind": KIND,
        "version": VERSION,
        "key_id": key.key_id,
        "kdf": KDF,
        "operations": operations or OPERATIONS,
        "memory": memory or MEMORY,
        "salt": to_base64(salt),
        "cipher": CIPHER,
        "nonce": to_base64(nonce),
    }
    derived = _derive(passphrase, salt, header["operations"], header["memory"])
    sealed = nacl.secret.Aead(derived).encrypt(key.secret, json_codec.encode_canonical(header), nonce).ciphertext
    document = {**header, "sealed": to_base64(sealed)}
    return {**document, "digest": _digest(document)}


def unwrap_user_key(document: JsonObject, passphrase: str) -> UserKey:
    """Return the key. Raises NoKey.WRONG_PASSPHRASE, KeysError.NO_PASSPHRASE for a non-text passphrase, WrappedChanged,
    UnknownWrapping, KdfOutOfBounds, KeysError when there is not enough memory."""
    operations, memory = _checked(document)
    try:
        salt = from_base64(document.get("salt"), _SALT_BYTES)
        nonce = from_base64(document.get("nonce"), _NONCE_BYTES)
        sealed = from_base64(document.get("sealed"))
    except ValueError as error:
        raise WrappedChanged(str(error)) from None
    header = {name: value for name, value in document.items() if name not in ("sealed", "digest")}
    try:
        derived = _derive(passphrase, salt, operations, memory)
        key = UserKey(nacl.secret.Aead(derived).decrypt(sealed, json_codec.encode_canonical(header), nonce))
    except nacl.exceptions.CryptoError:
        raise NoKey.WRONG_PASSPHRASE("the key is encrypted with another passphrase") from None
    except ValueError:
        raise WrappedChanged("the encrypted content is not a key") from None
    if key.key_id != document.get("key_id"):
        raise WrappedChanged("the encrypted content is another key than the file states")
    return key


def _checked(document: JsonObject) -> tuple[int, int]:
    """Check everything that can be checked without the passphrase; return the work parameters."""
    form = tuple(document.get(name) for name in ("kind", "version", "kdf", "cipher"))
    if form != (KIND, VERSION, KDF, CIPHER):
        raise UnknownWrapping(f"Lifeboat can open only version {VERSION} with {KDF} and {CIPHER}")
    operations, memory = document.get("operations"), document.get("memory")
    if not _within(operations, MIN_OPERATIONS, MAX_OPERATIONS) or not _within(memory, MIN_MEMORY, MAX_MEMORY):
        raise KdfOutOfBounds(
            f"the key derivation ({KDF}) needs {operations} operations on {memory} bytes; "
            f"Lifeboat accepts {MIN_OPERATIONS} to {MAX_OPERATIONS} operations on {MIN_MEMORY} to "
            f"{MAX_MEMORY} bytes"
        )
    if not _is_whole(document):
        raise WrappedChanged("the digest in the file does not match the content")
    assert isinstance(operations, int) and isinstance(memory, int)
    return operations, memory


def _is_whole(document: JsonObject) -> bool:
    try:
        return bool(document.get("digest") == _digest({each: document[each] for each in document if each != "digest"}))
    except ValueError:  # a number without a canonical form
        return False


def _within(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _derive(passphrase: str, salt: bytes, operations: int, memory: int) -> bytes:
    # Normalise, because the same characters can be typed as different code points.
    try:
        text = unicodedata.normalize("NFC", passphrase).encode()
    except UnicodeEncodeError:
        raise KeysError.NO_PASSPHRASE("the passphrase is not valid text") from None
    try:
        return nacl.pwhash.argon2id.kdf(nacl.secret.Aead.KEY_SIZE, text, salt, operations, memory)
    except (nacl.exceptions.RuntimeError, MemoryError):  # the only possible failure within the bounds
        message = f"{memory >> 20} MiB of free memory are needed to use the passphrase"
        raise KeysError(message, fix="free some memory, then run the same command again") from None


def _digest(document: JsonObject) -> str:
    return hashlib.sha256(json_codec.encode_canonical(document)).hexdigest()
