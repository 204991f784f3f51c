"""Credentials that another program sealed: carried, never opened, and said to be so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from support.adapters.openclaw_workspaces import make_state_dir
from support.alf.archive_files import ArchiveFile, edit
from support.cli.cli_client import run, run_accepting


def _foreign(agent_id: str) -> list[JsonObject]:
    """As the example of ALF §3.4.2, and one of a type and with fields that nobody knows."""
    example = {
        "id": "01900000-0000-7000-8000-0000000000f1",
        "agent_id": agent_id,
        "service": "openai",
        "credential_type": "api_key",
        "label": "OpenAI Production Key",
        "capabilities_granted": ["web_search", "code_generation"],
        "encrypted_payload": "bm90IGEgcmVhbCBjaXBoZXJ0ZXh0",
        "encryption": {
            "algorithm": "xchacha20-poly1305",
            "kdf": "argon2id",
            "kdf_params": {"memory_cost": 65536, "time_cost": 3, "parallelism": 4},
            "nonce": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
        },
        "created_at": "2026-01-15T00:00:00Z",
        "expires_at": None,
        "tags": ["production", "llm-provider"],
    }
    unknown = {
        **example,
        "id": "01900000-0000-7000-8000-0000000000f2",
        "credential_type": "a type of tomorrow",
        "encryption": {"algorithm": "a cipher of tomorrow", "nonce": "AAAA", "x": {"deep": [1, 2]}},
        "x_other": {"kept": True},
    }
    return [example, unknown]


@pytest.fixture
def archive(isolated_home: Path, tmp_path: Path) -> Path:
    """An unsigned archive with two credentials of another program."""
    made = make_state_dir(isolated_home / ".openclaw")
    run("agents", "add", made.workspace)
    whole = tmp_path / "whole.alf"
    run("alf", "export", "openclaw", made.workspace, "-o", whole)
    kept = ArchiveFile(whole)
    document, manifest = kept.json("credentials.json"), kept.manifest
    document["credentials"] += _foreign(manifest["agent"]["id"])
    manifest["layers"]["credentials"]["count"] += 2
    changed = {"credentials.json": json.dumps(document).encode(), "manifest.json": json.dumps(manifest).encode()}
    return edit(
        whole, tmp_path / "foreign.alf", {"lifeboat/signature.json": None, "lifeboat/leaves.bin": None, **changed}
    )


def _foreign_in(path: Path) -> list[JsonObject]:
    listed = ArchiveFile(path).json("credentials.json")["credentials"]
    return [each for each in listed if each["id"].startswith("01900000-0000-7000-8000-0000000000f")]


@pytest.mark.parametrize("home", ["the same home, as a copy", "another home"])
def test_they_come_out_as_they_went_in(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    if home == "another home":
        monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "elsewhere"))
        Context.open().keys().ensure()
    imported = run_accepting("alf", "import", archive, "--to", tmp_path / "copy")
    run("alf", "export", "openclaw", tmp_path / "copy", "-o", tmp_path / "again.alf")
    assert _foreign_in(tmp_path / "again.alf") == _foreign_in(archive)
    if home != "another home":
        said = [warning for warning in imported["warnings"] if "not sealed by Lifeboat" in warning]
        assert len(said) == 2


def test_they_are_no_error_of_the_file(archive: Path) -> None:
    found = run("alf", "validate", archive)
    assert found["ok"] and found["error_count"] == 0
