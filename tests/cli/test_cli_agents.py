"""Agents through the command line: cloned, moved, renamed, removed and added again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lifeboat_cli import program
from support.adapters import openclaw_workspaces
from support.cli import cli_client

run = cli_client.run


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return openclaw_workspaces.make_workspace(tmp_path / "workspace", large=False)


@pytest.fixture
def ada(workspace: Path) -> dict[str, Any]:
    return run("agents", "add", workspace, "--name", "ada")


def names() -> list[str]:
    return [one["name"] for one in run("agents", "list")["agents"]]


def sequences(name: str) -> list[int]:
    return [entry["sequence"] for entry in run("timeline", name)["entries"]]


def change(workspace: Path) -> None:
    with (workspace / "MEMORY.md").open("a") as file:
        file.write("\n## Ink\n\nBuy ink for the plotter.\n")


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


# Clone ------------------------------------------------------------------------------------------------------------


def test_a_clone_is_an_agent_of_its_own(ada: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    change(workspace)
    run("sync")
    shutil.copytree(workspace, tmp_path / "copy", symlinks=True)
    made = run("agents", "clone", "ada", tmp_path / "copy")
    assert made["id"] != ada["id"] and made["name"] == "ada-copy" and made["capture"]["sequence"] == 0
    assert names() == ["ada", "ada-copy"] and sequences("ada") == [1, 0] and sequences("ada-copy") == [0]


def test_original_and_clone_go_separate_ways(ada: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(workspace, copy, symlinks=True)
    run("agents", "clone", "ada", copy, "--name", "bea")
    change(copy)
    run("sync")
    assert sequences("ada") == [0] and sequences("bea") == [1, 0]
    assert run("search", "bea", "plotter")["hits"] and run("search", "ada", "plotter")["hits"] == []
    run("agents", "remove", "bea", "--yes")
    assert run("verify", "ada")["mismatches"] == [] and copy.exists()


def test_two_clones_get_two_names(ada: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        shutil.copytree(workspace, tmp_path / f"copy{number}", symlinks=True)
        run("agents", "clone", "ada", tmp_path / f"copy{number}")
    assert names() == ["ada", "ada-copy", "ada-copy-2"]


def test_an_agent_is_not_cloned_onto_itself_or_an_empty_folder(
    ada: dict[str, Any], workspace: Path, tmp_path: Path
) -> None:
    assert run("agents", "clone", "ada", workspace, expect=3)["error"]["code"] == "already_protected"
    (tmp_path / "empty").mkdir()
    assert run("agents", "clone", "ada", tmp_path / "empty", expect=1)["error"]["code"] == "not_a_workspace"
    assert names() == ["ada"]


# Move -------------------------------------------------------------------------------------------------------------


def test_a_moved_workspace_goes_on_in_its_new_place(ada: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    workspace.rename(moved)
    found = run("agents", "move", "ada", moved)
    assert (found["id"], found["workspace"]) == (ada["id"], str(moved)) and not found["capture"]["changed"]
    change(moved)
    assert run("sync")["agents"][0]["changed"] and sequences("ada") == [1, 0]
    assert run("status")["agents"][0]["state"] == "ok"


def test_settings_move_along(ada: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    run("config", "set", "artifacts.threshold", "1KB", "--agent", "ada")
    workspace.rename(tmp_path / "moved")
    run("agents", "move", "ada", tmp_path / "moved")
    assert run("config", "get", "artifacts.threshold", "ada")["value"] == "1KB"


def test_an_agent_does_not_move_into_another_one_s_workspace(ada: dict[str, Any], tmp_path: Path) -> None:
    other = openclaw_workspaces.make_workspace(tmp_path / "other", large=False)
    run("agents", "add", other, "--name", "bea")
    assert run("agents", "move", "ada", other, expect=3)["error"]["code"] == "already_protected"
    assert run("agents", "list")["agents"][0]["workspace"] == ada["workspace"]


def test_a_move_to_the_wrong_folder_deletes_nothing_unseen(ada: dict[str, Any], tmp_path: Path) -> None:
    """A folder with another agent, which is not protected: it is captured, and held because most memories would be
    deleted."""
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "SOUL.md").write_text("# Soul\n\nSomebody else.\n")
    moved = run("agents", "move", "ada", wrong)
    assert moved["capture"]["held"]
    back = run("agents", "move", "ada", ada["workspace"])
    assert back["capture"]["sequence"] > 0
    run("verify", "ada", "--at", "0")


def test_an_agent_does_not_move_to_a_folder_that_is_no_workspace(ada: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    assert run("agents", "move", "ada", tmp_path / "letters", expect=1)["error"]["code"] == "not_a_workspace"
    assert run("agents", "list")["agents"][0]["workspace"] == ada["workspace"]


# Rename -----------------------------------------------------------------------------------------------------------


def test_a_renamed_agent_is_found_by_its_new_name_and_is_no_change(ada: dict[str, Any], workspace: Path) -> None:
    assert run("agents", "rename", "ada", "Captain Ada")["id"] == ada["id"]
    assert run("agents", "show", "captain ada")["name"] == "Captain Ada"
    assert run("agents", "show", "ada", expect=1)["error"]["code"] == "unknown_agent"
    assert run("sync")["agents"][0]["changed"] is False


def test_a_name_is_given_once(ada: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    shutil.copytree(workspace, tmp_path / "copy", symlinks=True)
    run("agents", "clone", "ada", tmp_path / "copy", "--name", "bea")
    assert run("agents", "rename", "bea", "ADA", expect=3)["error"]["code"] == "name_refused"
    assert names() == ["ada", "bea"]
    assert run("agents", "rename", "ada", "Ada")["name"] == "Ada"


# Remove and add again ---------------------------------------------------------------------------------------------


def test_removing_leaves_the_workspace_and_keeps_the_history(ada: dict[str, Any], workspace: Path) -> None:
    before = tree(workspace)
    kept = Path(run("agents", "remove", "ada", "--yes")["vault"])
    assert names() == [] and run("sync")["agents"] == [] and tree(workspace) == before
    assert (kept / "vault.db").is_file()
    assert run("timeline", "ada", expect=1)["error"]["code"] == "unknown_agent"


def test_added_again_the_agent_goes_on_with_its_history(ada: dict[str, Any], workspace: Path) -> None:
    change(workspace)
    run("sync")
    run("agents", "remove", "ada", "--yes")
    (workspace / "TOOLS.md").write_text("# Tools\n\n- A sextant.\n")
    again = run("agents", "add", workspace)
    assert (again["id"], again["name"], again["capture"]["sequence"]) == (ada["id"], "ada", 2)
    assert sequences("ada") == [2, 1, 0] and run("verify", "ada")["mismatches"] == []
    assert run("search", "ada", "plotter")["hits"]


def test_an_old_state_can_be_restored_after_that(ada: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    before = (workspace / "MEMORY.md").read_bytes()
    change(workspace)
    run("sync")
    run("agents", "remove", "ada", "--yes")
    run("agents", "add", workspace)
    run("restore", "ada", "--at", "0", "--to", tmp_path / "old")
    assert (tmp_path / "old" / "MEMORY.md").read_bytes() == before


def test_credentials_still_open_after_that(isolated_home: Path, tmp_path: Path) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    first = run("agents", "add", state.workspace, "--name", "juniper")
    run("agents", "remove", "juniper", "--yes")
    assert run("agents", "add", state.workspace)["id"] == first["id"]
    state.config.unlink()
    run("restore", "juniper", "--at", "0", "--with-credentials", "--yes")
    assert openclaw_workspaces.API_KEY in state.config.read_text()


def test_sync_leaves_a_removed_history_alone_for_a_month(ada: dict[str, Any], workspace: Path) -> None:
    kept = Path(run("agents", "remove", "ada", "--yes")["vault"])
    run("sync")
    assert kept.exists()
    (note,) = kept.glob("removed-*")
    note.write_text("ada\n2020-01-01T00:00:00.000Z\n")
    run("sync")
    assert not kept.exists()


def test_with_new_the_agent_begins_anew(ada: dict[str, Any], workspace: Path) -> None:
    run("agents", "remove", "ada", "--yes")
    again = run("agents", "add", workspace, "--name", "ada", "--new")
    assert again["id"] != ada["id"] and sequences("ada") == [0]


def test_a_workspace_that_moved_after_the_removal_is_a_new_agent(
    ada: dict[str, Any], workspace: Path, tmp_path: Path
) -> None:
    run("agents", "remove", "ada", "--yes")
    os.rename(workspace, tmp_path / "moved")
    assert run("agents", "add", tmp_path / "moved")["id"] != ada["id"]


# Of a restored folder ---------------------------------------------------------------------------------------------


def test_a_restored_folder_is_added_as_a_copy_and_says_of_whom(
    ada: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "beside"
    run("restore", "ada", "--to", copy)
    assert program.run_command(["agents", "add", str(copy)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "This agent is a copy of ada, with its own id and history. To move ada to this folder instead: lifeboat "
        "restore ada --to" in said
    )
    assert "--adopt" in said
    assert len({one["id"] for one in run("agents", "list")["agents"]}) == 2


def test_the_agent_that_a_restored_folder_is_a_copy_of_may_be_gone(
    ada: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "beside"
    run("restore", "ada", "--to", copy)
    run("agents", "remove", "ada", "--yes")
    assert program.run_command(["agents", "add", str(copy)]) == 0
    said = capsys.readouterr().out
    assert "This agent is a copy of ada" in said
    assert "--adopt" not in said


def test_a_copy_names_its_original_in_json_and_others_name_none(ada: dict[str, Any], tmp_path: Path) -> None:
    assert ada["copy_of"] is None
    run("restore", "ada", "--to", tmp_path / "beside")
    assert run("agents", "add", tmp_path / "beside")["copy_of"] == {"id": ada["id"], "name": "ada"}


def test_an_imported_folder_goes_on_and_is_no_copy(ada: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    run("alf", "export", "openclaw", workspace, "-o", tmp_path / "ada.alf")
    known = run("alf", "import", tmp_path / "ada.alf", "--to", tmp_path / "in")["agent"]
    added = run("agents", "add", tmp_path / "in")
    assert added["id"] == known
    assert added["copy_of"] is None
