"""ALF §6.2: what an import owes."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_principals, make_record
from support.adapters.openclaw_workspaces import StateFolder
from support.adapters.zeroclaw_installs import Install, packed
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run


def _written(state: MemoryState, path: Path) -> Path:
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


def test_raw_files_are_preferred(tmp_path: Path, import_into: Callable[..., Path]) -> None:
    soul = b"# My soul\r\n\r\nAs it was  written, trailing blanks and all.  \r\n"
    state = MemoryState().put("raw/openclaw/SOUL.md", soul).put_document("identity.json", make_identity())
    workspace = import_into("new", _written(state, tmp_path / "raw.alf"))
    assert (workspace / "SOUL.md").read_bytes() == soul


def test_an_identity_from_elsewhere_is_written_as_the_runtimes_own_files(
    tmp_path: Path, import_into: Callable[..., Path]
) -> None:
    """Structured only, as a runtime without prose leaves it."""
    document = make_identity(goals=["keep the harbour clear"], role="Harbour pilot")
    del document["prose"]
    document["source_format"] = "zeroclaw"
    agent = {"id": document["agent_id"], "name": "Ada", "source_runtime": "zeroclaw"}
    state = MemoryState(agent=agent, raw_sources=[]).put_document("identity.json", document)
    state.put_document("principals.json", make_principals()).add(make_record("The buoy is red."))
    workspace = import_into("new", _written(state, tmp_path / "elsewhere.alf"))
    said = "".join(path.read_text() for path in sorted(workspace.glob("*.md")))
    for text in ("Ada", "Harbour pilot", "keep the harbour clear", "Robin"):
        assert text in said
    assert "The buoy is red." in "".join(path.read_text() for path in workspace.rglob("*.md"))


def test_the_command_that_rebuilds_the_index_is_named_where_the_program_is_missing(agent: Path, tmp_path: Path) -> None:

    said = str(run("restore", agent, "--to", tmp_path / "copy", "--yes"))
    assert "memory index" in said


def test_the_runtimes_program_rebuilds_its_index(
    agent: Path, tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = isolated_home / "bin" / "openclaw"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {isolated_home}/called\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    run("restore", agent, "--yes")
    assert "memory index" in (isolated_home / "called").read_text()


def test_an_unmapped_type_is_kept(
    tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    state = MemoryState().put_document("identity.json", make_identity())
    state.add(make_record("Dreamt of herons.", memory_type="oneiric", category="night"))
    found = export(import_into("new", _written(state, tmp_path / "odd.alf")), "again.alf").record_with(
        "Dreamt of herons."
    )
    assert (found["memory_type"], found["category"]) == ("oneiric", "night")


def test_vectors_of_the_model_that_the_target_uses_are_used_again(
    claw_with_vector: Install, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    made = claw_with_vector
    run("agents", "add", made.workspace())
    archive = export(made.workspace(), "vectors.alf", runtime="zeroclaw")
    workspace = import_into("new", archive, runtime="zeroclaw", place="claw/agents/default/workspace")
    with closing(sqlite3.connect(workspace.parents[2] / "data/memory/brain.db")) as connection:
        assert connection.execute("SELECT embedding FROM memories").fetchall() == [(packed(0.5, -0.25, 1.0),)]
        assert dict(connection.execute("SELECT * FROM memory_meta"))["embedding_model"] == "pip-embed-1"


@pytest.mark.parametrize("runtime", ["openclaw", "zeroclaw"])
def test_capabilities_that_the_machine_lacks_are_marked_inactive_and_kept(
    tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile], runtime: str
) -> None:
    lacking = {"name": "tiles", "portability": "host_dependent", "host_requirements": "no-such-program-here"}
    document = make_identity(
        role="Harbour pilot", capabilities=[lacking, {"name": "letters", "portability": "intrinsic"}]
    )
    state = MemoryState(raw_sources=[]).put_document("identity.json", document)
    workspace = import_into("new", _written(state, tmp_path / "lacking.alf"), runtime=runtime)
    said = "".join(path.read_text() for path in sorted(workspace.glob("*.md")))
    assert "tiles (requires: no-such-program-here; inactive on this machine)" in said
    assert "- letters\n" in said
    found = export(workspace, "again.alf", runtime=runtime).identity["structured"]["capabilities"]
    assert lacking in found


def test_a_dry_run_writes_nothing_and_says_what_it_would(agent: Path, tmp_path: Path) -> None:
    target = tmp_path / "nowhere"
    report = run("restore", agent, "--to", target, "--dry-run")
    assert "MEMORY.md" in str(report)
    assert not target.exists()


def test_credentials_are_injected_where_they_were_cut_out(
    openclaw: StateFolder, export: Callable[..., ArchiveFile], import_into: Callable[..., Path]
) -> None:
    """Only when asked for, byte for byte, for their owner alone; and none into a state that nobody signed."""
    secrets = b"# of the tides\nTIDE_API_KEY='fake-tide-key-0123456789abcdef'\nEMPTY_TOKEN=\n"
    dotenv = openclaw.workspace / ".env"
    dotenv.write_bytes(secrets)
    dotenv.chmod(0o600)
    run("agents", "add", openclaw.workspace)
    archive = export(openclaw.workspace)
    without = import_into("without", archive, expect=1)
    assert (without / "MEMORY.md").is_file()
    with_gap = (without / ".env").read_bytes()
    assert with_gap.startswith(b"# of the tides\nTIDE_API_KEY=") and b"fake-tide-key-0123456789abcdef" not in with_gap
    injected = import_into("injected", archive, "--with-credentials")
    assert (injected / ".env").read_bytes() == secrets
    assert stat.S_IMODE((injected / ".env").stat().st_mode) == 0o600
