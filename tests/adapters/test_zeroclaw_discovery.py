from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.contract import DiscoveredAgent
from lifeboat_adapters.errors import NotAWorkspace, RuntimeConfigError
from lifeboat_adapters.openclaw import ADAPTER as OPENCLAW
from lifeboat_adapters.zeroclaw import ADAPTER, zeroclaw_config, zeroclaw_folders
from support.adapters import openclaw_workspaces as workspaces
from support.adapters.zeroclaw_installs import GENERATIONS, make_database, make_install

EARLY, CURRENT = "0.5.9", "0.8.3"


def aliases(found: list[DiscoveredAgent]) -> list[str]:
    return [agent.native_id for agent in found]


def listing(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.rglob("*"))


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_agent_of_every_generation_is_found_in_the_default_home(tmp_path: Path, generation: str) -> None:
    made = make_install(tmp_path / ".zeroclaw", generation)
    (found,) = ADAPTER.discover({}, tmp_path)
    assert found == DiscoveredAgent("zeroclaw", "default", "Default", made.workspace(), made.home)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_an_installation_is_located_with_its_layout(tmp_path: Path, generation: str) -> None:
    made = make_install(tmp_path / "elsewhere", generation)
    installed = ADAPTER.locate(made.workspace(), {}, tmp_path)
    assert (installed.native_id, installed.name) == ("default", "Default")
    assert installed.layout == ("workspace" if made.is_early else "agents")
    assert (installed.state_dir, installed.config) == (made.home, made.home / "config.toml")


