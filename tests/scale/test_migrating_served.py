"""A server of the old endpoint runs while it moves, and machines read and push all the time; then servers of the new
one answer at the same address."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.remotes.replication_outcome import ReplicationOutcome
from lifeboat_endpoint.engines.endpoint_preparation import prepare_endpoint
from lifeboat_endpoint.migration.endpoint_migration import abort_migration
from support.core.invariants import every_kept_sequence_has_its_digest
from support.core.replicated import Replicated, machine_in
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.patience import patience
from support.scale.moving_endpoints import Moving, Places, command, places
from support.waiting import until

__all__ = ["places"]

_SLOWLY = 0.4
"""Seconds that the move stands still after each tenant and agent, so that something happens meanwhile."""


@dataclass
class Served:
    """`ada` pushes to the server of the old endpoint."""

    moving: Moving
    running: RunningEndpoint
    ada: Replicated

    @contextlib.contextmanager
    def at_the_new_one(self) -> Iterator[None]:
        """Its servers answer where the old one did."""
        self.running.stop()
        there = RunningEndpoint(self.moving.new, plain=True, workers=2, options=())
        there._port, there.token = httpx.URL(self.running.url).port or 0, self.running.token
        try:
            there.start()
            yield
        finally:
            there.kill()


@pytest.fixture
def served(tmp_path: Path, places: Places) -> Iterator[Served]:
    with running_endpoint(tmp_path, plain=True, workers=2) as running:
        moving = Moving(tmp_path, places.store())
        prepare_endpoint(moving.new, moving.store, key_source=f"file:{tmp_path / 'fresh.key'}")
        ada = Replicated(machine_in(tmp_path / "laptop"))
        ada.machine.add_remote("home", running.url, token=running.token)
        ada.straight["home"] = ada.machine.remote()
        assert ada.machine.push().state == "ok"
        yield Served(moving, running, ada)


@dataclass
class Busy:
    """What was answered to whoever reads and pushes without a pause."""

    read: list[int] = field(default_factory=list)
    pushed: list[ReplicationOutcome] = field(default_factory=list)


@contextlib.contextmanager
def busy(served: Served) -> Iterator[Busy]:
    found, over = Busy(), threading.Event()
    agent_id = served.ada.machine.agent.id

    def reading() -> None:
        with served.running.client() as client:
            while not over.wait(0.02):
                found.read.append(client.get(f"/agents/{agent_id}").status_code)
                found.read.append(client.get(f"/agents/{agent_id}/restore").status_code)

    def pushing() -> None:
        number = 0
        while not over.is_set():
            number += 1
            served.ada.capture(number)
            found.pushed.append(served.ada.machine.push())

    threads = [threading.Thread(target=each) for each in (reading, pushing)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        over.set()
        for thread in threads:
            thread.join(patience())
            assert not thread.is_alive()


def seen(found: Busy, read: list[int]) -> None:
    """What was answered before the old endpoint serves nobody any more, a refused push among it."""
    until(lambda: "is being moved" in str(found.pushed[-1]), "a push is refused")
    read.extend(found.read)


@contextlib.contextmanager
def slowly(then: Callable[[], None] = lambda: None) -> Iterator[None]:
    """`then` is called before the old endpoint serves nobody any more."""

    def hook(step: CrashPoint) -> None:
        if step is CrashPoint.ENDPOINT_MIGRATE_COMPARED:
            time.sleep(_SLOWLY)
        if step is CrashPoint.ENDPOINT_MIGRATE_LEAVING:
            then()

    crash_points.hook = hook
    try:
        yield
    finally:
        crash_points.hook = None


def test_reads_go_on_pushes_wait_and_nothing_that_was_acknowledged_is_missing(served: Served) -> None:
    read: list[int] = []
    with busy(served) as found:
        until(lambda: len(found.pushed) > 1 and len(found.read) > 10, "both are at it")
        with slowly(lambda: seen(found, read)):
            served.moving.move()
        until(lambda: 503 in found.read and "was moved" in str(found.pushed[-1]), "requests to be refused")
    assert set(read) == {200}, "until it is over every read is answered"
    assert set(found.read) == {200, 503}, "and then whoever asks is told to come back"
    states = [outcome.state for outcome in found.pushed]
    assert states[0] == "ok" and states[-1] == "waiting" and set(states) == {"ok", "waiting"}
    refused = next(outcome for outcome in found.pushed if outcome.state == "waiting")
    assert "is being moved" in str(refused) and "was moved" in str(found.pushed[-1])
    with served.at_the_new_one():
        assert served.ada.machine.push().state == "ok"
        served.ada.holds()
    every_kept_sequence_has_its_digest(served.ada.machine.context, served.ada.machine.agent)


def test_machines_notice_nothing_but_another_address(served: Served) -> None:
    before = served.ada.machine.remote()
    served.moving.move()
    with served.at_the_new_one():
        served.ada.capture(1)
        assert served.ada.machine.push().state == "ok"
        assert served.ada.machine.remote() == before
        redaction = served.ada.purge(1)
        assert served.ada.machine.push().state == "ok" and served.ada.is_told(redaction)


def test_an_answer_of_one_that_was_moved_says_when_to_come_back(served: Served) -> None:
    served.moving.move()
    with served.running.client() as client:
        answer = client.get("/agents")
    assert answer.status_code == 503 and answer.headers["Retry-After"] == "60"
    assert "was moved" in answer.json()["detail"] and str(served.moving.folder) not in answer.text


def test_after_giving_up_a_server_that_runs_takes_pushes_again(served: Served) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), slowly(fail):
        served.moving.move()
    served.ada.capture(1)
    assert served.ada.machine.push().state == "waiting"
    assert abort_migration(served.moving.old)
    assert served.ada.machine.push().state == "ok"
    served.moving.move()
    with served.at_the_new_one():
        served.ada.capture(2)
        assert served.ada.machine.push().state == "ok"
        served.ada.holds()


def test_the_new_one_is_not_served_before_all_is_there(served: Served) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), slowly(fail):
        served.moving.move()
    refused = command("--plain-http", "--listen", "127.0.0.1:0", "--data", served.moving.new, "--json", name="serve")
    said = json.loads(refused.stdout)["error"]
    assert "move is not complete" in said["message"] and "endpoint migrate" in said["fix"]
