"""Agents that move between real programs: Hermes to OpenClaw and back, and Claude Code to Hermes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.cli.cli_client import run
from support.real import real_claude_code, real_hermes, real_openclaw
from support.real.real_claude_code import RealClaudeCode
from support.real.real_hermes import KEY, RealHermes
from support.real.real_openclaw import OpenClaw

HARBOUR, PILOT = "Boat seventeen lies at the north pier.", "The pilot answers on channel nine."
SOUL = "You are Ada, who keeps boats afloat and speaks plainly.\n"
LEARNED = "The lighthouse was painted green."
POOLED = f"{KEY}-of-the-pool"


@dataclass(frozen=True)
class Journey:
    """What the programs said and wrote on the way, and the receipts of the two moves."""

    there: JsonObject
    back: JsonObject
    prompts: dict[str, str]
    before: dict[str, bytes]
    after: dict[str, bytes]
    keys: JsonObject
    memories: list[set[str]]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _memories(agent: str) -> set[str]:
    return {str(record["snippet"]) for record in run("records", "list", agent)["records"]}


@pytest.fixture(scope="module")
def journey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journey]:
    """Hermes writes memories, moves to OpenClaw, learns there, and comes back into an empty Hermes."""
    of_hermes, of_openclaw = real_hermes.require(), real_openclaw.require()
    folder = tmp_path_factory.mktemp("journey")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        hermes = RealHermes(of_hermes, folder / "user", namespace, log)
        openclaw = OpenClaw(of_openclaw, folder / "user", namespace, log)
        hermes.configure()
        hermes.run("auth", "add", "openrouter", "--type", "api-key", "--api-key", POOLED, "--label", "main")
        for fact in (HARBOUR, PILOT):
            hermes.turn(f"REMEMBER: {fact}")
        (hermes.home / "SOUL.md").write_text(SOUL)
        patch.setenv("HOME", str(hermes.user_home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        patch.setenv("PATH", real_openclaw.program(of_openclaw, namespace, folder / "bin"))
        agent = run("agents", "add", hermes.home)["id"]
        before, memories = _files(hermes.home), [_memories(agent)]

        openclaw.configure()
        moving = ("--with-credentials", "--finish", "--adopt", "--yes")
        place = ("--to", openclaw.workspace, "--state-dir", openclaw.home / ".openclaw")
        there = run("restore", agent, "--runtime", "openclaw", *place, *moving)
        keys = json.loads(openclaw.run("models", "auth", "list", "--json", "--agent", "main"))
        openclaw.turn("Where is the boat?")
        prompts = {"openclaw": openclaw.last_prompt()}
        memories.append(_memories(agent))
        (openclaw.workspace / "memory").mkdir(exist_ok=True)
        (openclaw.workspace / "memory/2026-11-21.md").write_text(f"{LEARNED}\n")
        run("sync")

        again = RealHermes(of_hermes, folder / "again", namespace, log)
        again.configure()
        back = run("restore", agent, "--runtime", "hermes", "--to", again.home, *moving)
        again.turn("Where is the boat?")
        prompts["hermes"] = again.last_prompt()
        memories.append(_memories(agent))
        yield Journey(there, back, prompts, before, _files(again.home), keys, memories)


def test_openclaw_uses_memories_and_persona_of_hermes_in_its_next_turn(journey: Journey) -> None:
    for text in (HARBOUR, PILOT, SOUL.strip()):
        assert text in journey.prompts["openclaw"]


def test_openclaw_lists_the_key_of_the_provider_that_hermes_had(journey: Journey) -> None:
    assert ("openrouter:default", "api_key") in [(one["id"], one["type"]) for one in journey.keys["profiles"]]


def test_what_openclaw_cannot_hold_is_named_in_the_receipt(journey: Journey) -> None:
    fates = [fate for fate in journey.there["fates"] if fate["outcome"] == "omitted"]
    assert {"raw/hermes/config.yaml", "raw/hermes/auth.json"} <= {name for fate in fates for name in fate["names"]}
    assert {fate["reason"] for fate in fates} == {"specific to hermes; kept in the archive"}


def test_hermes_uses_the_first_memories_and_the_one_from_openclaw_in_its_next_turn(journey: Journey) -> None:
    for text in (HARBOUR, PILOT, SOUL.strip(), LEARNED):
        assert text in journey.prompts["hermes"]


def test_the_memories_that_come_back_equal_the_first_ones(journey: Journey) -> None:
    first, away, back = journey.memories
    assert first == away == {HARBOUR, PILOT}
    assert back == first | {LEARNED}
    former = journey.before["memories/MEMORY.md"].decode()
    assert journey.after["memories/MEMORY.md"].decode() == f"{former}\n§\n{LEARNED}\n"
    assert journey.after["SOUL.md"] == journey.before["SOUL.md"]


def test_the_key_of_the_provider_is_in_the_pool_again(journey: Journey) -> None:
    assert POOLED.encode() in journey.after["auth.json"]


def test_hermes_uses_the_memory_that_claude_code_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_claude, of_hermes = real_claude_code.require(), real_hermes.require()
    with real_openclaw.network(tmp_path) as (namespace, log):
        claude = RealClaudeCode(of_claude, tmp_path / "user", namespace, log)
        hermes = RealHermes(of_hermes, tmp_path / "user", namespace, log)
        project = tmp_path / "boats"
        project.mkdir()
        claude.home.mkdir(parents=True)
        (claude.home / "CLAUDE.md").write_text("# Rules\n\nAsk before you send anything.\n")
        (claude.home / "settings.json").write_text(json.dumps({"env": {"OPENROUTER_API_KEY": POOLED}}))
        claude.turn(f"REMEMBER: {HARBOUR}", project)
        monkeypatch.setenv("HOME", str(claude.user_home))
        monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        agent = run("agents", "add", claude.home)["id"]
        hermes.configure()
        moving = ("--with-credentials", "--finish", "--adopt", "--yes")
        report = run("restore", agent, "--runtime", "hermes", "--to", hermes.home, *moving)
        hermes.turn("Where is the boat?")
        prompt = hermes.last_prompt()
    assert HARBOUR in prompt
    omitted = [name for fate in report["fates"] if fate["outcome"] == "omitted" for name in fate["names"]]
    assert {"raw/claude-code/settings.json", "raw/claude-code/CLAUDE.md"} <= set(omitted)
    [key] = report["credential_details"]
    assert (key["label"], key["outcome"]) == ("settings.json: env.OPENROUTER_API_KEY", "injected")
    assert f"OPENROUTER_API_KEY={POOLED}" in (hermes.home / ".env").read_text()
