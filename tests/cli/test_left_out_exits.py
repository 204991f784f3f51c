"""Every command that captures names what it leaves out, and ends with 1."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import SystemFiles
from support.adapters import openclaw_workspaces
from support.cli.cli_client import run

CLOSED = "artifacts/notes.txt"


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Make files unreadable by their name, except in Lifeboat's own home."""
    names = set[str]()
    original = SystemFiles.open_regular

    def open_regular(self: SystemFiles, path: Any) -> Any:
        if os.path.basename(os.fspath(path)) in names and "/restore/" not in os.fspath(path):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return original(self, path)

    monkeypatch.setattr(SystemFiles, "open_regular", open_regular)
    yield names


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    openclaw_workspaces.make_workspace(folder)
    (folder / "notes.txt").write_text("first\n")
    return folder


@pytest.fixture
def agent(workspace: Path) -> str:
    return str(run("agents", "add", workspace)["id"])


def _change(workspace: Path, closed: set[str]) -> None:
    (workspace / "notes.txt").write_text("a later version\n")
    closed.add("notes.txt")


def test_a_sync_that_could_not_read_a_file_ends_with_1_and_names_it(
    agent: str, workspace: Path, closed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _change(workspace, closed)
    (document,) = run("sync", expect=1)["agents"]
    assert document["state"] == "ok" and document["unread"] == {CLOSED: "Permission denied"}
    run("status", "--check", expect=1)
    assert run("verify", agent, expect=1)["unread"] == 1
    closed.clear()
    run("sync")
    run("verify", agent)


def test_a_sync_whose_database_cannot_be_read_ends_with_1(agent: str, workspace: Path, closed: set[str]) -> None:
    with closing(sqlite3.connect(workspace / "own.db")) as db:
        db.execute("create table t (x)")
    closed.add("own.db")
    (document,) = run("sync", expect=1)["agents"]
    assert [*document["unread"]] == ["artifacts/own.db"]


def test_agents_add_and_setup_end_with_1_for_what_the_first_capture_left_out(
    workspace: Path, closed: set[str], tmp_path: Path, isolated_home: Path
) -> None:
    closed.add("notes.txt")
    assert run("agents", "add", workspace, expect=1)["capture"]["unread"] == {CLOSED: "Permission denied"}
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    (state.workspace / "notes.txt").write_text("first\n")
    did: list[JsonObject] = run("setup", "--yes", expect=1)["did"]
    assert did[0]["left_out"] == {CLOSED: "Permission denied"} and did[0]["error"] is None


def test_move_and_clone_end_with_1_for_what_they_could_not_capture(
    agent: str, workspace: Path, closed: set[str], tmp_path: Path
) -> None:
    shutil.copytree(workspace, tmp_path / "copy")
    closed.add("notes.txt")
    assert CLOSED in run("agents", "clone", agent, tmp_path / "copy", expect=1)["capture"]["unread"]
    (workspace / "notes.txt").write_text("a later version\n")
    workspace.rename(tmp_path / "elsewhere")
    assert CLOSED in run("agents", "move", agent, tmp_path / "elsewhere", expect=1)["capture"]["unread"]


def test_an_export_that_lacks_a_file_ends_with_1_and_names_it(
    agent: str, workspace: Path, closed: set[str], tmp_path: Path
) -> None:
    _change(workspace, closed)
    made = run("alf", "export", "openclaw", workspace, "-o", tmp_path / "a.alf", expect=1)
    assert made["left_out"] == {CLOSED: "Permission denied"}
    closed.clear()
    assert run("alf", "export", "openclaw", workspace, "-o", tmp_path / "b.alf")["left_out"] == {}


def test_a_restore_and_an_undo_end_with_1_when_the_capture_after_them_left_something_out(
    agent: str, workspace: Path, closed: set[str]
) -> None:
    (workspace / "MEMORY.md").write_text("# Memory\n\nAnother one.\n")
    run("sync")
    _change(workspace, closed)
    restored = run("restore", agent, "--path", "MEMORY.md", "--at", "0", "--yes", expect=1)
    assert restored["not_captured"] == {CLOSED: "Permission denied"} and restored["left_out"] == []
    assert any("notes.txt" in warning for warning in restored["warnings"])
    assert run("undo", agent, expect=1)["not_captured"] == {CLOSED: "Permission denied"}


def test_people_are_told_that_a_capture_is_partial(
    agent: str, workspace: Path, closed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from lifeboat_cli import program

    _change(workspace, closed)
    assert program.run_command(["sync"]) == 1
    said = capsys.readouterr()
    assert (
        "partial: 1 file not captured in the current version" in said.out
        and "notes.txt: the file could not be read" in said.err
    )


def test_rows_that_a_restore_could_not_write_are_said_once_and_are_no_failure_of_the_capture_after_it(
    isolated_home: Path,
) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    agent = str(run("agents", "add", state.workspace)["id"])
    shutil.rmtree(isolated_home / ".openclaw")
    restored = run("restore", agent, "--with-credentials", "--yes")
    assert restored["not_captured"] == {} and any("#" in name for name in restored["withheld"])
