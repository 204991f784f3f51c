"""Agents that push continuously while something happens to a shared endpoint."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx

from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from support.endpoint.endpoint_purges import machine_in
from support.patience import patience
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.scale.shared_lives import a_tenant_is_whole, the_audit_is_whole
from support.waiting import until

RETRYABLE = frozenset((502, 503, 504))


@dataclass
class Pusher:
    """An agent that pushes one state after the other, each until it is acknowledged, to the server that the balancer
    chooses. `odd` lists answers that a client should not retry."""

    tenant: Joined
    folder: Path
    acknowledged: dict[int, bytes] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)
    waited: int = 0
    agent_id: str = ""

    def run(self, over: threading.Event) -> None:
        self.folder.mkdir()
        machine = machine_in(self.folder)
        self.agent_id = machine.agent_id
        with machine.vault, self.tenant.client() as client:
            document = {"id": self.agent_id, "name": "ada", "source_runtime": "openclaw"}
            assert client.post("/agents", json=document).status_code == 201
            machine.capture()
            body = machine.snapshot().file.read()
            while not over.is_set() and not self.odd:
                self._until_taken(client, machine, body)
                machine.capture()
                body = machine.delta(max(self.acknowledged)).file.read()

    def _until_taken(self, client: httpx.Client, machine: TrialMachine, body: bytes) -> None:
        number = max(self.acknowledged, default=-1) + 1
        path = f"/agents/{self.agent_id}"
        ending = time.monotonic() + patience()
        while time.monotonic() < ending:
            try:
                if number:
                    answer = client.post(f"{path}/deltas?base_sequence={number - 1}", content=body)
                else:
                    answer = client.put(f"{path}/snapshot", content=body)
            except httpx.HTTPError:
                self.waited += 1
                continue
            if answer.status_code in (200, 201):
                self.acknowledged[number] = machine.vault.sequence(number).digest
                return
            self.waited += 1
            if answer.status_code not in RETRYABLE or "Retry-After" not in answer.headers:
                break
            time.sleep(0.1)
        self.odd.append(f"{answer.status_code} {answer.text}")


def pushing(shared: SharedEndpoint, folder: Path, agents: int, meanwhile: Callable[[], None]) -> None:
    """Let agents of several tenants push continuously during `meanwhile`. Afterwards everything acknowledged must exist
    once, as it was signed."""
    one = shared.new_tenant()
    tenants = [one, *(shared.new_tenant() for _ in range(agents - 2)), one]
    pushers = [Pusher(each, folder / f"{number}") for number, each in enumerate(tenants)]
    over = threading.Event()
    threads = [threading.Thread(target=each.run, args=(over,)) for each in pushers]
    for thread in threads:
        thread.start()
    try:
        until(partial(_pushed, pushers, [2] * agents), "everybody pushes")
        meanwhile()
        until(partial(_pushed, pushers, [len(each.acknowledged) + 2 for each in pushers]), "everybody is served again")
    finally:
        over.set()
        for thread in threads:
            thread.join(patience(180))
    assert [each.odd for each in pushers if each.odd] == []
    shared.all_run()
    for each in pushers:
        _holds(shared, each)
        a_tenant_is_whole(shared, each.tenant.tenant)
    the_audit_is_whole(shared)
    pushes, again = sum(len(each.acknowledged) for each in pushers), sum(each.waited for each in pushers)
    print(f"{pushes} pushes, {again} tries more")


def _pushed(pushers: list[Pusher], counts: list[int]) -> bool:
    return all(len(each.acknowledged) >= count or each.odd for each, count in zip(pushers, counts, strict=True))


def _holds(shared: SharedEndpoint, pusher: Pusher) -> None:
    with shared.endpoint.space(pusher.tenant.tenant.id).vault(pusher.agent_id) as vault:
        there = {row.number: row.digest for row in vault.sequences()}
    assert {number: there.get(number) for number in pusher.acknowledged} == pusher.acknowledged
    assert max(there) <= max(pusher.acknowledged) + 1
