"""A real OpenClaw that loses its whole state folder: what `restore` brings back, and each step that it prints, against
the real program."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.openclaw import ADAPTER
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import list_agents
from lifeboat_core.home.context import Context
from support.cli.cli_client import run
from support.patience import patience
from support.real import real_openclaw
from support.real.real_openclaw import OpenClaw, inside
from support.waiting import until

KEY = "sk-ant-api03-0123456789abcdefghij-not-a-real-key"
REMEMBERED = "The spare key of the boathouse hangs behind the barometer."
GATEWAY = 18789


@dataclass(frozen=True)
class Returned:
    """The agent after the loss: what the restore said, what the head held before it, and where the program is."""

    openclaw: OpenClaw
    path: str
    lifeboat_home: Path
    report: JsonObject
    before: JsonObject
    after: JsonObject

    def sh(self, command: str) -> subprocess.CompletedProcess[str]:
        """A printed command, run as a person runs it."""
        environment = {"HOME": str(self.openclaw.home), "PATH": self.path}
        return subprocess.run(
            ["sh", "-c", command],
            cwd=self.openclaw.home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(240),
        )

    def ask(self, *words: str) -> Any:
        said = self.sh(shlex.join(["openclaw", *words]))
        assert said.returncode == 0, said.stderr[-2000:]
        return json.loads(said.stdout[min(said.stdout.find(mark) for mark in "[{" if mark in said.stdout) :])


@contextlib.contextmanager
def gateway(openclaw: OpenClaw, path: str, log: Path) -> Iterator[None]:
    environment = {"HOME": str(openclaw.home), "PATH": path}
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["openclaw", "gateway", "run", "--force"],
            env=environment,
            executable=shutil.which("openclaw", path=path),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        probe = ["python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {GATEWAY}), 1)"]
        try:
            until(
                lambda: subprocess.run([*inside(openclaw.namespace), *probe], capture_output=True).returncode == 0,
                "the gateway to answer",
            )
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=patience(120))


def _live(openclaw: OpenClaw, path: str, folder: Path) -> None:
    openclaw.onboard()
    (openclaw.workspace / "MEMORY.md").write_text(f"# MEMORY\n\n## Keys\n\n- {REMEMBERED}\n")
    openclaw.turn("Good morning.")
    environment = {"HOME": str(openclaw.home), "PATH": path}
    words = ["models", "auth", "paste-api-key", "--provider", "anthropic", "--profile-id", "anthropic:default"]
    program = str(shutil.which("openclaw", path=path))
    subprocess.run([program, *words, "--agent", "main"], env=environment, input=KEY.encode(), check=True)
    with gateway(openclaw, path, folder / "first.log"):
        schedule = ["--name", "Tide table", "--cron", "0 18 * * 0", "--session", "isolated", "--no-deliver"]
        openclaw.run("cron", "add", *schedule, "--message", "Send the tide table.")


@pytest.fixture(scope="module")
def returned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Returned]:
    installed = real_openclaw.require()
    folder = tmp_path_factory.mktemp("lost")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        openclaw = OpenClaw(installed, folder / "user", namespace, log)
        openclaw.home.mkdir()
        path = real_openclaw.program(installed, namespace, folder / "bin")
        _live(openclaw, path, folder)
        patch.setenv("HOME", str(openclaw.home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        patch.setenv("PATH", path)
        run("config", "set", "transcripts", "true")
        run("agents", "add", openclaw.workspace, "--name", "Ada")
        before = _tables()
        shutil.rmtree(openclaw.home / ".openclaw")
        report = run("restore", "Ada", "--with-credentials", "--with-sessions", "--yes")
        run("sync", "Ada")
        yield Returned(openclaw, path, folder / "lifeboat", report, before, _tables())


def _tables() -> JsonObject:
    """The rows that the newest sequence holds, by the path of their file."""
    context = Context.open(dict(os.environ))
    (agent,) = list_agents(context)
    with context.vault(agent.id) as vault:
        state = vault.state()
        return {entry.path: state.body(entry.path) for entry in state.entries("raw/openclaw-home/db/")}


def test_openclaw_accepts_the_configuration_that_came_back(returned: Returned) -> None:
    found = returned.ask("config", "validate", "--json")
    assert found["valid"] is True


def test_no_row_left_the_newest_sequence(returned: Returned) -> None:
    """A job that OpenClaw makes itself, and a session that it takes over, are the same under another id or time."""
    assert any("cron_jobs" in path for path in returned.before)
    assert any("transcript_events" in path for path in returned.before)
    for path in returned.before:
        there = {name for names in _names(path, returned.after) for name in names}
        assert [names for names in _names(path, returned.before) if there.isdisjoint(names)] == []


def _names(path: str, tables: JsonObject) -> list[tuple[str, ...]]:
    return [ADAPTER.databases.row_names(path, json.loads(line)) for line in tables.get(path, b"").splitlines()]


def test_the_key_of_the_provider_is_in_openclaws_store(returned: Returned) -> None:
    assert "not on PATH" not in json.dumps(returned.report)
    assert returned.report["credentials"]["skipped"] == 0
    profiles = returned.ask("models", "auth", "list", "--json", "--agent", "main")["profiles"]
    assert "anthropic:default" in [each["id"] for each in profiles]


def test_the_sessions_are_in_openclaws_list_with_every_event(returned: Returned) -> None:
    path = "raw/openclaw-home/db/agent/transcript_events.jsonl"
    ids = {json.loads(line)["session_id"] for line in returned.before[path].splitlines()}
    listed = returned.ask("sessions", "--json")["sessions"]
    assert ids <= {each["sessionId"] for each in listed}
    assert len(returned.after[path].splitlines()) >= len(returned.before[path].splitlines())


def test_only_the_users_own_job_is_offered_and_it_waits_for_the_gateway(returned: Returned) -> None:
    jobs = [step for step in returned.report["next"] if " cron add " in step["command"]]
    assert [step["title"].partition(" (")[0] for step in jobs] == ["Schedule the job Tide table"]
    assert "openclaw gateway run" in jobs[0]["waits"]


def test_each_step_that_was_printed_works(returned: Returned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gateway(returned.openclaw, returned.path, tmp_path / "gateway.log"):
        for step in returned.report["next"]:
            said = returned.sh(step["command"])
            assert said.returncode == 0, f"{step['command']}: {said.stderr[-1500:]}{said.stdout[-500:]}"
        listed = returned.ask("cron", "list", "--all", "--json")["jobs"]
    assert [job["name"] for job in listed].count("Tide table") == 1
    monkeypatch.setenv("HOME", str(returned.openclaw.home))
    monkeypatch.setenv("LIFEBOAT_HOME", str(returned.lifeboat_home))
    assert run("sync", "Ada")["agents"][0]["unread"] == {}


def test_the_next_turn_carries_what_the_agent_knew(returned: Returned) -> None:
    returned.openclaw.turn("What do you know of the boathouse?")
    assert REMEMBERED in returned.openclaw.last_prompt()
