"""Deltas between states of which something was purged."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from random_states import applied, assert_same, delta_bytes, redactions_of, two_states


@given(two_states(), st.data())
@settings(max_examples=60)
def test_a_delta_between_purged_states_gives_the_other_one(states, data):
    a, b = states
    purge = data.draw(redactions_of(a, b))
    a.redact(purge)
    b.redact(purge)
    assert_same(applied(a, delta_bytes(a, b)), b)


@given(two_states(), st.data())
@settings(max_examples=60)
def test_a_delta_from_before_the_purge_to_after_it_gives_the_purged_state(states, data):
    a, b = states
    b.redact(data.draw(redactions_of(a, b)))
    assert_same(applied(a, delta_bytes(a, b)), b)
