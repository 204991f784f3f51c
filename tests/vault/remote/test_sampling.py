"""Which items of a state are read back, and how the result is judged."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from lifeboat_alf.states.agent_state import Leaf
from lifeboat_alf.testing.sample_states import MemoryState, make_record
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.remote import read_back
from lifeboat_vault.remote.remote_contract import RemoteSequence, RemoteVerification


@pytest.fixture
def state() -> MemoryState:
    made = MemoryState()
    for number in range(6):
        made.put(f"raw/openclaw/{number}", b"body %d" % number)
    made.add_all([make_record(f"memory {number}") for number in range(5)])
    return made


def _bodies(state: MemoryState, sample: read_back.ReadBackSample) -> list[bytes | None]:
    return [*(state.body(entry.path) for entry in sample.entries), *(record.line for record in sample.records)]


def test_so_many_items_are_chosen_and_none_twice(state: MemoryState) -> None:
    sample = read_back.choose_sample(state, 5, random.Random(1))
    paths, ids = sample.names()
    assert len(paths) + len(ids) == len({*paths, *ids}) == 5
    whole = read_back.choose_sample(state, 100, random.Random(1))
    assert (len(whole.entries), len(whole.records)) == (7, 5)


def test_every_item_is_chosen_as_often_as_the_others(state: MemoryState) -> None:
    chance, seen = random.Random(2), Counter[str]()
    for _ in range(600):
        paths, ids = read_back.choose_sample(state, 3, chance).names()
        seen.update([*paths, *ids])
    assert len(seen) == 12 and min(seen.values()) > 100


def test_what_no_leaf_covers_is_not_chosen(state: MemoryState) -> None:
    state.put_absent("artifacts/a", 3, None)
    state.put_absent("artifacts/b", 3, None, Leaf(b"x" * 32))
    paths, _ = read_back.choose_sample(state, 100, random.Random(1)).names()
    assert not {"artifacts/a", "artifacts/b"} & set(paths)


def test_true_bytes_hold(state: MemoryState) -> None:
    sample = read_back.choose_sample(state, 100, random.Random(1))
    found = read_back.compare_bodies(sample, _bodies(state, sample), RemoteVerification(0))
    assert found.ok and found.items == 12
    assert found.bytes == sum(len(body or b"") for body in _bodies(state, sample))


def test_what_is_missing_or_changed_is_named(state: MemoryState) -> None:
    sample = read_back.choose_sample(state, 100, random.Random(1))
    bodies = _bodies(state, sample)
    bodies[1], bodies[-1] = None, b"{}"
    found = read_back.compare_bodies(sample, bodies, RemoteVerification(0))
    record_id = sample.records[-1].id
    assert found.findings == [
        f"{sample.entries[1].path} is missing on the remote",
        f"the content of the record {record_id} on the remote differs from the local content",
    ]


def test_a_large_artifact_that_did_not_come_yet_says_nothing(state: MemoryState) -> None:
    state.put_artifact("film", b"film", tier=3)
    sample = read_back.choose_sample(state, 100, random.Random(1))
    bodies = [None if body == b"film" else body for body in _bodies(state, sample)]
    assert read_back.compare_bodies(sample, bodies, RemoteVerification(0)).ok


def test_an_answer_of_another_length_is_no_answer(state: MemoryState) -> None:
    sample = read_back.choose_sample(state, 4, random.Random(1))
    assert not read_back.compare_bodies(sample, [], RemoteVerification(0)).ok


def test_the_head_is_held_against_number_digest_and_signature(state: MemoryState) -> None:
    device = DeviceKey.generate(UserKey.generate())
    here = state.sign(lambda sequence: sequence_signatures.sign_sequence(sequence, device)).sequence
    place = (here.number, here.base, here.digest, here.epoch, here.time)
    there = RemoteSequence(*place, kind="push", signature=here.signature)
    assert read_back.compare_head(here, there).ok
    assert here.signature is not None
    forged = {
        **here.signature,
        "signature": sequence_signatures.sign_sequence(replace(here, epoch=9), device)["signature"],
    }
    for wrong in (
        None,
        replace(there, number=9),
        replace(there, digest=bytes(32)),
        replace(there, signature=None),
        replace(there, signature=forged),
        replace(there, epoch=9),
    ):
        assert len(read_back.compare_head(here, wrong).findings) == 1


def test_a_signature_may_have_been_replaced_by_another_that_holds(state: MemoryState) -> None:
    devices = [DeviceKey.generate(UserKey.generate()) for _ in range(2)]
    here = state.sign(lambda sequence: sequence_signatures.sign_sequence(sequence, devices[0])).sequence
    newer = sequence_signatures.sign_sequence(here, devices[1])
    there = RemoteSequence(here.number, here.base, here.digest, here.epoch, here.time, "push", signature=newer)
    assert read_back.compare_head(here, there).ok
