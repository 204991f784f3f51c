"""`lifeboat agents hook`: the hook of an agent's runtime comes, is looked at, and goes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_core.agents import session_hook_setup
from lifeboat_core.agents.agent import find_agent
from lifeboat_core.errors import HookFailed
from lifeboat_core.home.context import Context
from support.adapters.fake_openclaw import FakeOpenClaw
from support.adapters.zeroclaw_installs import make_install
from support.cli.cli_client import run
from support.patience import patience


class Agent:
    """A protected agent of an OpenClaw whose program is on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fake = FakeOpenClaw.install(folder / "bin")
        self.state = folder / "user" / ".openclaw"
        self.workspace = self.state / "workspace"
        self.workspace.mkdir(parents=True)
        (self.workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
        (self.workspace / "IDENTITY.md").write_text("# Identity\n\n- **Name:** Juniper\n")
        self.config = self.state / "openclaw.json"
        self.config.write_text('{"agents": {"entries": {"main": {"name": "Juniper"}}}}')
        self.hook = self.state / "hooks" / "lifeboat"

    @property
    def id(self) -> str:
        return str(run("agents", "list")["agents"][0]["id"])

    def values(self) -> Any:
        return json.loads(self.config.read_text())

    def tree(self) -> dict[str, bytes]:
        files = (path for path in self.folder.joinpath("user").rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    def finding(self) -> dict[str, Any]:
        found = [one for one in run("doctor")["findings"] if one["check"] == "session_hook"]
        assert len(found) == 1
        return found[0]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    made = Agent(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))
    monkeypatch.setenv("PATH", f"{made.fake.folder}:/usr/bin:/bin")
    run("agents", "add", made.workspace)
    yield made


def test_the_hook_comes_and_goes_and_leaves_nothing(agent: Agent) -> None:
    before, values = agent.tree(), agent.values()
    done = run("agents", "hook", "Juniper")
    assert done["changed"] is True
    assert agent.values()["hooks"] == {"internal": {"entries": {"lifeboat": {"enabled": True}}}}
    assert {path.name for path in agent.hook.iterdir()} == {"HOOK.md", "handler.js", "package.json", "lifeboat.json"}
    assert run("agents", "hook", "Juniper")["changed"] is False
    assert run("agents", "hook", "Juniper", "--remove")["changed"] is True
    assert agent.values() == values
    assert agent.tree().keys() == before.keys()
    assert run("agents", "hook", "Juniper", "--remove")["changed"] is False
    assert agent.fake.commands() == ["config set hooks.internal.entries.lifeboat.enabled", "config unset hooks"]


def test_the_hook_starts_this_program_for_this_agent_and_home(agent: Agent) -> None:
    run("agents", "hook", "Juniper")
    told = json.loads((agent.hook / "lifeboat.json").read_text())["agents"]["main"]
    assert (told["agent"], told["home"]) == (agent.id, str(agent.folder / "lifeboat"))
    (agent.workspace / "MEMORY.md").write_text("# Memory\n\n- The ferry leaves at noon.\n")
    environment = {"HOME": str(agent.folder / "user"), "PATH": "/usr/bin:/bin", "LIFEBOAT_HOME": told["home"]}
    ran = subprocess.run(
        [*told["program"], "sync", told["agent"], "--unless-paused", "--json"],
        cwd="/",
        env=environment,
        capture_output=True,
        timeout=patience(),
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["agents"][0]["sequence"] == 1


def test_a_session_that_ends_does_not_wake_an_agent_that_rests(agent: Agent) -> None:
    run("agents", "pause", "Juniper")
    (agent.workspace / "MEMORY.md").write_text("# Memory\n\n- The ferry leaves at noon.\n")
    assert run("sync", agent.id, "--unless-paused")["agents"] == []
    assert run("sync", agent.id)["agents"][0]["changed"] is True


def test_show_writes_and_runs_nothing(agent: Agent) -> None:
    before = agent.tree()
    shown = run("agents", "hook", "Juniper", "--show")
    assert {Path(one["path"]).name for one in shown["files"]} == {
        "HOOK.md",
        "handler.js",
        "package.json",
        "lifeboat.json",
    }
    assert shown["commands"][0][1:] == ["config", "set", "hooks.internal.entries.lifeboat.enabled", "true"]
    assert shown["changed"] is False
    assert agent.tree() == before
    assert agent.fake.calls() == []


def test_a_runtime_that_refuses_leaves_everything_as_it_was(agent: Agent) -> None:
    before = agent.tree()
    agent.fake.behave(config="fails")
    error = run("agents", "hook", "Juniper", expect=1)["error"]
    assert error["code"] == "hook_failed"
    assert "the configuration is not valid" in error["message"]
    assert agent.tree() == before
    assert not (agent.state / "hooks").exists()


def test_a_hook_that_cannot_be_taken_out_of_the_configuration_stays_whole(agent: Agent) -> None:
    run("agents", "hook", "Juniper")
    before = agent.tree()
    agent.fake.behave(config="fails")
    assert run("agents", "hook", "Juniper", "--remove", expect=1)["error"]["code"] == "hook_failed"
    assert agent.tree() == before


def test_an_installation_that_took_no_notice_is_no_success(agent: Agent) -> None:
    program = agent.fake.folder / "openclaw"
    program.write_text("#!/bin/sh\nexit 0\n")
    context = Context.open()
    with pytest.raises(HookFailed, match="not enabled"):
        session_hook_setup.install_hook(context, find_agent(context, "Juniper"))


def test_a_refusal_names_what_counts_instead(agent: Agent) -> None:
    agent.config.write_text('{"hooks": {"internal": {"enabled": false}}}')
    error = run("agents", "hook", "Juniper", expect=3)["error"]
    assert error["code"] == "no_hook"
    assert "disabled" in error["message"]
    assert "nothing has changed for 10m (setting session.idle)" in error["message"]


def test_a_runtime_without_hooks_is_refused_with_what_counts_instead(agent: Agent) -> None:
    run("agents", "add", make_install(agent.folder / "crab").workspace(), "--name", "Crab")
    error = run("agents", "hook", "Crab", expect=3)["error"]
    assert error["code"] == "no_hook"
    assert "zeroclaw does not report" in error["message"]
    assert "session.idle" in error["message"]
    assert run("agents", "hook", "Crab", "--remove")["changed"] is False


def test_the_doctor_asks_for_the_hook_where_a_session_s_end_counts(agent: Agent) -> None:
    assert [one for one in run("doctor")["findings"] if one["check"] == "session_hook"] == []
    run("config", "set", "cadence", "after_session")
    missing = agent.finding()
    assert (missing["level"], missing["fix"]) == ("warning", "lifeboat agents hook Juniper")
    assert missing["result"] == (
        "no Lifeboat hook is installed, so the end of a session is not reported; "
        "Lifeboat treats a session as ended after 10m without changes"
    )
    run("agents", "hook", "Juniper")
    assert agent.finding()["level"] == "ok"


def test_the_doctor_finds_a_stale_hook(agent: Agent) -> None:
    run("config", "set", "cadence", "after_session")
    run("agents", "hook", "Juniper")
    (agent.hook / "handler.js").write_text("// mine\n")
    assert "another release" in agent.finding()["result"]
    run("agents", "hook", "Juniper")
    assert agent.finding()["level"] == "ok"


def test_the_doctor_is_calm_where_the_runtime_cannot_tell(agent: Agent) -> None:
    run("config", "set", "cadence", "after_session")
    agent.config.write_text('{"hooks": {"internal": {"enabled": false}}}')
    found = agent.finding()
    assert found["level"] == "ok"
    assert "session.idle" in found["result"]


def test_the_hook_goes_with_the_protection(agent: Agent) -> None:
    run("agents", "hook", "Juniper")
    run("agents", "remove", "Juniper", "--yes")
    assert not agent.hook.exists()
    assert "hooks" not in agent.values()


def test_a_capture_keeps_nothing_of_the_hooks_folder(agent: Agent) -> None:
    run("agents", "hook", "Juniper")
    run("sync", "Juniper")
    with Context.open().vault(agent.id) as vault:
        kept = [entry.path for entry in vault.state().entries("raw/openclaw-home/")]
    assert kept == ["raw/openclaw-home/openclaw.json"]


def test_the_program_is_that_of_a_link_on_path_where_it_is_this_one(agent: Agent) -> None:
    script = Path(sys.executable).with_name("lifeboat")
    assert session_hook_setup.find_own_program(Context.open()) == (str(script),)
    link = agent.fake.folder / "lifeboat"
    link.symlink_to(script)
    assert session_hook_setup.find_own_program(Context.open()) == (str(link),)
    link.unlink()
    link.write_text("#!/bin/sh\n")
    link.chmod(0o755)
    assert session_hook_setup.find_own_program(Context.open()) == (str(script),)


def test_without_a_script_the_interpreter_starts_it(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = sys.executable
    monkeypatch.setattr(sys, "executable", str(agent.folder / "python"))
    first, *words = session_hook_setup.find_own_program(Context.open())
    assert first == str(agent.folder / "python")
    ran = subprocess.run([interpreter, *words, "--version"], capture_output=True, text=True, timeout=patience())
    assert (ran.returncode, "lifeboat" in ran.stdout) == (0, True)
