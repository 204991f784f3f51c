"""An agent of ZeroClaw that lives in a real OpenClaw for a while, and one of a real OpenClaw that lives in ZeroClaw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_alf.common.json_types import JsonObject
from support.adapters.zeroclaw_installs import Install, make_install
from support.cli.cli_client import run
from support.core.migrating import AIEOS, CATEGORIES, KINDS, Tree, found_by, rows_of, tree_of
from support.real import real_openclaw
from support.real.real_openclaw import FEBRUARY, VERSION, OpenClaw

PROVIDER_KEY = "sk-fake-anthropic-0123456789abcdef"
BOT_TOKEN = "1234567890:fake-telegram-bot-token-0123456789"
MOORINGS = 100
CREDO = "You never promise a berth before the harbour master has agreed."
EDITED, ADDED, GONE = (
    "Mooring 30 has broken loose.",
    "The lighthouse was painted green.",
    "Mooring 45 is held by buoy 0.",
)
SPOKEN = {
    "barometer": "The spare key of the boathouse hangs behind the barometer.",
    "seventeen": "The harbour pilot answers on channel seventeen.",
}
"""Two of the memories by a word of theirs: one that stays, one of a day."""

_SECRETS = """
[providers.models.anthropic.default]
model = "claude-example-1"
api_key = "{key}"

