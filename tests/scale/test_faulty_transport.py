"""Whatever happens to a call of a replication on its way to two servers: what is said of the second copy is so, the
next replication mends it, and what it has restores byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.core.faulty_transport import FAULTS, Fault, Kind, from_then_on, impatient, once, proxy
from support.core.invariants import every_kept_sequence_has_its_digest
from support.core.replicated import SECRET, Replicated, machine_in
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.scale.shared_lives import a_tenant_is_whole, join, the_audit_is_whole

SLOW = (Kind.STALL, Kind.DELAY, Kind.TRICKLE, Kind.TWICE)
"""What takes long, and what many calls of a test with a proxy in front show anyway."""
WHOLE = [fault for fault in FAULTS if fault.at == 0.5 and fault.kind not in SLOW]


@pytest.fixture
def ada(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Replicated]:
    impatient(monkeypatch)
    made = Replicated(machine_in(tmp_path / "laptop"))
    with proxy(shared.url) as before:
        join(made, tenant, through=before.address)
        made.straight["home"] = replace(made.straight["home"], url=shared.url)
        made.faulty["home"] = before
        yield made
        assert not [data for data in before.wire if SECRET.encode() in data]
    every_kept_sequence_has_its_digest(made.machine.context, made.machine.agent)
    a_tenant_is_whole(shared, tenant.tenant)
    the_audit_is_whole(shared)


@pytest.mark.parametrize("fault", WHOLE, ids=str)
def test_a_fault_at_any_call_is_mended_by_the_next_replication(ada: Replicated, fault: Fault) -> None:
    """Once at each call of a replication that has everything in it, and from that call on."""
    ada.through(fault, once(fault, 3))
    ada.capture(1)
    ada.expect_all()
    ada.begin()
    assert ada.machine.push().state == "ok"
    calls = len(ada.called())
    for number in range(calls):
        ada.capture(number + 2)
        ada.expect_all()
        ada.through(fault, (from_then_on if number % 2 else once)(fault, number))
    ada.holds()


@pytest.mark.parametrize("fault", WHOLE[:2], ids=str)
def test_a_fault_at_any_call_of_a_purge_is_mended_by_the_next_replication(ada: Replicated, fault: Fault) -> None:
    ada.capture(0)
    assert ada.push().state == "ok"
    for number in range(0, 14, 2):
        redaction = ada.purge(number)
        ada.capture(number + 1)
        ada.through(fault, once(fault, number))
        assert ada.is_told(redaction)
    ada.holds()
