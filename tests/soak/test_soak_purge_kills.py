"""Purges killed at every step, on the machine that purges and in the endpoint that is told: all of it completes by
itself, nothing of the text is left anywhere, and everything else is what it was."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.agents import manage_agents
from lifeboat_core.home import crash_recovery
from lifeboat_core.purge import agent_purge, purge_run, receipt_signing
from lifeboat_core.remotes.redactions import purge_exchange
from support.core.faulty_transport import impatient
from support.core.invariants import always, an_endpoint_is_whole, what_was_purged_is_gone
from support.core.machines import Machine
from support.core.purged import SCANNER, TEXT, Held, everything, owner_token, purge, request, same
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint, until_ended
from support.killing import killed_at

pytestmark = pytest.mark.timeout(1800)

PURGE = [step for step in CrashPoint if step.name.startswith("PURGE_")]
ERASE = [step for step in CrashPoint if step.name.startswith("ERASE_")]
SEALED = [step for step in CrashPoint if step.name.startswith("SEALED_")]
REPLICATE = [step for step in CrashPoint if step.name.startswith("REPLICATE_")]
THERE = [CrashPoint.ENDPOINT_REDACTED, CrashPoint.PURGE_REDACTED, CrashPoint.PURGE_SWEPT]
REMOTES = ("home", "stick", "blind")
MOST = 40


@dataclass
class Told:
    """A machine whose agent learned the text, with an endpoint, a sealed folder and a sealed endpoint that have it."""

    machine: Machine
    endpoint: RunningEndpoint
    blind: RunningEndpoint
    stick: Path
    owner: str
    before: dict[int, tuple[bytes, Held]]

    def purge(self, **options: bool) -> None:
        purge(self.machine, request(workspace=True, **options), {"home": self.owner})

    def erase(self) -> None:
        purge_run.purge_agent(self.machine.context, self.machine.known_agent, "user_request", {"home": self.owner})

    def push(self) -> None:
        for name in REMOTES:
            outcome = self.machine.push(name)
            assert outcome.state == "ok", (name, outcome)

    def completes(self) -> None:
        """What the service does by itself; where an endpoint waits, its owner says yes. If it was cut off before it
        was decided upon, it is asked for again."""
        machine = self.machine
        crash_recovery.finish_purges(machine.context)
        assert crash_recovery.finish_purges(machine.context) == []
        self.push()
        if not receipt_signing.load_receipts(machine.context):
            self.purge()
        self.owner_confirms()
        for receipt in receipt_signing.load_receipts(machine.context):
            assert receipt.is_done, [(each.name, each.state, each.message) for each in receipt.vaults]

    def owner_confirms(self) -> None:
        machine = self.machine
        with machine.context.vault(machine.agent.id) as vault:
            known = list(vault.redactions)
        for redaction in known:
            purge_exchange.send_redaction(
                machine.context, machine.known_agent, machine.remote("home"), redaction, self.owner
            )

    def holds(self) -> None:
        machine = self.machine
        where = (machine.workspace, self.stick, self.endpoint.data, self.blind.data)
        what_was_purged_is_gone(machine.context, machine.known_agent, SCANNER, *where)
        with machine.context.vault(machine.agent.id) as vault:
            now = everything(vault)
        assert same(self.before, {number: now[number] for number in self.before})
        always(machine.context, machine.known_agent)
        machine.write("notes/later.txt", "and the days go on\n")
        machine.capture()
        self.push()


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningEndpoint, RunningEndpoint]]:
    folder = tmp_path_factory.mktemp("there")
    with running_endpoint(folder / "home", plain=True) as home, running_endpoint(folder / "blind", plain=True) as blind:
        yield home, blind
        for each in (home, blind):
            each.kill()
            an_endpoint_is_whole(each.data)


@pytest.fixture
def told(
    tmp_path: Path, endpoints: tuple[RunningEndpoint, RunningEndpoint], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Told]:
    """Another one at every call."""
    impatient(monkeypatch)
    numbers = itertools.count()
    home, blind = endpoints

    def made() -> Told:
        folder = tmp_path / str(next(numbers))
        machine = Machine(folder / "laptop")
        machine.add(name="ada")
        (folder / "stick").mkdir()
        machine.add_remote("home", home.url, token=home.token)
        machine.add_remote("stick", (folder / "stick").as_uri(), sealed=True)
        machine.add_remote("blind", blind.url, token=blind.token, sealed=True)
        story = Told(machine, home, blind, folder / "stick", owner_token(home), {})
        machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
        machine.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
        machine.capture()
        story.push()
        machine.write("notes/other.txt", "nothing of it\n")
        machine.capture()
        story.push()
        with machine.context.vault(machine.agent.id) as vault:
            story.before = everything(vault)
        return story

    return made


def at_every_moment(
    step: CrashPoint, told: Callable[[], Told], work: Callable[[Told], Any], check: Callable[[Told], None]
) -> int:
    """`work` of ever another machine, killed when it reaches the step for the first time, the second and so on, until
    it ends before that; how often it was killed."""
    for nth in range(1, MOST):
        story = told()
        killed = killed_at(lambda story=story: work(story), step, nth)
        check(story)
        if not killed:
            return nth - 1
    raise AssertionError(f"{step} has no end")


def completed(story: Told) -> None:
    story.completes()
    story.holds()


# The machine --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [*PURGE, *SEALED], ids=str)
def test_a_purge_killed_at_any_step(told: Callable[[], Told], step: CrashPoint) -> None:
    assert at_every_moment(step, told, lambda story: story.purge(), completed) >= 1


@pytest.mark.parametrize("step", [*REPLICATE, CrashPoint.PURGE_SENT, CrashPoint.PURGE_NOTED, *SEALED], ids=str)
def test_the_next_contact_after_a_purge_killed_at_any_step(told: Callable[[], Told], step: CrashPoint) -> None:
    """Everything was away when it was purged; a capture waits to be sent as well."""

    def away() -> Told:
        story = told()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(purge_run, "_told", lambda *_: [])
            story.purge()
        story.machine.write("notes/while-away.txt", "written before anybody was told\n")
        story.machine.capture()
        return story

    assert at_every_moment(step, away, lambda story: story.push(), completed) >= 1


@pytest.mark.parametrize(
    "step",
    [*ERASE, CrashPoint.PURGE_SENT, CrashPoint.PURGE_NOTED, CrashPoint.SEALED_HEAD_REPLACED, CrashPoint.SEALED_SWEPT],
    ids=str,
)
def test_the_end_of_an_agent_killed_at_any_step(told: Callable[[], Told], step: CrashPoint) -> None:
    def check(story: Told) -> None:
        context, agent_id = story.machine.context, story.machine.agent.id
        agent = story.machine.agent
        crash_recovery.finish_purges(context)
        if any(each.id == agent_id for each in manage_agents.list_agents(context)):
            story.push()
            story.erase()
        agent_purge.tell_remotes_of_purged_agents(context)
        for receipt in receipt_signing.load_receipts(context):
            for note in receipt.vaults:
                if note.state == receipt_signing.WAITING:
                    known = agent_purge.purged_agent_files.find_purged_agent(context, agent_id)
                    assert known is not None
                    purge_exchange.send_redaction(
                        context, known.agent, story.machine.remote(note.name), known.redaction, story.owner
                    )
        assert [each.is_done for each in receipt_signing.load_receipts(context)] == [True]
        assert manage_agents.list_agents(context) == []
        where = (story.stick, story.endpoint.data, story.blind.data)
        what_was_purged_is_gone(context, agent, SCANNER, *where)

    assert at_every_moment(step, told, lambda story: story.erase(), check) >= 1


# The endpoint -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("owned", [True, False], ids=["confirmed", "sent"])
@pytest.mark.parametrize("step", THERE, ids=str)
def test_an_endpoint_killed_while_it_purges(told: Callable[[], Told], step: CrashPoint, owned: bool) -> None:
    """It says nothing, is waited for, and told again at the next contact."""
    story = told()
    story.endpoint.restart(dies=(step, 1))
    done = purge(story.machine, request(workspace=True), {"home": story.owner} if owned else {})
    states = {each.name: each.state for each in done.remotes}
    if owned:
        assert states["home"] == "pending"
        until_ended(story.endpoint)
    story.endpoint.restart()
    completed(story)


def test_an_endpoint_killed_while_it_ends_an_agent(told: Callable[[], Told]) -> None:
    story = told()
    story.endpoint.restart(dies=(CrashPoint.ENDPOINT_ERASED, 1))
    context, agent = story.machine.context, story.machine.known_agent
    done = purge_run.purge_agent(context, agent, "user_request", {"home": story.owner})
    assert {each.name: each.state for each in done.remotes} == {"home": "pending", "stick": "done", "blind": "done"}
    until_ended(story.endpoint)
    story.endpoint.start()
    agent_purge.tell_remotes_of_purged_agents(context)
    known = agent_purge.purged_agent_files.find_purged_agent(context, agent.id)
    assert known is not None
    purge_exchange.send_redaction(context, agent, story.machine.remote(), known.redaction, story.owner)
    assert receipt_signing.find_receipt(context, done.receipt).is_done
    what_was_purged_is_gone(context, agent, SCANNER, story.stick, story.endpoint.data, story.blind.data)


@pytest.mark.parametrize("nth", range(1, 12))
@pytest.mark.parametrize("step", [CrashPoint.ENDPOINT_RECEIVED, CrashPoint.ENDPOINT_ANSWERED], ids=str)
def test_a_blind_endpoint_killed_while_its_log_is_written_anew(
    told: Callable[[], Told], step: CrashPoint, nth: int
) -> None:
    story = told()
    story.blind.restart(dies=(step, nth))
    purge(story.machine, request(workspace=True), {"home": story.owner})
    story.blind.restart()
    completed(story)
