"""Seal credentials (ALF §3.4): each under a fresh content key, which is sealed to the agent's public key.

    encrypted_payload   base64: XChaCha20-Poly1305 over the padded payload, without the nonce
    encryption          algorithm    "xchacha20-poly1305"
                        kdf          "x25519-sealed-box": the content key is random and wrapped, not derived
                        nonce        base64, 24 bytes
                        padding      "iso7816-4/256": so that the size tells nothing of a short secret's length
                        key_id       the user's key that wraps the agent's secret half
                        recipient    which pair of the agent opens it (see `agent_pair.pair_id`)
                        wrapped_key  base64: content key and digest of the binding, sealed to the agent's public key

The *binding* is agent, credential, service, type and key id. It is the cipher's associated data, and its digest is
stored beside the content key, to tell a credential moved under another name from a changed ciphertext.
Sealing needs no secret. An attacker who can write credentials can replace them, which the state's signature reveals.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

import nacl.bindings
import nacl.exceptions
import nacl.public
import nacl.secret

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.errors import UnknownSealing, UnsealError
from lifeboat_keys.pairs.agent_pair import pair_id
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64

ALGORITHM = "xchacha20-poly1305"
KDF = "x25519-sealed-box"
PADDING = "iso7816-4/256"
PADDING_BYTES = 256
_KEY_BYTES = nacl.secret.Aead.KEY_SIZE
_NONCE_BYTES = nacl.secret.Aead.NONCE_SIZE
_TAG_BYTES = nacl.secret.Aead.MACBYTES
_DIGEST_BYTES = hashlib.sha256().digest_size
_WRAPPED_BYTES = nacl.bindings.crypto_box_SEALBYTES + _KEY_BYTES + _DIGEST_BYTES
_OWN_FIELDS = ("wrapped_key", "recipient", "padding")
"""Header fields that only this program writes."""
_CONTEXT = b"lifeboat credential 1\n"


def seal_credential(
    payload: bytes,
    *,
    agent_public: bytes,
    agent_id: str,
    credential_id: str,
    service: str,
    credential_type: str,
    key_id: str,
) -> JsonObject:
    """Return the fields `encrypted_payload` and `encryption` of a credential record. Every call gives other bytes."""
    binding = _binding(agent_id, credential_id, service, credential_type, key_id)
    content_key, nonce = os.urandom(_KEY_BYTES), os.urandom(_NONCE_BYTES)
    padded = nacl.bindings.sodium_pad(payload, PADDING_BYTES)
    sealed = nacl.secret.Aead(content_key).encrypt(padded, binding, nonce)
    wrapped = nacl.public.SealedBox(nacl.public.PublicKey(agent_public)).encrypt(content_key + _digest(binding))
    encryption = {
        "algorithm": ALGORITHM,
        "kdf": KDF,
        "nonce": to_base64(nonce),
        "padding": PADDING,
        "key_id": key_id,
        "recipient": pair_id(agent_public),
        "wrapped_key": to_base64(wrapped),
    }
    return {"encrypted_payload": to_base64(sealed.ciphertext), "encryption": encryption}


def unseal_credential(credential: JsonObject, agent_secret: bytes) -> bytes:
    """Return the payload of a credential record.

    Raises UnknownSealing (another program's, or UnknownSealing.ALGORITHM_REFUSED: ours with another algorithm in its
    header), UnsealError.WRONG_AGENT_KEY (sealed to another pair), UnsealError.WRONG_BINDING (id, agent, service, type
    or key id differ from those it was sealed with), UnsealError.PAYLOAD_CHANGED (or UnsealError.PAYLOAD_TRUNCATED,
    where the lengths show it).
    """
    ciphertext, nonce, wrapped = _sealed_parts(credential)
    private = nacl.public.PrivateKey(agent_secret)
    if credential["encryption"].get("recipient") != pair_id(bytes(private.public_key)):
        raise UnsealError.WRONG_AGENT_KEY(f"the credential {_name(credential)} is sealed for another key")
    content_key, bound = _open_wrapped(credential, wrapped, private)
    binding = _binding_of(credential)
    if _digest(binding) != bound:
        raise UnsealError.WRONG_BINDING(
            f"the id, agent, service or type of the credential {_name(credential)} was changed after it was sealed"
        )
    try:
        padded = nacl.secret.Aead(content_key).decrypt(ciphertext, binding, nonce)
        return nacl.bindings.sodium_unpad(padded, PADDING_BYTES)
    except (nacl.exceptions.CryptoError, ValueError):
        raise UnsealError.PAYLOAD_CHANGED(f"the ciphertext of the credential {_name(credential)} was changed") from None


def check_form(credential: JsonObject) -> None:
    """Check without any key that a record has the form in which this program seals.

    Raises UnknownSealing for an unsealed record or one of another program, as the argon2id header of ALF §3.4.2 says;
    UnknownSealing.ALGORITHM_REFUSED for a header of this program that was changed to name something weaker or unknown.
    """
    encryption = credential.get("encryption")
    if not isinstance(encryption, dict) or not any(name in encryption for name in _OWN_FIELDS):
        raise UnknownSealing(f"the credential {_name(credential)} was not sealed by Lifeboat")
    for name, value in (("algorithm", ALGORITHM), ("kdf", KDF), ("padding", PADDING)):
        if encryption.get(name) != value:
            raise UnknownSealing.ALGORITHM_REFUSED(
                f"the credential {_name(credential)} states {_shown(encryption.get(name))} as its "
                f"{name}, but Lifeboat uses only {value}"
            )


def _sealed_parts(credential: JsonObject) -> tuple[bytes, bytes, bytes]:
    check_form(credential)
    encryption = credential["encryption"]
    ciphertext = _bytes_of(credential, "encrypted_payload", credential.get("encrypted_payload"))
    nonce = _bytes_of(credential, "nonce", encryption.get("nonce"))
    wrapped = _bytes_of(credential, "wrapped key", encryption.get("wrapped_key"))
    is_whole = len(ciphertext) > _TAG_BYTES and (len(ciphertext) - _TAG_BYTES) % PADDING_BYTES == 0
    for name, whole in (
        ("payload", is_whole),
        ("nonce", len(nonce) == _NONCE_BYTES),
        ("wrapped key", len(wrapped) == _WRAPPED_BYTES),
    ):
        if not whole:
            raise UnsealError.PAYLOAD_TRUNCATED(f"the {name} of the credential {_name(credential)} is incomplete")
    return ciphertext, nonce, wrapped


def _bytes_of(credential: JsonObject, name: str, text: Any) -> bytes:
    if not text or (isinstance(text, str) and len(text) % 4):
        raise UnsealError.PAYLOAD_TRUNCATED(f"the {name} of the credential {_name(credential)} is incomplete")
    try:
        return from_base64(text)
    except ValueError as error:
        raise UnsealError.PAYLOAD_CHANGED(
            f"the {name} of the credential {_name(credential)} is damaged: {error}"
        ) from None


def _shown(value: Any) -> str:
    """Return a header's value for a message. It is untrusted."""
    return repr(value) if isinstance(value, str) and len(value) <= 40 else "something else"


