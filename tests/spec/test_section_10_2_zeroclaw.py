"""ALF §10.2: the round trip of a rich agent through ZeroClaw, in both of its layouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import write_snapshot
from support.adapters.zeroclaw_installs import Install
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.core.archive_travel import Export, ImportInto, exporting_into, importing_below
from support.core.migrating import AIEOS, ZEROCLAW_KEYS, ada_in_zeroclaw, found_by, prepared_home, rich_state, rows_of
from support.prepared_folders import PreparedFolders

Values = Callable[[ArchiveFile], dict[str, str]]


class Twice(NamedTuple):
    """An installation and its export; what was made of it elsewhere, and the export of that."""

    install: Install
    first: ArchiveFile
    home: Path
    workspace: Path
    second: ArchiveFile

    @property
    def database(self) -> Path:
        return self.home / self.install.database.relative_to(self.install.home)

    @property
    def own_workspace(self) -> Path:
        return self.install.workspace(self.install.agents[0])


@pytest.fixture(params=["0.8.3", "0.5.9"])
def twice(request: pytest.FixtureRequest, prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Twice:
    build = partial(_exported_twice, generation=request.param)
    made = prepared_home(prepared_folders, monkeypatch, f"zeroclaw {request.param} exported twice", build)
    # The key that opens the second export is that of the second machine.
    monkeypatch.setenv("LIFEBOAT_HOME", str(made.first.path.parent / "again/lifeboat"))
    return made


def _exported_twice(user: Path, folder: Path, generation: str) -> Twice:
    with pytest.MonkeyPatch.context() as patch:
        return _exported_on_two_machines(folder, generation, exporting_into(folder), importing_below(folder, patch))


def _exported_on_two_machines(folder: Path, generation: str, export: Export, import_into: ImportInto) -> Twice:
    _, install = ada_in_zeroclaw(folder, generation)
    alias = install.agents[0]
    first = export(install.workspace(alias), "first.alf", runtime="zeroclaw")
    place = install.workspace(alias).relative_to(folder).as_posix()
    workspace = import_into("again", first, "--with-credentials", runtime="zeroclaw", place=place)
    home = workspace.parents[place.count("/") - 1]
    return Twice(install, first, home, workspace, export(workspace, "second.alf", runtime="zeroclaw"))


def test_the_agent_is_rich(twice: Twice) -> None:
    assert len(twice.first.active) >= 100
    assert len({record["memory_type"] for record in twice.first.active}) >= 4
    assert len(twice.first.json("credentials.json")["credentials"]) >= 5


def test_the_export_is_a_valid_archive(twice: Twice) -> None:
    assert run("alf", "validate", twice.first.path, "--strict")["ok"]


def test_the_import_makes_an_installation_around_the_workspace(twice: Twice) -> None:
    assert any((folder / "config.toml").is_file() for folder in (twice.home, twice.home / ".zeroclaw"))
    assert twice.database.is_file()
    assert found_by(twice.database, '"Mooring 17"') == ["Mooring 17 is held by buoy 8."]


def test_raw_files_come_back_byte_for_byte(twice: Twice) -> None:
    raw = {name: data for name, data in twice.first.bodies.items() if name.startswith(("raw/zeroclaw/", "artifacts/"))}
    assert raw
    for name, data in raw.items():
        relative = name.split("/", 2)[2] if name.startswith("raw/") else name.split("/", 1)[1]
        assert (twice.workspace / relative).read_bytes() == (twice.own_workspace / relative).read_bytes() == data
        assert twice.second.bodies[name] == data


def test_every_row_comes_back_column_by_column(twice: Twice) -> None:
    """Databases are in no archive: their rows are compared, but for the agent's id, which each one gives itself."""

    def rows(database: Path) -> list[JsonObject]:
        return [{name: value for name, value in row.items() if name != "agent_id"} for row in rows_of(database)]

    assert rows(twice.database) == rows(twice.install.database)


def test_structured_fields_come_back_equal(twice: Twice) -> None:
    first, second = twice.first, twice.second
    assert second.records == first.records
    for name in ("principals.json", "attachments.json"):
        assert second.json(name) == first.json(name)
    assert second.identity["structured"] == first.identity["structured"]
    assert second.identity["structured"]["psychology"]
    assert second.manifest["runtime_hints"] == first.manifest["runtime_hints"]


def test_the_document_of_aieos_keeps_its_spelling(twice: Twice) -> None:
    assert json.loads((twice.workspace / "identity.json").read_text()) == AIEOS


def test_five_credentials_work_again_and_are_sealed_again(twice: Twice, values: Values) -> None:
    assert [key for key in ZEROCLAW_KEYS.values() if key.encode() in twice.first.path.read_bytes()] == []
    assert set(ZEROCLAW_KEYS.values()) <= set(values(twice.second).values())


@pytest.fixture
def carried(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> tuple[ArchiveFile, ArchiveFile]:
    return prepared_home(prepared_folders, monkeypatch, "zeroclaw with links and versions", _carried_twice)


def _carried_twice(user: Path, folder: Path) -> tuple[ArchiveFile, ArchiveFile]:
    """Two exports of an agent that came with links and versions: as it came, and after another round."""
    with pytest.MonkeyPatch.context() as patch:
        return _carried_over_two_machines(folder, exporting_into(folder), importing_below(folder, patch))


def _carried_over_two_machines(
    folder: Path, export: Export, import_into: ImportInto
) -> tuple[ArchiveFile, ArchiveFile]:
    state = rich_state()
    for number, item in enumerate(list(state.records())):
        line = json.loads(item.line)
        line["source"] = {**line["source"], "identity_version": 1 + number % 2}
        state.update(line)
    path = folder / "carried.alf"
    with path.open("wb") as out:
        write_snapshot(state, out)
    first = export(import_into("one", path, runtime="zeroclaw"), "one.alf", runtime="zeroclaw")
    return first, export(import_into("two", first, runtime="zeroclaw"), "two.alf", runtime="zeroclaw")


def test_the_identity_version_of_every_record_survives(carried: tuple[ArchiveFile, ArchiveFile]) -> None:
    first, second = carried
    versions = {record["id"]: record["source"].get("identity_version") for record in first.records}
    assert set(versions.values()) == {1, 2}
    assert {record["id"]: record["source"].get("identity_version") for record in second.records} == versions


def test_links_between_records_survive(carried: tuple[ArchiveFile, ArchiveFile]) -> None:
    first, second = carried
    links = {record["id"]: record["related_records"] for record in first.records if record.get("related_records")}
    assert len(links) >= 10
    found = {record["id"]: record["related_records"] for record in second.records if record.get("related_records")}
    assert found == links
