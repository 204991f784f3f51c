"""ALF §10.9: what a host has to have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.memory_records import reads_as
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_identity
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

DOCKER: JsonObject = {
    "name": "docker_management",
    "description": "Builds containers",
    "portability": "host_dependent",
    "host_requirements": "docker",
}
CAPABILITIES: list[JsonObject] = [
    {"name": "creative_writing", "description": "Prose", "priority": 1, "portability": "intrinsic"},
    {"name": "chess", "description": "Plays chess"},
    DOCKER,
]
HELPER: JsonObject = {"agent_id": None, "name": "Builder", "capabilities": [DOCKER], "status": "active"}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "capable.alf"
    state = MemoryState().put_document("identity.json", make_identity(capabilities=CAPABILITIES, sub_agents=[HELPER]))
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


@pytest.fixture
def bare_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it; the folder that is searched."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    return programs


def _capabilities(archive: ArchiveFile) -> list[JsonObject]:
    found: list[JsonObject] = archive.identity["structured"]["capabilities"]
    return found


def test_portability_annotations_survive(
    archive: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    assert _capabilities(export(import_into("host", archive), "again.alf")) == CAPABILITIES


def test_an_export_annotates_what_the_agent_says_of_itself(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    found = {item["name"]: item for item in _capabilities(export(agent))}
    docker = next(item for name, item in found.items() if "docker" in name.lower())
    assert docker["portability"] == "host_dependent"
    assert "docker" in docker["host_requirements"]


def _reported(archive: Path, folder: Path) -> str:
    return str(run("alf", "import", archive, "--to", folder, "--accept-unsigned", "--dry-run"))


def test_a_capability_the_host_lacks_is_reported_on_import(archive: Path, bare_host: Path, tmp_path: Path) -> None:
    assert "docker_management" in _reported(archive, tmp_path / "new")


def test_a_capability_the_host_lacks_stays_in_the_identity(
    archive: Path, bare_host: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    assert DOCKER in _capabilities(export(import_into("host", archive), "again.alf"))


def test_a_capability_without_portability_counts_as_intrinsic(archive: Path, bare_host: Path, tmp_path: Path) -> None:
    assert "chess" not in _reported(archive, tmp_path / "new")
    assert reads_as("portability", "from the future") == "intrinsic"


def test_capabilities_of_sub_agents_keep_their_portability(
    archive: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    (helper,) = export(import_into("host", archive), "again.alf").identity["structured"]["sub_agents"]
    assert helper["capabilities"] == [DOCKER]


def test_a_host_that_has_it_makes_it_available_again(
    archive: Path,
    bare_host: Path,
    tmp_path: Path,
    import_into: Callable[..., Path],
    export: Callable[..., ArchiveFile],
) -> None:
    """From a host without Docker to one that has it: nothing is reported, and the identity is the same."""
    again = export(import_into("bare", archive), "again.alf")
    docker = bare_host / "docker"
    docker.write_text("#!/bin/sh\n")
    docker.chmod(0o755)
    assert "docker_management" not in _reported(again.path, tmp_path / "new")
    assert _capabilities(export(import_into("equipped", again), "third.alf")) == CAPABILITIES
