"""`lifeboat blame` for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_cli import program
from support.adapters import openclaw_workspaces
from support.cli import cli_client


def test_each_line_is_shown_after_its_sequence_and_controls_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = tmp_path / "workspace"
    openclaw_workspaces.make_workspace(workspace)
    cli_client.run("agents", "add", workspace, "--name", "ada")
    (workspace / "MEMORY.md").write_text("# Memory\n\nOld line.\n")
    cli_client.run("sync")
    (workspace / "MEMORY.md").write_text("# Memory\n\nOld line.\n\x1b[2JNew line.\n")
    cli_client.run("sync")
    capsys.readouterr()
    assert program.run_command(["blame", "ada", "MEMORY.md"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said][-2:] == ["1", "2"]
    assert said[-2].endswith("3  Old line.") and said[-1].endswith("4  \\x1b[2JNew line.")


def test_a_file_without_lines_ends_with_its_cause_and_a_command(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    openclaw_workspaces.make_workspace(workspace)
    cli_client.run("agents", "add", workspace, "--name", "ada")
    error = cli_client.run("blame", "ada", "absent.md", expect=1)["error"]
    assert (error["code"], error["fix"]) == ("unknown_path", "lifeboat diff ada 0 --names-only")
