"""The database goes away and comes back while machines push: nothing that was acknowledged is lost, nobody is told
anything but to wait, and the service is back by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import pytest
from endpoint_purges import machine_in
from invariants import an_outcome_is_honest
from shared_endpoint import Joined, SharedEndpoint, together, until
from shared_lives import a_tenant_is_whole, living, the_audit_is_whole

from lifeboat_endpoint.remote.checks.trial import Machine
from lifeboat_endpoint.work.opening import queue_of

pytestmark = pytest.mark.scale

RETRYABLE = frozenset((502, 503, 504))
BACK = 15.0
"""Seconds after which everybody is served again."""


@dataclass
class Pusher:
    """An agent of its own that pushes one state after the other, each until it is acknowledged, to whichever server the
    balancer gives it. `odd` is every answer that a client could not wait for."""

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

    def _until_taken(self, client: httpx.Client, machine: Machine, body: bytes) -> None:
        number = max(self.acknowledged, default=-1) + 1
        path = f"/agents/{self.agent_id}"
        ending = time.monotonic() + 2 * BACK
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
    """Agents of several tenants push all the time while something happens; afterwards they go on, and all that was
    acknowledged is there, once, as it was signed."""
    one = shared.new_tenant()
    tenants = [one, *(shared.new_tenant() for _ in range(agents - 2)), one]
    pushers = [Pusher(each, folder / f"{number}") for number, each in enumerate(tenants)]
    over = threading.Event()
    threads = [threading.Thread(target=each.run, args=(over,)) for each in pushers]
    for thread in threads:
        thread.start()
    try:
        until("everybody pushes", partial(_pushed, pushers, [2] * agents))
        meanwhile()
        until(
            "everybody is served again",
            partial(_pushed, pushers, [len(each.acknowledged) + 2 for each in pushers]),
            BACK,
        )
    finally:
        over.set()
        for thread in threads:
            thread.join(3 * BACK)
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


def test_a_database_that_crashes_again_and_again_loses_nothing(shared: SharedEndpoint, tmp_path: Path) -> None:
    def crashes() -> None:
        for _ in range(4):
            time.sleep(0.7)
            shared.database.stop("immediate")
            time.sleep(0.5)
            shared.database.start()

    pushing(shared, tmp_path, 4, crashes)


def test_connections_that_the_database_ends_are_replaced(shared: SharedEndpoint, tmp_path: Path) -> None:
    """As a failover, an upgrade or a person with a console does."""

    def ends() -> None:
        for _ in range(20):
            time.sleep(0.1)
            shared.database.run("select pg_terminate_backend(pid) from pg_stat_activity where usename like 'lifeboat%'")

    pushing(shared, tmp_path, 3, ends)


def test_a_database_that_is_away_is_told_as_something_to_wait_for(shared: SharedEndpoint, tenant: Joined) -> None:
    """At once or after some seconds, by readiness too; nobody hangs."""
    shared.database.stop("immediate")
    try:
        for server in shared.servers:
            with tenant.client(url=server.url) as client:
                begun = time.monotonic()
                answer = client.get("/agents")
                assert (answer.status_code, answer.json()["code"]) == (503, "remote_busy"), answer.text
                assert "Retry-After" in answer.headers
                assert client.get("/health/ready").status_code == 503
                assert client.get("/health/live").status_code == 200
                assert time.monotonic() - begun < 2 * BACK
    finally:
        shared.database.start()
    for server in shared.servers:
        with tenant.client(url=server.url) as client:
            until("it is back", lambda client=client: client.get("/agents").status_code == 200, BACK)  # type: ignore[misc]


def test_work_is_asked_for_over_a_connection_that_is_there(shared: SharedEndpoint, tenant: Joined) -> None:
    """What a restart of the database broke while nobody needed it is noticed by nobody."""
    queue = queue_of(shared.endpoint)
    together(*(partial(queue.add, "sweep", tenant=tenant.tenant.id) for _ in range(3)))
    shared.database.stop("immediate")
    shared.database.start()
    for _ in range(4):
        queue.add("sweep", tenant=tenant.tenant.id)


def test_a_machine_waits_for_a_database_that_is_away(shared: SharedEndpoint, tenant: Joined, tmp_path: Path) -> None:
    """The real client: what it says is so, and its next replication mends it."""
    ada = living(tmp_path / "laptop", tenant)
    assert ada.machine.push().state == "ok"
    for number in range(3):
        ada.capture(number + 1)

        def fail(delay: float = 0.05 * number) -> None:
            time.sleep(delay)
            shared.database.stop("immediate")
            time.sleep(0.3)
            shared.database.start()

        outcome, failed = together(ada.machine.push, fail)
        assert failed is None
        assert outcome.state in ("ok", "waiting"), outcome
        shared.all_run()
        again = ada.machine.push()
        assert again.state == "ok", again
        an_outcome_is_honest(ada.machine.context, ada.machine.known_agent, ada.straight["home"], again)
    ada.holds()
    a_tenant_is_whole(shared, tenant.tenant)
