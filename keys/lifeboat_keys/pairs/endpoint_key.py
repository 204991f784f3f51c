"""The key of an endpoint: an Ed25519 pair with which it signs receipts of purges, and what it gives away in formats of
other systems; what it signs says by its first bytes which of them it is. Its public half is told to everybody who asks;
whoever replicates to the endpoint remembers it at first sight.

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
"""An array of four that begins with this text."""
_FIELDS = {"version", "algorithm", "endpoint", "signature"}


class EndpointKey:
    """An endpoint's key. Nothing secret shows in `repr`."""

    __slots__ = ("_signing",)

    def __init__(self, secret: bytes) -> None:
        """Raises ValueError unless there are 32 bytes."""
        self._signing = nacl.signing.SigningKey(secret)

    @classmethod
    def generate(cls) -> EndpointKey:
        return cls(os.urandom(SECRET_BYTES))

    @classmethod
    def load(cls, folder: Path, files: FileOperations) -> EndpointKey:
        """The key in a folder (0600, made at its first use). Raises KeysError: others can read it, or it is damaged."""
        kept = KeyFiles(folder, files)
        with kept.locked():
            document = kept.read(FILE)
            if document is None:
                document = cls.generate().to_document()
                kept.write_once(FILE, document)
        return cls.of_document(document)

    @classmethod
    def of_document(cls, document: JsonObject) -> EndpointKey:
        """Raises KeyDamaged."""
        try:
            if document.get("kind") != _KIND or document.get("version") != VERSION:
                raise ValueError("unknown kind or version")
            return cls(from_base64(document.get("secret"), SECRET_BYTES))
        except ValueError as error:
            raise KeyDamaged(f"{FILE} does not hold an endpoint's key: {error}") from None

    def to_document(self) -> JsonObject:
        """With the secret, for a private file."""
        return {"kind": _KIND, "version": VERSION, "secret": to_base64(bytes(self._signing))}

    @property
    def public(self) -> bytes:
        """32 bytes."""
        return bytes(self._signing.verify_key)

    def sign(self, context: str, statement: JsonObject) -> JsonObject:
        """Sign a statement; the context keeps a signature of one kind from passing as another."""
        return {
            "version": VERSION,
            "algorithm": ALGORITHM,
            "endpoint": to_base64(self.public),
            "signature": to_base64(self._signing.sign(_message(context, statement)).signature),
        }

    def sign_structure(self, structure: bytes) -> bytes:
        """Sign a COSE Sig_structure (RFC 9052 §4.4) of one signer, 64 bytes. Nothing else begins as one does, so that
        no signature of this kind passes as a receipt's. Raises ValueError for what does not."""
        if not structure.startswith(_COSE):
            raise ValueError("this is no structure that COSE signs")
        return self._signing.sign(structure).signature

    def __repr__(self) -> str:
        return f"EndpointKey({self.public.hex()[:16]})"


def public_of(text: Any) -> bytes:
    """A public half as an endpoint tells it (base64). Raises ValueError."""
    return from_base64(text, PUBLIC_BYTES)


def check_endpoint_signature(signature: Any, context: str, statement: JsonObject, pinned: bytes | None) -> bytes:
    """The public half under which a statement was signed.

    Raises SignedByAnother when it is not the `pinned` one, SignatureError when the signature does not hold. Without
    `pinned` only its consistency is known, which anybody can make.
    """
    try:
        public, signed = _fields(signature)
    except ValueError as error:
        raise SignatureError(f"the signature is not well formed: {error}") from None
    if pinned is not None and public != pinned:
        raise SignedByAnother("signed by another endpoint than the one that was remembered")
    try:
        nacl.signing.VerifyKey(public).verify(_message(context, statement), signed)
    except nacl.exceptions.CryptoError:
        raise SignatureError("the signature does not hold") from None
    return public


def _fields(signature: Any) -> tuple[bytes, bytes]:
    if not isinstance(signature, dict) or set(signature) != _FIELDS:
        raise ValueError("not the fields of an endpoint's signature")
    if type(signature["version"]) is not int or signature["version"] != VERSION or signature["algorithm"] != ALGORITHM:
        raise ValueError("unknown version or algorithm")
    return from_base64(signature["endpoint"], PUBLIC_BYTES), from_base64(signature["signature"], SIGNATURE_BYTES)


def _message(context: str, statement: JsonObject) -> bytes:
    return f"lifeboat endpoint {context} {VERSION}\n".encode() + json_codec.encode_canonical(statement)
