"""Signed sequences: (agent, sequence, base, epoch, time, state digest) under the device key, which the user's key
certifies. The 24 words alone verify every state, on any machine."""

from __future__ import annotations

from enum import StrEnum

from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.state import LEAF_BYTES, Sequence
from lifeboat_keys import device_key
from lifeboat_keys.device_key import DeviceKey
from lifeboat_keys.trusted import Trusted

_CONTEXT = "sequence"


class Verdict(StrEnum):
    SIGNED = "signed"
    """By a device of the trusted user, under a key that is or was the user's."""
    UNSIGNED = "unsigned"
    """No signature at all: a foreign state."""
    UNKNOWN_SIGNER = "unknown_signer"
    """The signature is whole, but without a trusted key it only says that somebody made it."""


def sign(sequence: Sequence, device: DeviceKey) -> JsonObject:
    """The signature document of a sequence (see `device_key`). Raises ValueError when its digest is not known."""
    if len(sequence.digest) != LEAF_BYTES:
        raise ValueError("only a state with a digest can be signed")
    return device.testify(_CONTEXT, _statement(sequence))


def verify(sequence: Sequence, trusted: Trusted | None) -> Verdict:
    """Hold a sequence against its signature.

    Raises SignatureError for a forged or changed one, SignedByAnother for one under another user's key. That the
    state has this digest is for `lifeboat_alf.merkle.state_digest` to show.
    """
    if sequence.signature is None:
        return Verdict.UNSIGNED
    device_key.check(sequence.signature, _CONTEXT, _statement(sequence), trusted)
    return Verdict.UNKNOWN_SIGNER if trusted is None else Verdict.SIGNED


def _statement(sequence: Sequence) -> JsonObject:
    return {
        "agent": sequence.agent_id,
        "sequence": sequence.number,
        "base": sequence.base,
        "epoch": sequence.epoch,
        "time": sequence.time,
        "digest": sequence.digest.hex(),
    }
