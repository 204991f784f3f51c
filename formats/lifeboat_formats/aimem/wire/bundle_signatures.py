"""Signatures of bundles: a detached COSE_Sign1 (RFC 9052) over the canonical bytes without checksum (AIMEM §5.3).

A signature is sent in the header `AIMEM-Signature`, or stored beside the bundle in a file with the bundle's whole name
and `.sig`. The draft does not define the encoding of either. We write base64 of the tagged structure into the header
and its bytes into the file, and also read base64url, the `:...:` of RFC 8941, and text in the file. We sign with
Ed25519 only and also verify ES256. The trusted key decides the algorithm: a header that names another one is refused.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeGuard

from lifeboat_formats.interchange.contract import WriterIdentity
from lifeboat_formats.interchange.errors import ExtraMissing, SourceRefused
from lifeboat_keys.installers import extra_command

HEADER = "AIMEM-Signature"
SUFFIX = ".sig"
KEY_TYPE = "application/cose-key"
KEY_SET_TYPE = "application/cose-key-set"

INVALID = "signature_invalid"
UNKNOWN_KEY = "signature_unknown_key"
SKIPPED = "signature_check_skipped"

EDDSA, ES256 = -8, -7
_KTY, _KID, _ALG, _CRV, _X, _Y = 1, 2, 3, -1, -2, -3
_OKP, _EC2 = 1, 2
_ED25519, _P256 = 6, 1
_HEADER_ALG, _HEADER_CRIT, _HEADER_KID = 1, 2, 4
_SIGN1 = 18
_TAGGED = 0xD2
"""The first byte of every tagged COSE_Sign1."""
_LARGEST_ENVELOPE = 16 * 1024
"""Largest signature in bytes, besides an embedded payload."""
_LARGEST_KEYS = 256 * 1024
_KID_BYTES = 8
_MOST_KEYS = 256


class SignatureRefused(SourceRefused):
    """The signature is not valid for a trusted key. `format_code` is INVALID or UNKNOWN_KEY, `status` the HTTP
    status."""

    status = 422
    code = "signature_refused"
    title = "The signature does not prove the origin of the bundle"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that verifies signatures. `kid` is computed from the key, not from another name."""

    algorithm: int
    x: bytes
    y: bytes = b""

    @property
    def kid(self) -> bytes:
        """The first 8 bytes of SHA-256 over the key as a deterministic COSE_Key (RFC 9679)."""
        return hashlib.sha256(_encoded(self._parameters())).digest()[:_KID_BYTES]

    def to_cose(self) -> dict[int, Any]:
        """Return the key as a COSE_Key with its key id and algorithm."""
        return {**self._parameters(), _KID: self.kid, _ALG: self.algorithm}

    def _parameters(self) -> dict[int, Any]:
        if self.algorithm == EDDSA:
            return {_KTY: _OKP, _CRV: _ED25519, _X: self.x}
        return {_KTY: _EC2, _CRV: _P256, _X: self.x, _Y: self.y}


def ed25519_key(public: bytes) -> PublicKey:
    """Return the key with the given 32 public bytes."""
    return PublicKey(EDDSA, public)


# Making ---------------------------------------------------------------------------------------------------------------


def sign_detached(payload: Iterable[bytes], identity: WriterIdentity) -> bytes:
    """Return a tagged COSE_Sign1 without its payload. The payload is the canonical bytes of a bundle in pieces; Ed25519
    reads it twice, so it is held in memory once.

    Raises ExtraMissing, ValueError for an identity that does not sign.
    """
    if identity.sign is None or not identity.public:
        raise ValueError("the key of this identity cannot sign")
    cwt, cbor2 = _libraries()
    key = ed25519_key(identity.public)
    protected = {_HEADER_ALG: EDDSA, _HEADER_KID: key.kid}
    # cwt cannot sign detached. Removing the payload from the finished structure leaves the signature valid.
    signing = _signing_key(key, identity)
    maker = cwt.COSE.new(alg_auto_inclusion=False, kid_auto_inclusion=False)
    made = maker.encode_and_sign(b"".join(payload), signing, protected=protected, out="cbor2/CBORTag")
    made.value[2] = None
    return bytes(cbor2.dumps(made))


