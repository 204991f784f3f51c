from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_adapters.contract import DiscoveredAgent
from lifeboat_adapters.errors import NotAWorkspace, RuntimeConfigError
from lifeboat_adapters.openclaw import ADAPTER, openclaw_discovery, openclaw_placement
from support.adapters import openclaw_workspaces as workspaces


def ids(found: list[DiscoveredAgent]) -> list[str]:
    return [agent.native_id for agent in found]


def listing(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.rglob("*"))


@pytest.mark.parametrize("layout", [workspaces.NEW, workspaces.OLD])
def test_every_configured_agent_is_found_in_both_layouts(tmp_path: Path, layout: str) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw", layout=layout)
    found = ADAPTER.discover({}, tmp_path)
    assert [(agent.native_id, agent.name, agent.workspace) for agent in found] == [
        ("main", "Juniper", made.workspaces["main"]),
        ("rover", "Rover", made.workspaces["rover"]),
    ]
    assert {agent.state_dir for agent in found} == {made.folder}


@pytest.mark.parametrize("layout", [workspaces.NEW, workspaces.OLD])
def test_an_installation_is_located_with_layout_and_version(tmp_path: Path, layout: str) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw", layout=layout)
    installed = ADAPTER.locate(made.workspaces["rover"], {}, tmp_path)
    assert (installed.native_id, installed.name, installed.layout) == ("rover", "Rover", layout)
    assert (installed.state_dir, installed.config) == (made.folder, made.config)
    assert installed.version is not None and installed.version.startswith(layout)


def test_a_name_that_is_only_the_id_gives_way_to_the_one_that_the_agent_wrote(tmp_path: Path) -> None:
    workspace = workspaces.make_workspace(tmp_path / ".openclaw" / "workspace", large=False)
    (workspace / "IDENTITY.md").write_text("# IDENTITY.md\n\n- **Name:** Juniper\n")
    entry = {"name": "main", "workspace": str(workspace), "identity": {"name": "main"}}
    configuration = tmp_path / ".openclaw" / "openclaw.json"
    configuration.write_text(json.dumps({"agents": {"entries": {"main": entry}}}))
    assert [agent.name for agent in ADAPTER.discover({}, tmp_path)] == ["Juniper"]
    assert ADAPTER.locate(workspace, {}, tmp_path).name == "Juniper"


