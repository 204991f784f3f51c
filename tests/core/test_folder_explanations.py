"""A folder that cannot be protected is named for what it is, with a command that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import openclaw_workspaces
from support.cli.cli_client import run, run_accepting


@pytest.fixture
def home(isolated_home: Path) -> Path:
    openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    return isolated_home


def refused(folder: Path | str, *more: str, expect: int = 1) -> JsonObject:
    error: JsonObject = run("agents", "add", folder, *more, expect=expect)["error"]
    return error


def test_a_home_folder_names_the_agents_in_it(home: Path) -> None:
    error = refused(home, expect=3)
    assert (
        "is the home directory of a user. Protect each workspace in it separately" in error["message"]
        and str(home / ".openclaw/workspace-rover") in error["message"]
    )
    assert error["fix"] == f"lifeboat agents add {home / '.openclaw/workspace'}"
    run("agents", "add", home / ".openclaw/workspace")
    assert refused(home, expect=3)["fix"] == f"lifeboat agents add {home / '.openclaw/workspace-rover'}"


def test_a_state_directory_and_another_users_home_name_the_workspace(home: Path) -> None:
    assert "it is the state directory of" in refused(home / ".openclaw")["message"]
    openclaw_workspaces.make_state_dir(home / "bob/.openclaw")
    error = refused(home / "bob")
    assert f"{home}/bob is not a workspace: it contains" in error["message"] and error["fix"].endswith(
        "bob/.openclaw/workspace"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".git/HEAD", "is a Git repository without the files of a known agent runtime"),
        (".claude/settings.json", "is a project directory of Claude Code"),
        ("letter.txt", "contains 1 entry, but no file of a known agent runtime"),
    ],
)
def test_an_ordinary_folder_is_named(home: Path, name: str, message: str) -> None:
    path = home / "folder" / name
    path.parent.mkdir(parents=True)
    path.write_text("x")
    error = refused(home / "folder")
    assert message in error["message"] and error["fix"] == "lifeboat agents discover"


def test_a_project_with_notes_can_be_protected_by_the_profile_for_notes(home: Path) -> None:
    (home / "project").mkdir()
    (home / "project/CLAUDE.md").write_text("# Notes\n")
    error = refused(home / "project")
    assert "is a project directory of Claude Code" in error["message"]
    assert error["fix"] == f"lifeboat agents add --runtime markdown {home / 'project'}"
    assert run("agents", "add", "--runtime", "markdown", home / "project")["runtime"] == "markdown"


def test_a_soul_alone_proves_no_runtime_and_can_be_named(home: Path) -> None:
    (home / "soul").mkdir()
    (home / "soul/SOUL.md").write_text("# Soul\n")
    error = refused(home / "soul")
    assert error["code"] == "not_a_workspace" and error["fix"].endswith("--runtime openclaw")
    assert run("agents", "add", home / "soul", "--runtime", "openclaw")["runtime"] == "openclaw"


def test_an_empty_folder_offers_a_restore_into_it(home: Path) -> None:
    (home / "empty").mkdir()
    assert refused(home / "empty")["fix"] == "lifeboat agents discover"
    run("agents", "add", home / ".openclaw/workspace", "--name", "ada")
    assert refused(home / "empty")["fix"] == f"lifeboat restore ada --to {home / 'empty'}"


def test_a_mistyped_folder_names_the_one_beside_it(home: Path) -> None:
    error = refused(home / ".openclaw/workspac", expect=3)
    assert "does not exist" in error["message"] and error["fix"].endswith(".openclaw/workspace")


@pytest.mark.parametrize("runtime", ["zeroclaw", "aimem", "aicf"])
def test_no_command_takes_a_workspace_of_one_runtime_for_another(home: Path, runtime: str) -> None:
    workspace = home / ".openclaw/workspace"
    assert refused(workspace, "--runtime", runtime, expect=3)["code"] == "other_runtime"
    exporting = ("alf", "export", runtime, workspace, "-o", home / "ada.alf")
    error = run(*exporting, expect=3)["error"]
    assert error["message"] == f"{workspace} is a workspace of openclaw, not of {runtime}"
    assert error["fix"] == f"lifeboat alf export openclaw {workspace} -o {home / 'ada.alf'}"
    assert not (home / "ada.alf").exists()
    run("agents", "add", workspace)
    assert run(*exporting, expect=3)["error"]["code"] == "other_runtime"
    run("alf", "export", "openclaw", workspace, "-o", home / "ada.alf")
    importing = ("alf", "import", home / "ada.alf", "--to", home / ".openclaw/workspace-rover", "--runtime", runtime)
    assert run(*importing, "--yes", expect=3)["error"]["code"] == "other_runtime"


@pytest.mark.parametrize("runtime", ["openclaw", "zeroclaw"])
def test_an_import_without_runtime_files_can_be_captured_again_and_again(home: Path, runtime: str) -> None:
    """`sync` must not name `agents accept`, which would change nothing."""
    state = MemoryState(agent_id="019a0000-0000-7000-8000-0000000000f1")
    state.put_artifact("chart.bin", b"chart")
    with (home / "foreign.alf").open("wb") as out:
        write_snapshot(state, out)
    made = run_accepting("alf", "import", home / "foreign.alf", "--to", home / "new", "--runtime", runtime)
    run("agents", "resume", made["agent"])
    for number in range(3):
        (home / "new/note.txt").write_text(f"{number}\n")
        assert run("sync", made["agent"])["agents"][0]["outcome"] == "captured"


def test_a_workspace_that_an_import_wrote_and_that_was_emptied_is_not_taken_for_a_deletion(home: Path) -> None:
    state = MemoryState(agent_id="019a0000-0000-7000-8000-0000000000f1")
    for number in range(20):
        state.put(f"raw/openclaw/{number}.txt", b"text")
    with (home / "foreign.alf").open("wb") as out:
        write_snapshot(state, out)
    made = run_accepting("alf", "import", home / "foreign.alf", "--to", home / "new", "--runtime", "openclaw")
    run("agents", "resume", made["agent"])
    run("sync", made["agent"])
    for path in (home / "new").iterdir():
        path.unlink()
    document = run("sync", made["agent"], expect=1)["agents"][0]
    assert document["state"] in ("held", "error")
