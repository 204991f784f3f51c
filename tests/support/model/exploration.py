"""Search a model exhaustively: breadth first, each state visited once, the shortest way to a fault returned."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)

Successors = Callable[[S], Iterable[tuple[str, S]]]
"""Yields every possible action in a state, with the state that it leads to."""


@dataclass
class Exploration(Generic[S]):
    """What a search found. `fault` says what is wrong in the last state of `trace`, "" for nothing; `is_complete` says
    that every reachable state was visited."""

    states: int = 0
    transitions: int = 0
    depth: int = 0
    is_complete: bool = False
    fault: str = ""
    trace: list[str] = field(default_factory=list)
    edges: dict[S, tuple[S, str] | None] = field(default_factory=dict)
    """Every visited state with the state before it and the action between them."""

    def __str__(self) -> str:
        whole = "all" if self.is_complete else "not all"
        return f"{self.states:,} states ({whole}), {self.transitions:,} transitions, depth {self.depth}"

    def way_to(self, state: S) -> list[str]:
        """Return the actions of a shortest way to a visited state."""
        actions: list[str] = []
        while (edge := self.edges[state]) is not None:
            state, action = edge
            actions.append(action)
        return actions[::-1]


def explore(
    start: S,
    successors: Successors[S],
    find_fault: Callable[[S], str],
    *,
    most_states: int = 10_000_000,
    most_steps: int = 10_000,
) -> Exploration[S]:
    """Visit every state that can be reached in `most_steps` actions, until one has a fault."""
    found = Exploration[S](edges={start: None})
    found.states, frontier = 1, [start]
    if fault := find_fault(start):
        found.fault = fault
        return found
    while frontier and found.depth < most_steps:
        following: list[S] = []
        for state in frontier:
            for action, after in successors(state):
                found.transitions += 1
                if after in found.edges:
                    continue
                found.edges[after] = (state, action)
                found.states += 1
                if fault := find_fault(after):
                    found.fault, found.trace, found.depth = fault, found.way_to(after), found.depth + 1
                    return found
                following.append(after)
            if found.states > most_states:
                return found
        frontier = following
        found.depth += bool(following)
    found.is_complete = not frontier
    return found


def cover_transitions(start: S, successors: Successors[S], most_steps: int) -> Iterator[list[str]]:
    """Yield traces from the start so that each transition within `most_steps` actions is in one of them.

    Ways that lead to the same state are continued once.
    """
    pending: list[tuple[S, list[str]]] = [(start, [])]
    seen = {start}
    while pending:
        state, way = pending.pop()
        went_on = False
        if len(way) < most_steps:
            for action, after in successors(state):
                if after in seen:
                    yield [*way, action]
                else:
                    seen.add(after)
                    pending.append((after, [*way, action]))
                went_on = True
        if not went_on and way:
            yield way
