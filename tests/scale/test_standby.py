"""The primary is killed for good and its standby promoted, while machines push: servers and workers find it by
themselves. And the former primary, when it comes back, gets nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from lifeboat_core.remotes import manage_remotes
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.work.shared_queue import open_queue
from support.core.replicated import Replicated
from support.endpoint.endpoint_purges import machine_in
from support.postgres_server import PostgresServer, standby_of
from support.scale import shared_endpoint
from support.scale.pushers import pushing
from support.scale.shared_endpoint import Database, SharedEndpoint
from support.scale.shared_lives import a_tenant_is_whole, living, the_audit_is_whole
from support.waiting import until

WAITS = "alter system set synchronous_standby_names = 'standby'"
SEQUENCES = "select count(*) from lifeboat_vault.sequence"


@dataclass(frozen=True)
class Pair(Database):
    """A primary and the standby that follows it."""

    standby: PostgresServer

    def address(self, name: str = shared_endpoint.DATABASE) -> str:
        hosts = f"{self.server.folder},{self.standby.folder}"
        return f"postgresql:///{name}?host={hosts}&passfile={self.passfile}"

    @property
    def at_first(self) -> Database:
        return Database(self.server)

    @property
    def at_standby(self) -> Database:
        return Database(self.standby)

    def fail_over(self) -> None:
        self.server.kill()
        self.standby.promote()


@contextlib.contextmanager
def paired(*, synchronous: bool) -> Iterator[Pair]:
    with shared_endpoint.database() as made, standby_of(made.server) as standby:
        if synchronous:
            made.run(WAITS, "select pg_reload_conf()")
            state = "select sync_state from pg_stat_replication"
            until(lambda: made.run(state) == [("sync",)], "commits wait for the standby")
        yield Pair(made.server, standby)


Begin = Callable[[bool], tuple[SharedEndpoint, Pair]]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """An endpoint on a pair of its own; whether commits wait for the standby."""
    with contextlib.ExitStack() as stack:

        def started(synchronous: bool) -> tuple[SharedEndpoint, Pair]:
            def on() -> AbstractContextManager[Database]:
                return paired(synchronous=synchronous)

            made = stack.enter_context(shared_endpoint.running(on=on))
            stack.callback(lambda: print("\n".join(made.troubles()[-100:])))
            assert isinstance(made.database, Pair)
            return made, made.database

        yield started


def _processes(shared: SharedEndpoint) -> list[int]:
    every = (*shared.servers, *shared.workers)
    return [each.process.pid for each in every if each.process is not None and each.runs]


def _is_done(shared: SharedEndpoint, kind: str, tenant: str) -> bool:
    return not any((row.kind, row.tenant) == (kind, tenant) for row in open_queue(shared.endpoint).jobs())


def _pushed(ada: Replicated, number: int) -> None:
    """Captured, and pushed until it is taken."""
    ada.capture(number)
    until(lambda: ada.machine.push().state == "ok", "it is taken")


def test_a_standby_that_commits_wait_for_has_every_push_when_it_takes_over(begin: Begin, tmp_path: Path) -> None:
    shared, pair = begin(True)
    processes, tenant = _processes(shared), shared.new_tenant()
    queue = open_queue(shared.endpoint)

    def fails_over() -> None:
        queue.add("verify", tenant=tenant.tenant.id)
        pair.fail_over()

    pushing(shared, tmp_path, 4, fails_over)
    assert pair.at_standby.run("select pg_is_in_recovery()") == [(False,)]
    assert processes == _processes(shared), "nobody had to be started again"
    queue.add("sweep", tenant=tenant.tenant.id)
    for kind in ("verify", "sweep"):
        until(partial(_is_done, shared, kind, tenant.tenant.id), f"{kind} is done", seconds=120)
    for server in shared.servers:
        with tenant.client(url=server.url) as client:
            assert client.get("/agents").status_code == 200, "a token from before"
    assert verify_endpoint(shared.endpoint, shared.endpoint.control.tenants()).findings == []
    assert "skipped" not in shared.logs


def test_while_the_standby_is_away_nothing_is_acknowledged_that_only_the_primary_has(
    begin: Begin, tmp_path: Path
) -> None:
    shared, pair = begin(True)
    tenant = shared.new_tenant()
    machine = machine_in(tmp_path)
    path = f"/agents/{machine.agent_id}"
    with machine.vault, tenant.client() as client:
        document = {"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"}
        assert client.post("/agents", json=document).status_code == 201
        machine.capture()
        body = machine.snapshot().file.read()
        pair.standby.stop()
        with pytest.raises(httpx.TimeoutException):
            client.put(f"{path}/snapshot", content=body, timeout=3.0)
        assert pair.at_first.run(SEQUENCES, name=shared_endpoint.DATABASE) == [(0,)], "nor does anybody see it"
        pair.standby.start()

        def is_taken() -> bool:
            return client.put(f"{path}/snapshot", content=body).status_code in (200, 201)

        until(is_taken, "it is taken")
        pair.fail_over()
        until(lambda: client.get(path).status_code == 200, "it is served again")
        assert pair.at_standby.run(SEQUENCES, name=shared_endpoint.DATABASE) == [(1,)]
    a_tenant_is_whole(shared, tenant.tenant)


def test_a_former_primary_that_comes_back_beside_the_promoted_one_gets_nothing(begin: Begin, tmp_path: Path) -> None:
    """Both take writes, and the former one is the first of the address."""
    shared, pair = begin(False)
    tenant = shared.new_tenant()
    ada = living(tmp_path / "laptop", tenant)
    assert ada.machine.push().state == "ok"
    pair.fail_over()
    _pushed(ada, 0)
    pair.server.start()
    assert pair.at_first.run("select pg_is_in_recovery()") == [(False,)]
    before = pair.at_first.run(SEQUENCES, name=shared_endpoint.DATABASE)
    for each in (shared.servers[0], shared.workers[0]):  # who begins now knows of nothing
        each.stop()
        each.start()
    pair.at_standby.run("select pg_terminate_backend(pid) from pg_stat_activity where usename like 'lifeboat%'")
    for number in range(1, 5):
        _pushed(ada, number)
    open_queue(shared.endpoint).add("look_after", tenant=tenant.tenant.id)
    until(partial(_is_done, shared, "look_after", tenant.tenant.id), "work goes on", seconds=120)
    assert pair.at_first.run(SEQUENCES, name=shared_endpoint.DATABASE) == before
    assert pair.at_standby.run(SEQUENCES, name=shared_endpoint.DATABASE) == [(before[0][0] + 5,)]
    assert f"skipped: the database at {pair.server.folder}" in shared.servers[0].log
    ada.holds()
    the_audit_is_whole(shared)


def test_where_the_standby_lacks_the_last_pushes_machines_say_so_and_bring_them(begin: Begin, tmp_path: Path) -> None:
    """The servers run on, with all that they remember of what the promoted one never had."""
    shared, pair = begin(False)
    tenant = shared.new_tenant()
    ada, ben = (living(tmp_path / name, tenant) for name in ("ada", "ben"))
    assert ada.machine.push().state == "ok"
    _catch_up(pair)
    pair.standby.stop()
    for number in range(3):
        _pushed(ada, number)
    _pushed(ben, 0)  # which the standby has never heard of
    pair.server.kill()
    pair.standby.start()
    pair.standby.promote()
    for each in (ada, ben):
        each.capture(4)
        until(partial(_says, each, "remote_forgot"), "a server to answer")
        manage_remotes.remove_remote(each.machine.context, "home")
        each.machine.add_remote("home", tenant.url, token=tenant.token)
        each.straight["home"] = each.machine.remote()
        assert each.machine.push().state == "ok"
        each.holds()
    a_tenant_is_whole(shared, tenant.tenant)
    the_audit_is_whole(shared)
    assert verify_endpoint(shared.endpoint, shared.endpoint.control.tenants()).findings == []


def _catch_up(pair: Pair) -> None:
    lag = "select coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 1) from pg_stat_replication"
    until(lambda: pair.at_first.run(lag)[0][0] <= 0, "the standby has all of it")


def _says(ada: Replicated, code: str) -> bool:
    """Of a push, which nothing is lost by; until then it waits."""
    outcome = ada.machine.push()
    assert outcome.state in ("waiting", "error"), outcome
    return outcome.code == code
