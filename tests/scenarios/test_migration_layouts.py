"""An agent of an early ZeroClaw comes back into the place that an agent has in the current layout."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.zeroclaw import ADAPTER, zeroclaw_folders, zeroclaw_paths
from support.adapters.zeroclaw_installs import Install
from support.cli.cli_client import run
from support.core.migrating import ada_in_zeroclaw, change, prepared_home, rows_of
from support.prepared_folders import PreparedFolders


@pytest.fixture
def early_install(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Ada in an early ZeroClaw."""
    return prepared_home(prepared_folders, monkeypatch, "ada in early zeroclaw", partial(_install, generation="0.5.9"))


@pytest.fixture
def current_install(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Ada in a current ZeroClaw."""
    build = partial(_install, generation="0.8.3")
    return prepared_home(prepared_folders, monkeypatch, "ada in current zeroclaw", build)


def _install(user: Path, folder: Path, generation: str) -> Install:
    return ada_in_zeroclaw(folder, generation)[1]


def located(workspace: Path, folder: Path) -> Installation:
    return ADAPTER.locate(workspace, {"PATH": ""}, folder)


@pytest.mark.parametrize("options", [(), ("--with-credentials",)])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_restore_into_the_place_of_an_agent_makes_a_home_that_knows_it(
    early_install: Install, tmp_path: Path, is_there: bool, options: tuple[str, ...]
) -> None:
    install = early_install
    home = tmp_path / "new"
    workspace = home / "agents" / "nova" / "workspace"
    if is_there:
        workspace.mkdir(parents=True)
    run("restore", "Ada", "--to", workspace, *options)
    found = located(workspace, tmp_path)
    assert (found.layout, found.native_id, found.state_dir) == (zeroclaw_paths.CURRENT, "nova", home)
    assert ADAPTER.placement.is_configured(found)
    assert len(rows_of(home / "data/memory/brain.db")) == len(rows_of(install.database))


def test_what_was_restored_into_the_place_of_an_agent_can_be_added(early_install: Install, tmp_path: Path) -> None:
    install = early_install
    workspace = tmp_path / "new" / "agents" / "nova" / "workspace"
    workspace.mkdir(parents=True)
    run("restore", "Ada", "--to", workspace)
    added = run("agents", "add", workspace, "--new", "--name", "Nova")
    assert (added["name"], added["runtime"]) == ("Nova", "zeroclaw")
    assert run("verify", "Nova")["rows"] >= len(rows_of(install.database))


@pytest.mark.parametrize("is_there", [False, True])
def test_a_restore_into_the_place_of_the_only_agent_makes_a_home_that_knows_it(
    current_install: Install, tmp_path: Path, is_there: bool
) -> None:
    install = current_install
    workspace = tmp_path / "new" / ".zeroclaw" / "workspace"
    if is_there:
        workspace.mkdir(parents=True)
    run("restore", "Ada", "--to", workspace)
    found = located(workspace, tmp_path)
    assert found.state_dir == workspace.parent
    assert len(rows_of(zeroclaw_folders.data_folder(found) / "memory/brain.db")) == len(rows_of(install.database))


def test_a_dry_run_says_what_becomes_of_the_rows(current_install: Install) -> None:
    install = current_install
    workspace = install.workspace("ada")
    first = run("sync", "Ada")["agents"][0]["sequence"]
    count = len(rows_of(install.database))
    change(
        install.database,
        ("DELETE FROM memories WHERE key = 'mooring_1'", ()),
        ("UPDATE memories SET content = 'Adrift.' WHERE key = 'mooring_2'", ()),
    )
    install.remember("later", "Learned later.", "ada")
    run("sync", "Ada")
    (found,) = run("restore", "Ada", "--to", workspace, "--at", str(first), "--dry-run")["databases"]
    assert found == {
        "path": str(install.database),
        "changes": True,
        "rows": {"add": 1, "update": 1, "keep": count - 2, "remove": 1},
    }
