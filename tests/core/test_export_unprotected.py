"""An export of a folder that no agent of this home owns names its agent and its memories as the export before did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.adapters import openclaw_workspaces
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

ID = "f1851419-2c3a-50e9-99a9-7a4cb0567f12"


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    return openclaw_workspaces.make_state_dir(isolated_home / ".openclaw").workspace


def exported(workspace: Path, name: str) -> ArchiveFile:
    path = workspace.parent / name
    run("alf", "export", "openclaw", workspace, "-o", path)
    return ArchiveFile(path)


def ids(archive: ArchiveFile) -> set[str]:
    lines = [
        line for name, body in archive.bodies.items() if name.startswith("memory/part") for line in body.splitlines()
    ]
    return {json.loads(line)["id"] for line in lines}


def test_two_exports_share_the_agent_and_every_record_that_did_not_change(workspace: Path) -> None:
    first = exported(workspace, "first.alf")
    second = exported(workspace, "second.alf")
    assert first.json("manifest.json")["agent"]["id"] == second.json("manifest.json")["agent"]["id"]
    assert ids(first) and ids(first) == ids(second)


def test_a_new_memory_changes_no_other_id(workspace: Path) -> None:
    first = exported(workspace, "first.alf")
    (workspace / "memory" / "2026-11-02.md").write_text("## Rain\n\nIt rained.\n")
    second = exported(workspace, "second.alf")
    assert ids(first) < ids(second)


def test_another_folder_gives_other_ids(workspace: Path) -> None:
    first = exported(workspace, "first.alf")
    other = workspace.parent / "other"
    workspace.rename(other)
    assert not ids(first) & ids(exported(other, "second.alf"))


def test_the_id_that_an_older_client_left_is_that_of_the_agent(workspace: Path) -> None:
    (workspace / ".alf-agent-id").write_text(f"{ID}\n")
    assert exported(workspace, "first.alf").json("manifest.json")["agent"]["id"] == ID
