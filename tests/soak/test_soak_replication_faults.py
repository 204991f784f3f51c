"""Whatever happens to a call of a replication: what is said of the second copy is so, the next replication mends it,
and what it has restores byte for byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint_servers import RunningEndpoint, running_endpoint
from faulty_transport import FAULTS, HARMLESS, Fault, from_then_on, impatient, once
from invariants import every_kept_sequence_has_its_digest
from replicated import Replicated, behind_a_proxy, in_a_folder, in_parts, in_this_process, machine_in

pytestmark = pytest.mark.soak

KINDS = ("HTTP", "HTTP in parts", "HTTP sealed", "in process", "folder", "folder in clear")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True) as running:
        yield running


@pytest.fixture(params=KINDS)
def ada(
    request: pytest.FixtureRequest, tmp_path: Path, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Replicated]:
    impatient(monkeypatch)
    made, kind = Replicated(machine_in(tmp_path / "laptop")), request.param
    if kind == "HTTP in parts":
        in_parts(monkeypatch)
    if kind.startswith("HTTP"):
        around = behind_a_proxy(made, endpoint, sealed=kind == "HTTP sealed")
    elif kind == "in process":
        around = in_this_process(made, tmp_path / "there", monkeypatch)
    else:
        around = in_a_folder(made, tmp_path / "there", monkeypatch, sealed=kind == "folder")
    with around:
        yield made
    every_kept_sequence_has_its_digest(made.machine.context, made.machine.agent)


def calls_of(ada: Replicated, number: int) -> int:
    """How many calls a replication makes that has everything in it."""
    ada.capture(number)
    ada.expect_all()
    ada.begin()
    assert ada.machine.push().state == "ok"
    return len(ada.called())


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_at_any_call_is_mended_by_the_next_replication(ada: Replicated, fault: Fault) -> None:
    """Once, and from that call on: from the very first replication to an empty remote."""
    ends: Counter[str] = Counter()
    outcome = ada.through(fault, once(fault, 3))  # the first one, with the agent made known and a snapshot
    ends[f"{outcome.state} {outcome.code}"] += 1
    calls = calls_of(ada, 1)
    for number in range(calls):
        for step, plan in enumerate((once(fault, number), from_then_on(fault, number))):
            ada.capture(2 * number + step + 2)
            ada.expect_all()
            outcome = ada.through(fault, plan)
            ends[f"{outcome.state} {outcome.code}"] += 1
    ada.holds()
    print(f"{fault}, {calls} calls: {dict(ends)}")
    if fault.kind in HARMLESS:
        assert set(ends) == {"ok "}