def test_looking_leaves_everything_as_it_was(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    before = listing(tmp_path)
    ADAPTER.discover({}, tmp_path)
    ADAPTER.locate(made.workspace, {}, tmp_path)
    assert listing(tmp_path) == before


def test_profiles_and_other_state_folders_are_found_once(tmp_path: Path) -> None:
    workspaces.make_state_dir(tmp_path / ".openclaw")
    workspaces.make_state_dir(tmp_path / ".openclaw-work")
    assert ids(ADAPTER.discover({}, tmp_path)) == ["main", "rover", "main", "rover"]
    assert ADAPTER.discover({"OPENCLAW_PROFILE": "work"}, tmp_path)[0].state_dir == tmp_path / ".openclaw-work"


def test_environment_variables_move_home_state_and_configuration(tmp_path: Path) -> None:
    home = workspaces.make_state_dir(tmp_path / "elsewhere/.openclaw")
    moved = workspaces.make_state_dir(tmp_path / "moved")
    assert ids(ADAPTER.discover({"OPENCLAW_HOME": str(tmp_path / "elsewhere")}, tmp_path / "nobody")) == [
        "main",
        "rover",
    ]
    found = ADAPTER.discover({"OPENCLAW_STATE_DIR": str(moved.folder)}, tmp_path / "nobody")
    assert [agent.workspace for agent in found] == list(moved.workspaces.values())
    other = moved.config.rename(tmp_path / "other.json")
    environment = {"OPENCLAW_STATE_DIR": str(moved.folder), "OPENCLAW_CONFIG_PATH": str(other)}
    assert ADAPTER.locate(moved.workspace, environment, tmp_path / "nobody").config == other
    assert home.workspace.is_dir()


def test_the_default_workspace_follows_the_environment_the_configuration_and_the_folder(tmp_path: Path) -> None:
    state = tmp_path / ".openclaw"
    state.mkdir()
    (state / "openclaw.json").write_text("{ agents: { defaults: { workspace: '~/clawd' } } }")
    configured = workspaces.make_workspace(tmp_path / "clawd", large=False)
    assert [agent.workspace for agent in ADAPTER.discover({}, tmp_path)] == [configured]
    chosen = workspaces.make_workspace(tmp_path / "chosen", large=False)
    environment = {"OPENCLAW_WORKSPACE_DIR": str(chosen)}
    assert [agent.workspace for agent in ADAPTER.discover(environment, tmp_path)] == [chosen]
    (state / "openclaw.json").write_text("{}")
    inside = workspaces.make_workspace(state / "workspace", large=False)
    assert [agent.workspace for agent in ADAPTER.discover({}, tmp_path)] == [inside]


def test_an_agent_without_a_workspace_on_disk_is_not_found(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    made.workspaces["rover"].rename(tmp_path / "gone")
    assert ids(ADAPTER.discover({}, tmp_path)) == ["main"]


BROKEN = "{ gateway: { auth: { token: 'an-invented-token-of-nobody' } }, agents: {"


def test_while_the_configuration_does_not_parse_its_backup_tells(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    made.config.write_text(BROKEN)
    assert [agent.name for agent in ADAPTER.discover({}, tmp_path)] == ["Juniper", "Rover"]
    assert ADAPTER.locate(made.workspaces["rover"], {}, tmp_path).layout == workspaces.NEW


def test_without_a_backup_folder_names_tell(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    made.config.write_text(BROKEN)
    (made.folder / "openclaw.json.bak").unlink()
    assert ids(ADAPTER.discover({}, tmp_path)) == ["main", "rover"]
    assert ADAPTER.locate(made.workspaces["rover"], {}, tmp_path).native_id == "rover"


def test_an_agent_elsewhere_is_not_guessed_at_while_the_configuration_does_not_parse(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    made.config.write_text(BROKEN)
    (made.folder / "openclaw.json.bak").unlink()
    elsewhere = made.workspace.rename(tmp_path / "elsewhere")
    with pytest.raises(RuntimeConfigError) as caught:
        ADAPTER.locate(elsewhere, {}, tmp_path)
    assert "invented" not in caught.value.message


def test_a_state_folder_outside_the_home_is_found_around_its_workspace(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / "copied/state")
    installed = ADAPTER.locate(made.workspace, {}, tmp_path / "home")
    assert (installed.native_id, installed.state_dir) == ("main", made.folder)


def test_a_workspace_alone_has_no_state_folder(tmp_path: Path) -> None:
    folder = workspaces.make_workspace(tmp_path / "workspace-scout", large=False)
    installed = ADAPTER.locate(folder, {}, tmp_path)
    assert (installed.layout, installed.state_dir, installed.native_id, installed.name) == (
        "bare",
        None,
        "scout",
        "Juniper",
    )
    assert [root.prefix for root in ADAPTER.roots(installed)] == ["raw/openclaw/"]


def test_a_workspace_with_memories_alone_is_that_of_the_agent_for_which_a_configuration_names_it(
    tmp_path: Path,
) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    for path in sorted(made.workspace.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    other = tmp_path / "other"
    other.mkdir()
    for folder in (made.workspace, other):
        (folder / "MEMORY.md").write_text("## Boats\n\nThe boat lies at the pier.\n")
    assert ADAPTER.locate(made.workspace, {}, tmp_path).state_dir == made.folder
    with pytest.raises(NotAWorkspace):
        ADAPTER.locate(other, {}, tmp_path)


def test_a_folder_that_is_no_workspace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAWorkspace):
        ADAPTER.locate(tmp_path, {}, tmp_path)


def test_the_program_is_found_on_the_path(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    program = tmp_path / "bin/openclaw"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert ADAPTER.locate(made.workspace, {"PATH": str(program.parent)}, tmp_path).program == program


def test_the_roots_are_the_workspace_and_chosen_files_of_the_state_folder(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    workspace, home = ADAPTER.roots(ADAPTER.locate(made.workspace, {}, tmp_path))
    assert (workspace.prefix, workspace.folder, workspace.only) == ("raw/openclaw/", made.workspace, None)
    expected = tuple(name.replace("agents/*", "agents/main") for name in openclaw_placement.HOME_FILES)
    assert (home.prefix, home.folder, home.only) == ("raw/openclaw-home/", made.folder, expected)


@pytest.mark.parametrize(
    ("names", "looks_like_one"),
    [
        (["SOUL.md"], False),
        (["SOUL.md", "IDENTITY.md"], True),
        (["SOUL.md", "AGENTS.md"], True),
        (["MEMORY.md", "USER.md"], True),
        (["AGENTS.md"], False),
        (["README.md"], False),
        ([], False),
    ],
)
def test_a_workspace_is_recognised_by_its_names(tmp_path: Path, names: list[str], looks_like_one: bool) -> None:
    for name in names:
        (tmp_path / name).write_text("x\n")
    assert openclaw_discovery.rate_openclaw_workspace(tmp_path) == looks_like_one
