"""The quota of a tenant holds under concurrent writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.service import tenant_quota
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.tenant_quota import TenantQuota
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import LifeboatError, RemoteFull, RemoteTooLarge
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.remote.remote_contract import RemoteBundle
from support.endpoint.endpoint_purges import machine_in
from support.endpoint.spaces import TestKeys, space_in
from support.patience import patience

STEP = tenant_quota._COUNT_STEP


class Kept:
    """A roster that reports a size."""

    def __init__(self, taken: int = 0, agents: int = 1) -> None:
        self.taken = taken
        self.agents = agents

    def bytes_of_all(self) -> int:
        return self.taken

    def counted(self) -> int:
        return self.agents


def quota_of(kept: Kept, most: int | None, *, place: str = "home", bundle: int = 1 << 30) -> TenantQuota:
    return TenantQuota(place, kept, EndpointLimits(tenant_bytes=most, bundle_bytes=bundle))  # type: ignore[arg-type]


def test_two_threads_do_not_take_the_same_room() -> None:
    kept = Kept(900)
    one, two = quota_of(kept, 1000), quota_of(kept, 1000)
    with one.taking(60) as first:
        with pytest.raises(RemoteFull), two.taking(60):
            pass
        with two.taking(40):
            first.keeps(100)  # the first one is accepted first
    with two.taking(60):
        pass


def test_who_is_refused_learns_what_is_kept_what_may_be_and_what_this_needs() -> None:
    with pytest.raises(
        RemoteFull, match=r"305\.4 KB of the quota of 2\.0 MB are in use, and this request needs 2\.9 MB"
    ) as found:
        quota_of(Kept(312_759), 2 << 20).check(3_000_000)
    assert found.value.fix == "free space on the remote, or ask its operator for a larger quota"


def test_a_quota_that_was_changed_holds_for_whoever_has_the_tenant_open(monkeypatch: pytest.MonkeyPatch) -> None:
    now: list[int | None] = [1000]
    counted = TenantQuota("home", Kept(900), EndpointLimits(tenant_bytes=1000), lambda: now[0])  # type: ignore[arg-type]
    now[0] = 2000
    with pytest.raises(RemoteFull):  # the quota is not read at each push
        counted.check(200)
    monkeypatch.setattr(tenant_quota, "FRESH", 0.0)
    counted.check(200)
    now[0] = None
    counted.check(1 << 20)
    now[0] = 950
    with pytest.raises(RemoteFull):
        counted.check(200)


def test_what_comes_piece_by_piece_is_room_that_is_taken() -> None:
    kept = Kept()
    one, two = quota_of(kept, 1000, bundle=900), quota_of(kept, 1000)
    with one.taking() as taking:
        taking.more(500)
        with pytest.raises(RemoteFull):
            two.check(600)
        with pytest.raises(RemoteTooLarge):
            taking.more(500)
    two.check(600)


def test_what_came_packed_needs_room_for_what_is_kept_of_it() -> None:
    one, two = quota_of(Kept(), 1000, bundle=100), quota_of(Kept(), 1000)
    with one.taking(80) as taking:
        taking.keeps(50)
        two.check(920)
        taking.keeps(600)
        with pytest.raises(RemoteFull):
            two.check(500)
        with pytest.raises(RemoteFull):
            taking.keeps(1100)


def test_tenants_have_room_of_their_own() -> None:
    with quota_of(Kept(), 1000).taking(900):
        quota_of(Kept(), 1000, place="office").check(900)


def test_what_an_agent_grew_by_counts_before_it_is_counted() -> None:
    one, two = quota_of(Kept(), 1000), quota_of(Kept(), 1000)
    one.grew("agent", 300)
    with pytest.raises(RemoteFull):
        two.check(800)
    one.counted("agent")
    two.check(800)


def test_without_a_quota_a_push_is_counted_in_steps() -> None:
    free = quota_of(Kept(), None)
    free.check(1)
    assert [free.grew("agent", STEP // 2), free.grew("agent", STEP // 2)] == [False, True]


def test_many_agents_are_counted_sooner_so_that_little_of_them_is_not() -> None:
    most, agents = 64_000_000, 1000
    tight = quota_of(Kept(agents=agents), most)
    tight.check(1)
    uncounted = 0
    while not tight.grew("agent", 100):
        uncounted += 100
    assert uncounted * agents <= most / 64


# With vaults ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[TrialMachine]]:
    """Four machines with something to send."""
    user = UserKey.generate()
    made = [machine_in(tmp_path, user) for _ in range(4)]
    for machine in made:
        machine.capture()
    yield made
    for machine in made:
        machine.vault.close()


def pushed(folder: Path, machines: list[TrialMachine], limited: dict[str, Any]) -> list[LifeboatError | None]:
    """Push all at once, each in a thread that has found room before the first one is done."""
    found: list[LifeboatError | None] = []
    keys = TestKeys()
    with space_in(folder, keys) as space:
        for machine in machines:
            space.register(machine.agent_id, "ada", "openclaw")
    begun = threading.Barrier(len(machines))

    def push(agent_id: str, sent: RemoteBundle) -> None:
        begun.wait(patience())
        with space_in(folder, keys, limited=limited) as space:
            try:
                space.push(agent_id, sent)
                found.append(None)
            except LifeboatError as error:
                found.append(error)

    threads = [threading.Thread(target=push, args=(each.agent_id, each.snapshot())) for each in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
    return found


def taken(folder: Path) -> int:
    with space_in(folder, TestKeys()) as space:
        return space.roster.bytes_of_all()


def test_threads_that_push_at_once_stay_within_the_quota(
    tmp_path: Path, machines: list[TrialMachine], monkeypatch: pytest.MonkeyPatch
) -> None:
    with space_in(tmp_path / "empty", TestKeys()) as space:
        for machine in machines:
            space.register(machine.agent_id, "ada", "openclaw")
        begun = space.roster.bytes_of_all()
    size = max(machine.snapshot().size for machine in machines)
    room, released = threading.Semaphore(0), threading.Event()

    def hold(step: CrashPoint) -> None:
        if step is CrashPoint.ENDPOINT_RECEIVED:
            room.release()
            released.wait(1.0)

    monkeypatch.setattr(crash_points, "hook", hold)
    found = pushed(tmp_path / "tenant", machines, {"tenant_bytes": begun + 2 * size + size // 2})
    refused = [error for error in found if isinstance(error, RemoteFull)]
    assert len(found) == 4 and 2 <= len(refused) < 4


def test_no_more_agents_are_made_at_once_than_there_may_be(tmp_path: Path) -> None:
    keys, made = TestKeys(), list[bool]()
    begun = threading.Barrier(6)

    def register(number: int) -> None:
        with space_in(tmp_path / "tenant", keys, limited={"agents": 3}) as space:
            begun.wait(patience())
            try:
                space.register(ids.make_id(f"2026-11-20T12:00:0{number}.000Z"), "ada", "openclaw")
                made.append(True)
            except RemoteFull:
                made.append(False)

    threads = [threading.Thread(target=register, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
    assert sorted(made) == [False] * 3 + [True] * 3
