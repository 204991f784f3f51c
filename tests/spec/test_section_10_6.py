"""ALF §10.6: workspace artifacts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

Export = Callable[..., ArchiveFile]
CSV = ("item,amount\n" + "oak plank,17\n" * 320).encode()[:4096]
SCRIPT = ("#!/usr/bin/env python3\n" + "print('tide')\n" * 2000).encode()[:20480]
NOTES = b'{"berths": [1, 2, 3]}\n'
IMAGE = b"\x89PNG\r\n\x1a\n" + (bytes((n * n) % 251 for n in range(251)) * 2040)[: 500 * 1024]
PAPER = b"%PDF-1.7\n" + (bytes((n * 7) % 253 for n in range(253)) * 8290)[: 2 * 1024 * 1024]
SMALL = {"shares.csv": CSV, "tools/deploy.py": SCRIPT, "berths.json": NOTES}
LARGE = {"images/harbour.png": IMAGE, "papers/survey.pdf": PAPER}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ada" / "workspace"
    for name, data in {**SMALL, **LARGE}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "SOUL.md").write_text("# Soul\n\nYou are Ada.\n")
    (folder / "IDENTITY.md").write_text("# Identity\n\n- **Name:** Ada\n")
    (folder / "MEMORY.md").write_text(
        "# Memory\n\n## Shares\n\nPrices stand in shares.csv.\n\n## Survey\n\nSee papers/survey.pdf, page 4.\n"
    )
    run("agents", "add", folder, "--runtime", "openclaw")
    return folder


def _by_tier(archive: ArchiveFile) -> tuple[set[str], set[str]]:
    """Source paths of what is included and of what is only referenced."""
    items = archive.attachments.values()
    included = {item["source_path"] for item in items if item["archive_path"]}
    return included, {item["source_path"] for item in items if not item["archive_path"]}


def _ends(paths: set[str], names: Any) -> set[str]:
    return {name for name in names if any(path.endswith(name) for path in paths)}


def test_files_are_classified_into_three_tiers(workspace: Path, export: Export) -> None:
    archive = export(workspace)
    included, referenced = _by_tier(archive)
    assert archive.bodies["raw/openclaw/SOUL.md"] == (workspace / "SOUL.md").read_bytes()
    assert _ends(included, SMALL) == set(SMALL)
    assert _ends(referenced, LARGE) == set(LARGE)
    assert len(included) == len(SMALL)
    assert len(referenced) == len(LARGE)
    for item in archive.attachments.values():
        if item["archive_path"]:
            assert archive.bodies[item["archive_path"]]
    assert not [name for name in archive.bodies if name.startswith("artifacts/") and name.endswith((".png", ".pdf"))]


def test_the_threshold_decides_and_is_recorded(workspace: Path, export: Export) -> None:
    usual = export(workspace, "usual.alf")
    strict = export(workspace, "strict.alf", "--artifact-threshold", "10240")
    assert usual.json("attachments.json")["artifact_size_threshold"] == 102400
    assert strict.json("attachments.json")["artifact_size_threshold"] == 10240
    assert "deploy.py" in {item["filename"] for item in usual.attachments.values() if item["archive_path"]}
    assert {item["filename"] for item in strict.attachments.values() if item["archive_path"]} == {
        "shares.csv",
        "berths.json",
    }
    assert run("alf", "validate", strict.path, "--strict")["ok"]


def test_tier_2_artifacts_come_back_in_a_new_workspace(
    workspace: Path, export: Export, import_into: Callable[..., Path]
) -> None:
    again = import_into("again", export(workspace))
    for name, data in SMALL.items():
        assert (again / name).read_bytes() == data


def test_tier_3_artifacts_are_reported_on_import(
    workspace: Path, export: Export, import_into: Callable[..., Path], tmp_path: Path
) -> None:
    archive = export(workspace)
    import_into("again", archive)
    report = run("alf", "import", archive.path, "--to", tmp_path / "dry", "--accept-unsigned", "--dry-run")
    said = str(report)
    for name, data in LARGE.items():
        assert Path(name).name in said
        assert str(len(data)) in said
    assert not (tmp_path / "dry").exists()


def test_hashes_are_those_of_the_files(workspace: Path, export: Export) -> None:
    archive = export(workspace)
    for name, data in {**SMALL, **LARGE}.items():
        item = archive.attachments[Path(name).name]
        assert item["hash"] == {"algorithm": "sha256", "value": hashlib.sha256(data).hexdigest()}
        assert item["size_bytes"] == len(data)
        if item["archive_path"]:
            assert hashlib.sha256(archive.bodies[item["archive_path"]]).hexdigest() == item["hash"]["value"]


def test_referenced_by_connects_artifacts_and_memories(workspace: Path, export: Export) -> None:
    archive = export(workspace)
    assert archive.attachments["shares.csv"]["referenced_by"] == [archive.record_with("shares.csv")["id"]]
    assert archive.attachments["survey.pdf"]["referenced_by"] == [archive.record_with("survey.pdf")["id"]]
    assert not archive.attachments["berths.json"].get("referenced_by")


def test_media_types_are_right_for_text_and_binary(workspace: Path, export: Export) -> None:
    types = {name: item["media_type"] for name, item in export(workspace).attachments.items()}
    assert types == {
        "shares.csv": "text/csv",
        "deploy.py": "text/x-python",
        "berths.json": "application/json",
        "harbour.png": "image/png",
        "survey.pdf": "application/pdf",
    }


def test_memories_that_name_absent_artifacts_are_imported(
    workspace: Path, export: Export, import_into: Callable[..., Path]
) -> None:
    first = export(workspace, "first.alf")
    again = import_into("again", first)
    assert "papers/survey.pdf" in (again / "MEMORY.md").read_text()
    second = export(again, "second.alf")
    assert second.record_with("survey.pdf") == first.record_with("survey.pdf")


def test_counts_in_the_manifest_are_right(workspace: Path, export: Export) -> None:
    layer = export(workspace).manifest["layers"]["attachments"]
    assert layer == {
        "count": 5,
        "included_count": 3,
        "included_size_bytes": sum(map(len, SMALL.values())),
        "referenced_count": 2,
        "referenced_size_bytes": sum(map(len, LARGE.values())),
        "file": "attachments.json",
    }
