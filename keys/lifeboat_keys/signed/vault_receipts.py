"""Vault receipts of purges: the statement of one vault that one redaction is complete there.

The receipt of this user's own vault (the home, a folder) is signed by the device that worked on it, whose key the
user's key certifies. An endpoint signs with its own key (`endpoint_key`); clients that replicate to it remember the
public half on first contact.

    {"version": 1, "type": "vault receipt", "vault_id", "kind", "name", "agent_id", "redaction_id",
     "redaction_digest": hex, "applied": count, "leaves": count, "objects": count, "remaining": count,
     "head": {"number", "digest": hex} | null, "audit": {"number", "hash": hex} | null, "completed_at": timestamp,
     "found": {what: count...}, "signer": "device" | "endpoint", "signature": {...}}

Everything but the signature is signed, including the signer's kind. It contains no content and nothing derived from
it: only counts, places in chains, and digests over salted leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_keys.errors import ReceiptInvalid
from lifeboat_keys.pairs import device_key
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.endpoint_key import EndpointKey
from lifeboat_keys.pairs.endpoint_key import check_endpoint_signature as check_endpoint
from lifeboat_keys.pairs.trusted_keys import TrustedKeys

__all__ = [
    "EndpointKey",
    "ReceiptAudit",
    "ReceiptHead",
    "ReceiptVerdict",
    "VaultReceipt",
    "decode_vault_receipt",
    "sign_with_device",
    "verify_vault_receipt",
]

VERSION = 1
TYPE = "vault receipt"
DEVICE, ENDPOINT = "device", "endpoint"
LONGEST_TEXT = 200
"""Maximum characters of a name."""
_CONTEXT, _PURGE_CONTEXT = "vault receipt", "purge receipt"
_TESTIMONY = {"version", "algorithm", "device", "user", "certificate", "signature"}
_USER = {"key_id", "box", "sign"}
Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Signer = Annotated[str, msgspec.Meta(pattern=rf"^({DEVICE}|{ENDPOINT})\Z")]


@dataclass(frozen=True, slots=True)
class ReceiptHead:
    """The newest state of the vault when the receipt was made; `digest` in hexadecimal."""

    number: Count
    digest: Sha256


@dataclass(frozen=True, slots=True)
class ReceiptAudit:
    """The row of the vault's audit chain for the purge; `hash` in hexadecimal."""

    number: Count
    hash: Sha256


class ReceiptVerdict(StrEnum):
    """Result of checking a receipt's signature."""

    SIGNED = "signed"
    """Signed by a machine of the trusted user."""
    PINNED = "pinned"
    """Signed by the endpoint whose key was remembered."""
    UNKNOWN_SIGNER = "unknown_signer"
    """The signature is valid but its key is unknown here, so it proves nothing about the signer."""


@dataclass(frozen=True, slots=True)
class VaultReceipt:
    """The receipt of one vault (see the module). `vault_id` is the home's or the remote's own id, `kind` one word,
    `name` its owner's name for it.

    `applied` counts the redactions of this agent applied in the vault, including this one. `leaves` counts the named
    ones present, `objects` those that lost their bytes, `remaining` those that still hold old bytes (not 0: the receipt
    proves nothing). `found` counts what was searched again, and `hits` in it.
    """

    vault_id: Text
    kind: Text
    name: Text
    agent_id: Text
    redaction_id: Text
    redaction_digest: Sha256
    applied: Count
    leaves: Count
    objects: Count
    remaining: Count
    completed_at: Text
    head: ReceiptHead | None = None
    audit: ReceiptAudit | None = None
    found: Mapping[Text, Count] = field(default_factory=dict)
    signer: Signer = DEVICE
    signature: JsonObject | None = None

    def statement(self) -> JsonObject:
        """Return the signed part: the document without its signature."""
        return {
            "version": VERSION,
            "type": TYPE,
            "vault_id": self.vault_id,
            "kind": self.kind,
            "name": self.name,
            "agent_id": self.agent_id,
            "redaction_id": self.redaction_id,
            "redaction_digest": self.redaction_digest,
            "applied": self.applied,
            "leaves": self.leaves,
            "objects": self.objects,
            "remaining": self.remaining,
            "head": self.head and asdict(self.head),
            "audit": self.audit and asdict(self.audit),
            "completed_at": self.completed_at,
            "found": dict(self.found),
            "signer": self.signer,
        }

    def to_json(self) -> JsonObject:
        return {**self.statement(), "signature": self.signature}


