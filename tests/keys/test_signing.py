"""Signed sequences: the 24 words alone verify them, and no byte can be changed."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.states.agent_state import Sequence
from lifeboat_keys.errors import SignedByAnother
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_keys.signed.sequence_signatures import SignatureVerdict

AGENT = "01900000-0000-7000-8000-00000000000a"
KEY = UserKey(b"k" * 32)
TRUSTED = TrustedKeys(KEY.public)
DEVICE = DeviceKey.generate(KEY)


def _sequence(**fields: Any) -> Sequence:
    plain = Sequence(AGENT, 12, 11, 1, "2026-11-20T18:55:00.123Z", bytes(range(32)))
    return replace(plain, **fields)


def _signed(sequence: Sequence | None = None, device: DeviceKey = DEVICE) -> Sequence:
    sequence = sequence or _sequence()
    return replace(sequence, signature=sequence_signatures.sign_sequence(sequence, device))


def test_the_words_of_the_key_verify_what_the_device_signed() -> None:
    again = UserKey.from_words(KEY.words())
    assert sequence_signatures.verify_sequence(_signed(), TrustedKeys(again.public)) is SignatureVerdict.SIGNED


def test_the_first_sequence_has_no_base_and_is_signed_like_any_other() -> None:
    assert (
        sequence_signatures.verify_sequence(_signed(_sequence(number=0, base=None)), TRUSTED) is SignatureVerdict.SIGNED
    )


def test_a_foreign_state_is_unsigned() -> None:
    assert sequence_signatures.verify_sequence(_sequence(), TRUSTED) is SignatureVerdict.UNSIGNED
    assert sequence_signatures.verify_sequence(_sequence(), None) is SignatureVerdict.UNSIGNED


def test_without_a_trusted_key_a_whole_signature_is_of_an_unknown_signer() -> None:
    assert sequence_signatures.verify_sequence(_signed(), None) is SignatureVerdict.UNKNOWN_SIGNER


def test_another_users_signature_is_refused_by_name() -> None:
    stranger = UserKey.generate()
    theirs = _signed(device=DeviceKey.generate(stranger))
    with pytest.raises(SignedByAnother, match=stranger.key_id):
        sequence_signatures.verify_sequence(theirs, TRUSTED)


def test_a_device_that_certifies_itself_is_refused() -> None:
    forger = DeviceKey(b"f" * 32, KEY.public, UserKey.generate().sign(b"anything"))
    with pytest.raises(SignatureError, match="certificate"):
        sequence_signatures.verify_sequence(_signed(device=forger), TRUSTED)


def test_a_certificate_of_another_device_does_not_help() -> None:
    forger = DeviceKey(b"f" * 32, KEY.public, DEVICE.certificate)
    with pytest.raises(SignatureError, match="certificate"):
        sequence_signatures.verify_sequence(_signed(device=forger), TRUSTED)


@pytest.mark.parametrize(
    "change",
    [
        {"agent_id": "01900000-0000-7000-8000-00000000000b"},
        {"number": 13},
        {"base": 10},
        {"base": None},
        {"epoch": 2},
        {"time": "2026-11-20T18:55:00.124Z"},
        {"digest": bytes(32)},
        {"digest": b""},
    ],
)
def test_a_signature_holds_for_exactly_one_sequence(change: dict[str, Any]) -> None:
    with pytest.raises(SignatureError):
        sequence_signatures.verify_sequence(replace(_signed(), **change), TRUSTED)


def test_a_signature_of_another_kind_does_not_pass_as_one_of_a_sequence() -> None:
    sequence = _sequence()
    statement = {
        "agent": AGENT,
        "sequence": 12,
        "base": 11,
        "epoch": 1,
        "time": sequence.time,
        "digest": sequence.digest.hex(),
    }
    assert sequence_signatures.verify_sequence(
        replace(sequence, signature=DEVICE.testify("sequence", statement)), TRUSTED
    )
    with pytest.raises(SignatureError):
        sequence_signatures.verify_sequence(
            replace(sequence, signature=DEVICE.testify("agent pair", statement)), TRUSTED
        )


def _strings(document: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if isinstance(document, dict):
        return [found for key, value in document.items() for found in _strings(value, (*path, key))]
    return [path] if isinstance(document, str) else []


@given(st.data(), st.booleans())
def test_any_flipped_byte_of_any_field_is_refused(draw: st.DataObject, trusting: bool) -> None:
    signed = _signed()
    document = copy.deepcopy(signed.signature)
    assert document is not None
    *parents, name = draw.draw(st.sampled_from(_strings(document)))
    holder = document
    for parent in parents:
        holder = holder[parent]
    data = bytearray(holder[name].encode())
    place = draw.draw(st.integers(0, len(data) - 1))
    data[place] ^= draw.draw(st.integers(1, 255))
    holder[name] = data.decode("latin-1")
    with pytest.raises(SignatureError):
        sequence_signatures.verify_sequence(replace(signed, signature=document), TRUSTED if trusting else None)


@pytest.mark.parametrize("field", ["version", "algorithm", "device", "user", "certificate", "signature"])
@pytest.mark.parametrize("value", [None, 2, "", [], {}])
def test_a_missing_or_misshapen_field_is_refused(field: str, value: object) -> None:
    signed = _signed()
    with pytest.raises(SignatureError, match="the format of the signature is invalid"):
        sequence_signatures.verify_sequence(
            replace(signed, signature={**(signed.signature or {}), field: value}), TRUSTED
        )


def test_a_signature_that_is_no_object_is_refused() -> None:
    with pytest.raises(SignatureError, match="the format of the signature is invalid"):
        sequence_signatures.verify_sequence(_sequence(signature=["x"]), None)


def test_a_state_without_a_digest_is_not_signed() -> None:
    with pytest.raises(ValueError, match="digest"):
        sequence_signatures.sign_sequence(_sequence(digest=b""), DEVICE)


def test_the_secrets_of_a_device_show_in_no_repr() -> None:
    device = DeviceKey.certified(b"\x41" * 32, KEY)
    assert "4141" not in repr(device)
