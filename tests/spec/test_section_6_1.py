"""ALF §6.1: what an export owes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.alf.archive_files import ArchiveFile
from support.daemon.cli_client import run

Export = Callable[..., ArchiveFile]


def test_all_layers_are_filled(agent: Path, export: Export) -> None:
    archive = export(agent)
    layers = archive.manifest["layers"]
    assert layers["memory"]["record_count"] == len(archive.records) > 0
    assert layers["identity"]["version"] == archive.identity["version"]
    assert layers["principals"]["count"] == len(archive.json("principals.json")["principals"]) == 1
    assert layers["credentials"]["count"] == len(archive.json("credentials.json")["credentials"]) > 0


def test_files_of_the_runtime_become_the_right_types_of_memory(agent: Path, export: Export) -> None:
    archive = export(agent)
    fact = archive.record_with("Tidewater Maps has six people and two boats")
    assert (fact["memory_type"], fact["source"]["origin"]) == ("summary", "memory_md")
    day = archive.record_with("Rewrote the API notes")
    assert (day["memory_type"], day["category"]) == ("episodic", "daily_log")
    assert day["temporal"]["observed_at"][:10] == "2026-02-10"
    principal = archive.json("principals.json")["principals"][0]["id"]
    wish = archive.record_with("last working day of the month")
    assert (wish["memory_type"], wish["namespace"]) == ("preference", f"principal_context:{principal}")
    assert archive.record_with("show the draft first")["memory_type"] == "procedural"


def test_entities_the_runtime_names_stand_in_the_records(agent: Path, export: Export) -> None:
    """OpenClaw names no entities in its files, and nothing is guessed: what an archive names is kept."""
    assert all(item.get("entities") is None for item in export(agent).records)


def test_an_export_computes_no_embeddings(agent: Path, export: Export) -> None:
    archive = export(agent)
    assert not [name for name in archive.bodies if name.startswith("memory/embeddings/")]
    assert archive.manifest["layers"]["memory"]["has_embeddings"] is False


def test_the_artifact_inventory_is_reported(agent: Path, tmp_path: Path) -> None:
    (agent / "film.mov").write_bytes(bytes(300_000))
    report = run("alf", "export", "openclaw", agent, "-o", tmp_path / "out.alf")["artifacts"]
    assert "soundings.csv" in str(report["included"])
    assert "film.mov" in str(report["referenced"])
    assert "film.mov" not in str(report["included"])
