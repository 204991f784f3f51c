"""What a database keeps of deleted rows is of no use to anybody once the key that sealed it is gone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_vault.errors import KeyRevoked, OtherDataKey
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from support.endpoint.endpoint_purges import erasing, machine_in, pushed, record_of, redaction_of
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.waiting import until

SEALED = """select o.body from lifeboat_vault.object o join lifeboat_vault.place p on p.number = o.place
    where o.body is not null and p.tenant = $$%s$$"""


@pytest.fixture
def keyed(shared: SharedEndpoint, monkeypatch: pytest.MonkeyPatch) -> Joined:
    """A tenant whose agents have keys of their own."""
    scoped = msgspec.structs.replace(shared.endpoint.settings, key_scope="agent")
    monkeypatch.setattr(shared.endpoint, "settings", scoped)
    return shared.new_tenant()


def agent_of(shared: SharedEndpoint, tenant: Joined, folder: Path) -> tuple[TenantSpace, TrialMachine]:
    space = shared.endpoint.space(tenant.tenant.id)
    return space, pushed(space, machine_in(folder), captures=3)


def bodies(shared: SharedEndpoint, tenant: Joined) -> set[bytes]:
    """Every sealed body in any row of a tenant, as whoever has the files of the database sees it."""
    return {bytes(body) for (body,) in shared.database.run(SEALED % tenant.tenant.id, name="lifeboat")}


def test_what_was_purged_cannot_be_opened_wherever_a_copy_of_its_row_is(
    shared: SharedEndpoint, keyed: Joined, tmp_path: Path
) -> None:
    space, machine = agent_of(shared, keyed, tmp_path)
    keys = shared.endpoint.keys(keyed.tenant.id)
    before, sealer, copies = keys.current(machine.agent_id), keys.sealer(machine.agent_id), bodies(shared, keyed)
    space.redact(machine.agent_id, redaction_of(machine, record_of(machine, 1)).to_json(), confirmed=True)
    assert before not in keys.ids() and copies.isdisjoint(bodies(shared, keyed))
    with pytest.raises(KeyRevoked):
        keys.sealer_of(before, machine.agent_id)
    with pytest.raises((KeyRevoked, OtherDataKey)):
        sealer.open("body", max(copies, key=len))
    assert verify_endpoint(shared.endpoint, [keyed.tenant]).ok


class Cut(BaseException):
    """The process ends here."""


@pytest.mark.parametrize(
    "step", [CrashPoint.REENCRYPT_KEY_MADE, CrashPoint.REENCRYPT_COMMITTED, CrashPoint.REENCRYPT_KEY_DESTROYED], ids=str
)
def test_a_purge_that_ended_between_its_keys_is_finished_when_it_is_looked_at_again(
    step: CrashPoint, shared: SharedEndpoint, keyed: Joined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(reached: CrashPoint) -> None:
        if reached is step:
            raise Cut

    space, machine = agent_of(shared, keyed, tmp_path)
    before = shared.endpoint.keys(keyed.tenant.id).current(machine.agent_id)
    redaction = redaction_of(machine, record_of(machine, 1))
    with monkeypatch.context() as patched, pytest.raises(Cut):
        patched.setattr(crash_points, "hook", cut)
        space.redact(machine.agent_id, redaction.to_json(), confirmed=True)
    shared.endpoint.forget(keyed.tenant.id)
    space = shared.endpoint.space(keyed.tenant.id)
    assert space.due_redactions() == [(machine.agent_id, redaction.id)]
    space.apply_redaction(machine.agent_id, redaction.id)
    assert space.redact(machine.agent_id, redaction.to_json(), confirmed=True).receipt is not None
    keys = shared.endpoint.keys(keyed.tenant.id)
    assert before not in keys.ids() and len(keys.ids()) == 2
    assert verify_endpoint(shared.endpoint, [keyed.tenant]).ok


@pytest.mark.parametrize("whole", [False, True], ids=["a record", "a whole agent"])
def test_where_all_agents_share_a_key_a_worker_replaces_it_for_all(
    whole: bool, shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    space, machine = agent_of(shared, tenant, tmp_path)
    keys = shared.endpoint.keys(tenant.tenant.id)
    before = keys.ids()
    redaction = erasing(machine) if whole else redaction_of(machine, record_of(machine, 1))
    space.redact(machine.agent_id, redaction.to_json(), confirmed=True)
    asked = "update lifeboat_work.job set due_at = now() where tenant = $$%s$$ and kind = $$shred$$ returning kind"
    assert shared.database.run(asked % tenant.tenant.id, name="lifeboat") == [("shred",)]
    until(lambda: not set(before) & set(keys.ids()), "the older keys are gone")
    until(lambda: verify_endpoint(shared.endpoint, [tenant.tenant]).ok, "all of it is whole")
