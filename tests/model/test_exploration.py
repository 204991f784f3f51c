"""The search itself: shortest ways, complete visits, covered transitions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from support.model.exploration import cover_transitions, explore


def counting(number: int) -> Iterator[tuple[str, int]]:
    """From 0 to 20 by steps of 1 and 7."""
    for step in (1, 7):
        if number + step <= 20:
            yield f"+{step}", number + step


def never(number: int) -> str:
    return ""


def test_every_state_is_visited_once() -> None:
    found = explore(0, counting, never)
    assert (found.states, found.is_complete) == (21, True)


def test_the_way_to_a_fault_is_a_shortest_one() -> None:
    found = explore(0, counting, lambda number: "too far" if number == 15 else "")
    assert found.fault == "too far"
    assert sorted(found.trace) == ["+1", "+7", "+7"]


def test_a_search_that_ended_early_is_not_complete() -> None:
    assert not explore(0, counting, never, most_steps=2).is_complete
    assert not explore(0, counting, never, most_states=3).is_complete


def test_each_transition_within_the_steps_is_in_a_trace() -> None:
    covered = set()
    for trace in cover_transitions(0, counting, 4):
        places = [0]
        for action in trace:
            places.append(dict(counting(places[-1]))[action])
        covered |= set(pairwise(places))
        assert len(trace) <= 4
    near = explore(0, counting, never, most_steps=3).edges
    assert covered >= {(number, after) for number in near for _, after in counting(number)}
