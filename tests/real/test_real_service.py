"""A real OpenClaw whose session ends: its gateway runs the hook, and a new sequence is there, with the service and
without it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.cli.cli_client import run
from support.patience import patience
from support.real import real_openclaw
from support.real.real_openclaw import OpenClaw, inside
from support.waiting import until

TOKEN = "0123456789abcdef0123456789abcdef"
PORT = 18789


@dataclass(frozen=True)
class Gateway:
    """A gateway that runs, with Juniper protected and its configuration as it was before."""

    openclaw: OpenClaw
    before: Any
    log: Path
    served: bool
    """Whether the daemon of Lifeboat runs: for the newer of the two releases."""

    def ask(self, message: str) -> None:
        self.openclaw.run("agent", "--agent", "main", "-m", message, "--json")

    def asked_for(self) -> int:
        """How many captures the daemon made because somebody asked for one."""
        log = self.openclaw.home.parent / "lifeboat" / "logs" / "daemon.log"
        events = [json.loads(line) for line in log.read_text().splitlines()] if self.served else []
        return sum(event["kind"] == "captured" and event["reason"] == "request" for event in events)

    @property
    def hook(self) -> Path:
        return self.openclaw.home / ".openclaw" / "hooks" / "lifeboat"


def configure(openclaw: OpenClaw, version: str) -> Any:
    """What a person has: a gateway with a token, and hooks on in the release that has one switch for all."""
    openclaw.configure()
    config = openclaw.home / ".openclaw" / "openclaw.json"
    values = json.loads(config.read_text())
    values["gateway"]["auth"] = {"mode": "token", "token": TOKEN}
    if version == real_openclaw.FEBRUARY:
        del values["memory"], values["agents"]["entries"]
        values["agents"]["defaults"]["workspace"] = "~/.openclaw/workspace"
        values["hooks"] = {"internal": {"enabled": True, "entries": {"boot-md": {"enabled": False}}}}
    config.write_text(json.dumps(values))
    (openclaw.workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    (openclaw.workspace / "IDENTITY.md").write_text("# Identity\n\n- **Name:** Juniper\n")
    return values


@contextlib.contextmanager
def serving(openclaw: OpenClaw, path: str, log: Path) -> Iterator[None]:
    """Run the gateway, as a process that knows nothing of this test's environment but PATH and HOME."""
    node = openclaw.installed / "node" / "node_modules" / "node" / "bin" / "node"
    program = openclaw.installed / "app" / "node_modules" / "openclaw" / "openclaw.mjs"
    with log.open("w") as out:
        gateway = subprocess.Popen(
            [*inside(openclaw.namespace), str(node), str(program), "gateway", "run", "--bind", "loopback"],
            cwd=openclaw.home,
            env={"HOME": str(openclaw.home), "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
        try:
            probe = f"import socket; socket.create_connection(('127.0.0.1', {PORT}), 1)"
            command = [*inside(openclaw.namespace), sys.executable, "-c", probe]
            until(lambda: subprocess.run(command, capture_output=True).returncode == 0, log.read_text)
            yield
        finally:
            gateway.terminate()
            gateway.wait(timeout=patience())


@pytest.fixture(params=[real_openclaw.VERSION, real_openclaw.FEBRUARY])
def gateway(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    installed = real_openclaw.require(request.param)
    with real_openclaw.network(tmp_path) as (namespace, log):
        openclaw = OpenClaw(installed, tmp_path / "home", namespace, log)
        openclaw.home.mkdir()
        before = configure(openclaw, request.param)
        path = real_openclaw.program(installed, namespace, tmp_path / "bin")
        monkeypatch.setenv("HOME", str(openclaw.home))
        monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))
        monkeypatch.setenv("PATH", path)
        run("agents", "add", openclaw.workspace)
        run("config", "set", "cadence", "after_session")
        run("agents", "hook", "Juniper")
        with contextlib.ExitStack() as stack:
            if request.param == real_openclaw.VERSION:
                stack.callback(run, "daemon", "stop")
                run("daemon", "start")
            stack.enter_context(serving(openclaw, path, tmp_path / "gateway.log"))
            yield Gateway(openclaw, before, tmp_path / "gateway.log", request.param == real_openclaw.VERSION)


def test_a_session_that_ends_is_captured(gateway: Gateway) -> None:
    gateway.ask("Good morning.")
    run("sync", "Juniper")
    asked = gateway.asked_for()
    (gateway.openclaw.workspace / "MEMORY.md").write_text("# Memory\n\n- The ferry leaves at noon.\n")
    gateway.ask("/new")
    until(lambda: run("search", "Juniper", "ferry")["hits"], gateway.log.read_text)
    if gateway.served:
        until(lambda: gateway.asked_for() > asked, "the service was not asked for a capture")
    assert [one["level"] for one in run("doctor")["findings"] if one["check"] == "session_hook"] == ["ok"]


def test_the_hook_goes_without_a_trace_and_the_gateway_goes_on(gateway: Gateway) -> None:
    run("agents", "hook", "Juniper", "--remove")
    assert not gateway.hook.exists()
    values = json.loads((gateway.openclaw.home / ".openclaw" / "openclaw.json").read_text())
    values.pop("meta", None)
    assert values == gateway.before
    gateway.ask("/new")
    gateway.ask("Good evening.")
