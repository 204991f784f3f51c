"""A home lost both copies of the pairs to which an agent's credentials are sealed: what still has them gives them back,
nothing else is overwritten, and until then it is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.health import status_gathering
from lifeboat_core.home.context import Context
from lifeboat_core.state.state_documents import load_credentials
from lifeboat_keys.errors import KeyDamaged
from support.core import credentialed
from support.core.machines import Machine
from support.oracle.copies import HOME, PLAIN, REMOTES, STICK, Copies, make_copies
from support.prepared_folders import PreparedFolders

ENVIRONMENT = "TIDE_API_KEY=fake-tide-key-0123456789abcdef\n"


def lose_pairs(context: Context) -> None:
    keys = context.home.folder / "keys" / "agents"
    for folder in (keys, context.home.folder / "state" / "keys" / "agents"):
        assert list(folder.iterdir())
        shutil.rmtree(folder)


def shut(context: Context, agent: str) -> tuple[str, ...]:
    found = manage_agents.load_agent(context, agent)
    return status_gathering.gather_facts(context, found).shut


@pytest.fixture
def copies(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Copies:
    """An agent with a credential, at every remote, that lost its pairs on the laptop."""
    made = prepared_folders.restore("an agent with every remote", make_copies)
    made.install(monkeypatch)
    made.laptop.write(".env", ENVIRONMENT, mode=0o600)
    made.laptop.capture()
    for remote in REMOTES:
        assert made.laptop.push(remote).state == "ok"
    lose_pairs(made.laptop.context)
    return made


def test_every_credential_is_sealed_again_by_the_next_capture(tmp_path: Path) -> None:
    machine = credentialed.Machine(tmp_path / "laptop")
    agent = credentialed.live(machine)
    lose_pairs(machine.context)
    assert len(shut(machine.context, agent.id)) > 4
    found = status_gathering.gather_status(machine.context)
    assert found.needs_the_user and found.agents[0].state == "needs_key"
    assert "was lost" in found.agents[0].reasons[0]
    assert capture_agent(machine.context, agent).changed
    assert shut(machine.context, agent.id) == ()
    with machine.context.vault(agent.id) as vault:
        for credential in load_credentials(vault.state()).values():
            assert machine.context.keys().open(credential)
    assert not capture_agent(machine.context, agent).changed


@pytest.mark.parametrize("remote", [HOME, STICK, PLAIN])
def test_a_remote_gives_lost_pairs_back_and_keeps_its_own(copies: Copies, remote: str) -> None:
    copies.laptop.write("MEMORY.md", "# Memory\n\nNew.\n")
    copies.laptop.capture()
    assert copies.laptop.push(remote).state == "ok"
    numbers = copies.kept_here()
    for number in numbers[-2:]:
        folder, report = copies.restored_from(remote, number)
        assert (folder / ".env").read_text() == ENVIRONMENT and report.lacking == []
        folder, report = copies.restored_here(number)
        assert (folder / ".env").read_text() == ENVIRONMENT and report.lacking == []
    assert shut(copies.laptop.context, copies.laptop.agent.id) == ()


def test_keys_of_a_remote_that_are_not_the_users_give_way(copies: Copies) -> None:
    with copies.places.endpoint() as endpoint:
        (tenant,) = endpoint.control.tenants()
        endpoint.space(tenant.id).put_keys(copies.laptop.agent.id, {"agent_id": copies.laptop.agent.id, "pairs": []})
    copies.laptop.capture()
    assert copies.laptop.push(HOME).state == "ok"
    folder, report = copies.restored_from(HOME, copies.kept_here()[-1])
    assert (folder / ".env").read_text() == ENVIRONMENT and report.lacking == []


def test_pairs_that_cannot_be_read_stop_no_capture(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> None:
        raise KeyDamaged("the keys are damaged")

    monkeypatch.setattr("lifeboat_keys.home.agent_keys.AgentKeys.pairs", damaged)
    copies.laptop.write("MEMORY.md", "# Memory\n\nNew.\n")
    assert copies.laptop.capture().changed
    assert status_gathering.gather_status(copies.laptop.context).needs_the_user


def test_a_new_pair_has_its_copy_at_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "laptop")
    machine.write(".env", ENVIRONMENT, mode=0o600)
    machine.add(name="ada")
    assert (machine.context.home.folder / "state" / "keys" / "agents" / f"{machine.agent.id}.json").exists()
