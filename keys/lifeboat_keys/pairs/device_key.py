"""The device key: an Ed25519 pair of one home on one machine, certified by the user's key.

It signs what this machine writes (sequences, agents' key pairs), so that the user's key is needed only once, when the
certificate is made. It opens no credential. A *testimony* is what it signs: a document that carries the device's
public key, its certificate and the signature, so that the user's public key alone (the 24 words) verifies it.

    {"version": 1, "algorithm": "ed25519", "device": base64, "user": UserPublic, "certificate": base64,
     "signature": base64}
"""

from __future__ import annotations

import functools
import os
from typing import Any

import nacl.exceptions
import nacl.signing

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_keys.pairs.strict_base64 import device_id, from_base64, to_base64
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import PUBLIC_BYTES, UserKey, UserPublic

SECRET_BYTES = 32
SIGNATURE_BYTES = 64
VERSION = 1
ALGORITHM = "ed25519"
_CERTIFICATE = "device certificate"


class DeviceKey:
    """A device's key with its certificate. `repr` shows nothing secret."""

    __slots__ = ("_signing", "certificate", "user")

    def __init__(self, secret: bytes, user: UserPublic, certificate: bytes) -> None:
        self._signing = nacl.signing.SigningKey(secret)
        self.user = user
        self.certificate = certificate

    @classmethod
    def generate(cls, user_key: UserKey) -> DeviceKey:
        """Make a new device key, certified by the user's key."""
        return cls.certified(os.urandom(SECRET_BYTES), user_key)

    @classmethod
    def certified(cls, secret: bytes, user_key: UserKey) -> DeviceKey:
        """Return a key for an existing device secret under a new certificate."""
        public = bytes(nacl.signing.SigningKey(secret).verify_key)
        return cls(secret, user_key.public, user_key.sign(_certificate_message(public, user_key.public)))

    @property
    def secret(self) -> bytes:
        """Return the 32 secret bytes for a store."""
        return bytes(self._signing)

    @property
    def public(self) -> bytes:
        return bytes(self._signing.verify_key)

    @property
    def id(self) -> str:
        return device_id(self.public)

    def testify(self, context: str, statement: JsonObject) -> JsonObject:
        """Sign a statement. The context prevents a signature of one kind from passing as another."""
        return {
            "version": VERSION,
            "algorithm": ALGORITHM,
            "device": to_base64(self.public),
            "user": self.user.to_json(),
            "certificate": to_base64(self.certificate),
            "signature": to_base64(self._signing.sign(_message(context, statement)).signature),
        }

    def check_certificate(self) -> None:
        """Check that the user's key certified this device. Raises SignatureError."""
        _check_one(self.user.sign, _certificate_message(self.public, self.user), self.certificate, "the certificate")

    def __repr__(self) -> str:
        return f"DeviceKey({self.id} of {self.user.key_id})"


def check_testimony(testimony: Any, context: str, statement: JsonObject, trusted: TrustedKeys | None) -> UserPublic:
    """Check every field of a testimony and return who signed the statement.

    Raises SignedByAnother (or a subclass) when the signer is not `trusted`, SignatureError for an invalid testimony.
    Without `trusted` only consistency is checked, which anyone can produce.
    """
    try:
        user, device, certificate, signature = _fields(testimony)
    except ValueError as error:
        raise SignatureError(f"the format of the signature is invalid: {error}") from None
    if trusted is not None:
        trusted.check(user, device)
    _check_certificate(user.sign, _certificate_message(device, user), certificate)
    _check_one(device, _message(context, statement), signature, "the signature")
    return user


def _fields(testimony: Any) -> tuple[UserPublic, bytes, bytes, bytes]:
    if not isinstance(testimony, dict):
        raise ValueError("the signature is not a JSON object")
    if testimony.get("version") != VERSION or testimony.get("algorithm") != ALGORITHM:
        raise ValueError("the version or the algorithm is unknown")
    return (
        UserPublic.from_json(testimony.get("user")),
        from_base64(testimony.get("device"), PUBLIC_BYTES),
        from_base64(testimony.get("certificate"), SIGNATURE_BYTES),
        from_base64(testimony.get("signature"), SIGNATURE_BYTES),
    )


@functools.lru_cache(maxsize=256)
def _check_certificate(public: bytes, message: bytes, certificate: bytes) -> None:
    """Check a device's certificate. Valid ones are cached because everything the device signs carries it; invalid ones
    are checked every time."""
    _check_one(public, message, certificate, "the certificate of the machine's device key")


def _check_one(public: bytes, message: bytes, signature: bytes, signature_or_certificate: str) -> None:
    try:
        nacl.signing.VerifyKey(public).verify(message, signature)
    except nacl.exceptions.CryptoError:
        raise SignatureError(f"{signature_or_certificate} is invalid") from None


def _certificate_message(device: bytes, user: UserPublic) -> bytes:
    return _message(_CERTIFICATE, {"device": to_base64(device), "user": user.to_json()})


def _message(context: str, statement: JsonObject) -> bytes:
    return f"lifeboat {context} {VERSION}\n".encode() + json_codec.encode_canonical(statement)
