"""`lifeboat config` and `lifeboat agents pause`: what is shown, what stays private, and whether the daemon is
notified."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lifeboat_cli import program
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.setting_documents import Settings
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import daemon_client
from support.adapters.openclaw_workspaces import make_state_dir
from support.cli.cli_client import run
from support.daemon.control_servers import Served
from support.patience import patience
from support.waiting import until

ADDRESS = "https://ping.example.com/canary-5471"


@pytest.fixture
def agent(isolated_home: Path) -> str:
    run("agents", "add", make_state_dir(isolated_home / ".openclaw").workspace, "--name", "ada")
    return "ada"


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def said_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert program.run_command(list(arguments)) == 0
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_an_address_from_standard_input_is_never_shown(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give(monkeypatch, f"{ADDRESS}\n")
    said = said_by(capsys, "config", "set", "ping.url", "--stdin")
    assert "(a value is set, but not shown)" in said and "history" not in said
    shown = said_by(capsys, "config", "get", "ping.url") + said_by(capsys, "config", "list")
    assert "(a value is set, but not shown)" in shown and "canary" not in said + shown
    found = run("config", "get", "ping.url")
    assert (found["value"], found["set"], found["source"]) == (None, True, "private.toml")
    listed = {each["name"]: each for each in run("config", "list")["settings"]}
    assert (listed["ping.url"]["value"], listed["ping.url"]["set"]) == (None, True)
    assert (listed["ntfy.url"]["value"], listed["ntfy.url"]["set"]) == (None, False)
    assert "set" not in listed["cadence"]
    assert Context.open().setting("ping.url") == ADDRESS


def test_an_address_on_the_command_line_is_taken_with_a_warning(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = said_by(capsys, "config", "set", "ntfy.url", ADDRESS)
    assert "your shell's history" in said and "--stdin" in said and "canary" not in said
    assert "history" not in said_by(capsys, "config", "set", "ntfy.url", "none")
    assert run("config", "get", "ntfy.url")["set"] is False


@pytest.mark.parametrize("text", ["", "\n", f"{ADDRESS}\n{ADDRESS}\n", "canary-5471"])
def test_what_is_no_address_on_standard_input_is_refused_and_not_repeated(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    give(monkeypatch, text)
    error = run("config", "set", "ping.url", "--stdin", expect=1)["error"]
    assert error["code"] == "bad_setting" and "canary" not in json.dumps(error)


def test_every_setting_can_come_from_standard_input(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "15m\n")
    assert run("config", "set", "session.idle", "--stdin")["value"] == "15m"


def test_an_address_of_one_agent_is_refused(agent: str) -> None:
    assert "for all agents" in run("config", "set", "ping.url", ADDRESS, "--agent", agent, expect=1)["error"]["message"]


def test_a_value_comes_from_one_place(isolated_home: Path) -> None:
    run("config", "set", "ping.url", ADDRESS, "--stdin", expect=2)
    run("config", "set", "ping.url", "--default", "--stdin", expect=2)


def test_a_report_for_others_holds_no_address(agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, ADDRESS)
    run("config", "set", "ping.url", "--stdin")
    run("doctor", "--bundle", tmp_path / "report.zip")
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
        settings = json.loads(archive.read("settings.json"))["for_all"]
    assert b"canary" not in everything
    assert next(each for each in settings if each["name"] == "ping.url")["value"] == "(set, not shown)"


# Pausing ----------------------------------------------------------------------------------------------------------


def test_a_pause_says_until_when_everywhere(agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    until = run("agents", "pause", agent, "--for", "2h")["paused_until"]
    assert until.endswith("Z")
    assert run("agents", "list")["agents"][0]["paused_until"] == until
    assert "paused until 20" in said_by(capsys, "status").replace("\n", " ")
    assert run("agents", "pause", agent)["paused_until"] is None
    run("agents", "resume", agent)
    assert run("agents", "list")["agents"][0]["paused"] is False


@pytest.mark.parametrize("time", ["0", "0s", "soon", "99999999d"])
def test_a_pause_without_a_length_is_refused(agent: str, time: str) -> None:
    run("agents", "pause", agent, "--for", time, expect=2)


def test_a_pause_that_was_given_in_hours_still_is_one(agent: str) -> None:
    assert run("agents", "pause", agent, "--hours", "0.5")["paused_until"]


# Notifying the daemon ---------------------------------------------------------------------------------------------


def test_a_running_daemon_is_told_of_every_change(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifeboat_daemon.control.poke_daemon._PATIENCE", patience())
    told: list[dict[str, Any]] = []

    async def reload(parameters: dict[str, Any]) -> dict[str, Any]:
        told.append(parameters)
        return {}

    commands = (
        ("config", "set", "scan.interval", "5m"),
        ("config", "set", "scan.interval", "5m", "--agent", agent),
        ("agents", "pause", agent, "--for", "2h"),
        ("agents", "resume", agent),
        ("agents", "rename", agent, "bob"),
        ("agents", "remove", "bob", "--yes"),
    )
    with Served(Context.open(), {"reload": reload}):
        for number, command in enumerate(commands, start=1):
            run(*command)
            assert len(told) == number, command
        run("config", "list")
        assert len(told) == len(commands)


def test_a_daemon_that_fails_or_does_not_answer_fails_no_command(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lifeboat_daemon.control.poke_daemon._PATIENCE", 0.2)
    monkeypatch.setattr(
        daemon_client,
        "connect_if_running",
        lambda home, files, _, real=daemon_client.connect_if_running: real(home, files, patience()),
    )
    asked: list[str] = []

    async def fail(parameters: dict[str, Any]) -> dict[str, Any]:
        asked.append("fail")
        raise RuntimeError("no")

    async def hang(parameters: dict[str, Any]) -> dict[str, Any]:
        asked.append("hang")
        await asyncio.Event().wait()
        return {}

    for reload in (fail, hang):
        with Served(Context.open(), {"reload": reload}):
            assert run("config", "set", "scan.interval", "5m")["value"] == "5m"
            until(lambda reload=reload: asked[-1:] == [reload.__name__], "the question")
    assert asked == ["fail", "hang"]
    assert run("config", "set", "scan.interval", "6m")["value"] == "6m"


# What an editor needs to know ---------------------------------------------------------------------------------------


def test_every_setting_says_what_values_it_takes(agent: str) -> None:
    for each in run("config", "list")["settings"]:
        assert each["kind"] and isinstance(each["per_agent"], bool) and isinstance(each["private"], bool)
        assert bool(each["choices"]) == (each["kind"] in ("choice", "switch"))
        assert run("config", "check", each["name"], each["example"])["ok"] is True
        for choice in each["choices"]:
            run("config", "check", each["name"], choice)


def test_a_word_that_is_elsewhere_a_switch_can_be_set_where_it_is_one_of_several(isolated_home: Path) -> None:
    assert run("config", "set", "network.metered", "yes")["value"] == "yes"
    assert run("config", "set", "dashboard.ascii", "no")["value"] == "no"
    assert run("config", "set", "notify.desktop", "no")["value"] is False


def test_a_default_is_told_beside_what_was_set(isolated_home: Path) -> None:
    run("config", "set", "retention.daily", "60d")
    found = run("config", "get", "retention.daily")
    assert (found["value"], found["default"], found["kind"], found["per_agent"]) == ("60d", "90d", "duration", True)
    assert run("config", "get", "dashboard.theme")["choices"] == [
        "lifeboat",
        "lifeboat-light",
        "lifeboat-contrast",
        "ansi",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.daily", "soon"),
        ("cadence", "sometimes"),
        ("held.share", "2"),
        ("schedule", "* *"),
        ("dashboard.theme", "pink"),
        ("artifacts.versions", "0"),
    ],
)
def test_a_check_says_why_a_value_cannot_be_and_changes_nothing(isolated_home: Path, name: str, value: str) -> None:
    error = run("config", "check", name, value, expect=1)["error"]
    assert error["code"] == "bad_setting" and name in error["message"]
    assert run("config", "get", name)["source"] == "default"


def test_a_check_that_succeeds_changes_nothing_either(agent: str) -> None:
    assert run("config", "check", "cadence", "manual", "--agent", agent) == {
        "ok": True,
        "name": "cadence",
        "kind": "choice",
        "value": "manual",
    }
    assert run("config", "get", "cadence", agent)["value"] == "after_interaction"
    assert run("config", "check", "vault.min_free", "2GB", "--agent", agent, expect=1)["error"]["code"] == "bad_setting"
    assert run("config", "check", "nonsense", "1", expect=1)["error"]["code"] == "unknown_setting"
    assert run("config", "check", "cadence", expect=2)["error"]["code"] == "usage"


@pytest.mark.parametrize(("text", "status"), [(ADDRESS, 0), ("canary-5471", 1)])
def test_a_check_never_repeats_an_address(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch, text: str, status: int
) -> None:
    give(monkeypatch, text)
    assert "canary" not in json.dumps(run("config", "check", "ping.url", "--stdin", expect=status))


def test_a_file_that_cannot_be_used_is_one_sentence_for_people_and_programs(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("config", "set", "cadence", "manual")
    (Context.open().home.config_file).write_text("cadence =\n")
    problem = decode_document(Settings, run("config", "list")).problem
    assert problem is not None and problem.startswith("config.toml")
    assert f"warning: {problem}; the last valid settings are in use" in " ".join(
        said_by(capsys, "config", "list").split()
    )
