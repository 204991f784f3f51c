"""The model of the endpoint's protocol, searched exhaustively."""

from __future__ import annotations

import pytest

from support.model.endpoint_protocol import EndpointProtocol, Limits
from support.model.exploration import explore

PUSHES = Limits(captures=1, crashes=1, lost_answers=1, adoptions=2)
PURGES = Limits(captures=1, crashes=0, lost_answers=1, adoptions=1, purges=1, thinnings=1)


@pytest.mark.parametrize(
    ("machines", "limits"),
    [
        (2, PUSHES),
        (3, Limits(captures=1, crashes=0, lost_answers=0, adoptions=2)),
        (2, PURGES),
        (3, Limits(captures=0, crashes=0, lost_answers=0, adoptions=2, purges=1)),
    ],
    ids=["2 machines push, take over, crash", "3 machines push", "2 machines purge and thin", "3 machines purge"],
)
def test_every_reachable_state_keeps_the_invariants(machines: int, limits: Limits) -> None:
    protocol = EndpointProtocol()
    found = explore(protocol.start(machines, limits), protocol.successors, protocol.find_fault)
    print(f"endpoint, {machines} machines: {found}")
    assert not found.fault, "\n".join([found.fault, *found.trace])
    assert found.is_complete


@pytest.mark.parametrize(
    ("without", "limits", "fault"),
    [
        ("transaction", PUSHES, "a sequence was accepted after its epoch had ended"),
        ("epoch", PUSHES, "a sequence was accepted after its epoch had ended"),
        ("fetched", PUSHES, "two machines wrote in epoch"),
        ("arrival", PURGES, "purged bytes came back"),
        ("refusal", PURGES, "a refused purge was applied"),
    ],
)
def test_without_a_check_the_search_finds_what_it_is_for(without: str, limits: Limits, fault: str) -> None:
    protocol = EndpointProtocol(without=without)
    found = explore(protocol.start(2, limits), protocol.successors, protocol.find_fault)
    print(f"without {without}: {found}")
    assert found.fault.startswith(fault), "\n".join([found.fault, *found.trace])
