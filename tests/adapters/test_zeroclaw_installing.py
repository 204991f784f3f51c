from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.restore import zeroclaw_installation
from lifeboat_alf.testing.sample_states import MemoryState, make_head
from support.adapters import zeroclaw_installs as installs


def named(name: str = "Ada", **hints: Any) -> MemoryState:
    fields = {"adapter_hints": {zeroclaw_paths.RUNTIME: hints}} if hints else {}
    return MemoryState().set_head(agent={**make_head()["agent"], "name": name}, **fields)


def install(home: Path, workspace: Path, state: MemoryState | None = None, version: str = "") -> Installation:
    return zeroclaw_installation.choose_zeroclaw_installation(
        home, workspace, state or named(), {"PATH": ""}, home.parent, version
    )


# Where a home is ----------------------------------------------------------------------------------------------------


def test_a_lone_workspace_gets_its_home_beside_it(tmp_path: Path) -> None:
    assert zeroclaw_installation.choose_home_for(tmp_path / "ada") == tmp_path / ".zeroclaw"


def test_a_workspace_in_the_place_of_an_agent_gets_its_home_around_it(tmp_path: Path) -> None:
    assert zeroclaw_installation.choose_home_for(tmp_path / "agents" / "ada" / "workspace") == tmp_path


def test_a_workspace_in_the_place_of_the_only_agent_gets_its_home_around_it(tmp_path: Path) -> None:
    assert zeroclaw_installation.choose_home_for(tmp_path / ".zeroclaw" / "workspace") == tmp_path / ".zeroclaw"


def test_a_workspace_inside_a_home_of_several_agents_belongs_to_it(tmp_path: Path) -> None:
    made = installs.make_install(tmp_path / "home")
    assert zeroclaw_installation.choose_home_for(made.home / "another") == made.home


def test_a_home_of_one_agent_takes_no_second(tmp_path: Path) -> None:
    made = installs.make_install(tmp_path / "home", "0.5.9")
    assert zeroclaw_installation.choose_home_for(made.home / "another") == made.home / ".zeroclaw"


def test_a_configuration_of_another_program_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('title = "a web site"\n')
    assert zeroclaw_installation.choose_home_for(tmp_path / "ada") == tmp_path / ".zeroclaw"


# The layout ---------------------------------------------------------------------------------------------------------


def test_a_new_home_has_the_current_layout(tmp_path: Path) -> None:
    assert install(tmp_path / ".zeroclaw", tmp_path / "ada").layout == zeroclaw_paths.CURRENT


@pytest.mark.parametrize(
    ("said", "layout"),
    [
        ("zeroclaw 0.7.5", zeroclaw_paths.EARLY),
        ("zeroclaw 0.8.0-beta-1", zeroclaw_paths.CURRENT),
        ("zeroclaw 0.10.0", zeroclaw_paths.CURRENT),
        ("zeroclaw 1.0.0", zeroclaw_paths.CURRENT),
        ("no version at all", zeroclaw_paths.CURRENT),
    ],
)
def test_a_new_home_is_laid_out_for_the_program(tmp_path: Path, said: str, layout: str) -> None:
    assert install(tmp_path / ".zeroclaw", tmp_path / "ada", version=said).layout == layout


def test_a_new_home_without_a_program_is_laid_out_as_in_the_archive(tmp_path: Path) -> None:
    early = named().put(f"{zeroclaw_paths.HOME}config.toml", b'default_provider = "anthropic"\n')
    assert install(tmp_path / ".zeroclaw", tmp_path / "ada", early).layout == zeroclaw_paths.EARLY


@pytest.mark.parametrize("generation", installs.GENERATIONS)
def test_a_home_that_is_there_keeps_its_layout(tmp_path: Path, generation: str) -> None:
    made = installs.make_install(tmp_path / "home", generation)
    found = install(made.home, made.workspace(), version="zeroclaw 0.8.4")
    assert (found.layout, found.native_id) == (
        zeroclaw_paths.EARLY if made.is_early else zeroclaw_paths.CURRENT,
        "default",
    )


def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"= broken")
    with pytest.raises(RuntimeConfigError, match=r"config\.toml"):
        install(tmp_path, tmp_path / "ada")


