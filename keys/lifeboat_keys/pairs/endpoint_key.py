"""The key of an endpoint: an Ed25519 pair that signs purge receipts and exports in formats of other systems.

The first bytes of what it signs tell the two apart. The public half is public; clients that replicate to the endpoint
remember it on first contact.

    {"version": 1, "algorithm": "ed25519", "endpoint": base64 of the public half, "signature": base64}
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nacl.exceptions
import nacl.signing

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_keys.errors import KeyDamaged, SignedByAnother
from lifeboat_keys.home.key_files import KeyFiles
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64

FILE = "receipt-key.json"
VERSION = 1
ALGORITHM = "ed25519"
SECRET_BYTES = PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64
_KIND = "lifeboat endpoint key"
_COSE = b"\x84\x6aSignature1"
"""CBOR: an array of four that begins with this text."""
_FIELDS = {"version", "algorithm", "endpoint", "signature"}


class EndpointKey:
    """An endpoint's key. `repr` shows nothing secret."""

    __slots__ = ("_signing",)

    def __init__(self, secret: bytes) -> None:
        """Take 32 secret bytes. Raises ValueError for any other length."""
        self._signing = nacl.signing.SigningKey(secret)

    @classmethod
    def generate(cls) -> EndpointKey:
        return cls(os.urandom(SECRET_BYTES))

    @classmethod
    def load(cls, folder: Path, files: FileOperations) -> EndpointKey:
        """Return the key in a folder (0600); make it on first use. Raises KeysError when others can read it or it is
        damaged."""
        kept = KeyFiles(folder, files)
        with kept.locked():
            document = kept.read(FILE)
            if document is None:
                document = cls.generate().to_document()
                kept.write_once(FILE, document)
        return cls.of_document(document)

    @classmethod
    def of_document(cls, document: JsonObject) -> EndpointKey:
        """Decode a key. Raises KeyDamaged."""
        try:
            if document.get("kind") != _KIND or document.get("version") != VERSION:
                raise ValueError("the kind or the version is unknown")
            return cls(from_base64(document.get("secret"), SECRET_BYTES))
        except ValueError as error:
            raise KeyDamaged(f"{FILE} does not contain the key of an endpoint: {error}") from None

    def to_document(self) -> JsonObject:
        """Return the document with the secret, for a private file."""
        return {"kind": _KIND, "version": VERSION, "secret": to_base64(bytes(self._signing))}

    @property
    def public(self) -> bytes:
        """Return the public half, 32 bytes."""
        return bytes(self._signing.verify_key)

    def sign(self, context: str, statement: JsonObject) -> JsonObject:
        """Sign a statement. The context prevents a signature of one kind from passing as another."""
        return {
            "version": VERSION,
            "algorithm": ALGORITHM,
            "endpoint": to_base64(self.public),
            "signature": to_base64(self._signing.sign(_message(context, statement)).signature),
        }

    def sign_structure(self, structure: bytes) -> bytes:
        """Sign a COSE Sig_structure (RFC 9052 §4.4) of one signer; return 64 bytes.

        Nothing else begins like one, so such a signature cannot pass as a receipt's. Raises ValueError for other bytes.
        """
        if not structure.startswith(_COSE):
            raise ValueError("the data is not a COSE structure for a signature")
        return self._signing.sign(structure).signature

    def __repr__(self) -> str:
        return f"EndpointKey({self.public.hex()[:16]})"


def public_of(text: Any) -> bytes:
    """Decode a public half as an endpoint states it (base64). Raises ValueError."""
    return from_base64(text, PUBLIC_BYTES)


def check_endpoint_signature(signature: Any, context: str, statement: JsonObject, pinned: bytes | None) -> bytes:
    """Check a signature and return the public half that made it.

    Raises SignedByAnother when it is not the `pinned` one, SignatureError for an invalid signature. Without `pinned`
    only consistency is checked, which anyone can produce.
    """
    try:
        public, signed = _fields(signature)
    except ValueError as error:
        raise SignatureError(f"the format of the signature is invalid: {error}") from None
    if pinned is not None and public != pinned:
        raise SignedByAnother("the signature was made by another endpoint than the earlier signatures")
    try:
        nacl.signing.VerifyKey(public).verify(_message(context, statement), signed)
    except nacl.exceptions.CryptoError:
        raise SignatureError("the signature is invalid") from None
    return public


def _fields(signature: Any) -> tuple[bytes, bytes]:
    if not isinstance(signature, dict) or set(signature) != _FIELDS:
        raise ValueError("the fields are not those of an endpoint's signature")
    if type(signature["version"]) is not int or signature["version"] != VERSION or signature["algorithm"] != ALGORITHM:
        raise ValueError("the version or the algorithm is unknown")
    return from_base64(signature["endpoint"], PUBLIC_BYTES), from_base64(signature["signature"], SIGNATURE_BYTES)


def _message(context: str, statement: JsonObject) -> bytes:
    return f"lifeboat endpoint {context} {VERSION}\n".encode() + json_codec.encode_canonical(statement)
