"""`lifeboat` and `lifeboat tui`: the dashboard on a terminal, the equivalent command everywhere else."""

from __future__ import annotations

import os
import pty
import signal
from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_cli.commands import tui_command
from lifeboat_core.errors import UnexpectedError
from support import preloaded
from support.adapters.openclaw_workspaces import make_workspace
from support.cli import cli_client
from support.patience import patience
from support.terminal import DASHBOARD, Terminal

run = cli_client.run


@pytest.fixture
def ada(tmp_path: Path) -> str:
    make_workspace(tmp_path / "workspace")
    return str(run("agents", "add", tmp_path / "workspace", "--name", "ada")["name"])


def test_without_a_terminal_lifeboat_says_how_everything_stands(ada: str) -> None:
    assert [one["name"] for one in run()["agents"]] == [ada]


@pytest.mark.parametrize(
    ("screen", "field"),
    [
        ("dashboard", "verdict"),
        ("timeline", "entries"),
        ("memories", "records"),
        ("restore", "items"),
        ("activity", "entries"),
        ("keys", "key_id"),
        ("remotes", "remotes"),
        ("receipts", "receipts"),
        ("settings", "settings"),
        ("doctor", "findings"),
        ("setup", "steps"),
    ],
)
def test_every_screen_has_a_twin_in_json(ada: str, screen: str, field: str) -> None:
    named = [ada] if "AGENT" in tui_command.TWINS[screen] else []
    assert field in run("tui", screen, *named)


def test_every_screen_has_a_twin_in_plain_text(ada: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["tui", "timeline", ada]) == 0
    assert capsys.readouterr().out.startswith("sequence")


def test_a_purge_without_a_terminal_asks_what_is_to_go(ada: str) -> None:
    assert run("tui", "purge", ada, expect=2)["error"]["code"] == "usage"


def test_a_screen_about_an_agent_wants_its_name(ada: str) -> None:
    assert "needs the name of an agent" in run("tui", "timeline", expect=2)["error"]["message"]


def test_every_screen_of_the_dashboard_has_a_twin() -> None:
    from lifeboat_tui.screens import screen_registry

    assert set(tui_command.TWINS) == set(screen_registry.PLACES)


def test_the_demonstration_needs_a_terminal() -> None:
    assert "needs a terminal" in run("tui", "--demo", expect=2)["error"]["message"]


def test_a_terminal_that_cannot_draw_gets_the_twin(ada: str) -> None:
    terminal = Terminal(term="dumb")
    assert terminal.ended() == 0
    assert "ada" in terminal.said and "\x1b[?1049h" not in terminal.said


def test_on_a_terminal_the_dashboard_opens_and_q_closes_it(ada: str) -> None:
    terminal = Terminal(LANG="C.UTF-8", program=DASHBOARD)
    terminal.wait_for("Agents")
    terminal.wait_for("ada")
    terminal.press("q")
    assert terminal.ended() == 0
    assert "\x1b[?1049l" in terminal.said


def test_a_dashboard_that_is_ended_leaves_the_terminal_as_it_was(ada: str) -> None:
    terminal = Terminal(LANG="C.UTF-8", program=DASHBOARD)
    terminal.wait_for("ada")
    terminal._process.terminate()
    assert terminal.ended() == 128 + signal.SIGTERM
    assert "\x1b[?1049l" in terminal.said and "\x1b[?1000l" in terminal.said


def test_a_terminal_that_goes_away_without_a_word_ends_the_dashboard(ada: str) -> None:
    ours, theirs = pty.openpty()
    around = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    shown = preloaded.Popen([], **streams, env=around, start_new_session=True)
    os.close(theirs)
    try:
        said = b""
        while b"ada" not in said:
            said += os.read(ours, 65536)
        os.close(ours)
        shown.wait(patience())
    finally:
        shown.kill()


def test_a_dashboard_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tui_command, "GROUP", "lifeboat.nothing")
    with pytest.raises(UnexpectedError, match="not installed"):
        tui_command._opener()


@pytest.mark.parametrize("name", tui_command.OF_DEVELOPERS)
def test_what_is_typed_is_written_down_nowhere_whatever_a_developer_left_in_the_environment(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "/nowhere/log")
    tui_command._opener()
    assert name not in os.environ


def test_its_look_follows_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[dict[str, object]] = []
    monkeypatch.setattr(tui_command, "_opener", lambda: lambda **wanted: opened.append(wanted) or 0)
    run("config", "set", "dashboard.theme", "lifeboat-contrast")
    run("config", "set", "dashboard.ascii", "yes")
    tui_command.open_dashboard("keys")
    tui_command.open_dashboard("keys", theme="ansi")
    assert [(each["theme"], each["ascii"]) for each in opened] == [("lifeboat-contrast", True), ("ansi", True)]
