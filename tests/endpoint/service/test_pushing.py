"""Pushes to a tenant: races, kills, faults, limits, and what is stored on the disk."""

from __future__ import annotations

import errno
import multiprocessing
import random
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.service.bundle_receiver import SentBundle
from lifeboat_vault.errors import (
    RemoteBusy,
    RemoteDamaged,
    RemoteFull,
    RemoteRefused,
    RemoteTooLarge,
    StaleBase,
    UnknownAtRemote,
)
from lifeboat_vault.remote.checks.remote_trial import RemoteTrial, TrialMachine, make_bundle
from lifeboat_vault.remote.remote_contract import RemoteBundle
from support.endpoint.spaces import TestKeys, space_in, trial
from support.failing_files import WRITES, FailingFiles
from support.killing import killed_at, steps_of
from support.patience import patience

__all__ = ["trial"]

STEPS = [
    CrashPoint.ENDPOINT_RECEIVED,
    CrashPoint.ENDPOINT_CHECKED,
    CrashPoint.ENDPOINT_ACCEPTED,
    CrashPoint.ENDPOINT_COUNTED,
]
IN_VAULT = [CrashPoint.CAPTURE_BODIES_WRITTEN, CrashPoint.CAPTURE_ROWS_WRITTEN, CrashPoint.CAPTURE_COMMITTED]


@pytest.fixture
def machine(trial: RemoteTrial) -> TrialMachine:
    """A machine with sequence 0 pushed and sequence 1 captured; its note is too large for a row."""
    made = trial.machine()
    made.begin(trial.remote)
    made.capture(raw__openclaw__LARGE=_noise(400_000))
    return made


def _noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)


def _data(sent: RemoteBundle) -> bytes:
    with sent.file:
        return sent.file.read()


def _push(folder: Path, agent_id: str, sent: RemoteBundle, **options: Any) -> None:
    with space_in(folder, **options) as space:
        space.push(agent_id, sent, machine="laptop")


def test_every_step_of_a_push_is_named(trial: RemoteTrial, machine: TrialMachine) -> None:
    seen = steps_of(lambda: machine.push(trial.remote, machine.delta(0)))
    assert [step for step in seen if step in STEPS] == STEPS
    assert [step for step in seen if step in IN_VAULT] == IN_VAULT


@pytest.mark.parametrize("step", [*STEPS, *IN_VAULT])
def test_a_push_that_is_killed_happened_or_not_and_comes_again(
    trial: RemoteTrial, machine: TrialMachine, tmp_path: Path, step: CrashPoint
) -> None:
    data = _data(machine.delta(0))
    assert killed_at(lambda: _push(tmp_path / "tenant", machine.agent_id, make_bundle("delta", 1, 0, data)), step)
    numbers = machine.numbers(trial.another())
    assert numbers == ([0, 1] if step is CrashPoint.ENDPOINT_COUNTED else [0])
    machine.push(trial.another(), make_bundle("delta", 1, 0, data))
    machine.expect_there(trial.remote)
    with trial.another().space.vault(machine.agent_id) as vault:  # type: ignore[attr-defined]
        assert vault.verify(trusted=None).findings == []


def test_of_processes_that_push_at_once_one_wins_each_time(trial: RemoteTrial, tmp_path: Path) -> None:
    laptop = trial.machine("laptop")
    laptop.begin(trial.remote)
    rivals = [trial.copy_of(laptop, f"machine {number}") for number in range(3)]
    work = []
    for number, rival in enumerate(rivals):
        rival.capture(**{f"raw__openclaw__{number}": b"written by this one"})
        work.append(_data(rival.delta(0)))
    context = multiprocessing.get_context("fork")
    taken = context.Value("i", 0)

    def go(data: bytes) -> None:
        with suppress(StaleBase, RemoteBusy):
            _push(tmp_path / "tenant", laptop.agent_id, make_bundle("delta", 1, 0, data))
            with taken.get_lock():
                taken.value += 1

    processes = [context.Process(target=go, args=(data,)) for data in work]
    for process in processes:
        process.start()
    for process in processes:
        process.join(patience())
    assert taken.value == 1
    assert [found.number for found in trial.another().sequences(laptop.agent_id)] == [0, 1]


