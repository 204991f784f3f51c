"""Sign sequences: (agent, sequence, base, epoch, time, state digest) under the device key, which the user's key
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
    """Result of checking a sequence's signature."""

    SIGNED = "signed"
    """Signed by a device of the trusted user, under a current or former key of the user."""
    UNSIGNED = "unsigned"
    """Without a signature: a foreign state."""
    UNKNOWN_SIGNER = "unknown_signer"
    """The signature is valid, but without a trusted key it proves nothing about the signer."""


def sign_sequence(sequence: Sequence, device: DeviceKey) -> JsonObject:
    """Return the signature document of a sequence (see `device_key`). Raises ValueError when its digest is unknown."""
    if len(sequence.digest) != LEAF_BYTES:
        raise ValueError("only a state with a digest can be signed")
    return device.testify(_CONTEXT, _statement(sequence))


def verify_sequence(sequence: Sequence, trusted: TrustedKeys | None) -> SignatureVerdict:
    """Check the signature of a sequence.

    Raises SignatureError for a forged or changed one, SignedByAnother for another user's key. Whether the state has
    this digest is checked by `lifeboat_alf.states.merkle.state_digest`.
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
