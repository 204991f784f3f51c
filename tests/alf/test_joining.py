"""Independent purges are joined: nothing of either passage is left, and everything else is."""

from __future__ import annotations

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import json_codec
from lifeboat_alf.purging.purge_items import PurgeItem, PurgeOptions
from lifeboat_alf.purging.purge_planner import plan_cuts
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.joined_redactions import (
    find_contested_leaves,
    find_joined,
    find_overriding,
    join_redactions,
    order_redactions,
    select_confirmed,
    unite_edits,
)
from lifeboat_alf.redaction.redactions import ByteEdit, LeafReplacement, Redactions, apply_edits, replacement_of
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_alf.testing.sample_states import AGENT_ID, make_record
from support.alf.random_states import cut, redaction

NOW = "2026-11-22T10:00:00.000Z"
NOTE = "raw/openclaw/note.md"
BODY = b"one two three four five"
IDS = [f"019a0000-0000-7000-8000-0000000000{number:02x}" for number in range(9)]


def item(leaf: Leaf, body: bytes, path: str | None = NOTE, partition: str | None = None) -> PurgeItem:
    return PurgeItem(leaf, lambda: body, path, {}, None if partition is None else "a record", partition)


def spans(length: int) -> st.SearchStrategy[tuple[ByteEdit, ...]]:
    places = st.sets(st.integers(0, length), min_size=2, max_size=6).map(sorted)
    return places.map(
        lambda found: tuple(ByteEdit(start, end - start) for start, end in zip(found[::2], found[1::2], strict=False))
    )


def purge(leaf: Leaf, replacement: LeafReplacement | None, number: int, **fields: object):
    return redaction({leaf.digest: replacement}, id=IDS[number], **fields)


def met(first, second, leaf: Leaf, body: bytes, **where: str | None):
    """Return what a machine that did the first purge, or none yet, has after it hears of the second: redactions and
    bytes."""
    known = Redactions([first])
    left = known.settled(leaf, body)
    bare = Leaf(leaf.digest)
    made = join_redactions(known, second, lambda: [] if left is None else [item(bare, left, **where)], NOW)
    after = Redactions([first, *([] if made is None else [made]), second])
    return after, after.settled(bare, left) if left is not None else None


# Any two --------------------------------------------------------------------------------------------------------


@given(st.binary(min_size=2, max_size=40), st.data())
def test_what_neither_takes_stays_whichever_came_first(body, data):
    leaf = merkle.new_leaf(body)
    runs = data.draw(spans(len(body))), data.draw(spans(len(body)))
    both = [purge(leaf, replacement_of(body, edits), number) for number, edits in enumerate(runs)]
    gone = {at for edits in runs for edit in edits for at in range(edit.offset, edit.offset + edit.length)}
    kept = bytes(byte for at, byte in enumerate(body) if at not in gone)
    for order in (both, both[::-1]):
        known, left = met(*order, leaf, body)
        assert left == kept
        assert known.settled(leaf, body) == kept
        assert not known.is_contested(leaf.digest)


@given(st.binary(min_size=2, max_size=30), st.data())
def test_three_are_joined_in_any_order(body, data):
    leaf = merkle.new_leaf(body)
    runs = [data.draw(spans(len(body))) for _ in range(3)]
    every = [purge(leaf, replacement_of(body, edits), number) for number, edits in enumerate(runs)]
    made = set()
    for order in itertools.permutations(every):
        known, left = Redactions(), body
        for each in order:
            bare = leaf if not len(known) else Leaf(leaf.digest)
            joint = join_redactions(known, each, lambda left=left, bare=bare: [item(bare, left)], NOW)
            known = known.joined([*([] if joint is None else [joint]), each])
            left = known.settled(bare, left)
        made.add(left)
    assert made == {apply_edits(body, unite_edits(runs))}


@given(st.binary(min_size=2, max_size=40), st.data())
def test_machines_that_join_the_same_two_leave_the_same(body, data):
    leaf = merkle.new_leaf(body)
    runs = data.draw(spans(len(body))), data.draw(spans(len(body)))
    first, second = (purge(leaf, replacement_of(body, edits), number) for number, edits in enumerate(runs))
    here, left = met(first, second, leaf, body)
    there, other = met(second, first, leaf, body)
    every = here.joined(there)
    assert left == other
    assert every.settled(Leaf(leaf.digest), left) == left
    assert not any(find_contested_leaves(Redactions(here), each) for each in there)


