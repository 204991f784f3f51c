"""ALF §10.5.1: credentials and the capabilities they enable name each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.adapters.openclaw_workspaces import StateFolder
from support.alf.archive_files import ArchiveFile, edit
from support.cli.cli_client import run, run_accepting

SKILL = """---
name: github_repo_reader
description: Reads repositories.
metadata: {"openclaw": {"requires": {"env": ["GITHUB_TOKEN"]}}}
---

# Reading repositories
"""
TOKEN = "ghp-fake-0123456789abcdef0123"


@pytest.fixture
def agent(openclaw: StateFolder) -> Path:
    """An agent with a skill that needs a token, and a key for no skill in particular."""
    skill = openclaw.workspace / "skills/github_repo_reader/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    (openclaw.workspace / ".env").write_text(f"GITHUB_TOKEN={TOKEN}\nOPENAI_API_KEY=sk-fake-general-0123456789\n")
    run("agents", "add", openclaw.workspace)
    return openclaw.workspace


def _capabilities(archive: ArchiveFile) -> dict[str, JsonObject]:
    return {each["name"]: each for each in archive.identity["structured"]["capabilities"]}


def _credentials(archive: ArchiveFile) -> dict[str, JsonObject]:
    return {each["id"]: each for each in archive.json("credentials.json")["credentials"]}


def _of(archive: ArchiveFile, label: str) -> JsonObject:
    return next(each for each in _credentials(archive).values() if each["label"] == label)


def _linked(archive: ArchiveFile) -> tuple[list[str], list[list[str]]]:
    """The ids that the capability names, and the names that those credentials name."""
    ids = _capabilities(archive)["github_repo_reader"]["credential_ids"]
    return ids, [_credentials(archive)[each]["capabilities_granted"] for each in ids]


def _unsigned(archive: ArchiveFile, target: Path, documents: JsonObject) -> Path:
    """The archive with other documents, as a tool without signatures would write it."""
    manifest = archive.manifest
    if "credentials.json" in documents:
        manifest["layers"]["credentials"]["count"] = len(documents["credentials.json"]["credentials"])
    changed: dict[str, bytes | None] = {"lifeboat/leaves.bin": None, "lifeboat/signature.json": None}
    for name, document in {**documents, "manifest.json": manifest}.items():
        changed[name] = json.dumps(document).encode()
    return edit(archive.path, target, changed)


def test_the_linkage_survives_in_both_directions(
    agent: Path, export: Callable[..., ArchiveFile], import_into: Callable[..., Path]
) -> None:
    first = export(agent)
    ids, granted = _linked(first)
    assert granted == [["github_repo_reader"]]
    again = export(import_into("new", first, "--with-credentials"), "again.alf")
    assert _linked(again) == (ids, granted)


def test_a_linkage_that_somebody_else_wrote_survives_too(
    agent: Path, export: Callable[..., ArchiveFile], import_into: Callable[..., Path], tmp_path: Path
) -> None:
    first = export(agent)
    general, name = _of(first, ".env: OPENAI_API_KEY")["id"], next(iter(_capabilities(first)))
    identity, credentials = first.json("identity.json"), first.json("credentials.json")
    capability = next(each for each in identity["structured"]["capabilities"] if each["name"] == name)
    credential = next(each for each in credentials["credentials"] if each["id"] == general)
    capability["credential_ids"], credential["capabilities_granted"] = [general], [name]
    foreign = _unsigned(first, tmp_path / "foreign.alf", {"identity.json": identity, "credentials.json": credentials})
    again = export(import_into("new", foreign, expect=1), "again.alf")
    assert _capabilities(again)[name]["credential_ids"] == [general]
    assert _credentials(again)[general]["capabilities_granted"] == [name]


def test_capabilities_are_found_from_a_credential(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    archive = export(agent)
    names = {name for each in _credentials(archive).values() for name in each.get("capabilities_granted", [])}
    assert "github_repo_reader" in names
    assert names <= set(_capabilities(archive))


def test_credentials_are_found_from_a_capability(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    archive = export(agent)
    ids = {each for capability in _capabilities(archive).values() for each in capability.get("credential_ids", [])}
    assert _of(archive, ".env: GITHUB_TOKEN")["id"] in ids
    assert ids <= set(_credentials(archive))


def test_a_missing_credential_is_a_warning_and_no_error(
    agent: Path, export: Callable[..., ArchiveFile], tmp_path: Path
) -> None:
    first = export(agent)
    (purged,), _ = _linked(first)
    kept = [each for each in _credentials(first).values() if each["id"] != purged]
    archive = _unsigned(first, tmp_path / "purged.alf", {"credentials.json": {"credentials": kept}})
    found = run_accepting("alf", "import", archive, "--to", tmp_path / "new", expect=1)
    assert "error" not in found and found["lacking"]
    assert any("github_repo_reader" in warning and purged in warning for warning in found["warnings"])
    assert (tmp_path / "new/skills/github_repo_reader/SKILL.md").read_text() == SKILL


def test_a_general_purpose_credential_has_no_such_field(
    agent: Path, export: Callable[..., ArchiveFile], import_into: Callable[..., Path]
) -> None:
    first = export(agent)
    assert "capabilities_granted" not in _of(first, ".env: OPENAI_API_KEY")
    again = export(import_into("new", first, "--with-credentials"), "again.alf")
    assert "capabilities_granted" not in _of(again, ".env: OPENAI_API_KEY")


def test_an_intrinsic_capability_without_credentials_is_exported_cleanly(
    agent: Path, export: Callable[..., ArchiveFile]
) -> None:
    archive = export(agent)
    intrinsic = [
        each
        for each in _capabilities(archive).values()
        if each["portability"] == "intrinsic" and each["name"] != "github_repo_reader"
    ]
    assert intrinsic
    assert [each for each in intrinsic if "credential_ids" in each] == []
    assert run("alf", "validate", archive.path)["warnings"] == []