[channels.telegram.default]
enabled = true
bot_token = "{token}"
allowed_users = ["1"]
"""


def _install(folder: Path, *, is_aieos: bool) -> Install:
    """Ada in ZeroClaw, with memories of every kind and encrypted credentials."""
    made = make_install(folder, agents=("ada",))
    key = secret_encryption.read_key(made.home)
    assert key is not None
    config = made.home / "config.toml"
    without = config.read_text().replace('[providers.models.anthropic.default]\nmodel = "claude-example-1"\n', "")
    sealed = _SECRETS.format(
        key=secret_encryption.encrypt_secret(PROVIDER_KEY, key), token=secret_encryption.encrypt_secret(BOT_TOKEN, key)
    )
    workspace = made.workspace("ada")
    if is_aieos:
        sealed += '\n[agents.ada.identity]\nformat = "aieos"\naieos_path = "identity.json"\n'
        (workspace / "identity.json").write_text(json.dumps(AIEOS))
        for name in ("SOUL.md", "IDENTITY.md"):
            (workspace / name).unlink()
    else:
        (workspace / "SOUL.md").write_text(f"# Soul\n\nBe kind.\n\n## Berths\n\n{CREDO}\n")
    config.write_text(without + sealed)
    for number in range(MOORINGS):
        columns = {
            "category": CATEGORIES[number % len(CATEGORIES)],
            "kind": KINDS[number % len(KINDS)] if number % 2 else None,
            "pinned": int(number % 25 == 0),
            "importance": number % 10 / 10,
        }
        made.remember(f"mooring_{number}", f"Mooring {number} is held by buoy {number % 9}.", "ada", **columns)
    made.remember("key", SPOKEN["barometer"], "ada")
    made.remember("radio", SPOKEN["seventeen"], "ada", category="daily")
    return made


@dataclass(frozen=True)
class Guest:
    """Ada in a real OpenClaw, and the ZeroClaw that she left."""

    openclaw: OpenClaw
    left: Install
    rows: list[JsonObject]
    files: Tree
    report: JsonObject
    folder: Path

    def ask(self, *arguments: str) -> Any:
        said = self.openclaw.run(*arguments)
        return json.loads(said[min(said.find(mark) for mark in "[{" if mark in said) :])


def _files(made: Install) -> Tree:
    """Without databases, which are compared row by row."""
    return {name: data for name, data in tree_of(made.home).items() if ".db" not in name}


def _arrive(folder: Path, openclaw: OpenClaw, patch: pytest.MonkeyPatch, *, is_aieos: bool) -> Guest:
    left = _install(folder / "claw", is_aieos=is_aieos)
    _at_home(folder, openclaw, patch)
    run("agents", "add", left.workspace("ada"), "--name", "Ada")
    rows, files = rows_of(left.database), _files(left)
    state = openclaw.home / ".openclaw"
    there = ("--runtime", "openclaw", "--to", openclaw.workspace, "--state-dir", state)
    report = run("restore", "Ada", *there, "--with-credentials", "--finish", "--adopt", "--yes")
    return Guest(openclaw, left, rows, files, report, folder)


def _at_home(folder: Path, openclaw: OpenClaw, patch: pytest.MonkeyPatch) -> None:
    """Lifeboat runs as the user of this OpenClaw."""
    patch.setenv("HOME", str(openclaw.home))
    patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
    patch.setenv("PATH", real_openclaw.program(openclaw.installed, openclaw.namespace, folder / "bin"))


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    installed = real_openclaw.require(VERSION)
    folder = tmp_path_factory.mktemp("guest")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        openclaw = OpenClaw(installed, folder / "user", namespace, log)
        openclaw.home.mkdir()
        openclaw.configure()
        yield _arrive(folder, openclaw, patch, is_aieos=True)


def test_everything_arrived_and_the_index_was_rebuilt(guest: Guest) -> None:
    assert guest.report["records"] == {"restored": MOORINGS + 3}
    assert guest.report["credentials"] == {"injected": 2, "skipped": 0}
    assert [(each["title"], each["ok"]) for each in guest.report["steps"]] == [
        ("Rebuild OpenClaw's search index", True)
    ]
    assert guest.report["warnings"] == []


def test_openclaw_accepts_its_configuration(guest: Guest) -> None:
    found = guest.ask("config", "validate", "--json")
    assert (found["valid"], found["warnings"]) == (True, [])
    assert guest.ask("config", "get", "channels.telegram", "--json").keys() >= {"botToken"}


def test_openclaw_knows_the_agent_by_its_name(guest: Guest) -> None:
    (agent,) = guest.ask("agents", "list", "--json")
    assert (agent["identityName"], agent["workspace"]) == ("Ada", str(guest.openclaw.workspace))


def test_openclaw_lists_the_key_of_the_provider(guest: Guest) -> None:
    (profile,) = guest.ask("models", "auth", "list", "--json", "--agent", "main")["profiles"]
    assert (profile["id"], profile["type"]) == ("anthropic:default", "api_key")


@pytest.mark.parametrize("word", SPOKEN)
def test_openclaws_own_search_finds_migrated_memories(guest: Guest, word: str) -> None:
    found = json.loads(guest.openclaw.search(word))["results"]
    assert any(SPOKEN[word] in _lines(guest.openclaw.workspace, each) for each in found)


def _lines(workspace: Path, hit: JsonObject) -> str:
    """What a hit points to: its own text is cut."""
    lines = (workspace / hit["path"]).read_text().splitlines()
    return "\n".join(lines[hit["startLine"] - 1 : hit["endLine"]])


def test_a_turn_carries_identity_user_and_memory(guest: Guest) -> None:
    guest.openclaw.turn("Which boats do you keep?")
    prompt = guest.openclaw.last_prompt()
    for text in ("Ada", "keep boats afloat", "Mira", "Europe/Oslo", "Mooring 12 is held by buoy 3."):
        assert text in prompt


def test_three_changes_made_there_are_the_only_ones_at_home(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    _at_home(guest.folder, guest.openclaw, monkeypatch)
    _change_notes(guest.openclaw.workspace)
    assert run("sync", "Ada")["agents"][0]["records"] == {"created": 1, "updated": 1, "deleted": 1}
    back = ("--runtime", "zeroclaw", "--to", guest.left.workspace("ada"), "--adopt", "--with-credentials", "--yes")
    run("restore", "Ada", *back)
    before = {row["id"]: row for row in guest.rows}
    after = {row["id"]: row for row in rows_of(guest.left.database)}
    assert [before[id]["content"] for id in before.keys() - after.keys()] == [GONE]
    assert [after[id]["content"] for id in after.keys() - before.keys()] == [f"{ADDED}\n"]
    edited = [id for id in before.keys() & after.keys() if before[id] != after[id]]
    assert [after[id]["content"] for id in edited] == [EDITED]
    assert {name for id in edited for name in before[id] if before[id][name] != after[id][name]} <= {
        "content",
        "updated_at",
    }
    assert found_by(guest.left.database, '"broken loose"') == [EDITED]
    assert found_by(guest.left.database, "lighthouse") == [f"{ADDED}\n"]
    assert found_by(guest.left.database, '"Mooring 45"') == []
    found = _files(guest.left)
    config = found.pop("config.toml").decode()
    assert found == {name: data for name, data in guest.files.items() if name != "config.toml"}
    # The key of the provider that she had there came along; whatever stood here is as it was.
    assert [line for line in guest.files["config.toml"].decode().splitlines() if line not in config] == []
    assert "mockp" in config
    assert run("sync", "Ada")["agents"][0]["changed"] is False


def _change_notes(workspace: Path) -> None:
    for path in sorted(workspace.rglob("*.md")):
        text = path.read_text()
        path.write_text(text.replace("Mooring 30 is held by buoy 3.", EDITED).replace(f"{GONE}\n", ""))
    (workspace / "memory/2026-11-21.md").write_text(f"{ADDED}\n")


def test_the_openclaw_of_february_takes_the_agent_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = real_openclaw.require(FEBRUARY)
    with real_openclaw.network(tmp_path) as (namespace, log):
        openclaw = OpenClaw(installed, tmp_path / "user", namespace, log)
        openclaw.home.mkdir()
        guest = _arrive(tmp_path, openclaw, monkeypatch, is_aieos=False)
        (agent,) = guest.ask("agents", "list", "--json")
        profiles = guest.ask("models", "status", "--json")["auth"]["oauth"]["profiles"]
        indexed = guest.ask("memory", "status", "--json")
    assert agent["identityName"] == "Ada"
    assert CREDO in (openclaw.workspace / "SOUL.md").read_text()
    assert [(each["profileId"], each["type"]) for each in profiles] == [("anthropic:default", "api_key")]
    store = openclaw.home / ".openclaw/agents/main/agent/auth-profiles.json"
    assert json.loads(store.read_text())["profiles"]["anthropic:default"]["key"] == PROVIDER_KEY
    assert indexed


def test_an_agent_of_a_real_openclaw_lives_in_zeroclaw_and_comes_home_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = real_openclaw.require()
    with real_openclaw.network(tmp_path) as (namespace, log):
        openclaw = OpenClaw(installed, tmp_path / "user", namespace, log)
        openclaw.home.mkdir()
        openclaw.onboard()
        _live(openclaw.workspace)
        openclaw.turn("Good morning.")
        before = _without_git(openclaw.workspace)
        _at_home(tmp_path, openclaw, monkeypatch)
        run("agents", "add", openclaw.workspace, "--name", "Ada")
        home = tmp_path / "claw"
        moving = ("--adopt", "--with-credentials", "--yes")
        there = home / "agents/ada/workspace"
        run("restore", "Ada", "--runtime", "zeroclaw", "--to", there, *moving)
        arrived = {row["content"].strip() for row in rows_of(home / "data/memory/brain.db")}
        fresh = tmp_path / "again"
        run("restore", "Ada", "--runtime", "openclaw", "--to", fresh, *moving, "--no-reindex")
    assert {ADDED, EDITED} <= {line.removeprefix("- ") for text in arrived for line in text.splitlines()}
    assert found_by(home / "data/memory/brain.db", "lighthouse") != []
    assert CREDO in (there / "SOUL.md").read_text()
    assert {name for name in before if "/" not in name and name.endswith(".md")} - {"MEMORY.md"} <= set(tree_of(there))
    assert "sk-mock" not in (home / "config.toml").read_text()
    assert "enc2:" in (home / "config.toml").read_text()
    assert _without_git(fresh) == before


def _live(workspace: Path) -> None:
    soul = workspace / "SOUL.md"
    soul.write_text(soul.read_text() + f"\n## Berths\n\n{CREDO}\n")
    (workspace / "MEMORY.md").write_text(f"# MEMORY\n\n## Keys\n\n- {ADDED}\n")
    (workspace / "memory").mkdir(exist_ok=True)
    (workspace / "memory/2026-11-18.md").write_text(f"# 2026-11-18\n\n## Radio\n\n- {EDITED}\n")


def _without_git(folder: Path) -> Tree:
    return {name: data for name, data in tree_of(folder).items() if not name.startswith(".git/")}
