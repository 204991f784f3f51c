"""Signed sequences: (agent, sequence, base, epoch, time, state digest) under the device key, which the user's key
certifies. The 24 words alone verify every state, on any machine."""

from __future__ import annotations

from enum import StrEnum

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import LEAF_BYTES, Sequence
from lifeboat_keys.pairs import device_key
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys

_CONTEXT = "sequence"


class SignatureVerdict(StrEnum):
    SIGNED = "signed"
    """By a device of the trusted user, under a key that is or was the user's."""
    UNSIGNED = "unsigned"
    """No signature at all: a foreign state."""
    UNKNOWN_SIGNER = "unknown_signer"
    """The signature is whole, but without a trusted key it only says that somebody made it."""


def sign_sequence(sequence: Sequence, device: DeviceKey) -> JsonObject:
    """The signature document of a sequence (see `device_key`). Raises ValueError when its digest is not known."""
    if len(sequence.digest) != LEAF_BYTES:
        raise ValueError("only a state with a digest can be signed")
    return device.testify(_CONTEXT, _statement(sequence))


def verify_sequence(sequence: Sequence, trusted: TrustedKeys | None) -> SignatureVerdict:
    """Hold a sequence against its signature.

    Raises SignatureError for a forged or changed one, SignedByAnother for one under another user's key. That the
    state has this digest is for `lifeboat_alf.states.merkle.state_digest` to show.
    """
    if sequence.signature is None:
        return SignatureVerdict.UNSIGNED
    device_key.check_testimony(sequence.signature, _CONTEXT, _statement(sequence), trusted)
    return SignatureVerdict.UNKNOWN_SIGNER if trusted is None else SignatureVerdict.SIGNED


def _statement(sequence: Sequence) -> JsonObject:
    return {
        "agent": sequence.agent_id,
        "sequence": sequence.number,
        "base": sequence.base,
        "epoch": sequence.epoch,
        "time": sequence.time,
        "digest": sequence.digest.hex(),
    }