@given(st.binary(min_size=2, max_size=40), st.data())
def test_whoever_cannot_join_hears_first_of_what_joins(body, data):
    leaf = merkle.new_leaf(body)
    runs = data.draw(spans(len(body))), data.draw(spans(len(body)))
    both = [purge(leaf, replacement_of(body, edits), number) for number, edits in enumerate(runs)]
    every, left = met(*both, leaf, body)
    for known in ([], [both[0]], [both[1]]):
        told = Redactions(known)
        for each in order_redactions(data.draw(st.permutations([*every])), told):
            told = told.joined([each])
            assert not told.is_contested(leaf.digest)
        assert told.settled(leaf, body) == left


# What an edit puts in -------------------------------------------------------------------------------------------


def test_an_edit_that_takes_all_keeps_what_it_puts_in():
    assert unite_edits([[ByteEdit(0, 9, b"{}")], [ByteEdit(2, 3)]]) == (ByteEdit(0, 9, b"{}"),)


def test_where_edits_overlap_in_part_nothing_is_put_in():
    assert unite_edits([[ByteEdit(0, 5, b"x")], [ByteEdit(3, 5, b"y")]]) == (ByteEdit(0, 8),)


def test_the_same_edit_counts_once():
    assert unite_edits([[ByteEdit(2, 3, b"null")], [ByteEdit(2, 3, b"null"), ByteEdit(7, 1)]]) == (
        ByteEdit(2, 3, b"null"),
        ByteEdit(7, 1),
    )


def planned(leaf: Leaf, body: bytes, text: str, number: int, **where: str | None):
    """Return what a machine does that is asked to cut a text."""
    wanted = PurgeTerms(texts=(text,))
    plan = plan_cuts(lambda: [item(leaf, body, **where)], AGENT_ID, wanted=wanted, options=PurgeOptions(passage=True))
    return redaction(plan.leaves, id=IDS[number])


def test_json_can_still_be_read():
    body = b'{"pin": 471108, "door": "four two blue", "stays": 7}'
    leaf = merkle.new_leaf(body)
    both = planned(leaf, body, "471108", 0, path="raw/a.json"), planned(leaf, body, "two", 1, path="raw/a.json")
    for order in (both, both[::-1]):
        _, left = met(*order, leaf, body, path="raw/a.json")
        assert json_codec.decode_json(left) == {"pin": None, "door": "four  blue", "stays": 7}


def test_json_that_could_not_be_read_loses_its_body():
    body = b"[1,2]"
    leaf = merkle.new_leaf(body)
    _, left = met(
        purge(leaf, cut(body, 0, 2, b"[1"), 0), purge(leaf, cut(body, 1, 3), 1), leaf, body, path="raw/a.json"
    )
    assert left == b"{}"


PARTITION = "memory/partitions/2026-Q4.jsonl"
RECORD = {"path": None, "partition": PARTITION}


def test_a_record_says_the_rest_and_its_mark_is_of_that():
    text = "The door opens with 471108, the safe with 220915."
    mark = hashlib.sha256(text.encode()).hexdigest()
    line = json_codec.encode_json({**make_record(text), "runtime": {"digest": mark}})
    leaf = merkle.new_leaf(line)
    both = planned(leaf, line, "471108", 0, **RECORD), planned(leaf, line, "220915", 1, **RECORD)
    for order in (both, both[::-1]):
        _, left = met(*order, leaf, line, **RECORD)
        says = "The door opens with , the safe with ."
        assert json_codec.decode_json(left)["content"] == says
        assert json_codec.decode_json(left)["runtime"] == {"digest": hashlib.sha256(says.encode()).hexdigest()}


def test_a_record_that_says_nothing_any_more_is_closed():
    line = json_codec.encode_json(make_record("471108 220915"))
    leaf = merkle.new_leaf(line)
    both = planned(leaf, line, "471108", 0, **RECORD), planned(leaf, line, "220915", 1, **RECORD)
    found = {met(*order, leaf, line, **RECORD)[1] for order in (both, both[::-1])}
    assert [json_codec.decode_json(left)["content"] for left in found] == ["[deleted]"]


def test_a_record_that_goes_whole_is_gone_and_nothing_is_joined():
    line = json_codec.encode_json(make_record("The door opens with 471108."))
    leaf = merkle.new_leaf(line)
    passage, whole = planned(leaf, line, "471108", 0, **RECORD), purge(leaf, None, 1)
    for order in ((passage, whole), (whole, passage)):
        known, left = met(*order, leaf, line, **RECORD)
        assert (len(known), left, known.is_gone(leaf.digest)) == (2, None, True)


