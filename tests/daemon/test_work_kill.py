"""A worker is killed at each of its steps, and at each step of its capture. Committed data stays, the next worker
completes the work, and the daemon reports it and continues."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.errors import WorkerFailed
from support.core import invariants
from support.core.harbour import Harbour, harbour
from support.daemon import offices, work_program
from support.daemon.offices import Office

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the system has no SIGKILL")

BEFORE_THE_COMMIT = (
    CrashPoint.WORKER_BEGUN,
    CrashPoint.CAPTURE_SCANNED,
    CrashPoint.CAPTURE_READ,
    CrashPoint.CAPTURE_DERIVED,
    CrashPoint.CAPTURE_BODIES_WRITTEN,
    CrashPoint.CAPTURE_ROWS_WRITTEN,
    CrashPoint.CAPTURE_COMMITTED,
)
AFTER_THE_COMMIT = (CrashPoint.CAPTURE_CACHED, CrashPoint.WORKER_DONE, CrashPoint.WORKER_TOLD)


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Harbour:
    """Make one agent for all tests of this file. Every test leaves it intact."""
    return harbour(tmp_path_factory.mktemp("kill"))


@pytest.fixture
def office(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    for name in ("HOME", "LIFEBOAT_HOME", "PATH"):
        monkeypatch.setenv(name, ada.context.environment[name])
    with offices.office() as made:
        yield made


def test_every_step_of_a_worker_is_known_here() -> None:
    known = {*BEFORE_THE_COMMIT, *AFTER_THE_COMMIT, CrashPoint.WORKER_READY}
    assert known == {step for step in CrashPoint if step.name.startswith(("WORKER_", "CAPTURE_"))}


@pytest.mark.parametrize("step", [*BEFORE_THE_COMMIT, *AFTER_THE_COMMIT])
def test_a_worker_that_is_killed_at_a_capture_kept_all_or_nothing(
    ada: Harbour, office: Office, step: CrashPoint
) -> None:
    head = ada.head
    (ada.workspace / f"{step}.md").write_bytes(f"{step} {head}".encode() * 20_000)
    office.workers._command = work_program.killed_at(step)
    with pytest.raises(WorkerFailed, match="SIGKILL"):
        office.do("capture", ada.agent.id)
    assert ada.head == head + (step in AFTER_THE_COMMIT)
    invariants.the_audit_chain_is_whole(ada.context, ada.agent)
    assert capture_agent(ada.context, ada.agent).changed == (step in BEFORE_THE_COMMIT)
    assert ada.head == head + 1
    invariants.every_kept_sequence_has_its_digest(ada.context, ada.agent)


def test_a_worker_that_is_killed_before_it_is_there_is_started_again(ada: Harbour, office: Office) -> None:
    office.workers._command = work_program.killed_at(CrashPoint.WORKER_READY)
    with pytest.raises(WorkerFailed, match="before it was ready"):
        office.do("capture", ada.agent.id)
    office.workers._command = work_program.command()
    office.workers._not_before = 0.0
    assert office.do("capture", ada.agent.id)["capture"]["state"] == "ok"


def test_after_all_of_it_everything_that_must_hold_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = harbour(tmp_path)
    for name in ("HOME", "LIFEBOAT_HOME", "PATH"):
        monkeypatch.setenv(name, ada.context.environment[name])
    ada.day_passes()
    (ada.workspace / "chart.md").write_text("# Chart\n\nThe reef.\n" * 20_000)
    with offices.office() as office:
        office.workers._command = work_program.killed_at(CrashPoint.CAPTURE_ROWS_WRITTEN)
        with pytest.raises(WorkerFailed):
            office.do("capture", ada.agent.id)
        office.workers._command = work_program.command()
        assert office.do("capture", ada.agent.id)["capture"]["changed"]
    invariants.always(ada.context, ada.agent, ada.trees)
