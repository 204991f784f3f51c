"""`lifeboat setup` on a real terminal: both ways, with skipped, interrupted and continued steps."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click
import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_formats.interchange.format_registry import list_formats
from support.adapters.openclaw_workspaces import make_state_dir
from support.cli.cli_client import run
from support.daemon.fake_systemctl import FakeSystemctl
from support.endpoint.endpoint_servers import running_endpoint

if sys.platform != "linux":
    pytest.skip("its service is one of systemd", allow_module_level=True)

from support.terminal import WITH_LIGHT_WRAPPING, Terminal


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    return make_state_dir(isolated_home / ".openclaw").workspace


@pytest.fixture(autouse=True)
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystemctl:
    made = FakeSystemctl(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.path)
    return made


def _say(terminal: Terminal, question: str, reply: str = "") -> None:
    terminal.wait_for(question)
    terminal.type(reply)


def _protect_both(terminal: Terminal) -> None:
    _say(terminal, "Your choice", "1")
    _say(terminal, "Protect Juniper")
    _say(terminal, "Protect Rover", "n")


def _write_down(terminal: Terminal) -> list[str]:
    """Read the displayed words and answer the questions about three of them."""
    words = [word for _, word in re.findall(r"(\d+)\. ([a-z]+)", terminal.until("Press Enter"))]
    terminal.type("")
    for _ in range(3):
        terminal.type(words[int(terminal.wait_for(r"Word (\d+): ")[1]) - 1])
    return words


def _states() -> dict[str, str]:
    return {one["name"]: one["state"] for one in run("setup")["steps"]}


# Protecting -------------------------------------------------------------------------------------------------------


def test_from_nothing_to_safe_with_one_answer_a_step(workspace: Path, tmp_path: Path, systemctl: FakeSystemctl) -> None:
    with Terminal("setup") as terminal:
        _protect_both(terminal)
        _say(terminal, "Show the recovery words now")
        _say(terminal, "Encrypt the key with a passphrase", "n")
        words = _write_down(terminal)
        _say(terminal, "Where is the remote", "3")
        _say(terminal, "Name of the remote")
        _say(terminal, "Folder of the remote", str(tmp_path / "stick"))
        _say(terminal, "disconnected at times")
        terminal.wait_for("stick has sequence 0")
        _say(terminal, "Install the service")
        terminal.wait_for("Status")
        assert terminal.ended() == 0
        left = terminal.left
    assert Context.open().keys().user_key().words() == words
    assert _states() | {"protect": "done"} == dict.fromkeys(_states(), "done")
    assert [one["name"] for one in run("agents", "list")["agents"]] == ["Juniper"]
    assert systemctl.has("enabled")
    assert f"$ lifeboat agents add {workspace}" in left and "Not done yet: Rover is not protected." in left


def test_every_step_can_be_skipped(workspace: Path) -> None:
    with Terminal("setup") as terminal:
        _say(terminal, "Your choice")
        for question in ("Protect Juniper", "Protect Rover", "Show the recovery words now"):
            _say(terminal, question, "n")
        _say(terminal, "Enter skips")
        _say(terminal, "Install the service", "n")
        assert terminal.ended() == 0
        assert terminal.left.count("Not done yet: ") == 5
    assert run("agents", "list")["agents"] == [] and Context.open().keys().key_id is None


@pytest.mark.parametrize(
    "questions",
    [("Your choice",), ("Your choice", "Protect Juniper"), ("Your choice", "Protect Juniper", "Protect Rover")],
)
def test_ctrl_c_at_a_question_begins_a_new_line(workspace: Path, questions: tuple[str, ...]) -> None:
    with Terminal("setup") as terminal:
        for question in questions[:-1]:
            _say(terminal, question)
        terminal.wait_for(questions[-1])
        assert terminal.interrupted() == 130
    lines = [line for line in click.unstyle(terminal.said).splitlines() if line]
    assert lines[-2:] == [
        "The setup was stopped. Finished steps stay done. To continue: lifeboat setup",
        "The command was stopped. No change was left incomplete.",
    ]


def test_after_ctrl_c_setup_goes_on_with_what_is_missing(workspace: Path) -> None:
    with Terminal("setup") as terminal:
        _protect_both(terminal)
        _say(terminal, "Show the recovery words now")
        _say(terminal, "Encrypt the key with a passphrase", "n")
        terminal.wait_for("Press Enter")
        assert terminal.interrupted() == 130
        assert "To continue: lifeboat setup" in terminal.left
    assert _states()["protect"] == "missing" and _states()["words"] == "missing"
    with Terminal("setup") as terminal:
        terminal.wait_for("Done: Your key")
        _say(terminal, "Your choice")
        _say(terminal, "Protect Rover")
        _say(terminal, "Show the recovery words now")
        _say(terminal, "Encrypt the key with a passphrase", "n")
        _write_down(terminal)
        _say(terminal, "Enter skips")
        _say(terminal, "Install the service", "n")
        assert terminal.ended() == 0
    assert _states()["protect"] == "done" and _states()["words"] == "done"


def test_a_key_that_would_lie_open_is_wrapped(workspace: Path) -> None:
    with Terminal("setup", program=WITH_LIGHT_WRAPPING) as terminal:
        _protect_both(terminal)
        _say(terminal, "Show the recovery words now")
        _say(terminal, "Encrypt the key with a passphrase")
        _say(terminal, "New passphrase", "a boat under the bridge")
        _say(terminal, "Repeat", "a boat under the bridge")
        _write_down(terminal)
        _say(terminal, "Enter skips")
        _say(terminal, "Install the service", "n")
        assert terminal.ended() == 0
        assert "bridge" not in terminal.said
    status = run("keys", "status")
    assert (status["store"], status["state"]) == ("passphrase", "needs_key") and status["proven_at"]
    assert _states()["key"] == "done", "a key that is locked is there"


def test_where_nothing_was_found_a_folder_is_asked_for(tmp_path: Path) -> None:
    folder = make_state_dir(tmp_path / "elsewhere").workspace
    with Terminal("setup") as terminal:
        _say(terminal, "Your choice", "7")
        _say(terminal, "Your choice", "1")
        _say(terminal, "Workspace folder of an agent", str(tmp_path))
        _say(terminal, "Workspace folder of an agent", str(folder))
        terminal.wait_for("is protected")
        assert terminal.interrupted() == 130
    assert [one["workspace"] for one in run("agents", "list")["agents"]] == [str(folder)]


def test_a_join_line_is_never_shown_and_a_wrong_one_can_be_given_again(workspace: Path) -> None:
    run("agents", "add", workspace)
    run("agents", "discover", "--dismiss", f"{workspace}-rover")
    with Terminal("setup") as terminal:
        _say(terminal, "Your choice")
        _say(terminal, "Show the recovery words now", "n")
        _say(terminal, "Enter skips", "1")
        _say(terminal, "Name of the remote")
        _say(terminal, "input is hidden", "lifeboat-join:hunter-canary")
        terminal.wait_for("To fix it|no join line|not")
        _say(terminal, "Try again", "n")
        _say(terminal, "Install the service", "n")
        assert terminal.ended() == 0
        assert "canary" not in terminal.said


def test_a_join_line_makes_an_endpoint_a_second_copy(workspace: Path, tmp_path: Path) -> None:
    run("agents", "add", workspace)
    run("agents", "discover", "--dismiss", f"{workspace}-rover")
    with running_endpoint(tmp_path / "endpoint") as endpoint, Terminal("setup") as terminal:
        _say(terminal, "Your choice")
        _say(terminal, "Show the recovery words now", "n")
        _say(terminal, "Enter skips", "1")
        _say(terminal, "Name of the remote")
        _say(terminal, "input is hidden", endpoint.join)
        terminal.wait_for("home has sequence 0")
        _say(terminal, "Install the service", "n")
        assert terminal.ended() == 0
        assert endpoint.join not in terminal.said
    assert _states()["second_copy"] == "done"


def test_where_no_manager_answers_the_daemon_can_be_started_by_hand(workspace: Path, systemctl: FakeSystemctl) -> None:
    systemctl.be("absent")
    with Terminal("setup") as terminal:
        _say(terminal, "Your choice")
        for question in ("Protect Juniper", "Protect Rover", "Show the recovery words now"):
            _say(terminal, question, "n")
        _say(terminal, "Enter skips")
        _say(terminal, "Start the daemon now")
        try:
            assert terminal.ended() == 0
            assert run("daemon", "status")["running"]
        finally:
            run("daemon", "stop")


# Bringing back ------------------------------------------------------------------------------------------------------


@pytest.fixture
def words(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put Juniper on the remote in `stick` and continue on another machine."""
    run("agents", "add", workspace)
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    run("sync")
    found = Context.open().keys().user_key().words()
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    for name, value in (("HOME", other), ("USERPROFILE", other), ("LIFEBOAT_HOME", other / "lifeboat")):
        monkeypatch.setenv(name, str(value))
    return found


