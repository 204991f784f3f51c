"""ALF §10.3: from one runtime to another and back, through archives, each import on a machine of its own."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from typing import NamedTuple

import pyjson5 as json5
import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from support.adapters.openclaw_workspaces import API_KEY, ENV_KEY, TELEGRAM_TOKEN
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.core.archive_travel import Export, ImportInto, exporting_into, importing_below
from support.core.migrating import (
    GOALS,
    MOORINGS,
    ZEROCLAW_KEYS,
    Tree,
    ada_in_openclaw,
    ada_in_zeroclaw,
    prepared_home,
    rows_of,
    tree_of,
)
from support.prepared_folders import PreparedFolders

LARGE = ("--artifact-threshold", "1000000")
"""With it the large artifacts lie in the archives too."""


class Journey(NamedTuple):
    """The archive of A and its files (databases as rows), that of B, and both of A again."""

    first: ArchiveFile
    before: Tree
    there: ArchiveFile
    second: ArchiveFile
    after: Tree


def _files(folder: Path) -> Tree:
    found = {name: data for name, data in tree_of(folder).items() if ".db" not in name}
    database = folder / "memory/brain.db"
    if database.is_file():
        found["rows"] = repr(rows_of(database)).encode()
    return found


def _there_and_back(
    first: ArchiveFile, workspace: Path, runtimes: tuple[str, str], export: Export, import_into: ImportInto
) -> Journey:
    own, other = runtimes
    elsewhere = import_into("elsewhere", first, "--with-credentials", runtime=other)
    there = export(elsewhere, "there.alf", *LARGE, runtime=other)
    back = import_into("back", there, "--with-credentials", runtime=own)
    return Journey(first, _files(workspace), there, export(back, "second.alf", *LARGE, runtime=own), _files(back))


def _from_openclaw(user: Path, folder: Path) -> Journey:
    with pytest.MonkeyPatch.context() as patch:
        export, import_into = exporting_into(folder), importing_below(folder, patch)
        _, workspace = ada_in_openclaw(user, folder)
        first = export(workspace, "first.alf", *LARGE)
        return _there_and_back(first, workspace, ("openclaw", "zeroclaw"), export, import_into)


def _from_zeroclaw(user: Path, folder: Path) -> Journey:
    with pytest.MonkeyPatch.context() as patch:
        export, import_into = exporting_into(folder), importing_below(folder, patch)
        _, install = ada_in_zeroclaw(folder, "0.5.9")
        workspace = install.workspace()
        first = export(workspace, "first.alf", *LARGE, runtime="zeroclaw")
        return _there_and_back(first, workspace, ("zeroclaw", "openclaw"), export, import_into)


@pytest.fixture
def from_openclaw(tmp_path: Path, prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Journey:
    """The journey; its machines are below `tmp_path`."""
    return _found_below(tmp_path, prepared_home(prepared_folders, monkeypatch, "journey from openclaw", _from_openclaw))


@pytest.fixture
def from_zeroclaw(tmp_path: Path, prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Journey:
    """The journey; its machines are below `tmp_path`."""
    return _found_below(tmp_path, prepared_home(prepared_folders, monkeypatch, "journey from zeroclaw", _from_zeroclaw))


def _found_below(folder: Path, journey: Journey) -> Journey:
    for machine in ("elsewhere", "back"):
        (folder / machine).symlink_to(journey.first.path.parent / machine)
    return journey


@pytest.fixture(params=["openclaw", "zeroclaw"])
def journey(request: pytest.FixtureRequest) -> Journey:
    found: Journey = request.getfixturevalue(f"from_{request.param}")
    return found


def test_what_is_exported_from_the_first_runtime_is_a_valid_archive_of_a_rich_agent(journey: Journey) -> None:
    assert run("alf", "validate", journey.first.path, "--strict")["ok"]
    assert len(journey.first.active) >= 100
    assert len(journey.first.json("credentials.json")["credentials"]) >= 5


def test_the_second_runtime_has_every_memory_once(from_openclaw: Journey, tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "elsewhere/.zeroclaw/data/memory/brain.db")
    assert len(rows) == MOORINGS
    wanted = sorted(record["content"].strip() for record in from_openclaw.first.active)
    assert sorted(row["content"].strip() for row in rows) == wanted


def test_nothing_is_lost_on_the_way(journey: Journey) -> None:
    """Not even what the second runtime has no place for: links, principals, versions of the identity, its own files."""
    first, there = journey.first, journey.there
    assert {record["id"]: record for record in there.records} == {record["id"]: record for record in first.records}
    assert there.json("principals.json") == first.json("principals.json")
    own = {name: data for name, data in first.bodies.items() if name.startswith(("raw/", "artifacts/"))}
    assert {name: there.bodies.get(name) for name in own} == own


@pytest.mark.parametrize("runtime", ["openclaw", "zeroclaw"])
def test_the_identity_is_recognizable_in_the_second_runtime(
    request: pytest.FixtureRequest, tmp_path: Path, runtime: str
) -> None:
    request.getfixturevalue(f"from_{runtime}")
    said = "".join(path.read_text() for path in sorted((tmp_path / "elsewhere/workspace").glob("*.md")))
    wanted = (
        ("Juniper", "Harbour pilot", "Robin", *GOALS) if runtime == "openclaw" else ("Ada", "keep boats afloat", "Mira")
    )
    assert [text for text in wanted if text not in said] == []


def _decrypted(home: Path, value: str) -> str:
    """Decrypt a value of `config.toml` as ZeroClaw does: ChaCha20-Poly1305 under the key of the installation."""
    sealed = bytes.fromhex(value.removeprefix("enc2:"))
    key = bytes.fromhex((home / ".secret_key").read_text().strip())
    return ChaCha20Poly1305(key).decrypt(sealed[:12], sealed[12:], None).decode()


def test_credentials_of_openclaw_work_in_zeroclaw(from_openclaw: Journey, tmp_path: Path) -> None:
    """Under the settings that ZeroClaw reads them from, encrypted under the key of its installation."""
    home = tmp_path / "elsewhere/.zeroclaw"
    config = tomllib.loads((home / "config.toml").read_text())
    models = [model for kind in config["providers"]["models"].values() for model in kind.values()]
    assert {API_KEY, ENV_KEY} <= {_decrypted(home, model["api_key"]) for model in models if "api_key" in model}
    assert _decrypted(home, config["channels"]["telegram"]["default"]["bot_token"]) == TELEGRAM_TOKEN


def test_credentials_of_zeroclaw_work_in_openclaw(tmp_path: Path, export: Export, import_into: ImportInto) -> None:
    """In the configuration that OpenClaw reads, where it reads such ones from, for their owner alone."""
    _, install = ada_in_zeroclaw(tmp_path, "0.5.9")
    first = export(install.workspace(), "first.alf", *LARGE, runtime="zeroclaw")
    state_dir = tmp_path / "elsewhere/.openclaw"
    import_into("elsewhere", first, "--with-credentials", "--state-dir", str(state_dir), place=".openclaw/workspace")
    config = json5.loads((state_dir / "openclaw.json").read_text())
    assert config["channels"]["telegram"]["botToken"] == ZEROCLAW_KEYS["telegram"]
    assert config["channels"]["discord"]["token"] == ZEROCLAW_KEYS["discord"]
    assert stat.S_IMODE((state_dir / "openclaw.json").stat().st_mode) == 0o600


def test_a_credential_without_a_place_in_the_second_runtime_is_named_with_the_reason(
    isolated_home: Path, tmp_path: Path, export: Export
) -> None:
    _, workspace = ada_in_openclaw(isolated_home, tmp_path)
    first = export(workspace, "first.alf", *LARGE)
    target = tmp_path / "elsewhere/workspace"
    report = run("alf", "import", first.path, "--runtime", "zeroclaw", "--to", target, "--with-credentials")
    outcomes = {each["label"]: (each["outcome"], bool(each["reason"])) for each in report["credential_details"]}
    assert len(outcomes) == len(first.json("credentials.json")["credentials"])
    assert outcomes["openclaw.json: gateway.auth.token"] == ("skipped", True)
    assert set(outcomes.values()) == {("injected", False), ("skipped", True)}


def test_what_the_second_runtime_exports_is_a_valid_archive(journey: Journey) -> None:
    assert run("alf", "validate", journey.there.path, "--strict")["ok"]


def test_the_files_of_the_first_runtime_come_back_byte_for_byte(journey: Journey) -> None:
    assert journey.after == journey.before


def test_the_agent_is_equal_to_the_original(journey: Journey) -> None:
    first, second = journey.first, journey.second
    assert second.records == first.records
    assert second.json("principals.json") == first.json("principals.json")
    structured = first.identity["structured"]
    assert {name: second.identity["structured"].get(name) for name in structured} == structured
    assert {each["id"] for each in first.json("credentials.json")["credentials"]} <= {
        each["id"] for each in second.json("credentials.json")["credentials"]
    }
