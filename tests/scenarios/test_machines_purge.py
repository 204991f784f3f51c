"""Purges among several machines of one user: whoever was away hears of one before it says anything else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.purge import purge_run, receipt_signing
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_vault.errors import AgentErased
from support.core.machines import Machine
from support.core.purged import TEXT, contents, leaks_below, leaks_in, owner_token, purge, request, vaults_of
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

OTHER = "The second text is of the harbour and nobody else."


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True) as running:
        yield running


@pytest.fixture
def laptop(tmp_path: Path, endpoint: RunningEndpoint) -> Machine:
    """It learned the text, in a memory and in a file, and sent all of it."""
    machine = Machine(tmp_path / "laptop")
    machine.add(name="ada")
    joined(machine, endpoint)
    machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
    machine.write("notes/trip.txt", f"before\n{TEXT}\nafter\n{OTHER}\n")
    machine.capture_and_push()
    machine.write("notes/other.txt", "nothing of it\n")
    assert machine.capture_and_push().state == "ok"
    return machine


@pytest.fixture
def desk(tmp_path: Path, laptop: Machine, endpoint: RunningEndpoint) -> Machine:
    """Where the agent lives now: the laptop has its old history, and its old workspace."""
    machine = Machine(tmp_path / "desk")
    machine.learn_words_of(laptop)
    joined(machine, endpoint)
    machine.bring_back(laptop.agent.id, tmp_path / "moved", take_over=laptop.context.keys().own_name)
    assert machine.push().state == "ok"
    return machine


def joined(machine: Machine, endpoint: RunningEndpoint) -> None:
    machine.add_remote("home", endpoint.url, token=endpoint.token)


def is_clean(machine: Machine) -> bool:
    with machine.context.vault(machine.agent.id) as vault:
        return leaks_in(vault) == [] and leaks_below(machine.folder / "home") == []


def is_clean_there(machine: Machine, endpoint: RunningEndpoint) -> bool:
    return all(leaks_in(vault) == [] for vault in vaults_of(endpoint) if vault.agent_id == machine.agent.id)


def purges_of(machine: Machine) -> set[str]:
    with machine.context.vault(machine.agent.id) as vault:
        return {each.id for each in vault.redactions}


def test_a_machine_that_may_not_write_hears_of_a_purge_and_does_the_same(laptop: Machine, desk: Machine) -> None:
    done = purge(desk)
    assert not is_clean(laptop)
    laptop.write("notes/later.txt", "captured here, and sent nowhere\n")
    laptop.capture()
    assert laptop.push().state == "fenced"
    assert is_clean(laptop)
    kept = receipt_signing.find_receipt(laptop.context, done.receipt)
    assert [each.state for each in kept.vaults if each.kind == receipt_signing.HOME] == ["done"]
    assert receipt_signing.verify_receipt(laptop.context, kept.to_json())


def test_what_is_in_its_workspace_still_is_in_no_capture_of_it(
    laptop: Machine, desk: Machine, endpoint: RunningEndpoint
) -> None:
    purge(desk, owners={"home": owner_token(endpoint)})
    laptop.push()
    assert TEXT in laptop.read("notes/trip.txt")
    laptop.write("notes/trip.txt", f"before\n{TEXT}\nafter\nand one line more\n")
    laptop.capture()
    assert is_clean(laptop)
    laptop.adopt(take_over=desk.context.keys().own_name)
    laptop.write("notes/trip.txt", f"before\n{TEXT}\nafter\nand two lines more\n")
    assert laptop.capture_and_push().state == "ok"
    assert is_clean(laptop)
    assert is_clean_there(laptop, endpoint)


def test_whoever_adopts_an_agent_hears_of_purges_first(
    laptop: Machine, desk: Machine, endpoint: RunningEndpoint
) -> None:
    done = purge(desk, owners={"home": owner_token(endpoint)})
    laptop.adopt(take_over=desk.context.keys().own_name)
    assert purges_of(laptop) == {done.receipt}
    assert is_clean(laptop)
    assert is_clean_there(laptop, endpoint)


def test_a_machine_that_may_not_write_may_purge(laptop: Machine, desk: Machine) -> None:
    assert laptop.push().state == "fenced"
    done = purge(laptop)
    assert [each.state for each in done.remotes] == ["waiting"]
    desk.write("notes/desk.txt", "written at the desk\n")
    assert desk.capture_and_push().state == "ok"
    assert purges_of(desk) == {done.receipt}
    assert is_clean(desk)


def test_two_purges_that_did_not_know_of_each_other_are_known_everywhere(laptop: Machine, desk: Machine) -> None:
    first = purge(desk, request())
    second = purge(laptop, request(text=OTHER))
    assert {each.state for each in (*first.remotes, *second.remotes)} == {"waiting"}
    desk.push()
    laptop.push()
    assert purges_of(laptop) == purges_of(desk) >= {first.receipt, second.receipt}
    assert is_clean(laptop) and is_clean(desk)
    for machine in (laptop, desk):
        with machine.context.vault(machine.agent.id) as vault:
            assert not any(OTHER.encode() in body for body in contents(vault.state()).values())
            assert vault.verify(trusted=machine.context.keys().trusted).findings == []


def test_while_a_purge_waits_nobody_gets_back_what_was_purged(laptop: Machine, desk: Machine, tmp_path: Path) -> None:
    purge(desk)
    clean = Machine(tmp_path / "clean")
    clean.learn_words_of(desk)
    clean.add_remote("home", desk.remote().url, token=token_of(desk))
    with contextlib.closing(open_remote(desk.context, desk.remote())) as remote:
        numbers = [row.number for row in remote.sequences(desk.agent.id)]
    for number in numbers:
        clean.restore_from(desk.agent.id, tmp_path / f"copy-{number}", at=number)
    assert len(numbers) > 1
    clean.bring_back(desk.agent.id, tmp_path / "all", take_over=desk.context.keys().own_name)
    assert leaks_below(*tmp_path.glob("copy-*"), tmp_path / "all") == []
    assert is_clean(clean)


def token_of(machine: Machine) -> str | None:
    return remote_registry.load_token(machine.context, "home")


def test_an_agent_that_was_purged_whole_is_gone_on_every_machine(
    laptop: Machine, desk: Machine, endpoint: RunningEndpoint
) -> None:
    """Also on the one that was away; its workspace is its owner's."""
    owners = {"home": owner_token(endpoint)}
    done = purge_run.purge_agent(desk.context, desk.known_agent, "user_request", owners)
    assert [each.state for each in done.remotes] == ["done"]
    outcome = laptop.push()
    assert (outcome.state, outcome.code) == ("error", AgentErased.code)
    assert manage_agents.list_agents(laptop.context) == []
    assert leaks_below(laptop.folder / "home") == []
    assert TEXT in laptop.read("notes/trip.txt")
    assert receipt_signing.find_receipt(laptop.context, done.receipt).agent_id == laptop.agent.id


def test_an_agent_that_was_purged_whole_comes_back_from_nowhere(
    laptop: Machine, desk: Machine, endpoint: RunningEndpoint, tmp_path: Path
) -> None:
    owners = {"home": owner_token(endpoint)}
    purge_run.purge_agent(desk.context, desk.known_agent, "user_request", owners)
    with pytest.raises(AgentErased):
        laptop.adopt(take_over=desk.context.keys().own_name)
    assert manage_agents.list_agents(laptop.context) == []