# Signing --------------------------------------------------------------------------------------------------------


def sign_with_device(receipt: VaultReceipt, device: DeviceKey) -> VaultReceipt:
    """Sign the receipt of a vault that this machine worked on."""
    made = replace(receipt, signer=DEVICE)
    return replace(made, signature=device.testify(_CONTEXT, made.statement()))


def sign_with_endpoint(receipt: VaultReceipt, key: EndpointKey) -> VaultReceipt:
    """Sign the receipt of an endpoint with its own key."""
    made = replace(receipt, signer=ENDPOINT)
    return replace(made, signature=key.sign(_CONTEXT, made.statement()))


def verify_vault_receipt(
    receipt: VaultReceipt, *, trusted: TrustedKeys | None, endpoints: Mapping[str, bytes]
) -> ReceiptVerdict:
    """Check a receipt's signature. `endpoints` are the remembered public keys by vault id.

    Raises SignatureError for an unsigned, forged or changed receipt, SignedByAnother for the key of another user or of
    an endpoint other than the remembered one.
    """
    if receipt.signature is None:
        raise SignatureError(f"the receipt from {receipt.name} is not signed")
    pinned = endpoints.get(receipt.vault_id)
    if receipt.signer == ENDPOINT:
        check_endpoint(receipt.signature, _CONTEXT, receipt.statement(), pinned)
        return ReceiptVerdict.UNKNOWN_SIGNER if pinned is None else ReceiptVerdict.PINNED
    if pinned is not None:
        raise SignatureError(f"{receipt.name} signs its own receipts, but did not sign this receipt")
    return _check_device(receipt.signature, _CONTEXT, receipt.statement(), trusted)


def sign_purge(statement: JsonObject, device: DeviceKey) -> JsonObject:
    """Sign the receipt of a whole purge (see `lifeboat_core.purge`) after each change."""
    return device.testify(_PURGE_CONTEXT, statement)


def verify_purge(statement: JsonObject, signature: Any, trusted: TrustedKeys | None) -> ReceiptVerdict:
    """Check the signature on the receipt of a whole purge. Raises SignatureError, SignedByAnother."""
    if signature is None:
        raise SignatureError("the receipt is not signed")
    return _check_device(signature, _PURGE_CONTEXT, statement, trusted)


def _check_device(signature: Any, context: str, statement: JsonObject, trusted: TrustedKeys | None) -> ReceiptVerdict:
    """Check the signature of a receipt. It must have exactly the known fields, so that nothing can be added
    unnoticed."""
    if not _is_testimony(signature):
        raise SignatureError("the format of the signature is invalid: its fields are not those of a device's signature")
    device_key.check_testimony(signature, context, statement, trusted)
    return ReceiptVerdict.UNKNOWN_SIGNER if trusted is None else ReceiptVerdict.SIGNED


def _is_testimony(signature: Any) -> bool:
    if not isinstance(signature, dict) or set(signature) != _TESTIMONY:
        return False
    user = signature["user"]
    return isinstance(user, dict) and set(user) == _USER and type(signature["version"]) is int


# JSON -----------------------------------------------------------------------------------------------------------


def decode_vault_receipt(document: Any) -> VaultReceipt:
    """Decode a receipt from outside, with exactly the known fields, without checking its signature. Raises
    ReceiptInvalid."""
    try:
        made = msgspec.convert(document, VaultReceipt)
        times.parse_time(made.completed_at)
    except ValueError as error:  # a ValidationError is one
        raise ReceiptInvalid(f"the format of a vault's receipt is invalid: {error}") from None
    # Writing it again shows missing and unknown fields. True equals 1, so the version's type is checked as well.
    if made.to_json() != document or type(document["version"]) is not int:
        raise ReceiptInvalid("the format of a vault's receipt is invalid: its fields or its version are unknown")
    return made
