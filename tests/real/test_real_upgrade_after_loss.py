"""A real OpenClaw of February that is lost, and whose agent comes back to a real one of September on the same
machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.cli.cli_client import run
from support.real import real_openclaw
from support.real.real_openclaw import FEBRUARY, OpenClaw

KEY = "sk-ant-api03-0123456789abcdefghij-not-a-real-key"
SAID = "The harbour pilot answers on channel seventeen."
JOB: JsonObject = {
    "id": "job-tides",
    "agentId": "main",
    "name": "Tide table",
    "enabled": True,
    "schedule": {"kind": "cron", "expr": "0 18 * * 0"},
    "sessionTarget": "isolated",
    "payload": {"kind": "agentTurn", "message": "Send the tide table."},
    "delivery": {"mode": "none"},
}


@dataclass(frozen=True)
class Upgraded:
    openclaw: OpenClaw
    report: JsonObject
    sessions: set[str]

    def ask(self, *words: str) -> Any:
        said = self.openclaw.run(*words)
        return json.loads(said[min(said.find(mark) for mark in "[{" if mark in said) :])


def _live_in_february(openclaw: OpenClaw) -> None:
    """What an installation of February holds after its first days."""
    state = openclaw.home / ".openclaw"
    openclaw.workspace.mkdir(parents=True)
    settings = {name: real_openclaw.CONFIG[name] for name in ("gateway", "models")}
    agents = {
        "defaults": {"model": {"primary": "mockp/mock-1"}},
        "list": [{"id": "main", "workspace": str(openclaw.workspace)}],
    }
    (state / "openclaw.json").write_text(json.dumps({**settings, "agents": agents}, indent=2))
    profiles = {"anthropic:default": {"type": "api_key", "provider": "anthropic", "key": KEY}}
    for name, document in (
        ("agents/main/agent/auth-profiles.json", {"version": 1, "profiles": profiles}),
        ("cron/jobs.json", {"version": 1, "jobs": [JOB]}),
    ):
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text(json.dumps(document))
    openclaw.turn(SAID)


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    february, now = real_openclaw.require(FEBRUARY), real_openclaw.require()
    folder = tmp_path_factory.mktemp("upgrade")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        former = OpenClaw(february, folder / "user", namespace, log)
        former.home.mkdir()
        _live_in_february(former)
        state = former.home / ".openclaw"
        sessions = {path.stem for path in (state / "agents/main/sessions").glob("*.jsonl")}
        patch.setenv("HOME", str(former.home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        patch.setenv("PATH", real_openclaw.program(february, namespace, folder / "february"))
        run("config", "set", "transcripts", "true")
        run("agents", "add", former.workspace, "--name", "Ada")
        shutil.rmtree(state)
        patch.setenv("PATH", real_openclaw.program(now, namespace, folder / "now"))
        report = run("restore", "Ada", "--with-credentials", "--with-sessions", "--yes")
        yield Upgraded(OpenClaw(now, former.home, namespace, log), report, sessions)


def test_the_configuration_is_one_of_the_release_that_is_here_now(upgraded: Upgraded) -> None:
    assert upgraded.ask("config", "validate", "--json")["valid"] is True
    agents = json.loads((upgraded.openclaw.home / ".openclaw/openclaw.json").read_text())["agents"]
    assert agents["entries"].keys() == {"main"}
    assert "list" not in agents


def test_the_key_of_the_provider_came_along(upgraded: Upgraded) -> None:
    assert upgraded.report["credentials"]["skipped"] == 0
    profiles = upgraded.ask("models", "auth", "list", "--json", "--agent", "main")["profiles"]
    assert "anthropic:default" in [each["id"] for each in profiles]


def test_the_sessions_of_february_are_in_the_list(upgraded: Upgraded) -> None:
    assert upgraded.sessions
    assert upgraded.sessions <= {each["sessionId"] for each in upgraded.ask("sessions", "--json")["sessions"]}
    assert not any("sessions" in warning for warning in upgraded.report["warnings"])


def test_the_users_job_is_offered(upgraded: Upgraded) -> None:
    (step,) = (each for each in upgraded.report["next"] if " cron add " in each["command"])
    assert step["title"].startswith("Schedule the job Tide table")
