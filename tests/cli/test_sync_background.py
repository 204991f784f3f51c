"""`lifeboat sync --background`: the command returns, and another process captures."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli.cli_client import run
from support.waiting import until


def test_a_sync_in_the_background_captures_after_the_command_has_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "note.md").write_text("# Boat\n\nBoat 17 lies at the pier.\n")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))
    run("agents", "add", notes, "--runtime", "markdown", "--name", "Notes")
    (notes / "note.md").write_text("# Boat\n\nBoat 17 lies at the mole.\n")
    assert run("sync", "Notes", "--background") == {"agents": []}
    until(lambda: run("log", "Notes")["entries"][0]["sequence"] == 1, "a sequence that another process captured")


def test_a_sync_in_the_background_of_an_unknown_agent_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))
    assert run("sync", "Nobody", "--background", expect=1)["error"]["code"] == "unknown_agent"
