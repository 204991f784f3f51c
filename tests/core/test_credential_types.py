"""All seven types of credentials (ALF §3.4.3), and one of tomorrow: captured, sealed, valid, restored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.adapters.openclaw_workspaces import make_state_dir
from support.alf.archive_files import ArchiveFile, edit
from support.cli.cli_client import run, run_accepting

PEM = "-----BEGIN PRIVATE KEY-----\\nZmFrZSBmYWtlIGZha2U=\\n-----END PRIVATE KEY-----"
VARIABLES = {
    "api_key": "TIDE_API_KEY=sk-fake-0123456789abcdef",
    "oauth_token": "TIDE_REFRESH_TOKEN=refresh-fake-0123456789abcdef",
    "webhook_secret": "TIDE_WEBHOOK_SECRET=whsec-fake-0123456789abcdef",
    "session_token": "TIDE_TOKEN=session-fake-0123456789abcdef",
    "ssh_key": f'TIDE_SSH_KEY="{PEM}"',
    "certificate": f'TIDE_TLS_KEY="{PEM.replace("Zm", "Ym")}"',
    "custom": "TIDE_PASSWORD=fake-pass-0123456789abcdef",
}
DOTENV = "".join(f"{line}\n" for line in VARIABLES.values())


@pytest.fixture
def archive(isolated_home: Path, tmp_path: Path) -> ArchiveFile:
    made = make_state_dir(isolated_home / ".openclaw")
    (made.workspace / ".env").write_text(DOTENV)
    run("agents", "add", made.workspace)
    run("alf", "export", "openclaw", made.workspace, "-o", tmp_path / "whole.alf")
    return ArchiveFile(tmp_path / "whole.alf")


def _own(archive: ArchiveFile) -> dict[str, JsonObject]:
    listed = archive.json("credentials.json")["credentials"]
    return {each["label"].removeprefix(".env: "): each for each in listed if each["label"].startswith(".env: TIDE")}


def test_each_is_captured_under_its_type_and_sealed(archive: ArchiveFile) -> None:
    found = {name: each["credential_type"] for name, each in _own(archive).items()}
    assert found == {line.partition("=")[0]: kind for kind, line in VARIABLES.items()}
    assert all(each["encrypted_payload"] for each in _own(archive).values())
    assert b"fake-0123456789abcdef" not in b"".join(archive.bodies.values())


def test_each_is_valid(archive: ArchiveFile) -> None:
    assert run("alf", "validate", archive.path)["warnings"] == []


def test_each_is_restored_to_the_byte(archive: ArchiveFile, tmp_path: Path) -> None:
    run("alf", "import", archive.path, "--to", tmp_path / "new", "--with-credentials")
    assert (tmp_path / "new/.env").read_text() == DOTENV


def _changed(archive: ArchiveFile, target: Path, change: Callable[[JsonObject], None]) -> Path:
    document = archive.json("credentials.json")
    change(next(each for each in document["credentials"] if each["label"] == ".env: TIDE_API_KEY"))
    unsigned: dict[str, bytes | None] = {"lifeboat/leaves.bin": None, "lifeboat/signature.json": None}
    return edit(archive.path, target, {**unsigned, "credentials.json": json.dumps(document).encode()})


def test_a_type_of_tomorrow_is_a_warning_and_is_carried_with_its_fields(archive: ArchiveFile, tmp_path: Path) -> None:
    def of_tomorrow(credential: JsonObject) -> None:
        credential |= {"credential_type": "passkey", "x_other": {"kept": [1, 2]}}

    file = _changed(archive, tmp_path / "tomorrow.alf", of_tomorrow)
    assert any("passkey" in json.dumps(each) for each in run("alf", "validate", file)["warnings"])
    run_accepting("alf", "import", file, "--to", tmp_path / "new", expect=1)
    run("alf", "export", "openclaw", tmp_path / "new", "-o", tmp_path / "again.alf")
    again = _own(ArchiveFile(tmp_path / "again.alf"))["TIDE_API_KEY"]
    assert (again["credential_type"], again["x_other"]) == ("passkey", {"kept": [1, 2]})
