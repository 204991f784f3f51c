"""Import, capture, search and export an archive with documents and memories of a wrong shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import make_full_state, make_record
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run, run_accepting


def _edited(workspace: Path) -> None:
    for name in ("SOUL.md", "USER.md", "IDENTITY.md", "MEMORY.md"):
        file = workspace / name
        file.write_text((file.read_text() if file.exists() else "") + "\n## New\n\nAnother line.\n")


def test_documents_and_memories_of_any_shape_stop_no_capture(tmp_path: Path) -> None:
    state = make_full_state()
    state.put_document(
        archive_layout.IDENTITY, {**sample_states.make_identity(), "version": ["x"], "id": 5, "prose": 5}
    )
    profile: Any = ["x"]
    people = [{"id": "p-1", "principal_type": "human", "profile": profile}, 5, {"id": 7}]
    state.put_document(archive_layout.PRINCIPALS, {"principals": people})
    odd = {"tags": 5, "raw_source_format": "x", "entities": True, "related_records": "x", "confidence": "high"}
    source = {"runtime": "openclaw", "origin_file": "MEMORY.md", "identity_version": {"x": 1}}
    memory = state.add(make_record("Sails on Sundays.", source=source, **odd))
    state.put("raw/openclaw/MEMORY.md", b"Sails on Sundays.\n", records=[memory.id])
    archive, workspace = tmp_path / "odd.alf", tmp_path / "new"
    with archive.open("wb") as out:
        write_snapshot(state, out)
    assert run_accepting("alf", "import", archive, "--to", workspace, expect=1)["agent"]
    _edited(workspace)
    assert run("sync")
    assert run("search", "Ada", "Sundays")["hits"]
    out_file = tmp_path / "out.alf"
    run("alf", "export", "openclaw", workspace, "-o", out_file)
    identity = ArchiveFile(out_file).json("identity.json")
    assert identity["version"] == 2 and isinstance(identity["id"], str)
    assert "Another line." in json.dumps(identity)
