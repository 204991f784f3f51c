"""`lifeboat --version`: the versions for a fault report."""

from __future__ import annotations

import json
import platform
import sqlite3
from importlib import metadata

import pytest
from click.testing import CliRunner

from lifeboat_cli.program import program
from lifeboat_cli.support import running_versions


def shown(*arguments: str) -> str:
    found = CliRunner().invoke(program, list(arguments))
    assert found.exit_code == 0
    return found.output


def test_the_first_line_is_the_version_of_the_program() -> None:
    assert shown("--version").splitlines()[0] == f"lifeboat, version {metadata.version('agent-lifeboat')}"


def test_python_the_platform_and_libraries_are_said() -> None:
    _, second, third = shown("--version").splitlines()
    assert platform.python_version() in second and platform.machine() in second
    assert f"sqlite {sqlite3.sqlite_version}" in third
    assert f"cryptography {metadata.version('cryptography')}" in third


def test_scripts_get_a_document() -> None:
    found = json.loads(shown("--json", "--version"))
    assert found == running_versions.running_versions()
    assert set(found) == {"version", "python", "platform", "libraries"}


def test_a_library_that_is_not_installed_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_versions, "LIBRARIES", ("no-such-library",))
    assert running_versions.running_versions()["libraries"]["no-such-library"] is None  # type: ignore[index]
    assert "no-such-library not installed" in running_versions.version_lines()[-1]
