"""Clients that sign nothing: accepted until a device of Lifeboat writes the agent, and held when most of the memory
goes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.memory import memory_records
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_endpoint.service import accident_guard
from lifeboat_endpoint.service.bundle_receiver import PushResult, SentBundle
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import RemoteRefused, StaleBase, UnknownAtRemote
from lifeboat_vault.remote.checks.remote_trial import NAME, TrialMachine
from lifeboat_vault.vault import Vault, draft_of_state
from support.endpoint import reference_archives as reference
from support.endpoint.spaces import space_in
from support.vault.vaults import ManualClock

TOPICS = [f"Topic {number}" for number in range(10)]


class Client:
    """The older client with one workspace."""

    def __init__(self, space: TenantSpace, workspace: Path) -> None:
        self.space = space
        self.workspace = workspace
        workspace.mkdir()
        self.write(TOPICS)
        self.agent_id = reference.agent_id(workspace)
        space.register(self.agent_id, "Ada", "openclaw")

    def write(self, topics: list[str]) -> None:
        text = "".join(f"## {topic}\n\nAll about {topic}.\n\n" for topic in topics)
        (self.workspace / "MEMORY.md").write_text(f"# Memory\n\n{text}")

    def snapshot(self) -> PushResult:
        data = reference.write_snapshot(reference.export(self.workspace))
        return self._send(SentBundle("snapshot", io.BytesIO(data), len(data)))

    def delta(self, before: list[str], after: list[str], base: int) -> PushResult:
        self.write(before)
        old = reference.export(self.workspace).records
        self.write(after)
        changes = reference.compare(old, reference.export(self.workspace).records)
        manifest = {"created_at": "2026-11-20T12:00:00Z", "agent": {"id": self.agent_id}}
        self.sent = reference.write_delta(manifest, changes, base)
        return self.send_again(base)

    def send_again(self, base: int) -> PushResult:
        """Send the last delta again, byte for byte."""
        return self._send(SentBundle("delta", io.BytesIO(self.sent), len(self.sent), base))

    def _send(self, sent: SentBundle) -> PushResult:
        return self.space.receive(self.agent_id, sent)

    @property
    def numbers(self) -> list[int]:
        return [found.number for found in self.space.sequences(self.agent_id)]

    @property
    def held(self) -> object:
        return self.space.agent(self.agent_id).held

    def pins(self) -> dict[int, list[str]]:
        with self.space.vault(self.agent_id) as vault:
            return {row.number: [pin.reason for pin in row.pins] for row in vault.sequences() if row.pins}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def client(tmp_path: Path, clock: ManualClock) -> Iterator[Client]:
    with space_in(tmp_path / "tenant", clock=clock) as space:
        yield Client(space, tmp_path / "workspace")


@pytest.fixture
def device(client: Client, tmp_path: Path) -> Iterator[TrialMachine]:
    with Vault.create(tmp_path / "device", client.agent_id) as vault:
        yield TrialMachine(client.agent_id, vault, DeviceKey.generate(UserKey.generate()), NAME)


def test_its_snapshots_and_deltas_are_numbered_here(client: Client) -> None:
    assert (client.snapshot().head.number, client.numbers) == (0, [0])
    received = client.delta(TOPICS, [*TOPICS, "Cello"], 0)
    assert (received.head.number, received.fresh) == (1, True)
    client.write([*TOPICS, "Cello", "Oboe"])
    assert client.snapshot().head.number == 2
    assert client.numbers == [0, 1, 2] and client.held is None


def test_a_delta_for_an_older_state_names_the_newest(client: Client) -> None:
    client.snapshot()
    client.delta(TOPICS, [*TOPICS, "Cello"], 0)
    with pytest.raises(StaleBase) as stale:
        client.delta(TOPICS, [*TOPICS, "Oboe"], 0)
    assert stale.value.sequence == 1 and client.numbers == [0, 1]


def test_a_delta_on_a_state_of_another_service_begins_an_agent_that_is_held(client: Client) -> None:
    client.space.remove_agent(client.agent_id)
    received = client.delta(TOPICS, [*TOPICS, "Cello"], 6)
    assert (received.head.number, received.fresh, client.numbers) == (7, True, [7])
    held = {
        "reason": "the content of sequence 6 exists only at the service that the agent used before",
        "previous": None,
    }
    assert client.held == held and client.space.agent(client.agent_id).runtime == "openclaw"
    assert client.send_again(6).fresh is False
    assert client.delta([*TOPICS, "Cello"], [*TOPICS, "Horn"], 7).head.number == 8
    with pytest.raises(RemoteRefused, match="exists only at the service that the agent used before"):
        client.space.check_whole(client.agent_id)
    assert client.held == held and "Horn" in memories(client)
    client.snapshot()
    assert client.held is None and client.numbers == [7, 8, 9]
    client.space.check_whole(client.agent_id)
    assert {"Topic 1", "Horn"} <= memories(client)


def test_changes_are_kept_whole_also_after_the_operator_accepted_a_part(client: Client) -> None:
    client.space.remove_agent(client.agent_id)
    client.delta(TOPICS, [*TOPICS, "Cello"], 6)
    assert client.space.accept_held(client.agent_id)
    client.delta([*TOPICS, "Cello"], ["Renamed", *TOPICS[1:], "Cello"], 7)
    assert {"Renamed", "Cello"} <= memories(client) and client.held is None


def test_a_signed_delta_begins_no_agent(client: Client, device: TrialMachine) -> None:
    device.capture()
    device.capture()
    client.space.remove_agent(client.agent_id)
    with pytest.raises(UnknownAtRemote):
        client.space.push(client.agent_id, device.delta(0))
    assert client.space.agent_ids() == []


def memories(client: Client) -> set[str]:
    """Return the headings of all memories at the endpoint."""
    with client.space.vault(client.agent_id) as vault:
        found = (memory_records.parse_record(record.line) for record in vault.state().records())
        return {one["raw_source_format"].get("heading") for one in found}


def test_once_a_device_of_lifeboat_writes_the_agent_it_writes_no_more(client: Client, device: TrialMachine) -> None:
    device.capture()
    client.space.push(client.agent_id, device.snapshot())
    for send in (client.snapshot, lambda: client.delta(TOPICS, [*TOPICS, "Cello"], 0)):
        with pytest.raises((StaleBase, RemoteRefused)):
            send()
    assert client.numbers == [0]


def test_most_of_the_memory_gone_in_a_snapshot_is_held_and_the_state_before_pinned(client: Client) -> None:
    client.snapshot()
    client.write(TOPICS[:2])
    client.snapshot()
    assert client.numbers == [0, 1]
    assert client.held == {"reason": "8 of 11 memories were removed at once", "previous": 0}
    assert client.pins() == {0: ["held"]}


def test_most_of_the_memory_gone_in_a_delta_is_held(client: Client) -> None:
    client.snapshot()
    client.delta(TOPICS, TOPICS[:3], 0)
    assert client.held == {"reason": "7 of 11 memories were removed at once", "previous": 0}


def test_losses_add_up_over_a_day(client: Client, clock: ManualClock) -> None:
    client.snapshot()
    for step, left in enumerate((7, 4)):
        clock.moment += timedelta(hours=3)
        client.delta(TOPICS[: 7 if step else 10], TOPICS[:left], step)
        assert (client.held is None) == (step == 0)
    assert client.held == {"reason": "6 of 11 memories were removed within a day", "previous": 0}


def test_all_that_a_small_agent_knew_is_held_when_it_goes(client: Client) -> None:
    client.write(TOPICS[:1])
    client.snapshot()
    (client.workspace / "MEMORY.md").unlink()
    client.snapshot()
    assert client.held == {"reason": "2 of 2 memories were removed at once", "previous": 0}
    assert client.pins() == {0: ["held"]}
    client.write(TOPICS[:1])
    client.snapshot()
    assert client.held is None and client.pins() == {}


def test_a_small_agent_may_lose_a_part(client: Client) -> None:
    client.write(TOPICS[:2])
    client.snapshot()
    client.write([])
    client.snapshot()
    assert client.held is None


SOULS = ["SOUL", "IDENTITY", "USER", "AGENTS", "TOOLS"]


def test_most_files_gone_in_a_snapshot_are_held_though_every_memory_is_there(client: Client) -> None:
    for name in SOULS:
        (client.workspace / f"{name}.md").write_text(f"# {name}\n")
    client.snapshot()
    for name in SOULS:
        (client.workspace / f"{name}.md").unlink()
    client.snapshot()
    assert client.held == {"reason": "5 of 6 files were removed at once", "previous": 0}
    for name in SOULS[:3]:
        (client.workspace / f"{name}.md").write_text(f"# {name}\n")
    client.snapshot()
    assert client.held is None and client.pins() == {}


def test_some_files_may_go(client: Client) -> None:
    for name in SOULS:
        (client.workspace / f"{name}.md").write_text(f"# {name}\n")
    client.snapshot()
    for name in SOULS[:3]:
        (client.workspace / f"{name}.md").unlink()
    client.snapshot()
    assert client.held is None


def test_a_few_memories_may_go(client: Client) -> None:
    client.snapshot()
    client.delta(TOPICS, TOPICS[3:], 0)
    assert client.held is None and client.pins() == {}


def test_where_nothing_can_have_been_lost_no_memory_is_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.snapshot()
    monkeypatch.setattr(accident_guard, "list_memories", lambda state: pytest.fail("the whole memory was read"))
    client.delta(TOPICS, [*TOPICS[1:], "Cello", "Oboe"], 0)
    assert client.numbers == [0, 1] and client.held is None


def test_what_is_back_is_held_no_more(client: Client) -> None:
    client.snapshot()
    client.write(TOPICS[:2])
    client.snapshot()
    client.write(TOPICS)
    client.snapshot()
    assert client.held is None and client.pins() == {}


def test_what_was_meant_is_accepted_and_not_held_again(client: Client, clock: ManualClock) -> None:
    client.snapshot()
    client.delta(TOPICS, TOPICS[:3], 0)
    assert client.space.accept_held(client.agent_id) and client.held is None
    assert not client.space.accept_held(client.agent_id)
    assert client.pins() == {}
    clock.moment += timedelta(hours=1)
    client.delta(TOPICS[:3], TOPICS[:2], 1)
    assert client.held is None


def test_a_device_that_takes_the_agent_over_answers_for_what_is_held(client: Client, device: TrialMachine) -> None:
    client.snapshot()
    client.write(TOPICS[:2])
    client.snapshot()
    with client.space.snapshot(client.agent_id).file as file, SnapshotReader(file) as state:
        draft, time = draft_of_state(state), state.sequence.time
        device.vault.accept(state.sequence, draft, kind="pull", writer="test", raw_time=time)
    device.vault.enter_epoch(2)
    device.capture()
    client.space.push(client.agent_id, device.delta(1))
    assert client.held is None and client.pins() == {}
    assert client.numbers == [0, 1, 2]


def test_what_validate_calls_invalid_is_refused_and_kept_nowhere(client: Client) -> None:
    archive = reference.export(client.workspace)
    for record in archive.records:
        record["status"] = 7
    data = reference.write_snapshot(archive)
    with pytest.raises(RemoteRefused, match="is not valid: memory/"):
        client.space.receive(client.agent_id, SentBundle("snapshot", io.BytesIO(data), len(data)))
    assert client.numbers == []
