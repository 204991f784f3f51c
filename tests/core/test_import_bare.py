"""An archive comes into a folder with no runtime around it: what cannot be seen there is not taken for deleted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_principals, make_record
from lifeboat_core.home.context import Context
from support.adapters import openclaw_workspaces
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run, run_accepting

HOME = "raw/openclaw-home/"


def exported(workspace: Path, name: str) -> ArchiveFile:
    path = workspace.parent / name
    run("alf", "export", "openclaw", workspace, "-o", path)
    return ArchiveFile(path)


def imported(archive: Path) -> Path:
    run_accepting("alf", "import", archive, "--to", archive.parent / "bare")
    run("agents", "add", archive.parent / "bare")
    return archive.parent / "bare"


@pytest.fixture
def before(isolated_home: Path) -> ArchiveFile:
    """An agent with a runtime around it: its settings, skills, rows of its databases, and credentials."""
    found = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    run("agents", "add", found.workspace)
    return exported(found.workspace, "before.alf")


@pytest.fixture
def bare(before: ArchiveFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace alone, on another machine of the same user."""
    keys = Context.open().home.keys_folder
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))
    shutil.copytree(keys, Context.open().home.keys_folder, dirs_exist_ok=True)
    path = tmp_path / "before.alf"
    shutil.copy(before.path, path)
    return imported(path)


def change(workspace: Path, number: int) -> None:
    with (workspace / "MEMORY.md").open("a") as file:
        file.write(f"\n## Later {number}\n\nThe fog lifted.\n")


def test_what_stands_in_the_runtimes_home_stays_and_comes_out_again(before: ArchiveFile, bare: Path) -> None:
    held = of_home(before)
    rows = [name for name in held if name.startswith(f"{HOME}db/") and held[name]]
    assert f"{HOME}openclaw.json" in held and rows and before.json(archive_layout.CREDENTIALS)["credentials"]
    for number in range(2):
        change(bare, number)
        run("sync")
    after = exported(bare, "after.alf")
    assert of_home(after) == held
    assert after.bodies[archive_layout.CREDENTIALS] == before.bodies[archive_layout.CREDENTIALS]
    assert cuts(after) == cuts(before)
    assert after.record_with("Later 1")


def of_home(archive: ArchiveFile) -> dict[str, bytes]:
    return {name: body for name, body in archive.bodies.items() if name.startswith(HOME)}


def cuts(archive: ArchiveFile) -> JsonObject:
    document: JsonObject = archive.json(archive_layout.CUTS)
    return document


def test_a_capture_that_reads_everything_again_keeps_it_too(before: ArchiveFile, bare: Path) -> None:
    (agent,) = run("agents", "list")["agents"]
    Context.open().home.state_file(agent["id"]).unlink()
    change(bare, 0)
    run("sync")
    after = exported(bare, "after.alf")
    assert of_home(after) == of_home(before)
    assert after.bodies[archive_layout.CREDENTIALS] == before.bodies[archive_layout.CREDENTIALS]


def test_a_restore_without_a_runtime_names_what_it_does_not_write(before: ArchiveFile, bare: Path) -> None:
    (agent,) = run("agents", "list")["agents"]
    run("sync")
    warnings = run("restore", agent["id"], "--to", bare.parent / "again")["warnings"]
    assert any("openclaw.json is not written" in warning for warning in warnings)


def test_documents_that_the_runtime_cannot_hold_come_out_again(tmp_path: Path) -> None:
    archive = tmp_path / "foreign.alf"
    state = MemoryState()
    state.put_document(archive_layout.IDENTITY, make_identity(3, x_kept=[1]))
    state.put_document(archive_layout.PRINCIPALS, {**make_principals(), "x_kept": 1})
    for path in ("history/identity/1.json", "extensions/notes.json", "memory/embeddings/index.json"):
        state.put_document(path, {"x_kept": path})
    state.put("raw/zeroclaw/config.toml", b"[agent]\n").put_artifact("chart.bin", b"chart")
    state.add(make_record("Sails.", memory_type="semantic"))
    with archive.open("wb") as out:
        write_snapshot(state, out)
    workspace = imported(archive)
    (workspace / "memory" / "more.md").write_text("# More\n")
    run("sync")
    before, after = ArchiveFile(archive), exported(workspace, "after.alf")
    derived = archive_layout.DERIVED | {archive_layout.MANIFEST}
    changed = [name for name in before.bodies if name not in derived and after.bodies.get(name) != before.bodies[name]]
    assert [name for name in changed if not name.startswith("memory/partitions/")] == []
