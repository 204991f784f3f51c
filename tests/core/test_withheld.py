"""Files that a restore leaves out for lack of their credentials stay in the newest state."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lifeboat_core import exchange
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import manage_agents as registry
from lifeboat_core.agents import withheld_items
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.core.credentialed import ENV_KEY, Machine, live, second_machine

DOTENV = "raw/openclaw/.env"


@pytest.fixture
def first(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path / "first")
    agent = live(machine)
    (machine.workspace / ".env").write_text(f"HARBOUR_API_KEY={ENV_KEY}\n")
    capture_agent(machine.context, agent)
    return machine


def _agent(machine: Machine) -> Agent:
    return agents.list_agents(machine.context)[0]


def _held(machine: Machine) -> set[str]:
    with machine.context.vault(_agent(machine).id) as vault:
        return {entry.path for entry in vault.state().entries("raw/")}


def _restored(machine: Machine, *, with_credentials: bool = False) -> None:
    options = RestoreOptions(yes=True, reindex=False, with_credentials=with_credentials)
    restore_agent(machine.context, _agent(machine), options)


def test_they_can_be_put_back_from_the_newest_state_later(first: Machine) -> None:
    shutil.rmtree(first.workspace)
    _restored(first)
    _restored(first, with_credentials=True)
    assert ENV_KEY in (first.workspace / ".env").read_text()


def test_once_they_are_there_again_their_absence_is_a_deletion(first: Machine) -> None:
    shutil.rmtree(first.workspace)
    _restored(first)
    _restored(first, with_credentials=True)
    capture_agent(first.context, _agent(first))
    (first.workspace / ".env").unlink()
    capture_agent(first.context, _agent(first))
    assert DOTENV not in _held(first)
    with first.context.vault(_agent(first).id) as vault:
        assert withheld_items.list_withheld_paths(vault) == frozenset()


STORES = {f"raw/openclaw-home/db/auth/{name}.jsonl" for name in ("profiles", "order", "secrets")}


def _loses_its_folder(machine: Machine) -> None:
    order = ("models", "auth", "order", "set", "--provider", "openai", "--agent", "main", "openai:default")
    machine.openclaw(*order)
    capture_agent(machine.context, _agent(machine))
    shutil.rmtree(machine.state)


def _ids(machine: Machine) -> set[str]:
    with machine.context.vault(_agent(machine).id) as vault:
        document = json.loads(vault.state().body("credentials.json"))
    return {each["id"] for each in document["credentials"]}


def test_what_the_runtime_keeps_in_its_databases_stays_while_they_are_gone(first: Machine) -> None:
    _loses_its_folder(first)
    (first.fake.folder / "openclaw").unlink()
    before = _ids(first)
    restore_agent(
        first.context,
        _agent(first),
        RestoreOptions(yes=True, reindex=False, with_credentials=True, state_dir=first.state),
    )
    capture_agent(first.context, _agent(first))
    assert _held(first) >= STORES
    assert _ids(first) == before


def test_what_is_back_in_its_databases_goes_on_as_the_same_credentials(first: Machine) -> None:
    _loses_its_folder(first)
    before = _ids(first)
    restore_agent(
        first.context,
        _agent(first),
        RestoreOptions(yes=True, reindex=False, with_credentials=True, state_dir=first.state),
    )
    capture_agent(first.context, _agent(first))
    assert _held(first) >= STORES
    assert _ids(first) == before
    with first.context.vault(_agent(first).id) as vault:
        assert withheld_items.list_withheld_paths(vault) == frozenset()


def test_an_import_without_credentials_keeps_them_too(first: Machine, tmp_path: Path) -> None:
    file = tmp_path / "ada.alf"
    exchange.export_agent(first.context, "openclaw", first.workspace, file)
    second = second_machine(tmp_path / "second", first)
    exchange.import_archive(second.context, file, second.workspace, RestoreOptions(state_dir=second.state))
    registry.resume_agent(second.context, _agent(second))
    (second.workspace / "SOUL.md").write_text("# Soul\n\nBe patient.\n")
    capture_agent(second.context, _agent(second))
    assert DOTENV in _held(second)
