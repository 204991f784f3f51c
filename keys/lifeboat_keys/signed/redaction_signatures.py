"""Sign and verify redactions. The device key of the machine that asked for the purge signs, and the user's key
certifies it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.redaction.redactions import Redaction, Redactions
from lifeboat_keys.pairs import device_key
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserPublic

_CONTEXT = "redaction"


def sign_redaction(redaction: Redaction, device: DeviceKey) -> Redaction:
    """Return the redaction with its signature."""
    return replace(redaction, signature=device.testify(_CONTEXT, _statement(redaction)))


def verify_redaction(redaction: Redaction, trusted: TrustedKeys | None) -> UserPublic:
    """Check the signature and return the key of the user who signed.

    Raises SignatureError for a forged, changed or unsigned redaction, SignedByAnother when the signer is not `trusted`.
    Without `trusted` only consistency is checked.
    """
    if redaction.signature is None:
        raise SignatureError(f"the purge {redaction.id} is not signed")
    return device_key.check_testimony(redaction.signature, _CONTEXT, _statement(redaction), trusted)


def adopt_signatures(known: Redactions, others: Iterable[Redaction]) -> Redactions:
    """Return the known redactions with the signatures of the same redactions (id and digest) in `others`, because a
    list may have been signed again since a bundle was written. Returns `known` itself if nothing changes."""
    if not len(known):
        return known
    by_id: dict[str, Redaction] = {}
    for each in others:
        by_id.setdefault(each.id, each)
    if all(_newer(each, by_id) is each for each in known):
        return known
    certain = known.without_waiting()
    waiting = (_newer(each, by_id) for each in known if each.id not in certain)
    return Redactions((_newer(each, by_id) for each in certain), waiting=waiting)


def _newer(redaction: Redaction, by_id: Mapping[str, Redaction]) -> Redaction:
    found = by_id.get(redaction.id)
    if found is None or found.digest != redaction.digest or found.signature == redaction.signature:
        return redaction
    return found


def _statement(redaction: Redaction) -> JsonObject:
    return {"agent": redaction.agent_id, "id": redaction.id, "digest": redaction.digest.hex()}
