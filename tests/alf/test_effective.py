"""Chains of successors and tombstones determine which record is the memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.memory import effective_view
from lifeboat_alf.memory.effective_view import SuccessorChains
from lifeboat_alf.testing import sample_states


def item(name, supersedes=None, status="active"):
    record = {"id": name, "status": status, "temporal": {"created_at": sample_states.TIME}}
    return record if supersedes is None else {**record, "supersedes": supersedes}


def seen(*items):
    return [(found.record["id"], found.record["status"]) for found in effective_view.iterate_effective(list(items))]


def test_a_record_without_a_chain_is_itself():
    assert seen(item("a"), item("b")) == [("a", "active"), ("b", "active")]


def test_a_successor_hides_what_it_supersedes_though_that_still_says_active():
    assert seen(item("a"), item("b", "a"), item("c", "b")) == [("c", "active")]


def test_of_several_successors_the_last_wins():
    assert seen(item("a"), item("b", "a"), item("c", "a")) == [("c", "active")]


@pytest.mark.parametrize("named", ["a", "b", "c"])
def test_a_tombstone_of_any_member_ends_the_chain(named):
    chain = [item("a"), item("b", "a"), item("c", "b")]
    assert seen(*chain, item("t", named, "deleted")) == [("t", "deleted")]


def test_a_tombstone_ends_the_chain_also_when_a_successor_follows_it():
    assert seen(item("a"), item("t", "a", "deleted"), item("b", "a")) == [("t", "deleted")]


def test_what_supersedes_the_tombstone_itself_is_a_memory_again():
    assert seen(item("a"), item("t", "a", "deleted"), item("b", "t")) == [("b", "active")]


def test_a_record_deleted_in_place_is_shown_as_deleted():
    assert seen(item("a", None, "deleted")) == [("a", "deleted")]


def test_any_id_of_a_chain_names_the_memory_also_one_that_is_no_longer_there():
    chains = SuccessorChains.of([item("b", "purged"), item("c", "b")])
    assert {chains.winner(name) for name in ("purged", "b", "c")} == {"c"}
    assert chains.chain_of("b") == ("purged", "b", "c")
    assert chains.chain_of("alone") == ("alone",)


def test_a_circle_of_successors_has_one_winner():
    assert len(seen(item("a", "b"), item("b", "a"), item("c", "c"))) == 2


def test_a_state_is_read_in_the_order_of_time_not_of_paths():
    state = sample_states.MemoryState()
    first = state.add(sample_states.make_record("one"), "memory/partitions/2026-Q3.jsonl")
    later = sample_states.make_record("two", created_at="2026-10-30T00:00:00.000Z", supersedes=first.id)
    state.add(later, "memory/partitions/2026-10.jsonl")
    last = state.add(sample_states.make_record("three", supersedes=first.id), "memory/partitions/2026-11.jsonl")
    days = {"2026-Q3": "2026-07-01", "2026-10": "2026-10-01", "2026-11": "2026-11-01"}
    state.set_head(
        partitions=[
            {"file": f"memory/partitions/{name}.jsonl", "from": day, "to": None, "sealed": False}
            for name, day in days.items()
        ]
    )
    assert [found.record["id"] for found in effective_view.effective_records(state)] == [last.id]
    assert [found.record["id"] for found in effective_view.visible_records(state)] == [last.id]


def test_archived_and_deleted_memories_are_not_visible_and_unknown_statuses_are():
    state = sample_states.MemoryState()
    for status in ("active", "archived", "deleted", "superseded", "dreaming"):
        state.add(sample_states.make_record(status, status=status))
    assert len(list(effective_view.effective_records(state))) == 5
    assert [found.record["content"] for found in effective_view.visible_records(state)] == ["active", "dreaming"]


links = st.lists(st.tuples(st.none() | st.integers(0, 12), st.booleans()), max_size=13)


@given(links)
def test_every_record_has_exactly_one_winner_and_its_chain_names_it(shape):
    items = [
        item(str(number), None if target is None else str(target), "deleted" if dead else "active")
        for number, (target, dead) in enumerate(shape)
    ]
    chains = SuccessorChains.of(items)
    winners = {found.record["id"] for found in effective_view.iterate_effective(lambda: items)}
    for record in items:
        assert chains.winner(record["id"]) in winners
        assert record["id"] in chains.chain_of(record["id"])
