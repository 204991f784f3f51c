"""The database goes away and comes back while machines push: nothing that was acknowledged is lost, nobody is told
anything but to wait, and the service is back by itself."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from lifeboat_endpoint.work.shared_queue import open_queue
from support.core.invariants import an_outcome_is_honest
from support.scale.pushers import pushing
from support.scale.shared_endpoint import Joined, SharedEndpoint, together
from support.scale.shared_lives import a_tenant_is_whole, living
from support.waiting import until


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
                answer = client.get("/agents")
                assert (answer.status_code, answer.json()["code"]) == (503, "remote_busy"), answer.text
                assert "Retry-After" in answer.headers
                assert client.get("/health/ready").status_code == 503
                assert client.get("/health/live").status_code == 200
    finally:
        shared.database.start()
    for server in shared.servers:
        with tenant.client(url=server.url) as client:
            until(lambda client=client: client.get("/agents").status_code == 200, "it is back")  # type: ignore[misc]


def test_work_is_asked_for_over_a_connection_that_is_there(shared: SharedEndpoint, tenant: Joined) -> None:
    """What a restart of the database broke while nobody needed it is noticed by nobody."""
    queue = open_queue(shared.endpoint)
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
