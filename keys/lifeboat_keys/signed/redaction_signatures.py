"""Signed redactions: under the device key of the machine that asked for the purge, which the user's key certifies."""

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
    """The redaction with its signature."""
    return replace(redaction, signature=device.testify(_CONTEXT, _statement(redaction)))


def verify_redaction(redaction: Redaction, trusted: TrustedKeys | None) -> UserPublic:
    """Under whose key it was signed.

    Raises SignatureError for one that is forged, changed or not signed, SignedByAnother when it is nobody `trusted`.
    Without `trusted` only its consistency is known.
    """
    if redaction.signature is None:
        raise SignatureError(f"the purge {redaction.id} is not signed")
    return device_key.check_testimony(redaction.signature, _CONTEXT, _statement(redaction), trusted)


def adopt_signatures(known: Redactions, others: Iterable[Redaction]) -> Redactions:
    """The known ones, each under the signature that the first of the same id and digest among others has: a list may
    have been signed anew since a bundle was written. `known` itself where that changes nothing."""
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
