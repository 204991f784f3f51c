"""ALF §6.1: what an export owes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.adapters.zeroclaw_installs import Install, make_install, packed
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.formats import aicf_files, aimem_bundles

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


def _name_people_in_aicf(folder: Path) -> set[str]:
    (folder / "memory.aicf").write_bytes(aicf_files.FILES["D1-specified"])
    return {"skipper_4", "assistant"}


def _name_places_in_aimem(folder: Path) -> set[str]:
    document = aimem_bundles.bundle(
        chunks=[aimem_bundles.chunk("c1", "The boat is moored at pier four.")],
        entities=[aimem_bundles.entity("e1", "Pier four", kind="place")],
        chunk_entities=[aimem_bundles.link("c1", "e1")],
    )
    (folder / "memory.aimem.json").write_text(json.dumps(document))
    return {"Pier four"}


@pytest.mark.parametrize(("runtime", "write_files"), [("aicf", _name_people_in_aicf), ("aimem", _name_places_in_aimem)])
def test_entities_that_a_runtime_names_are_in_its_records(
    tmp_path: Path, export: Export, runtime: str, write_files: Callable[[Path], set[str]]
) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    named = write_files(folder)
    run("agents", "add", folder, "--runtime", runtime)
    found = [entity for item in export(folder, runtime=runtime).records for entity in item.get("entities") or ()]
    assert {entity["name"] for entity in found} == named
    assert all(entity["type"] for entity in found)


def test_no_entity_is_guessed_from_the_text_of_a_memory(agent: Path, export: Export) -> None:
    """OpenClaw names none in its files."""
    found = export(agent).records
    assert len(found) > 10
    assert [item["content"] for item in found if item.get("entities") is not None] == []


def test_existing_vectors_are_exported_with_their_model(claw_with_vector: Install, export: Export) -> None:
    """As the runtime stored them, bit by bit."""
    run("agents", "add", claw_with_vector.workspace())
    archive = export(claw_with_vector.workspace(), runtime="zeroclaw")
    assert archive.manifest["layers"]["memory"]["has_embeddings"] is True
    (place,) = [name for name in archive.bodies if name.startswith("memory/embeddings/") and name.endswith(".json")]
    index = archive.json(place)
    assert archive.record_with("The buoy is red.")["id"] in json.dumps(index)
    assert "openai/pip-embed-1" in json.dumps(index)
    assert archive.bodies[place.removesuffix(".json") + ".bin"] == packed(0.5, -0.25, 1.0)


def test_vectors_of_a_model_that_the_runtime_does_not_name_are_left_out(tmp_path: Path, export: Export) -> None:
    made = make_install(tmp_path / "claw")
    made.remember("buoy", "The buoy is red.", embedding=packed(0.5, -0.25, 1.0))
    run("agents", "add", made.workspace())
    archive = export(made.workspace(), runtime="zeroclaw")
    assert archive.record_with("The buoy is red.")
    assert [name for name in archive.bodies if name.startswith("memory/embeddings/")] == []


def test_an_export_computes_no_embeddings(agent: Path, export: Export) -> None:
    archive = export(agent)
    assert archive.records
    assert not [name for name in archive.bodies if name.startswith("memory/embeddings/")]
    assert archive.manifest["layers"]["memory"]["has_embeddings"] is False


def test_the_artifact_inventory_is_reported(agent: Path, tmp_path: Path) -> None:
    (agent / "film.mov").write_bytes(bytes(300_000))
    report = run("alf", "export", "openclaw", agent, "-o", tmp_path / "out.alf")["artifacts"]
    assert "soundings.csv" in str(report["included"])
    assert "film.mov" in str(report["referenced"])
    assert "film.mov" not in str(report["included"])
