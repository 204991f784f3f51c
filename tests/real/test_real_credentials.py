"""A real OpenClaw, today's and that of February, that lists the credentials which came from another machine."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core import exchange
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.state.state_documents import load_credentials
from support.core.credentialed import REFRESH, SECRETS, SETUP_TOKEN, Machine, live, second_machine
from support.real import real_openclaw
from support.real.real_openclaw import FEBRUARY, VERSION, OpenClaw


@dataclass(frozen=True)
class Arrival:
    """What an import said, and the machine it went to."""

    report: JsonObject
    machine: Machine
    openclaw: OpenClaw

    def injected(self) -> set[str]:
        details = self.report["credential_details"]
        return {each["service"] for each in details if each["outcome"] == "injected"}

    def ask(self, *arguments: str) -> JsonObject:
        said = self.openclaw.run(*arguments)
        document: JsonObject = json.loads(said[said.index("{") :])
        return document


def _arrive(folder: Path, version: str, namespace: int, log: Path) -> Arrival:
    first = Machine(folder / "first")
    live(first)
    archive = folder / "ada.alf"
    exchange.export_agent(first.context, "openclaw", first.workspace, archive)
    second = second_machine(folder / "second", first)
    installed = real_openclaw.require(version)
    context = second.with_path(real_openclaw.program(installed, namespace, folder / "real"))
    report = exchange.import_archive(
        context, archive, second.workspace, RestoreOptions(with_credentials=True, state_dir=second.state)
    )
    return Arrival(report.to_json(), second, OpenClaw(installed, second.home, namespace, log))


def test_todays_openclaw_lists_a_key_a_token_and_a_login_and_nothing_is_left_in_clear(tmp_path: Path) -> None:
    real_openclaw.require()
    with real_openclaw.network(tmp_path) as (namespace, log):
        arrived = _arrive(tmp_path, VERSION, namespace, log)
        listed = arrived.ask("models", "auth", "list", "--json", "--agent", "main")["profiles"]
        # The repair also makes profiles of keys that stood in the configuration.
        assert {(each["id"], each["type"]) for each in listed} >= {
            ("openai:default", "api_key"),
            ("anthropic:setup", "token"),
            ("meadow:me", "token"),
            ("moss:env", "api_key"),
            ("zai:me", "oauth"),
        }
        assert arrived.ask("config", "validate", "--json")["valid"] is True
    assert {"openai", "anthropic", "meadow", "zai", "orchard"} <= arrived.injected()
    assert arrived.machine.profiles()["zai:me"]["refresh"] == REFRESH
    assert [name for name in arrived.machine.files() if "auth-profiles" in name or "migrated" in name] == []
    home = b"".join(path.read_bytes() for path in arrived.machine.context.home.folder.rglob("*") if path.is_file())
    assert [secret for secret in SECRETS if secret.encode() in home] == []


def test_the_openclaw_of_february_reads_the_file_of_its_time(tmp_path: Path) -> None:
    real_openclaw.require(FEBRUARY)
    with real_openclaw.network(tmp_path) as (namespace, log):
        arrived = _arrive(tmp_path, FEBRUARY, namespace, log)
        auth = arrived.ask("models", "status", "--json")["auth"]
    found = {each["profileId"]: each["type"] for each in auth["oauth"]["profiles"]}
    assert found["openai:default"] == "api_key"
    assert found["anthropic:setup"] == "token"
    assert found["zai:me"] == "oauth"
    assert SETUP_TOKEN in (arrived.machine.state / "agents/main/agent/auth-profiles.json").read_text()


def test_a_lost_state_folder_comes_back_with_its_stores_and_their_order(tmp_path: Path) -> None:
    installed = real_openclaw.require()
    machine = Machine(tmp_path / "only")
    agent = live(machine)
    machine.openclaw("models", "auth", "order", "set", "--provider", "zai", "--agent", "main", "zai:me")
    capture_agent(machine.context, agent)
    before = _ids(machine.context, agent)
    shutil.rmtree(machine.state)
    with real_openclaw.network(tmp_path) as (namespace, log):
        context = machine.with_path(real_openclaw.program(installed, namespace, tmp_path / "real"))
        options = RestoreOptions(yes=True, reindex=False, with_credentials=True, state_dir=machine.state)
        report = restore_agent(context, agent, options)
        assert [each for each in report.credential_details if each["outcome"] != "injected"] == []
        real = OpenClaw(installed, machine.home, namespace, log)
        said = real.run("models", "auth", "order", "get", "--provider", "zai", "--agent", "main")
    assert "override: zai:me" in said
    capture_agent(context, agent)
    assert _ids(context, agent) >= before
    assert machine.profiles()["zai:me"]["refresh"] == REFRESH


def _ids(context: Context, agent: Agent) -> set[str]:
    with context.vault(agent.id) as vault:
        return set(load_credentials(vault.state()))