def _open_wrapped(credential: JsonObject, wrapped: bytes, private: nacl.public.PrivateKey) -> tuple[bytes, bytes]:
    try:
        opened = nacl.public.SealedBox(private).decrypt(wrapped)
    except (nacl.exceptions.CryptoError, ValueError, nacl.exceptions.TypeError):
        raise UnsealError.PAYLOAD_CHANGED(
            f"the wrapped key of the credential {_name(credential)} was changed"
        ) from None
    return opened[:_KEY_BYTES], opened[_KEY_BYTES:]


def _binding_of(credential: JsonObject) -> bytes:
    names = ("agent_id", "id", "service", "credential_type")
    fields = [*(credential.get(name) for name in names), credential["encryption"].get("key_id")]
    if not all(isinstance(field, str) for field in fields):
        raise UnsealError.WRONG_BINDING(
            f"a field that was sealed together with the credential {_name(credential)} is missing"
        )
    return _binding(*fields)


def _binding(agent_id: str, credential_id: str, service: str, credential_type: str, key_id: str) -> bytes:
    fields = {
        "agent": agent_id,
        "credential": credential_id,
        "service": service,
        "type": credential_type,
        "key_id": key_id,
    }
    return _CONTEXT + json_codec.encode_canonical(fields)


def _digest(binding: bytes) -> bytes:
    return hashlib.sha256(binding).digest()


def _name(credential: JsonObject) -> str:
    return str(credential.get("label") or credential.get("id"))
