"""Redactions determine what replaces bytes, whatever their order of arrival."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redacted_state import RedactedState
from lifeboat_alf.redaction.redactions import (
    ByteEdit,
    Redactions,
    apply_edits,
    compose_edits,
    decode_redaction,
    move_offset,
    replacement_of,
)
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_alf.testing.sample_states import MemoryState, make_record
from support.alf.random_states import cut, redaction

BODY = b"one two three four five"
OTHER_ID = "019a0000-0000-7000-8000-0000000000d2"
THIRD_ID = "019a0000-0000-7000-8000-0000000000d3"


@st.composite
def edits_of(draw, length):
    """Draw ordered, disjoint edits."""
    places = sorted(draw(st.sets(st.integers(0, length), max_size=6)))
    inserts = st.binary(max_size=3)
    spans = zip(places[::2], places[1::2], strict=False)
    return tuple(ByteEdit(start, end - start, draw(inserts)) for start, end in spans)


# Edits ----------------------------------------------------------------------------------------------------------


def test_an_edit_takes_bytes_out_and_puts_others_in():
    assert apply_edits(BODY, [ByteEdit(4, 4), ByteEdit(14, 4, b"FOUR")]) == b"one three FOUR five"


@pytest.mark.parametrize(
    "edits", [[ByteEdit(20, 9)], [ByteEdit(4, 4), ByteEdit(2, 1)], [ByteEdit(4, 4), ByteEdit(6, 4)], [ByteEdit(3, -1)]]
)
def test_edits_that_are_not_of_the_bytes_are_refused(edits):
    with pytest.raises(RedactionInvalid, match="lies outside of the content"):
        apply_edits(BODY, edits)


@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_byte_that_stays_is_where_its_position_is_moved_to(body, data):
    edits = data.draw(edits_of(len(body)))
    made = apply_edits(body, edits)
    kept = [at for at in range(len(body)) if not any(e.offset <= at < e.offset + e.length for e in edits)]
    assert [made[move_offset(at, edits)] for at in kept] == [body[at] for at in kept]


@given(st.binary(max_size=40), st.data())
@settings(max_examples=200)
def test_edits_on_top_of_others_are_one_run_of_edits(body, data):
    first = data.draw(edits_of(len(body)))
    middle = apply_edits(body, first)
    second = data.draw(edits_of(len(middle)))
    assert apply_edits(body, compose_edits(first, second)) == apply_edits(middle, second)


# What stands there ----------------------------------------------------------------------------------------------


def test_bytes_are_what_the_leaf_commits_to_or_what_a_redaction_put_there():
    leaf = merkle.new_leaf(BODY)
    known = Redactions([redaction({leaf.digest: cut(BODY, 4, 8)})])
    assert known.hold(leaf, BODY)
    assert known.hold(Leaf(leaf.digest), b"one three four five")
    assert not known.hold(Leaf(leaf.digest), BODY)
    assert not known.hold(Leaf(leaf.digest), b"one three four six!")


def test_nothing_is_held_without_a_salt_that_no_redaction_names():
    assert not Redactions().hold(Leaf(merkle.new_leaf(BODY).digest), BODY)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_of_several_redactions_the_widest_counts_in_every_order(order):
    leaf = merkle.new_leaf(BODY)
    every = [
        redaction({leaf.digest: cut(BODY, 4, 8)}),
        redaction({leaf.digest: cut(BODY, 4, 14)}, id=OTHER_ID),
        redaction({leaf.digest: cut(BODY, 8, 14)}, id=THIRD_ID),
    ]
    known = Redactions([every[number] for number in order])
    for came in (BODY, b"one three four five", b"one four five", b"one two four five"):
        of = leaf if came == BODY else Leaf(leaf.digest)
        assert known.settled(of, came) == b"one four five"


def test_the_same_purge_on_two_machines_leaves_the_same():
    leaf = merkle.new_leaf(BODY)
    twice = [redaction({leaf.digest: cut(BODY, 4, 8)}, id=each) for each in (OTHER_ID, THIRD_ID)]
    known = Redactions(twice)
    left = b"one three four five"
    assert known.settled(leaf, BODY) == left
    assert all(Redactions(twice).hold(Leaf(leaf.digest), known.settled(Leaf(leaf.digest), left)) for _ in twice)


def test_of_purges_that_knew_nothing_of_each_other_nothing_is_left():
    leaf = merkle.new_leaf(BODY)
    known = Redactions(
        [redaction({leaf.digest: cut(BODY, 0, 4)}), redaction({leaf.digest: cut(BODY, 8, 14)}, id=OTHER_ID)]
    )
    assert known.is_gone(leaf.digest)
    assert known.settled(leaf, BODY) is None
    assert known.hold(Leaf(leaf.digest), b"")


def test_a_purge_on_top_of_another_counts_in_the_old_bytes():
    leaf = merkle.new_leaf(BODY)
    first = redaction({leaf.digest: cut(BODY, 4, 8)})
    known = Redactions([first])
    left = known.settled(leaf, BODY)
    second = redaction({leaf.digest: known.on_top(leaf.digest, replacement_of(left, [ByteEdit(4, 6)]))}, id=OTHER_ID)
    for every in ([first, second], [second, first], [second]):
        assert Redactions(every).settled(leaf, BODY) == b"one four five"


def test_what_one_redaction_leaves_nothing_of_is_gone_whatever_another_says():
    leaf = merkle.new_leaf(BODY)
    known = Redactions([redaction({leaf.digest: cut(BODY, 0, 4)}), redaction({leaf.digest: None}, id=OTHER_ID)])
    assert known.is_gone(leaf.digest)


def test_bytes_that_no_redaction_left_are_refused():
    leaf = merkle.new_leaf(BODY)
    known = Redactions([redaction({leaf.digest: cut(BODY, 4, 8)})])
    for nothing in (b"something else", b"one two three four fine"):
        with pytest.raises(RedactionInvalid):
            known.settled(Leaf(leaf.digest), nothing)


# What arrives ---------------------------------------------------------------------------------------------------


def test_what_arrives_under_a_named_leaf_loses_bytes_and_salt():
    leaf = merkle.new_leaf(BODY)
    known = Redactions([redaction({leaf.digest: cut(BODY, 4, 8)})])
    assert known.arrived(leaf, BODY) == (Leaf(leaf.digest), b"one three four five")


def test_what_arrives_under_a_leaf_that_a_waiting_redaction_names_stays():
    leaf = merkle.new_leaf(BODY)
    known = Redactions(waiting=[redaction({leaf.digest: cut(BODY, 4, 8)})])
    assert known.arrived(leaf, BODY) == (leaf, BODY)
    assert known.arrived(Leaf(leaf.digest), b"one three four five") == (Leaf(leaf.digest), b"one three four five")


def test_what_a_waiting_redaction_has_cut_elsewhere_is_taken_as_it_came():
    """A narrower one was applied here; the wider one waits here but was applied by the sender."""
    leaf = merkle.new_leaf(BODY)
    narrow = redaction({leaf.digest: cut(BODY, 4, 8)})
    wide = redaction({leaf.digest: cut(BODY, 4, 14)}, id=OTHER_ID)
    known = Redactions([narrow], waiting=[wide])
    assert known.arrived(Leaf(leaf.digest), b"one four five") == (Leaf(leaf.digest), b"one four five")


def test_bytes_without_a_salt_that_nothing_vouches_for_do_not_arrive():
    leaf = merkle.new_leaf(BODY)
    for known in (Redactions(), Redactions([redaction({leaf.digest: cut(BODY, 4, 8)})])):
        with pytest.raises(RedactionInvalid):
            known.arrived(Leaf(leaf.digest), b"something else")


def test_redactions_that_join_others_do_not_wait():
    leaf = merkle.new_leaf(BODY)
    narrow, wide = redaction({leaf.digest: cut(BODY, 4, 8)}), redaction({leaf.digest: None}, id=OTHER_ID)
    known = Redactions(waiting=[narrow]).joined([narrow, wide])
    assert [each.id for each in known.without_waiting()] == [OTHER_ID]
    assert len(known) == 2


# Metas ----------------------------------------------------------------------------------------------------------


def test_a_meta_reads_without_ids_of_purged_records():
    known = Redactions([redaction({}, record_ids=("b",))])
    meta = {"records": ["a", "b", "c"], "attachment": {"id": "x", "referenced_by": ["b"]}, "executable": True}
    read = {"records": ["a", "c"], "attachment": {"id": "x", "referenced_by": []}, "executable": True}
    assert known.meta(meta, bytes(32)) == read


def test_a_secret_goes_back_where_it_stood_and_not_where_its_line_was_purged():
    leaf = merkle.new_leaf(BODY)
    known = Redactions([redaction({leaf.digest: cut(BODY, 4, 14)})])
    meta = {"cuts": [{"offset": at, "credential_id": f"at {at}"} for at in (2, 4, 8, 14, 18)]}
    read = known.meta(meta, leaf.digest)["cuts"]
    assert [(each["offset"], each["credential_id"]) for each in read] == [
        (2, "at 2"),
        (4, "at 4"),
        (4, "at 14"),
        (8, "at 18"),
    ]


# States ---------------------------------------------------------------------------------------------------------


def test_a_state_reads_as_its_redactions_say_and_keeps_its_digest():
    state = MemoryState()
    goes, stays = state.add(make_record("The door opens with 492817.")), state.add(make_record("Sings."))
    state.put("raw/openclaw/door.md", b"It opens with 492817.\n")
    leaf = state.entry("raw/openclaw/door.md").leaf
    purge = redaction({goes.leaf.digest: None, leaf.digest: cut(b"It opens with 492817.\n", 14, 20)})
    found = RedactedState(state, [purge])
    assert merkle.state_digest(found) == state.sequence.digest
    assert [each.id for each in found.records()] == [stays.id]
    assert [each.id for each in found.gone()] == [goes.id]
    assert (found.record(goes.id), found.body("raw/openclaw/door.md")) == (None, b"It opens with .\n")
    assert found.entry("raw/openclaw/door.md").sha256 is None


# JSON -----------------------------------------------------------------------------------------------------------

edits = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9), st.binary(max_size=4)), max_size=3)


@given(st.dictionaries(st.binary(min_size=32, max_size=32), st.none() | edits, max_size=4))
def test_a_redaction_is_the_same_as_a_document(named):
    made = {
        leaf: None
        if spans is None
        else redactions.LeafReplacement(Leaf(leaf[::-1], leaf[:16]), tuple(ByteEdit(*span) for span in spans))
        for leaf, spans in named.items()
    }
    purge = redaction(made, record_ids=("a", "b"), partitions_affected=("memory/partitions/2026-Q4.jsonl",))
    found = decode_redaction(json_codec.decode_json(json_codec.encode_json(purge.to_json())))
    assert (found, found.digest) == (purge, purge.digest)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"scope": "everything"},
        {"id": 7},
        {"record_ids": [7]},
        {"record_ids": "ab"},
        {"searched": [-1]},
        {"searched": [True]},
        {"leaves": []},
        {"leaves": {"00": None}},
        {"leaves": {"AB" * 32: None}},
        {"leaves": {"ab" * 32: {}}},
        {"leaves": {"ab" * 32: {"leaf": "ab" * 32, "salt": "ab" * 16, "edits": [[1]]}}},
        {"leaves": {"ab" * 32: {"leaf": "ab" * 32, "salt": "ab" * 16, "edits": [[1, 2, "%"]]}}},
        {"leaves": {"ab" * 32: {"leaf": "ab" * 32, "salt": "", "edits": []}}},
        {"signature": "mine"},
    ],
)
def test_a_document_that_is_no_redaction_is_refused(change):
    with pytest.raises(RedactionInvalid, match="the purge record is not valid"):
        decode_redaction({**redaction({}).to_json(), **change})


@pytest.mark.parametrize("document", [None, [], {}, "text"])
def test_what_is_no_document_is_no_redaction(document):
    with pytest.raises(RedactionInvalid):
        decode_redaction(document)
