"""A tenant of an endpoint: its agents, reading, and sizes."""

from __future__ import annotations

import errno
import hashlib
import random
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_endpoint.service.tenant_tables import open_tables
from lifeboat_vault.errors import RemoteFull, RemoteRefused, RemoteTooLarge, UnknownAtRemote, VaultDamaged
from lifeboat_vault.remote.checks.remote_trial import NOTE, RemoteTrial, TrialMachine
from lifeboat_vault.vault import EntryPut
from support.descriptors import descriptors_left, needs_limits
from support.endpoint.in_process_remote import InProcessRemote
from support.endpoint.spaces import remote_in, space_in, trial
from support.failing_files import WRITES, FailingFiles
from support.vault.vaults import ManualClock

__all__ = ["trial"]

FILM = b"tier three " * 40_000
DIGEST = hashlib.sha256(FILM).hexdigest()


@pytest.fixture
def space(trial: RemoteTrial) -> TenantSpace:
    remote = trial.remote
    assert isinstance(remote, InProcessRemote)
    return remote.space


def _with_film(trial: RemoteTrial) -> TrialMachine:
    machine = trial.machine()
    attachment = {"id": trial.unknown_agent(), "media_type": "video/mp4", "tier": 3}
    machine.commit({"artifacts/film.mp4": EntryPut({"attachment": attachment}, FILM)})
    machine.push(trial.remote, machine.snapshot())
    return machine


# Agents ---------------------------------------------------------------------------------------------------------------


def test_agents_come_in_pages_by_id(space: TenantSpace) -> None:
    for number in range(5):
        space.register(f"agent-{number}", f"name {number}", "openclaw")
    first = space.agents_page("", 2)
    assert [agent.id for agent in first] == ["agent-0", "agent-1"]
    assert [agent.id for agent in space.agents_page("agent-1", 9)] == ["agent-2", "agent-3", "agent-4"]
    assert space.agent_ids() == [agent.id for agent in space.agents()]


@pytest.mark.parametrize("agent_id", ["", "..", "../x", "a/b", "a b", "é", "x" * 65, "a\0b", ".hidden", "a'--"])
def test_an_id_that_is_none_is_refused(space: TenantSpace, tmp_path: Path, agent_id: str) -> None:
    with pytest.raises(RemoteRefused):
        space.register(agent_id, "name", "openclaw")
    assert space.agent_ids() == [] and not (tmp_path / "tenant" / "agents").exists()


def test_it_is_told_whether_an_agent_is_new(space: TenantSpace) -> None:
    assert [space.register_new("agent", "name", "openclaw")[1] for _ in range(2)] == [True, False]


def test_a_sealed_agent_is_never_read(space: TenantSpace, trial: RemoteTrial) -> None:
    space.register("agent", "name", "openclaw", sealed=True)
    machine = trial.machine()
    machine.capture()
    assert space.is_sealed("agent") and space.agent("agent").head is None
    for work in (
        lambda: space.push("agent", machine.snapshot()),
        lambda: space.snapshot("agent"),
        lambda: space.uploads.begin("agent", "snapshot"),
        lambda: space.put_keys("agent", {}),
    ):
        with pytest.raises(RemoteRefused):
            work()


def test_the_tables_of_another_tenant_are_not_taken_for_its_own(space: TenantSpace, tmp_path: Path) -> None:
    assert space.agent_ids() == []
    with pytest.raises(VaultDamaged):
        open_tables(tmp_path / "tenant", "somebody else", SystemFiles(), ManualClock())


def test_an_agent_that_could_not_be_made_is_not_there(tmp_path: Path) -> None:
    files = FailingFiles(errno.ENOSPC)
    with space_in(tmp_path / "tenant", files=files) as space:
        for nth in range(1, 20):
            files.nth(WRITES, nth)
            try:
                space.register("agent", "name", "openclaw")
                break
            except RemoteFull:
                assert space.agent_ids() == []
        assert nth > 2 and space.agent_ids() == ["agent"]


def test_all_of_a_removed_agent_is_gone(trial: RemoteTrial, space: TenantSpace, tmp_path: Path) -> None:
    machine = _with_film(trial)
    space.put_object(machine.agent_id, DIGEST, FILM)
    space.uploads.put_body(space.uploads.begin(machine.agent_id, "snapshot").id, [b"x" * 100])
    before = space.size()
    space.remove_agent(machine.agent_id)
    files = [path for path in (tmp_path / "tenant").rglob("*") if path.is_file()]
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in files} == {"tenant.db"}
    assert before > 0 and space.size() == 0
    with pytest.raises(UnknownAtRemote):
        space.remove_agent(machine.agent_id)


# Reading --------------------------------------------------------------------------------------------------------------


