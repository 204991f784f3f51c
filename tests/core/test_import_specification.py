"""An archive as the text of ALF writes it comes in, is captured, and comes out valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_cli import program
from support.alf import specification_examples as examples
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run, run_accepting


def written(path: Path, **changed: bytes) -> Path:
    entries = {**examples.entries(), **{f"{name}.json": body for name, body in changed.items()}}
    path.write_bytes(examples.archive(entries))
    return path


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return written(tmp_path / "juniper.alf")


def imported(archive: Path) -> dict[str, object]:
    document: dict[str, object] = run_accepting("alf", "import", archive, "--to", archive.parent / "new")
    return document


def test_the_identity_of_the_text_gives_the_agent_its_files_and_stays_valid(archive: Path) -> None:
    imported(archive)
    workspace = archive.parent / "new"
    assert (workspace / "SOUL.md").read_text() == "# Juniper\n\nPatient.\n"
    (workspace / "SOUL.md").write_text("# Juniper\n\nVery patient.\n")
    run("sync")
    out = archive.parent / "out.alf"
    run("alf", "export", "openclaw", workspace, "-o", out)
    assert run("alf", "validate", out)["ok"]
    identity = ArchiveFile(out).json("identity.json")
    assert identity["version"] == 4
    assert identity["structured"]["names"]["primary"] == "Juniper"
    assert identity["structured"]["sub_agents"][0]["name"] == "Research"


def test_a_credential_in_clear_is_named_and_is_in_no_vault(tmp_path: Path) -> None:
    credential = examples.credential()
    credential["credential"]["encryption"]["algorithm"] = "none"
    credential["credential"]["encrypted_payload"] = "not-a-real-key-but-in-clear"
    archive = written(tmp_path / "clear.alf", credentials=json.dumps(credential).encode())
    said = imported(archive)
    assert any(examples.CREDENTIAL_ID in str(each) and "not encrypted" in str(each) for each in said["warnings"])
    out = tmp_path / "out.alf"
    run("alf", "export", "openclaw", tmp_path / "new", "-o", out)
    assert b"not-a-real-key" not in ArchiveFile(out).bodies["credentials.json"]


def test_the_text_of_validate_says_which_findings_are_errors(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    credential = examples.credential()
    credential["credential"]["encryption"]["algorithm"] = "none"
    wrong = written(archive.parent / "wrong.alf", credentials=json.dumps(credential).encode())
    assert program.run_command(["alf", "validate", str(wrong)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("error: credentials.json: the credential") for line in lines)
    assert any(line.startswith("warning: identity.json: ") for line in lines)