@pytest.mark.parametrize(("reason", "error"), [(errno.ENOSPC, RemoteFull), (errno.EIO, RemoteBusy)])
def test_a_disk_that_fails_lets_nothing_happen(
    trial: RemoteTrial, machine: TrialMachine, tmp_path: Path, reason: int, error: type[LifeboatError]
) -> None:
    data = _data(machine.delta(0))
    files, failed = FailingFiles(reason), 0
    with space_in(tmp_path / "tenant", files=files) as space:
        space.agent(machine.agent_id)
        for nth in range(1, 20):
            files.nth(WRITES, nth)
            try:
                space.push(machine.agent_id, make_bundle("delta", 1, 0, data))
                break
            except error:
                failed += 1
                assert machine.numbers(trial.remote) == [0]
        files.heal()
    machine.expect_there(trial.remote)
    assert failed > 0


def test_a_database_without_room_is_a_full_endpoint(trial: RemoteTrial, machine: TrialMachine, tmp_path: Path) -> None:
    machine.capture(raw__openclaw__INLINE=_noise(200_000))
    data = _data(machine.delta(0))
    with space_in(tmp_path / "tenant") as space, space.vault(machine.agent_id) as vault:
        connection: sqlite3.Connection = vault._metadata._connection  # type: ignore[attr-defined]
        connection.execute(f"pragma max_page_count = {connection.execute('pragma page_count').fetchone()[0]}")
        with pytest.raises(RemoteFull) as full:
            space.push(machine.agent_id, make_bundle("delta", 2, 0, data))
        assert full.value.retry_after and full.value.retryable
        assert machine.numbers(trial.another()) == [0]


def test_what_is_pushed_is_nowhere_on_the_disk_in_clear(trial: RemoteTrial, tmp_path: Path) -> None:
    canary = b"the canary sings at noon"
    machine = trial.machine("the blue laptop")
    machine.capture(raw__openclaw__canary=canary * 20_000, raw__openclaw__small=canary)
    keys = {"agent_id": "invented", "secret": "the canary sings at noon"}
    machine.push(trial.remote, machine.snapshot(keys=keys))
    machine.capture(raw__openclaw__canary=canary * 20_001)
    machine.push(trial.remote, machine.delta(0))
    trial.remote.close()
    files = [path for path in (tmp_path / "tenant").rglob("*") if path.is_file()]
    assert files
    for path in files:
        data = path.read_bytes()
        for told in (b"canary", b"blue laptop", b"openclaw", b"Lifeboat remote test", b"was fine", b"PK\x03\x04"):
            assert told not in data, (path, told)


