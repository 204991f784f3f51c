"""ALF §10.2.1: which identity made which memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_record
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

OLD_FACT = "Tidewater Maps has six people"
NEW_FACT = "Low tide is at noon on the equinox."


def _version(item: dict[str, object]) -> object:
    source = item["source"]
    assert isinstance(source, dict)
    return source.get("identity_version")


@pytest.fixture
def changed(agent: Path) -> Path:
    """The agent after a change of its identity, followed by one new memory."""
    soul = agent / "SOUL.md"
    soul.write_text(soul.read_text().replace("calm", "brisk") + "\nYou answer before noon.\n")
    run("sync")
    memory = agent / "MEMORY.md"
    memory.write_text(memory.read_text() + f"\n## Tides\n\n{NEW_FACT}\n")
    run("sync")
    return agent


def test_memories_made_under_version_1_say_so(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    archive = export(agent)
    assert archive.identity["version"] == 1
    assert {_version(item) for item in archive.records} == {1}


def test_after_a_change_of_identity_new_memories_say_2_and_old_ones_still_1(
    changed: Path, export: Callable[..., ArchiveFile]
) -> None:
    archive = export(changed)
    assert archive.identity["version"] == 2
    assert _version(archive.record_with(NEW_FACT)) == 2
    assert _version(archive.record_with(OLD_FACT)) == 1
    assert archive.json("history/identity/1.json")["version"] == 1


def test_filtering_by_identity_version_gives_disjoint_sets(changed: Path, export: Callable[..., ArchiveFile]) -> None:
    versions = {item["id"]: _version(item) for item in export(changed).records}
    hits = {
        version: {hit["id"] for hit in run("search", "Juniper", "the", "--identity-version", version)["hits"]}
        for version in ("1", "2")
    }
    found = {version: run("search", "Juniper", "noon", "--identity-version", version)["hits"] for version in "12"}
    assert {versions[each] for each in hits["1"]} == {1} and {versions[each] for each in hits["2"]} == {2}
    assert not hits["1"] & hits["2"]
    assert [hit["snippet"] for hit in found["2"]]
    assert not {hit["id"] for hit in found["1"]} & {hit["id"] for hit in found["2"]}


def _imported(state: MemoryState, tmp_path: Path, import_into: Callable[..., Path]) -> Path:
    path = tmp_path / "made.alf"
    with path.open("wb") as out:
        write_snapshot(state, out)
    return import_into("made", path)


def test_mixed_versions_survive_import_and_export(
    tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    state = MemoryState().put_document("identity.json", make_identity(version=7))
    versions = {}
    for version in (1, 3, 7):
        made = make_record(
            f"## Version {version}\n\nMade under {version}.\n",
            source={"runtime": "openclaw", "identity_version": version},
        )
        versions[state.add(made).id] = version
    archive = export(_imported(state, tmp_path, import_into))
    assert {item["id"]: _version(item) for item in archive.records} == versions
    assert archive.identity["version"] == 7


def test_memories_without_a_version_stay_without(
    tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    state = MemoryState().put_document("identity.json", make_identity(version=4))
    legacy = state.add(
        make_record("From before versions.", source={"runtime": "openclaw", "extraction_method": "migrated"})
    )
    archive = export(_imported(state, tmp_path, import_into))
    found = next(item for item in archive.records if item["id"] == legacy.id)
    assert "identity_version" not in found["source"]
