"""Paths in variables and settings mean the same place in every working directory, or are refused."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lifeboat_core.errors import HomeError
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.settings import settings_table
from support.alf.raising import raises_code
from support.patience import patience

OWN = ["LIFEBOAT_HOME", "LIFEBOAT_KEY_FILE", "LIFEBOAT_PASSPHRASE_FILE", "LIFEBOAT_ENDPOINT_DATA"]
RELATIVE = ["home", "./home", "../home", "~no-such-user-here/home"]


@pytest.mark.parametrize("value", RELATIVE)
@pytest.mark.parametrize("name", [*OWN, "XDG_DATA_HOME"])
def test_a_relative_path_in_a_variable_is_refused(name: str, value: str) -> None:
    with raises_code(HomeError.RELATIVE_PATH) as refused:
        Home.locate({name: value})
    assert refused.value.message == f"the variable {name} must contain an absolute path, but is {value}"
    assert refused.value.fix == f"export {name}={shlex.quote(os.path.abspath(value))}"


@pytest.mark.parametrize("name", OWN)
def test_a_whole_path_and_one_below_the_users_own_folder_are_taken(name: str, tmp_path: Path) -> None:
    for value in (str(tmp_path / "home"), "~/home", ""):
        Home.locate({name: value})


def test_a_data_folder_that_does_not_decide_where_the_home_is_refuses_nothing(tmp_path: Path) -> None:
    named = {"LIFEBOAT_HOME": str(tmp_path), "XDG_DATA_HOME": "data"}
    assert Home.locate(named).folder == tmp_path


@pytest.mark.parametrize("words", [["status"], ["agents", "list"], ["endpoint", "doctor", "--data", "/nowhere"]])
def test_a_command_with_a_relative_home_ends_with_3_and_makes_nothing(words: list[str], tmp_path: Path) -> None:
    around = {**os.environ, "LIFEBOAT_HOME": "home"}
    command = [sys.executable, "-c", "from lifeboat_cli import main; main()", *words, "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=around, capture_output=True, timeout=patience(), check=False)
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["code"] == "relative_path"
    assert list(tmp_path.iterdir()) == []


def test_a_relative_folder_of_a_runtime_is_a_whole_path_for_every_process_that_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    around = {"LIFEBOAT_HOME": str(tmp_path / "home"), "OPENCLAW_STATE_DIR": "state", "ZEROCLAW_CONFIG_DIR": "~/zero"}
    context = Context.open(around)
    assert context.environment["OPENCLAW_STATE_DIR"] == str(tmp_path / "state")
    assert context.environment["ZEROCLAW_CONFIG_DIR"] == "~/zero"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("key_command", "./print-key"),
        ("key_command", "bin/print-key --all"),
        ("metrics.file", "figures.prom"),
        ("metrics.file", "~no-such-user-here/figures.prom"),
        ("memory_server", "stdio:./aionforge serve stdio"),
        ("memory_server", "http://127.0.0.1:3918/mcp#token-file=token"),
    ],
)
def test_a_relative_path_in_a_setting_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"path|command"):
        settings_table.SETTINGS[name].parse(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("key_command", "pass show lifeboat"),
        ("key_command", "/usr/local/bin/print-key"),
        ("metrics.file", "~/figures.prom"),
        ("memory_server", "stdio:aionforge serve stdio"),
        ("memory_server", "http://127.0.0.1:3918/mcp#token-file=/run/token"),
    ],
)
def test_what_means_the_same_in_every_working_directory_is_taken(name: str, value: str) -> None:
    assert settings_table.SETTINGS[name].parse(value) == value
