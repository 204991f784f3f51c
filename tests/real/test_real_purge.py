"""A real OpenClaw that memorised a passport number: gone from all history and both second copies, and a fresh OpenClaw
that the agent is restored into does not find it, while it still knows everything else."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents import agent as agents
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import pulling, remote_registry
from lifeboat_core.remotes.remote_kinds import open_remote
from support.adapters.canary_scan import Leak
from support.cli.cli_client import run
from support.core.purged import (
    SCANNER,
    TEXT,
    everything,
    leaks_below,
    leaks_in,
    owner_token,
    same,
    vaults_of,
    without,
)
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.real import real_openclaw
from support.real.real_openclaw import OpenClaw

REMOTES = ("home-server", "stick")
REMEMBERED = "The spare key of the boathouse hangs behind the barometer."
LOGGED = "The harbour pilot answers on channel seventeen."


@dataclass(frozen=True)
class Story:
    """What was said, where the text still stands, and the agent that is: `before` and `after` say which kept states
    held what else."""

    knew: bool
    plan: JsonObject
    done: JsonObject
    receipt: JsonObject
    exported: JsonObject
    verified: JsonObject
    leaks: list[Leak]
    elsewhere: dict[str, list[Leak]]
    everything_else: bool
    restored: OpenClaw


def _lives(openclaw: OpenClaw) -> bool:
    """Days of an agent, each of them captured: it learns the number, uses it and loses it in one place. Whether
    OpenClaw's own search found it."""
    memory, log = openclaw.workspace / "MEMORY.md", openclaw.workspace / "memory" / "2026-11-18.md"
    memory.write_text(f"# MEMORY\n\n## Keys\n\n- {REMEMBERED}\n")
    log.parent.mkdir(exist_ok=True)
    run("agents", "add", openclaw.workspace, "--name", "Juniper")
    log.write_text(f"# 2026-11-18\n\n## Radio\n\n- {LOGGED}\n\n## Papers\n\n- {TEXT}\n")
    run("sync")
    memory.write_text(f"{memory.read_text()}\n## Papers\n\n- {TEXT}\n")
    notes = openclaw.workspace / "notes"
    notes.mkdir()
    (notes / "trip.txt").write_text(f"before\n{TEXT}\nafter\n")
    run("sync")
    openclaw.run("memory", "index", "--force", "--agent", "main")
    openclaw.turn("Good morning.")
    (notes / "trip.txt").write_text("before\nafter\n")
    run("sync")
    return TEXT in openclaw.search("passport number")


def _second_copies(endpoint: RunningEndpoint, stick: Path) -> None:
    run("remote", "add", "home-server", endpoint.join)
    run("remote", "add", "stick", stick.as_uri())
    run("sync")


def _purged(patch: pytest.MonkeyPatch, endpoint: RunningEndpoint) -> tuple[JsonObject, JsonObject]:
    """As a script does it: what would go, then the purge, and the second token of the endpoint's owner."""
    _types(patch, TEXT)
    plan = run("purge", "Juniper", "--text-stdin", "--workspace", "--dry-run")
    _types(patch, TEXT)
    done = run("purge", "Juniper", "--text-stdin", "--workspace", "--yes")
    _types(patch, owner_token(endpoint))
    run("receipts", "confirm", done["receipt"], "--remote", "home-server", "--token-stdin")
    return plan, done


def _types(patch: pytest.MonkeyPatch, text: str) -> None:
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{text}\n".encode()), "utf-8"))


