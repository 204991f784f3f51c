"""`lifeboat records undo` for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_cli import program
from support.adapters import openclaw_workspaces
from support.cli import cli_client

TEXT = "# Memory\n\n## Tea\n\nLikes green tea.\n"


@pytest.fixture
def changed(tmp_path: Path) -> tuple[Path, str]:
    """Return a memory file with a changed memory, and its id."""
    workspace = tmp_path / "workspace"
    openclaw_workspaces.make_workspace(workspace)
    file = workspace / "MEMORY.md"
    file.write_text(TEXT)
    cli_client.run("agents", "add", workspace, "--name", "ada")
    file.write_text(TEXT.replace("green", "white"))
    cli_client.run("sync")
    return file, str(cli_client.run("search", "ada", "white", "tea")["hits"][0]["id"])


def _say(capsys: pytest.CaptureFixture[str], *arguments: str, expect: int = 0) -> str:
    capsys.readouterr()
    assert program.run_command(list(arguments)) == expect
    said = capsys.readouterr()
    return said.out + said.err


def test_a_dry_run_shows_both_texts_and_the_undo_its_sequences(
    changed: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    file, memory = changed
    said = _say(capsys, "records", "undo", "ada", memory, "--dry-run")
    assert f"Dry run: the memory {memory} in MEMORY.md gets its text of sequence 0." in said
    assert "- Likes white tea.\n" in said and "+ Likes green tea.\n" in said
    assert "white" in file.read_text()
    said = _say(capsys, "records", "undo", "ada", memory)
    assert "The result is sequence 2, the state before it sequence 1." in said
    assert file.read_text() == TEXT
    assert "undone" in _say(capsys, "timeline", "ada", "-n", "1")


def test_a_refusal_says_the_cause_and_a_command(changed: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    file, memory = changed
    file.write_text(TEXT.replace("green", "black"))
    said = _say(capsys, "records", "undo", "ada", memory, expect=3)
    assert "The memory changed since the last capture" in said
    assert f"To fix it: lifeboat records show ada {memory}" in said
    assert "black" in file.read_text()
