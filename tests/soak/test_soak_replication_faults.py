"""Whatever happens to a call of a replication: what is said of the second copy is so, the next replication mends it,
and what it has restores byte for byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.core.faulty_transport import (
    FAULTS,
    HARMLESS,
    MADE_UP,
    Fault,
    Kind,
    from_then_on,
    impatient,
    no_fault,
    once,
)
from support.core.invariants import every_kept_sequence_has_its_digest
from support.core.replicated import (
    HONEST,
    SEEN,
    Replicated,
    behind_a_proxy,
    in_a_folder,
    in_parts,
    in_this_process,
    machine_in,
)
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

pytestmark = pytest.mark.timeout(1800)

WHOLLY = ("HTTP", "in process")
"""Remotes that every fault is tried with; the others with those that make a difference where the bytes are the same."""
PARTLY = ("HTTP in parts", "HTTP sealed", "folder", "folder in clear")
TELLING = (Kind.LOSE_REQUEST, Kind.LOSE_ANSWER, Kind.TWICE, Kind.CUT_ANSWER)
CASES = [
    *((kind, fault) for kind in WHOLLY for fault in FAULTS),
    *((kind, fault) for kind in PARTLY for fault in FAULTS if fault.kind in TELLING and fault.at == 0.5),
]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True) as running:
        yield running


@pytest.fixture
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


@pytest.mark.parametrize(("ada", "fault"), CASES, indirect=["ada"], ids=str)
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


@pytest.mark.parametrize(("ada", "fault"), CASES, indirect=["ada"], ids=str)
def test_a_fault_at_any_call_of_a_purge_is_mended_by_the_next_replication(ada: Replicated, fault: Fault) -> None:
    """Told, destroyed and signed for, with everything that was captured meanwhile."""
    ada.capture(0)
    assert ada.push().state == "ok"
    for number in range(14):
        for step, plan in enumerate((once(fault, number), from_then_on(fault, number))):
            redaction = ada.purge(2 * number + step)
            ada.capture(2 * number + step + 1)
            ada.through(fault, plan)
            assert ada.is_told(redaction)
    ada.holds()


# Whatever comes ---------------------------------------------------------------------------------------------------

STEPS = st.one_of(
    st.just("capture"),
    st.tuples(
        st.sampled_from(["home", "stick"]),
        st.sampled_from([None, *FAULTS]),
        st.integers(0, 24),
        st.booleans(),
    ),
)
"""A capture, or a replication to one of both with a fault at the nth call, or from it on."""


@given(st.lists(STEPS, min_size=4, max_size=14))
@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_happens_to_two_second_copies_both_hold(
    tmp_path_factory: pytest.TempPathFactory, endpoint: RunningEndpoint, schedule: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("random")
    ada = Replicated(machine_in(folder / "laptop"))
    with (
        pytest.MonkeyPatch.context() as patch,
        behind_a_proxy(ada, endpoint),
        in_a_folder(ada, folder / "stick", patch, "stick"),
    ):
        impatient(patch)
        for number, step in enumerate(schedule):
            if step == "capture":
                ada.capture(number)
                continue
            name, fault, nth, always = step
            plan = no_fault if fault is None else (from_then_on if always else once)(fault, nth)
            outcome = ada.push(plan, name)
            assert outcome.state in HONEST or (fault is not None and fault.kind in MADE_UP and outcome.code in SEEN)
            ada.holds(name, newest=2)
        for name in ("home", "stick"):
            assert ada.push(name=name).state == "ok"
            ada.holds(name)
    every_kept_sequence_has_its_digest(ada.machine.context, ada.machine.agent)
