"""A purged PIN cannot be guessed: trying every PIN against the plan, the redaction, the leaves and the rest of a
history reveals nothing."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator

import pytest

from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.purging.bounded_patterns import compile_pattern
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import RECORDS, Redaction
from lifeboat_alf.testing import sample_states
from support.alf.packed_vectors import RecordVector, pack_vectors
from support.alf.purge_histories import SEED, History

PIN = "004829"
CANDIDATES = 10_000
"""Of a million: the PIN begins with two zeros, and the attacker knows it."""

MADE_AT = "2026-11-20T12:00:00.000Z"


def _id(number: int) -> str:
    return ids.mint_id(SEED, MADE_AT, str(number))


def _history(pin: str) -> History:
    """Return a history with the PIN wherever a user may leave it, and with ids that do not depend on it."""
    made = History()
    first = made.record(f"The PIN is {pin}.", id=_id(1))
    made.record(f"The PIN was {pin}, it is another now.", id=_id(1))
    made.record(f"PIN {pin}", id=_id(2), supersedes=first.record_id, tags=[pin])
    made.record(pin, id=_id(3))
    made.file("raw/openclaw/MEMORY.md", f"# The PIN is {pin}.\nPIN {pin}\n".encode(), records=[_id(1), _id(2)])
    made.file("raw/openclaw/a.json", json_codec.encode_json({"pin": pin, "n": [f"x{pin}"]}))
    made.file("raw/openclaw/b.json", b'{"pin": 1' + pin.encode() + b"}")
    made.file("raw/openclaw-home/db/m/rows.jsonl", json_codec.encode_json({"pin": pin}) + b"\n{}\n")
    made.file("artifacts/a.bin", b"\0" + pin.encode())
    vectors = [(_id(1), 0.5), (_id(9), 0.25)]
    listed = (sample_states.make_embedding([value]) for _, value in vectors)
    for path, body in pack_vectors(
        RecordVector("memory/partitions/2026-Q4.jsonl", name, each)
        for (name, _), each in zip(vectors, listed, strict=True)
    ).items():
        made.file(path, body)
    return made


PLANS: dict[str, Callable[[History, str], CutPlan]] = {
    "by text": lambda history, pin: history.plan(text=pin),
    "a passage": lambda history, pin: history.plan(text=pin, passage=True),
    "by pattern": lambda history, pin: history.plan(
        wanted=PurgeTerms(patterns=(compile_pattern(r"00\d{4}"),)), passage=True
    ),
    "by id": lambda history, pin: history.plan(_id(1), _id(3)),
    "only": lambda history, pin: history.plan(_id(1), _id(2), only=True),
}


def _document(plan: CutPlan) -> bytes:
    redaction = Redaction(
        _id(100), sample_states.AGENT_ID, RECORDS, "user_request", MADE_AT, sample_states.AGENT_ID,
        record_ids=plan.record_ids, partitions_affected=plan.partitions, leaves=plan.leaves,
    )  # fmt: skip
    return json_codec.encode_json(redaction.to_json())


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_of_another_pin_is_the_same_but_for_random_bytes(name: str) -> None:
    plans = [PLANS[name](_history(pin), pin) for pin in (PIN, "009137")]
    told = [
        (
            plan.record_ids, plan.partitions, plan.files, plan.hits, plan.names, plan.dropped, plan.spared,
            [None if each is None else each.edits for each in plan.leaves.values()],
        )
        for plan in plans
    ]  # fmt: skip
    assert told[0] == told[1]
    assert plans[0].leaves, "there is something to guess from"


@pytest.mark.parametrize("name", PLANS)
def test_no_candidate_fits_to_any_hash_id_or_leaf(name: str) -> None:
    history = _history(PIN)
    plan = PLANS[name](history, PIN)
    document = _document(plan)
    known = set(re.findall(rb"[0-9a-f]{64}", document))
    salts = [bytes.fromhex(salt) for salt in re.findall(r'"salt":"([0-9a-f]{32})"', document.decode())]
    named = [item for item in history.items if item.leaf.digest in plan.leaves]
    assert {item.leaf.digest.hex().encode() for item in named} <= known
    bodies = [item.body().split(PIN.encode()) for item in named if PIN.encode() in item.body()]
    hashed = {digest[:8] for digest in known}
    for number in range(CANDIDATES):
        pin = b"%06d" % number
        assert not hashed & set(_hashes(pin, bodies, salts[:4])), pin
    assert _is_found_with_its_salt(named, known), "the attack works against what is not destroyed"


def _hashes(pin: bytes, bodies: list[list[bytes]], salts: list[bytes]) -> Iterator[bytes]:
    """Yield the beginning of every digest that an attacker may search for."""
    bodies_of_it = [pin, *(pin.join(parts) for parts in bodies)]
    for salt, body in itertools.product((b"", *salts), bodies_of_it):
        yield hashlib.sha256(salt + body).hexdigest()[:8].encode()


def _is_found_with_its_salt(named: list[PurgeItem], known: set[bytes]) -> bool:
    return all(hashlib.sha256(item.leaf.salt + item.body()).hexdigest().encode() in known for item in named)


@pytest.mark.parametrize("name", PLANS)
def test_salts_that_are_destroyed_stand_in_no_document(name: str) -> None:
    history = _history(PIN)
    plan = PLANS[name](history, PIN)
    document = _document(plan)
    for item in history.items:
        if item.leaf.digest in plan.leaves:
            assert item.leaf.salt.hex().encode() not in document
    assert PIN not in json.dumps([hit._asdict() for hit in plan.hits])
    inserted = b"".join(edit.insert for each in plan.leaves.values() if each for edit in each.edits)
    assert PIN.encode() not in inserted