def test_nothing_is_written_beside_the_tenant_when_a_state_is_read(
    trial: RemoteTrial, machine: TrialMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a temporary file")

    machine.push(trial.remote, machine.delta(0))
    for name in ("TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile", "mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, refuse)
    trial.remote.snapshot(machine.agent_id).file.close()
    assert [each.number for each in trial.remote.deltas(machine.agent_id, 0)] == [1]
    machine.capture()
    machine.push(trial.remote, machine.delta(1))


def test_more_than_is_taken_is_refused(trial: RemoteTrial, machine: TrialMachine, tmp_path: Path) -> None:
    sent = machine.delta(0)
    few = {"bundle_bytes": sent.size - 1}
    with space_in(tmp_path / "tenant", limited=few) as space, pytest.raises(RemoteTooLarge):
        space.push(machine.agent_id, sent)
    with space_in(tmp_path / "tenant", limited={"entry_bytes": 1000}) as space, pytest.raises(RemoteRefused):
        space.push(machine.agent_id, machine.delta(0))


def test_a_quota_that_is_used_up_asks_to_wait(trial: RemoteTrial, machine: TrialMachine, tmp_path: Path) -> None:
    with space_in(tmp_path / "tenant", limited={"tenant_bytes": 300_000}) as space:
        with pytest.raises(RemoteFull):
            space.push(machine.agent_id, machine.delta(0))
        assert machine.numbers(trial.another()) == [0]


def test_a_damaged_vault_is_said_without_a_path(trial: RemoteTrial, machine: TrialMachine, tmp_path: Path) -> None:
    trial.remote.close()
    vault = next((tmp_path / "tenant" / "agents").rglob("vault.db"))
    vault.write_bytes(b"no database at all" * 300)
    with space_in(tmp_path / "tenant") as space, pytest.raises(RemoteDamaged) as damaged:
        space.push(machine.agent_id, machine.delta(0))
    assert str(tmp_path) not in damaged.value.message


def test_a_push_says_whether_it_made_the_head(trial: RemoteTrial, machine: TrialMachine, tmp_path: Path) -> None:
    sent = machine.delta(0)
    data = _data(sent)
    with space_in(tmp_path / "tenant") as space:
        found = [
            space.receive(machine.agent_id, SentBundle("delta", make_bundle("delta", 1, 0, data).file, len(data))).fresh
            for _ in range(2)
        ]
    assert found == [True, False]


def test_a_rotation_elsewhere_does_not_disturb_a_space_that_is_open(trial: RemoteTrial, tmp_path: Path) -> None:
    keys = TestKeys()
    with space_in(tmp_path / "other", keys) as server, space_in(tmp_path / "other", keys) as command:
        laptop = trial.machine()
        server.register(laptop.agent_id, "Ada", "openclaw")
        laptop.capture()
        server.push(laptop.agent_id, laptop.snapshot(keys={"wrapped": 1}))
        keys.rotate()
        laptop.capture()
        server.push(laptop.agent_id, laptop.delta(0))
        command.reseal()
        laptop.capture()
        server.push(laptop.agent_id, laptop.delta(1))
        assert [each.number for each in server.sequences(laptop.agent_id)] == [0, 1, 2]
        assert server.keys(laptop.agent_id) == {"wrapped": 1}


def test_after_resealing_the_old_key_opens_nothing(trial: RemoteTrial, machine: TrialMachine, tmp_path: Path) -> None:
    keys = TestKeys()
    with space_in(tmp_path / "other", keys) as space:
        space.register(machine.agent_id, "Ada", "openclaw")
        space.push(machine.agent_id, machine.snapshot(keys={"wrapped": 1}))
        keys.rotate()
        space.reseal()

    class OnlyNew(TestKeys):
        def sealer_of(self, key_id: str, agent_id: str | None = None) -> Any:
            assert key_id == f"{2:012x}", "an older key was asked for"
            return super().sealer_of(key_id, agent_id)

    only = OnlyNew()
    only.rotate()
    with space_in(tmp_path / "other", only) as space:
        assert space.agent(machine.agent_id).name == "Ada" and space.keys(machine.agent_id) == {"wrapped": 1}
        space.snapshot(machine.agent_id).file.close()


def test_a_removed_agent_is_gone_for_whoever_has_it_open(
    trial: RemoteTrial, machine: TrialMachine, tmp_path: Path
) -> None:
    server, command = trial.another(), trial.another()
    machine.push(server, machine.delta(0))
    command.remove_agent(machine.agent_id)  # type: ignore[attr-defined]
    with pytest.raises(UnknownAtRemote):
        machine.push(server, machine.delta(0))
    assert not (tmp_path / "tenant" / "agents" / machine.agent_id).exists()
    server.register(machine.agent_id, "again", "openclaw")
    machine.push(server, machine.snapshot())
    assert machine.numbers(command) == [1]
