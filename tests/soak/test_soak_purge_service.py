"""Purges while the service is at work: it captures and replicates all the time, hears of purges that others asked for,
and lets go of an agent that was purged whole."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_core.agents import manage_agents
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.purge import purge_run, receipt_signing
from lifeboat_core.remotes.redactions import purge_exchange
from support.cli.cli_client import run
from support.core.invariants import an_endpoint_is_whole, every_kept_sequence_has_its_digest, what_was_purged_is_gone
from support.core.machines import Machine
from support.core.purged import SCANNER, TEXT, leaks_below, leaks_in, owner_token, purge, request
from support.daemon.serving import serving
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.waiting import until

pytestmark = pytest.mark.timeout(1800)


class Living(Machine):
    """On the clock of this machine, which a service of it has too."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.clock: Any = SystemClock()

    def capture(self, **options: Any) -> Any:
        return capture_agent(self.context, self.known_agent, **options)

    @property
    def purges(self) -> set[str]:
        with self.context.vault(self.agent.id) as vault:
            return {each.id for each in vault.redactions}

    def is_clean(self) -> bool:
        with self.context.vault(self.agent.id) as vault:
            return leaks_in(vault) == [] and leaks_below(self.folder / "home") == []


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path / "there", plain=True) as running:
        yield running
        running.kill()
        an_endpoint_is_whole(running.data)


@pytest.fixture
def laptop(tmp_path: Path, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch) -> Living:
    machine = Living(tmp_path / "laptop")
    machine.add(name="ada")
    machine.add_remote("home", endpoint.url, token=endpoint.token)
    (tmp_path / "stick").mkdir()
    machine.add_remote("stick", (tmp_path / "stick").as_uri(), sealed=True)
    machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
    machine.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    machine.capture()
    for name in ("home", "stick"):
        assert machine.push(name).state == "ok"
    monkeypatch.setenv("LIFEBOAT_HOME", str(machine.folder / "home"))
    return machine


@pytest.fixture
def desk(tmp_path: Path, laptop: Living, endpoint: RunningEndpoint) -> Living:
    """Where the agent lives now."""
    machine = Living(tmp_path / "desk")
    machine.learn_words_of(laptop)
    machine.add_remote("home", endpoint.url, token=endpoint.token)
    machine.bring_back(laptop.agent.id, tmp_path / "moved", take_over=laptop.context.keys().own_name)
    assert machine.push().state == "ok"
    return machine


@contextlib.contextmanager
def being_written(machine: Living) -> Iterator[None]:
    """The agent writes all the time."""
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.wait(0.1):
            number += 1
            machine.write(f"notes/day-{number % 5}.txt", f"the tide came {number} times\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


def head(machine: Living) -> int:
    with machine.context.vault(machine.agent.id) as vault:
        row = vault.head()
    assert row is not None
    return int(row.number)


@pytest.mark.parametrize("turn", range(3))
def test_a_command_purges_while_the_service_captures_and_replicates(
    laptop: Living, endpoint: RunningEndpoint, tmp_path: Path, turn: int
) -> None:
    with serving(laptop.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        before = head(laptop)
        with being_written(laptop):
            until(lambda: head(laptop) > before, "a capture")
            said = run("purge", "ada", "--text", TEXT, "--workspace", "--yes")
            after = head(laptop)
            until(lambda: head(laptop) > after, "a capture after it", seconds=90)
        receipt = said["receipt"]
        until(lambda: note(laptop, receipt, "stick") == "done", "the folder to be told", seconds=90)
        until(lambda: note(laptop, receipt, "home") == "waiting", "the endpoint to be told", seconds=90)
        [redaction] = redactions(laptop)
        purge_exchange.send_redaction(
            laptop.context, laptop.known_agent, laptop.remote(), redaction, owner_token(endpoint)
        )
        until(lambda: daemon.agent()["state"] == "ok" and daemon.is_settled(), "all to be well", seconds=90)
    assert receipt_signing.find_receipt(laptop.context, receipt).is_done
    what_was_purged_is_gone(
        laptop.context, laptop.known_agent, SCANNER, tmp_path / "stick", endpoint.data, laptop.workspace
    )
    every_kept_sequence_has_its_digest(laptop.context, laptop.known_agent)


def note(machine: Living, receipt: str, name: str) -> str | None:
    found = receipt_signing.find_receipt(machine.context, receipt).vault(machine.remote(name).id)
    return None if found is None else found.state


def redactions(machine: Living) -> list[Any]:
    with machine.context.vault(machine.agent.id) as vault:
        return list(vault.redactions)


def test_the_service_tells_of_a_purge_when_a_second_copy_comes_back(
    laptop: Living, endpoint: RunningEndpoint, tmp_path: Path
) -> None:
    endpoint.stop()
    with serving(laptop.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        receipt = run("purge", "ada", "--text", TEXT, "--workspace", "--yes")["receipt"]
        assert note(laptop, receipt, "home") == "pending"
        endpoint.start()
        laptop.write("notes/later.txt", "something to be sent\n")
        until(lambda: note(laptop, receipt, "home") == "waiting", "the endpoint to be told", seconds=180)


def test_the_service_learns_of_a_purge_from_a_second_copy_and_does_the_same(
    laptop: Living, desk: Living, endpoint: RunningEndpoint
) -> None:
    with serving(laptop.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        done = purge(desk, request(), {"home": owner_token(endpoint)})
        laptop.write("notes/later.txt", "written where the agent does not live any more\n")
        until(lambda: done.receipt in laptop.purges, "the service to hear of it", seconds=180)
        until(daemon.is_settled, "all that follows from it", seconds=90)
        laptop.write("notes/trip.txt", f"before\n{TEXT}\nafter\nand one line more\n")
        until(lambda: b"one line more" in laptop.entries_at()["artifacts/notes/trip.txt"], "a capture", seconds=90)
        until(daemon.is_settled, "it to end", seconds=90)
    assert laptop.is_clean()


def test_an_agent_that_was_purged_whole_elsewhere_leaves_the_service(
    laptop: Living, desk: Living, endpoint: RunningEndpoint
) -> None:
    with serving(laptop.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        purge_run.purge_agent(desk.context, desk.known_agent, "user_request", {"home": owner_token(endpoint)})
        laptop.write("notes/later.txt", "written where the agent does not live any more\n")
        until(lambda: manage_agents.list_agents(laptop.context) == [], "the agent to go", seconds=180)
        until(lambda: daemon.ask("status")["agents"] == [], "the service to know it", seconds=90)
        until(lambda: not daemon.ask("daemon")["jobs"], "it to end", seconds=90)
        assert leaks_below(laptop.folder / "home") == []
        assert TEXT in laptop.read("notes/trip.txt")
        assert daemon.stop() == 0


def test_a_command_purges_a_whole_agent_under_the_service(
    laptop: Living, endpoint: RunningEndpoint, tmp_path: Path
) -> None:
    with serving(laptop.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        with being_written(laptop):
            said = run("purge", "ada", "--all", "--yes")
        until(lambda: daemon.ask("status")["agents"] == [], "the service to know it", seconds=90)
        until(lambda: not daemon.ask("daemon")["jobs"], "it to end", seconds=90)
        assert leaks_below(laptop.folder / "home", tmp_path / "stick") == []
        assert receipt_signing.find_receipt(laptop.context, said["receipt"]).audit["scope"] == "full_agent"
        assert daemon.stop() == 0
