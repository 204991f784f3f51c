"""ALF §10.2: the round trip of a rich agent through its own runtime."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_full_state, make_record
from support.adapters.openclaw_workspaces import StateFolder
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

Values = Callable[[ArchiveFile], dict[str, str]]
STRUCTURED = ("identity.json", "principals.json", "attachments.json")


@pytest.fixture
def rich(openclaw: StateFolder) -> Path:
    """The main agent with more than a hundred memories, protected."""
    folder = openclaw.workspace / "memory" / "people"
    folder.mkdir()
    for number in range(12):
        sections = [
            f"## Visit {number}-{part}\n\nVisitor {number}-{part} asked for berth {part}.\n" for part in range(9)
        ]
        (folder / f"visitors-{number}.md").write_text(f"# Visitors {number}\n\n" + "\n".join(sections))
    run("agents", "add", openclaw.workspace)
    return openclaw.workspace


@pytest.fixture
def twice(
    rich: Path, export: Callable[..., ArchiveFile], import_into: Callable[..., Path]
) -> tuple[ArchiveFile, ArchiveFile, Path]:
    """The export, the export of what was imported from it, and the imported workspace."""
    first = export(rich, "first.alf")
    again = import_into("again", first)
    return first, export(again, "second.alf"), again


def test_the_agent_is_rich(rich: Path, export: Callable[..., ArchiveFile]) -> None:
    archive = export(rich)
    assert len(archive.active) >= 100
    assert archive.identity["version"] == 1
    assert archive.json("principals.json")["principals"][0]["profile"]["structured"]["name"] == "Mira Lindqvist"
    assert len(archive.json("credentials.json")["credentials"]) >= 5


def test_the_export_is_a_valid_archive(rich: Path, export: Callable[..., ArchiveFile]) -> None:
    assert run("alf", "validate", export(rich).path, "--strict")["ok"]


def test_the_import_writes_every_file(twice: tuple[ArchiveFile, ArchiveFile, Path]) -> None:
    first, _, workspace = twice
    wanted = {name.removeprefix("raw/openclaw/") for name in first.bodies if name.startswith("raw/openclaw/")}
    wanted |= {name.removeprefix("artifacts/") for name in first.bodies if name.startswith("artifacts/")}
    assert wanted
    assert {name for name in wanted if not (workspace / name).is_file()} == set()


def test_raw_files_come_back_byte_for_byte(rich: Path, twice: tuple[ArchiveFile, ArchiveFile, Path]) -> None:
    first, second, workspace = twice
    names = [name for name in first.bodies if name.startswith(("raw/openclaw/", "artifacts/"))]
    assert len(names) > 10
    for name in names:
        relative = name.split("/", 2)[2] if name.startswith("raw/") else name.split("/", 1)[1]
        assert (workspace / relative).read_bytes() == (rich / relative).read_bytes() == first.bodies[name]
        assert second.bodies[name] == first.bodies[name]


def test_structured_fields_come_back_equal(twice: tuple[ArchiveFile, ArchiveFile, Path]) -> None:
    first, second, _ = twice
    for name in STRUCTURED:
        assert second.json(name) == first.json(name)
    assert second.records == first.records
    assert second.manifest["runtime_hints"] == first.manifest["runtime_hints"]


def test_the_identity_version_of_every_record_survives(
    openclaw: StateFolder, export: Callable[..., ArchiveFile], import_into: Callable[..., Path]
) -> None:
    run("agents", "add", openclaw.workspace)
    soul = openclaw.workspace / "SOUL.md"
    soul.write_text(soul.read_text() + "\nYou may now joke on Fridays.\n")
    memory = openclaw.workspace / "MEMORY.md"
    memory.write_text(memory.read_text() + "\n## Fridays\n\nJokes are allowed.\n")
    run("sync")
    first = export(openclaw.workspace, "first.alf")
    versions = {item["id"]: item["source"].get("identity_version") for item in first.records}
    assert set(versions.values()) == {1, 2}
    second = export(import_into("again", first), "second.alf")
    assert {item["id"]: item["source"].get("identity_version") for item in second.records} == versions


def test_links_between_records_survive(
    tmp_path: Path, export: Callable[..., ArchiveFile], import_into: Callable[..., Path]
) -> None:
    state = make_full_state()
    target = next(state.records())
    linked = make_record("Because of the move.", related_records=[{"id": target.id, "relation": "caused_by"}])
    state.add(linked)
    second = export(import_into("again", _written(state, tmp_path), expect=1), "second.alf")
    assert second.record_with("Because of the move.")["related_records"] == linked["related_records"]
    assert json.loads(target.line)["id"] in {item["id"] for item in second.records}


FIVE = {f"{name}_API_KEY": f"fake-key-of-{name.lower()}-0123456789" for name in ("BIRCH", "ELM", "FIR", "OAK", "YEW")}
ROTATED = "fake-key-of-oak-9876543210-rotated"


def _dotenv(keys: dict[str, str]) -> str:
    return "".join(f"export {name}='{value}'  # of {name}\n" for name, value in keys.items())


def test_five_credentials_come_back_and_are_sealed_again(
    rich: Path, export: Callable[..., ArchiveFile], import_into: Callable[..., Path], values: Values
) -> None:
    """Byte for byte where they stood, with the same ids and values in the next export, one of them rotated before."""
    (rich / ".env").write_text(_dotenv(FIVE))
    (rich / "memory/keys.md").write_text(f"# Keys\n\nThe birch answers to {FIVE['BIRCH_API_KEY']}.\n")
    run("sync")
    old = values(export(rich, "old.alf"))
    (rich / ".env").write_text(_dotenv({**FIVE, "OAK_API_KEY": ROTATED}))
    run("sync")
    first = export(rich, "first.alf")
    wanted = values(first)
    assert {key for key in wanted if wanted[key] != old.get(key)} == {key for key in wanted if wanted[key] == ROTATED}
    again = import_into("again", first, "--with-credentials")
    for name in (".env", "memory/keys.md"):
        assert (again / name).read_bytes() == (rich / name).read_bytes()
    assert {*FIVE.values(), ROTATED} - {FIVE["OAK_API_KEY"]} <= {*wanted.values()}
    kept = {key: value for key, value in values(export(again, "second.alf")).items() if key in wanted}
    assert {key: wanted[key] for key in kept} == kept
    assert {*FIVE.values(), ROTATED} - {FIVE["OAK_API_KEY"]} <= {*kept.values()}


def _written(state: MemoryState, folder: Path) -> Path:
    path = folder / "made.alf"
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path