@pytest.mark.parametrize("is_there", [False, True])
def test_a_workspace_in_the_place_of_an_agent_says_the_layout(tmp_path: Path, is_there: bool) -> None:
    early = named().put(f"{zeroclaw_paths.HOME}config.toml", b'default_provider = "anthropic"\n')
    workspace = tmp_path / "agents" / "scout" / "workspace"
    if is_there:
        workspace.mkdir(parents=True)
    found = install(tmp_path, workspace, early, version="zeroclaw 0.7.5")
    assert (found.layout, found.native_id) == (zeroclaw_paths.CURRENT, "scout")


# The alias ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "alias"),
    [("Ada", "ada"), ("Ada Lovelace!", "ada-lovelace"), ("Zoë", "zoe"), ("日本", "default"), ("../x", "x")],
)
def test_an_agent_of_another_runtime_is_called_by_its_name(tmp_path: Path, name: str, alias: str) -> None:
    assert install(tmp_path / ".zeroclaw", tmp_path / "w", named(name)).native_id == alias


def test_an_agent_keeps_the_alias_that_it_had(tmp_path: Path) -> None:
    assert install(tmp_path / ".zeroclaw", tmp_path / "w", named(alias="scout")).native_id == "scout"


@pytest.mark.parametrize("alias", ["../up", "a/b", ".", "..", ""])
def test_an_alias_of_an_archive_leads_out_of_no_folder(tmp_path: Path, alias: str) -> None:
    assert install(tmp_path / ".zeroclaw", tmp_path / "w", named(alias=alias)).native_id == "ada"


def test_the_place_of_a_workspace_says_its_alias(tmp_path: Path) -> None:
    workspace = tmp_path / "agents" / "scout" / "workspace"
    assert install(tmp_path, workspace).native_id == "scout"


def test_the_agent_that_lives_in_the_workspace_is_meant(tmp_path: Path) -> None:
    made = installs.make_install(tmp_path / "home", agents=("default", "scout"))
    assert install(made.home, made.workspace("scout"), named(alias="default")).native_id == "scout"


def test_an_alias_that_another_agent_has_is_not_taken(tmp_path: Path) -> None:
    made = installs.make_install(tmp_path / "home", agents=("default", "ada"))
    found = install(made.home, tmp_path / "elsewhere")
    assert (found.native_id, found.sharing) == ("ada-2", "ada-2")


def test_an_alias_of_a_folder_that_nobody_configured_is_not_taken(tmp_path: Path) -> None:
    made = installs.make_install(tmp_path / "home")
    (made.home / "agents" / "ada" / "workspace").mkdir(parents=True)
    assert install(made.home, tmp_path / "elsewhere").native_id == "ada-2"


# Files --------------------------------------------------------------------------------------------------------------

SKILLS = (f"{zeroclaw_paths.RAW}skills/tea/SKILL.md", f"{zeroclaw_paths.HOME}shared/skills/tea/SKILL.md")


@pytest.mark.parametrize(
    ("layout", "expected"), [(zeroclaw_paths.EARLY, SKILLS[0]), (zeroclaw_paths.CURRENT, SKILLS[1])]
)
@pytest.mark.parametrize("path", SKILLS)
def test_skills_stand_where_the_layout_has_them(tmp_path: Path, layout: str, expected: str, path: str) -> None:
    found = Installation(zeroclaw_paths.RUNTIME, tmp_path, "default", "Ada", state_dir=tmp_path, layout=layout)
    assert zeroclaw_installation.native_path(found, path) == expected


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (SKILLS[0], "shared/skills/tea/SKILL.md"),
        (f"{zeroclaw_paths.HOME}auth-profiles.json", "auth-profiles.json"),
        (f"{zeroclaw_paths.RAW}SOUL.md", None),
        (zeroclaw_paths.CRON_JOBS, None),
    ],
)
def test_a_file_of_the_home_has_a_name_in_it(tmp_path: Path, path: str, name: str | None) -> None:
    assert zeroclaw_installation.zeroclaw_home_name(install(tmp_path, tmp_path / "w"), path) == name
