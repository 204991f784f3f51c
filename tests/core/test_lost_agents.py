"""What happens when the file that describes an agent is lost."""

from __future__ import annotations

import pytest
from filelock import FileLock

from lifeboat_cli.doctor import DoctorLevel, run_doctor_checks
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents import lost_agents, manage_agents
from lifeboat_core.capture import known_installation
from lifeboat_core.errors import UnknownAgent
from lifeboat_core.health.status_gathering import gather_status
from lifeboat_daemon.service.fleet import Fleet
from support.core.protected import Protected


def _lose(ada: Protected, *, copy: bool = False) -> None:
    home = ada.context.home
    home.agent_file(ada.agent.id).unlink()
    if copy:
        (home.state_folder / f"{ada.agent.id}.good.toml").unlink()


@pytest.mark.parametrize("content", [None, b"", b"\n"])
def test_a_lost_or_emptied_file_is_written_again_with_what_the_user_decided(
    ada: Protected, content: bytes | None
) -> None:
    paused = manage_agents.pause_agent(ada.context, manage_agents.load_agent(ada.context, ada.agent.id))
    file = ada.context.home.agent_file(ada.agent.id)
    before = file.read_bytes()
    file.unlink() if content is None else file.write_bytes(content)
    assert manage_agents.list_agents(ada.context) == [paused]
    assert file.read_bytes() == before


def test_a_command_says_that_it_wrote_a_lost_file_again(ada: Protected) -> None:
    _lose(ada)
    (said,) = lost_agents.rebuild_lost_agents(ada.context)
    assert said.startswith(
        f"the file agents/{ada.agent.id}.toml (ada) was missing; Lifeboat restored the file from the copy"
    )
    assert lost_agents.rebuild_lost_agents(ada.context) == []


def test_the_daemon_keeps_an_agent_whose_file_is_lost_while_it_runs(ada: Protected) -> None:
    fleet = Fleet(ada.context)
    fleet.load()
    _lose(ada)
    assert fleet.load() == ([], []) and [watched.id for watched in fleet] == [ada.agent.id]
    assert fleet.problem is None


def test_without_the_copy_the_vault_says_which_folder_was_protected(ada: Protected) -> None:
    _lose(ada, copy=True)
    assert len(lost_agents.rebuild_lost_agents(ada.context)) == 1
    (found,) = manage_agents.list_agents(ada.context)
    assert (found.id, found.name, found.runtime, found.workspace) == (
        ada.agent.id,
        ada.agent.name,
        ada.agent.runtime,
        ada.agent.workspace,
    )
    assert ada.capture().outcome == "unchanged"


def test_a_damaged_vault_of_another_agent_stops_none_of_it(ada: Protected) -> None:
    damaged = ada.context.home.vault_folder("00000000-0000-7000-8000-000000000000")
    damaged.mkdir(parents=True)
    (damaged / "vault.db").write_bytes(b"no database")
    _lose(ada, copy=True)
    (said,) = lost_agents.rebuild_lost_agents(ada.context)
    assert "(ada) was missing; Lifeboat created it again from the vault" in said
    (named,) = lost_agents.describe_lost_agents(ada.context)
    assert damaged.name in named


def test_a_vault_that_does_not_say_its_folder_is_reported_by_status_and_doctor(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        known = vault.get(known_installation.DECISION)
        vault.set(known_installation.DECISION, {**known, "workspace": None}, kind=known_installation.DECISION)
    _lose(ada, copy=True)
    assert lost_agents.rebuild_lost_agents(ada.context) == []
    found = gather_status(ada.context)
    assert found.needs_the_user and f"agents/{ada.agent.id}.toml is missing" in found.problems[0]
    broken = [one.finding for one in run_doctor_checks(ada.context) if one.finding.level is DoctorLevel.ERROR]
    assert any(ada.agent.id in one.result for one in broken)


def test_an_agent_that_was_removed_does_not_come_back_from_its_copy(ada: Protected) -> None:
    good = ada.context.home.state_folder / f"{ada.agent.id}.good.toml"
    copy = good.read_bytes()
    manage_agents.remove_agent(ada.context, manage_agents.load_agent(ada.context, ada.agent.id))
    good.write_bytes(copy)  # as a reader leaves it that read the file just before
    assert manage_agents.list_agents(ada.context) == [] and lost_agents.rebuild_lost_agents(ada.context) == []
    with pytest.raises(UnknownAgent):
        manage_agents.load_agent(ada.context, ada.agent.id)


def test_an_agent_that_is_just_being_made_is_left_alone(ada: Protected) -> None:
    _lose(ada, copy=True)
    with FileLock(ada.context.home.locks_folder / "home.lock"):
        assert gather_status(ada.context).problems == []


def test_an_import_that_was_cut_off_is_no_lost_agent(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        vault.set(known_installation.DECISION, None, kind=known_installation.DECISION)
    _lose(ada, copy=True)
    assert gather_status(ada.context).problems == []
    assert agent_files.ids_without_description(ada.context) == {ada.agent.id}
