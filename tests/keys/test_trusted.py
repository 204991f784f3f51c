"""Whose signatures count: those of the user's key and its former keys, except compromised ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifeboat_alf.states.agent_state import Sequence
from lifeboat_keys.errors import DeviceRevoked, SignedByAnother, SignedByCompromised
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_keys.signed.sequence_signatures import SignatureVerdict

NEW, OLD, STOLEN, STRANGER = (UserKey(bytes([number]) * 32) for number in range(4))
TRUSTED = TrustedKeys(NEW.public, former=(OLD.public,), compromised=(STOLEN.public,))


def _signed(device: DeviceKey) -> Sequence:
    plain = Sequence("01900000-0000-7000-8000-00000000000a", 3, 2, 1, "2026-11-20T18:55:00.123Z", bytes(range(32)))
    return replace(plain, signature=sequence_signatures.sign_sequence(plain, device))


@pytest.mark.parametrize("key", [NEW, OLD])
def test_what_was_signed_under_the_users_key_or_one_it_replaced_is_signed(key: UserKey) -> None:
    assert sequence_signatures.verify_sequence(_signed(DeviceKey.generate(key)), TRUSTED) is SignatureVerdict.SIGNED


def test_a_key_that_others_may_hold_counts_no_more_and_is_named() -> None:
    with pytest.raises(SignedByCompromised, match=STOLEN.key_id) as caught:
        sequence_signatures.verify_sequence(_signed(DeviceKey.generate(STOLEN)), TRUSTED)
    assert NEW.key_id in caught.value.message
    assert caught.value.exit_status == 3


def test_another_users_key_is_refused_and_both_key_ids_are_named() -> None:
    with pytest.raises(SignedByAnother) as caught:
        sequence_signatures.verify_sequence(_signed(DeviceKey.generate(STRANGER)), TRUSTED)
    assert type(caught.value) is SignedByAnother
    assert STRANGER.key_id in caught.value.message and NEW.key_id in caught.value.message


@pytest.mark.parametrize("key", [NEW, OLD, STOLEN])
def test_a_lost_machine_is_refused_under_every_key(key: UserKey) -> None:
    lost = DeviceKey.generate(key)
    with pytest.raises(DeviceRevoked, match=lost.public.hex()[:16]):
        sequence_signatures.verify_sequence(_signed(lost), replace(TRUSTED, revoked=frozenset({lost.public})))


def test_without_any_key_nothing_is_known_of_a_whole_signature() -> None:
    assert (
        sequence_signatures.verify_sequence(_signed(DeviceKey.generate(STOLEN)), None)
        is SignatureVerdict.UNKNOWN_SIGNER
    )
