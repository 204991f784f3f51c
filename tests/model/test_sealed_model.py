"""The model of sealed remotes, searched exhaustively: every interleaving of machines within the limits keeps the
invariants, and each check of the protocol is there because without it one breaks."""

from __future__ import annotations

import pytest

from support.model.exploration import explore
from support.model.sealed_protocol import Limits, SealedProtocol, Store

PUSHES = Limits(captures=1, crashes=1, lost_answers=1, adoptions=2)
PURGES = Limits(captures=1, crashes=0, lost_answers=0, adoptions=1, purges=1)
SWEEPS = Limits(captures=1, crashes=0, lost_answers=0, adoptions=1, compactions=2, days=1)
EVERYTHING = Limits(captures=1, crashes=1, lost_answers=0, adoptions=1, purges=1, compactions=1, days=1)


@pytest.mark.parametrize(
    ("store", "machines", "limits"),
    [
        (Store.COMPARE_AND_SET, 2, PUSHES),
        (Store.COMPARE_AND_SET, 3, Limits(captures=1, crashes=0, lost_answers=0, adoptions=2)),
        (Store.COMPARE_AND_SET, 3, Limits(captures=1, crashes=1, lost_answers=1, adoptions=1)),
        (Store.COMPARE_AND_SET, 2, PURGES),
        (Store.COMPARE_AND_SET, 2, SWEEPS),
        (Store.CREATE_ONLY, 2, Limits(captures=1, crashes=1, lost_answers=1, adoptions=1, days=1, cleanings=1)),
        (Store.LAGGING, 2, Limits(captures=1, crashes=1, lost_answers=1, adoptions=1)),
        (Store.BLIND, 1, Limits(captures=1, crashes=1, lost_answers=1, adoptions=0, purges=1, compactions=1, days=1)),
    ],
    ids=[
        "2 machines push, take over, crash",
        "3 machines push and take over",
        "3 machines crash",
        "2 machines purge",
        "2 machines sleep and sweep",
        "create-only, old heads removed",
        "lagging reads",
        "blind, a single writer",
    ],
)
def test_every_reachable_state_keeps_the_invariants(store: Store, machines: int, limits: Limits) -> None:
    protocol = SealedProtocol(store)
    found = explore(protocol.start(machines, limits), protocol.successors, protocol.find_fault)
    print(f"{store}, {machines} machines: {found}")
    assert not found.fault, "\n".join([found.fault, *found.trace])
    assert found.is_complete


@pytest.mark.parametrize(
    ("without", "store", "limits", "fault"),
    [
        ("head", Store.COMPARE_AND_SET, PUSHES, "an acknowledged sequence is lost"),
        ("epoch", Store.COMPARE_AND_SET, PUSHES, "a sequence was added after its epoch had ended"),
        ("fetched", Store.COMPARE_AND_SET, PUSHES, "two machines wrote in epoch"),
        ("generation", Store.COMPARE_AND_SET, PURGES, "the head names a file that was removed"),
        ("age", Store.COMPARE_AND_SET, SWEEPS, "the head names a file that was removed"),
        ("age", Store.CREATE_ONLY, PUSHES._replace(days=1, cleanings=1), "an acknowledged sequence is lost"),
        ("", Store.BLIND, PUSHES, "an acknowledged sequence is lost"),
    ],
    ids=["head", "epoch", "fetched", "generation", "age", "age of a head", "two writers at a blind store"],
)
def test_without_a_check_the_search_finds_what_it_is_for(
    without: str, store: Store, limits: Limits, fault: str
) -> None:
    protocol = SealedProtocol(store, without=without)
    found = explore(protocol.start(2, limits), protocol.successors, protocol.find_fault)
    print(f"without {without or 'a condition'}: {found}")
    assert found.fault.startswith(fault), found.fault
    assert found.trace
