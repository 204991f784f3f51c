"""An archive of the reference client comes in: its memories are told of, it is synced, and the client knows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run, run_accepting
from support.endpoint import reference_archives as reference

NOTES = {
    "MEMORY.md": b"# Memory\r\n\r\n## Boat\r\n\r\nThe boat is red.\r\n\r\n## Tea\r\n\r\nGreen, no sugar.",
    "memory/2026-02-01.md": b"# Day\n\nSailed.\n\n## Evening\n\n- Soup\n- Bread\n",
    "memory/active-context.md": b"Now: the harbour.\n\n## Next\n\nThe island.\n",
    "memory/project-boat.md": b"\n\n## Hull\n\nScrape it.\n## Sail\n\nMend it.\n",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with notes and nothing else."""
    folder = tmp_path / "source"
    for name, body in NOTES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    return folder


def imported(workspace: Path) -> JsonObject:
    archive = workspace.parent / "reference.alf"
    archive.write_bytes(reference.write_snapshot(reference.export(workspace)))
    return run_accepting("alf", "import", archive, "--to", workspace.parent / "new")


def test_every_memory_stands_in_the_file_that_its_source_names(workspace: Path) -> None:
    fates = [fate for fate in imported(workspace)["fates"] if fate["kind"] == "memory"]
    assert {fate["outcome"] for fate in fates} == {"accepted"}
    assert sum(len(fate["names"]) for fate in fates) == 8
    for name, body in NOTES.items():
        assert (workspace.parent / "new" / name).read_bytes() == body


def test_a_memory_that_no_file_holds_is_still_omitted(workspace: Path) -> None:
    archive = reference.export(workspace)
    archive.records[0]["content"] = "Stands in no file."
    path = workspace.parent / "other.alf"
    path.write_bytes(reference.write_snapshot(archive))
    made = run_accepting("alf", "import", path, "--to", workspace.parent / "new")
    fates = {fate["outcome"]: fate["names"] for fate in made["fates"] if fate["kind"] == "memory"}
    assert fates["omitted"] == [archive.records[0]["id"]]


def test_the_client_finds_the_id_of_its_agent_again(workspace: Path) -> None:
    imported(workspace)
    assert reference.agent_id(workspace.parent / "new") == reference.agent_id(workspace)


def test_an_agent_that_has_only_notes_is_protected_synced_and_restored(workspace: Path) -> None:
    imported(workspace)
    new = workspace.parent / "new"
    run("agents", "add", new)
    (new / "memory" / "2026-02-02.md").write_text("Rested.\n")
    run("sync")
    run(
        "restore", "openclaw" if False else run("agents", "list")["agents"][0]["id"], "--to", workspace.parent / "again"
    )
    assert (workspace.parent / "again" / "memory" / "2026-02-02.md").read_text() == "Rested.\n"
    assert reference.agent_id(workspace.parent / "again") == reference.agent_id(workspace)


def test_a_folder_with_only_notes_can_be_protected(workspace: Path) -> None:
    (workspace / "MEMORY.md").unlink()
    run("agents", "add", workspace)
    out = workspace.parent / "out.alf"
    run("alf", "export", "openclaw", workspace, "-o", out)
    assert ArchiveFile(out).bodies["raw/openclaw/memory/project-boat.md"] == NOTES["memory/project-boat.md"]


def test_an_import_without_a_sign_of_its_runtime_is_captured_once_it_is_protected(tmp_path: Path) -> None:
    archive = tmp_path / "tools.alf"
    with archive.open("wb") as out:
        write_snapshot(MemoryState().put("raw/openclaw/TOOLS.md", b"A hammer.\n"), out)
    run_accepting("alf", "import", archive, "--to", tmp_path / "new")
    run("agents", "add", tmp_path / "new")
    (tmp_path / "new" / "plan.txt").write_text("Sail on.\n")
    run("sync")
    out_file = tmp_path / "out.alf"
    run("alf", "export", "openclaw", tmp_path / "new", "-o", out_file)
    assert ArchiveFile(out_file).bodies["artifacts/plan.txt"] == b"Sail on.\n"
