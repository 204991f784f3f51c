"""Data keys as clients meet them: one for each agent, rotated under a running server, revoked."""

from __future__ import annotations

import io
from pathlib import Path

from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import data_key_rotation
from lifeboat_endpoint.maintenance.tenant_care import compact_tenant
from support.endpoint.served_apps import ServedApp, bearer, push_delta

FILE = {"Accept": "application/zip"}


def test_agents_with_keys_of_their_own_are_served_while_these_are_replaced(tmp_path: Path) -> None:
    served = ServedApp(tmp_path, key_scope="agent")
    with served.running() as client, Endpoint.open(served.folder / "data") as endpoint:
        machines = [served.pushed(client, captures=2), served.pushed(client, captures=2)]
        tenant = endpoint.control.tenant("home")
        keys = endpoint.keys(tenant.id)
        before = {keys.current(machine.agent_id) for machine in machines}
        assert len(before) == 2
        data_key_rotation.rotate_keys(endpoint, tenant)
        assert before <= set(compact_tenant(endpoint, tenant).destroyed)
        for machine in machines:
            machine.capture()
            assert push_delta(client, machine, 1).status_code == 201
            file = client.get(f"/agents/{machine.agent_id}/snapshot", headers=FILE).content
            assert SnapshotReader(io.BytesIO(file)).sequence.digest == machine.here.digest
        assert before.isdisjoint(keys.ids())


def test_a_customer_who_takes_the_key_away_is_refused_and_nobody_else(tmp_path: Path) -> None:
    key = tmp_path / "office.key"
    served = ServedApp(tmp_path, office_key=f"file:{key}")
    office = bearer(served.new_token("push", "pull", tenant="office"))
    with served.running() as client:
        ours = served.pushed(client)
        agent = {"id": ours.agent_id, "name": "ada"}
        assert client.post("/agents", json=agent, headers=office).status_code == 201
    key.rename(tmp_path / "taken-away")
    with served.again().running() as client:
        path = f"/agents/{ours.agent_id}"
        answer = client.get(path, headers=office)
        assert (answer.status_code, answer.json()["code"]) == (403, "key_revoked")
        assert str(key) not in answer.text
        assert client.get(f"{path}/snapshot", headers=FILE).status_code == 200
        (tmp_path / "taken-away").rename(key)
        assert client.get(path, headers=office).status_code == 200