def encode_header(signature: bytes) -> str:
    """Encode a signature for the header `AIMEM-Signature`."""
    return base64.b64encode(signature).decode()


def public_document(keys: Iterable[PublicKey]) -> tuple[bytes, str]:
    """Return the answer of `/.well-known/aimem-pubkey` and its media type: a COSE_Key for one key, else a COSE_KeySet
    with the newest first. Raises ExtraMissing."""
    made = [key.to_cose() for key in keys]
    if len(made) == 1:
        return _encoded(made[0]), KEY_TYPE
    return _encoded(made), KEY_SET_TYPE


# Reading --------------------------------------------------------------------------------------------------------------


def decode_header(text: str) -> bytes:
    """Decode the signature in a header. Raises SignatureRefused."""
    found = text.strip()
    if len(found) >= 2 and found[0] == found[-1] == ":":
        found = found[1:-1]
    return _unarmoured(found, HEADER)


def decode_signature_file(data: bytes, where: str = "") -> bytes:
    """Decode the signature in a file, stored as bytes or as text. Raises SignatureRefused."""
    if data[:1] == bytes([_TAGGED]):
        return data
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        raise _invalid("the file contains no COSE_Sign1 signature", where) from None
    return _unarmoured("".join(text.split()), where)


def read_keys(data: bytes, where: str = "") -> list[PublicKey]:
    """Return the keys in a COSE_Key or COSE_KeySet, given as bytes or as text. Keys of other kinds are ignored. Raises
    SignatureRefused if no usable key remains, ExtraMissing."""
    if len(data) > _LARGEST_KEYS:
        raise _invalid("the key file is too large", where)
    found = _decoded(data)
    if not isinstance(found, dict | list):
        found = _decoded(_unarmoured("".join(data.decode("ascii", "replace").split()), where))
    listed = found if isinstance(found, list) else [found]
    keys = [key for each in listed[:_MOST_KEYS] if (key := _public_key(each)) is not None]
    if not keys:
        raise _invalid("the key file contains no Ed25519 or P-256 key", where)
    return keys


def verify_detached(signature: bytes, payload: Iterable[bytes], keys: Iterable[PublicKey]) -> PublicKey:
    """Verify a signature and return the trusted key that made it. A payload inside of the signature must equal the
    given one.

    Raises SignatureRefused: INVALID for a signature that is malformed, of another algorithm or wrong, UNKNOWN_KEY if it
    names none of the keys; ExtraMissing.
    """
    cwt, cbor2 = _libraries()
    whole = b"".join(payload)
    if len(signature) > len(whole) + _LARGEST_ENVELOPE:
        raise _invalid("the signature data is larger than a signature can be")
    protected, unprotected, inside, signed = _parts(signature)
    headers = _protected_headers(protected)
    if inside is not None and inside != whole:
        raise _invalid("the signature belongs to other data than this bundle")
    detached = cbor2.dumps(cbor2.CBORTag(_SIGN1, [protected, {}, None, signed]))
    named = headers.get(_HEADER_KID, unprotected.get(_HEADER_KID))
    for key in _candidates(headers[_HEADER_ALG], named, keys):
        if _holds(cwt, detached, whole, key, headers.get(_HEADER_KID)):
            return key
    raise _invalid("the signature does not match the bundle and the trusted keys")


def _candidates(algorithm: int, kid: Any, keys: Iterable[PublicKey]) -> list[PublicKey]:
    """Return the trusted keys that may have made the signature. A known key id with another algorithm is refused,
    because that does not happen by accident. Without a key id every key is a candidate."""
    named = [key for key in keys if kid is None or key.kid == kid]
    if not named:
        raise SignatureRefused("the bundle is signed with a key that is not in --trusted-key", format_code=UNKNOWN_KEY)
    found = [key for key in named if key.algorithm == algorithm]
    if not found:
        raise _invalid("the algorithm of the signature does not match the key")
    return found