def test_items_of_a_state_are_read_by_name(trial: RemoteTrial, space: TenantSpace) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=2)
    state = machine.vault.state(0)
    record = next(state.records())
    found = space.read(machine.agent_id, 0, [NOTE, "raw/nothing"], [record.id, "nobody"])
    assert found == [state.body(NOTE), None, record.line, None]
    with pytest.raises(UnknownAtRemote):
        space.read(machine.agent_id, 9, [NOTE], [])


def test_a_delta_leads_over_several_states_and_never_back(trial: RemoteTrial, space: TenantSpace) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=4)
    got = space.delta(machine.agent_id, 0, 3)
    assert (got.kind, got.base, got.number) == ("delta", 0, 3)
    for base, number in ((3, 0), (2, 2), (0, 9), (8, 9)):
        with pytest.raises(UnknownAtRemote):
            space.delta(machine.agent_id, base, number)


# Large artifacts ------------------------------------------------------------------------------------------------------


def test_a_large_artifact_lies_encrypted_and_counts(trial: RemoteTrial, space: TenantSpace, tmp_path: Path) -> None:
    machine = _with_film(trial)
    space.put_object(machine.agent_id, DIGEST, FILM)
    assert space.missing(machine.agent_id, [DIGEST]) == []
    agent = space.agent(machine.agent_id)
    assert agent.bytes == space.recount(machine.agent_id) == space.size() > 0
    for path in (tmp_path / "tenant").rglob("*"):
        assert not path.is_file() or b"tier three" not in path.read_bytes()
    with space.vault(machine.agent_id) as vault:
        assert vault.verify(trusted=None).findings == []
        assert [row.kind for row in vault.audit_rows()][-1] == "fill"


def test_an_artifact_that_several_states_name_is_kept_for_all(trial: RemoteTrial, space: TenantSpace) -> None:
    machine = _with_film(trial)
    attachment = {"id": trial.unknown_agent(), "media_type": "video/mp4", "tier": 3}
    machine.commit({"artifacts/copy.mp4": EntryPut({"attachment": attachment}, FILM)})
    machine.push(trial.remote, machine.delta(0))
    space.put_object(machine.agent_id, DIGEST, FILM)
    found = space.read(machine.agent_id, 1, ["artifacts/film.mp4", "artifacts/copy.mp4"], [])
    assert found == [FILM, FILM]


def test_an_artifact_that_nothing_names_or_that_is_too_large_is_refused(
    trial: RemoteTrial, space: TenantSpace, tmp_path: Path
) -> None:
    machine = _with_film(trial)
    other = b"never named"
    with pytest.raises(UnknownAtRemote):
        space.put_object(machine.agent_id, hashlib.sha256(other).hexdigest(), other)
    for digest in ("..", "X" * 64, DIGEST[:-1]):
        with pytest.raises(RemoteRefused):
            space.put_object(machine.agent_id, digest, FILM)
    with space_in(tmp_path / "tenant", limited={"object_bytes": 1000}) as small, pytest.raises(RemoteTooLarge):
        small.put_object(machine.agent_id, DIGEST, FILM)
    with space_in(tmp_path / "tenant", limited={"tenant_bytes": 1000}) as poor, pytest.raises(RemoteFull):
        poor.put_object(machine.agent_id, DIGEST, FILM)
    assert space.missing(machine.agent_id, [DIGEST, "..", "X"]) == [DIGEST]


def test_damage_at_the_endpoint_is_found(trial: RemoteTrial, tmp_path: Path) -> None:
    machine = _with_film(trial)
    trial.remote.put_object(machine.agent_id, machine.file_key("artifacts/film.mp4"), FILM)
    for path in (tmp_path / "tenant" / "agents").rglob("objects/*"):
        path.unlink()
    state = machine.vault.state()
    found = trial.another().verify(machine.agent_id, state, bodies=50, chance=random.Random(1))
    assert found.findings == [] and found.items > 0  # bytes that have not arrived do not count
    machine.commit({"raw/openclaw/large": EntryPut({}, random.Random(1).randbytes(400_000))})
    machine.push(trial.another(), machine.delta(0))
    body = next((tmp_path / "tenant" / "agents").rglob("objects/*"))
    body.write_bytes(body.read_bytes()[:-1])
    found = trial.another().verify(machine.agent_id, machine.vault.state(), bodies=50, chance=random.Random(1))
    assert not found.ok


@needs_limits
def test_what_others_push_is_seen_where_a_vault_could_only_be_read_when_it_was_opened(
    trial: RemoteTrial, tmp_path: Path
) -> None:
    """As on a full disk: SQLite needs more descriptors to write than to read the file."""
    machine = trial.machine()
    first = remote_in(tmp_path / "tenant")
    base = machine.begin(first).number
    first.close()
    server, other = remote_in(tmp_path / "tenant"), remote_in(tmp_path / "tenant")
    with descriptors_left(1):
        assert machine.numbers(server) == [base]
    for remote in (other, server):  # the second one goes on top of what the first one took
        machine.capture()
        base = machine.push(remote, machine.delta(base)).number
        assert machine.numbers(server)[-1] == base
    server.close()
    other.close()