def _begin_return(terminal: Terminal, stick: Path) -> None:
    _say(terminal, "Your choice", "2")
    _say(terminal, "Where is the remote", "3")
    _say(terminal, "Name of the remote")
    _say(terminal, "Folder of the remote", str(stick))
    _say(terminal, "disconnected at times")


def _agents() -> list[JsonObject]:
    found: list[JsonObject] = run("agents", "list")["agents"]
    return found


def test_an_agent_comes_back_to_a_new_machine(words: list[str], workspace: Path, tmp_path: Path) -> None:
    with Terminal("setup") as terminal:
        _begin_return(terminal, tmp_path / "stick")
        _say(terminal, "Word 1: ", " ".join(words))
        terminal.wait_for("is recovered")
        _say(terminal, "Which one")
        offered = re.split(r",\s+", terminal.wait_for(r"Which runtime will use the agent\? \(([^)]+)\)")[1])
        assert {"hermes", "openclaw", "zeroclaw"} <= set(offered) and not set(offered) & set(list_formats())
        terminal.type("")
        _say(terminal, "Folder for the agent on this machine")
        _say(terminal, "Restore Juniper to")
        machine = terminal.wait_for(r"message|(\S+) wrote Juniper")[1]
        _say(terminal, "Type the name of the other machine", "somebody")
        _say(terminal, "Type the name of the other machine", machine)
        terminal.wait_for("is now the writer of Juniper")
        _say(terminal, "Install the service", "n")
        assert terminal.ended() == 0
        assert not set(words) <= set(re.findall("[a-z]+", terminal.left))
    (agent,) = _agents()
    here = Path(os.environ["HOME"], ".openclaw/workspace")
    assert (
        agent["workspace"] == str(here) and (here / "MEMORY.md").read_bytes() == (workspace / "MEMORY.md").read_bytes()
    )
    # OpenClaw was not installed here, so its own folder is restored too.
    assert (here.parent / "openclaw.json").is_file()


def test_a_way_back_that_was_cut_off_goes_on_where_it_was(words: list[str], tmp_path: Path) -> None:
    with Terminal("setup") as terminal:
        _begin_return(terminal, tmp_path / "stick")
        _say(terminal, "Word 1: ", " ".join(words))
        terminal.wait_for("Which one")
        assert terminal.interrupted() == 130
    assert _agents() == []
    with Terminal("setup") as terminal:
        _say(terminal, "Your choice", "2")
        _say(terminal, "Which remote has the agent")
        terminal.wait_for("Your key .* is stored in")
        _say(terminal, "Which one")
        _say(terminal, "Which runtime will use the agent", "nonsense")
        _say(terminal, "Which runtime will use the agent")
        _say(terminal, "Folder for the agent on this machine", "/")
        terminal.wait_for("To fix it|refused|not")
        _say(terminal, "Choose another folder", "n")
        _say(terminal, "Install the service", "n")
        assert terminal.ended() == 0
    assert _agents() == []