def _holds(cwt: Any, signature: bytes, payload: bytes, key: PublicKey, kid: Any) -> bool:
    """Return whether a key verifies the signature. `kid` is the key id in the protected headers, which cwt compares
    with the key's."""
    named = {_KID: kid} if isinstance(kid, bytes) else {}
    try:
        checking = cwt.COSEKey.new({**key.to_cose(), _KID: key.kid, **named})
        cwt.COSE.new().decode(signature, checking, detached_payload=payload)
    except (cwt.VerifyError, cwt.DecodeError, ValueError):
        return False
    return True


def _parts(signature: bytes) -> tuple[bytes, dict[Any, Any], bytes | None, bytes]:
    """Return protected headers as bytes, unprotected headers, payload and signature."""
    cbor2 = _libraries()[1]
    found = _decoded(signature)
    if not isinstance(found, cbor2.CBORTag) or found.tag != _SIGN1:
        raise _invalid("the data is not a tagged COSE_Sign1 structure")
    value = found.value
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise _invalid("the data is not a COSE_Sign1 structure")
    protected, unprotected, inside, signed = value
    fits = isinstance(protected, bytes) and isinstance(unprotected, dict) and isinstance(signed, bytes)
    if not fits or not (inside is None or isinstance(inside, bytes)):
        raise _invalid("the data is not a COSE_Sign1 structure")
    return protected, unprotected, inside, signed


def _protected_headers(protected: bytes) -> dict[Any, Any]:
    headers = _decoded(protected)
    if not isinstance(headers, dict):
        raise _invalid("the protected headers of the signature are not valid")
    algorithm = headers.get(_HEADER_ALG)
    if type(algorithm) is not int or algorithm not in (EDDSA, ES256):
        raise _invalid("the algorithm of the signature is neither EdDSA nor ES256")
    if _HEADER_CRIT in headers:
        raise _invalid("the signature requires an extension that Lifeboat does not support")
    return headers


def _public_key(document: Any) -> PublicKey | None:
    """Return a key, or None if it is of another kind or for another purpose."""
    if not isinstance(document, dict):
        return None
    x, y, stated = document.get(_X), document.get(_Y), document.get(_ALG)
    kind = (document.get(_KTY), document.get(_CRV))
    if kind == (_OKP, _ED25519) and _is_coordinate(x) and stated in (None, EDDSA):
        return PublicKey(EDDSA, x)
    if kind == (_EC2, _P256) and _is_coordinate(x) and _is_coordinate(y) and stated in (None, ES256):
        return PublicKey(ES256, x, y)
    return None


def _is_coordinate(value: Any) -> TypeGuard[bytes]:
    return isinstance(value, bytes) and len(value) == 32


# How it is spelt ------------------------------------------------------------------------------------------------------


def _unarmoured(text: str, where: str) -> bytes:
    """Decode base64 of either alphabet, with or without padding."""
    plain = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise _invalid("the data is not valid base64", where) from None


def _invalid(what: str, where: str = "") -> SignatureRefused:
    return SignatureRefused(f"the signature is not usable: {what}", format_code=INVALID, where=where)


def _encoded(value: Any) -> bytes:
    return bytes(_libraries()[1].dumps(value, canonical=True))


def _decoded(data: bytes) -> Any:
    """Decode a CBOR value that spans all bytes, or return None."""
    cbor2 = _libraries()[1]
    stream = io.BytesIO(data)
    try:
        found = cbor2.load(stream)
    except (cbor2.CBORError, ValueError, TypeError, OverflowError, RecursionError, MemoryError, EOFError):
        return None
    return found if stream.tell() == len(data) else None


def _signing_key(key: PublicKey, identity: WriterIdentity) -> Any:
    """Return a key for cwt that lets the identity sign, so that the secret key stays where it is."""
    from cwt.cose_key_interface import COSEKeyInterface

    class IdentityKey(COSEKeyInterface):
        def sign(self, msg: bytes) -> bytes:
            return bytes(identity.sign(msg))

    return IdentityKey({_KTY: _OKP, _KID: key.kid, _ALG: EDDSA, 4: [1]})


def _libraries() -> tuple[Any, Any]:
    """Import cwt and its CBOR library, an optional dependency for signatures."""
    try:
        import cbor2
        import cwt
    except ImportError:
        raise ExtraMissing("signatures of AIMEM bundles need the library cwt", fix=extra_command("attest")) from None
    return cwt, cbor2
