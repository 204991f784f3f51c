"""Several agents of one runtime in one state folder: each one's history holds its own workspace and rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_core.agents import manage_agents
from lifeboat_core.home.context import Context
from support.adapters import openclaw_workspaces
from support.adapters.openclaw_workspaces import StateFolder
from support.cli import cli_client

run = cli_client.run
LAYOUTS = [openclaw_workspaces.NEW, openclaw_workspaces.OLD]


@pytest.fixture(params=LAYOUTS)
def state(request: pytest.FixtureRequest, isolated_home: Path) -> StateFolder:
    return openclaw_workspaces.make_state_dir(isolated_home / ".openclaw", layout=request.param)


@pytest.fixture
def both(state: StateFolder) -> StateFolder:
    for workspace in state.workspaces.values():
        run("agents", "add", workspace)
    return state


def held(name: str) -> dict[str, bytes]:
    context = Context.open()
    with context.vault(manage_agents.find_agent(context, name).id) as vault:
        state = vault.state()
        return {entry.path: state.body(entry.path) for entry in state.entries()}


def in_workspace(name: str) -> dict[str, bytes]:
    return {path: body for path, body in held(name).items() if path.startswith(("raw/openclaw/", "artifacts/"))}


def test_both_are_found_and_added(state: StateFolder) -> None:
    assert {one["native_id"] for one in run("agents", "discover")["found"]} == {"main", "rover"}
    names = [run("agents", "add", workspace)["name"] for workspace in state.workspaces.values()]
    assert names == ["Juniper", "Rover"]
    assert {one["protected_as"] for one in run("agents", "discover")["found"]} == {"Juniper", "Rover"}


def test_each_one_holds_its_own_workspace_only(both: StateFolder) -> None:
    for name, native_id in (("Juniper", "main"), ("Rover", "rover")):
        kept = {
            path.removeprefix("raw/openclaw/").removeprefix("artifacts/"): body
            for path, body in in_workspace(name).items()
        }
        there = {path: both.workspaces[native_id] / path for path in kept}
        files = {path for path, file in there.items() if file.is_file() and not file.is_symlink()}
        assert {"SOUL.md", "MEMORY.md"} <= files
        assert {path: kept[path] for path in files} == {path: there[path].read_bytes() for path in files}
        assert all(file.exists() for file in there.values())
    soul = both.workspaces["rover"].joinpath("SOUL.md").read_bytes()
    sources = both.workspaces["rover"].joinpath("MEMORY.md").read_bytes()
    assert not {soul, sources} & set(held("Juniper").values())
    assert not any("workspace" in path for path in held("Juniper"))


def test_what_one_remembers_the_other_does_not(both: StateFolder) -> None:
    assert run("search", "Rover", "harbour authority")["hits"]
    assert run("search", "Juniper", "harbour authority")["hits"] == []


def test_rows_of_the_shared_database_go_to_the_agent_they_name(isolated_home: Path) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    for workspace in state.workspaces.values():
        run("agents", "add", workspace)
    jobs = "raw/openclaw-home/db/state/cron_jobs.jsonl"
    of_main, of_rover = held("Juniper")[jobs], held("Rover")[jobs]
    assert b'"agent_id":"main"' in of_main and b'"agent_id":"rover"' not in of_main
    assert b'"agent_id":"rover"' in of_rover and b'"agent_id":"main"' not in of_rover


def test_a_change_in_one_workspace_is_a_sequence_of_that_agent_alone(both: StateFolder) -> None:
    both.workspaces["rover"].joinpath("SOUL.md").write_text("# Rover\n\nYou look things up twice.\n")
    found = {one["name"]: one for one in run("sync")["agents"]}
    assert (found["Rover"]["changed"], found["Juniper"]["changed"]) == (True, False)


def test_a_change_of_what_both_use_is_a_sequence_of_both(both: StateFolder) -> None:
    text = both.config.read_text()
    both.config.write_text(text.replace(openclaw_workspaces.SEARCH_KEY, "pa-example-another-search-key-2026"))
    assert [one["changed"] for one in run("sync")["agents"]] == [True, True]


def test_a_change_of_the_part_of_one_is_no_sequence_of_the_other(both: StateFolder) -> None:
    text = both.config.read_text()
    assert "llm.example.com" in text
    both.config.write_text(text.replace("llm.example.com", "llm2.example.com"))
    assert {one["name"]: one["changed"] for one in run("sync")["agents"]} == {"Juniper": True, "Rover": False}


def test_no_secret_of_the_shared_files_stands_in_either_archive(both: StateFolder, tmp_path: Path) -> None:
    for native_id, workspace in both.workspaces.items():
        archive = tmp_path / f"{native_id}.alf"
        run("alf", "export", "openclaw", workspace, "-o", archive)
        with SnapshotReader(archive) as state:
            bodies = [state.body(entry.path) for entry in state.entries()]
        for secret in openclaw_workspaces.SECRETS:
            assert not any(secret.encode() in body for body in bodies)


def test_an_archive_of_one_holds_no_file_of_the_other(both: StateFolder, tmp_path: Path) -> None:
    archive = tmp_path / "juniper.alf"
    run("alf", "export", "openclaw", both.workspaces["main"], "-o", archive)
    marker = b"The harbour authority answers mail within a day."
    with SnapshotReader(archive) as state:
        assert not any(marker in state.body(entry.path) for entry in state.entries())
        assert not any(marker in record.line for record in state.records())


def test_a_restore_of_one_leaves_the_other_alone(both: StateFolder) -> None:
    rover = both.workspaces["rover"]
    before = {path: path.read_bytes() for path in rover.rglob("*") if path.is_file()}
    soul = both.workspaces["main"] / "SOUL.md"
    soul.write_text("# Soul\n\nOverwritten.\n")
    run("sync")
    run("restore", "Juniper", "--at", "0", "--yes")
    assert soul.read_text() == openclaw_workspaces.SOUL
    assert {path: path.read_bytes() for path in rover.rglob("*") if path.is_file()} == before


def test_removing_one_leaves_the_other_protected(both: StateFolder) -> None:
    run("agents", "remove", "Juniper", "--yes")
    assert [one["name"] for one in run("agents", "list")["agents"]] == ["Rover"]
    assert [one["name"] for one in run("sync")["agents"]] == ["Rover"]
    assert run("verify", "Rover")["mismatches"] == []
