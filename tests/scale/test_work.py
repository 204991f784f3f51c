"""Every kind of work on PostgreSQL and Swift, and workers that are killed at each step of it: nothing is lost, and what
was done is not done again."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.endpoint_config import SharedStore
from lifeboat_endpoint.maintenance import data_key_rotation
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_endpoint.work import job_handlers
from lifeboat_endpoint.work.endpoint_queue import EndpointQueue
from lifeboat_endpoint.work.endpoint_worker import EndpointWorker, WorkerPace
from lifeboat_endpoint.work.shared_queue import open_queue
from support.endpoint.endpoint_purges import machine_in, pushed, record_of, redaction_of
from support.endpoint.keeping import AGENT, OTHER, numbers, with_history, with_large_file
from support.killing import KILLED
from support.scale import shared_endpoint, swift_server
from support.vault.vaults import START

NUMBERS = itertools.count(1)

LONG_AGO = START - timedelta(days=60)
LARGE = [bytes([number]) * 100_000 for number in range(5)]


@pytest.fixture(scope="module")
def database() -> Iterator[shared_endpoint.Database]:
    with shared_endpoint.database() as made:
        yield made


@pytest.fixture
def endpoint(database: shared_endpoint.Database, tmp_path: Path) -> Iterator[Endpoint]:
    """As a worker sees it, in a database and below a prefix of its own."""
    name = f"work{next(NUMBERS)}"
    database.make(name)
    objects = swift_server.shared()
    store = SharedStore(database.address(name), objects.url(), objects.options(), connections=8)
    (tmp_path / "key").mkdir()
    with ExitStack() as stack:
        yield stack.enter_context(Endpoint.open(shared_endpoint.new_folder(tmp_path, "data", store)))


@pytest.fixture
def queue(endpoint: Endpoint) -> EndpointQueue:
    return open_queue(endpoint)


@pytest.fixture
def tenant(endpoint: Endpoint) -> Tenant:
    return endpoint.add_tenant("home")


def name_of(endpoint: Endpoint) -> str:
    """Of its database."""
    assert endpoint.settings.store is not None
    return endpoint.settings.store.database.split("///")[1].split("?")[0]


def work_all(endpoint: Endpoint, queue: EndpointQueue) -> list[str]:
    """One worker does what is due, without planning; the kinds that were done, and how each ended."""
    results: list[str] = []

    class Counting:
        def ended(self, kind: str, result: str, seconds: float) -> None:
            results.append(f"{kind} {result}")

    worker = EndpointWorker(endpoint, queue, threading.Event(), "here", WorkerPace(), Counting(), plan=lambda *_: 0)
    assert worker.run_once()
    return results


def test_what_is_planned_is_done(endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant) -> None:
    with_history(endpoint, tenant, hours=30, since=LONG_AGO)
    with_large_file(endpoint, tenant, LARGE, OTHER)
    worker = EndpointWorker(endpoint, queue, threading.Event(), "here")
    assert worker.run_once()
    assert [row.error for row in queue.jobs()] == []
    assert {kind for kind, _ in queue.latest().ended} >= {"look_after", "verify", "sweep", "trim_audit"}
    assert len(numbers(endpoint, tenant)) < 31
    assert verify_endpoint(endpoint, [tenant]).findings == []


def test_the_agents_of_a_large_tenant_are_shared_out(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_handlers, "_MOST_AGENTS", 1)
    for agent_id in (AGENT, OTHER):
        with_history(endpoint, tenant, agent_id, hours=30, since=LONG_AGO)
    queue.add("look_after", tenant=tenant.id)
    assert work_all(endpoint, queue) == ["look_after done"] * 3
    assert all(len(numbers(endpoint, tenant, agent_id)) < 31 for agent_id in (AGENT, OTHER))


def test_new_keys_have_everything_encrypted_anew(endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant) -> None:
    with_history(endpoint, tenant, hours=2)
    with_large_file(endpoint, tenant, LARGE, OTHER)
    before = set(endpoint.keys(tenant.id).ids())
    data_key_rotation.rotate_keys(endpoint, tenant)
    endpoint.forget(tenant.id)
    assert work_all(endpoint, queue) == ["reencrypt done"]
    assert not before & set(endpoint.keys(tenant.id).ids())
    assert verify_endpoint(endpoint, [tenant]).findings == []


def test_a_purge_is_applied_when_its_time_comes(
    endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant, database: shared_endpoint.Database, tmp_path: Path
) -> None:
    space = endpoint.space(tenant.id)
    machine = pushed(space, machine_in(tmp_path), captures=3)
    gone = record_of(machine, 1)
    space.redact(machine.agent_id, redaction_of(machine, gone).to_json())
    (job,) = queue.jobs()
    assert (job.kind, job.tenant) == ("apply_purge", tenant.id)
    assert timedelta(hours=23) < job.due_at - queue.latest().now < timedelta(hours=25)
    space.confirm_redaction(machine.agent_id, gone_id(space, machine.agent_id))
    assert {row.kind for row in queue.jobs()} >= {"apply_purge", "shred"}
    (shred,) = [row for row in queue.jobs() if row.kind == "shred"]
    before = set(endpoint.keys(tenant.id).ids())
    queue.retry(shred.id)
    endpoint.forget(tenant.id)
    assert work_all(endpoint, queue) == ["shred done", "reencrypt done"]
    assert not before & set(endpoint.keys(tenant.id).ids())
    assert endpoint.space(tenant.id).read(machine.agent_id, 2, [], [gone.id]) == [None]


def gone_id(space: object, agent_id: str) -> str:
    (waiting,) = space.pending_redactions()  # type: ignore[attr-defined]
    assert waiting.agent_id == agent_id
    return str(waiting.redaction.id)


def test_a_tenant_that_was_being_removed_goes(endpoint: Endpoint, queue: EndpointQueue, tenant: Tenant) -> None:
    with_large_file(endpoint, tenant, LARGE)
    endpoint.forget(tenant.id)
    endpoint.control.begin_removal(tenant.id)
    queue.add("finish_removals")
    assert work_all(endpoint, queue) == ["finish_removals done"]
    assert endpoint.control.tenants() == []


KILLS = {
    "reencrypt": (CrashPoint.REENCRYPT_COMMITTED,),
    "look_after": (CrashPoint.THIN_SWEPT,),
    "finish_removals": (CrashPoint.TENANT_MARKED, CrashPoint.TENANT_KEYS_DESTROYED, CrashPoint.TENANT_FILES_REMOVED),
    "shred": (CrashPoint.REENCRYPT_KEY_MADE,),
}


@pytest.mark.parametrize(("kind", "step"), [(kind, step) for kind, steps in KILLS.items() for step in steps])
def test_a_worker_that_is_killed_at_a_step_is_followed_by_one_that_comes_to_the_end(
    endpoint: Endpoint, tenant: Tenant, database: shared_endpoint.Database, kind: str, step: CrashPoint
) -> None:
    with_history(endpoint, tenant, hours=30, since=LONG_AGO)
    with_large_file(endpoint, tenant, LARGE, OTHER)
    queue = open_queue(endpoint)
    if kind == "reencrypt":
        data_key_rotation.rotate_keys(endpoint, tenant)
    if kind == "finish_removals":
        endpoint.control.begin_removal(tenant.id)
        queue.add(kind)
    else:
        queue.add(kind, tenant=tenant.id)
    killed = shared_endpoint.Program(endpoint.folder, ["endpoint", "work", "--once"])
    killed.start(dies=(step, 1))
    assert killed.wait() == KILLED, killed.log
    database.run("update lifeboat_work.job set due_at = now() where state = 'running'", name=name_of(endpoint))
    endpoint.forget(tenant.id)
    assert f"{kind} done" in work_all(endpoint, queue)
    assert [row.error for row in queue.jobs()] == []
    if kind == "finish_removals":
        assert endpoint.control.tenants() == []
        return
    assert verify_endpoint(endpoint, [tenant]).findings == []
    assert endpoint.space(tenant.id).agent_ids() == [AGENT, OTHER]
