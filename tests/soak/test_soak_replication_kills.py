"""Endpoint and client killed at every step of what they do for each other: all goes on, and all that was said holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import data_key_rotation, tenant_care
from support.core.faulty_transport import impatient
from support.core.invariants import an_endpoint_is_whole, an_outcome_is_honest, every_kept_sequence_has_its_digest
from support.core.machines import Machine
from support.core.replicated import SECRET, Replicated, in_parts, machine_in, nothing_shows
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint, until_ended
from support.killing import killed_at

pytestmark = pytest.mark.timeout(1800)

PURGE = (CrashPoint.ENDPOINT_REDACTED, CrashPoint.ENDPOINT_ERASED)  # no push comes to these: test_soak_purge_kills
ENDPOINT = [step for step in CrashPoint if step.name.startswith("ENDPOINT_")]
PUSH = [step for step in ENDPOINT if step not in PURGE and not step.name.startswith("ENDPOINT_MIGRATE_")]
IN_VAULT = [CrashPoint.CAPTURE_BODIES_WRITTEN, CrashPoint.CAPTURE_ROWS_WRITTEN, CrashPoint.CAPTURE_COMMITTED]
REENCRYPT = [step for step in CrashPoint if step.name.startswith("REENCRYPT_")]
REPLICATE = [step for step in CrashPoint if step.name.startswith("REPLICATE_")]
ADOPT = [step for step in CrashPoint if step.name.startswith("ADOPT_")]
SEALED = [CrashPoint.SEALED_FILE_WRITTEN, CrashPoint.SEALED_HEAD_REPLACED]


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path / "there", plain=True) as running:
        yield running


@pytest.fixture
def ada(tmp_path: Path, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replicated]:
    impatient(monkeypatch)
    made = Replicated(machine_in(tmp_path / "laptop"))
    joined(made, endpoint)
    yield made
    assert made.machine.push().state == "ok"
    made.holds()
    every_kept_sequence_has_its_digest(made.machine.context, made.machine.agent)
    endpoint.kill()
    an_endpoint_is_whole(endpoint.data)
    nothing_shows(endpoint.data)
    assert SECRET not in endpoint.log


def joined(agent: Replicated, endpoint: RunningEndpoint, *, sealed: bool = False) -> None:
    agent.machine.add_remote("home", endpoint.url, token=endpoint.token, sealed=sealed)
    agent.straight["home"] = agent.machine.remote()


# The endpoint -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [False, True], ids=["at once", "in parts"])
@pytest.mark.parametrize("begun", [False, True], ids=["snapshot", "delta"])
@pytest.mark.parametrize("step", [*PUSH, *IN_VAULT])
def test_an_endpoint_killed_at_a_push(
    ada: Replicated,
    endpoint: RunningEndpoint,
    step: CrashPoint,
    begun: bool,
    parts: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if parts:
        in_parts(monkeypatch)
    if begun:
        assert ada.machine.push().state == "ok"
    ada.machine.write("large.md", "A line of a note that lies in a file of its own.\n" * 8000)
    ada.capture(1)
    endpoint.restart(dies=(step, 1))
    outcome = ada.machine.push()
    assert (outcome.state, outcome.code) == ("waiting", "remote_unreachable")
    until_ended(endpoint)
    ada.capture(2)  # and one more, while nobody knows whether it arrived
    endpoint.start()
    again = ada.machine.push()
    assert again.state == "ok"
    an_outcome_is_honest(ada.machine.context, ada.machine.known_agent, ada.straight["home"], again)


@pytest.mark.parametrize("step", IN_VAULT)
@pytest.mark.parametrize("nth", [1, 2])
def test_an_endpoint_killed_while_it_takes_what_travels_apart(
    ada: Replicated, endpoint: RunningEndpoint, step: CrashPoint, nth: int
) -> None:
    """Keys, signatures, large files: whichever of them comes to the step, after the push did or before."""
    assert ada.machine.push().state == "ok"
    ada.machine.write("film.bin", bytes(range(256)) * 4000)
    ada.capture(1)
    ada.expect_all()
    endpoint.restart(dies=(step, nth))
    outcome = ada.machine.push()
    if outcome.state == "ok":
        endpoint.kill()
    else:
        assert outcome.state == "waiting"
        until_ended(endpoint)
    endpoint.start()
    assert ada.machine.push().state == "ok"


@pytest.mark.parametrize("step", REENCRYPT)
@pytest.mark.parametrize("alone", [False, True], ids=["while it serves", "while nobody serves"])
def test_a_rotation_killed_at_any_step(
    ada: Replicated, endpoint: RunningEndpoint, step: CrashPoint, alone: bool
) -> None:
    """What was pushed before it restores, what comes after it is taken, and the rotation is made up for."""
    assert ada.machine.push().state == "ok"
    if alone:
        endpoint.kill()
    assert killed_at(lambda: rotated(endpoint.data), step)
    if alone:
        endpoint.start()
    ada.holds()
    ada.capture(1)
    assert ada.machine.push().state == "ok"
    rotated(endpoint.data)
    ada.holds()
    ada.capture(2)
    assert ada.machine.push().state == "ok"


def rotated(data: Path) -> None:
    """What whoever runs it does."""
    with Endpoint.open(data) as endpoint:
        for tenant in endpoint.control.tenants():
            data_key_rotation.rotate_keys(endpoint, tenant)
            tenant_care.compact_tenant(endpoint, tenant)


# The client -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [False, True], ids=["snapshot", "delta"])
@pytest.mark.parametrize("step", REPLICATE)
def test_a_replication_killed_at_any_step(ada: Replicated, step: CrashPoint, begun: bool) -> None:
    if begun:
        assert ada.machine.push().state == "ok"
    ada.capture(1)
    ada.expect_all()
    assert killed_at(ada.machine.push, step)
    ada.holds()
    ada.capture(2)
    again = ada.machine.push()
    assert again.state == "ok"
    an_outcome_is_honest(ada.machine.context, ada.machine.known_agent, ada.straight["home"], again)


@pytest.mark.parametrize("nth", range(1, 5))
@pytest.mark.parametrize("step", SEALED)
@pytest.mark.parametrize("there", ["folder", "endpoint"])
def test_a_push_to_a_sealed_log_killed_at_any_step(
    tmp_path: Path, endpoint: RunningEndpoint, there: str, step: CrashPoint, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)
    made = Replicated(machine_in(tmp_path / "laptop"))
    if there == "endpoint":
        joined(made, endpoint, sealed=True)
    else:
        (tmp_path / "stick").mkdir()
        made.machine.add_remote("home", (tmp_path / "stick").as_uri(), sealed=True)
        made.straight["home"] = made.machine.remote()
    if nth > 2:
        assert made.machine.push().state == "ok"
    made.capture(1)
    made.expect_all()
    killed_at(made.machine.push, step, nth if nth <= 2 else nth - 2)
    made.holds()
    made.capture(2)
    assert made.machine.push().state == "ok"
    made.holds()
    every_kept_sequence_has_its_digest(made.machine.context, made.machine.agent)
    nothing_shows(endpoint.data if there == "endpoint" else tmp_path / "stick")


@pytest.mark.parametrize(
    ("step", "own"), [*((step, False) for step in ADOPT), *((step, True) for step in ADOPT[1:])], ids=str
)
def test_an_adoption_killed_at_any_step(
    ada: Replicated, endpoint: RunningEndpoint, tmp_path: Path, step: CrashPoint, own: bool
) -> None:
    """The same command goes on where it was cut off. Its `own` history does not have to be fetched first."""
    laptop = ada.machine
    assert laptop.push().state == "ok"
    if not own:
        moved_away(laptop, endpoint, tmp_path / "desktop")
        laptop.write("MEMORY.md", "# Memory\n\nWritten on the laptop.\n")
        laptop.capture()
    assert killed_at(lambda: taken_over(laptop), step)
    taken_over(laptop)
    laptop.write("MEMORY.md", "# Memory\n\nWritten on the laptop, once more.\n")
    laptop.capture()


def taken_over(laptop: Machine) -> None:
    """The desktop is another machine of the same name."""
    laptop.adopt(take_over=laptop.context.keys().own_name)


def moved_away(laptop: Machine, endpoint: RunningEndpoint, folder: Path) -> None:
    """The agent lives on another machine, which wrote."""
    desktop = Machine(folder)
    desktop.learn_words_of(laptop)
    desktop.add_remote("home", endpoint.url, token=endpoint.token)
    desktop.bring_back(laptop.agent.id, folder / "new", take_over=laptop.context.keys().own_name)
    (folder / "new" / "MEMORY.md").write_text("# Memory\n\nWritten on the desktop.\n")
    assert desktop.capture_and_push().state == "ok"
