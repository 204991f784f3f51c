"""Status: the words, and what leads to them."""

from __future__ import annotations

from pathlib import Path

from lifeboat_core.agents import manage_agents
from lifeboat_core.health import status_gathering
from support.core.protected import Protected


def verify(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.head()
        assert head is not None
        vault.mark_verified(head.number)


def of(ada: Protected) -> status_gathering.AgentStatus:
    (found,) = status_gathering.gather_status(ada.context).agents
    return found


def test_without_agents_there_is_nothing_to_worry_about(tmp_path: Path) -> None:
    found = status_gathering.gather_status(Protected(tmp_path).context)
    assert found.agents == [] and found.state == "ok" and not found.needs_the_user


def test_the_document_has_the_shape_scripts_rely_on(ada: Protected) -> None:
    verify(ada)
    document = status_gathering.gather_status(ada.context).to_json()
    (agent,) = document["agents"]
    expected = {"id", "name", "runtime", "workspace", "state", "sequence", "last_captured_at", "last_verified_at"}
    assert expected | {"pending"} <= agent.keys()
    assert document["key"]["state"] == "ok" and document["key"]["id"]
    assert (agent["state"], agent["sequence"], agent["pending"]) == ("ok", 0, 0)


def test_the_age_of_the_last_verified_copy_comes_first_and_where_it_lies(ada: Protected) -> None:
    assert status_gathering.gather_status(ada.context).verdict.startswith("never verified, on this disk only")
    verify(ada)
    ada.clock.advance(hours=3)
    assert status_gathering.gather_status(ada.context).verdict.startswith(
        "last verified 3 hours ago, on this disk only"
    )


def test_no_verified_copy_for_a_day_is_overdue(ada: Protected) -> None:
    ada.clock.advance(hours=23)
    assert of(ada).state == "ok"
    ada.clock.advance(hours=2)
    assert of(ada).state == "overdue"
    verify(ada)
    assert of(ada).state == "ok"


def test_a_pause_is_shown_until_it_ends(ada: Protected) -> None:
    manage_agents.pause_agent(ada.context, ada.agent, hours=1)
    assert of(ada).state == "paused"
    ada.clock.advance(hours=2)
    assert of(ada).state == "ok"


def test_what_is_held_needs_the_user(ada: Protected) -> None:
    for number in range(8):
        ada.write(f"memory/{number}.md", f"# Note {number}\n")
    ada.capture()
    for number in range(8):
        (ada.workspace / f"memory/{number}.md").unlink()
    (ada.workspace / "MEMORY.md").unlink()
    ada.capture()
    found = status_gathering.gather_status(ada.context)
    assert found.state == "held" and found.needs_the_user
    assert "memories were removed" in found.agents[0].reasons[0]


def test_files_that_wait_are_counted_and_named(tmp_path: Path) -> None:
    ada = Protected(tmp_path, config="{ gateway: {} }")
    ada.add()
    ada.write_config('{ gateway: { token: "half')
    ada.capture()
    found = of(ada)
    assert found.state == "waiting" and found.pending >= 1
    assert any("openclaw.json may contain secrets" in reason for reason in found.reasons)


def test_a_workspace_that_is_gone_is_an_error_until_it_is_back(ada: Protected, tmp_path: Path) -> None:
    ada.workspace.rename(tmp_path / "gone")
    ada.capture()
    assert of(ada).state == "error"
    (tmp_path / "gone").rename(ada.workspace)
    ada.capture()
    assert of(ada).state == "ok"


def test_a_workspace_that_was_emptied_is_an_error_although_its_folder_is_there(ada: Protected) -> None:
    for file in ada.workspace.iterdir():
        file.unlink()
    ada.capture()
    assert of(ada).state == "error"


def test_a_missing_key_is_needed_for_credentials_only(ada: Protected) -> None:
    (ada.context.home.keys_folder / "user.key").unlink()
    found = status_gathering.gather_status(ada.context)
    assert found.state == "needs_key" and found.key.state == "needs_key"
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    assert ada.capture().changed


def test_a_vault_that_cannot_be_opened_is_an_error_of_its_agent_alone(ada: Protected, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "SOUL.md").write_text("# Soul\n")
    manage_agents.protect_workspace(ada.context, other, runtime="openclaw", name="bea")
    (ada.context.home.vault_folder(ada.agent.id) / "vault.db").rename(tmp_path / "lost")
    states = {agent.name: agent.state for agent in status_gathering.gather_status(ada.context).agents}
    assert states["ada"] == "error" and states["bea"] == "ok"


def test_a_broken_configuration_is_an_error_until_it_is_repaired(ada: Protected) -> None:
    ada.context.home.config_file.write_text("cadence = [")
    found = status_gathering.gather_status(ada.context)
    assert found.state == "error" and found.problems
    ada.context.home.config_file.unlink()
    assert status_gathering.gather_status(ada.context).state == "ok"


def test_asking_writes_nothing(ada: Protected) -> None:
    status_gathering.gather_status(ada.context)
    folder = ada.context.home.folder
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    status_gathering.gather_status(ada.context)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before