def test_each_alias_is_an_agent(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    assert aliases(ADAPTER.discover({}, tmp_path)) == ["default", "rover"]
    assert ADAPTER.locate(made.workspace("rover"), {}, tmp_path).native_id == "rover"


def test_helpers_of_the_early_layout_are_no_agents(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", EARLY)
    with (made.home / "config.toml").open("a") as stream:
        stream.write('\n[agents.reviewer]\nprovider = "openai"\nmodel = "m"\n')
    assert aliases(ADAPTER.discover({}, tmp_path)) == ["default"]


def test_a_disabled_agent_is_an_agent(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    file = made.home / "config.toml"
    file.write_text(file.read_text().replace("enabled = true", "enabled = false"))
    assert aliases(ADAPTER.discover({}, tmp_path)) == ["default"]


@pytest.mark.parametrize("written", ["{}", "~/{name}", "../{name}"])
def test_a_workspace_elsewhere_is_followed(tmp_path: Path, written: str) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    moved = tmp_path / "den"
    shutil.move(made.workspace(), moved)
    named = written.format(moved, name="den")
    with (made.home / "config.toml").open("a") as stream:
        stream.write(f'\n[agents.default.workspace]\npath = "{named}"\n')
    (found,) = ADAPTER.discover({}, tmp_path)
    assert found.workspace.resolve() == moved
    assert ADAPTER.locate(moved, {}, tmp_path).state_dir == made.home


def test_looking_leaves_everything_as_it_was(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    before = listing(tmp_path)
    ADAPTER.discover({}, tmp_path)
    ADAPTER.recognises(made.workspace())
    ADAPTER.locate(made.workspace(), {}, tmp_path)
    assert listing(tmp_path) == before


# What the environment names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ZEROCLAW_CONFIG_DIR", "ZEROCLAW_DATA_DIR", "ZEROCLAW_WORKSPACE"])
def test_a_home_that_the_environment_names_comes_first(tmp_path: Path, name: str) -> None:
    make_install(tmp_path / ".zeroclaw")
    made = make_install(tmp_path / "named", agents=("rover",))
    assert aliases(ADAPTER.discover({name: str(made.home)}, tmp_path)) == ["rover", "default"]


def test_the_folder_of_the_configuration_counts_before_the_others(tmp_path: Path) -> None:
    one, other = make_install(tmp_path / "a", agents=("one",)), make_install(tmp_path / "b", agents=("other",))
    around = {"ZEROCLAW_CONFIG_DIR": str(one.home), "ZEROCLAW_WORKSPACE": str(other.home)}
    assert aliases(ADAPTER.discover(around, tmp_path / "nobody")) == ["one"]


def test_a_named_workspace_has_its_home_beside_it(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", EARLY)
    shutil.move(made.workspace(), tmp_path / "den")
    found = ADAPTER.discover({"ZEROCLAW_WORKSPACE": str(tmp_path / "den")}, tmp_path / "nobody")
    assert [(agent.workspace, agent.state_dir) for agent in found] == [(tmp_path / "den", made.home)]


def test_named_data_belong_to_the_home_around_them(tmp_path: Path) -> None:
    made = make_install(tmp_path / "install")
    found = ADAPTER.discover({"ZEROCLAW_DATA_DIR": str(made.data)}, tmp_path / "nobody")
    assert [agent.state_dir for agent in found] == [made.home]


def test_the_home_that_was_used_last_is_remembered(tmp_path: Path) -> None:
    made = make_install(tmp_path / "elsewhere", EARLY)
    (tmp_path / ".zeroclaw").mkdir()
    (tmp_path / ".zeroclaw/active_workspace.toml").write_text(f'config_dir = "{made.home}"\n')
    assert [agent.state_dir for agent in ADAPTER.discover({}, tmp_path)] == [made.home]


def test_a_service_of_homebrew_is_found_by_its_prefix(tmp_path: Path) -> None:
    made = make_install(tmp_path / "brew/var/zeroclaw")
    found = ADAPTER.discover({"HOMEBREW_PREFIX": str(tmp_path / "brew")}, tmp_path / "nobody")
    assert [agent.state_dir for agent in found] == [made.home]


def test_a_program_in_a_cellar_says_the_prefix(tmp_path: Path) -> None:
    made = make_install(tmp_path / "brew/var/zeroclaw")
    program = tmp_path / "brew/Cellar/zeroclaw/0.8.4/bin/zeroclaw"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = ADAPTER.discover({"PATH": str(program.parent)}, tmp_path / "nobody")
    assert [agent.state_dir for agent in found] == [made.home]


def test_data_beside_the_home_are_used_where_it_has_none(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    shutil.move(made.data, tmp_path / "data")
    installed = ADAPTER.locate(made.workspace(), {}, tmp_path)
    assert zeroclaw_folders.data_folder(installed) == tmp_path / "data"


# Layouts --------------------------------------------------------------------------------------------------------------


def test_the_folders_tell_the_layout_where_the_configuration_does_not(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    (made.home / "config.toml").write_text("")
    assert ADAPTER.locate(made.workspace(), {}, tmp_path).layout == "agents"


def test_a_workspace_without_a_home_stands_alone(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", EARLY)
    shutil.move(made.workspace(), tmp_path / "else/copy")
    installed = ADAPTER.locate(tmp_path / "else/copy", {}, tmp_path / "nobody")
    assert (installed.layout, installed.state_dir, installed.native_id) == ("bare", None, "default")


def test_a_folder_of_an_agent_that_is_not_configured_any_more_is_its_own(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    file = made.home / "config.toml"
    file.write_text(file.read_text().replace("agents.rover", "unrelated"))
    assert ADAPTER.locate(made.workspace("rover"), {}, tmp_path).native_id == "rover"


def test_a_folder_without_traces_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with pytest.raises(NotAWorkspace):
        ADAPTER.locate(tmp_path / "notes", {}, tmp_path)


# Rubbish --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"schema_version = 3\n[agents\n", "line 2"),
        (b"a = 1\na = 2\n", "line 2"),
        (b"a = 1\nb = '\xff'\n", "line 2"),
        (b"a = " + b"[" * 100_000, ""),
    ],
)
def test_a_broken_configuration_is_named_with_its_line(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "config.toml").write_bytes(data)
    with pytest.raises(RuntimeConfigError, match=f"config.toml: .*{said}"):
        zeroclaw_config.read_zeroclaw_config(tmp_path / "config.toml")


def test_an_enormous_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"#" * (20 << 20))
    with pytest.raises(RuntimeConfigError):
        zeroclaw_config.read_zeroclaw_config(tmp_path / "config.toml")


@pytest.mark.parametrize("generation", [EARLY, CURRENT])
def test_the_folders_name_an_agent_whose_configuration_is_broken(tmp_path: Path, generation: str) -> None:
    made = make_install(tmp_path / ".zeroclaw", generation)
    (made.home / "config.toml").write_text("[agents\n")
    assert aliases(ADAPTER.discover({}, tmp_path)) == ["default"]
    assert ADAPTER.locate(made.workspace(), {}, tmp_path).native_id == "default"


def test_a_workspace_elsewhere_is_not_guessed_while_the_configuration_is_broken(tmp_path: Path) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    moved = tmp_path / "far/den"
    shutil.move(made.workspace(), moved)
    (made.home / "config.toml").write_text("[agents\n")
    with pytest.raises(RuntimeConfigError):
        ADAPTER.locate(moved, {}, tmp_path)


@pytest.mark.parametrize("line", ['agents = "x"', "[agents]\ndefault = 3", '[agents.default]\nworkspace = "x"'])
def test_tables_that_are_none_mean_nothing(tmp_path: Path, line: str) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    (made.home / "config.toml").write_text(f"schema_version = 3\n{line}\n")
    assert aliases(ADAPTER.discover({}, tmp_path)) == ["default"]


# Backends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "sqlite"),
        ('[memory]\nbackend = "lucid"', "lucid"),
        ('schema_version = 3\n[memory]\nbackend = "postgres.main"', "postgres"),
        ('schema_version = 3\n[memory]\nbackend = "none"\n[agents.default.memory]\nbackend = "markdown"', "markdown"),
        ('[memory]\nbackend = "sqlite"\n[agents.default.memory]\nbackend = "markdown"', "sqlite"),
    ],
)
def test_the_backend_of_an_agent_is_its_own_or_that_of_all(text: str, kind: str) -> None:
    assert zeroclaw_config.configured_backend(zeroclaw_config.parse_zeroclaw_config(text.encode()), "default") == kind


# Which runtime --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_workspace_of_zeroclaw_is_not_taken_for_one_of_openclaw(tmp_path: Path, generation: str) -> None:
    workspaces.make_state_dir(tmp_path / ".openclaw")
    made = make_install(tmp_path / ".zeroclaw", generation)
    assert adapter_registry.recognise_workspace(made.workspace()) is ADAPTER


def test_a_workspace_of_openclaw_is_not_taken_for_one_of_zeroclaw(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    make_install(tmp_path / ".zeroclaw", EARLY)
    assert adapter_registry.recognise_workspace(made.workspace) is OPENCLAW


def test_a_workspace_beside_both_homes_is_whose_home_names_it(tmp_path: Path) -> None:
    workspaces.make_state_dir(tmp_path / ".openclaw")
    make_install(tmp_path / ".zeroclaw", EARLY)
    den = tmp_path / "den"
    den.mkdir()
    (den / "SOUL.md").write_text("# Soul\n")
    (den / "USER.md").write_text("# User\n")
    assert adapter_registry.recognise_workspace(den) is OPENCLAW
    (tmp_path / ".openclaw/openclaw.json").write_text(f'{{"agents": {{"defaults": {{"workspace": "{den}"}}}}}}')
    assert OPENCLAW.recognises(den) == 2


def test_a_lone_workspace_with_a_memory_database_is_zeroclaws(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("# Soul\n")
    make_database(tmp_path / "memory/brain.db", "0.1.5")
    assert adapter_registry.recognise_workspace(tmp_path) is ADAPTER


def test_the_configuration_of_another_program_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('model = "x"\n[projects."/x"]\ntrust_level = "trusted"\n')
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/SOUL.md").write_text("# Soul\n")
    assert ADAPTER.recognises(tmp_path / "workspace") == 0


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_no_workspace(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    assert ADAPTER.recognises(tmp_path / name) == 0


@pytest.mark.parametrize("named", ["/a\\u0000b", "loop", "x" * 5000, "/proc/1/mem/x", "", "  "])
def test_a_workspace_that_cannot_be_looked_at_stops_nothing(tmp_path: Path, named: str) -> None:
    made = make_install(tmp_path / ".zeroclaw", agents=("default", "rover"))
    (made.home / "loop").symlink_to("loop")
    with (made.home / "config.toml").open("a") as stream:
        stream.write(f'\n[agents.odd.workspace]\npath = "{named}"\n')
    assert aliases(ADAPTER.discover({}, tmp_path)) == ["default", "rover"]
    assert ADAPTER.locate(made.workspace("rover"), {}, tmp_path).native_id == "rover"


@pytest.mark.parametrize("alias", ["../../den", ".", "..", "", "a/b", "a\\\\b"])
def test_an_alias_that_is_a_path_names_nobody(tmp_path: Path, alias: str) -> None:
    made = make_install(tmp_path / ".zeroclaw")
    (tmp_path / "den/workspace").mkdir(parents=True)
    with (made.home / "config.toml").open("a") as stream:
        stream.write(f'\n[agents."{alias}"]\nenabled = true\n')
    assert aliases(ADAPTER.discover({}, tmp_path)) == ["default"]