def _at(name: str) -> list[Leak]:
    """Every state that a second copy gives, looked through."""
    context = Context.open()
    agent = agents.find_agent(context, "Juniper")
    leaks: list[Leak] = []
    with contextlib.closing(open_remote(context, remote_registry.find_remote(context, name))) as remote:
        for row in remote.sequences(agent.id):
            with pulling.open_remote_state(remote, agent.id, row.number) as state:
                for entry in state.entries():
                    leaks += SCANNER.data(state.body(entry.path), f"{name}: {entry.path}")
                for record in state.records():
                    leaks += SCANNER.data(record.line, f"{name}: {record.id}")
    return leaks


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    installed = real_openclaw.require()
    folder = tmp_path_factory.mktemp("real")
    lifeboat, stick = folder / "lifeboat", folder / "stick"
    with (
        real_openclaw.network(folder) as (namespace, log),
        running_endpoint(folder / "server") as endpoint,
        pytest.MonkeyPatch.context() as patch,
    ):
        first, second = (OpenClaw(installed, folder / name, namespace, log) for name in ("first", "second"))
        for openclaw in (first, second):
            openclaw.home.mkdir()
        patch.setenv("HOME", str(first.home))
        patch.setenv("LIFEBOAT_HOME", str(lifeboat))
        patch.setenv("PATH", real_openclaw.program(installed, namespace, folder / "bin"))
        first.onboard()
        knew = _lives(first)
        _second_copies(endpoint, stick)
        context = Context.open()
        agent = agents.find_agent(context, "Juniper")
        with context.vault(agent.id) as vault:
            before = everything(vault)
        assert any(SCANNER.data(body, name) for _, held in before.values() for name, body in held.items())
        plan, done = _purged(patch, endpoint)
        receipt = run("receipts", "show", done["receipt"])
        exported = folder / "receipt.json"
        run("receipts", "export", done["receipt"], "-o", exported)
        verified = run("verify", "Juniper", "--whole")
        with context.vault(agent.id) as vault:
            leaks = leaks_in(vault)
            after = everything(vault)
        leaks += [leak for vault in vaults_of(endpoint) for leak in leaks_in(vault)]
        leaks += leaks_below(lifeboat, first.workspace, stick, endpoint.data)
        elsewhere = {name: _at(name) for name in REMOTES}
        second.configure()
        run("restore", "Juniper", "--to", second.workspace, "--yes")
        leaks += leaks_below(second.home)
        second.run("memory", "index", "--force", "--agent", "main")
        kept = same(before, {number: after[number] for number in without(before)})
        checked = run("receipts", "verify", exported)
        yield Story(knew, plan, done, receipt, checked, verified, leaks, elsewhere, kept, second)


def test_the_agent_knew_it(story: Story) -> None:
    assert story.knew
    assert (story.plan["records"], story.plan["versions"] > 0) == (0, True)  # a passage goes, its memories stay
    assert story.plan["sequences_rewritten"] >= 2


def test_it_is_gone_at_every_second_copy(story: Story) -> None:
    vaults = story.receipt["receipt"]["vaults"]
    assert {each["name"] for each in vaults} >= set(REMOTES)
    assert {each["state"] for each in vaults} == {"done"}
    assert story.elsewhere == {"home-server": [], "stick": []}


def test_no_byte_of_it_is_left(story: Story) -> None:
    assert story.leaks == []
    assert SCANNER.text(str((story.plan, story.done, story.receipt)), "what was said") == []


def test_every_other_memory_and_file_is_there_at_every_moment(story: Story) -> None:
    assert story.everything_else


def test_the_vault_and_the_receipt_hold(story: Story) -> None:
    assert story.verified["whole"]
    assert story.verified["mismatches"] == []
    assert story.exported["proven"]


def test_openclaws_own_search_finds_the_rest_and_not_the_number(story: Story) -> None:
    assert TEXT not in story.restored.search("passport number")
    assert LOGGED in story.restored.search("harbour pilot channel")


def test_the_agent_starts_and_knows_the_rest(story: Story) -> None:
    story.restored.turn("What do you know of the boathouse? MEMQ: passport number")
    prompt = story.restored.last_prompt()
    assert REMEMBERED in prompt
    assert SCANNER.text(prompt, "the prompt") == []


def test_a_fresh_openclaw_never_wrote_it_anywhere(story: Story) -> None:
    story.restored.turn("Good evening.")
    assert leaks_below(story.restored.home) == []
