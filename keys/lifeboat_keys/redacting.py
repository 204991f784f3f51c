"""Signed redactions: under the device key of the machine that asked for the purge, which the user's key certifies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.redactions import Redaction
from lifeboat_keys import device_key
from lifeboat_keys.device_key import DeviceKey
from lifeboat_keys.trusted import Trusted
from lifeboat_keys.user_key import UserPublic

JsonObject = dict[str, Any]

_CONTEXT = "redaction"


def sign(redaction: Redaction, device: DeviceKey) -> Redaction:
    """The redaction with its signature."""
    return replace(redaction, signature=device.testify(_CONTEXT, _statement(redaction)))


def verify(redaction: Redaction, trusted: Trusted | None) -> UserPublic:
    """Under whose key it was signed.

    Raises SignatureError for one that is forged, changed or not signed, SignedByAnother when it is nobody `trusted`.
    Without `trusted` only its consistency is known.
    """
    if redaction.signature is None:
        raise SignatureError(f"the purge {redaction.id} is not signed")
    return device_key.check(redaction.signature, _CONTEXT, _statement(redaction), trusted)


def _statement(redaction: Redaction) -> JsonObject:
    return {"agent": redaction.agent_id, "id": redaction.id, "digest": redaction.digest.hex()}