def test_files_of_vectors_lose_all_of_them():
    """One vector file reveals the layout of the other."""
    index, data = b'{"vectors":["a","b"]}', bytes(8)
    leaves = merkle.new_leaf(index), merkle.new_leaf(data)

    def of(number: int, at: int):
        made = cut(index, 12 + at, 16 + at), cut(data, 0, 8)
        return redaction(dict(zip((each.digest for each in leaves), made, strict=True)), id=IDS[number])

    first, second = of(0, 0), of(1, 4)
    held = [
        item(leaves[0], index, "memory/embeddings/a/index.json"),
        item(leaves[1], data, "memory/embeddings/a/b.bin"),
    ]
    joint = join_redactions(Redactions([first]), second, lambda: held, NOW)
    known = Redactions([first, joint, second])
    assert set(joint.leaves) == {each.digest for each in leaves}
    assert known.settled(leaves[1], data) == b""


# What it is -----------------------------------------------------------------------------------------------------


def test_a_joint_redaction_is_of_both_and_like_the_newer_one():
    leaf = merkle.new_leaf(BODY)
    older = purge(
        leaf, cut(BODY, 0, 4), 0, record_ids=("a",), reason="one", searched=(1, 2), partitions_affected=("p",)
    )
    newer = purge(leaf, cut(BODY, 8, 14), 1, record_ids=("b",), reason="two", searched=(2, 3), requested_at=NOW)
    made = join_redactions(Redactions([newer]), older, lambda: [item(leaf, BODY)], NOW)
    assert (made.reason, made.record_ids, made.partitions_affected, made.searched) == ("two", ("a", "b"), ("p",), (2,))
    assert made.signature is None
    assert made.id not in IDS
    assert [each.id for each in find_joined(Redactions([newer]), older, made)] == IDS[:2]


@pytest.mark.parametrize("body", [b"", b"something else"])
def test_nothing_is_joined_of_bytes_that_are_not_here(body):
    leaf = merkle.new_leaf(BODY)
    first, second = purge(leaf, cut(BODY, 0, 4), 0), purge(leaf, cut(BODY, 8, 14), 1)
    assert join_redactions(Redactions([first]), second, lambda: [item(Leaf(leaf.digest), body)], NOW) is None


def test_those_that_agree_are_not_joined():
    leaf = merkle.new_leaf(BODY)
    narrow, wide = purge(leaf, cut(BODY, 4, 8), 0), purge(leaf, cut(BODY, 4, 14), 1)
    assert find_contested_leaves(Redactions([narrow]), wide) == []
    assert find_overriding(Redactions([narrow, wide]), narrow) == [wide]


def test_what_was_lost_before_the_joint_one_came_stays_lost_and_is_no_damage():
    leaf, bare = merkle.new_leaf(BODY), b""
    first, second = purge(leaf, cut(BODY, 0, 4), 0), purge(leaf, cut(BODY, 8, 14), 1)
    joint = join_redactions(Redactions([first]), second, lambda: [item(leaf, BODY)], NOW)
    for order in itertools.permutations([first, second, joint]):
        known = Redactions(order)
        assert known.settled(Leaf(leaf.digest), bare) is None
        assert known.hold(Leaf(leaf.digest), bare)
        assert known.is_gone(leaf.digest)
        assert known.settled(leaf, BODY) == b"two four five"


# What waits -----------------------------------------------------------------------------------------------------


def test_what_joins_those_that_were_confirmed_is_confirmed():
    leaf = merkle.new_leaf(BODY)
    first, second = purge(leaf, cut(BODY, 0, 4), 0), purge(leaf, cut(BODY, 8, 14), 1)
    joint = join_redactions(Redactions([first]), second, lambda: [item(leaf, BODY)], NOW)
    assert select_confirmed(Redactions([first]), [joint]) == []
    assert select_confirmed(Redactions([first, second]), [joint]) == [joint]


def test_what_takes_more_than_was_confirmed_goes_on_waiting():
    leaf = merkle.new_leaf(BODY)
    applied = Redactions([purge(leaf, cut(BODY, 0, 4), 0), purge(leaf, cut(BODY, 8, 14), 1)])
    for wider in (cut(BODY, 0, 20), None):
        assert select_confirmed(applied, [purge(leaf, wider, 2)]) == []
