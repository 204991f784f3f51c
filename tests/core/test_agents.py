"""What a user does with agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_alf.common import ids
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import AgentError, ConfigError, UnknownAgent
from support.alf.raising import raises_code
from support.core.protected import Protected


def workspace(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Soul\n")
    (folder / "USER.md").write_text("# User\n")
    return folder


def test_adding_makes_a_key_a_vault_and_the_first_sequence(ada: Protected) -> None:
    assert ids.is_version_7(ada.agent.id)
    assert ada.context.keys().status().state == "ok"
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.head()
        assert head is not None and head.number == 0 and vault.agent_id == ada.agent.id


def test_a_key_that_is_there_is_not_replaced(ada: Protected, tmp_path: Path) -> None:
    before = ada.context.keys().public.key_id
    manage_agents.protect_workspace(ada.context, workspace(tmp_path / "other"))
    assert ada.context.keys().public.key_id == before


def test_an_agent_is_found_by_name_id_beginning_and_folder(ada: Protected) -> None:
    for text in ("ada", "ADA", ada.agent.id, ada.agent.id[:13], str(ada.workspace)):
        assert manage_agents.find_agent(ada.context, text) == ada.agent


def test_an_unknown_agent_is_an_error_with_a_command(ada: Protected) -> None:
    with pytest.raises(UnknownAgent) as caught:
        manage_agents.find_agent(ada.context, "bea")
    assert caught.value.fix == "lifeboat agents list"


def test_a_mistyped_name_gets_the_nearest_one(ada: Protected) -> None:
    with pytest.raises(UnknownAgent, match="Did you mean 'ada'"):
        manage_agents.find_agent(ada.context, "adda")


def test_a_beginning_of_several_ids_is_refused(ada: Protected) -> None:
    other = f"{ada.agent.id[:24]}000000000000"
    manage_agents.save_agent(ada.context, Agent(other, "bea", "openclaw", ada.folder / "bea"))
    with raises_code(AgentError.AMBIGUOUS_AGENT):
        manage_agents.find_agent(ada.context, ada.agent.id[:13])


def test_one_workspace_has_one_agent(ada: Protected, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(ada.workspace)
    for folder in (ada.workspace, tmp_path / "link"):
        with raises_code(AgentError.ALREADY_PROTECTED, match="ada"):
            manage_agents.protect_workspace(ada.context, folder)


def test_folders_that_hold_each_other_are_refused(ada: Protected) -> None:
    workspace(ada.workspace / "skills" / "inner")
    (ada.state_dir / "SOUL.md").write_text("# Soul\n")
    for folder in (ada.workspace / "skills" / "inner", ada.state_dir):
        with raises_code(AgentError.ALREADY_PROTECTED):
            manage_agents.protect_workspace(ada.context, folder)


def test_the_home_of_lifeboat_is_no_workspace(ada: Protected) -> None:
    for folder in (ada.context.home.folder, ada.context.home.vault_folder(ada.agent.id)):
        with raises_code(AgentError.WORKSPACE_REFUSED, match="home of Lifeboat"):
            manage_agents.protect_workspace(ada.context, folder)


def test_a_folder_that_holds_the_home_is_no_workspace(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    (tmp_path / "SOUL.md").write_text("# Soul\n")
    with raises_code(AgentError.WORKSPACE_REFUSED, match="home of Lifeboat"):
        manage_agents.protect_workspace(ada.context, tmp_path)


def test_the_root_and_a_home_folder_are_no_workspaces(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    user = workspace(tmp_path / "user")
    for folder in (Path("/"), user):
        with raises_code(AgentError.WORKSPACE_REFUSED):
            manage_agents.check_workspace(ada.context, folder)


def test_a_folder_that_looks_like_nothing_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    (tmp_path / "letters").mkdir()
    with pytest.raises(NotAWorkspace):
        manage_agents.protect_workspace(ada.context, tmp_path / "letters")
    assert manage_agents.list_agents(ada.context) == []
    assert list(ada.context.home.vaults_folder.iterdir()) == []


def test_names_are_given_once(ada: Protected, tmp_path: Path) -> None:
    other, _ = manage_agents.protect_workspace(ada.context, workspace(tmp_path / "other"), name="Ada")
    assert other.name == "Ada-2"


def test_what_an_import_registered_goes_on_as_the_same_agent(ada: Protected, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "restored")
    context = ada.context
    known = manage_agents.register_agent(context, Agent(ids.make_id(context.now()), "bea", "openclaw", folder))
    context.create_vault(known.id).close()
    assert not known.watched
    taken, report = manage_agents.protect_workspace(context, folder)
    assert (taken.id, taken.watched, report.sequence) == (known.id, True, 0)


def test_new_makes_another_agent_of_a_registered_folder(ada: Protected, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "restored")
    known = manage_agents.register_agent(ada.context, Agent(ids.make_id(ada.context.now()), "bea", "openclaw", folder))
    taken, _ = manage_agents.protect_workspace(ada.context, folder, new=True)
    assert taken.id != known.id
    assert {one.id for one in manage_agents.list_agents(ada.context)} == {ada.agent.id, taken.id}


def test_a_moved_workspace_is_the_same_agent_and_no_change(ada: Protected, tmp_path: Path) -> None:
    ada.workspace.rename(tmp_path / "moved")
    moved, report = manage_agents.move_agent(ada.context, ada.agent, tmp_path / "moved")
    assert moved.id == ada.agent.id and moved.workspace == tmp_path / "moved"
    assert report.outcome == "unchanged"


def test_a_clone_has_an_id_and_a_history_of_its_own(ada: Protected, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(ada.workspace, tmp_path / "copy")
    copy, report = manage_agents.clone_agent(ada.context, ada.agent, tmp_path / "copy")
    assert copy.id != ada.agent.id and report.sequence == 0
    assert copy.name == "ada-copy"


def test_a_removed_agents_vault_stays_for_30_days(ada: Protected) -> None:
    kept = manage_agents.remove_agent(ada.context, ada.agent)
    assert manage_agents.list_agents(ada.context) == []
    assert (kept / "vault.db").exists()
    ada.clock.advance(days=29)
    assert manage_agents.sweep_removed(ada.context, trusted=True) == []
    ada.clock.advance(days=2)
    assert manage_agents.sweep_removed(ada.context, trusted=False) == []
    assert manage_agents.sweep_removed(ada.context, trusted=True) == [kept]
    assert not kept.exists()


def test_a_removed_agent_that_is_added_again_goes_on(ada: Protected) -> None:
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.threshold", "1KB")
    manage_agents.pause_agent(ada.context, ada.agent)
    kept = manage_agents.remove_agent(ada.context, manage_agents.load_agent(ada.context, ada.agent.id))
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    again, report = manage_agents.protect_workspace(ada.context, ada.workspace)
    assert (again.id, again.name, report.sequence) == (ada.agent.id, "ada", 1) and not kept.exists()
    assert again.settings == {"artifacts.threshold": "1KB"} and again.watched and not again.paused
    with ada.context.vault(again.id) as vault:
        assert vault.verify(trusted=ada.context.keys().trusted).ok
    assert manage_agents.sweep_removed(ada.context, trusted=True) == []


def test_it_can_be_removed_and_added_again_and_again(ada: Protected) -> None:
    for _ in range(3):
        manage_agents.remove_agent(ada.context, manage_agents.load_agent(ada.context, ada.agent.id))
        assert manage_agents.protect_workspace(ada.context, ada.workspace)[0].id == ada.agent.id
    kept = manage_agents.remove_agent(ada.context, ada.agent)
    ada.clock.advance(days=31)
    assert manage_agents.sweep_removed(ada.context, trusted=True) == [kept]
    assert manage_agents.protect_workspace(ada.context, ada.workspace)[0].id != ada.agent.id


def test_new_begins_anew_after_a_removal(ada: Protected) -> None:
    kept = manage_agents.remove_agent(ada.context, ada.agent)
    again, report = manage_agents.protect_workspace(ada.context, ada.workspace, new=True)
    assert again.id != ada.agent.id and report.sequence == 0 and kept.exists()


def test_of_several_removed_agents_the_last_one_goes_on(ada: Protected) -> None:
    manage_agents.remove_agent(ada.context, ada.agent)
    ada.clock.advance(days=1)
    second, _ = manage_agents.protect_workspace(ada.context, ada.workspace, new=True)
    ada.clock.advance(days=1)
    manage_agents.remove_agent(ada.context, second)
    assert manage_agents.protect_workspace(ada.context, ada.workspace)[0].id == second.id


def test_a_removed_agent_whose_name_was_given_away_gets_another(ada: Protected, tmp_path: Path) -> None:
    manage_agents.remove_agent(ada.context, ada.agent)
    manage_agents.protect_workspace(ada.context, workspace(tmp_path / "other"), name="ada")
    assert manage_agents.protect_workspace(ada.context, ada.workspace)[0].name == "ada-2"


def test_a_damaged_file_of_a_removed_agent_is_in_nobody_s_way(ada: Protected) -> None:
    kept = manage_agents.remove_agent(ada.context, ada.agent)
    (kept / manage_agents.AGENT_FILE).write_text("name = [")
    again, report = manage_agents.protect_workspace(ada.context, ada.workspace)
    assert again.id != ada.agent.id and report.sequence == 0


@pytest.mark.parametrize("text", ["", "ada\n", "ada\n2026-11-1"])
def test_a_removed_vault_stays_when_nothing_says_since_when(ada: Protected, text: str) -> None:
    kept = manage_agents.remove_agent(ada.context, ada.agent)
    (note,) = kept.glob("removed-*")
    note.write_text(text)
    ada.clock.advance(days=400)
    assert manage_agents.sweep_removed(ada.context, trusted=True) == []
    assert manage_agents.protect_workspace(ada.context, ada.workspace)[0].id == ada.agent.id


def test_a_removal_that_was_cut_off_is_taken_back_by_adding(ada: Protected) -> None:
    kept = manage_agents.remove_agent(ada.context, ada.agent)
    kept.rename(ada.context.home.vault_folder(ada.agent.id))
    again, report = manage_agents.protect_workspace(ada.context, ada.workspace)
    assert (again.id, report.sequence, report.outcome) == (ada.agent.id, 0, "unchanged")


def test_a_removal_that_was_cut_off_is_swept_in_time(ada: Protected) -> None:
    kept = manage_agents.remove_agent(ada.context, ada.agent)
    folder = kept.rename(ada.context.home.vault_folder(ada.agent.id))
    ada.clock.advance(days=31)
    assert manage_agents.sweep_removed(ada.context, trusted=True) == [folder]


def test_an_adding_that_was_cut_off_goes_on_when_it_is_done_again(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    manage_agents.remove_agent(ada.context, ada.agent)
    with monkeypatch.context() as cut_off, pytest.raises(KeyboardInterrupt):
        cut_off.setattr("lifeboat_core.agents.manage_agents._fetch_vault", _interrupt)
        manage_agents.protect_workspace(ada.context, ada.workspace)
    again, report = manage_agents.protect_workspace(ada.context, ada.workspace)
    assert (again.id, report.sequence) == (ada.agent.id, 0)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_registered_folder_that_becomes_another_agent_keeps_the_first_one_s_vault(
    ada: Protected, tmp_path: Path
) -> None:
    folder = workspace(tmp_path / "restored")
    known = manage_agents.register_agent(ada.context, Agent(ids.make_id(ada.context.now()), "bea", "openclaw", folder))
    ada.context.create_vault(known.id).close()
    manage_agents.protect_workspace(ada.context, folder, new=True)
    assert (ada.context.home.vaults_folder / f".removed-{known.id}" / "vault.db").exists()


def test_a_pause_ends_by_itself(ada: Protected) -> None:
    paused = manage_agents.pause_agent(ada.context, ada.agent, hours=2)
    assert paused.is_paused(ada.context.now())
    ada.clock.advance(hours=3)
    assert not paused.is_paused(ada.context.now())


def test_a_pause_without_an_end_lasts_until_resume(ada: Protected) -> None:
    paused = manage_agents.pause_agent(ada.context, ada.agent)
    ada.clock.advance(days=400)
    assert paused.is_paused(ada.context.now())
    assert not manage_agents.resume_agent(ada.context, paused).is_paused(ada.context.now())


def test_an_agents_file_keeps_its_comments(ada: Protected) -> None:
    file = ada.context.home.agent_file(ada.agent.id)
    file.write_text(f"# the first one\n{file.read_text()}")
    manage_agents.pause_agent(ada.context, ada.agent)
    manage_agents.write_setting(ada.context, ada.agent, "artifacts.threshold", "1KB")
    assert file.read_text().startswith("# the first one\n")
    assert manage_agents.load_agent(ada.context, ada.agent.id).settings == {"artifacts.threshold": "1KB"}


def test_a_broken_agents_file_leaves_the_last_good_one_in_force(ada: Protected) -> None:
    manage_agents.load_agent(ada.context, ada.agent.id)
    ada.context.home.agent_file(ada.agent.id).write_text("name = [")
    found = manage_agents.load_agent(ada.context, ada.agent.id)
    assert found.name == "ada" and found.problem


def test_renaming_takes_no_name_that_is_taken(ada: Protected, tmp_path: Path) -> None:
    from lifeboat_core.errors import AgentError

    other, _ = manage_agents.protect_workspace(ada.context, workspace(tmp_path / "other"), name="bea")
    with pytest.raises(AgentError, match="ada"):
        manage_agents.rename_agent(ada.context, other, "ada")
    assert manage_agents.rename_agent(ada.context, other, "Bea").name == "Bea"


def test_agents_of_the_machine_are_found(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    folder = workspace(tmp_path / "user" / ".openclaw" / "workspace")
    (folder.parent / "openclaw.json").write_text("{}")
    assert folder in [found.workspace for found in manage_agents.discover_agents(ada.context)]


@pytest.mark.parametrize(
    "broken",
    [
        'workspace = "/a\\u0000b"',
        'workspace = "notes"',
        'workspace = ""',
        'workspace = "/a"\nadded_at = "some day"',
        'workspace = "/a"\npaused = true\npaused_until = "0001-01-01T00:00:00+14:00"',
        'workspace = "/a"\npaused = true\npaused_until = "8999-01-01T00:00:00Z"\npaused_at = "0001-01-01T00:00:00Z"',
        'workspace = "/a"\nmore = ' + "[" * 5000 + "]" * 5000,
        'workspace = "/a"\nmore = ' + "9" * 5000,
    ],
)
def test_a_file_with_which_nobody_can_reckon_is_refused_as_a_mistake_of_the_user(broken: str) -> None:
    with pytest.raises(ConfigError, match="agents/"):
        agent_files.parse_agent(
            f'name = "Ada"\nruntime = "openclaw"\n{broken}\n'.encode(), "01935f3e-0000-7000-8000-000000000001"
        )


@pytest.mark.parametrize("evil", ["--yes", "-", "\x1b[31mred\u202e", "a\nb", "", "x" * 500])
def test_an_agent_gets_a_name_that_can_be_typed_whatever_it_calls_itself(ada: Protected, evil: str) -> None:
    name = manage_agents.choose_free_name(ada.context, evil)
    assert name and name.isprintable() and not name.startswith("-") and len(name) <= manage_agents.LONGEST_NAME


def test_a_name_that_would_be_an_option_is_refused(ada: Protected) -> None:
    with raises_code(AgentError.NAME_REFUSED):
        manage_agents.rename_agent(ada.context, ada.agent, "--all")
