"""An endpoint that is killed while it purges: the same purge sent again ends with a receipt, and nothing is left."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.endpoint import Endpoint
from support.endpoint.endpoint_purges import erasing, machine_in, record_of, redaction_of
from support.endpoint.endpoint_servers import running_endpoint

STEPS = (CrashPoint.ENDPOINT_REDACTED, CrashPoint.PURGE_REDACTED, CrashPoint.PURGE_SWEPT, CrashPoint.ENDPOINT_ERASED)


@pytest.mark.parametrize("step", STEPS)
def test_a_purge_that_was_killed_is_finished_when_it_is_sent_again(step: CrashPoint, tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    with running_endpoint(tmp_path, plain=True) as running:
        with Endpoint.open(running.data) as endpoint:
            tenant = endpoint.control.tenants()[0].id
            owner = endpoint.control.add_token(tenant, "owner", ["purge"])[1]
        agent = f"/agents/{machine.agent_id}"
        with running.client() as client:
            client.post("/agents", json={"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"})
            machine.capture()
            machine.capture()
            sent = client.put(f"{agent}/snapshot", content=machine.snapshot().file.read())
            assert sent.status_code == 201
        whole = step is CrashPoint.ENDPOINT_ERASED
        record = record_of(machine, 1)
        document = (erasing(machine) if whole else redaction_of(machine, record)).to_json()
        running.restart(dies=(step, 1))
        with running.client(owner) as client, pytest.raises(httpx.HTTPError):
            client.post(f"{agent}/redactions", json=document)
        running.restart()
        with running.client(owner) as client:
            receipt = client.post(f"{agent}/redactions", json=document).json()["receipt"]
        assert receipt["remaining"] == 0
        with running.client() as client:
            asked = {"sequence": 1, "entries": [], "records": [record.id]}
            found = client.post(f"{agent}/read", json=asked)
        assert found.status_code == 410 if whole else found.json()["records"] == [None]
